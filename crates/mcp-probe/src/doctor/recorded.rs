//! The same questions asked of a recording: both sides are suspects here.

use super::Diagnosis;
use crate::client::{clip, clip_bytes};
use crate::finding::{Finding, Severity};
use crate::json::{Json, ParseErrorKind};
use crate::message::{Kind, Message};
use crate::trail::{Channel, Entry, Recording, Side};

/// Examines a recording.
pub fn examine(recording: &Recording) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let count = |kind: Kind| recording.entries.iter().filter(|entry| entry.is(kind)).count();
    diagnosis.step(
        "transport",
        format!(
            "{} requests, {} answers, {} errors, {} notifications",
            count(Kind::Request),
            count(Kind::Response),
            count(Kind::Error),
            count(Kind::Notification)
        ),
    );
    notifications(recording, &mut diagnosis);
    exchanges(recording, &mut diagnosis);
    writing(recording, &mut diagnosis);
    if recording.broken_lines > 0 {
        diagnosis.step(
            "transport",
            format!("{} lines of the recording cannot be read", recording.broken_lines),
        );
    }
    crate::finding::sort(&mut diagnosis.findings);
    diagnosis
}

fn notifications(recording: &Recording, diagnosis: &mut Diagnosis) {
    for (entry, message) in recording.messages(Side::Client) {
        let method = message.method().unwrap_or_default();
        if method.starts_with("notifications/") && message.id().is_some() {
            let finding = Finding::new(
                "notification-with-id",
                Severity::High,
                "the client sent a notification with an id, which makes it a request",
            );
            let finding = finding.at(method).seen(format!(
                "message {}: {}",
                entry.seq,
                clip_bytes(&entry.raw, 160)
            ));
            diagnosis.add(finding.advise("Leave the id out; do not wait for an answer."));
        }
    }
    let answered = recording.messages(Side::Server).filter(|(_, message)| {
        matches!(message.kind, Kind::Response | Kind::Error)
            && matches!(message.id(), None | Some(Json::Null))
    });
    let notes = recording
        .entries
        .iter()
        .filter(|entry| entry.side == Side::Client && entry.is(Kind::Notification))
        .count();
    for (entry, message) in
        answered.filter(|(_, message)| message.kind == Kind::Response && notes > 0)
    {
        let finding = Finding::new(
            "notification-answered",
            Severity::Medium,
            "the server answers notifications",
        );
        diagnosis.add(finding.seen(format!(
            "message {}: {}",
            entry.seq,
            clip(&message.json.to_string(), 160)
        )));
    }
}

fn exchanges(recording: &Recording, diagnosis: &mut Diagnosis) {
    for pair in recording.pairs().iter().filter(|pair| pair.request.side == Side::Client) {
        let method = pair.request.method.clone().unwrap_or_default();
        let Some(answer) = pair.answer else {
            let finding = Finding::new("no-answer", Severity::High, "a request was never answered")
                .at(&method);
            diagnosis.add(
                finding.seen(format!("message {}", pair.request.seq)).seen_all(stderr_between(
                    recording,
                    pair.request,
                    None,
                )),
            );
            continue;
        };
        let message = Message::read(answer.raw.clone());
        if let Some(error) = message.json.get("error") {
            let stderr = stderr_between(recording, pair.request, Some(answer));
            let rule = if stderr.is_empty() { "error-answer" } else { "error-stderr" };
            let severity = if error.get("code").and_then(Json::as_i64) == Some(-32601) {
                Severity::Info
            } else {
                Severity::Medium
            };
            let finding = Finding::new(rule, severity, "a request failed")
                .at(&method)
                .seen(clip(&error.to_string(), 160));
            diagnosis.add(finding.seen_all(stderr));
        }
        if method == "initialize" {
            let asked = Message::read(pair.request.raw.clone())
                .json
                .text_at("params/protocolVersion")
                .map(str::to_string);
            let agreed = message.json.text_at("result/protocolVersion").map(str::to_string);
            if asked.is_some() && agreed.is_some() && asked != agreed {
                let finding = Finding::new(
                    "version-mismatch",
                    Severity::Info,
                    "the server answered with another version",
                );
                diagnosis.add(finding.seen(format!(
                    "asked {}, answered {}",
                    asked.unwrap_or_default(),
                    agreed.unwrap_or_default()
                )));
            }
        }
        if method == "tools/list"
            && message.json.at("result/tools").is_some_and(|tools| tools.items().is_empty())
        {
            diagnosis.add(
                Finding::new("empty-tools", Severity::Medium, "tools/list is empty")
                    .seen(format!("message {}", answer.seq)),
            );
        }
    }
}

fn stderr_between(recording: &Recording, from: &Entry, to: Option<&Entry>) -> Vec<String> {
    // Over pipes stderr often comes a moment after the answer.
    let until = to.map_or(u64::MAX, |entry| entry.mono_us + 200_000);
    recording
        .entries
        .iter()
        .filter(|entry| {
            entry.channel == Channel::Stderr
                && entry.seq > from.seq
                && (from.mono_us..=until).contains(&entry.mono_us)
        })
        .take(12)
        .map(|entry| format!("stderr: {}", clip(&entry.text(), 200)))
        .collect()
}

fn writing(recording: &Recording, diagnosis: &mut Diagnosis) {
    let noise: Vec<&Entry> = recording
        .entries
        .iter()
        .filter(|entry| entry.channel == Channel::Stdout && entry.is(Kind::SideLog))
        .collect();
    if !noise.is_empty() {
        let finding = Finding::new(
            "noise-on-stdout",
            Severity::Medium,
            format!("{} lines on stdout are no messages", noise.len()),
        );
        diagnosis.add(finding.seen_all(noise.iter().take(5).map(|entry| clip(&entry.text(), 160))));
    }
    for entry in recording.entries.iter().filter(|entry| entry.is(Kind::Invalid)) {
        let fault = Message::read(entry.raw.clone()).fault;
        let (rule, title) = match fault {
            Some(ParseErrorKind::Truncated) => ("message-cut", "a message was cut off"),
            Some(ParseErrorKind::NotUtf8) => ("invalid-utf8", "a message is not UTF-8"),
            Some(ParseErrorKind::TooDeep | ParseErrorKind::TooMany) => {
                ("nested-too-deep", "a message is nested too deep")
            }
            _ => ("invalid-message", "a message is no JSON-RPC"),
        };
        let finding = Finding::new(rule, Severity::High, title).seen(format!(
            "message {}: {}",
            entry.seq,
            clip_bytes(&entry.raw, 120)
        ));
        diagnosis.add(finding);
    }
    if let Some(longest) = recording.entries.iter().max_by_key(|entry| entry.bytes) {
        diagnosis.step(
            "transport",
            format!("longest message: {} bytes (message {})", longest.bytes, longest.seq),
        );
    }
}
