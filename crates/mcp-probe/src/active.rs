//! Trying it out: can a tool be led out of its folder, does it run what it is
//! given? Only inside a scratch folder, only with harmless canaries, and only
//! with tools that say they read, unless told otherwise.

use crate::client::{Context, Session, open};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::obj;
use crate::risk::{Role, risky_parameter};
use crate::schema::{Parameter, sample};
use crate::surface::{Surface, Tool};
use crate::target::Target;
use std::path::{Path, PathBuf};

/// What is allowed.
#[derive(Debug, Clone)]
pub struct Options {
    /// Also tools that do not say that they only read.
    pub allow_writes: bool,
    /// The folder that the server was given.
    pub root: Option<PathBuf>,
}

const CANARY: &str = "probe-canary-6f1d2c";
/// The shell would make one number of it; a mere echo gives it back as it is.
const SUM: &str = "$((40000+2337))";
const SUM_DONE: &str = "probe42337";

/// A folder to play in, with something outside that must not be reached.
struct Playground {
    _dir: tempfile::TempDir,
    inside: PathBuf,
    secret: PathBuf,
    link: PathBuf,
}

impl Playground {
    fn new(root: Option<&Path>) -> std::io::Result<Playground> {
        let dir = tempfile::Builder::new().prefix("mcp-probe-").tempdir()?;
        let inside = match root {
            Some(root) => root.canonicalize()?.join(format!("mcp-probe-{}", std::process::id())),
            None => dir.path().canonicalize()?.join("inside"),
        };
        std::fs::create_dir_all(&inside)?;
        let outside = dir.path().canonicalize()?.join("outside");
        std::fs::create_dir_all(&outside)?;
        let secret = outside.join("secret.txt");
        std::fs::write(&secret, CANARY)?;
        std::fs::write(inside.join("plain.txt"), "plain")?;
        let link = inside.join("link.txt");
        std::os::unix::fs::symlink(&secret, &link)?;
        Ok(Playground { _dir: dir, inside, secret, link })
    }

    /// The secret, by way of the folder.
    fn traversal(&self) -> PathBuf {
        let mut path = self.inside.clone();
        let depth = self.inside.components().count() - 1;
        (0..depth).for_each(|_| path.push(".."));
        path.join(self.secret.strip_prefix("/").unwrap_or(&self.secret))
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.inside);
    }
}

/// Runs the tests.
pub async fn test(
    target: &Target,
    context: &Context,
    surface: &Surface,
    options: &Options,
) -> Result<Vec<Finding>, String> {
    if let Target::File(_) = target {
        return Err("--active needs a live server".into());
    }
    let ground = Playground::new(options.root.as_deref())
        .map_err(|error| format!("no scratch folder: {error}"))?;
    let mut session = open(target, context).await.map_err(|unopened| unopened.explain(context))?;
    let tools: Vec<Json> = surface.tools().map(|tool| tool.json.clone()).collect();
    session.peer.mirror(&tools);
    let mut findings = Vec::new();
    let mut left_out = Vec::new();
    for tool in surface.tools() {
        if !options.allow_writes && !tool.is_read_only() {
            left_out.push(tool.name().to_string());
            continue;
        }
        for parameter in tool.parameters().iter().filter(|p| !p.path.contains(['.', '['])) {
            findings.extend(paths(&mut session, &tool, parameter, &ground, options).await);
            findings.extend(commands(&mut session, &tool, parameter).await);
        }
    }
    session.close().await;
    if !left_out.is_empty() {
        let finding = Finding::new(
            "not-tried",
            Severity::Info,
            "tools that do not say that they only read were not called",
        );
        findings.push(
            finding
                .seen(left_out.join(", "))
                .advise("Use --allow-writes on a server that may be changed."),
        );
    }
    Ok(findings)
}

fn takes_text(parameter: &Parameter) -> bool {
    parameter.types.is_empty() || parameter.types.iter().any(|kind| kind == "string")
}

async fn answer(session: &mut Session, tool: &Tool<'_>, name: &str, value: &str) -> String {
    let mut arguments = sample(tool.input(), tool.input());
    arguments.set(name, value);
    let params = obj! { "name": tool.name(), "arguments": arguments };
    let exchange = session.peer.request("tools/call", params).await;
    exchange.answer.map(|message| message.json.to_string()).unwrap_or_default()
}

async fn paths(
    session: &mut Session,
    tool: &Tool<'_>,
    parameter: &Parameter,
    ground: &Playground,
    options: &Options,
) -> Vec<Finding> {
    let by_name = risky_parameter(tool, parameter).is_some_and(Role::is_path);
    if !by_name || !takes_text(parameter) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let tries = [
        ("path-traversal", "a path with .. led out of the folder", ground.traversal()),
        (
            "path-traversal",
            "an absolute path outside of the folder was taken",
            ground.secret.clone(),
        ),
        ("link-followed", "a link led out of the folder", ground.link.clone()),
    ];
    for (rule, title, path) in tries {
        let said = answer(session, tool, &parameter.name, &path.display().to_string()).await;
        if said.contains(CANARY) {
            let scope = if options.root.is_some() { Severity::High } else { Severity::Medium };
            let finding = Finding::new(rule, scope, title).at(tool.name());
            findings.push(finding.seen(format!(
                "parameter {:?} = {}",
                parameter.path,
                path.display()
            )));
        }
    }
    findings
}

async fn commands(
    session: &mut Session,
    tool: &Tool<'_>,
    parameter: &Parameter,
) -> Option<Finding> {
    if !takes_text(parameter) || parameter.schema.get("enum").is_some() {
        return None;
    }
    for value in [
        format!("echo probe{SUM}"),
        format!("x; echo probe{SUM}"),
        format!("x\"; echo probe{SUM}; \""),
        format!("$(echo probe{SUM})"),
    ] {
        let said = answer(session, tool, &parameter.name, &value).await;
        if said.contains(SUM_DONE) {
            let finding = Finding::new(
                "command-injection",
                Severity::High,
                "text in an argument was run by a shell",
            )
            .at(tool.name());
            return Some(
                finding
                    .seen(format!("parameter {:?} = {value}", parameter.path))
                    .seen(format!("the answer holds {SUM_DONE}")),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_playground_leads_where_it_says() {
        let root = tempfile::tempdir().unwrap();
        for root in [None, Some(root.path())] {
            let ground = Playground::new(root).unwrap();
            assert_eq!(std::fs::read_to_string(ground.traversal()).unwrap(), CANARY);
            assert_eq!(std::fs::read_to_string(&ground.link).unwrap(), CANARY);
            assert!(!ground.secret.starts_with(&ground.inside));
        }
        assert_eq!(root.path().read_dir().unwrap().count(), 0);
    }
}
