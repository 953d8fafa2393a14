//! Random bytes behind every magic, and samples with random damage: no panic,
//! no endless loop, no memory beyond reason.

use loader::{Format, LoadOptions, load};
use testkit::truth::Truth;

/// A small generator: the same bytes on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

fn options() -> LoadOptions {
    LoadOptions { language: Some("x86:LE:64:default".into()), ..LoadOptions::default() }
}

#[test]
fn random_bytes_behind_each_magic_never_panic() {
    let magics: [&[u8]; 10] = [
        b"\x7fELF\x02\x01\x01",
        b"\x7fELF\x01\x02\x01",
        b"MZ",
        b"\x64\x86\x02\0",
        b"\xcf\xfa\xed\xfe",
        b"\xfe\xed\xfa\xce",
        b"\xca\xfe\xba\xbe\0\0\0\x02",
        b"!<arch>\n",
        b":10000000",
        b"S113000000",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for magic in magics {
        for _ in 0..300 {
            let size = (random.next() % 2000) as usize;
            let mut bytes = magic.to_vec();
            bytes.extend(random.bytes(size));
            let _ = load("r", "r", bytes.clone().into(), &LoadOptions::default());
            let _ = load("r", "r", bytes.into(), &options());
        }
    }
}

#[test]
fn a_forced_format_never_panics() {
    let mut random = Random(42);
    let formats = [
        Format::Elf,
        Format::Pe,
        Format::Coff,
        Format::MachO,
        Format::Raw,
        Format::IntelHex,
        Format::SRecord,
        Format::Archive,
        Format::Zip,
    ];
    for format in formats {
        for size in [1usize, 3, 4, 15, 16, 63, 64, 500] {
            let bytes = random.bytes(size);
            let _ = load("r", "r", bytes.into(), &LoadOptions { format, ..options() });
        }
    }
}

#[test]
fn damaged_samples_never_panic() {
    let Some(truth) = Truth::find("damaged_samples_never_panic") else { return };
    let mut random = Random(7);
    for sample in truth.samples().expect("the samples can be listed") {
        let good = std::fs::read(sample.binary()).expect("the sample can be read");
        if good.len() > 100_000 {
            continue;
        }
        for round in 0..12 {
            let mut bytes = good.clone();
            // Headers and tables are hit more often than code.
            let range = if round % 2 == 0 { 0x400 } else { bytes.len() };
            for _ in 0..1 + random.next() % 8 {
                let at = (random.next() as usize) % range.min(bytes.len());
                bytes[at] = random.next() as u8;
            }
            if round % 3 == 0 {
                let keep = (random.next() as usize) % bytes.len();
                bytes.truncate(keep);
            }
            let _ = load("d", "d", bytes.into(), &LoadOptions::default());
        }
    }
}

/// MinGW's list of imported variables says what to add to which places: any of it may be wrong.
#[test]
fn damaged_lists_of_borrowed_variables_never_panic() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/windows");
    let mut random = Random(11);
    let mut kept = 0;
    for machine in ["x64", "x86"] {
        let path = format!("{folder}/borrowed.{machine}.exe");
        let good = std::fs::read(path).expect("a fixture");
        let head = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        let list = good.windows(12).position(|window| window == head).expect("the list's head");
        for _ in 0..400 {
            let mut bytes = good.clone();
            for _ in 0..1 + random.next() % 4 {
                let at = list + (random.next() as usize) % 60;
                bytes[at] = random.next() as u8;
            }
            let size = bytes.len() as u64;
            let program = load("d", "d", bytes.into(), &LoadOptions::default()).expect("it loads");
            let made_up = program.memory.block_named("EXTERNAL").map_or(0, |block| block.length);
            assert!(made_up <= size, "{made_up:#x}");
            kept += u32::from(made_up > 0);
        }
    }
    assert!(kept > 100, "{kept}");
}
