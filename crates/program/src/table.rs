//! A sorted map with O(1) snapshots: the one container behind every table of
//! the program database.
//!
//! Entries live in sorted chunks behind reference counts. Cloning a table
//! copies one pointer; the first write after a clone copies the list of chunks
//! (a key and a pointer per few hundred entries) and each chunk it touches. A
//! lookup is two binary searches in plain arrays, an ordered walk goes over them.

use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// Chunks split when they reach this many entries.
const CHUNK: usize = 256;

type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// The chunks, and beside each a key that no entry of it is below and every
/// entry of those before is: lookups find the chunk without touching any other.
#[derive(Debug, Clone)]
struct Chunks<K, V> {
    lows: Vec<K>,
    chunks: Vec<Chunk<K, V>>,
}

impl<K, V> Chunks<K, V> {
    fn insert(&mut self, index: usize, low: K, entries: Vec<(K, V)>) {
        self.lows.insert(index, low);
        self.chunks.insert(index, Arc::new(entries));
    }
}

/// A persistent sorted map. See the module text for its costs.
#[derive(Debug)]
pub struct Table<K, V> {
    all: Arc<Chunks<K, V>>,
    len: usize,
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        Table { all: Arc::clone(&self.all), len: self.len }
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Table { all: Arc::new(Chunks { lows: Vec::new(), chunks: Vec::new() }), len: 0 }
    }
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether both tables share their storage, so that neither changed since
    /// one was cloned from the other.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.all, &other.all)
    }

    /// The keys whose values differ, or that only one of both tables has. Chunks that both share
    /// are passed over.
    pub fn differences(&self, other: &Self, same: impl Fn(&V, &V) -> bool) -> Vec<K> {
        let mut found = Vec::new();
        if self.same(other) {
            return found;
        }
        let mut here = Walk { chunks: &self.all.chunks, chunk: 0, at: 0 };
        let mut there = Walk { chunks: &other.all.chunks, chunk: 0, at: 0 };
        loop {
            if here.shares_chunk(&there) {
                here.chunk += 1;
                there.chunk += 1;
                continue;
            }
            let order = match (here.entry(), there.entry()) {
                (None, None) => return found,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((one, _)), Some((two, _))) => one.cmp(two),
            };
            let differs = match (order, here.entry(), there.entry()) {
                (Ordering::Equal, Some((key, one)), Some((_, two))) => {
                    (!same(one, two)).then_some(key)
                }
                (Ordering::Less, Some((key, _)), _) => Some(key),
                (_, _, Some((key, _))) => Some(key),
                _ => None,
            };
            found.extend(differs.cloned());
            if order != Ordering::Greater {
                here.step();
            }
            if order != Ordering::Less {
                there.step();
            }
        }
    }

    /// Chunk in which `key` is or would be, if there is any chunk.
    fn chunk_of(&self, key: &K) -> Option<usize> {
        let after = self.all.lows.partition_point(|low| low <= key);
        if self.all.lows.is_empty() { None } else { Some(after.saturating_sub(1)) }
    }

    fn chunk(&self, index: usize) -> &[(K, V)] {
        &self.all.chunks[index]
    }

    /// The value stored under `key`. O(log n).
    pub fn get(&self, key: &K) -> Option<&V> {
        let chunk = self.chunk(self.chunk_of(key)?);
        let at = chunk.binary_search_by(|(k, _)| k.cmp(key)).ok()?;
        Some(&chunk[at].1)
    }

    /// Whether `key` has a value. O(log n).
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Mutable access to the value under `key`; copies its chunk when a
    /// snapshot still holds it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let chunk = self.chunk_of(key)?;
        let at = self.chunk(chunk).binary_search_by(|(k, _)| k.cmp(key)).ok()?;
        let chunk = Arc::make_mut(&mut Arc::make_mut(&mut self.all).chunks[chunk]);
        Some(&mut chunk[at].1)
    }

    /// Stores `value` under `key`; returns the value it replaces. O(log n)
    /// plus the copies described in the module text.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let index = self.chunk_of(&key);
        let all = Arc::make_mut(&mut self.all);
        let Some(mut index) = index else {
            all.insert(0, key.clone(), vec![(key, value)]);
            self.len = 1;
            return None;
        };
        let chunk = Arc::make_mut(&mut all.chunks[index]);
        let mut at = match chunk.binary_search_by(|(k, _)| k.cmp(&key)) {
            Ok(at) => return Some(std::mem::replace(&mut chunk[at].1, value)),
            Err(at) => at,
        };
        self.len += 1;
        if chunk.len() >= CHUNK && at == chunk.len() {
            // Ascending fills (the usual bulk load) leave full chunks behind.
            all.insert(index + 1, key.clone(), vec![(key, value)]);
            return None;
        }
        if key < all.lows[index] {
            all.lows[index] = key.clone();
        }
        if chunk.len() >= CHUNK {
            let upper = chunk.split_off(CHUNK / 2);
            chunk.shrink_to_fit();
            all.insert(index + 1, upper[0].0.clone(), upper);
            if at > CHUNK / 2 {
                (index, at) = (index + 1, at - CHUNK / 2);
            }
        }
        let chunk = Arc::make_mut(&mut all.chunks[index]);
        if chunk.len() == chunk.capacity() {
            // Doubling would leave a third of all chunks empty.
            chunk.reserve_exact((chunk.len() / 8).max(4));
        }
        chunk.insert(at, (key, value));
        None
    }

    /// Removes `key`; returns what it held.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let index = self.chunk_of(key)?;
        let at = self.chunk(index).binary_search_by(|(k, _)| k.cmp(key)).ok()?;
        let all = Arc::make_mut(&mut self.all);
        let chunk = Arc::make_mut(&mut all.chunks[index]);
        let (_, value) = chunk.remove(at);
        if chunk.is_empty() {
            all.chunks.remove(index);
            all.lows.remove(index);
        } else if chunk.len() < chunk.capacity() / 2 {
            chunk.shrink_to_fit();
        }
        self.len -= 1;
        Some(value)
    }

    /// Removes every entry of `range` for which `doomed` answers true.
    pub fn remove_where(
        &mut self,
        range: impl RangeBounds<K>,
        mut doomed: impl FnMut(&K, &V) -> bool,
    ) -> usize {
        let keys: Vec<K> =
            self.range(range).filter(|(k, v)| doomed(k, v)).map(|(k, _)| k.clone()).collect();
        for key in &keys {
            self.remove(key);
        }
        keys.len()
    }

    /// All entries in key order.
    pub fn iter(&self) -> Entries<'_, K, V> {
        self.range(..)
    }

    /// The entries of `range` in key order; can be walked from both ends.
    pub fn range(&self, range: impl RangeBounds<K>) -> Entries<'_, K, V> {
        let front = match range.start_bound() {
            Bound::Unbounded => (0, 0),
            Bound::Included(key) => self.position(|k| k < key, key),
            Bound::Excluded(key) => self.position(|k| k <= key, key),
        };
        let back = match range.end_bound() {
            Bound::Unbounded => (self.all.chunks.len(), 0),
            Bound::Included(key) => self.position(|k| k <= key, key),
            Bound::Excluded(key) => self.position(|k| k < key, key),
        };
        Entries { chunks: &self.all.chunks, front, back: back.max(front) }
    }

    /// First position whose key does not satisfy `before`, which must hold for
    /// a prefix of the table around `key`.
    fn position(&self, before: impl Fn(&K) -> bool, key: &K) -> (usize, usize) {
        let Some(index) = self.chunk_of(key) else { return (0, 0) };
        let chunk = self.chunk(index);
        let at = chunk.partition_point(|(k, _)| before(k));
        if at == chunk.len() { (index + 1, 0) } else { (index, at) }
    }

    /// The last entry whose key is at or below `key`.
    pub fn at_or_below(&self, key: &K) -> Option<(&K, &V)> {
        self.range(..=key.clone()).next_back()
    }

    /// The first entry whose key is at or above `key`.
    pub fn at_or_above(&self, key: &K) -> Option<(&K, &V)> {
        self.range(key.clone()..).next()
    }

    /// The entry with the greatest key.
    pub fn last(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// The entry with the smallest key.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.iter().map(|(k, _)| k)
    }

    /// The values in key order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, v)| v)
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for Table<K, V> {
    /// Entries that come in key order, each key once, are only moved into place.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut table = Table::new();
        let mut entries = entries.into_iter();
        let mut full: Vec<Chunk<K, V>> = Vec::new();
        let mut chunk: Vec<(K, V)> = Vec::new();
        let mut stray = None;
        for (key, value) in entries.by_ref() {
            let last = chunk.last().or_else(|| full.last().and_then(|chunk| chunk.last()));
            if last.is_some_and(|(last, _)| *last >= key) {
                stray = Some((key, value));
                break;
            }
            if chunk.len() == CHUNK {
                full.push(Arc::new(std::mem::take(&mut chunk)));
            }
            if chunk.is_empty() {
                chunk.reserve_exact(CHUNK);
            }
            chunk.push((key, value));
            table.len += 1;
        }
        if !chunk.is_empty() {
            chunk.shrink_to_fit();
            full.push(Arc::new(chunk));
        }
        let lows = full.iter().map(|chunk| chunk[0].0.clone()).collect();
        table.all = Arc::new(Chunks { lows, chunks: full });
        for (key, value) in stray.into_iter().chain(entries) {
            table.insert(key, value);
        }
        table
    }
}

