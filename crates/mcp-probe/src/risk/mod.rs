//! Static analysis of names, descriptions and schemas: what could this tool be
//! made to do? Parameters are given roles by meaning, in several languages; every
//! finding shows what it rests on.

#[rustfmt::skip]
mod lexicon;
pub mod measure;
mod roles;
mod rules;
mod texts;

use crate::client::clip;
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::schema::{Parameter, foreign_references};
use crate::surface::{LISTS, Surface, Tool};
use lexicon::{CHANGES, RUNS, SHELL};
pub use roles::Role;
use roles::{Effect, Reading};
pub use rules::RULES;

/// Signs in a text that it speaks to the model, or hides something.
pub fn text_signs(text: &str) -> Vec<&'static str> {
    let mut signs: Vec<&'static str> = texts::orders(text).iter().map(|sign| sign.what).collect();
    signs.extend(texts::hidden(text));
    signs
}

/// What a parameter of a tool lets a caller choose, if that is risky.
pub fn risky_parameter(tool: &Tool<'_>, parameter: &Parameter) -> Option<Role> {
    Reading::of(tool).roles(parameter).into_iter().find(|role| *role != Role::Secret)
}

/// Everything that a parameter of a tool lets a caller choose.
pub fn roles_of(tool: &Tool<'_>, parameter: &Parameter) -> Vec<Role> {
    Reading::of(tool).roles(parameter)
}

struct Facts<'a> {
    tool: &'a Tool<'a>,
    reading: Reading<'a>,
}

impl Facts<'_> {
    fn finding(&self, rule: &'static str, severity: Severity, title: &str) -> Finding {
        Finding::new(rule, severity, title).at(self.tool.name())
    }

    fn with(&self, role: Role) -> Option<String> {
        let parameter = self.reading.with(role)?;
        Some(format!("parameter {:?}: {}", parameter.path, role.describe()))
    }

    /// Whether the schema says nothing, so that only words are left to judge by.
    fn is_blind(&self) -> bool {
        let schema = self.tool.input();
        self.reading.parameters().is_empty()
            && (schema.get("properties").is_none() || schema.text_at("type") != Some("object"))
    }
}

/// What a tool could be made to do, by the look of it.
pub fn tool_risks(tool: &Tool<'_>) -> Vec<Finding> {
    let facts = Facts { tool, reading: Reading::of(tool) };
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 13] = [
        commands,
        code,
        paths,
        addresses,
        queries,
        by_words_alone,
        validation,
        orders,
        hidden,
        odd_name,
        hints,
        secrets,
        references,
    ];
    rules.iter().filter_map(|rule| rule(&facts)).collect()
}

fn commands(facts: &Facts<'_>) -> Option<Finding> {
    let finding =
        facts.finding("runs-commands", Severity::High, "by its description it runs commands");
    let seen = facts.with(Role::Command)?;
    Some(finding.seen(seen).advise("Ask for consent before each call, or leave the tool out."))
}

fn code(facts: &Facts<'_>) -> Option<Finding> {
    let finding = facts.finding("runs-code", Severity::High, "by its description it runs code");
    let seen = facts.with(Role::Code)?;
    Some(finding.seen(seen).advise("Ask for consent before each call, or leave the tool out."))
}

fn paths(facts: &Facts<'_>) -> Option<Finding> {
    let finding = match (facts.with(Role::PathOut), facts.with(Role::PathIn)) {
        (Some(seen), _) => facts
            .finding("any-path-write", Severity::High, "by its schema it writes at any path")
            .seen(seen),
        (None, Some(seen)) => facts
            .finding("any-path-read", Severity::Medium, "by its schema it takes any path")
            .seen(seen),
        (None, None) => return None,
    };
    Some(finding.advise("See what it does outside its folder: scan --active."))
}

fn addresses(facts: &Facts<'_>) -> Option<Finding> {
    let finding = facts.finding(
        "any-url",
        Severity::Medium,
        "by its schema it goes to any address, also inside your network",
    );
    facts.with(Role::Address).map(|seen| finding.seen(seen))
}

fn queries(facts: &Facts<'_>) -> Option<Finding> {
    let finding = facts.finding("any-query", Severity::Medium, "it takes a free query");
    facts.with(Role::Query).map(|seen| finding.seen(seen))
}

