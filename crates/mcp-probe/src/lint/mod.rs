//! Will a tool list survive a client? One rule for each restriction that a
//! client or the model provider behind it really has.

use crate::conform::{Clients, check_result};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
use crate::schema::resolve;
use crate::surface::{LISTS, Surface, Tool};

/// What is known about a client.
pub struct Client {
    /// Name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Rules that apply.
    rules: &'static [&'static str],
}

const STRICT_NAMES: &str = "name-characters";

/// Clients and providers.
pub const CLIENTS: [Client; 17] = [
    Client { name: "python-sdk", about: "official Python SDK", rules: &["sdk-python"] },
    Client { name: "typescript-sdk", about: "official TypeScript SDK", rules: &["sdk-typescript"] },
    Client {
        name: "claude-desktop",
        about: "Claude Desktop",
        rules: &[
            "sdk-typescript",
            "dot-in-name",
            STRICT_NAMES,
            "name-64",
            "root-union",
            "output-object",
            "list-size",
        ],
    },
    Client {
        name: "claude-code",
        about: "Claude Code",
        rules: &[
            "sdk-typescript",
            STRICT_NAMES,
            "name-64-prefixed",
            "root-union",
            "output-object",
            "list-size",
        ],
    },
    Client {
        name: "copilot-cli",
        about: "GitHub Copilot CLI",
        rules: &["dot-in-name", STRICT_NAMES, "name-64", "output-object", "list-size"],
    },
    Client {
        name: "codex",
        about: "Codex",
        rules: &["dot-in-name", STRICT_NAMES, "name-64", "root-union", "list-size"],
    },
    Client {
        name: "cursor",
        about: "Cursor",
        rules: &[
            "sdk-typescript",
            "dot-in-name",
            STRICT_NAMES,
            "name-60-with-server",
            "output-object",
            "list-size",
        ],
    },
    Client {
        name: "vscode",
        about: "VS Code",
        rules: &[STRICT_NAMES, "array-items", "output-object", "many-tools", "list-size"],
    },
    Client {
        name: "openai",
        about: "OpenAI API",
        rules: &[
            "dot-in-name",
            STRICT_NAMES,
            "name-64",
            "root-union",
            "object-properties",
            "many-tools",
        ],
    },
    Client {
        name: "anthropic",
        about: "Anthropic API",
        rules: &["dot-in-name", STRICT_NAMES, "name-64", "root-union"],
    },
    Client {
        name: "bedrock",
        about: "Amazon Bedrock",
        rules: &["dot-in-name", STRICT_NAMES, "name-64", "root-union"],
    },
    Client {
        name: "vertex",
        about: "Vertex AI",
        rules: &[
            "name-64",
            "root-union",
            "references",
            "type-lists",
            "missing-type",
            "empty-properties",
        ],
    },
    Client {
        name: "gemini",
        about: "Gemini",
        rules: &[
            "name-64",
            "references",
            "type-lists",
            "missing-type",
            "array-items",
            "object-properties",
            "empty-properties",
        ],
    },
    Client {
        name: "windsurf",
        about: "Windsurf",
        rules: &["dot-in-name", STRICT_NAMES, "name-64", "tools-100", "output-object", "list-size"],
    },
    Client {
        name: "cline",
        about: "Cline",
        rules: &[
            "sdk-typescript",
            "dot-in-name",
            STRICT_NAMES,
            "name-64",
            "root-union",
            "output-object",
            "list-size",
        ],
    },
    Client {
        name: "continue",
        about: "Continue",
        rules: &[
            "sdk-typescript",
            "dot-in-name",
            STRICT_NAMES,
            "name-64",
            "root-union",
            "output-object",
            "list-size",
        ],
    },
    Client {
        name: "zed",
        about: "Zed",
        rules: &[
            "dot-in-name",
            STRICT_NAMES,
            "name-64",
            "root-union",
            "output-object",
            "list-size",
        ],
    },
];

/// What a rule looks at.
struct Subject<'a> {
    surface: &'a Surface,
    server_name: &'a str,
}

type Check = fn(&Subject<'_>, &Tool<'_>) -> Option<String>;

