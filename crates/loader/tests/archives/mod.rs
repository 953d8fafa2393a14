//! Members of ZIP archives, archives in archives, and archives that mean harm.

use super::{archive, elf, open};
use loader::{LoadError, LoadOptions};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, data) in members {
        writer.start_file(*name, options).expect("a member");
        writer.write_all(data).expect("its bytes");
    }
    writer.finish().expect("an archive").into_inner()
}

fn member(name: &str) -> LoadOptions {
    LoadOptions { member: Some(name.into()), ..LoadOptions::default() }
}

#[test]
fn a_zip_opens_the_chosen_or_only_member() {
    let file = elf();
    let one = zip(&[("lib/x86_64/libone.so", &file)]);
    let program = open(&one, &LoadOptions::default()).expect("the only one");
    assert_eq!(program.info.name, "libone.so");
    let two = zip(&[("classes.dex", b"dex"), ("lib/a!b.so", &file)]);
    let error = open(&two, &LoadOptions::default()).expect_err("which one?");
    assert_eq!(
        error,
        LoadError::MemberNeeded { count: 2, members: "classes.dex, lib/a!b.so".into() }
    );
    assert_eq!(open(&two, &member("lib/a!b.so")).expect("it is there").info.name, "a!b.so");
    assert!(matches!(open(&two, &member("lib")), Err(LoadError::NoSuchMember { .. })));
    assert!(matches!(open(&two, &member("classes.dex")), Err(LoadError::UnknownFormat { .. })));
    assert!(matches!(
        open(&zip(&[]), &member("a")),
        Err(LoadError::Malformed { format: "ZIP", .. })
    ));
}

#[test]
fn a_path_leads_into_archives_inside_archives() {
    let file = elf();
    let inner = archive(&[("a.o", &file), ("b.o", b"not code")]);
    let outer = zip(&[("lib/all.a", &inner), ("readme", b"text")]);
    let program = open(&outer, &member("lib/all.a!a.o")).expect("it is there");
    assert_eq!(program.info.name, "a.o");
    assert!(matches!(open(&outer, &member("lib/all.a")), Err(LoadError::MemberNeeded { .. })));
    assert!(matches!(open(&outer, &member("lib/all.a!c.o")), Err(LoadError::NoSuchMember { .. })));
    let mut deep = elf();
    for _ in 0..9 {
        deep = zip(&[("in", &deep)]);
    }
    assert_eq!(
        open(&deep, &LoadOptions::default()).expect_err("too deep"),
        LoadError::NestedTooDeep { limit: 8 }
    );
}

#[test]
fn a_zip_bomb_is_named_whatever_its_header_says() {
    let bomb = zip(&[("bomb", &vec![0; 20 << 20])]);
    assert!(bomb.len() < 64 << 10);
    let error = open(&bomb, &member("bomb")).expect_err("a bomb");
    assert_eq!(error, LoadError::ZipBomb { member: "bomb".into(), limit: 16 << 20 });
    // The sizes that both headers tell made small: what comes out counts.
    let size = (20u32 << 20).to_le_bytes();
    let mut liar = bomb;
    while let Some(at) = liar.windows(4).position(|four| four == size) {
        liar[at..at + 4].copy_from_slice(&100u32.to_le_bytes());
    }
    assert!(matches!(
        open(&liar, &member("bomb")),
        Err(LoadError::ZipBomb { .. } | LoadError::Malformed { .. })
    ));
}

#[test]
fn a_damaged_zip_never_panics() {
    let good = zip(&[("a", &elf()), ("b", b"text")]);
    for at in 0..good.len() {
        for value in [0, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let _ = open(&bytes, &member("a"));
        }
        let _ = open(&good[..at], &member("a"));
    }
}
