//! Fuzzes the trial of the same name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trials::database(bytes));
