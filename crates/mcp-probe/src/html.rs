//! The report as one self-contained page: no scripts, nothing loaded.

use crate::finding::Severity;
use crate::json::Json;
use crate::risk::surface_risks;
use crate::schema::Parameter;
use crate::surface::{LISTS, Surface, Tool};
use std::fmt::Write as _;

const STYLE: &str = include_str!("html.css");

/// The page.
pub fn page(name: &str, surfaces: &[Surface]) -> String {
    let title = surfaces.first().map_or(name.to_string(), Surface::server);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{2}</title><style>{STYLE}</style></head><body><main><header><h1>{0}</h1><p class=\"dim\">{1}</p></header>",
        escape(&title),
        escape(name),
        spell(&title, "", "")
    );
    for surface in surfaces {
        section(surface, &mut out);
    }
    out.push_str("</main></body></html>\n");
    out
}

/// Text that is safe inside markup; what cannot be seen is spelled out.
fn escape(text: &str) -> String {
    spell(text, "<i class=\"ghost\">", "</i>")
}

/// The same with other marks around what is spelled out: a title takes no markup.
fn spell(text: &str, before: &str, after: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() || is_hidden(c) => {
                let _ = write!(out, "{before}U+{:04X}{after}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn section(surface: &Surface, out: &mut String) {
    let risks = surface_risks(surface);
    let count =
        |severity: Severity| risks.iter().filter(|finding| finding.severity == severity).count();
    let _ = write!(out, "<section><h2>{}</h2><div class=\"cards\">", escape(&surface.label()));
    for (_, member, _) in LISTS {
        card(out, &surface.list(member).len().to_string(), member, "");
    }
    card(
        out,
        &count(Severity::High).to_string(),
        "high risks",
        if count(Severity::High) > 0 { "high" } else { "" },
    );
    card(
        out,
        &count(Severity::Medium).to_string(),
        "medium risks",
        if count(Severity::Medium) > 0 { "medium" } else { "" },
    );
    out.push_str("</div>");
    facts(surface, out);
    timings(surface, out);
    if surface.tools().next().is_some() {
        out.push_str("<h3>Tools</h3>");
    }
    for tool in surface.tools() {
        tool_card(&tool, &risks, out);
    }
    for (_, member, _) in &LISTS[1..] {
        items(member, surface.list(member), out);
    }
    let rest: Vec<_> = risks
        .iter()
        .filter(|finding| {
            !surface.tools().any(|tool| Some(tool.name()) == finding.place.as_deref())
        })
        .collect();
    if !rest.is_empty() {
        out.push_str("<h3>Other findings</h3><ul>");
        for finding in rest {
            let _ = write!(
                out,
                "<li><b class=\"tag {0}\">{0}</b> {1}: {2}</li>",
                finding.severity.name(),
                escape(&finding.title),
                escape(&finding.evidence.join(", "))
            );
        }
        out.push_str("</ul>");
    }
    out.push_str("</section>");
}

fn card(out: &mut String, value: &str, label: &str, class: &str) {
    let _ = write!(
        out,
        "<div class=\"card {class}\"><b>{}</b><span>{}</span></div>",
        escape(value),
        escape(label)
    );
}

fn facts(surface: &Surface, out: &mut String) {
    out.push_str("<table class=\"facts\">");
    let mut row = |name: &str, value: String| {
        if !value.is_empty() && value != "[]" {
            let _ = write!(out, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(&value));
        }
    };
    let json = |name: &str| surface.get(name).map(Json::to_string).unwrap_or_default();
    row("supported versions", json("supportedVersions"));
    row("capabilities", json("capabilities"));
    row("instructions", surface.text("instructions").to_string());
    for (name, title) in [
        ("advertisedNotImplemented", "promised, not there"),
        ("implementedNotAdvertised", "there, not promised"),
        ("duplicates", "listed twice"),
        ("unstable", "changes by itself"),
        ("oddities", "oddities"),
    ] {
        row(title, if json(name) == "{}" { String::new() } else { json(name) });
    }
    for (name, outcome) in surface.get("methods").map_or(&[][..], Json::members) {
        row(name.as_str(), outcome.as_str().unwrap_or_default().to_string());
    }
    out.push_str("</table>");
}

fn timings(surface: &Surface, out: &mut String) {
    let times: Vec<(&str, f64)> = surface
        .list("timings")
        .iter()
        .filter_map(|time| Some((time.text_at("method")?, time.get("ms")?.as_f64()?)))
        .collect();
    let longest = times.iter().map(|(_, ms)| *ms).fold(0.001, f64::max);
    if times.is_empty() {
        return;
    }
    out.push_str("<h3>Times</h3><table class=\"times\">");
    for (method, ms) in times {
        let width = (ms / longest * 100.0).clamp(0.5, 100.0);
        let _ = write!(
            out,
            "<tr><th>{}</th><td><div style=\"width:{width:.1}%\"></div></td><td>{ms:.1} ms</td></tr>",
            escape(method)
        );
    }
    out.push_str("</table>");
}

fn tool_card(tool: &Tool<'_>, risks: &[crate::finding::Finding], out: &mut String) {
    let mine: Vec<_> =
        risks.iter().filter(|finding| finding.place.as_deref() == Some(tool.name())).collect();
    let _ = write!(out, "<details class=\"tool\"><summary><code>{}</code>", escape(tool.name()));
    for finding in mine.iter().filter(|finding| finding.severity > Severity::Info) {
        let _ = write!(out, " <b class=\"tag {}\">{}</b>", finding.severity.name(), finding.rule);
    }
    if tool.is_read_only() {
        out.push_str(" <b class=\"tag\">read-only</b>");
    }
    let _ = write!(out, "</summary><p class=\"about\">{}</p>", escape(tool.description()));
    let parameters = tool.parameters();
    if !parameters.is_empty() {
        out.push_str("<table class=\"params\"><tr><th>parameter</th><th>type</th><th></th><th>loose</th><th>description</th></tr>");
        parameters.iter().for_each(|parameter| parameter_row(parameter, out));
        out.push_str("</table>");
    }
    for finding in &mine {
        let _ = write!(
            out,
            "<p><b class=\"tag {0}\">{0}</b> {1} <span class=\"dim\">{2}</span></p>",
            finding.severity.name(),
            escape(&finding.title),
            escape(&finding.evidence.join("; "))
        );
    }
    let _ = write!(out, "<p class=\"dim\">sha256 {}</p></details>", tool.hash());
}

fn parameter_row(parameter: &Parameter, out: &mut String) {
    let mut kind = parameter.types.join(" | ");
    if let Some(choices) = parameter.schema.get("enum") {
        kind = format!("{kind} {choices}");
    }
    let _ = write!(
        out,
        "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        escape(&parameter.path),
        escape(&kind),
        if parameter.required { "required" } else { "" },
        escape(&parameter.looseness().join(", ")),
        escape(parameter.description())
    );
}

fn items(member: &str, items: &[Json], out: &mut String) {
    if items.is_empty() {
        return;
    }
    let _ = write!(out, "<h3>{}</h3><ul>", escape(member));
    for item in items {
        let name = item.text_at("name").unwrap_or_default();
        let uri = item.text_at("uri").or(item.text_at("uriTemplate")).unwrap_or_default();
        let about = item.text_at("description").unwrap_or_default();
        let _ = write!(
            out,
            "<li><code>{}</code> <span class=\"dim\">{}</span> {}</li>",
            escape(name),
            escape(uri),
            escape(about)
        );
    }
    out.push_str("</ul>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Era;
    use crate::obj;

    #[test]
    fn hostile_texts_stay_texts() {
        let mut surface = Surface::new(Era::Legacy, "stdio", "2025-11-25");
        let tool = obj! { "name": "<script>alert(1)</script>", "description": "a\u{202e}b \" onload='x'", "inputSchema": obj! {} };
        surface.set("tools", vec![tool]);
        surface.set("server", obj! { "name": "</title>\u{200b}", "version": "1" });
        let page = page("x", &[surface]);
        assert!(!page.contains("<script"));
        assert!(page.contains("&lt;script&gt;alert(1)"));
        assert!(page.contains("U+202E"));
        assert!(!page.contains("\u{202e}"));
        assert!(page.contains("<title>&lt;/title&gt;U+200B"), "{page}");
    }
}
