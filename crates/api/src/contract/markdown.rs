//! The reference for people: every method with its parameters, result and effect.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use program::SymbolKind;
use serde_json::{Map, Value};

use super::members::{Types, table};
use crate::error::ErrorCode;
use crate::method::Method;
use crate::registry::{Registry, Surface};

/// A call that is known to work, by the method's name.
pub type Examples = BTreeMap<String, Example>;

/// What was asked and what came back.
#[derive(Debug, Clone)]
pub struct Example {
    /// The program that was open.
    pub program: String,
    /// The parameters.
    pub params: Map<String, Value>,
    /// Members of the result; others may be there.
    pub result: Value,
}

const INTRODUCTION: &str = "\
Generated from the types of the `api` crate; `cargo xtask codegen` writes it again.

A call names a method and gives one object of parameters. Over WebSocket the method is the dotted
name; over MCP it is an operation of its domain's tool. Both give the same result and the same
errors.

- Every object is closed: members that are not listed here are refused.
- `!` marks what must be given, or what is always answered. Unknown values are left out of a
  result; null is never answered.
- Addresses are written `space:hex`, bare hex digits, a symbol's name (`main`, `ns::name`), a memory
  block's name, or any of these with `+` or `-` and hex digits. They are answered as `space:hex`.
- `projection.fields` chooses what is answered; the identity always is.
- Lists come in pages of `page.limit` rows (1 to 1000, 100 when absent). `next_cursor` of one reply
  is `page.cursor` of the next request; everything but the page, the projection and the time limit
  must stay the same. Walks in address order also stop after `scan.timeout_ms` and say how far they
  came.
";

const EXTENDED_INTRODUCTION: &str = "\
Generated from the types of the `api` crate; `cargo xtask codegen` writes it again.

These methods are served with `extensions=on`, beside those of [api.md](api.md), whose rules hold
for them as well: closed objects, addresses, projections, pages, errors. Each domain is one more MCP
tool. `interface.get` then answers this version, and `since` in the row of each of these methods;
without `extensions=on` nothing of them is seen.
";

/// The document as Markdown, with an example for each method that has one.
#[must_use]
pub fn markdown(registry: &Registry, examples: &Examples) -> String {
    let version = registry.interface_version();
    let mut out = format!("# Methods\n\nInterface version {version}.\n{INTRODUCTION}");
    sections(registry, examples, |_| true, &mut out);
    words(&mut out);
    errors(&mut out);
    out
}

/// The extended methods as Markdown, in the same form as the others.
#[must_use]
pub fn extensions(examples: &Examples) -> String {
    let registry = Registry::of(Surface::Workspace);
    let version = registry.interface_version();
    let mut out =
        format!("# Extended methods\n\nInterface version {version}.\n{EXTENDED_INTRODUCTION}");
    sections(registry, examples, |method| method.since_version().is_some(), &mut out);
    out
}

/// The methods that are wanted: a table of all, then each under its domain, then their types.
fn sections(
    registry: &Registry,
    examples: &Examples,
    wanted: impl Fn(&Method) -> bool,
    out: &mut String,
) {
    let methods: Vec<&Method> = registry.methods().iter().filter(|method| wanted(method)).collect();
    overview(&methods, out);
    let mut types = Types::default();
    for domain in registry.domains() {
        let rows = methods.iter().filter(|method| method.domain() == domain.name);
        for (index, method) in rows.enumerate() {
            if index == 0 {
                let _ = write!(out, "\n## {}\n\n{}\n", domain.name, domain.text);
            }
            describe(method, &mut types, out);
            if let Some(example) = examples.get(method.name()) {
                show(method.name(), example, out);
            }
        }
    }
    types.describe(out);
}

/// A call as it goes over a WebSocket, without its envelope.
fn show(name: &str, example: &Example, out: &mut String) {
    let Example { program, params, result } = example;
    let params = Value::Object(params.clone());
    let _ = write!(
        out,
        "\nExample, on `{program}` (members of the result that it does not show are left out):\n\n\
         ```json\n{{\"method\": \"{name}\", \"params\": {params}}}\n{result}\n```\n"
    );
}

/// Names that appear as values, each in the place that defines it.
fn words(out: &mut String) {
    let list = |names: &[&str]| quoted(names.iter().copied());
    let kinds = SymbolKind::ALL.map(SymbolKind::name);
    let flows: Vec<&str> = program::RefType::names().collect();
    let analyzers: Vec<&str> = engine::PASSES.iter().map(|pass| pass.name).collect();
    let _ = write!(
        out,
        "\n## Words\n\n- Types of symbols: {}.\n- Types of references: {}.\n- Analyzers: {}.\n",
        list(&kinds),
        list(&flows),
        list(&analyzers)
    );
}

fn overview(methods: &[&Method], out: &mut String) {
    out.push_str("\n| method | MCP operation | effect |\n|---|---|---|\n");
    for method in methods {
        let name = method.name();
        let anchor = name.replace('.', "");
        let operation = match method.websocket_only() {
            true => "WebSocket only".to_owned(),
            false => format!("`{}` → `{}`", method.domain(), method.operation()),
        };
        let effect = method.effects().summary();
        let _ = writeln!(out, "| [`{name}`](#{anchor}) | {operation} | {effect} |");
    }
}

fn describe(method: &Method, types: &mut Types, out: &mut String) {
    let _ = write!(out, "\n### {}\n\n{}\n\n", method.name(), method.description());
    let effects = method.effects();
    let mut facts = vec![effects.summary().to_owned()];
    if !effects.allowed_during_analysis {
        facts.push("refused while analysis runs".to_owned());
    }
    if !effects.read_only && effects.idempotent {
        facts.push("may be repeated".to_owned());
    }
    if !method.batchable() {
        facts.push("not in a batch".to_owned());
    }
    let _ = writeln!(out, "- Effect: {}.", facts.join(", "));
    if let Some(since) = method.since_version() {
        let _ = writeln!(out, "- Since {since}.");
    }
    if let Some(cost) = method.cost_text() {
        let _ = writeln!(out, "- Cost: {cost}");
    }
    if !method.identity().is_empty() && !method.selectable().is_empty() {
        let _ = writeln!(out, "- Identity: {}.", quoted(method.identity().iter().copied()));
    }
    if let Some(brief) = method.brief_members() {
        let ending = match method.selectable().is_empty() {
            true => "",
            false => ", unless `projection` asks for others; `{}` asks for all",
        };
        let _ = writeln!(out, "- Over MCP answered: {}{ending}.", quoted(brief.iter().copied()));
    }
    let nested = method.selectable().iter().filter(|path| path.contains('.'));
    let nested: Vec<&str> = nested.map(String::as_str).collect();
    if !nested.is_empty() {
        let _ = writeln!(out, "- Also selectable: {}.", quoted(nested.into_iter()));
    }
    table("parameter", method.input_schema(), types, out);
    table("result", method.output_schema(), types, out);
}

pub(super) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn errors(out: &mut String) {
    out.push_str(
        "\n## Errors\n\nA failed call answers `status`, `code`, `message`, `target` and `details`, always all \
         five. `target` points into the request (`/params/selector/address`, `/method`) or is empty.\n\n\
         | status | code | when |\n|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let _ = writeln!(out, "| {} | `{}` | {} |", code.status(), code.as_str(), code.meaning());
    }
}
