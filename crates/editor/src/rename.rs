//! Another name for an entity, an attribute or an argument, in every place; or none.
//!
//! Whether every place is known is not a matter of belief: the model with the new name must be checked with the very findings of the old
//! one. A place that was missed names something that is not there any more, and one that was taken by mistake likewise.

use std::fmt;

use singlet_model::{Diagnostic, Span};

use crate::occurrences::{NameKind, NameOccurrence};
use crate::{Document, check_text};

/// The longest name.
const NAME_CHARS_MAX: usize = 128;

/// Why a name stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenameRefusal {
    /// There is no name at the place, or none that can be renamed.
    NoName,
    /// The model has errors, so that nobody knows what names mean in it.
    HasErrors,
    /// The new name is no name.
    NotAName(String),
    /// There is one of that name.
    Taken(String),
    /// The model with the new name is another one, as this finding of it says.
    NotTheSame(String),
}

impl fmt::Display for RenameRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenameRefusal::NoName => {
                out.write_str("entities, attributes and arguments can be renamed, and none stands here")
            }
            RenameRefusal::HasErrors => {
                out.write_str("the model has errors, so that not every place of a name is known: correct them first")
            }
            RenameRefusal::NotAName(name) => {
                write!(
                    out,
                    "`{name}` is no name: letters, digits and `_`, beginning with a letter"
                )
            }
            RenameRefusal::Taken(name) => write!(out, "there is a `{name}` already"),
            RenameRefusal::NotTheSame(finding) => {
                write!(out, "not every place of the name is known: with the new one, {finding}")
            }
        }
    }
}

impl std::error::Error for RenameRefusal {}

/// The name at a place that can be renamed.
pub(crate) fn renamed_at(document: &Document, offset: usize) -> Result<NameOccurrence, RenameRefusal> {
    let at = document.occurrence_at(offset).ok_or(RenameRefusal::NoName)?;
    match (&at.kind, document.is_whole()) {
        (NameKind::Entity | NameKind::Attribute(_) | NameKind::Argument(_), true) => Ok(at),
        (NameKind::Entity | NameKind::Attribute(_) | NameKind::Argument(_), false) => Err(RenameRefusal::HasErrors),
        _ => Err(RenameRefusal::NoName),
    }
}

pub(crate) fn rename_at(document: &Document, offset: usize, to: &str) -> Result<Vec<Span>, RenameRefusal> {
    let at = renamed_at(document, offset)?;
    if !is_name(to) {
        return Err(RenameRefusal::NotAName(to.to_owned()));
    }
    let all = document.occurrences();
    let is_taken = |other: &NameOccurrence| other.name == to && other.kind == at.kind;
    if to != at.name && all.iter().any(is_taken) {
        return Err(RenameRefusal::Taken(to.to_owned()));
    }
    let same = all.iter().filter(|other| other.is_same_name(&at));
    let mut spans: Vec<Span> = same.map(|other| other.span).collect();
    spans.sort();
    spans.dedup();
    // An escape in quotes, or a line that was folded: what stands there is not the name as it is written.
    if let Some(span) = spans.iter().find(|span| document.source.slice_text(**span) != at.name) {
        let written = document.source.slice_text(*span);
        return Err(RenameRefusal::NotTheSame(format!(
            "`{written}` would not be told from it"
        )));
    }
    let text = replaced_spans(document.text(), &spans, to);
    let after = Document::new(document.source.name(), &text, None).with_checks();
    // Findings may be of the text alone so far; whoever compares needs all.
    let before = check_text(&document.source);
    if let Some(finding) = first_difference(&before, &after.findings, &at.name, to) {
        return Err(RenameRefusal::NotTheSame(finding));
    }
    // A name that is hidden by another of the same spelling is found, and is another.
    let mut meant: Vec<Span> = (after.occurrences().into_iter())
        .filter(|other| other.kind == at.kind && other.name == to)
        .map(|other| other.span)
        .collect();
    meant.sort();
    meant.dedup();
    match meant.len() == spans.len() {
        true => Ok(spans),
        false => Err(RenameRefusal::NotTheSame(format!(
            "`{to}` means something else in some places"
        ))),
    }
}

/// What is found in one and not in the other, once both have the new name.
fn first_difference(before: &[Diagnostic], after: &[Diagnostic], from: &str, to: &str) -> Option<String> {
    let shown = |finding: &Diagnostic| {
        let message = finding.message.replace(from, to);
        (finding.rule.code, message)
    };
    let mut wanted: Vec<(&str, String)> = before.iter().map(shown).collect();
    for finding in after {
        let found = shown(finding);
        match wanted.iter().position(|known| *known == found) {
            Some(at) => drop(wanted.remove(at)),
            None => return Some(finding.message.clone()),
        }
    }
    wanted
        .first()
        .map(|(_, message)| format!("it is no longer found that {message}"))
}

/// A text with another text in place of each span; the spans are sorted and apart.
pub(crate) fn replaced_spans(text: &str, spans: &[Span], by: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        out.push_str(text.get(from..span.start as usize).unwrap_or_default());
        out.push_str(by);
        from = span.end as usize;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

fn is_name(text: &str) -> bool {
    let is_begun = text.starts_with(|char: char| char.is_ascii_alphabetic());
    let is_made = text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    is_begun && is_made && text.len() <= NAME_CHARS_MAX
}
