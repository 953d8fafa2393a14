//! `errors`: how do tools answer to wrong arguments?

use crate::arguments::{Examples, Origin};
use crate::cli::ErrorsArgs;
use crate::client::{Context, Exchange, Session, clip, open};
use crate::finding::{Finding, Severity, sort};
use crate::json::Json;
use crate::obj;
use crate::run::{Exit, Failure, Run};
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

/// The probing of one server.
struct Prober<'a> {
    target: &'a Target,
    context: &'a Context,
    session: Session,
    tools: Vec<Json>,
    restarts: usize,
}

impl Prober<'_> {
    /// One call; a server that ended is started again for the next.
    async fn call(&mut self, tool: &str, arguments: &Json) -> Result<Exchange, Failure> {
        let params = obj! { "name": tool, "arguments": arguments.clone() };
        let exchange = self.session.peer.request("tools/call", params).await;
        let class = classify(&exchange, self.context);
        if matches!(class, "crash" | "disconnect" | "silence" | "stderr only" | "no connection") {
            self.restarts += 1;
            if self.restarts > MOST_RESTARTS {
                return Err(format!(
                    "the server had to be started {} times; given up",
                    self.restarts
                ));
            }
            self.session.close().await;
            self.session = start(self.target, self.context).await?;
            self.session.peer.mirror(&self.tools);
        }
        Ok(exchange)
    }

    fn outcome(&self, tool: &Tool<'_>, case: &str, expect: Expect, exchange: &Exchange) -> Outcome {
        let class = classify(exchange, self.context);
        let said = match class {
            "stack trace" => trace_of(exchange),
            "tool error" => words_of(exchange),
            _ => exchange.describe(),
        };
        Outcome { tool: tool.name().into(), case: case.into(), expect, class, said }
    }

    /// Every case of one tool: first arguments with which it works are looked for.
    async fn tool(
        &mut self,
        tool: &Tool<'_>,
        examples: &Examples,
        most: usize,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Failure> {
        let candidates = examples.candidates(tool);
        let Some((plain, _)) = candidates.first().cloned() else { return Ok(()) };
        let (mut base, mut first, mut left) = (plain, None, most.max(1));
        for (arguments, origin) in candidates {
            if left == 0 {
                break;
            }
            left -= 1;
            let exchange = self.call(tool.name(), &arguments).await?;
            let case = match (origin, &first) {
                (Origin::Given, _) => "as given",
                (Origin::Tried, None) => "minimal valid",
                (Origin::Tried, Some(_)) => "found by trying",
            };
            let outcome = self.outcome(tool, case, Expect::Valid, &exchange);
            let works = outcome.class == "result";
            // A wall that no value gets past is told once.
            if works || first.is_none() {
                first = Some(outcome.said.clone());
                outcomes.push(outcome);
            }
            if works {
                base = arguments;
                break;
            }
        }
        for case in cases(tool, &base).into_iter().take(left) {
            let exchange = self.call(tool.name(), &case.arguments).await?;
            outcomes.push(self.outcome(tool, &case.name, case.expect, &exchange));
        }
        Ok(())
    }
}

/// Calls and classifies.
pub async fn run(args: &ErrorsArgs, run: &Run) -> Result<Exit, Failure> {
    let named = run.target(&args.at)?;
    if let Target::File(_) = named.target {
        return Err("errors needs a live server".into());
    }
    let examples = args.args.as_deref().map(Examples::read).transpose()?.unwrap_or_default();
    let context = run.context_for(&named);
    let mut session = start(&named.target, &context).await?;
    let listing = session.peer.list("tools/list", "tools").await;
    session.peer.mirror(&listing.items);
    let wanted =
        |tool: &Tool<'_>| args.tool.is_empty() || args.tool.iter().any(|name| name == tool.name());
    let tools: Vec<Tool<'_>> =
        listing.items.iter().map(|json| Tool { json }).filter(wanted).collect();
    let (mut outcomes, mut left_out) = (Vec::new(), Vec::new());
    let mut prober = Prober {
        target: &named.target,
        context: &context,
        session,
        tools: listing.items.clone(),
        restarts: 0,
    };
    let bar = progress(tools.len() as u64, "tools");
    for tool in &tools {
        bar.inc(1);
        // Who gives arguments for a tool wants it called.
        let given = examples.names().any(|name| name == tool.name());
        if !args.allow_writes && !given && !tool.is_read_only() {
            left_out.push(tool.name().to_string());
            continue;
        }
        prober.tool(tool, &examples, args.most, &mut outcomes).await?;
    }
    bar.finish_and_clear();
    prober.session.close().await;
    let mut findings = judge(&outcomes);
    findings.extend(walls(&outcomes));
    sort(&mut findings);
    if tools.is_empty() && !args.tool.is_empty() {
        return Err(format!("the server has no tool {}", args.tool.join(", ")));
    }
    show(run, &outcomes, &findings, &left_out, listing.items.len())?;
    Ok(if outcomes.is_empty() { Exit::Code(UNTESTED) } else { Exit::of(&findings) })
}

