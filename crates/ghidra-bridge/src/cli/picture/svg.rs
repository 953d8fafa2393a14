//! SVG: boxes and edges as text, with a light and a dark face.

use super::graph::{Edge, Graph, Kind, Node};
use super::layers::{Place, Point, layout};
use clap::ValueEnum;
use std::fmt::Write;

/// Width of a character of the font, in its own size; no common one is wider.
pub const CHARACTER: f64 = 0.605;

/// Size of the font.
pub const FONT: f64 = 12.0;

/// Height of a line.
pub const LINE: f64 = 16.0;

const PADDING: f64 = 8.0;
const MARGIN: f64 = 24.0;
const HEADING: f64 = 34.0;

/// The colours of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Theme {
    /// As whoever looks at it has it
    #[default]
    Auto,
    /// Dark on light, for paper
    Light,
    /// Light on dark
    Dark,
}

const LIGHT: &str = "svg{--back:#ffffff;--box:#f6f8fa;--rim:#8c959f;--text:#1f2328;--quiet:#59636e;--root:#0969da;\
--taken:#1a7f37;--not:#cf222e;--always:#0969da;--computed:#8250df;--call:#59636e;\
--code:#0969da;--data:#1a7f37;--string:#bf8700;--unknown:#d1d9e0;--none:#f6f8fa}";

const DARK: &str = "svg{--back:#0d1117;--box:#161b22;--rim:#6e7681;--text:#e6edf3;--quiet:#9198a1;--root:#58a6ff;\
--taken:#3fb950;--not:#f85149;--always:#58a6ff;--computed:#bc8cff;--call:#9198a1;\
--code:#58a6ff;--data:#3fb950;--string:#d29922;--unknown:#3d444d;--none:#161b22}";

const STYLE: &str = "text{font:12px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:var(--text);\
white-space:pre}.back{fill:var(--back)}.box{fill:var(--box);stroke:var(--rim)}.box.root{stroke:var(--root);stroke-width:2}\
.title{font-weight:bold}.quiet{fill:var(--quiet)}.heading{font-size:15px;font-weight:bold}\
.edge{fill:none;stroke-width:1.4}";

/// The start of a picture: its size, its colours, its background.
pub fn open(width: f64, height: f64, theme: Theme) -> String {
    let colours = match theme {
        Theme::Light => LIGHT.to_owned(),
        Theme::Dark => DARK.to_owned(),
        Theme::Auto => format!("{LIGHT}@media(prefers-color-scheme:dark){{{DARK}}}"),
    };
    let kinds = [Kind::Taken, Kind::Not, Kind::Always, Kind::Computed, Kind::Call].map(|kind| {
        let word = kind.word();
        format!(".edge.{word}{{stroke:var(--{word})}}.head.{word}{{fill:var(--{word})}}")
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{colours}{STYLE}{}</style>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n",
        kinds.concat()
    )
}

/// Text for a document: nothing in it is markup.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::cli::output::plain(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A line of text.
pub fn text(out: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let _ =
        writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(text));
}

/// How wide a text is.
pub fn width(text: &str) -> f64 {
    crate::cli::output::plain(text).chars().count() as f64 * FONT * CHARACTER
}

/// A graph as a picture.
pub fn draw(graph: &Graph, theme: Theme) -> String {
    let sizes: Vec<(f64, f64)> = graph.nodes.iter().map(size).collect();
    let edges: Vec<(usize, usize)> = graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let placed = layout(&sizes, &edges);
    let wide = placed.width.max(width(&graph.heading) * 1.3) + 2.0 * MARGIN;
    let mut out = open(wide, placed.height + HEADING + 2.0 * MARGIN, theme);
    text(&mut out, MARGIN, MARGIN + 12.0, "heading", &graph.heading);
    let left = (wide - placed.width) / 2.0;
    let _ = writeln!(out, "<g transform=\"translate({left:.1} {:.1})\">", MARGIN + HEADING);
    for (edge, way) in graph.edges.iter().zip(&placed.ways) {
        draw_edge(&mut out, *edge, way);
    }
    for (node, place) in graph.nodes.iter().zip(&placed.places) {
        draw_box(&mut out, node, *place);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn size(node: &Node) -> (f64, f64) {
    let longest =
        node.lines.iter().chain([&node.title]).map(|line| width(line)).fold(0.0, f64::max);
    (longest + 2.0 * PADDING, (node.lines.len() + 1) as f64 * LINE + 2.0 * PADDING)
}

fn draw_box(out: &mut String, node: &Node, place: Place) {
    let class = if node.is_root { "box root" } else { "box" };
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
        place.left(),
        place.top(),
        place.width,
        place.height
    );
    let x = place.left() + PADDING;
    let mut y = place.top() + PADDING + FONT;
    text(out, x, y, "title", &node.title);
    for line in &node.lines {
        y += LINE;
        text(out, x, y, "", line);
    }
}

fn draw_edge(out: &mut String, edge: Edge, way: &[Point]) {
    let (Some(first), Some(end)) = (way.first(), way.last()) else { return };
    let before = way.get(way.len().saturating_sub(2)).unwrap_or(first);
    let down = if end.y >= before.y { 1.0 } else { -1.0 };
    let mut path = format!("M{:.1} {:.1}", first.x, first.y);
    for (at, pair) in way.windows(2).enumerate() {
        let mut to = pair[1];
        if at + 2 == way.len() {
            // The line ends where the head begins.
            to.y -= 6.0 * down;
        }
        let from = pair[0];
        if (from.x - to.x).abs() < 0.5 || edge.from == edge.to {
            let _ = write!(path, "L{:.1} {:.1}", to.x, to.y);
        } else {
            let middle = f64::midpoint(from.y, to.y);
            let _ = write!(
                path,
                "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
                from.x, to.x, to.x, to.y
            );
        }
    }
    let kind = edge.kind.word();
    let _ = writeln!(out, "<path class=\"edge {kind}\" d=\"{path}\"/>");
    let base = end.y - 8.0 * down;
    let _ = writeln!(
        out,
        "<path class=\"head {kind}\" d=\"M{:.1} {:.1}L{:.1} {base:.1}L{:.1} {base:.1}Z\"/>",
        end.x,
        end.y,
        end.x - 4.0,
        end.x + 4.0
    );
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_is_never_markup() {
        assert_eq!(escape("<script>&\"\u{0}\u{ffff}"), "&lt;script&gt;&amp;&quot;\\u{0}\u{fffd}");
    }
}
