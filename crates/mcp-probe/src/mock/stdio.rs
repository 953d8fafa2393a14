//! A mock on its standard streams.

use super::faults::Act;
use super::model::{Model, error};
use super::table::{Manner, Mock};
use crate::json::{self, Json};
use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

/// Serves until the input ends; the exit code is that of the process.
pub fn serve(mock: &Mock) -> io::Result<i32> {
    let mut model = Model::default();
    (mock.setup)(&mut model);
    match mock.manner {
        Manner::Framed => return framed(mock, &mut model),
        Manner::HeldBack => return held_back(mock, &mut model),
        _ => {}
    }
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

/// Messages behind headers with their length; a line of JSON is a header it does not know.
fn framed(mock: &Mock, model: &mut Model) -> io::Result<i32> {
    let mut input = io::stdin().lock();
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(0);
            }
            match line.trim().split_once(':') {
                None if line.trim().is_empty() => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap_or(0);
                }
                _ => {}
            }
        }
        let mut body = Vec::new();
        input.by_ref().take(length).read_to_end(&mut body)?;
        let Ok(message) = json::parse(&body) else { continue };
        for act in (mock.react)(model, &message) {
            if let Act::Send(answer) = act {
                let text = answer.to_string();
                let mut out = io::stdout().lock();
                write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
                out.flush()?;
            }
        }
    }
}

/// Everything is written when the input ends.
fn held_back(mock: &Mock, model: &mut Model) -> io::Result<i32> {
    let mut held = Vec::new();
    for line in io::stdin().lock().lines() {
        let Ok(message) = json::parse(line?.as_bytes()) else { continue };
        held.extend((mock.react)(model, &message));
    }
    for act in held {
        perform(act)?;
    }
    Ok(0)
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
