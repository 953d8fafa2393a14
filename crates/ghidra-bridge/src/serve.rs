//! The life of a server: open, bind, say that it is ready, analyse, serve, end.

use crate::{checkpoints, hints, opening, progress, say};
use anyhow::Context;
use api::{Bridge, BridgeOptions};
use engine::{AnalysisKind, AnalysisState, Session};
use serde_json::{Value, json};
use server::config::{AnalysisMode, Command, Config, LogTarget, Outbound};
use server::{Bound, RequestLog, Running, Service, Signals, Stop};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Decompilation recurses over expressions and blocks.
const STACK: usize = 16 << 20;

/// What a process that outlived its session still gets after a save.
const AFTER_SAVE: Duration = Duration::from_secs(30);

/// Serves until something ends it.
pub fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let log = RequestLog::open(&config.log).with_context(|| match &config.log {
        LogTarget::File(file) => format!("log={} cannot be opened", file.display()),
        LogTarget::Off | LogTarget::Stderr => "the log cannot be opened".to_owned(),
    })?;
    let (session, absent) = open(config)?;
    session.project_notices().iter().for_each(|notice| say(notice));
    let options = options(config, &session, absent.clone());
    let bridge = Arc::new(Bridge::new(session.clone(), options));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()
        .context("the runtime cannot start")?;
    let stop = Stop::new();
    let service = Service::new(bridge, config, log, stop.clone());
    let served = runtime.block_on(async {
        tokio::spawn(save_early(stop.clone(), session.clone()));
        tokio::spawn(end_on_signals(Signals::catch(), stop));
        if let Some(outbound) = &config.outbound {
            return serve_outbound(config, outbound, &session, &service).await;
        }
        match config.command {
            Command::Stdio => serve_pipes(config, &session, &service, absent.as_deref()).await,
            Command::Serve | Command::Ws | Command::Mcp => {
                serve_sockets(config, &session, &service).await
            }
        }
    });
    session.close();
    // Calls that are still running have nobody to answer to.
    runtime.shutdown_timeout(Duration::from_millis(200));
    let saved = save(&session);
    if saved.is_ok() {
        checkpoints::say_interrupted(&session);
    }
    // Threads that still hold the session must not keep others out of its project.
    session.release_project();
    served.and(saved).map(|()| ExitCode::SUCCESS)
}

/// The session, and what clients are told when there is no program in it. Whoever started us
/// over pipes reads no error stream: there a file that cannot be opened is told by every answer.
fn open(config: &Config) -> anyhow::Result<(Session, Option<String>)> {
    let absent = match opening::open(config) {
        Ok(session) if config.opening.file.is_some() => return Ok((session, None)),
        Ok(session) => return Ok((session, Some(opening::HOW_TO_NAME_A_FILE.to_owned()))),
        Err(error) if config.command == Command::Stdio => {
            crate::one_line(&crate::with_causes(&error))
        }
        Err(error) => return Err(error),
    };
    Ok((opening::nothing()?, Some(format!("{absent}; {}", opening::HOW_TO_MEND_THE_PATH))))
}

/// Saves as soon as the end begins: clients may take their time to leave, and
/// whoever ended us may lose patience.
async fn save_early(stop: Stop, session: Session) {
    stop.stopped().await;
    let _ = tokio::task::spawn_blocking(move || {
        session.close();
        // What fails here is tried again, and told, at the very end.
        save(&session)
    })
    .await;
}

/// Saves what is not saved yet, and says so.
fn save(session: &Session) -> anyhow::Result<()> {
    let edited = session.has_unsaved_edits();
    let saved = session.save_at_end().context(if edited {
        "what was edited since the last save is lost"
    } else {
        "nothing was edited, but the analysis is not kept"
    })?;
    if let (true, Some(path)) = (saved, session.project_path()) {
        say(&format!("Saved to {}.", path.display()));
    }
    Ok(())
}

fn options(config: &Config, session: &Session, no_program: Option<String>) -> BridgeOptions {
    let name = session.snapshot().info.name.to_string();
    let default = if name.is_empty() { "ghidra-bridge".to_owned() } else { name };
    BridgeOptions {
        session_id: config.session_id.clone().unwrap_or(default),
        surface: config.surface,
        read_only: config.read_only,
        no_program,
    }
}

async fn serve_sockets(
    config: &Config,
    session: &Session,
    service: &Arc<Service>,
) -> anyhow::Result<()> {
    let bound = Bound::take(config).await?;
    analyse_first(config, session, service).await;
    // Before anybody can ask: whoever is served finds that analysis runs.
    let analyses = begin_analysis(config, session);
    let running = bound.serve(config, service);
    announce(config, session, service, &running);
    follow_beside(analyses, session);
    running.finish(service).await;
    Ok(())
}

async fn serve_pipes(
    config: &Config,
    session: &Session,
    service: &Arc<Service>,
    absent: Option<&str>,
) -> anyhow::Result<()> {
    if let Some(absent) = absent {
        say(&format!("No program is open: {absent}."));
    } else {
        analyse_first(config, session, service).await;
        follow_beside(begin_analysis(config, session), session);
    }
    let input = tokio::io::BufReader::with_capacity(64 << 10, tokio::io::stdin());
    server::serve_stdio(input, tokio::io::stdout(), Arc::clone(service)).await;
    Ok(())
}

