//! A database that somebody damaged: what is left of it is a sound program, or a refusal.

use std::path::Path;

use ghidra_db::{Database, Packed};
use ghidra_project::import;

/// A small generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[test]
fn a_damaged_database_gives_a_sound_program_or_a_refusal() {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ghidra/structs.x64.O2.gzf");
    let content = Packed::read(&fixture).unwrap().content;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut whole, mut refused) = (0, 0);
    for round in 0..150 {
        let mut damaged = content.clone();
        let used: Vec<usize> = (0..damaged.len()).filter(|&at| damaged[at] != 0).collect();
        for _ in 0..=dice.below(200) {
            let at = used[dice.below(used.len())];
            damaged[at] = dice.below(256) as u8;
        }
        match Database::parse(damaged).map_err(Into::into).and_then(|database| import(&database)) {
            Ok(imported) => {
                assert_eq!(imported.program.verify(), [], "round {round}");
                whole += 1;
            }
            Err(error) => {
                let error: ghidra_project::ImportError = error;
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(whole > 20, "{whole} of {} rounds", whole + refused);
}
