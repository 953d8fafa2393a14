//! Findings as JUnit XML, the format in which build servers show tests.

use crate::finding::{Finding, Severity};

/// One part of a check: its name, its findings, and why it was not run, if it was not.
pub struct Part {
    /// Name, such as `doctor`.
    pub name: &'static str,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Why it could not be done.
    pub skipped: Option<String>,
}

/// One suite for each target. A finding of at least `fail_on` is a failed test;
/// a part without such findings is a test that passed.
pub fn document(targets: &[(String, Vec<Part>)], fail_on: Severity) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mcp-probe\">\n",
    );
    for (target, parts) in targets {
        let failing = |part: &Part| {
            part.findings.iter().filter(|finding| finding.severity >= fail_on).count()
        };
        let failures: usize = parts.iter().map(failing).sum();
        let skipped = parts.iter().filter(|part| part.skipped.is_some()).count();
        let tests: usize = parts.iter().map(|part| part.findings.len().max(1)).sum();
        out.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n",
            escape(target)
        ));
        parts.iter().for_each(|part| cases(part, fail_on, &mut out));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn cases(part: &Part, fail_on: Severity, out: &mut String) {
    if let Some(why) = &part.skipped {
        out.push_str(&format!(
            "    <testcase classname=\"{0}\" name=\"{0}\"><skipped message=\"{1}\"/></testcase>\n",
            part.name,
            escape(why)
        ));
        return;
    }
    if part.findings.is_empty() {
        out.push_str(&format!("    <testcase classname=\"{0}\" name=\"{0}\"/>\n", part.name));
    }
    for finding in &part.findings {
        let place = finding.place.as_ref().map(|place| format!(" {place}")).unwrap_or_default();
        let name = escape(&format!("{}{place}", finding.rule));
        let mut text = finding.evidence.join("\n");
        if let Some(advice) = &finding.advice {
            text.push_str(&format!("\n→ {advice}"));
        }
        let (title, text) = (escape(&finding.title), escape(text.trim_start()));
        let (kind, severity) = (part.name, finding.severity.name());
        out.push_str(&match finding.severity >= fail_on {
            true => format!(
                "    <testcase classname=\"{kind}\" name=\"{name}\"><failure type=\"{severity}\" message=\"{title}\">{text}</failure></testcase>\n"
            ),
            false => format!(
                "    <testcase classname=\"{kind}\" name=\"{name}\"><system-out>{severity}: {title}\n{text}</system-out></testcase>\n"
            ),
        });
    }
}

/// Text in XML; characters that XML forbids are spelled out.
fn escape(text: &str) -> String {
    let one = |c: char| match c {
        '&' => "&amp;".to_string(),
        '<' => "&lt;".into(),
        '>' => "&gt;".into(),
        '"' => "&quot;".into(),
        '\n' | '\t' => c.to_string(),
        '\u{fffe}' | '\u{ffff}' => format!("\\u{{{:x}}}", u32::from(c)),
        _ => crate::screen::visible(&c.to_string()),
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_become_tests() {
        let found = vec![
            Finding::new("r", Severity::High, "bad <thing>").at("t\u{1}").seen("a & b"),
            Finding::new("s", Severity::Info, "fine"),
        ];
        let part = |name, findings, skipped| Part { name, findings, skipped };
        let parts = vec![
            part("doctor", Vec::new(), None),
            part("scan", found, None),
            part("lint", Vec::new(), Some("no list".into())),
        ];
        let xml = document(&[("x".into(), parts)], Severity::Medium);
        assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("bad &lt;thing&gt;") && xml.contains("a &amp; b"));
        assert!(xml.contains("t\\u{1}"));
    }
}