async fn serve_outbound(
    config: &Config,
    outbound: &Outbound,
    session: &Session,
    service: &Arc<Service>,
) -> anyhow::Result<()> {
    let stream = tokio::select! {
        stream = server::connect(outbound, config.token.as_ref(), config.limits) => stream?,
        () = service.stop().stopped() => return Ok(()),
    };
    if let Some(deadline) = outbound.exit_deadline {
        tokio::spawn(enforce(deadline, service.stop().clone(), session.clone()));
    }
    analyse_first(config, session, service).await;
    let analyses = begin_analysis(config, session);
    let url = server::redacted(&outbound.url);
    print_ready(&json!({ "ws": url }), config, session, service);
    say(&format!("Serving {} to {url}. Press Ctrl-C to end.", service.program_name()));
    follow_beside(analyses, session);
    server::serve_outbound(stream, Arc::clone(service)).await;
    Ok(())
}

/// Ends the process when it outlives its session by too much.
async fn enforce(deadline: Duration, stop: Stop, session: Session) {
    stop.stopped().await;
    // A thread: the runtime may be busy with ending.
    std::thread::spawn(move || {
        std::thread::sleep(deadline);
        if session.wait_for_save() {
            std::thread::sleep(AFTER_SAVE);
        }
        say("ghidra-bridge: exit_deadline_sec has passed");
        std::process::exit(1);
    });
}

async fn analyse_first(config: &Config, session: &Session, service: &Service) {
    if config.opening.analysis != AnalysisMode::Wait || is_analysed(session) {
        return;
    }
    start_analysis(session);
    let session = session.clone();
    let analysis = tokio::task::spawn_blocking(move || {
        progress::follow(&session);
        checkpoints::keep(&session);
    });
    tokio::select! {
        // A panic while drawing must not keep the program from being served.
        _ = analysis => {}
        () = service.stop().stopped() => {}
    }
}

/// Whether there is nothing left to analyse.
fn is_analysed(session: &Session) -> bool {
    !session.wants_analysis()
}

/// Starts the analysis that runs while the program is served; true when there is one.
fn begin_analysis(config: &Config, session: &Session) -> bool {
    if config.opening.analysis != AnalysisMode::Background || is_analysed(session) {
        return false;
    }
    start_analysis(session);
    true
}

fn follow_beside(analyses: bool, session: &Session) {
    if analyses {
        let session = session.clone();
        std::thread::spawn(move || {
            progress::follow(&session);
            checkpoints::keep(&session);
        });
    }
}

fn start_analysis(session: &Session) {
    if session.start_analysis(AnalysisKind::Ghidra, None).is_err() {
        say("An analysis runs already.");
    }
}

/// The ready line for programs, the hints for people.
fn announce(config: &Config, session: &Session, service: &Service, running: &Running) {
    let addresses = json!({ "ws": running.websocket, "mcp": running.mcp });
    print_ready(&addresses, config, session, service);
    say_project(session);
    say(&hints::connect_lines(&service.program_name(), running, config));
}

/// Where edits go.
fn say_project(session: &Session) {
    let (true, Some(path)) = (session.has_claimed_project(), session.project_path()) else {
        return;
    };
    let status = session.analysis_status();
    let state = match (session.is_restored(), status.interrupted, status.analyzed) {
        (true, Some(_), _) if status.state == AnalysisState::Running => {
            "restored; its analysis was interrupted and goes on"
        }
        (true, Some(_), _) => "restored; its analysis was interrupted",
        (true, None, true) => "restored with its analysis",
        (true, None, false) => "restored",
        (false, ..) => "new",
    };
    say(&format!("Project {} ({state}).", path.display()));
}

/// One line on standard output: JSON for programs, a sentence on a terminal.
fn print_ready(addresses: &Value, config: &Config, session: &Session, service: &Service) {
    let project = session.project_path().filter(|_| session.has_claimed_project());
    let ready = json!({
        "event": "ready",
        "ws": addresses["ws"],
        "mcp": addresses["mcp"],
        "session_id": service.session_id(),
        "program_name": service.program_name(),
        "project": project.map(|path| path.to_string_lossy()),
        "restored": session.is_restored(),
        "analyzed": session.analysis_status().analyzed,
        "analysis": if session.analysis_status().is_running() { "running" } else { "not running" },
        "token": if config.token.is_some() { "configured" } else { "disabled" },
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
    });
    let mut out = std::io::stdout();
    let line = if out.is_terminal() { readable(&ready) } else { ready.to_string() };
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The ready line for people, who read the rest on the error stream.
fn readable(ready: &Value) -> String {
    let places = [&ready["ws"], &ready["mcp"]].into_iter().filter_map(Value::as_str);
    let places: Vec<&str> = places.collect();
    let name = ready["program_name"].as_str().unwrap_or_default();
    format!("Ready: {name} at {}", places.join(" and "))
}

/// The first signal ends the server in good order, the second at once.
async fn end_on_signals(mut signals: Signals, stop: Stop) {
    signals.next().await;
    stop.stop();
    signals.next().await;
    std::process::exit(130);
}
