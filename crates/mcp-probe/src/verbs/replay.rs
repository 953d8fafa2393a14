//! `replay`: a recording played against a server, or served back as one.

use crate::cli::ReplayArgs;
use crate::client::{Context, Exchange, Peer};
use crate::finding::Severity;
use crate::json::{self, Json};
use crate::message::{Kind, Message};
use crate::mock::{Act, Manner, serve_http_with};
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::screen::{count, progress};
use crate::target::Named;
use crate::trail::{Channel, Entry, Recording, Side, read_recording, redact};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Write};

/// Plays or serves.
pub async fn run(args: &ReplayArgs, run: &Run) -> Result<Exit, Failure> {
    let recording = read_recording(&args.recording)?;
    let recording = recording.ok_or(format!("{} is no recording", args.recording.display()))?;
    if args.serve {
        return serve(args, &recording).await;
    }
    let named = target(args, run, &recording)?;
    let context = run.context_for(&named);
    let steps = play(args, &context, &named, &recording).await?;
    show(run, &steps)?;
    Ok(Exit::found(steps.iter().any(|step| step.fault.is_some())))
}

fn target(args: &ReplayArgs, run: &Run, recording: &Recording) -> Result<Named, Failure> {
    if !args.at.target.is_empty() || args.at.config.is_some() {
        return run.target(&args.at);
    }
    run.recorded_target(&recording.target)
}

struct Step {
    what: String,
    said: String,
    fault: Option<String>,
    note: Option<String>,
}

/// Headers that belong to one connection, not to the message.
const NOT_REPLAYED: [&str; 10] = [
    "host",
    "content-length",
    "connection",
    "mcp-session-id",
    "user-agent",
    "accept-encoding",
    "transfer-encoding",
    "keep-alive",
    "last-event-id",
    "content-type",
];

