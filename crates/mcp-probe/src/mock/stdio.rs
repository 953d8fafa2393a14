//! A mock on its standard streams.

use super::faults::Act;
use super::model::{Model, error};
use super::table::Mock;
use crate::json::{self, Json};
use std::io::{self, BufRead, Write};
use std::time::Duration;

/// Serves until the input ends; the exit code is that of the process.
pub fn serve(mock: &Mock) -> io::Result<i32> {
    let mut model = Model::default();
    (mock.setup)(&mut model);
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(0);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let acts = match json::parse(&line) {
            Ok(message) => (mock.react)(&mut model, &message),
            Err(_) => vec![Act::Send(error(Json::Null, -32700, "Parse error", None))],
        };
        for act in acts {
            if let Some(code) = perform(act)? {
                return Ok(code);
            }
        }
    }
}

fn perform(act: Act) -> io::Result<Option<i32>> {
    let mut out = io::stdout().lock();
    match act {
        Act::Send(message) => writeln!(out, "{message}")?,
        Act::Raw(bytes) => out.write_all(&bytes)?,
        Act::Stderr(text) => eprintln!("{text}"),
        Act::Sleep(millis) => std::thread::sleep(Duration::from_millis(millis)),
        Act::Forever(bytes) => loop {
            out.write_all(&bytes)?;
        },
        Act::Exit(code) => return Ok(Some(code)),
        Act::Hang => {}
    }
    out.flush()?;
    Ok(None)
}
