//! What a scenario says of an answer beside the answer. Only what is named is compared.

use serde_json::Value as Json;
use singlet_model::node::Node;
use singlet_model::text::{Style, Text};
use singlet_model::{Diagnostic, Span};

use crate::names::NamedValues;
use crate::rules;

/// The longest value that a message quotes, in characters.
const QUOTED_CHARS_MAX: usize = 160;

/// Compares a value of an answer; `path` says which one. Differences are added to `out`.
pub(crate) fn compare_answer(
    wanted: &Node,
    got: Option<&Json>,
    path: &str,
    names: &NamedValues,
    out: &mut Vec<Diagnostic>,
) {
    match wanted {
        Node::Scalar(text) => scalar(text, got, path, names, out),
        Node::List(elements, span) => match got {
            Some(Json::Array(all)) if all.len() == elements.len() => {
                for (at, (element, got)) in elements.iter().zip(all).enumerate() {
                    compare_answer(element, Some(got), &format!("{path}[{at}]"), names, out);
                }
            }
            Some(Json::Array(all)) => {
                let message = format!("`{path}` has {}, expected {}", counted(all.len()), elements.len());
                out.push(other_answer(*span, message).help(format!("it is {}", quoted_value(got))));
            }
            other => out.push(other_answer(
                *span,
                format!("`{path}` is {}, expected a list", quoted_value(other)),
            )),
        },
        Node::Map(entries, span) => match got {
            Some(Json::Object(all)) => {
                for entry in entries {
                    let path = format!("{path}.{}", entry.key.text);
                    compare_answer(&entry.value, all.get(&entry.key.text), &path, names, out);
                }
            }
            other => out.push(other_answer(
                *span,
                format!("`{path}` is {}, expected an object", quoted_value(other)),
            )),
        },
    }
}

fn scalar(text: &Text, got: Option<&Json>, path: &str, names: &NamedValues, out: &mut Vec<Diagnostic>) {
    let word = (text.style == Style::Plain).then_some(text.text.as_str());
    let differs = match word {
        Some("any") => got.is_none_or(Json::is_null),
        Some("absent") => got.is_some(),
        _ => match names.scalar_json(text) {
            Ok(wanted) => !got.is_some_and(|got| same(&wanted, got)),
            Err(wrong) => return out.push(*wrong),
        },
    };
    if differs {
        let wanted = match word {
            Some(word @ ("any" | "absent")) => word.to_owned(),
            _ => quoted_value(names.scalar_json(text).ok().as_ref()),
        };
        out.push(other_answer(
            text.span,
            format!("`{path}` is {}, expected {wanted}", quoted_value(got)),
        ));
    }
}

/// Numbers are the same where their values are.
fn same(wanted: &Json, got: &Json) -> bool {
    match (wanted, got) {
        (Json::Number(wanted), Json::Number(got)) => wanted == got || wanted.as_f64() == got.as_f64(),
        _ => wanted == got,
    }
}

/// A finding that the answer is another.
pub(crate) fn other_answer(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&rules::DIFFERENT, span, message)
}

/// A value for a message.
pub(crate) fn quoted_value(value: Option<&Json>) -> String {
    let Some(value) = value else { return "absent".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

fn counted(rows: usize) -> String {
    match rows {
        1 => "1 element".to_owned(),
        _ => format!("{rows} elements"),
    }
}
