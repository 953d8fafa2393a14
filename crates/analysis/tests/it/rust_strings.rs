//! Texts of Rust programs that lie one behind the other.

use program::{Address, Program, RefType, SourceType};

use crate::image::Image;

const CODE: u64 = 0x1000;
const TEXTS: u64 = 0x2000;
const SLICES: u64 = 0x3000;

/// The texts in the image: start, bytes.
fn texts(program: &Program) -> Vec<(u64, String)> {
    let data = program.listing.data.iter();
    let texts = data.filter(|(_, unit)| program.types.name(unit.data_type) == "string");
    let read = |at: Address, length: u32| {
        let mut bytes = vec![0; length as usize];
        program.memory.read(at, &mut bytes).expect("is there");
        String::from_utf8(bytes).expect("is text").trim_end_matches('\0').to_owned()
    };
    texts.map(|(at, unit)| (at.offset, read(*at, unit.length))).collect()
}

fn image(text: &str, slices: &[(u64, u64)]) -> Program {
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block("code", CODE, &[0xc3], true);
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(0x400, 0);
    image.block("texts", TEXTS, &bytes, false);
    let words = slices.iter().flat_map(|(at, length)| [at.to_le_bytes(), length.to_le_bytes()]);
    image.block("slices", SLICES, &words.flatten().collect::<Vec<u8>>(), false);
    for (index, (at, _)) in slices.iter().enumerate() {
        let from = Address::ram(SLICES + 16 * index as u64);
        let (to, kind) = (Address::ram(*at), RefType::Data);
        image.program.add_reference(from, to, kind, 0, SourceType::Imported);
    }
    image.entry(CODE);
    image.analysed()
}

/// Three texts without an end, as the compiler lays them down.
const JOINED: &str = "called `Option::unwrap()` on a `None` valueRUST_BACKTRACEinvalid argument";

#[test]
fn every_place_that_is_referred_to_starts_a_text() {
    let program = image(JOINED, &[(TEXTS, 43), (TEXTS + 57, 16), (TEXTS + 43, 14)]);
    let expected = [
        (TEXTS, "called `Option::unwrap()` on a `None` value"),
        (TEXTS + 43, "RUST_BACKTRACE"),
        (TEXTS + 57, "invalid argument"),
    ];
    assert_eq!(texts(&program), expected.map(|(at, text)| (at, text.to_owned())));
}

#[test]
fn a_length_behind_a_pointer_ends_no_text() {
    let program = image(JOINED, &[(TEXTS + 43, 14)]);
    let expected = [
        (TEXTS, "called `Option::unwrap()` on a `None` value"),
        (TEXTS + 43, "RUST_BACKTRACEinvalid argument"),
    ];
    assert_eq!(texts(&program), expected.map(|(at, text)| (at, text.to_owned())));
}

#[test]
fn texts_of_other_programs_stay_whole() {
    let text = JOINED.replace("RUST_BACKTRACE", "LONG_BACKTRACE");
    let program = image(&text, &[(TEXTS + 43, 14)]);
    assert!(texts(&program).contains(&(TEXTS, text)));
}
