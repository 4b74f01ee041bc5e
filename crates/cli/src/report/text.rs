//! For people: each finding at its place in the file, as rustc shows it.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use singlet_model::{Diagnostic, Severity, Source, Span};

use super::Report;
use crate::commands::check::files_in_words;

/// All findings and a closing line.
pub(crate) fn render_text(report: &Report, coloured: bool, hints: bool) -> String {
    let renderer = match coloured {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    let mut text = String::new();
    for (source, finding) in report.located_findings() {
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

/// One finding, without colour.
pub(crate) fn finding_text(source: &Source, finding: &Diagnostic) -> String {
    one(source, finding, &Renderer::plain())
}

fn one(source: &Source, finding: &Diagnostic, renderer: &Renderer) -> String {
    let level = match finding.rule.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::NOTE.with_name("hint"),
    };
    let window = Window::around(source, finding);
    let primary = AnnotationKind::Primary.span(window.range(finding.span));
    let mut snippet = window.snippet(source).annotation(primary);
    for note in &finding.notes {
        let annotation = AnnotationKind::Context.span(window.range(note.span)).label(&note.text);
        snippet = snippet.annotation(annotation);
    }
    let title = level.primary_title(&finding.message).id(finding.rule.code);
    let mut groups = vec![title.element(snippet)];
    groups.extend(
        finding
            .help
            .as_deref()
            .map(|help| help_group(source, finding, &window, help)),
    );
    renderer.render(&groups)
}

/// The help, with the corrected line where the finding knows it.
fn help_group<'a>(source: &'a Source, finding: &'a Diagnostic, window: &Window<'a>, help: &'a str) -> Group<'a> {
    let title = Level::HELP.secondary_title(help);
    match &finding.fix {
        Some(fix) => {
            let patch = Patch::new(window.whole_range(fix.span), &fix.replacement);
            title.element(window.snippet(source).patch(patch))
        }
        None => Group::with_title(title),
    }
}

/// The lines of a file that a finding is about: a renderer that is given the whole file looks through it for every finding.
struct Window<'a> {
    text: &'a str,
    start: usize,
    first_line: usize,
}

impl<'a> Window<'a> {
    fn around(source: &'a Source, finding: &Diagnostic) -> Self {
        let spans = finding.notes.iter().map(|note| note.span).chain([finding.span]);
        let spans = spans.chain(finding.fix.iter().map(|fix| fix.span));
        let (mut start, mut end) = (usize::MAX, 0);
        for span in spans {
            start = start.min(span.start as usize);
            end = end.max(span.end as usize);
        }
        let text = source.text();
        let before = text.get(..start.min(text.len())).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let after = text.get(end.min(text.len())..).unwrap_or_default();
        let end = after.find('\n').map_or(text.len(), |newline| end + newline);
        Window {
            text: text.get(start..end).unwrap_or_default(),
            start,
            first_line: source.position_at(u32::try_from(start).unwrap_or(u32::MAX)).line,
        }
    }

    fn snippet<T: Clone>(&self, source: &'a Source) -> Snippet<'a, T> {
        Snippet::source(self.text)
            .path(source.name())
            .line_start(self.first_line)
    }

    fn whole_range(&self, span: Span) -> std::ops::Range<usize> {
        let within = |offset: usize| offset.saturating_sub(self.start).min(self.text.len());
        let range = span.text_range();
        within(range.start)..within(range.end)
    }

    /// A span that can be marked: at most to the end of its first lines.
    fn range(&self, span: Span) -> std::ops::Range<usize> {
        const LINES_MAX: usize = 4;
        let range = self.whole_range(span);
        let lines = self.text.get(range.clone()).unwrap_or_default();
        let length = match lines.match_indices('\n').nth(LINES_MAX - 1) {
            Some((newline, _)) => newline,
            None => lines.trim_end().len(),
        };
        range.start..range.start + length
    }
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
    format!(
        "{} checked: {}\n",
        files_in_words(report.file_count()),
        counts.join(", ")
    )
}