/// A schema that says nothing hides what may be given: the words are left.
fn by_words_alone(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_blind() {
        return None;
    }
    let name = &facts.reading.name;
    let shell = name.has(SHELL) || (name.has(RUNS) && name.has(lexicon::COMMAND));
    let code = name.has(RUNS) && name.has(lexicon::CODE);
    let path = name.has(lexicon::PATH);
    let (rule, severity, title) = match facts.reading.effect() {
        _ if shell => ("runs-commands", Severity::High, "by its name it runs commands"),
        _ if code => ("runs-code", Severity::High, "by its name it runs code"),
        Effect::Writes if path => ("any-path-write", Severity::High, "by its name it writes files"),
        Effect::Reads if path => ("any-path-read", Severity::Medium, "by its name it reads files"),
        _ if name.has(&["url", "fetch", "http", "download", "browse"]) => {
            ("any-url", Severity::Medium, "by its name it goes to addresses")
        }
        _ if name.has(&["sql", "query"]) => {
            ("any-query", Severity::Medium, "by its name it takes queries")
        }
        _ => return None,
    };
    Some(facts.finding(rule, severity, title).seen("its schema names no parameters to judge by"))
}

fn validation(facts: &Facts<'_>) -> Option<Finding> {
    let schema = facts.tool.input();
    if !schema.is_object() || schema.text_at("type") != Some("object") {
        let finding =
            facts.finding("no-schema", Severity::Low, "its input schema is no object schema");
        return Some(
            finding
                .seen(clip(&schema.to_string(), 120))
                .advise("The official SDKs refuse the whole list because of it."),
        );
    }
    let all = facts.reading.parameters();
    let untyped: Vec<&str> = all
        .iter()
        .filter(|p| p.looseness().contains(&"no type"))
        .map(|p| p.path.as_str())
        .collect();
    if !untyped.is_empty() {
        let finding = facts.finding("unvalidated", Severity::Low, "parameters without a type");
        return Some(finding.seen(untyped.join(", ")));
    }
    let loose = |p: &&Parameter| p.looseness().iter().any(|loose| loose.starts_with("any "));
    let unbounded = all.iter().filter(loose).count();
    let title = format!("{unbounded} of {} parameters without bounds", all.len());
    (unbounded > 0).then(|| facts.finding("unvalidated", Severity::Info, &title))
}

/// Every text of the tool with its path.
fn each_text(tool: &Tool<'_>, visit: &mut dyn FnMut(&str, &str)) {
    tool.json.walk("", &mut |path, value| {
        if let Some(text) = value.as_str() {
            visit(path, text);
        }
        for (name, _) in value.members() {
            visit(&format!("{path}, a name"), name.as_str());
        }
    });
}

fn orders(facts: &Facts<'_>) -> Option<Finding> {
    let (mut seen, mut severity) = (Vec::new(), Severity::Info);
    each_text(facts.tool, &mut |path, text| {
        for sign in texts::orders(text) {
            seen.push(format!("{path} holds {}", sign.what));
            severity = severity.max(sign.severity);
        }
        if texts::is_too_long(text) && !path.ends_with("a name") {
            seen.push(format!("{path} is {} characters long", text.chars().count()));
            severity = severity.max(Severity::Medium);
        }
    });
    seen.truncate(8);
    let finding = facts.finding("injected-instructions", severity, "its texts speak to the model");
    (!seen.is_empty()).then(|| finding.seen_all(seen))
}

fn hidden(facts: &Facts<'_>) -> Option<Finding> {
    let mut signs = Vec::new();
    each_text(facts.tool, &mut |path, text| {
        for sign in texts::hidden(text) {
            signs.push(format!("{path} holds {sign}: {}", clip(&texts::spelled_out(text), 160)));
        }
    });
    signs.truncate(8);
    let finding = facts.finding(
        "hidden-text",
        Severity::High,
        "its texts hold characters that people do not see",
    );
    (!signs.is_empty()).then(|| finding.seen_all(signs))
}

fn odd_name(facts: &Facts<'_>) -> Option<Finding> {
    let name = facts.tool.name();
    let finding = facts.finding(
        "odd-name",
        Severity::Medium,
        "its name holds characters that look like others",
    );
    texts::looks_like_another(name).then(|| finding.seen(name.escape_unicode().to_string()))
}

