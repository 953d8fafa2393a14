//! A wrapper around a command. Plain blocking threads: the shortest way for a
//! line from one pipe to the other.

use super::tap::{Tap, Totals};
use crate::target::Command;
use crate::trail::{Channel, Side, Trail};
use bytes::Bytes;
use std::io::{self, IsTerminal, Read, Write};
use std::process::Stdio;
use std::time::Duration;

const CHUNK: usize = 256 << 10;

/// Runs the command between our own standard streams. Gives its exit code and
/// what was forwarded.
pub async fn wrap(command: &Command, trail: Trail) -> Result<(i32, Totals), String> {
    let mut builder = tokio::process::Command::new(&command.program);
    builder
        .args(&command.args)
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let failed = |error: io::Error| format!("{} could not be started: {error}", command.program);
    let mut child = builder.spawn().map_err(failed)?;
    let tap = Tap::start(trail);
    let pipe = |what: &str| format!("the {what} of the command is missing");
    let stdin = child.stdin.take().ok_or(pipe("input"))?.into_owned_fd().map_err(failed)?;
    let stdout = child.stdout.take().ok_or(pipe("output"))?.into_owned_fd().map_err(failed)?;
    let stderr =
        child.stderr.take().ok_or(pipe("error output"))?.into_owned_fd().map_err(failed)?;
    let to_child = tap.clone();
    // This one may hang on our own input for ever; it ends with the process.
    std::thread::spawn(move || {
        let file = std::fs::File::from(stdin);
        pump(io::stdin(), file, &to_child, Side::Client, Channel::Stdin);
    });
    let from_child = tap.clone();
    let output = std::thread::spawn(move || {
        let file = std::fs::File::from(stdout);
        pump(file, Unbuffered, &from_child, Side::Server, Channel::Stdout);
    });
    let last = tap.clone();
    let errors = std::thread::spawn(move || {
        let file = std::fs::File::from(stderr);
        // A client reads it as it is; a person's terminal is not the server's to steer.
        match io::stderr().is_terminal() {
            true => pump(file, ForPeople, &tap, Side::Server, Channel::Stderr),
            false => pump(file, io::stderr(), &tap, Side::Server, Channel::Stderr),
        }
    });
    let code = wait(&mut child).await;
    // What the command wrote before its end must still get through.
    let drained =
        tokio::task::spawn_blocking(move || (output.join().is_ok(), errors.join().is_ok()));
    // What the command started may still hold its pipes open.
    let _ = tokio::time::timeout(Duration::from_secs(2), drained).await;
    let totals = tokio::task::spawn_blocking(move || last.finish()).await;
    Ok((code, totals.unwrap_or_default()))
}

async fn wait(child: &mut tokio::process::Child) -> i32 {
    let mut terminate =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
    let stopped = async {
        match &mut terminate {
            Some(signal) => signal.recv().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        status = child.wait() => return status.ok().and_then(|status| status.code()).unwrap_or(1),
        _ = tokio::signal::ctrl_c() => {}
        _ = stopped => {}
    }
    // On a terminal the command got the signal as well; give it a moment.
    if let Ok(status) = tokio::time::timeout(Duration::from_secs(1), child.wait()).await {
        return status.ok().and_then(|status| status.code()).unwrap_or(130);
    }
    let _ = child.kill().await;
    130
}

/// Our output without the line buffer, which would hold messages back.
struct Unbuffered;

impl Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        rustix::io::write(rustix::stdio::stdout(), bytes).map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error output where a person sits before it.
struct ForPeople;

impl Write for ForPeople {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = crate::screen::visible(&String::from_utf8_lossy(bytes));
        io::stderr().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn pump(mut from: impl Read, mut to: impl Write, tap: &Tap, side: Side, channel: Channel) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        // Noted first, so that a request always stands before its answer.
        tap.bytes(0, side, channel, Bytes::copy_from_slice(&buffer[..count]));
        let forwarded = to.write_all(&buffer[..count]).and_then(|()| to.flush());
        if let Err(error) = forwarded {
            tap.remark(format!("{} {}: {error}", side.name(), channel.name()));
            break;
        }
    }
    tap.end(0, side, channel);
}