/// The exit code when nothing was tested: neither fine nor a finding.
const UNTESTED: i32 = 2;

/// Tools that never did their work, so that their refusals say nothing.
fn walls(outcomes: &[Outcome]) -> Vec<Finding> {
    let mut names: Vec<&str> = outcomes.iter().map(|outcome| outcome.tool.as_str()).collect();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let own: Vec<&Outcome> = outcomes.iter().filter(|one| one.tool == name).collect();
        let mut right = own.iter().filter(|one| one.expect == Expect::Valid);
        let Some(first) = right.clone().next() else { continue };
        let works = right.any(|one| one.class == "result");
        if !works && matches!(first.class, "tool error" | "error") {
            let same = own.iter().filter(|one| one.said == first.said).count();
            found.push((name, first.said.clone(), same, own.len()));
        }
    }
    let finding = |(name, said, same, all): &(&str, String, usize, usize)| {
        Finding::new(
            "no-working-call",
            Severity::Low,
            "no arguments were found with which it works",
        )
        .at(name)
        .seen(format!("{same} of {all} calls got the same answer: {}", clip(said, 120)))
        .advise("Give some: --args FILE with {\"tool\": {arguments}}, or a recording with calls.")
    };
    found.iter().map(finding).collect()
}

/// What a tool says when it reports an error in its result.
fn words_of(exchange: &Exchange) -> String {
    let content = exchange.result().and_then(|result| result.get("content"));
    let texts = content.map_or(&[][..], Json::items).iter().filter_map(|item| item.text_at("text"));
    let text = texts.collect::<Vec<_>>().join(" ");
    if text.is_empty() { "isError, without words".into() } else { clip(&text, 160) }
}

async fn start(target: &Target, context: &Context) -> Result<Session, Failure> {
    open(target, context).await.map_err(|unopened| unopened.explain(context))
}

/// The wrong calls for one tool, made from a right one, the most telling first.
fn cases(tool: &Tool<'_>, valid: &Json) -> Vec<Case> {
    let mut cases = Vec::new();
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
    listed: usize,
) -> Result<(), Failure> {
    if run.common.json {
        let row = |outcome: &Outcome| obj! { "tool": &outcome.tool, "case": &outcome.case, "class": outcome.class, "said": &outcome.said };
        return run.emit_json(&obj! {
            "findings": crate::finding::to_json(findings),
            "calls": Json::Array(outcomes.iter().map(row).collect()),
            "leftOut": left_out.to_vec(),
            "tested": !outcomes.is_empty(),
        });
    }
    let mut screen = run.screen();
    let verdict = match (outcomes.is_empty(), listed) {
        (true, 0) => "nothing was tested: the server lists no tools".to_string(),
        (true, _) => {
            "nothing was tested: no tool says that it only reads (--allow-writes, or --args FILE)"
                .to_string()
        }
        (false, _) => {
            format!("{} made, {}", count(outcomes.len(), "call"), count(findings.len(), "finding"))
        }
    };
    let worst = crate::finding::worst(findings);
    screen.verdict(if outcomes.is_empty() { Some(Severity::Low) } else { worst }, &verdict);
    findings.iter().for_each(|finding| screen.finding(finding));
    if !outcomes.is_empty() {
        screen.heading("how tools answer");
    }
    let mut rows = vec![["tool", "case", "class", "answer"].map(String::from).to_vec()];
    rows.extend(outcomes.iter().map(|outcome| {
        vec![
            outcome.tool.clone(),
            outcome.case.clone(),
            outcome.class.into(),
            clip(&outcome.said, 90),
        ]
    }));
    if !outcomes.is_empty() {
        screen.table(&rows);
    }
    if !left_out.is_empty() {
        screen.line("");
        screen.line(&format!(
            "not called, as they do not say that they only read (--allow-writes): {}",
            left_out.join(", ")
        ));
    }
    run.emit(&screen.finish())
}