fn hints(facts: &Facts<'_>) -> Option<Finding> {
    if facts.tool.is_read_only() {
        let finding =
            facts.finding("false-read-only", Severity::Medium, "it says that it only reads");
        let verb = || {
            facts.reading.name.find(CHANGES).map(|word| format!("the word {word:?} in its name"))
        };
        let writes = facts.reading.effect() == Effect::Writes;
        let seen = writes.then(verb).flatten().or_else(|| facts.with(Role::Command));
        return seen.map(|seen| finding.seen(seen));
    }
    let silent = facts.tool.json.get("annotations").is_none();
    silent.then(|| {
        facts.finding("no-hints", Severity::Info, "it says nothing of its effects (no annotations)")
    })
}

fn secrets(facts: &Facts<'_>) -> Option<Finding> {
    let finding = facts.finding(
        "takes-secrets",
        Severity::Low,
        "it wants a secret as an argument, where the model sees it",
    );
    facts.with(Role::Secret).map(|seen| finding.seen(seen))
}

fn references(facts: &Facts<'_>) -> Option<Finding> {
    let found = foreign_references(facts.tool.json);
    let finding = facts.finding(
        "foreign-reference",
        Severity::Low,
        "its schema points outside itself; nothing was fetched",
    );
    (!found.is_empty()).then(|| finding.seen_all(found))
}

/// What the whole surface shows.
pub fn surface_risks(surface: &Surface) -> Vec<Finding> {
    let mut findings: Vec<Finding> = surface.tools().flat_map(|tool| tool_risks(&tool)).collect();
    findings.extend(blind(surface));
    findings.extend(own_words(surface));
    for (_, member, _) in &LISTS[1..] {
        findings.extend(surface.list(member).iter().flat_map(|item| item_risks(member, item)));
    }
    findings.extend(shadows(surface));
    findings.extend(pushes(surface));
    gathered(findings)
}

/// A list whose schemas say nothing is no harmless list: nobody can tell.
fn blind(surface: &Surface) -> Option<Finding> {
    let all = surface.tools().count();
    let unusable = |tool: &Tool<'_>| tool.input().text_at("type") != Some("object");
    let names: Vec<&str> = surface.tools().filter(unusable).map(|tool| tool.name()).collect();
    (!names.is_empty()).then(|| {
        Finding::new(
            "no-schema",
            Severity::Medium,
            format!("{} of {all} input schemas say nothing: what these tools take cannot be judged", names.len()),
        )
        .seen(some_of(&names))
        .advise("The official SDKs refuse a list with such a schema; a library that makes schemas out of types may be missing or too old.")
    })
}

/// What the server says of itself: its name and its instructions.
fn own_words(surface: &Surface) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut look = |place: &str, text: &str| {
        let orders = texts::orders(text);
        if let Some(worst) = orders.iter().map(|sign| sign.severity).max() {
            let title = "the server's own words give orders to the model";
            let finding = Finding::new("injected-instructions", worst.min(Severity::Medium), title);
            findings.push(finding.at(place).seen_all(orders.iter().map(|sign| sign.what)));
        }
        let signs = texts::hidden(text);
        if !signs.is_empty() {
            let title = "characters that people do not see";
            let finding = Finding::new("hidden-text", Severity::High, title).at(place);
            let shown = clip(&texts::spelled_out(text), 160);
            findings.push(finding.seen_all(signs.iter().map(|sign| format!("{sign}: {shown}"))));
        }
    };
    look("instructions", surface.text("instructions"));
    if let Some(server) = surface.get("server") {
        server.walk("", &mut |path, value| {
            if let Some(text) = value.as_str() {
                look(&format!("serverInfo{path}"), text);
            }
        });
    }
    findings
}

