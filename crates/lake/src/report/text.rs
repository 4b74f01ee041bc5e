//! A report in a terminal.

use super::{LakeReport, ReportBar, ReportView};

/// How wide the longest bar is, in characters.
const BAR_CHARS: usize = 40;

/// The longest label, in characters.
const LABEL_CHARS_MAX: usize = 32;

/// The eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

impl ReportView {
    /// Whether its bars are divided.
    pub(super) fn has_parts(&self) -> bool {
        self.series.iter().any(|name| !name.is_empty())
    }

    /// What the longest bar stands for, at least one.
    pub(super) fn longest(&self) -> i128 {
        self.bars
            .iter()
            .map(ReportBar::bar_total)
            .max()
            .unwrap_or_default()
            .max(1)
    }
}

impl LakeReport {
    /// As text, with bars.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for view in &self.views {
            if !out.is_empty() {
                out.push('\n');
            }
            push_view(&mut out, view);
        }
        if self.views.is_empty() {
            out.push_str("the lake has no rows\n");
        }
        out
    }
}

fn push_view(out: &mut String, view: &ReportView) {
    out.push_str(&one_line(&view.title, usize::MAX));
    out.push('\n');
    let labels: Vec<String> = view
        .bars
        .iter()
        .map(|bar| one_line(&bar.label, LABEL_CHARS_MAX))
        .collect();
    let width = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or_default();
    let longest = view.longest();
    for (bar, label) in view.bars.iter().zip(labels) {
        let total = bar.bar_total();
        let line = format!(
            "  {label:<width$}  {} {}",
            blocks(total, longest),
            view.unit.shown(total)
        );
        out.push_str(line.trim_end());
        if view.has_parts() {
            let parts = view.series.iter().zip(&bar.parts).filter(|(_, part)| **part != 0);
            let parts: Vec<String> = parts
                .map(|(name, part)| format!("{} {}", one_line(name, LABEL_CHARS_MAX), view.unit.shown(*part)))
                .collect();
            out.push_str(&format!("  ({})", parts.join(", ")));
        }
        out.push('\n');
    }
    if view.left_out > 0 {
        out.push_str(&format!("  and {} more\n", view.left_out));
    }
}

/// A bar, to an eighth of a character. What is something is seen.
fn blocks(value: i128, longest: i128) -> String {
    let eighths = value.max(0).saturating_mul(8 * BAR_CHARS as i128) / longest;
    let eighths = usize::try_from(eighths).unwrap_or_default();
    let eighths = if value > 0 { eighths.max(1) } else { 0 };
    let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{rest}", "█".repeat(eighths / 8))
}

/// Text of rows may have anything in it: a terminal gets one line of it without what it would obey.
pub(super) fn one_line(text: &str, chars_max: usize) -> String {
    let shown = |char: char| if char.is_control() { ' ' } else { char };
    match text.chars().count() > chars_max {
        true => text.chars().take(chars_max - 1).map(shown).chain(['…']).collect(),
        false => text.chars().map(shown).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        assert_eq!(blocks(0, 10), "");
        assert_eq!(blocks(10, 10), "█".repeat(40));
        assert_eq!(blocks(5, 10), "█".repeat(20));
        assert_eq!(blocks(1, 1_000_000), "▏");
        assert_eq!(blocks(-3, 10), "");
        assert_eq!(blocks(3, 320), "▍");
    }

    #[test]
    fn a_terminal_gets_nothing_to_obey() {
        assert_eq!(one_line("a\u{1b}[2Jb\n", 9), "a [2Jb ");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }
}
