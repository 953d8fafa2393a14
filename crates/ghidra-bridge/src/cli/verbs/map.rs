//! `map`: the memory of a program as a picture.

use super::graph::{ending, finish};
use crate::cli::output::Output;
use crate::cli::picture::memory;
use crate::cli::picture::svg::Theme;
use crate::cli::program::{Program, Source};
use anyhow::bail;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// `map FILE`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The picture to write, ending in .svg (default: to standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Colours of the picture
    #[arg(long, value_name = "THEME", default_value = "auto")]
    theme: Theme,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    if arguments.output.as_deref().is_some_and(|place| ending(place) != Some("svg")) {
        bail!("name a file that ends in .svg");
    }
    let program = Program::open(&arguments.source)?;
    let drawn = memory::draw(&program, arguments.theme)?;
    finish(&drawn, arguments.output.as_deref(), json!({}), out)
}