/// Rules for single tools: name, severity, what is wrong, check.
const TOOL_RULES: [(&str, Severity, &str, Check); 13] = [
    ("dot-in-name", Severity::High, "a dot in the name", dot),
    (STRICT_NAMES, Severity::High, "the name holds more than letters, digits, _ and -", characters),
    ("name-64", Severity::High, "the name is longer than 64 characters", |_, tool| {
        too_long(tool.name(), 64)
    }),
    (
        "name-64-prefixed",
        Severity::High,
        "the name with its prefix is longer than 64 characters",
        |subject, tool| too_long(&format!("mcp__{}__{}", subject.server_name, tool.name()), 64),
    ),
    (
        "name-60-with-server",
        Severity::High,
        "the name together with the server's is longer than 60 characters",
        |subject, tool| too_long(&format!("{}{}", subject.server_name, tool.name()), 60),
    ),
    (
        "root-union",
        Severity::High,
        "oneOf, anyOf or allOf at the root of the input schema",
        root_union,
    ),
    ("references", Severity::Medium, "$ref or $defs in the input schema", references),
    ("type-lists", Severity::Medium, "a list of types", type_lists),
    ("missing-type", Severity::Medium, "parameters without a type", missing_type),
    ("array-items", Severity::High, "an array without items", array_items),
    ("object-properties", Severity::Medium, "an object without properties", object_properties),
    (
        "empty-properties",
        Severity::Medium,
        "an object whose properties are an empty list",
        empty_properties,
    ),
    ("output-object", Severity::Medium, "the output schema is not of type object", output_object),
];

/// Rules for whole lists, with what is wrong.
const LIST_RULES: [(&str, &str); 5] = [
    ("sdk-python", "the official Python SDK refuses the whole list"),
    ("sdk-typescript", "the official TypeScript SDK refuses the whole list"),
    ("list-size", "the tool list takes much of the model's attention"),
    ("many-tools", "more than 128 tools"),
    ("tools-100", "more than 100 tools"),
];

/// Every rule with what is wrong where it strikes.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOOL_RULES.iter().map(|(name, _, about, _)| (*name, *about)).chain(LIST_RULES)
}

/// What is wrong where a rule strikes.
pub fn about(rule: &str) -> &'static str {
    rules().find(|(name, _)| *name == rule).map_or("a client refuses the list", |(_, about)| about)
}

/// Findings for one client.
pub fn lint(surface: &Surface, client: &Client, server_name: &str) -> Vec<Finding> {
    let subject = Subject { surface, server_name };
    let mut findings = Vec::new();
    for tool in surface.tools() {
        for (name, severity, title, check) in
            TOOL_RULES.iter().filter(|(name, ..)| client.rules.contains(name))
        {
            if let Some(evidence) = check(&subject, &tool) {
                findings.push(
                    Finding::new(name, *severity, format!("{}: {title}", client.about))
                        .at(tool.name())
                        .seen(evidence),
                );
            }
        }
    }
    findings.extend(list_rules(&subject, client));
    findings
}

fn list_rules(subject: &Subject<'_>, client: &Client) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tools = subject.surface.list("tools");
    // Four bytes a token is the usual rough measure for English and JSON.
    let tokens: usize = tools.iter().map(|tool| tool.to_string().len()).sum::<usize>() / 4;
    if client.rules.contains(&"list-size") && tokens > 10_000 {
        let severity = if tokens > 25_000 { Severity::Medium } else { Severity::Low };
        let finding = Finding::new(
            "list-size",
            severity,
            format!("{}: the tool list takes much of the model's attention", client.about),
        );
        findings.push(finding.seen(format!("about {tokens} tokens for {} tools", tools.len())));
    }
    for (rule, refuses) in SDKS {
        if client.rules.contains(&rule) {
            findings.extend(refused(subject.surface, client, rule, refuses));
        }
    }
    for (rule, most) in [("many-tools", 128), ("tools-100", 100)] {
        if client.rules.contains(&rule) && tools.len() > most {
            let title = format!("{}: more than {most} tools", client.about);
            let finding = Finding::new(rule, Severity::High, title);
            findings.push(finding.seen(format!("{} tools", tools.len())));
        }
    }
    findings
}

/// Whether one of them refuses.
type Refuses = fn(Clients) -> bool;

/// The official clients that check what they are given, and whether one refuses.
const SDKS: [(&str, Refuses); 2] =
    [("sdk-python", |who| who.python), ("sdk-typescript", |who| who.typescript)];

