//! A placed graph as SVG. Colours follow the reader's scheme where the viewer tells; the card makes the rest legible anywhere.

use std::fmt::Write as _;

use super::layers::{EdgeRoute, LINE_HEIGHT, Layered};
use super::place::DrawingPlaces;
use super::value_at;
use super::{ArrowEnd, BoxForm, DrawnArrow, DrawnBox, Graph};
use crate::escape::escape_xml;

const STYLE: &str = "\
    text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}\
    .card{fill:#ffffff;stroke:#d0d7de}.node{fill:#eef4fb;stroke:#57606a;stroke-width:1.2}\
    .rule{stroke:#57606a;stroke-width:.6}.title{font-weight:600}.label{fill:#424a53}\
    .line{fill:none;stroke:#57606a;stroke-width:1.3}.dashed{stroke-dasharray:5 4}.head{fill:#57606a}\
    .ring{fill:#ffffff;stroke:#57606a;stroke-width:1.2}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117;stroke:#30363d}\
    .node{fill:#1b2737;stroke:#8b949e}.rule,.line,.ring{stroke:#8b949e}.ring{fill:#0d1117}.head{fill:#8b949e}\
    .label{fill:#b1bac4}}";

/// Paints a graph.
pub(crate) fn paint_graph(graph: &Graph, layered: &Layered, placed: &DrawingPlaces) -> String {
    let (width, height) = (placed.size.0.ceil(), placed.size.1.ceil());
    let title = escape_xml(&graph.title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n"
    );
    let _ = writeln!(
        out,
        "<rect class=\"card\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>",
        width - 1.0,
        height - 1.0
    );
    for (number, (edge, route)) in graph.edges.iter().zip(&layered.routes).enumerate() {
        line(&mut out, edge, route, value_at(&placed.ports, number), placed);
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let slot = value_at(&layered.slots, number);
        let (top, _) = value_at(&placed.y, number);
        let left = value_at(&placed.x, number) - slot.left;
        boxed(&mut out, node, (left, top), (slot.left + slot.right, slot.height));
    }
    out.push_str("</svg>\n");
    out
}

fn boxed(out: &mut String, node: &DrawnBox, (left, top): (f64, f64), (width, height): (f64, f64)) {
    let middle = n(left + width / 2.0);
    if node.form == BoxForm::Dot {
        let _ = writeln!(
            out,
            "<circle class=\"head\" cx=\"{middle}\" cy=\"{}\" r=\"7\"/>",
            n(top + 7.0)
        );
        return;
    }
    let round = if node.form == BoxForm::Box { 3.0 } else { 12.0 };
    let mut rect = |inset: f64, round: f64| {
        let _ = writeln!(
            out,
            "<rect class=\"node\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
            n(left + inset),
            n(top + inset),
            n(width - 2.0 * inset),
            n(height - 2.0 * inset),
            n(round)
        );
    };
    rect(0.0, round);
    if node.form == BoxForm::Last {
        rect(3.0, round - 3.0);
    }
    let _ = writeln!(
        out,
        "<text class=\"title\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        n(top + 21.0),
        escape_xml(&node.title)
    );
    if node.lines.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<line class=\"rule\" x1=\"{}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>",
        n(left),
        n(left + width),
        y = n(top + 32.0)
    );
    for (number, text) in node.lines.iter().enumerate() {
        let y = top + 32.0 + LINE_HEIGHT * (number as f64 + 1.0);
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\">{}</text>",
            n(left + 12.0),
            n(y),
            escape_xml(text)
        );
    }
}

