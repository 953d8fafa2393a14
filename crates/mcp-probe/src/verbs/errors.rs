//! `errors`: how do tools answer to wrong arguments?

use crate::cli::ErrorsArgs;
use crate::client::{Context, Exchange, Session, clip, open};
use crate::finding::{Finding, Severity, sort};
use crate::json::Json;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::schema::sample;
use crate::screen::{count, progress};
use crate::surface::Tool;
use crate::target::Target;

const MOST_RESTARTS: usize = 20;
const LONG: usize = 200_000;

/// What a call is meant to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// Should work, as far as one can tell.
    Valid,
    /// Should be refused.
    Refusal,
    /// Either is fine.
    Anything,
}

struct Case {
    name: String,
    arguments: Json,
    expect: Expect,
}

struct Outcome {
    tool: String,
    case: String,
    expect: Expect,
    class: &'static str,
    said: String,
}

/// Calls and classifies.
pub async fn run(args: &ErrorsArgs, run: &Run) -> Result<Exit, Failure> {
    let named = run.target(&args.at)?;
    if let Target::File(_) = named.target {
        return Err("errors needs a live server".into());
    }
    let context = run.context_for(&named);
    let mut session = start(&named.target, &context).await?;
    let listing = session.peer.list("tools/list", "tools").await;
    session.peer.mirror(&listing.items);
    let wanted =
        |tool: &Tool<'_>| args.tool.is_empty() || args.tool.iter().any(|name| name == tool.name());
    let (mut outcomes, mut left_out, mut restarts) = (Vec::new(), Vec::new(), 0);
    let tools: Vec<Tool<'_>> =
        listing.items.iter().map(|json| Tool { json }).filter(wanted).collect();
    let bar = progress(tools.len() as u64, "tools");
    for tool in &tools {
        bar.inc(1);
        if !args.allow_writes && !tool.is_read_only() {
            left_out.push(tool.name().to_string());
            continue;
        }
        for case in cases(tool).into_iter().take(args.most.max(1)) {
            let params = obj! { "name": tool.name(), "arguments": case.arguments };
            let exchange = session.peer.request("tools/call", params).await;
            let class = classify(&exchange, &context);
            let said = exchange.describe();
            let said = if class == "stack trace" { trace_of(&exchange) } else { said };
            outcomes.push(Outcome {
                tool: tool.name().into(),
                case: case.name,
                expect: case.expect,
                class,
                said,
            });
            if matches!(class, "crash" | "disconnect" | "silence" | "stderr only" | "no connection")
            {
                restarts += 1;
                if restarts > MOST_RESTARTS {
                    return Err(format!("the server had to be started {restarts} times; given up"));
                }
                session.close().await;
                session = start(&named.target, &context).await?;
                session.peer.mirror(&listing.items);
            }
        }
    }
    bar.finish_and_clear();
    session.close().await;
    let mut findings = judge(&outcomes);
    sort(&mut findings);
    show(run, &outcomes, &findings, &left_out)?;
    Ok(Exit::of(&findings))
}

async fn start(target: &Target, context: &Context) -> Result<Session, Failure> {
    open(target, context).await.map_err(|unopened| unopened.explain(context))
}

/// The calls for one tool, the most telling first.
fn cases(tool: &Tool<'_>) -> Vec<Case> {
    let valid = sample(tool.input(), tool.input());
    let mut cases = vec![Case {
        name: "minimal valid".into(),
        arguments: valid.clone(),
        expect: Expect::Valid,
    }];
    let parameters: Vec<_> =
        tool.parameters().into_iter().filter(|p| !p.path.contains(['.', '['])).collect();
    let with = |name: &str, value: Json| {
        let mut arguments = valid.clone();
        arguments.set(name, value);
        arguments
    };
    for parameter in parameters.iter().filter(|parameter| parameter.required) {
        let mut arguments = valid.clone();
        arguments.remove(&parameter.name);
        cases.push(Case {
            name: format!("{} missing", parameter.name),
            arguments,
            expect: Expect::Refusal,
        });
    }
    for parameter in &parameters {
        let is = |kind: &str| parameter.types.iter().any(|known| known == kind);
        let wrong = if is("object") {
            Json::from(7)
        } else {
            obj! { "wrong": "type" }
        };
        let typed = !parameter.types.is_empty();
        let refusal = if typed { Expect::Refusal } else { Expect::Anything };
        cases.push(Case {
            name: format!("{} of the wrong type", parameter.name),
            arguments: with(&parameter.name, wrong),
            expect: refusal,
        });
        let null_fits = !typed || is("null");
        let null =
            if null_fits || !parameter.required { Expect::Anything } else { Expect::Refusal };
        cases.push(Case {
            name: format!("{} null", parameter.name),
            arguments: with(&parameter.name, Json::Null),
            expect: null,
        });
        if is("string") {
            let texts = [
                ("empty", String::new()),
                ("very long", "x".repeat(LONG)),
                ("unicode", "\u{0}ä\u{202e}\u{1f600}\u{feff}".into()),
            ];
            for (name, text) in texts {
                cases.push(Case {
                    name: format!("{} {name}", parameter.name),
                    arguments: with(&parameter.name, text.into()),
                    expect: Expect::Anything,
                });
            }
        }
    }
    let closed = tool.input().get("additionalProperties") == Some(&Json::Bool(false));
    let extra = if closed { Expect::Refusal } else { Expect::Anything };
    cases.push(Case {
        name: "extra field".into(),
        arguments: with("mcp_probe_extra", Json::from(1)),
        expect: extra,
    });
    cases
}

