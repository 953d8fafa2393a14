//! One pipelined WebSocket: many requests are on their way at any time.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

const REQUESTS: u64 = 300_000;
const WARM_UP: u64 = 20_000;
/// Requests that are sent in one piece.
const BURST: u64 = 200;

/// Requests of one method a second.
pub fn pipelined(url: &str, method: &str, params: &Value) -> Result<f64> {
    let (mut sender, mut receiver) = connect(url)?;
    let frame = |id: u64| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        masked(request.to_string().as_bytes())
    };
    let bursts: Vec<Vec<u8>> = (0..(WARM_UP + REQUESTS) / BURST)
        .map(|burst| (0..BURST).flat_map(|index| frame(burst * BURST + index)).collect())
        .collect();
    let writer = std::thread::spawn(move || {
        bursts.iter().try_for_each(|burst| sender.write_all(burst)).map(|()| sender)
    });
    let mut began = Instant::now();
    for index in 0..WARM_UP + REQUESTS {
        if index == WARM_UP {
            began = Instant::now();
        }
        let text = receive(&mut receiver)?;
        // A success; looking closer would measure the client.
        ensure!(text.windows(8).any(|part| part == b"\"result\""), "no success");
    }
    let rate = REQUESTS as f64 / began.elapsed().as_secs_f64();
    writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    Ok(rate)
}

fn connect(url: &str) -> Result<(TcpStream, BufReader<TcpStream>)> {
    let rest = url.strip_prefix("ws://").context("no ws address")?;
    let (host, path) = rest.split_at(rest.find('/').context("no path")?);
    let mut stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut receiver = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        receiver.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    ensure!(head.starts_with(b"HTTP/1.1 101"), "refused: {}", String::from_utf8_lossy(&head));
    // The ready notification.
    receive(&mut receiver)?;
    Ok((stream, receiver))
}

/// A whole text frame with a mask that changes nothing.
fn masked(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u8::try_from(payload.len()) {
        Ok(short @ ..126) => frame.push(0x80 | short),
        _ => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(payload.len() as u16).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

fn receive(stream: &mut impl Read) -> Result<Vec<u8>> {
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    ensure!(head[0] == 0x81, "not a whole text frame: {head:x?}");
    let length = match head[1] {
        126 => {
            let mut bytes = [0; 2];
            stream.read_exact(&mut bytes)?;
            u16::from_be_bytes(bytes).into()
        }
        127 => {
            let mut bytes = [0; 8];
            stream.read_exact(&mut bytes)?;
            usize::try_from(u64::from_be_bytes(bytes))?
        }
        short => usize::from(short),
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}
