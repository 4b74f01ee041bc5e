//! For people: each finding at its place in the file, as rustc shows it.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use singlet_model::{Diagnostic, Severity, Source, Span};

use super::Report;
use crate::commands::check::files;

/// All findings and a closing line.
pub fn render(report: &Report, coloured: bool, hints: bool) -> String {
    let renderer = match coloured {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    let mut text = String::new();
    for (source, finding) in report.findings() {
        if hints || finding.rule.severity > Severity::Hint {
            text.push_str(&one(source, finding, &renderer));
            text.push_str("\n\n");
        }
    }
    if report.file_count() > 0 {
        text.push_str(&closing(report, hints));
    }
    text
}

fn one(source: &Source, finding: &Diagnostic, renderer: &Renderer) -> String {
    let level = match finding.rule.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::NOTE.with_name("hint"),
    };
    let mut snippet = Snippet::source(source.text())
        .path(source.name())
        .annotation(AnnotationKind::Primary.span(shown(source, finding.span)));
    for note in &finding.notes {
        let annotation = AnnotationKind::Context.span(shown(source, note.span)).label(&note.text);
        snippet = snippet.annotation(annotation);
    }
    let title = level.primary_title(&finding.message).id(finding.rule.code);
    let mut groups = vec![title.element(snippet)];
    groups.extend(finding.help.as_deref().map(|help| help_group(source, finding, help)));
    renderer.render(&groups)
}

/// The help, with the corrected line where the finding knows it.
fn help_group<'a>(source: &'a Source, finding: &'a Diagnostic, help: &'a str) -> Group<'a> {
    let title = Level::HELP.secondary_title(help);
    match &finding.fix {
        Some(fix) => {
            let patch = Patch::new(fix.span.range(), &fix.replacement);
            title.element(Snippet::source(source.text()).path(source.name()).patch(patch))
        }
        None => Group::with_title(title),
    }
}

/// A span that can be marked: within the text, and at most to the end of its first lines.
fn shown(source: &Source, span: Span) -> std::ops::Range<usize> {
    const LINES_MAX: usize = 4;
    let range = span.range();
    let text = source.text();
    let start = range.start.min(text.len());
    let end = range.end.clamp(start, text.len());
    let lines = text.get(start..end).unwrap_or_default();
    let length = match lines.match_indices('\n').nth(LINES_MAX - 1) {
        Some((newline, _)) => newline,
        None => lines.trim_end().len(),
    };
    start..start + length
}

fn closing(report: &Report, hints: bool) -> String {
    let counted = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    let mut counts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning")]
        .into_iter()
        .map(|(severity, word)| (report.count(severity), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| counted(count, word))
        .collect();
    if counts.is_empty() {
        counts.push("no errors, no warnings".to_owned());
    }
    let hint_count = report.count(Severity::Hint);
    if hint_count > 0 {
        let how = if hints { "" } else { " (show with --hints)" };
        counts.push(format!("{}{how}", counted(hint_count, "hint")));
    }
    format!("{} checked: {}\n", files(report.file_count()), counts.join(", "))
}
