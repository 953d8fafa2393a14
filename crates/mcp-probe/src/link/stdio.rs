//! A child process: messages over its input and output, its error output
//! drained at all times.

use super::{Closure, Incoming, LinkError, LinkOptions};
use crate::message::{Kind, Message};
use crate::stream::{Piece, Quirks, Splitter};
use crate::target::Command;
use crate::trail::{Channel, Facts, Side};
use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

const LONGEST_STDERR_LINE: u64 = 64 << 10;

/// The variables that both official clients pass on to a server that they start.
const PASSED_ON: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// The connection.
pub struct StdioLink {
    child: Child,
    group: Option<Pid>,
    stdin: Option<ChildStdin>,
    incoming: mpsc::Receiver<Incoming>,
    stderr: JoinHandle<()>,
    options: LinkOptions,
    closure: Option<Closure>,
    unended: Arc<AtomicBool>,
}

impl StdioLink {
    /// Starts the command in a process group of its own, so that what it starts
    /// in turn can be ended with it.
    pub fn start(command: &Command, options: LinkOptions) -> Result<StdioLink, LinkError> {
        let mut builder = tokio::process::Command::new(&command.program);
        builder
            .args(&command.args)
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &command.cwd {
            builder.current_dir(folder);
        }
        if command.bare_env {
            builder.env_clear();
            let passed = PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            builder.envs(passed).envs(command.env.iter().map(|(name, value)| (name, value)));
        }
        let spawn = |error: String| LinkError::Spawn(command.program.clone(), error);
        if let Some(folder) = command.cwd.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(spawn(format!(
                "the working directory {} does not exist",
                folder.display()
            )));
        }
        let mut child = builder.spawn().map_err(|error| spawn(error.to_string()))?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(spawn("its streams are missing".into()));
        };
        let (sender, incoming) = mpsc::channel(256);
        let unended = Arc::new(AtomicBool::new(false));
        tokio::spawn(read_stdout(stdout, sender, options.clone(), unended.clone()));
        let stderr = tokio::spawn(read_stderr(stderr, options.clone()));
        let stdin = child.stdin.take();
        Ok(StdioLink { child, group, stdin, incoming, stderr, options, closure: None, unended })
    }

    /// When bytes last came.
    pub fn activity(&self) -> crate::limits::Activity {
        self.options.activity.clone()
    }

    /// Whether the last message that came has no line end yet.
    pub fn is_unended(&self) -> bool {
        self.unended.load(Ordering::Relaxed)
    }

    /// Sends one line.
    pub async fn send(&mut self, raw: Bytes) -> Result<(), LinkError> {
        let trail = &self.options.trail;
        trail.note(Side::Client, Channel::Stdin, raw.clone(), Facts::default());
        let Some(stdin) = &mut self.stdin else {
            return Err(LinkError::Write("its input is closed".into()));
        };
        let writing = async {
            stdin.write_all(&raw).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        match tokio::time::timeout(self.options.limits.idle, writing).await {
            Err(_) => Err(LinkError::Write("the process does not read its input".into())),
            Ok(Err(error)) => Err(LinkError::Write(format!("the process takes no input: {error}"))),
            Ok(Ok(())) => Ok(()),
        }
    }

    /// What comes next.
    pub async fn next(&mut self) -> Incoming {
        if let Some(closure) = &self.closure {
            return Incoming::Closed(closure.clone());
        }
        match self.incoming.recv().await {
            Some(Incoming::Closed(closure)) => {
                let closure = self.ended(closure).await;
                Incoming::Closed(closure)
            }
            Some(other) => other,
            None => {
                let closure = self.ended(Closure::default()).await;
                Incoming::Closed(closure)
            }
        }
    }

    async fn ended(&mut self, mut closure: Closure) -> Closure {
        let status = tokio::time::timeout(Duration::from_millis(1500), self.child.wait()).await;
        closure.why = match status {
            Ok(Ok(status)) => {
                closure.code = status.code();
                closure.signal = signal_of(status);
                describe(status)
            }
            _ => "its output was closed, but the process is still running".into(),
        };
        // Give the last words on stderr time to arrive.
        let _ = tokio::time::timeout(Duration::from_millis(300), &mut self.stderr).await;
        self.closure = Some(closure.clone());
        closure
    }

    /// Closes its input, so that what it holds back may come out.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Closes its input and waits; then asks it to end; then ends it.
    pub async fn close(&mut self) -> Closure {
        self.stdin = None;
        if let Some(closure) = &self.closure {
            let closure = closure.clone();
            self.kill(Signal::KILL);
            return closure;
        }
        self.incoming.close();
        let mut how = "after its input was closed";
        for (signal, text) in [
            (None, how),
            (Some(Signal::TERM), "after SIGTERM"),
            (Some(Signal::KILL), "after SIGKILL"),
        ] {
            if let Some(signal) = signal {
                self.kill(signal);
            }
            how = text;
            if let Ok(Ok(status)) =
                tokio::time::timeout(Duration::from_millis(1200), self.child.wait()).await
            {
                self.kill(Signal::KILL);
                let why = format!("{} {how}", describe(status));
                return Closure { code: status.code(), signal: signal_of(status), cut: None, why };
            }
        }
        Closure { why: "the process does not end".into(), ..Closure::default() }
    }

    fn kill(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        self.kill(Signal::KILL);
    }
}

fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), signal_of(status)) {
        (Some(code), _) => format!("the process ended with exit code {code}"),
        (_, Some(signal)) => format!("the process was ended by signal {signal}"),
        _ => "the process ended".into(),
    }
}

async fn read_stdout(
    mut stdout: ChildStdout,
    sender: mpsc::Sender<Incoming>,
    options: LinkOptions,
    unended: Arc<AtomicBool>,
) {
    let mut splitter = Splitter::new(options.limits.max_message);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stdout.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                options.activity.touch();
                splitter.feed(&buffer[..count]);
            }
        }
        while let Some(piece) = splitter.next() {
            unended.store(splitter.is_unended(), Ordering::Relaxed);
            let incoming = note(piece, &options);
            if sender.send(incoming).await.is_err() {
                return drain(stdout, buffer).await;
            }
        }
        unended.store(splitter.is_unended(), Ordering::Relaxed);
    }
    let mut cut = None;
    while let Some(piece) = splitter.finish() {
        if let Piece::Side(bytes) = &piece
            && bytes.first() == Some(&b'{')
        {
            cut = Some(bytes.clone());
        }
        let _ = sender.send(note(piece, &options)).await;
    }
    let _ = sender.send(Incoming::Closed(Closure { cut, ..Closure::default() })).await;
}

/// Nobody listens any more, but the process must still be able to write.
async fn drain(mut from: impl AsyncRead + Unpin, mut buffer: Vec<u8>) {
    while from.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
}

fn note(piece: Piece, options: &LinkOptions) -> Incoming {
    match piece {
        Piece::Message(bytes, quirks) => {
            let names = quirks.names();
            let note = (!names.is_empty()).then(|| names.join(", "));
            options.trail.note(
                Side::Server,
                Channel::Stdout,
                bytes.clone(),
                Facts { note, ..Facts::default() },
            );
            Incoming::Message(Message::read(bytes), quirks)
        }
        // A message beyond repair is still an answer of a kind.
        Piece::Side(bytes) if Message::was_meant(&bytes) => {
            let kind = Some(Kind::Invalid);
            options.trail.note(
                Side::Server,
                Channel::Stdout,
                bytes.clone(),
                Facts { kind, ..Facts::default() },
            );
            Incoming::Message(Message::read(bytes), Quirks::default())
        }
        Piece::Side(bytes) => {
            let facts = Facts { kind: Some(Kind::SideLog), ..Facts::default() };
            options.trail.note(Side::Server, Channel::Stdout, bytes.clone(), facts);
            Incoming::Side(bytes)
        }
        Piece::Oversize(bytes) => {
            let note = Some("longer than the limit; only its beginning is kept".into());
            options.trail.note(
                Side::Server,
                Channel::Stdout,
                bytes,
                Facts { note, kind: Some(Kind::Invalid), ..Facts::default() },
            );
            Incoming::Oversize
        }
    }
}

async fn read_stderr(stderr: impl AsyncRead + Unpin, options: LinkOptions) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LONGEST_STDERR_LINE);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        let facts = Facts { kind: Some(Kind::SideLog), ..Facts::default() };
        options.trail.note(Side::Server, Channel::Stderr, line.into(), facts);
    }
}
