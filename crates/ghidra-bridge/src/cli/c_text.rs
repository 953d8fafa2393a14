//! C text for a terminal: its tokens by kind in colours.

use super::output::{Output, plain};
use super::program::text;
use console::Style;
use serde_json::Value;

/// The C text of an answer of `decompilation.get`, coloured when it came as tokens.
pub fn painted(answer: &Value, out: &Output) -> String {
    let Some(tokens) = answer["tokens"].as_array() else {
        return lines(text(answer, "c"));
    };
    let paint = |token: &Value| {
        let style = style(text(token, "kind"));
        let pieces = text(token, "text").split('\n').map(|piece| out.paint(&style, &plain(piece)));
        pieces.collect::<Vec<_>>().join("\n")
    };
    let painted: String = tokens.iter().map(paint).collect();
    painted.trim_matches('\n').to_owned()
}

/// C text whose lines do nothing to a terminal.
pub fn lines(c: &str) -> String {
    c.lines().map(plain).collect::<Vec<_>>().join("\n")
}

fn style(kind: &str) -> Style {
    let style = Style::new();
    match kind {
        "comment" => style.dim(),
        "constant" => style.magenta(),
        "function" => style.blue().bold(),
        "global" => style.cyan(),
        "keyword" => style.yellow(),
        "parameter" => style.red(),
        "type" => style.green(),
        "error" => style.red().bold(),
        _ => style,
    }
}
