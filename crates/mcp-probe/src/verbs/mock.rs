//! `mock`: servers to practise on.

use crate::cli::MockArgs;
use crate::json::Json;
use crate::mock::{self, MOCKS};
use crate::obj;
use crate::run::{Exit, Failure, Run};

/// Lists mocks, or is one.
pub async fn run(args: &MockArgs, run: &Run) -> Result<Exit, Failure> {
    if args.list {
        return list(run);
    }
    let mock = mock::find(&args.name)
        .ok_or(format!("there is no mock {:?}; see mock --list", args.name))?;
    let failed = |error: std::io::Error| error.to_string();
    match (args.http, args.ws) {
        (Some(port), _) => mock::serve_http(mock, port).await.map_err(failed)?,
        (_, Some(port)) => mock::serve_ws(mock, port).await.map_err(failed)?,
        (None, None) => {
            let code = tokio::task::spawn_blocking(move || mock::serve_stdio(mock)).await;
            let code = code.map_err(|error| error.to_string())?;
            // The other side closing its end is the ordinary way to stop.
            return Ok(Exit::Code(code.unwrap_or(0)));
        }
    }
    Ok(Exit::Fine)
}

fn list(run: &Run) -> Result<Exit, Failure> {
    if run.common.json {
        let row =
            |mock: &mock::Mock| obj! { "name": mock.name, "about": mock.about, "rule": mock.rule };
        run.emit_json(&Json::Array(MOCKS.iter().map(row).collect()))?;
        return Ok(Exit::Fine);
    }
    let mut screen = run.screen();
    let mut rows =
        vec![vec!["mock".to_string(), "found by".to_string(), "what it does".to_string()]];
    rows.extend(MOCKS.iter().map(|mock| {
        let rule = if mock.rule.is_empty() { "-" } else { mock.rule };
        vec![mock.name.to_string(), rule.to_string(), mock.about.to_string()]
    }));
    screen.table(&rows);
    run.emit(&screen.finish())?;
    Ok(Exit::Fine)
}