async fn play(
    args: &ReplayArgs,
    context: &Context,
    named: &Named,
    recording: &Recording,
) -> Result<Vec<Step>, Failure> {
    let pairs = recording.pairs();
    let answer_to = |entry: &Entry| {
        pairs.iter().find(|pair| pair.request.seq == entry.seq).and_then(|pair| pair.answer)
    };
    let is_sent = |entry: &&Entry| {
        entry.side == Side::Client && !entry.is(Kind::SideLog) && entry.channel != Channel::Side
    };
    let mut runs: Vec<Vec<&Entry>> = vec![Vec::new()];
    for (index, entry) in recording.entries.iter().enumerate() {
        if recording.starts.contains(&index) {
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut().filter(|_| is_sent(&entry)) {
            run.push(entry);
        }
    }
    runs.retain(|run| !run.is_empty());
    if runs.is_empty() {
        return Err("the recording holds nothing that a client sent".into());
    }
    let bar = progress(runs.iter().map(|run| run.len() as u64).sum(), "messages");
    let mut steps = Vec::new();
    for run in runs {
        let mut peer = super::call::bare_peer(named, context).await?;
        for entry in run {
            bar.inc(1);
            let step = match entry.is(Kind::Request) {
                true => request(args, &mut peer, entry, answer_to(entry)).await,
                false => notify(&mut peer, entry).await,
            };
            let over = step.fault.as_deref().is_some_and(|fault| fault.contains(OTHER_ERA));
            steps.push(step);
            if over {
                break;
            }
        }
        peer.link.close().await;
    }
    bar.finish_and_clear();
    Ok(steps)
}

const OTHER_ERA: &str = "does not speak the era of the recording";

fn headers_of(entry: &Entry) -> Vec<(String, String)> {
    let headers = entry.http.as_ref().map_or(&[][..], |http| &http.headers);
    headers
        .iter()
        .filter(|(name, value)| {
            let name = name.to_ascii_lowercase();
            !NOT_REPLAYED.contains(&name.as_str()) && !value.contains(redact::MARK)
        })
        .cloned()
        .collect()
}

async fn notify(peer: &mut Peer, entry: &Entry) -> Step {
    let sent = peer.notify_raw(entry.raw.clone(), &headers_of(entry)).await;
    Step {
        what: entry.method.clone().unwrap_or(entry.kind.clone()),
        said: "sent".into(),
        fault: sent.err().map(|error| error.to_string()),
        note: None,
    }
}

async fn request(
    args: &ReplayArgs,
    peer: &mut Peer,
    entry: &Entry,
    recorded: Option<&Entry>,
) -> Step {
    let method = entry.method.clone().unwrap_or_default();
    let exchange =
        peer.exchange(&method, entry.id.clone(), entry.raw.clone(), &headers_of(entry)).await;
    let said = exchange.describe();
    let mut note = entry.redacted.then(|| "secrets were taken out of this message".to_string());
    let fault = match (recorded, &exchange.answer) {
        (None, Some(_)) => {
            note = Some("unmatched: the recording has no answer".into());
            None
        }
        (None, None) => {
            note = Some("unmatched: no answer, then as now".into());
            None
        }
        (Some(_), None) => {
            Some(format!("unmatched: answered in the recording, now {}", exchange.class()))
        }
        (Some(recorded), Some(answer)) => {
            let old = Message::read(recorded.raw.clone());
            if let (Some(was), Some(is)) = (
                old.json.text_at("result/protocolVersion"),
                answer.json.text_at("result/protocolVersion"),
            ) && was != is
            {
                note = Some(format!("the recording agreed on {was}, now it is {is}"));
            }
            other_era(&method, &old, &exchange).or_else(|| compare(&old, answer, args.strict))
        }
    };
    Step { what: method, said, fault, note }
}

/// A greeting that worked in the recording and is not known here.
fn other_era(method: &str, old: &Message, exchange: &Exchange) -> Option<String> {
    let greeting = matches!(method, "initialize" | "server/discover");
    let code = exchange.error()?.code?;
    (greeting && old.kind == Kind::Response && matches!(code, -32601 | -32602 | -32022))
        .then(|| format!("the server {OTHER_ERA} ({method}: error {code})"))
}

fn compare(old: &Message, new: &Message, strict: bool) -> Option<String> {
    if old.kind != new.kind {
        return Some(format!("was a {}, is a {}", old.kind.name(), new.kind.name()));
    }
    let part = if old.kind == Kind::Error { "error" } else { "result" };
    let (was, is) = (old.json.get(part)?, new.json.get(part)?);
    match strict {
        true => different(was, is, part),
        false if part == "error" => different(was.get("code")?, is.get("code")?, "error/code"),
        false => other_shape(was, is, part),
    }
}

fn different(was: &Json, is: &Json, path: &str) -> Option<String> {
    if was == is {
        return None;
    }
    match (was, is) {
        (Json::Object(old), Json::Object(_)) => {
            let gone = old.iter().find_map(|(name, value)| match is.get(name.as_str()) {
                None => Some(format!("{path}/{} is gone", name.as_str())),
                Some(now) => different(value, now, &format!("{path}/{}", name.as_str())),
            });
            let new = || {
                let member = is.members().iter().find(|(name, _)| was.get(name.as_str()).is_none());
                member.map(|(name, _)| format!("{path}/{} is new", name.as_str()))
            };
            gone.or_else(new)
        }
        (Json::Array(old), Json::Array(new)) if old.len() == new.len() => {
            let both = old.iter().zip(new).enumerate();
            both.into_iter().find_map(|(index, (a, b))| different(a, b, &format!("{path}/{index}")))
        }
        _ => {
            let clip = |value: &Json| crate::client::clip(&value.to_string(), 80);
            Some(format!("{path} was {}, is {}", clip(was), clip(is)))
        }
    }
}

/// Values may differ; members and types may not be lost.
fn other_shape(was: &Json, is: &Json, path: &str) -> Option<String> {
    if was.type_name() != is.type_name() {
        return Some(format!("{path} was {}, is {}", was.type_name(), is.type_name()));
    }
    match was {
        Json::Object(old) => old.iter().find_map(|(name, value)| {
            let path = format!("{path}/{}", name.as_str());
            match is.get(name.as_str()) {
                None => Some(format!("{path} is gone")),
                Some(now) => other_shape(value, now, &path),
            }
        }),
        Json::Bool(_) if path.ends_with("/isError") => different(was, is, path),
        _ => None,
    }
}

fn show(run: &Run, steps: &[Step]) -> Result<(), Failure> {
    let bad = steps.iter().filter(|step| step.fault.is_some()).count();
    if run.common.json {
        let row = |step: &Step| {
            obj! { "what": &step.what, "said": &step.said }
                .with_some("fault", step.fault.as_ref())
                .with_some("note", step.note.as_ref())
        };
        return run.emit_json(
            &obj! { "differences": bad, "steps": Json::Array(steps.iter().map(row).collect()) },
        );
    }
    let mut screen = run.screen();
    let worst = (bad > 0).then_some(Severity::High);
    screen
        .verdict(worst, &format!("{} replayed, {} different", count(steps.len(), "message"), bad));
    for step in steps {
        let mark = if step.fault.is_some() { "✖" } else { " " };
        screen.line(&format!("{mark} {}: {}", step.what, step.said));
        for text in step.fault.iter().chain(&step.note) {
            screen.line(&format!("    {text}"));
        }
    }
    run.emit(&screen.finish())
}

/// The recorded server, answering from memory.
struct Memory {
    exact: HashMap<String, VecDeque<Bytes>>,
    by_method: HashMap<String, VecDeque<Bytes>>,
    strict: bool,
}

fn key(message: &Json) -> String {
    let mut params = message.get("params").cloned().unwrap_or_default();
    let version = "io.modelcontextprotocol/protocolVersion";
    let modern = params.get("_meta").is_some_and(|meta| meta.get(version).is_some());
    params.remove("_meta");
    if params.members().is_empty() {
        params = Json::Null;
    }
    format!("{modern} {} {}", message.text_at("method").unwrap_or_default(), params.canonical())
}

impl Memory {
    fn new(recording: &Recording, strict: bool) -> Memory {
        let mut memory = Memory { exact: HashMap::new(), by_method: HashMap::new(), strict };
        for pair in recording.pairs().iter().filter(|pair| pair.request.side == Side::Client) {
            let Some(answer) = pair.answer else { continue };
            let request = Message::read(pair.request.raw.clone()).json;
            let method = pair.request.method.clone().unwrap_or_default();
            memory.exact.entry(key(&request)).or_default().push_back(answer.raw.clone());
            memory.by_method.entry(method).or_default().push_back(answer.raw.clone());
        }
        memory
    }

    /// The answer with the id of this request; the rest is as recorded.
    fn answer(&mut self, message: &Json) -> Option<Bytes> {
        let id = message.get("id")?;
        let method = message.text_at("method").unwrap_or_default();
        // A call with other arguments is another call; a handshake by another client is not.
        let loose =
            !self.strict && !matches!(method, "tools/call" | "resources/read" | "prompts/get");
        let found = take(&mut self.exact, &key(message))
            .or_else(|| loose.then(|| take(&mut self.by_method, method)).flatten());
        match found {
            Some(raw) => Some(with_id(&raw, id)),
            None => {
                eprintln!(
                    "mcp-probe: unmatched: {}",
                    crate::screen::visible(&crate::client::clip(&message.to_string(), 300))
                );
                let error = obj! { "code": -32601, "message": format!("the recording has no answer to this {method}") };
                Some(obj! { "jsonrpc": "2.0", "id": id.clone(), "error": error }.to_string().into())
            }
        }
    }
}

/// The next answer for a key; the last one again when all were used.
fn take(answers: &mut HashMap<String, VecDeque<Bytes>>, key: &str) -> Option<Bytes> {
    let queue = answers.get_mut(key)?;
    if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() }
}

