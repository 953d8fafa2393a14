//! What the recorder costs those who talk through it, and how long reports on many
//! recordings take: `cargo bench -p mcp-probe`.
//!
//! Other reverse proxies are measured in the same run when BESIDE names them, as
//! `NAME=COMMAND` with `{port}` and `{upstream}` in the command, several apart by `;`.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PROBE: &str = env!("CARGO_BIN_EXE_mcp-probe");
const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
/// Messages whose time is taken, for each way, in each round.
const MESSAGES: usize = 2000;
const ROUNDS: usize = 3;
/// Payload of one download.
const PAYLOAD: usize = 256 << 20;
/// Size of a message in it.
const MESSAGE: usize = 64 << 10;

fn main() -> Outcome<()> {
    // `cargo test` runs benches as well; there they need only build.
    if !std::env::args().any(|word| word == "--bench") {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    pipes(dir.path())?;
    http(dir.path())?;
    thousand(dir.path())
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Times in milliseconds at the middle and near the end.
fn say(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("{what:<44} p50 {:.4} ms   p99 {:.4} ms", at(50), at(99));
}

fn say_rates(what: &str, rates: &[f64]) {
    let text: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
    println!("{what:<44} {} MB/s", text.join(", "));
}

fn recorded(dir: &Path, command: &[&str]) -> Vec<String> {
    let file = dir.join("pipes.jsonl").display().to_string();
    let front = [PROBE, "record", "--out", &file, "stdio", "--"];
    front.iter().chain(command).map(|word| word.to_string()).collect()
}

fn start(command: &[String]) -> Outcome<(Running, ChildStdin, BufReader<ChildStdout>)> {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let input = child.stdin.take().ok_or("no input")?;
    let output = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("no output")?);
    Ok((Running(child), input, output))
}

/// A command over pipes, directly and with the recorder in between, in turns.
fn pipes(dir: &Path) -> Outcome<()> {
    let plain = |command: &[&str]| command.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let server = [PROBE, "mock", "good"];
    let ways = [("directly", plain(&server)), ("recorded", recorded(dir, &server))];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for ((_, command), times) in ways.iter().zip(&mut times) {
            let (_running, mut input, mut output) = start(command)?;
            let mut line = String::new();
            for turn in 0..MESSAGES + 100 {
                let began = Instant::now();
                input.write_all(PING.as_bytes())?;
                line.clear();
                output.read_line(&mut line)?;
                // The first ones find everything cold.
                if turn >= 100 {
                    times.push(began.elapsed());
                }
            }
        }
    }
    for ((name, _), times) in ways.iter().zip(times) {
        say(&format!("a ping over pipes, {name}"), times);
    }
    for (name, command) in [("directly", plain(&["cat"])), ("recorded", recorded(dir, &["cat"]))] {
        let rates = (0..ROUNDS).map(|_| echo(&command)).collect::<Outcome<Vec<f64>>>()?;
        say_rates(&format!("payload to `cat` and back, {name}"), &rates);
    }
    let file = dir.join("payload").display().to_string();
    std::fs::write(&file, message().repeat(PAYLOAD / MESSAGE))?;
    let reader = ["cat", &file];
    for (name, command) in [("directly", plain(&reader)), ("recorded", recorded(dir, &reader))] {
        let rates = (0..ROUNDS).map(|_| from_server(&command)).collect::<Outcome<Vec<f64>>>()?;
        say_rates(&format!("payload from a server over pipes, {name}"), &rates);
    }
    Ok(())
}

/// A JSON message of that many bytes with its line end.
fn message() -> Vec<u8> {
    let mut text =
        br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":""#.to_vec();
    let tail = b"\"}}\n";
    while text.len() < MESSAGE - tail.len() {
        text.push(b'a' + (text.len() % 26) as u8);
    }
    text.extend_from_slice(tail);
    text
}

/// MB/s of messages that come back; both ways are recorded, one way is counted.
fn echo(command: &[String]) -> Outcome<f64> {
    let (_running, mut input, mut output) = start(command)?;
    let began = Instant::now();
    let writer = std::thread::spawn(move || -> std::io::Result<()> {
        let message = message();
        (0..PAYLOAD / MESSAGE).try_for_each(|_| input.write_all(&message))
    });
    take(&mut output)?;
    let rate = PAYLOAD as f64 / 1e6 / began.elapsed().as_secs_f64();
    writer.join().map_err(|_| "the writer failed")??;
    Ok(rate)
}

/// MB/s of messages that a command writes by itself.
fn from_server(command: &[String]) -> Outcome<f64> {
    let (_running, _input, mut output) = start(command)?;
    let began = Instant::now();
    take(&mut output)?;
    Ok(PAYLOAD as f64 / 1e6 / began.elapsed().as_secs_f64())
}

fn take(output: &mut impl Read) -> Outcome<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut left = PAYLOAD;
    while left > 0 {
        let count = output.read(&mut buffer)?;
        if count == 0 {
            return Err("the command ended too early".into());
        }
        left -= count.min(left);
    }
    Ok(())
}

/// A server that answers small requests, and `/big` with an event stream.
fn upstream() -> Outcome<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away is no event.
            std::thread::spawn(move || serve(stream).is_ok());
        }
    });
    Ok(port)
}

fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut to = stream.try_clone()?;
    let mut from = BufReader::new(stream);
    let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    let small = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let event = [b"data: ", &message()[..], b"\n"].concat();
    let events = PAYLOAD / event.len();
    let mut big = false;
    let mut line = String::new();
    while from.read_line(&mut line)? > 0 {
        big |= line.starts_with("GET /big");
        if line == "\r\n" && big {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length:";
            to.write_all(format!("{head} {}\r\n\r\n", events * event.len()).as_bytes())?;
            (0..events).try_for_each(|_| to.write_all(&event))?;
            big = false;
        } else if line == "\r\n" {
            // The body of a request is read with the next head: it is one line.
            to.write_all(small.as_bytes())?;
        }
        line.clear();
    }
    Ok(())
}

struct Way {
    name: String,
    port: u16,
    _running: Option<Running>,
}

/// The recorder's own announcement tells the port.
fn recorder(dir: &Path, port: u16) -> Outcome<Way> {
    let mut child = Command::new(PROBE)
        .args(["record", "--out", &dir.join("http.jsonl").display().to_string()])
        .arg(format!("http://127.0.0.1:{port}/"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(child.stderr.take().ok_or("no error output")?).lines();
    let running = Some(Running(child));
    let line = lines.next().ok_or("the recorder ended")??;
    std::thread::spawn(move || lines.for_each(drop));
    let place = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
    let port = place.and_then(|port| port.parse().ok()).ok_or(line.clone())?;
    Ok(Way { name: "recorded".into(), port, _running: running })
}

/// Proxies that BESIDE names.
fn others(upstream: u16) -> Outcome<Vec<Way>> {
    let text = std::env::var("BESIDE").unwrap_or_default();
    let mut ways = Vec::new();
    for entry in text.split(';').filter(|entry| !entry.trim().is_empty()) {
        let (name, command) = entry.split_once('=').ok_or("BESIDE wants NAME=COMMAND")?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let command = command
            .replace("{port}", &port.to_string())
            .replace("{upstream}", &upstream.to_string());
        let child = Command::new("sh")
            .args(["-c", &format!("exec {command}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let running = Some(Running(child));
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if began.elapsed() > Duration::from_secs(60) {
                return Err(format!("{name} does not listen on port {port}").into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        ways.push(Way { name: format!("through {}", name.trim()), port, _running: running });
    }
    Ok(ways)
}

fn http(dir: &Path) -> Outcome<()> {
    let port = upstream()?;
    let mut ways =
        vec![Way { name: "directly".into(), port, _running: None }, recorder(dir, port)?];
    ways.extend(others(port)?);
    let mut times = vec![Vec::new(); ways.len()];
    let mut rates = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for (index, way) in ways.iter().enumerate() {
            requests(way.port, &mut times[index])?;
            rates[index].push(download(way.port)?);
        }
    }
    for (way, times) in ways.iter().zip(times) {
        say(&format!("a request over HTTP, {}", way.name), times);
    }
    for (way, rates) in ways.iter().zip(rates) {
        say_rates(&format!("an event stream over HTTP, {}", way.name), &rates);
    }
    Ok(())
}

fn requests(port: u16, times: &mut Vec<Duration>) -> Outcome<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    );
    let mut buffer = vec![0; 64 << 10];
    for turn in 0..MESSAGES + 100 {
        let began = Instant::now();
        stream.write_all(request.as_bytes())?;
        let mut got = Vec::new();
        while !got.ends_with(b"\"result\":{}}") {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Err("the connection was closed".into());
            }
            got.extend_from_slice(&buffer[..count]);
        }
        if turn >= 100 {
            times.push(began.elapsed());
        }
    }
    Ok(())
}

/// MB/s.
fn download(port: u16) -> Outcome<f64> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let began = Instant::now();
    write!(stream, "GET /big HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0;
    let whole = PAYLOAD / (MESSAGE + 7) * (MESSAGE + 7);
    while total < whole {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(format!("the stream ended after {total} bytes").into());
        }
        total += count;
    }
    Ok(total as f64 / 1e6 / began.elapsed().as_secs_f64())
}

/// `report` on a list of a thousand recordings, each a file of its own.
fn thousand(dir: &Path) -> Outcome<()> {
    let first = dir.join("0.jsonl");
    let made = Command::new(PROBE)
        .args(["report", "--out", &dir.join("one.txt").display().to_string(), "--record"])
        .arg(&first)
        .args(["stdio", "--", PROBE, "mock", "good"])
        .status()?;
    if !made.success() {
        return Err("no recording was made".into());
    }
    let mut list = String::new();
    for number in 0..1000 {
        let name = format!("{number}.jsonl");
        if number > 0 {
            std::fs::copy(&first, dir.join(&name))?;
        }
        list.push_str(&format!("{name}\n"));
    }
    std::fs::write(dir.join("list.txt"), list)?;
    let began = Instant::now();
    let output =
        Command::new(PROBE).args(["report", "--config"]).arg(dir.join("list.txt")).output()?;
    let verdict = String::from_utf8_lossy(&output.stdout);
    let verdict = verdict.lines().next().unwrap_or_default().to_string();
    println!("report on 1,000 recordings: {:.2} s ({verdict})", began.elapsed().as_secs_f64());
    Ok(())
}
