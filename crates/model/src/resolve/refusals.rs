//! `EXPRESSION else [STATUS] NAME(shown = value)`: requirements and refusals.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, Scope};
use crate::model::{Refusal, Requirement};
use crate::rules;
use crate::text::Text;

/// Reads a requirement.
pub(super) fn read_requirement(text: &Text, scope: &Scope<'_>, out: &mut Diagnostics) -> Option<Requirement> {
    let Some(at) = find_else(&text.text) else {
        let message = "a requirement does not say what the refusal is called";
        let help = "say what is refused: `EXPRESSION else NAME`, such as `item.userId != caller.id else own_item`";
        out.push(Diagnostic::new(&rules::BAD_REFUSAL, text.span, message).help(help));
        return None;
    };
    let condition = text.part_text(0, at).trimmed_text();
    let condition = expression::check_condition(&condition, scope, out);
    let scope = scope.with_facts_of(&condition, false);
    let refusal = read_refusal(&text.part_text(at + 4, text.text.len()).trimmed_text(), &scope, out)?;
    Some(Requirement { condition, refusal })
}

/// Reads `[STATUS] NAME(shown = value, …)`.
pub(super) fn read_refusal(text: &Text, scope: &Scope<'_>, out: &mut Diagnostics) -> Option<Refusal> {
    let (status, name_at) = status(text, out)?;
    let rest = text.part_text(name_at, text.text.len()).trimmed_text();
    let open = rest.text.find('(');
    let name = rest.part_text(0, open.unwrap_or(rest.text.len())).trimmed_text();
    if !is_refusal_name(&name.text) {
        let message = format!("`{}` cannot name a refusal", name.text);
        let help = "a refusal's name has lower-case letters, digits and `_`, such as `slot_taken`";
        let span = if name.text.is_empty() { text.span } else { name.span };
        out.push(Diagnostic::new(&rules::BAD_REFUSAL, span, message).help(help));
        return None;
    }
    let shown = match open {
        Some(open) => shown(&rest, open, scope, out)?,
        None => Vec::new(),
    };
    Some(Refusal {
        name: name.text,
        status,
        shown,
        span: text.span,
    })
}

fn status(text: &Text, out: &mut Diagnostics) -> Option<(Option<u16>, usize)> {
    let digits = text
        .text
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(text.text.len());
    if digits == 0 {
        return Some((None, 0));
    }
    let number = text.text.get(..digits).unwrap_or_default();
    match number.parse::<u16>() {
        Ok(status) if (400..500).contains(&status) => Some((Some(status), digits)),
        _ => {
            let message = format!("`{number}` is no status of a refusal");
            let span = text.span_of(0, digits);
            out.push(
                Diagnostic::new(&rules::BAD_REFUSAL, span, message).help("a refusal has a status from 400 to 499"),
            );
            None
        }
    }
}

fn shown(
    text: &Text,
    open: usize,
    scope: &Scope<'_>,
    out: &mut Diagnostics,
) -> Option<Vec<(String, expression::Expr)>> {
    if !text.text.ends_with(')') {
        let message = "the shown values are not closed";
        out.push(Diagnostic::new(&rules::BAD_REFUSAL, text.span, message).help("add `)` at the end"));
        return None;
    }
    let mut values = Vec::new();
    for (start, end) in split_commas(&text.text, open + 1, text.text.len() - 1) {
        let part = text.part_text(start, end).trimmed_text();
        let Some(equals) = part.text.find('=') else {
            let message = format!("`{}` has no name to be shown under", part.text);
            out.push(Diagnostic::new(&rules::BAD_REFUSAL, part.span, message).help("write `least = auction.nextMin`"));
            return None;
        };
        let name = part.part_text(0, equals).trimmed_text();
        let value = part.part_text(equals + 1, part.text.len()).trimmed_text();
        values.push((name.text, expression::check_expression(&value, scope, None, out)));
    }
    Some(values)
}

/// Ranges between the commas that stand outside brackets and quotes.
fn split_commas(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut from = start;
    let (mut depth, mut quote) = (0_i32, None);
    for (at, char) in text.char_indices().filter(|(at, _)| (start..end).contains(at)) {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(char),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                ranges.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    ranges.push((from, end));
    ranges
}

/// The last word `else` outside quotes. `else` is reserved in CEL, so it cannot be part of the expression.
fn find_else(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut found = None;
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(char),
            (None, 'e') if is_else(text, at) => found = Some(at),
            _ => {}
        }
    }
    found
}

fn is_else(text: &str, at: usize) -> bool {
    let before = text
        .get(..at)
        .is_some_and(|before| before.ends_with(char::is_whitespace));
    let after = text.get(at..).and_then(|rest| rest.strip_prefix("else"));
    before && after.is_some_and(|after| after.is_empty() || after.starts_with(char::is_whitespace))
}

fn is_refusal_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|char| char.is_ascii_lowercase())
        && chars.all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_')
}