/// A resource, a template or a prompt.
fn item_risks(member: &str, item: &Json) -> Vec<Finding> {
    let place = item.text_at("name").or(item.text_at("uri")).unwrap_or(member);
    let (mut signs, mut worst) = (Vec::new(), Severity::Info);
    item.walk("", &mut |path, value| {
        if let Some(text) = value.as_str() {
            for sign in texts::orders(text) {
                signs.push(format!("{path} holds {}", sign.what));
                worst = worst.max(sign.severity);
            }
            for sign in texts::hidden(text) {
                signs.push(format!("{path} holds {sign}"));
                worst = Severity::High;
            }
        }
    });
    let mut findings = Vec::new();
    if !signs.is_empty() {
        let title = format!("its texts in {member} give orders or hide something");
        let finding = Finding::new("injected-instructions", worst, title);
        findings.push(finding.at(place).seen_all(signs));
    }
    if let Some(template) = item.text_at("uriTemplate") {
        let open = template.split_once("://").filter(|(_, rest)| rest.contains('{'));
        match open {
            Some(("file", _)) => findings.push(
                Finding::new(
                    "any-path-read",
                    Severity::Medium,
                    "a resource template that takes any path",
                )
                .at(place)
                .seen(template)
                .advise("See whether it leaves its folder: resources/read with .. in the path."),
            ),
            Some(("http" | "https", rest)) if rest.starts_with('{') => findings.push(
                Finding::new(
                    "any-url",
                    Severity::Medium,
                    "a resource template that takes any host",
                )
                .at(place)
                .seen(template),
            ),
            _ => {}
        }
    }
    findings
}

/// Rules that speak of almost every tool say it once.
fn gathered(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept = Vec::new();
    let mut groups: Vec<(&'static str, Vec<Finding>)> =
        ["unvalidated", "no-hints", "no-schema"].map(|rule| (rule, Vec::new())).into();
    for finding in findings {
        let of_tool = finding.place.is_some() && finding.severity <= Severity::Low;
        match groups.iter_mut().find(|(rule, _)| of_tool && *rule == finding.rule) {
            Some((_, group)) => group.push(finding),
            None => kept.push(finding),
        }
    }
    for (rule, group) in groups {
        let unusable = rule == "no-schema";
        for severity in [Severity::Low, Severity::Info] {
            let same: Vec<&Finding> =
                group.iter().filter(|finding| finding.severity == severity).collect();
            // The server-wide finding has said it already.
            if same.is_empty() || unusable {
                continue;
            }
            let title = match (rule, severity) {
                ("no-hints", _) => "tools that say nothing of their effects (no annotations)",
                (_, Severity::Low) => "tools with parameters without a type",
                _ => "tools with parameters without bounds",
            };
            let names: Vec<&str> =
                same.iter().filter_map(|finding| finding.place.as_deref()).collect();
            let title = format!("{}: {}", title, names.len());
            kept.push(Finding::new(rule, severity, title).seen(some_of(&names)));
        }
    }
    kept
}

/// The first of many names.
fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        0..=SHOWN => names.join(", "),
        more => format!("{} and {} more", names[..SHOWN].join(", "), more - SHOWN),
    }
}

/// Names taken twice, and descriptions that speak about other tools.
fn shadows(surface: &Surface) -> Vec<Finding> {
    let names: Vec<&str> = surface.tools().map(|tool| tool.name()).collect();
    let mut findings = Vec::new();
    for (index, tool) in surface.tools().enumerate() {
        if names[..index].contains(&tool.name()) {
            findings.push(
                Finding::new("shadowing", Severity::Medium, "another tool has the same name")
                    .at(tool.name()),
            );
        }
        let twin = names[..index].iter().find(|name| {
            name.len() > 3 && **name != tool.name() && name.eq_ignore_ascii_case(tool.name())
        });
        if let Some(twin) = twin {
            findings.push(
                Finding::new(
                    "shadowing",
                    Severity::Low,
                    format!("differs from {twin} only in case"),
                )
                .at(tool.name()),
            );
        }
        let text = tool.description().to_lowercase();
        let orders = ["instead of", "do not use", "always use", "when using", "rather than"]
            .iter()
            .find(|words| text.contains(**words));
        let other = names.iter().find(|name| {
            name.len() > 4 && **name != tool.name() && text.contains(&name.to_lowercase())
        });
        if let (Some(order), Some(other)) = (orders, other) {
            let finding = Finding::new(
                "shadowing",
                Severity::Low,
                format!("its description tells how to use {other}"),
            );
            findings.push(finding.at(tool.name()).seen(format!("the words {order:?}")));
        }
    }
    findings
}