/// What in the lists makes an official client refuse them as a whole.
fn refused(
    surface: &Surface,
    client: &Client,
    rule: &'static str,
    refuses: Refuses,
) -> Option<Finding> {
    const SHOWN: usize = 8;
    let mut seen = Vec::new();
    for (method, member, _) in LISTS {
        let items = surface.list(member).to_vec();
        // The rest of the answer is not kept; it is as it should be here.
        let answer = obj! { "resultType": "complete", "ttlMs": 0, "cacheScope": "private" };
        let answer = answer.with(member, Json::Array(items));
        for fault in check_result(method, surface.text("version"), &answer) {
            if fault.path.starts_with(&format!("/{member}/")) && refuses(fault.refused_by) {
                seen.push(format!("{} {}", fault.path, fault.what));
            }
        }
    }
    let more = seen.len().saturating_sub(SHOWN);
    seen.truncate(SHOWN);
    if more > 0 {
        seen.push(format!("and {more} more"));
    }
    let title = format!("{}: the whole list is refused", client.about);
    let finding = Finding::new(rule, Severity::High, title);
    (!seen.is_empty()).then(|| finding.seen_all(seen))
}

fn dot(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    tool.name().contains('.').then(|| tool.name().to_string())
}

fn characters(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    // The dot has a rule of its own, as not all clients mind it.
    let odd: String = tool
        .name()
        .chars()
        .filter(|c| !(c.is_ascii_alphanumeric() || "_-.".contains(*c)))
        .collect();
    (!odd.is_empty() || tool.name().is_empty()).then(|| format!("{odd:?}"))
}

fn too_long(name: &str, most: usize) -> Option<String> {
    let length = name.chars().count();
    (length > most).then(|| format!("{length} characters: {}", crate::client::clip(name, 100)))
}

fn root_union(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    let found: Vec<&str> = ["oneOf", "anyOf", "allOf"]
        .into_iter()
        .filter(|key| tool.input().get(key).is_some())
        .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Paths of sub-schemas for which something holds.
fn places(schema: &Json, holds: impl Fn(&Json) -> bool) -> Option<String> {
    let mut found = Vec::new();
    schemas(schema, "", 0, &mut |path, schema| {
        if holds(schema) && found.len() < 8 {
            found.push(if path.is_empty() { "the root".to_string() } else { path.to_string() });
        }
    });
    (!found.is_empty()).then(|| found.join(", "))
}

/// Visits a schema and the schemas in it, not the values in it.
fn schemas(schema: &Json, path: &str, depth: usize, visit: &mut dyn FnMut(&str, &Json)) {
    if depth > 32 || !schema.is_object() {
        return;
    }
    visit(path, schema);
    for key in ["properties", "$defs", "definitions", "patternProperties"] {
        for (name, inner) in schema.get(key).map_or(&[][..], Json::members) {
            let part = if key == "properties" {
                name.as_str().to_string()
            } else {
                format!("{key}/{}", name.as_str())
            };
            schemas(inner, &join(path, &part), depth + 1, visit);
        }
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(inner) = schema.get(key) {
            schemas(inner, &join(path, key), depth + 1, visit);
        }
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (index, inner) in schema.get(key).map_or(&[][..], Json::items).iter().enumerate() {
            schemas(inner, &join(path, &format!("{key}/{index}")), depth + 1, visit);
        }
    }
}

fn join(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_string() } else { format!("{path}.{part}") }
}

fn references(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    places(tool.input(), |schema| schema.get("$ref").is_some() || schema.get("$defs").is_some())
}

fn type_lists(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    places(tool.input(), |schema| schema.get("type").is_some_and(Json::is_array))
}

fn missing_type(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    let says = ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"];
    places(tool.input(), |schema| says.iter().all(|key| schema.get(key).is_none()))
}

fn array_items(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    places(tool.input(), |schema| {
        schema.text_at("type") == Some("array") && schema.get("items").is_none()
    })
}

fn object_properties(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    let input = resolve(tool.input(), tool.input());
    places(input, |schema| {
        schema.text_at("type") == Some("object") && schema.get("properties").is_none()
    })
}

fn empty_properties(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    let empty = |list: &Json| list.is_object() && list.members().is_empty();
    let input = resolve(tool.input(), tool.input());
    places(input, |schema| schema.get("properties").is_some_and(empty))
}

fn output_object(_: &Subject<'_>, tool: &Tool<'_>) -> Option<String> {
    let output = tool.json.get("outputSchema")?;
    (output.text_at("type") != Some("object"))
        .then(|| crate::client::clip(&output.to_string(), 120))
}
