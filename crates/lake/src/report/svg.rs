//! A report as one drawing, for light and dark pages.

use super::text::one_line;
use super::{LakeReport, ReportView};

/// Sizes, in pixels.
const WIDTH: usize = 900;
const MARGIN: usize = 24;
const LABEL_WIDTH: usize = 210;
const VALUE_WIDTH: usize = 110;
const BAR_WIDTH: usize = WIDTH - 2 * MARGIN - LABEL_WIDTH - VALUE_WIDTH;
const BAR_HEIGHT: usize = 16;
const LINE_HEIGHT: usize = 22;
const TITLE_HEIGHT: usize = 30;
const LEGEND_HEIGHT: usize = 22;
const GAP: usize = 26;
const CHAR_WIDTH: usize = 7;

const LABEL_CHARS_MAX: usize = 30;

/// The colours of parts, on light pages and on dark ones; all are told from the page and from their neighbours.
const COLOURS: [(&str, &str); 8] = [
    ("#2563ab", "#6ea8e6"),
    ("#c2571a", "#f0965a"),
    ("#2f7d4f", "#6cc28f"),
    ("#8a4fa3", "#c294d8"),
    ("#9c7a0c", "#dcbf55"),
    ("#b03a5b", "#ea8aa5"),
    ("#3d7f8c", "#7fc4d1"),
    ("#6b6b6b", "#a8a8a8"),
];

impl LakeReport {
    /// As an SVG drawing.
    pub fn to_svg(&self) -> String {
        let mut drawn = String::new();
        let mut at = MARGIN + 20;
        text(
            &mut drawn,
            "h",
            (MARGIN, at),
            "start",
            &format!("{}: what is in its lake", self.system),
        );
        at += 20;
        for view in &self.views {
            at = push_view(&mut drawn, view, at + GAP);
        }
        let height = at + MARGIN;
        let mut style = String::from(
            "svg{background:#fff}text{font:13px system-ui,sans-serif;fill:#1d1d1f}.h{font-size:18px;font-weight:600}\
             .t{font-size:14px;font-weight:600}.v,.l{fill:#55555a}",
        );
        let mut dark = String::from("svg{background:#16171a}text{fill:#ececee}.v,.l{fill:#a5a6ad}");
        for (number, (on_light, on_dark)) in COLOURS.iter().enumerate() {
            style.push_str(&format!(".c{number}{{fill:{on_light}}}"));
            dark.push_str(&format!(".c{number}{{fill:{on_dark}}}"));
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <title>{}</title>\n<style>{style}@media(prefers-color-scheme:dark){{{dark}}}</style>\n{drawn}</svg>\n",
            escaped(&format!("What is in the lake of {}", self.system)),
        )
    }
}

/// Draws a view from a height on; the height after it.
fn push_view(out: &mut String, view: &ReportView, top: usize) -> usize {
    let mut at = top;
    text(out, "t", (MARGIN, at), "start", &view.title);
    at += TITLE_HEIGHT - LINE_HEIGHT + BAR_HEIGHT / 2;
    if view.has_parts() {
        at = push_legend(out, view, at);
    }
    let longest = view.longest();
    for bar in &view.bars {
        let middle = at + BAR_HEIGHT / 2 + 5;
        text(
            out,
            "l",
            (MARGIN + LABEL_WIDTH - 10, middle),
            "end",
            &one_line(&bar.label, LABEL_CHARS_MAX),
        );
        let mut sum = 0_i128;
        let mut from = 0;
        for (number, part) in bar.parts.iter().enumerate().filter(|(_, part)| **part > 0) {
            sum = sum.saturating_add(*part);
            // Ends are rounded, not widths: parts together are as wide as their sum.
            let to = width_of(sum, longest).max(from + 1);
            let (x, width) = (MARGIN + LABEL_WIDTH + from, to - from);
            let name = view.series.get(number).map_or("", String::as_str);
            let told = format!("{} {} {}", bar.label, name, view.unit.shown(*part));
            out.push_str(&format!(
                "<rect class=\"c{}\" x=\"{x}\" y=\"{at}\" width=\"{width}\" height=\"{BAR_HEIGHT}\"><title>{}</title></rect>\n",
                number % COLOURS.len(),
                escaped(&told),
            ));
            from = to;
        }
        let value = view.unit.shown(bar.bar_total());
        text(out, "v", (MARGIN + LABEL_WIDTH + from + 8, middle), "start", &value);
        at += LINE_HEIGHT;
    }
    if view.left_out > 0 {
        let more = format!("and {} more", view.left_out);
        text(out, "v", (MARGIN + LABEL_WIDTH, at + BAR_HEIGHT), "start", &more);
        at += LINE_HEIGHT;
    }
    at
}

fn push_legend(out: &mut String, view: &ReportView, top: usize) -> usize {
    let (mut x, mut at) = (MARGIN, top);
    for (number, name) in view.series.iter().enumerate() {
        let name = one_line(name, LABEL_CHARS_MAX);
        let width = 20 + CHAR_WIDTH * name.chars().count() + 16;
        if x + width > WIDTH - MARGIN && x > MARGIN {
            (x, at) = (MARGIN, at + LEGEND_HEIGHT);
        }
        let colour = number % COLOURS.len();
        out.push_str(&format!(
            "<rect class=\"c{colour}\" x=\"{x}\" y=\"{at}\" width=\"12\" height=\"12\"/>\n"
        ));
        text(out, "l", (x + 18, at + 11), "start", &name);
        x += width;
    }
    at + LEGEND_HEIGHT
}

fn width_of(value: i128, longest: i128) -> usize {
    usize::try_from(value.saturating_mul(BAR_WIDTH as i128) / longest).unwrap_or_default()
}

fn text(out: &mut String, class: &str, (x, y): (usize, usize), anchor: &str, said: &str) {
    let anchor = if anchor == "end" { " text-anchor=\"end\"" } else { "" };
    out.push_str(&format!(
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>\n",
        escaped(said)
    ));
}

/// Text of rows may have anything in it, and a drawing is XML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in one_line(text, usize::MAX).chars() {
        match char {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            // Not in XML at all.
            '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            _ => safe.push(char),
        }
    }
    safe
}
