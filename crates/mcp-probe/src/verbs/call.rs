//! `call`: one request, and why it went as it did.

use crate::cli::CallArgs;
use crate::client::{Context, Exchange, Peer, Session, open};
use crate::json::{self, Json};
use crate::limits::seconds;
use crate::link::Link;
use crate::obj;
use crate::run::{Exit, Failure, Run};
use crate::target::{Named, Target};

/// Makes the call.
pub async fn run(args: &CallArgs, run: &Run) -> Result<Exit, Failure> {
    let (method, params) = request(args)?;
    let named = run.target(&args.at)?;
    let context = run.context_for(&named);
    if args.bare {
        let mut peer = bare_peer(&named, &context).await?;
        let exchange = bare_request(&mut peer, &method, params).await;
        peer.link.close().await;
        return show(run, &context, &exchange, "no handshake");
    }
    let mut session =
        open(&named.target, &context).await.map_err(|unopened| unopened.explain(&context))?;
    if method == "tools/call" {
        mirror(&mut session).await;
    }
    let exchange = session.peer.request(&method, params).await;
    let how = format!(
        "{} {} over {}",
        session.peer.era.name(),
        session.version(),
        session.peer.link.transport()
    );
    session.close().await;
    show(run, &context, &exchange, &how)
}

fn request(args: &CallArgs) -> Result<(String, Json), Failure> {
    let read = |text: &str| {
        json::parse(text.as_bytes()).map_err(|error| format!("{text:?} is no JSON: {error}"))
    };
    match (&args.tool, &args.method) {
        (Some(tool), _) => {
            Ok(("tools/call".into(), obj! { "name": tool, "arguments": read(&args.args)? }))
        }
        (None, Some(method)) => {
            let params = args.params.as_deref().map(read).transpose()?;
            Ok((method.clone(), params.unwrap_or_default()))
        }
        (None, None) => Err("say what to call: --tool NAME or --method NAME".into()),
    }
}

/// In the modern era some arguments must be mirrored into headers, which only
/// the tool list tells.
async fn mirror(session: &mut Session) {
    if session.peer.era == crate::client::Era::Modern
        && session.peer.link.transport() == "streamable-http"
    {
        let tools = session.peer.list("tools/list", "tools").await;
        session.peer.mirror(&tools.items);
    }
}

/// A client on a connection over which nothing was said yet.
pub async fn bare_peer(named: &Named, context: &Context) -> Result<Peer, Failure> {
    let link = match &named.target {
        Target::Stdio(command) => {
            Link::stdio(&context.command(command), context.link_options()).await
        }
        Target::Url(url) => Link::url(url, context.link_options()).await,
        Target::File(_) => return Err("a live server is needed here".into()),
    };
    let link = link.map_err(|error| error.to_string())?;
    let mut options = context.link_options();
    options.activity = link.activity();
    Ok(Peer::new(link, options))
}

/// A request without any additions.
pub async fn bare_request(peer: &mut Peer, method: &str, params: Json) -> Exchange {
    let id = Json::from(peer.take_id());
    let mut message = obj! { "jsonrpc": "2.0", "id": id.clone(), "method": method };
    if params != Json::Null {
        message.push("params", params);
    }
    peer.exchange(method, Some(id), message.to_string().into(), &[]).await
}

fn show(run: &Run, context: &Context, exchange: &Exchange, how: &str) -> Result<Exit, Failure> {
    let failed = exchange.class() != "result";
    let stderr = context.trail.stderr_since(exchange.seq_before, 20);
    if run.common.json {
        let answer = exchange.answer.as_ref().map(|message| message.json.clone());
        let mut out = obj! { "outcome": exchange.class(), "how": how, "ms": exchange.elapsed.as_secs_f64() * 1000.0 };
        if let Some(status) = exchange.status() {
            out.push("status", status);
        }
        out.push("answer", answer);
        if !stderr.is_empty() {
            out.push("stderr", stderr);
        }
        run.emit_json(&out)?;
        return Ok(Exit::found(failed));
    }
    let mut screen = run.screen();
    let worst = failed.then_some(crate::finding::Severity::High);
    screen.verdict(
        worst,
        &format!(
            "{} in {} ({how}; limits: {})",
            exchange.describe(),
            seconds(exchange.elapsed),
            context.limits.describe()
        ),
    );
    if let Some(answer) = &exchange.answer {
        screen.line(&answer.json.pretty());
    }
    if !stderr.is_empty() {
        screen.heading("stderr meanwhile");
        stderr
            .iter()
            .for_each(|line| screen.faint(&format!("  {}", crate::client::clip(line, 300))));
    }
    run.emit(&screen.finish())?;
    Ok(Exit::found(failed))
}
