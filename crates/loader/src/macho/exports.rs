//! The names that a Mach-O file exports: a tree whose branches share the beginnings of names.

use super::bind::Program;
use std::collections::{HashSet, VecDeque};

/// Longest name.
const LONGEST: usize = 4096;
/// Names that another library has.
const REEXPORTED: u64 = 8;
/// Names that a function of the file chooses a place for.
const RESOLVED: u64 = 16;

/// A tree as it was read.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    /// Where it begins in the file.
    pub(super) offset: u64,
    /// Names and their distances from the start of the text segment, shorter names first.
    pub(super) names: Vec<(String, u64)>,
    /// Places and lengths of the numbers in it.
    pub(super) numbers: Vec<(u64, u32)>,
    /// Places and lengths of the texts in it.
    pub(super) texts: Vec<(u64, u32)>,
}

/// Reads a tree. Every node is read once; names together stay within a small multiple of the
/// file.
pub(super) fn read(file: &[u8], offset: u64, size: u64) -> Tree {
    let mut tree = Tree { offset, ..Tree::default() };
    let mut seen = HashSet::new();
    let mut open = VecDeque::from([(String::new(), 0u64)]);
    let mut budget = file.len().saturating_mul(4).saturating_add(1 << 16);
    while let Some((name, at)) = open.pop_front() {
        if at < size && seen.insert(at) {
            let bytes = Program::new(file, offset.saturating_add(at), size - at);
            let start = at + bytes.left() as u64;
            let node = Node { bytes, start };
            let _ = tree.read_node(node, &name, &mut open, &mut budget);
        }
    }
    tree
}

/// A node on its way.
struct Node<'a> {
    bytes: Program<'a>,
    /// The place of its end.
    start: u64,
}

impl Node<'_> {
    fn place(&self) -> u64 {
        self.start - self.bytes.left() as u64
    }
}

impl Tree {
    fn number(&mut self, node: &mut Node) -> Option<u64> {
        let at = node.place();
        let value = node.bytes.unsigned()?;
        self.numbers.push((at, (node.place() - at) as u32));
        Some(value)
    }

    fn text(&mut self, node: &mut Node) -> Option<String> {
        let at = node.place();
        let text = node.bytes.text()?;
        self.texts.push((at, (node.place() - at) as u32));
        Some(text)
    }

    /// Notes what a node exports and the nodes below it; `None` where it ends early.
    fn read_node(
        &mut self,
        mut node: Node,
        name: &str,
        open: &mut VecDeque<(String, u64)>,
        budget: &mut usize,
    ) -> Option<()> {
        let length = self.number(&mut node)?;
        let after = node.place().checked_add(length)?;
        if length != 0 {
            let flags = self.number(&mut node)?;
            let distance = self.number(&mut node)?;
            if flags & REEXPORTED != 0 {
                self.text(&mut node)?;
            } else {
                if flags & RESOLVED != 0 {
                    self.number(&mut node)?;
                }
                *budget = budget.checked_sub(name.len())?;
                self.names.push((name.to_owned(), distance));
            }
        }
        node.bytes.take(after.checked_sub(node.place())?)?;
        for _ in 0..self.number(&mut node)? {
            let more = self.text(&mut node)?;
            let child = self.number(&mut node)?;
            let name = format!("{name}{more}");
            if name.len() > LONGEST {
                continue;
            }
            *budget = budget.checked_sub(name.len())?;
            open.push_back((name, child));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_together_along_the_branches() {
        // The root, `_` with `main` and `two` below it, `main` with `2` below it.
        let tree = [
            &[0, 1][..],
            b"_\0",
            &[5],
            &[0, 2],
            b"main\0",
            &[18],
            b"two\0",
            &[25],
            &[2, 0, 0x10, 1],
            b"2\0",
            &[25],
            &[2, 0, 0x20, 0],
        ]
        .concat();
        let tree = read(&tree, 0, tree.len() as u64);
        // The place of `_main2` is also that of `_two`, and was read as that.
        assert_eq!(tree.names, [("_main".to_owned(), 0x10), ("_two".to_owned(), 0x20)]);
        assert_eq!(tree.texts, [(2, 2), (7, 5), (13, 4), (22, 2)]);
        assert_eq!(tree.numbers.first(), Some(&(0, 1)));
    }

    #[test]
    fn a_tree_that_leads_in_circles_ends() {
        let circle = read(&[0, 2, b'a', 0, 0, b'b', 0, 1], 0, 8);
        assert_eq!(circle.names, [("b".to_owned(), 0)]);
        assert_eq!(read(&[0xff; 64], 0, 64).names, []);
    }
}