/// A position in a table, for comparing two of them.
struct Walk<'a, K, V> {
    chunks: &'a [Chunk<K, V>],
    chunk: usize,
    at: usize,
}

impl<'a, K, V> Walk<'a, K, V> {
    fn entry(&self) -> Option<&'a (K, V)> {
        self.chunks.get(self.chunk)?.get(self.at)
    }

    fn step(&mut self) {
        self.at += 1;
        if self.chunks.get(self.chunk).is_none_or(|chunk| self.at >= chunk.len()) {
            self.chunk += 1;
            self.at = 0;
        }
    }

    /// Whether both stand before the same chunk.
    fn shares_chunk(&self, other: &Self) -> bool {
        let pair = (self.chunks.get(self.chunk), other.chunks.get(other.chunk));
        self.at == 0
            && other.at == 0
            && matches!(pair, (Some(one), Some(two)) if Arc::ptr_eq(one, two))
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Table<K, V> {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.all, &other.all) {
            return true;
        }
        let mine = self.all.chunks.iter().flat_map(|chunk| chunk.iter());
        self.len == other.len && mine.eq(other.all.chunks.iter().flat_map(|chunk| chunk.iter()))
    }
}

/// What became of one key from an earlier state of a table to a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a, K, V> {
    /// The key.
    pub key: &'a K,
    /// Its value before; `None` when it had none.
    pub before: Option<&'a V>,
    /// Its value now; `None` when it has none any more.
    pub after: Option<&'a V>,
}