fn line(out: &mut String, edge: &DrawnArrow, route: &EdgeRoute, (leaves, arrives): (f64, f64), placed: &DrawingPlaces) {
    let (Some(first), Some(last)) = (route.slots.first(), route.slots.last()) else {
        return;
    };
    let start = (leaves, value_at(&placed.y, *first).1);
    let end = (arrives, value_at(&placed.y, *last).0);
    let (upper, lower) = if route.upwards {
        (edge.head, edge.tail)
    } else {
        (edge.tail, edge.head)
    };
    let mut from = (start.0, start.1 + room(upper));
    let mut path = format!("M{} {}V{}", n(start.0), n(start.1), n(from.1));
    let between = route.slots.get(1..route.slots.len() - 1).unwrap_or_default();
    for slot in between {
        let x = value_at(&placed.x, *slot);
        let (top, bottom) = value_at(&placed.y, *slot);
        bend(&mut path, from, (x, top));
        let _ = write!(path, "V{}", n(bottom));
        from = (x, bottom);
    }
    bend(&mut path, from, (end.0, end.1 - room(lower)));
    let _ = write!(path, "V{}", n(end.1));
    let dashed = if edge.dashed { " dashed" } else { "" };
    let _ = writeln!(out, "<path class=\"line{dashed}\" d=\"{path}\"/>");
    ending(out, upper, start, 1.0);
    ending(out, lower, end, -1.0);
    if let Some(slot) = route.label {
        let (x, (top, _)) = (value_at(&placed.x, slot), value_at(&placed.y, slot));
        for (number, text) in edge.label.iter().enumerate() {
            let y = top + 12.5 + LINE_HEIGHT * number as f64;
            let _ = writeln!(
                out,
                "<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>",
                n(x + 7.0),
                n(y),
                escape_xml(text)
            );
        }
    }
}

/// How far a line runs straight from a box, so that what stands at its end points the right way.
fn room(end: ArrowEnd) -> f64 {
    match end {
        ArrowEnd::Plain => 2.0,
        ArrowEnd::Arrow => 10.0,
        ArrowEnd::One => 11.0,
        ArrowEnd::MaybeOne | ArrowEnd::Many => 16.0,
    }
}

/// From one place to a lower one, leaving and arriving straight downwards.
fn bend(path: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let middle = n((y1 + y2) / 2.0);
    if (x1 - x2).abs() < 0.05 {
        let _ = write!(path, "V{}", n(y2));
    } else {
        let _ = write!(path, "C{} {middle} {} {middle} {} {}", n(x1), n(x2), n(x2), n(y2));
    }
}

/// The end of a line at a box; `away` is 1 where the line goes down from the box, -1 where it comes from above.
fn ending(out: &mut String, end: ArrowEnd, (x, y): (f64, f64), away: f64) {
    let at = |dx: f64, dy: f64| format!("{} {}", n(x + dx), n(y + dy * away));
    let bar = |dy: f64| format!("M{}L{}", at(-5.0, dy), at(5.0, dy));
    let path = |out: &mut String, path: String| {
        let _ = writeln!(out, "<path class=\"line\" d=\"{path}\"/>");
    };
    let ring = |out: &mut String, dy: f64| {
        let _ = writeln!(
            out,
            "<circle class=\"ring\" cx=\"{}\" cy=\"{}\" r=\"3.5\"/>",
            n(x),
            n(y + dy * away)
        );
    };
    match end {
        ArrowEnd::Plain => {}
        ArrowEnd::Arrow => {
            let tip = format!("M{}L{}L{}Z", at(0.0, 0.0), at(-4.5, 9.0), at(4.5, 9.0));
            let _ = writeln!(out, "<path class=\"head\" d=\"{tip}\"/>");
        }
        ArrowEnd::One => path(out, format!("{}{}", bar(5.0), bar(9.0))),
        ArrowEnd::MaybeOne => {
            path(out, bar(5.0));
            ring(out, 10.5);
        }
        ArrowEnd::Many => {
            path(out, format!("M{}L{}L{}", at(-6.0, 0.0), at(0.0, 9.0), at(6.0, 0.0)));
            ring(out, 12.5);
        }
    }
}

/// A coordinate to a tenth of a pixel, the same on every machine.
fn n(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    // No negative zero.
    format!("{}", tenths + 0.0)
}