fn with_id(raw: &Bytes, id: &Json) -> Bytes {
    let span = json::skim(raw).and_then(|skim| skim.id_span);
    match span {
        Some((from, to)) => [&raw[..from], id.to_string().as_bytes(), &raw[to..]].concat().into(),
        None => raw.clone(),
    }
}

async fn serve(args: &ReplayArgs, recording: &Recording) -> Result<Exit, Failure> {
    let mut memory = Memory::new(recording, args.strict);
    if memory.exact.is_empty() {
        return Err("the recording holds no answered requests".into());
    }
    if let Some(port) = args.http {
        let react = Box::new(move |message: &Json| -> Vec<Act> {
            memory.answer(message).map(Act::Raw).into_iter().collect()
        });
        serve_http_with(Manner::Plain, false, react, port)
            .await
            .map_err(|error| error.to_string())?;
        return Ok(Exit::Fine);
    }
    let served = tokio::task::spawn_blocking(move || serve_lines(&mut memory)).await;
    // The client closing its end is the ordinary way to stop.
    served.map(|_| Exit::Fine).map_err(|error| error.to_string())
}

fn serve_lines(memory: &mut Memory) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().split(b'\n') {
        let Ok(message) = json::parse(&line?) else { continue };
        if let Some(answer) = memory.answer(&message) {
            // A recorded answer over several lines is one line here.
            let flat: Vec<u8> = answer
                .iter()
                .map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte })
                .collect();
            out.write_all(&flat)?;
            out.write_all(b"\n")?;
            out.flush()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message {
        Message::read(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn strict_and_lenient_comparison() {
        let old = read(r#"{"id":1,"result":{"a":1,"b":"x"}}"#);
        let new = read(r#"{"id":1,"result":{"a":2,"b":"y","c":0}}"#);
        assert_eq!(compare(&old, &new, false), None);
        assert!(compare(&old, &new, true).is_some());
        let gone = read(r#"{"id":1,"result":{"a":2}}"#);
        assert_eq!(compare(&old, &gone, false).as_deref(), Some("result/b is gone"));
        assert!(compare(&old, &read(r#"{"id":1,"error":{"code":1}}"#), false).is_some());
    }

    #[test]
    fn only_the_id_is_replaced() {
        let raw =
            Bytes::from_static(br#"{ "jsonrpc":"2.0", "id" : 7, "result":{"id":9,"n":1.0} }"#);
        let answer = with_id(&raw, &Json::from("q"));
        assert_eq!(answer, r#"{ "jsonrpc":"2.0", "id" : "q", "result":{"id":9,"n":1.0} }"#);
    }
}
