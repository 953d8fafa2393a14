//! Every trial with a bounded number of inputs: examples of what is right, the
//! same with bytes changed, and plain noise. Always the same ones.

/// Bytes that mean something to a parser.
const SALT: &[u8] = b"{}[]\",:\\0-e\xff\0";

/// A small generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn noise(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.next() as u8).collect()
    }

    /// Changes, drops, doubles or swaps in a few bytes.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 if !bytes.is_empty() => bytes[at] = self.next() as u8,
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 => bytes.truncate(at),
                _ => bytes.insert(at, SALT[self.below(SALT.len())]),
            }
        }
        bytes
    }
}

/// Runs a trial over examples and what becomes of them.
fn run(name: &str, rounds: usize, examples: &[Vec<u8>]) {
    let trial = trials::ALL.iter().find(|(known, _)| *known == name).expect("a trial").1;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    trial(&[]);
    examples.iter().for_each(|example| trial(example));
    for _ in 0..rounds {
        trial(&dice.noise(200));
        if !examples.is_empty() {
            let example = &examples[dice.below(examples.len())];
            trial(&dice.damage(example));
        }
    }
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn json_rpc() {
    let examples = texts(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"program.get","params":{"a":[1,-2.5e3,"\u00e9\ud83d\ude00"]}}"#,
        r#"{"jsonrpc":"2.0","method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"x","params":[]}"#,
    ]);
    run("json_rpc", 20_000, &examples);
}

#[test]
fn mcp_request() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let modern = format!(
        "2026-07-28\ntools/call\n=?base64?Z2hpZHJhLmhlbHA=?=\n{{\"jsonrpc\":\"2.0\",\"id\":1,\
         \"method\":\"tools/call\",\"params\":{{\"name\":\"ghidra.help\",{meta}}}}}"
    );
    let examples = texts(&[
        &modern,
        "2025-11-25\n\n\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"resources/read\",\"params\":{\"uri\":\"a\"}}",
        "\n\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}",
    ]);
    run("mcp_request", 20_000, &examples);
}

#[test]
fn frames() {
    let masked = |first: u8, payload: &[u8]| {
        [&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0][..], payload].concat()
    };
    let examples = [masked(0x81, b"{}"), masked(0x89, b""), masked(0x88, b"\x03\xe8")];
    let all = examples.concat();
    run("frames", 20_000, &[examples.to_vec(), vec![all]].concat());
}

#[test]
fn cursors() {
    run("cursors", 500, &texts(&["AAAAAAAAAAAAAAAAAAAAAAAA", "MTIzNDU2Nzg5MDEyMzQ1NiJ4Ig"]));
}

#[test]
fn addresses() {
    let examples =
        ["ram:00100000", "ram::100008", "0x100000", "100000+4", "trial", "100010-0x8", "ram"];
    run("addresses", 2_000, &texts(&examples));
}

#[test]
fn comments() {
    let mut dice = Dice(7);
    let examples: Vec<Vec<u8>> =
        (0..4).map(|_| (0..400).map(|_| dice.next() as u8).collect()).collect();
    run("comments", 10, &examples);
}

#[test]
fn files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/bin");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("fixtures")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let examples: Vec<Vec<u8>> =
        paths.iter().take(3).map(|path| std::fs::read(path).expect("bytes")).collect();
    assert!(!examples.is_empty());
    run("files", 60, &examples);
}

/// Descriptions of where a variable lies count the gaps behind their head, which may be missing.
#[test]
fn places_of_variables_in_pdb_files_may_be_cut_short() {
    const END: [u8; 4] = [2, 0, 6, 0];
    let file = include_bytes!("../../../fixtures/pdb/shop.x64.pdb");
    for kind in 0x3f..=0x45 {
        let mut bytes = file.to_vec();
        let ends: Vec<usize> =
            (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&END)).collect();
        assert!(ends.len() > 4);
        for at in ends {
            bytes[at + 2..at + 4].copy_from_slice(&[kind, 0x11]);
        }
        trials::pdb(&bytes);
    }
}

