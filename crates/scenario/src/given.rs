//! Rows that are given, loaded as `singlet load` loads them: what a create fills in is filled in.

use serde_json::{Map, Value as Json};
use singlet_model::{Diagnostic, Span};
use singlet_runtime::{Engine, load};

use crate::file::InitialRow;
use crate::names::NamedValues;
use crate::rules;

/// Loads the rows, as of an instant. `at` is where the scenario stands, for what concerns no one row.
pub async fn load_rows<'r>(
    engine: &Engine,
    rows: impl Iterator<Item = &'r InitialRow>,
    names: &NamedValues,
    now: i64,
    at: Span,
) -> Result<(), Box<Diagnostic>> {
    let (mut lines, mut spans) = (String::new(), Vec::new());
    for row in rows {
        let fields = match names.node_json(&row.attributes)? {
            Json::Object(fields) => fields,
            _ => Map::new(),
        };
        let line = Json::Object(Map::from_iter([(row.entity.text.clone(), Json::Object(fields))]));
        lines.push_str(&line.to_string());
        lines.push('\n');
        spans.push(row.attributes.span());
    }
    let loaded = load::load_text(engine, &lines, now).await;
    loaded.map(drop).map_err(|error| mistake(&error, &spans, at))
}

/// A line is a row here, so that its number says which.
fn mistake(error: &load::LoadError, spans: &[Span], at: Span) -> Box<Diagnostic> {
    let misfit = error.misfit_lines().first();
    let line = misfit.and_then(|misfit| usize::try_from(misfit.line).ok()?.checked_sub(1));
    let span = line.and_then(|line| spans.get(line)).copied();
    let message = match (misfit, span) {
        (Some(misfit), Some(_)) => {
            let of_row = load::Misfit {
                line: 0,
                ..misfit.clone()
            };
            format!("this row cannot be given: {of_row}")
        }
        _ => format!("the rows that are given cannot be stored: {error}"),
    };
    Box::new(Diagnostic::new(&rules::MISTAKE, span.unwrap_or(at), message))
}
