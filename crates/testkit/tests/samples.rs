//! The fixtures and every dump can be read.

use testkit::truth::Truth;

#[test]
fn fixtures_are_elf_files_of_two_processors() {
    let paths = testkit::fixtures();
    assert!(paths.len() >= 22);
    for path in paths {
        let bytes = std::fs::read(&path).expect("a fixture");
        assert_eq!(&bytes[..5], b"\x7fELF\x02", "{}", path.display());
        assert!(bytes.len() < 64 * 1024, "{}", path.display());
        let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
        let name = path.to_string_lossy().into_owned();
        let expected = if name.contains(".x64.") { 62 } else { 183 };
        assert_eq!(machine, expected, "{name}");
    }
}

#[test]
fn every_dump_agrees_with_its_own_counts() {
    let Some(truth) = Truth::find("every_dump_agrees_with_its_own_counts") else {
        return;
    };
    let samples = truth.samples().expect("the samples");
    assert!(samples.len() >= 43);
    for sample in samples {
        let dump = sample.program().expect("program.json");
        assert_eq!(dump.program.name, sample.name);
        assert_eq!(dump.functions.len() as u64, dump.program.function_count);
        let here = dump.functions.iter().filter(|f| !f.external).count();
        let decompiled = sample.decompilations().expect("decomp.json");
        assert_eq!(decompiled.len(), here, "{}", sample.name);
        let listing = sample.listing().expect("listing.txt");
        assert_eq!(listing.len() as u64, dump.program.instruction_count);
        assert!(!sample.arch().is_empty());
    }
}
