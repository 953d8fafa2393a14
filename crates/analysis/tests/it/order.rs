//! C text depends on nothing but the program: in whatever order functions are asked for, and on
//! however many threads, each has the same text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use decompiler::{Decompiler, Limits};
use program::{Address, Program, SpaceId};

use crate::windows::analysed;

const PROGRAMS: [&str; 5] = [
    "inventory.x64.O2.stripped",
    "inventory.aarch64.O2.stripped",
    "shapes.x64.O2.stripped",
    "shapes.aarch64.O2.stripped",
    "libchecksum.aarch64.O2.stripped.so",
];

type Texts = BTreeMap<Address, String>;

/// The texts of functions, asked for in this order by some threads of one decompiler.
fn texts(program: &Program, entries: &[Address], threads: usize) -> Texts {
    let decompiler = Decompiler::new();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Texts::new();
        while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let never = Arc::new(AtomicBool::new(false));
            let result = decompiler.decompile(program, *entry, &Limits::default(), &never);
            found.insert(*entry, result.c);
        }
        found
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("does not panic")).collect()
    })
}

/// The entries in another order, which a number decides on.
fn shuffled(entries: &[Address], mut seed: u64) -> Vec<Address> {
    let mut entries = entries.to_vec();
    for last in (1..entries.len()).rev() {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        entries.swap(last, (seed >> 33) as usize % (last + 1));
    }
    entries
}

fn assert_same(name: &str, how: &str, wanted: &Texts, texts: &Texts) {
    for (entry, text) in wanted {
        assert_eq!(Some(text), texts.get(entry), "{name}, {how}, at {:x}", entry.offset);
    }
}

#[test]
fn c_text_is_the_same_in_whatever_order_functions_are_asked_for() {
    for name in PROGRAMS {
        let bytes = std::fs::read(testkit::fixture(name)).expect(name);
        let program = &analysed(bytes, None);
        let entries = program.functions.iter().map(|function| function.entry);
        let entries: Vec<Address> = entries.filter(|at| at.space == SpaceId::RAM).collect();
        let forwards = texts(program, &entries, 1);
        let backwards: Vec<Address> = entries.iter().rev().copied().collect();
        assert_same(name, "backwards", &forwards, &texts(program, &backwards, 1));
        for seed in [1, 2] {
            let order = shuffled(&entries, seed);
            assert_same(name, "shuffled", &forwards, &texts(program, &order, 1));
        }
        assert_same(name, "in parallel", &forwards, &texts(program, &entries, 3));
    }
}
