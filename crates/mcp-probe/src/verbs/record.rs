//! `record`: what a real client and a real server say to each other.

use crate::cli::RecordArgs;
use crate::recorder::{Totals, proxy, wrap};
use crate::run::{Exit, Failure, Run};
use crate::target::Target;

/// Records until the command ends, or until told to stop.
pub async fn run(args: &RecordArgs, run: &Run) -> Result<Exit, Failure> {
    let path = run.common.out.as_ref().or(run.common.record.as_ref());
    let path = path.ok_or("say where to: --out FILE")?;
    let named = {
        let trail = &run.context.trail;
        trail.keep_nothing();
        trail
            .write_to(path, args.rotate)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        run.target(&args.at)?
    };
    let trail = run.context.trail.clone();
    match &named.target {
        Target::Stdio(command) => {
            let (code, totals) = wrap(&run.context.command(command), trail).await?;
            tell(&totals);
            Ok(Exit::Code(code))
        }
        Target::Url(url) => {
            let within = run.context.limits.connect();
            let totals = proxy(url, args.listen, args.keep_host, within, trail).await?;
            tell(&totals);
            Ok(Exit::Fine)
        }
        Target::File(_) => Err("record needs a live server".into()),
    }
}

/// To the error output: the output belongs to the server.
fn tell(totals: &Totals) {
    for (name, (count, hash)) in totals {
        eprintln!("mcp-probe: forwarded {name}: {count} bytes, sha256 {hash}");
    }
}