impl<K: Ord + Clone, V: Clone + PartialEq> Table<K, V> {
    /// What changed since `before`, in key order. Storage that both still share
    /// is not looked at, so the cost grows with the changes, not with the table.
    pub fn changes<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = Change<'a, K, V>> {
        let mut old = before.iter();
        let mut new = self.iter();
        std::iter::from_fn(move || {
            loop {
                skip_shared(&mut old, &mut new);
                let order = match (old.peek(), new.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some((before, _)), Some((after, _))) => before.cmp(after),
                };
                let change = match order {
                    Ordering::Less => old.next().map(|(key, value)| Change {
                        key,
                        before: Some(value),
                        after: None,
                    }),
                    Ordering::Greater => new.next().map(|(key, value)| Change {
                        key,
                        before: None,
                        after: Some(value),
                    }),
                    Ordering::Equal => {
                        let (before, after) = (old.next()?.1, new.next()?);
                        if before == after.1 {
                            continue;
                        }
                        Some(Change { key: after.0, before: Some(before), after: Some(after.1) })
                    }
                };
                return change;
            }
        })
    }
}

/// Passes over chunks that two walks are both at the start of and that are one.
fn skip_shared<K, V>(old: &mut Entries<'_, K, V>, new: &mut Entries<'_, K, V>) {
    while old.front.1 == 0 && new.front.1 == 0 && old.front < old.back && new.front < new.back {
        let (a, b) = (&old.chunks[old.front.0], &new.chunks[new.front.0]);
        if !Arc::ptr_eq(a, b) {
            break;
        }
        old.front.0 += 1;
        new.front.0 += 1;
    }
}

/// Ordered walk over a table, from either end.
#[derive(Debug, Clone)]
pub struct Entries<'a, K, V> {
    chunks: &'a [Chunk<K, V>],
    front: (usize, usize),
    back: (usize, usize),
}

impl<'a, K, V> Entries<'a, K, V> {
    /// The entry that comes next, without passing it.
    fn peek(&self) -> Option<&'a (K, V)> {
        (self.front < self.back).then(|| &self.chunks[self.front.0][self.front.1])
    }
}

impl<'a, K, V> Iterator for Entries<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.front >= self.back {
            return None;
        }
        let chunk = &self.chunks[self.front.0];
        let (key, value) = &chunk[self.front.1];
        self.front.1 += 1;
        if self.front.1 == chunk.len() {
            self.front = (self.front.0 + 1, 0);
        }
        Some((key, value))
    }
}