/// The sizes of its parts that the debug information announces may add up to more than there is.
#[test]
fn parts_of_pdb_files_may_be_announced_larger_than_any_number() {
    // No signature, and the version behind it.
    const HEAD: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0x77, 0x09, 0x31, 0x01];
    let file = include_bytes!("../../../fixtures/pdb/shop.x64.pdb");
    let head = (0..file.len() - 64).find(|at| file[*at..].starts_with(&HEAD)).expect("is there");
    for part in 0..8 {
        let mut bytes = file.to_vec();
        bytes[head + 24 + 4 * part..][..4].copy_from_slice(&[0xff; 4]);
        trials::pdb(&bytes);
        bytes[head + 24..head + 24 + 4 * part].fill(0xff);
        trials::pdb(&bytes);
    }
}

#[test]
fn pdb() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pdb");
    let examples = ["shop.x64.pdb", "plain.x64.pdb", "frames.arm64.pdb"]
        .map(|name| std::fs::read(format!("{folder}/{name}")).expect("bytes"));
    run("pdb", 40, &examples);
    // Bytes that stay where they are, so that the pages do too.
    let mut dice = Dice(23);
    for _ in 0..300 {
        let mut bytes = examples[dice.below(3)].clone();
        for _ in 0..=dice.below(24) {
            let at = dice.below(bytes.len());
            bytes[at] = [0, 0xff, 0x80, dice.next() as u8][dice.below(4)];
        }
        trials::pdb(&bytes);
    }
}

#[test]
fn code() {
    // Each language with noise, and with noise that begins like a function.
    let mut dice = Dice(11);
    for language in 0..6u8 {
        for begin in [&b""[..], b"\x55\x48\x89\xe5"] {
            let noise = dice.noise(600);
            trials::code(&[&[language], begin, &noise].concat());
        }
    }
}

/// Changes a few bytes in the part of a file where its sections with debug information are, and
/// leaves all others where they are.
fn blur(dice: &mut Dice, file: &[u8], from: usize) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=dice.below(12) {
        let at = from + dice.below(bytes.len() - from);
        bytes[at] = match dice.below(3) {
            0 => dice.next() as u8,
            1 => bytes[at].wrapping_add(1),
            _ => bytes[dice.below(file.len())],
        };
    }
    bytes
}

fn debug_fixtures(names: &[&str]) -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/debug");
    let read = |name: &&str| std::fs::read(format!("{folder}/{name}")).expect("a fixture");
    names.iter().map(read).collect()
}

#[test]
fn debug() {
    let names = [
        "inventory.dwarf2",
        "inventory.types4",
        "inventory.types5",
        "post.lto",
        "post.clang",
        "depot.dwarf2",
        "depot.dwarf5",
        "depot.types4",
        "depot.clang",
    ];
    let mut dice = Dice(13);
    for example in debug_fixtures(&names) {
        trials::debug(&example);
        // Code and data come first in all of them.
        let from = 0x3000;
        (0..80).for_each(|_| trials::debug(&blur(&mut dice, &example, from)));
    }
}

#[test]
fn debug_files() {
    let names = [
        "split5/post-post.dwo",
        "split4.packed/post.dwp",
        "clang.packed/post.dwp",
        "shared4/post.shared",
        "inventory.bare.debug",
    ];
    let mut dice = Dice(17);
    for example in debug_fixtures(&names) {
        trials::debug_files(&example);
        (0..60).for_each(|_| trials::debug_files(&blur(&mut dice, &example, 0)));
    }
}

#[test]
fn database() {
    let packed = include_bytes!("../../../fixtures/ghidra/structs.x64.O2.gzf");
    let content = ghidra_db::Packed::parse(packed).expect("the fixture is whole").content;
    run("database", 60, &[packed.to_vec(), content.clone()]);
    // Places that matter: the header, the parameters, and the nodes of tables, by their first bytes.
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for _ in 0..400 {
        let mut damaged = content.clone();
        let blocks = damaged.len() / 16384;
        for _ in 0..=dice.below(3) {
            let at = dice.below(blocks) * 16384 + dice.below(64);
            damaged[at] = dice.next() as u8;
        }
        trials::database(&damaged);
    }
}