const TRACES: [&str; 9] = [
    "Traceback (most recent call last)",
    "\", line ",
    "    at ",
    "goroutine ",
    "panicked at",
    "Exception in thread",
    "node:internal",
    ".java:",
    "stack backtrace",
];

fn trace_of(exchange: &Exchange) -> String {
    let text = exchange.answer.as_ref().map(|message| message.json.to_string()).unwrap_or_default();
    let at = TRACES.iter().find_map(|sign| text.find(sign)).unwrap_or(0);
    clip(text.get(at..).unwrap_or(&text), 160)
}

fn classify(exchange: &Exchange, context: &Context) -> &'static str {
    let text = exchange.answer.as_ref().map(|message| message.json.to_string()).unwrap_or_default();
    let failed = matches!(exchange.class(), "tool error" | "error");
    if failed && TRACES.iter().any(|sign| text.contains(sign)) {
        return "stack trace";
    }
    match exchange.class() {
        "silence" if !context.trail.stderr_since(exchange.seq_before, 1).is_empty() => {
            "stderr only"
        }
        class => class,
    }
}

fn judge(outcomes: &[Outcome]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for outcome in outcomes {
        let found = match (outcome.class, outcome.expect) {
            ("crash", _) => Some(("crash", Severity::High, "arguments end the process")),
            ("disconnect" | "no connection", _) => {
                Some(("disconnect", Severity::High, "arguments end the connection"))
            }
            ("silence", _) => Some(("silence", Severity::High, "arguments are never answered")),
            ("stderr only", _) => Some((
                "stderr-only",
                Severity::High,
                "the error goes to stderr, the client hears nothing",
            )),
            ("stack trace", _) => {
                Some(("stack-trace", Severity::Medium, "the answer shows a stack trace"))
            }
            ("result", Expect::Refusal) => {
                Some(("accepted", Severity::Low, "wrong arguments are taken"))
            }
            ("invalid answer" | "http only" | "flood" | "oversize", _) => {
                Some(("bad-answer", Severity::Medium, "the answer is no answer"))
            }
            _ => None,
        };
        let Some((rule, severity, title)) = found else { continue };
        let evidence = format!("{}: {}", outcome.case, outcome.said);
        let same = findings.iter_mut().find(|known| {
            known.rule == rule && known.place.as_deref() == Some(outcome.tool.as_str())
        });
        match same {
            // A few examples are enough; the table has them all.
            Some(known) if known.evidence.len() >= 4 => {}
            Some(known) => known.evidence.push(evidence),
            None => {
                findings.push(Finding::new(rule, severity, title).at(&outcome.tool).seen(evidence))
            }
        }
    }
    findings
}

fn show(
    run: &Run,
    outcomes: &[Outcome],
    findings: &[Finding],
    left_out: &[String],
) -> Result<(), Failure> {
    if run.common.json {
        let row = |outcome: &Outcome| obj! { "tool": &outcome.tool, "case": &outcome.case, "class": outcome.class, "said": &outcome.said };
        return run.emit_json(&obj! {
            "findings": crate::finding::to_json(findings),
            "calls": Json::Array(outcomes.iter().map(row).collect()),
            "leftOut": left_out.to_vec(),
        });
    }
    let mut screen = run.screen();
    let verdict =
        format!("{} made, {}", count(outcomes.len(), "call"), count(findings.len(), "finding"));
    screen.verdict(crate::finding::worst(findings), &verdict);
    findings.iter().for_each(|finding| screen.finding(finding));
    screen.heading("how tools answer");
    let mut rows = vec![["tool", "case", "class", "answer"].map(String::from).to_vec()];
    rows.extend(outcomes.iter().map(|outcome| {
        vec![
            outcome.tool.clone(),
            outcome.case.clone(),
            outcome.class.into(),
            clip(&outcome.said, 90),
        ]
    }));
    screen.table(&rows);
    if !left_out.is_empty() {
        screen.line("");
        screen.line(&format!(
            "not called, as they do not say that they only read (--allow-writes): {}",
            left_out.join(", ")
        ));
    }
    run.emit(&screen.finish())
}