impl<K, V> DoubleEndedIterator for Entries<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.front >= self.back {
            return None;
        }
        if self.back.1 == 0 {
            self.back = (self.back.0 - 1, self.chunks[self.back.0 - 1].len());
        }
        self.back.1 -= 1;
        let (key, value) = &self.chunks[self.back.0][self.back.1];
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_snapshot_does_not_see_later_writes() {
        let mut table: Table<u32, u32> = (0..2000).map(|i| (i, i)).collect();
        let snapshot = table.clone();
        assert!(snapshot.same(&table));
        table.insert(7, 700);
        table.remove(&8);
        assert!(!snapshot.same(&table));
        assert_eq!(snapshot.get(&7), Some(&7));
        assert_eq!(snapshot.get(&8), Some(&8));
        assert_eq!(table.get(&7), Some(&700));
        assert_eq!(table.len(), 1999);
    }

    #[test]
    fn chunks_hold_little_room_in_reserve() {
        // A permutation: entries come in no order.
        let mut table = Table::new();
        for i in 0..50_000_u64 {
            table.insert(i * 31_337 % 50_000, i);
        }
        let room = |table: &Table<u64, u64>| -> usize {
            table.all.chunks.iter().map(|chunk| chunk.capacity()).sum()
        };
        assert!(room(&table) <= 50_000 * 9 / 8, "{}", room(&table));
        table.remove_where(.., |key, _| key % 4 != 0);
        assert_eq!(table.len(), 12_500);
        assert!(room(&table) <= 12_500 * 2, "{}", room(&table));
    }

    #[test]
    fn entries_out_of_order_are_put_in_order() {
        let table: Table<u32, u32> = [(3, 0), (5, 1), (4, 2), (9, 3), (3, 4)].into_iter().collect();
        let entries: Vec<(u32, u32)> = table.iter().map(|(k, v)| (*k, *v)).collect();
        assert_eq!(entries, [(3, 4), (4, 2), (5, 1), (9, 3)]);
        assert_eq!(table.len(), 4);
    }

    proptest! {
        #[test]
        fn changes_lead_from_one_state_to_the_other(
            first in proptest::collection::vec(0u16..2000, 0..1500),
            edits in proptest::collection::vec((any::<bool>(), 0u16..2000, 0u8..3), 0..300),
            bulk in any::<bool>(),
        ) {
            let mut start: BTreeMap<u16, u8> = first.iter().map(|key| (*key, 0)).collect();
            let before: Table<u16, u8> = if bulk {
                start.iter().map(|(k, v)| (*k, *v)).collect()
            } else {
                first.iter().map(|key| (*key, 0)).collect()
            };
            let mut after = before.clone();
            for (insert, key, value) in edits {
                if insert { after.insert(key, value); } else { after.remove(&key); }
            }
            for change in after.changes(&before) {
                prop_assert_eq!(start.get(change.key), change.before);
                prop_assert_ne!(change.before, change.after);
                match change.after {
                    Some(value) => start.insert(*change.key, *value),
                    None => start.remove(change.key),
                };
            }
            prop_assert!(after.iter().eq(start.iter()));
            prop_assert_eq!(after.len(), start.len());
            prop_assert_eq!(&after, &start.into_iter().collect());
        }

        #[test]
        fn behaves_like_a_btree_map(
            edits in proptest::collection::vec((any::<bool>(), 0u16..900), 0..3000),
            from in 0u16..900, to in 0u16..900,
        ) {
            let mut table = Table::new();
            let mut model = BTreeMap::new();
            for (n, (insert, key)) in edits.into_iter().enumerate() {
                if insert {
                    prop_assert_eq!(table.insert(key, n), model.insert(key, n));
                } else {
                    prop_assert_eq!(table.remove(&key), model.remove(&key));
                }
            }
            let half: Table<u16, usize> = model.iter().map(|(k, v)| (*k, *v)).collect();
            prop_assert!(table.differences(&half, PartialEq::eq).is_empty());
            let mut other = table.clone();
            let mut expected = Vec::new();
            for key in [from, to] {
                other.insert(key, usize::MAX);
                expected.push(key);
            }
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(table.differences(&other, PartialEq::eq), expected.clone());
            prop_assert_eq!(other.differences(&half, PartialEq::eq), expected);
            prop_assert_eq!(table.len(), model.len());
            prop_assert!(table.iter().eq(model.iter()));
            prop_assert!(table.iter().rev().eq(model.iter().rev()));
            let (low, high) = (from.min(to), from.max(to));
            prop_assert!(table.range(low..high).eq(model.range(low..high)));
            prop_assert!(table.range(low..=high).rev().eq(model.range(low..=high).rev()));
            prop_assert_eq!(table.at_or_below(&low), model.range(..=low).next_back());
            prop_assert_eq!(table.at_or_above(&low), model.range(low..).next());
        }
    }
}
