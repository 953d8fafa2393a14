//! `emit`: a configuration for a client, or a small client program, for the
//! server just looked at.

use crate::cli::EmitArgs;
use crate::emit::{Client, config, program};
use crate::run::{Exit, Failure, Run};
use crate::survey::{Depth, survey};
use crate::target::Target;

/// Writes it.
pub async fn run(args: &EmitArgs, run: &Run) -> Result<Exit, Failure> {
    if let Some(client) = Client::named(&args.what) {
        let named = run.target(&args.at)?;
        let target = match &named.target {
            // A recording or report knows of which server it is.
            Target::File(path) => crate::surface::read(path)?.0,
            target => target.clone(),
        };
        if let Target::File(_) = target {
            return Err("the file does not say of which server it is".into());
        }
        run.emit(&config(
            client,
            &args.name,
            &target,
            &run.context_for(&named),
            run.common.keep_secrets,
        ))?;
        return Ok(Exit::Fine);
    }
    let named = run.target(&args.at)?;
    let (target, surfaces) = match &named.target {
        Target::File(path) => crate::surface::read(path)?,
        target => (
            target.clone(),
            survey(target, &run.context_for(&named), Depth { repeat: 1, timings: false }).await?,
        ),
    };
    let surface = surfaces.first().ok_or("nothing is known of the server")?;
    let text =
        program(&args.what, &target, surface, &run.context_for(&named), run.common.keep_secrets)?;
    run.emit(&text)?;
    Ok(Exit::Fine)
}