/// The fourth question: can the server push content at the client?
fn pushes(surface: &Surface) -> Vec<Finding> {
    let mut findings = Vec::new();
    let texts = |name: &str| -> Vec<String> {
        surface
            .get("oddities")
            .and_then(|odd| odd.get(name))
            .map_or(&[][..], Json::items)
            .iter()
            .filter_map(Json::as_str)
            .map(Into::into)
            .collect()
    };
    let requests = texts("serverRequests");
    if !requests.is_empty() {
        let finding = Finding::new(
            "server-push",
            Severity::Medium,
            "the server sent requests, though the client offers nothing",
        );
        findings.push(finding.seen_all(requests));
    }
    let notes = texts("serverNotifications");
    if !notes.is_empty() {
        findings.push(
            Finding::new("server-push", Severity::Info, "the server sent notifications")
                .seen_all(notes),
        );
    }
    let claims = |path: &str| {
        surface.get("capabilities").and_then(|all| all.at(path)).and_then(Json::as_bool)
            == Some(true)
    };
    let live: Vec<&str> = [
        "tools/listChanged",
        "resources/listChanged",
        "resources/subscribe",
        "prompts/listChanged",
    ]
    .into_iter()
    .filter(|path| claims(path))
    .collect();
    if !live.is_empty() {
        findings.push(
            Finding::new(
                "server-push",
                Severity::Info,
                "the server may change its lists while a client is connected",
            )
            .seen_all(live),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn rules(tool: &str) -> Vec<&'static str> {
        let json = parse(tool.as_bytes()).unwrap();
        tool_risks(&Tool { json: &json }).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn risky_tools_are_seen_and_plain_ones_are_not() {
        let path = r#"{"name":"read_file","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}"#;
        assert!(rules(path).contains(&"any-path-read"));
        let command = r#"{"name":"go","description":"Runs a shell command","inputSchema":{"type":"object","properties":{"command":{"type":"string"}}}}"#;
        assert!(rules(command).contains(&"runs-commands"));
        let plain = r#"{"name":"add","description":"Adds","annotations":{},"inputSchema":{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9,"description":"x"}}}}"#;
        assert!(rules(plain).is_empty());
        let pinned = r#"{"name":"pick","description":"d","annotations":{},"inputSchema":{"type":"object","properties":{"file":{"type":"string","enum":["a"],"description":"x"}}}}"#;
        assert!(rules(pinned).is_empty());
    }

    #[test]
    fn an_empty_schema_leaves_the_words() {
        let blind = r#"{"name":"write_file","inputSchema":{"$schema":"x"}}"#;
        assert!(rules(blind).contains(&"any-path-write") && rules(blind).contains(&"no-schema"));
        let none = r#"{"name":"list_directories","annotations":{},"inputSchema":{"type":"object","properties":{}}}"#;
        assert!(rules(none).is_empty(), "a tool without parameters takes no path");
    }

    #[test]
    fn what_is_true_of_most_tools_is_said_once() {
        let mut surface = Surface::new(crate::client::Era::Legacy, "stdio", "2025-11-25");
        let tool = |name: &str| {
            parse(format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"t":{{"type":"string"}}}}}}}}"#).as_bytes()).unwrap()
        };
        surface.set("tools", Json::Array((0..40).map(|n| tool(&format!("t{n}"))).collect()));
        let found = surface_risks(&surface);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].title.ends_with("40") && found[0].evidence[0].ends_with("and 28 more"));
    }

    #[test]
    fn servers_are_judged_by_their_own_words_and_templates_too() {
        let mut surface = Surface::new(crate::client::Era::Legacy, "stdio", "2025-11-25");
        surface.set("server", parse(br#"{"name":"a\u001b[2Jb"}"#).unwrap());
        surface.set("resourceTemplates", parse(br#"[{"uriTemplate":"file:///{+path}","name":"f"},{"uriTemplate":"mem://{id}","name":"m"}]"#).unwrap());
        surface.set("tools", parse(br#"[{"name":"x","inputSchema":{"$schema":"y"}}]"#).unwrap());
        let found = surface_risks(&surface);
        let rules: Vec<_> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["no-schema", "hidden-text", "any-path-read", "no-hints"], "{found:?}");
        assert_eq!(found[0].severity, Severity::Medium, "an empty schema is not nothing to see");
    }
}
