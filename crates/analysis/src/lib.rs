//! Passes that add facts to a program: functions, references, data, strings.

pub mod unwind;
