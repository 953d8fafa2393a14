//! A small client program for one server: no library, no download, made to be
//! read and changed.

use crate::client::{Context, Era};
use crate::json::Json;
use crate::obj;
use crate::schema::sample;
use crate::surface::Surface;
use crate::target::Target;

const PYTHON: &str = include_str!("client.py.txt");
const TYPESCRIPT: &str = include_str!("client.ts.txt");

/// The text of the program.
pub fn program(
    language: &str,
    target: &Target,
    surface: &Surface,
    context: &Context,
    keep_secrets: bool,
) -> Result<String, String> {
    let template = match language {
        "python" => PYTHON,
        "typescript" => TYPESCRIPT,
        other => {
            let known =
                "claude-desktop, claude-code, cursor, vscode, codex, gemini, python, typescript";
            return Err(format!("{other:?} is not known; known: {known}"));
        }
    };
    if surface.text("transport") == "http+sse" {
        return Err("programs are written for stdio and Streamable HTTP; this server speaks the old HTTP+SSE".into());
    }
    let place = match target {
        Target::Stdio(command) => {
            obj! { "command": if keep_secrets { command.words() } else { command.shown() } }
        }
        Target::Url(url) if !url.scheme.is_ws() => obj! { "url": url.to_string() },
        _ => return Err("programs are written for stdio and Streamable HTTP".into()),
    };
    // A call that can do no harm: a tool that only reads, or none.
    let example = surface.tools().find(|tool| tool.is_read_only());
    let (name, arguments) = match example {
        Some(tool) => (Json::from(tool.name()), sample(tool.input(), tool.input())),
        None => (Json::Null, Json::object()),
    };
    let modern = surface.text("era") == Era::Modern.name();
    let tools: Vec<&str> = surface.tools().map(|tool| tool.name()).collect();
    let headers = context.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    let template = match headers.is_empty() {
        true => &without_line(template, "@HEADERS@"),
        false => template,
    };
    let literal = |value: &Json| if language == "python" { python(value) } else { quoted(value) };
    Ok(template
        .replace("@SERVER@", &comment(&surface.server()))
        .replace("@TOOLS@", &comment(&tools.join(", ")))
        .replace("@HEADERS@", &comment(&headers.join(", ")))
        .replace("@COMMAND@", &literal(place.get("command").unwrap_or(&Json::Null)))
        .replace("@URL@", &literal(place.get("url").unwrap_or(&Json::Null)))
        .replace("@VERSION@", &literal(&Json::from(surface.text("version"))))
        .replace("@MODERN@", &literal(&Json::Bool(modern)))
        .replace("@TOOL@", &literal(&name))
        .replace("@ARGUMENTS@", &literal(&arguments)))
}

/// A template without the line that has nothing to say.
fn without_line(template: &str, mark: &str) -> String {
    let lines = template.split_inclusive('\n').filter(|line| !line.contains(mark));
    lines.collect()
}

/// A foreign text that must not leave its comment.
fn comment(text: &str) -> String {
    let odd = |c: char| c.is_control() || crate::screen::is_steering(c) || c == '*' || c == '@';
    let plain = |c: char| if odd(c) { ' ' } else { c };
    crate::client::clip(&text.chars().map(plain).collect::<String>(), 400)
        .replace("\"\"\"", "'''")
        .replace('\\', "/")
}

/// JSON as a literal of JavaScript, without characters that steer a terminal.
fn quoted(value: &Json) -> String {
    crate::screen::escape_json(&value.to_string())
}

/// JSON as a Python literal.
fn python(value: &Json) -> String {
    match value {
        Json::Null => "None".into(),
        Json::Bool(true) => "True".into(),
        Json::Bool(false) => "False".into(),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", "))
        }
        Json::Object(members) => {
            let pair = |(name, value): &(crate::json::Text, Json)| {
                format!("{}: {}", python(&Json::from(name.as_str())), python(value))
            };
            format!("{{{}}}", members.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => {
            // Python joins no halves of a surrogate pair.
            let plain = Json::from(text.as_str()).to_string();
            let steers = |c: char| crate::screen::visible(&c.to_string()) != c.to_string();
            let shown = |c: char| match steers(c) {
                true => format!("\\U{:08x}", u32::from(c)),
                false => c.to_string(),
            };
            plain.chars().map(shown).collect()
        }
        _ => value.to_string(),
    }
}
