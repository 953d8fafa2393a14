//! Fault injection in the shape of messages and the manners of a process: what beginners'
//! servers do, each on top of the good one.

use super::faults::{Act, good};
use super::model::Model;
use crate::json::Json;
use crate::obj;

fn method(message: &Json) -> &str {
    message.text_at("method").unwrap_or_default()
}

/// The good answer with something done to it.
fn bent(model: &mut Model, message: &Json, bend: fn(&str, &mut Json)) -> Vec<Act> {
    let mut answer = model.answer(message);
    if let Some(answer) = &mut answer {
        bend(method(message), answer);
    }
    answer.map(Act::Send).into_iter().collect()
}

fn in_result(answer: &mut Json, change: impl FnOnce(&mut Json)) {
    if let Some(result) = answer.get_mut("result") {
        change(result);
    }
}

/// The first tool has no input schema, as when a library makes it of something it does not know.
pub(super) fn no_schema(model: &mut Model) {
    if let Some(tool) = model.tools.first_mut() {
        tool.set("inputSchema", obj! { "$schema": "http://json-schema.org/draft-07/schema#" });
    }
}

pub(super) fn nameless(model: &mut Model, message: &Json) -> Vec<Act> {
    bent(model, message, |_, answer| {
        in_result(answer, |result| {
            result.remove("serverInfo");
        })
    })
}

pub(super) fn versionless(model: &mut Model, message: &Json) -> Vec<Act> {
    bent(model, message, |_, answer| {
        answer.remove("jsonrpc");
    })
}

pub(super) fn null_cursor(model: &mut Model, message: &Json) -> Vec<Act> {
    bent(model, message, |method, answer| {
        if method.ends_with("/list") {
            in_result(answer, |result| result.push("nextCursor", Json::Null));
        }
    })
}

pub(super) fn empty_cursor(model: &mut Model, message: &Json) -> Vec<Act> {
    bent(model, message, |method, answer| {
        if method.ends_with("/list") {
            in_result(answer, |result| result.push("nextCursor", ""));
        }
    })
}

pub(super) fn text_ids(model: &mut Model, message: &Json) -> Vec<Act> {
    bent(model, message, |_, answer| {
        let id = answer.get("id").map(Json::to_string).unwrap_or_default();
        answer.set("id", id);
    })
}

pub(super) fn null_ids(model: &mut Model, message: &Json) -> Vec<Act> {
    bent(model, message, |_, answer| answer.set("id", Json::Null))
}

pub(super) fn batches(model: &mut Model, message: &Json) -> Vec<Act> {
    model.answer(message).map(|answer| Act::Send(Json::Array(vec![answer]))).into_iter().collect()
}

pub(super) fn pretty(model: &mut Model, message: &Json) -> Vec<Act> {
    let text = model.answer(message).map(|answer| format!("{}\n", answer.pretty()));
    text.map(|text| Act::Raw(text.into())).into_iter().collect()
}

pub(super) fn windows_lines(model: &mut Model, message: &Json) -> Vec<Act> {
    model
        .answer(message)
        .map(|answer| Act::Raw(format!("{answer}\r\n").into()))
        .into_iter()
        .collect()
}

pub(super) fn json_logs(model: &mut Model, message: &Json) -> Vec<Act> {
    let mut acts =
        vec![Act::Send(obj! { "level": "info", "msg": format!("got {}", method(message)) })];
    acts.extend(good(model, message));
    acts
}

/// Knows the question of the modern era, and says that it has only older versions.
pub(super) fn older_only(model: &mut Model, message: &Json) -> Vec<Act> {
    if method(message) == "server/discover" {
        let id = message.get("id").cloned().unwrap_or_default();
        let versions = vec!["2025-11-25", "2025-06-18"];
        let result = obj! { "supportedVersions": versions, "capabilities": obj! { "tools": obj! {} }, "resultType": "complete" };
        return vec![Act::Send(obj! { "jsonrpc": "2.0", "id": id, "result": result })];
    }
    good(model, message)
}

/// Keeps silent at what it does not know before the handshake.
pub(super) fn deaf(model: &mut Model, message: &Json) -> Vec<Act> {
    match method(message) {
        "server/discover" => vec![Act::Hang],
        _ => good(model, message),
    }
}

fn trace(text: &str) -> Vec<Act> {
    let lines =
        ["Traceback (most recent call last):", "  File \"server.py\", line 12, in handle", text];
    lines.into_iter().map(|line| Act::Stderr(line.into())).chain([Act::Exit(1)]).collect()
}

pub(super) fn dies_of_discover(model: &mut Model, message: &Json) -> Vec<Act> {
    match method(message) {
        "server/discover" => trace("ValueError: unknown method server/discover"),
        _ => good(model, message),
    }
}

pub(super) fn dies_of_cancel(model: &mut Model, message: &Json) -> Vec<Act> {
    match method(message) {
        "notifications/cancelled" => trace("KeyError: 'mcp-probe-none'"),
        _ => good(model, message),
    }
}

pub(super) fn modern_only(model: &mut Model, message: &Json) -> Vec<Act> {
    if method(message) == "initialize" {
        let id = message.get("id").cloned().unwrap_or_default();
        let data = obj! { "supported": vec!["2026-07-28"] };
        return vec![Act::Send(super::model::error(
            id,
            -32022,
            "Unsupported protocol version",
            Some(data),
        ))];
    }
    good(model, message)
}

pub(super) fn web_server(_: &mut Model, _: &Json) -> Vec<Act> {
    vec![
        Act::Stderr(
            "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)".into(),
        ),
        Act::Hang,
    ]
}

pub(super) fn prompt(_: &mut Model, message: &Json) -> Vec<Act> {
    let line: String = message.to_string().chars().take(40).collect();
    vec![Act::Raw(format!("Unknown command: {line}\n> \n").into())]
}

pub(super) fn python_text(model: &mut Model, message: &Json) -> Vec<Act> {
    let text = model
        .answer(message)
        .map(|answer| answer.to_string().replace("\":", "': ").replace('"', "'"));
    text.map(|text| Act::Raw(format!("{text}\n").into())).into_iter().collect()
}

pub(super) fn wide_text(model: &mut Model, message: &Json) -> Vec<Act> {
    let text = model.answer(message).map(|answer| format!("{answer}\n"));
    let bytes = |text: String| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    text.map(|text| Act::Raw(bytes(text).into())).into_iter().collect()
}

pub(super) fn many_tools(model: &mut Model) {
    let first = model.tools[0].clone();
    model.tools = (0..1500)
        .map(|number| {
            let mut tool = first.clone();
            tool.set("name", format!("tool_{number}"));
            tool
        })
        .collect();
}
