//! Rows as lines that `singlet load` takes, streamed: a table need not fit into memory.

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use percent_encoding::percent_decode_str;
use singlet_runtime::load::row_line;
use std::sync::Arc;

use super::rows::{Pages, RowsAsked};
use crate::answer::{ConsoleError, text_response};
use crate::routes::Asking;

/// How many items are read at a time.
const PAGE_ITEMS: u32 = 500;

/// `export?entity=…&filter=…`: rows of an entity, or of all, mirrors and what the model keeps for itself left out.
pub(super) fn export_lines(asking: &Asking<'_>, parts: &Parts) -> Result<Response, ConsoleError> {
    let mut asked = RowsAsked {
        limit: Some(PAGE_ITEMS),
        ..RowsAsked::default()
    };
    for pair in parts
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8_lossy().into_owned();
        match name {
            "entity" => asked.entity = Some(value).filter(|entity| !entity.is_empty()),
            "filter" => asked.filter = Some(value),
            _ => return Err(ConsoleError::invalid_request(format!("`{name}` has no effect here"))),
        }
    }
    let pages = Pages::of(asking.system.model(), &asked)?;
    asking.log_action("export", asked.entity.as_deref().unwrap_or("all rows"));
    let engine = Arc::clone(&asking.system.engine);
    let lines = stream::unfold(Some(pages), move |pages| {
        let engine = Arc::clone(&engine);
        async move {
            let mut pages = pages?;
            let page = match pages.next_of(&engine).await {
                Ok(page) => page,
                Err(error) => return Some((Err(std::io::Error::other(error.detail)), None)),
            };
            let model = engine.model();
            let mut out = Vec::new();
            for item in &page.items {
                let shown = pages.shown(model, item).filter(|shown| shown.kind == "row");
                if let Some((entity, row)) = shown.and_then(|shown| shown.entity.zip(shown.row)) {
                    out.extend(row_line(entity, &row));
                }
            }
            let rest = pages.start.is_some().then_some(pages);
            Some((Ok(Bytes::from(out)), rest))
        }
    });
    let mut response = text_response("application/x-ndjson", Body::from_stream(lines));
    let name = format!(
        "attachment; filename=\"{}-{}.jsonl\"",
        file_word(&asking.system.name),
        file_word(asked.entity.as_deref().unwrap_or("rows"))
    );
    if let Ok(value) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

fn file_word(text: &str) -> String {
    text.chars()
        .filter(|char| char.is_ascii_alphanumeric() || "-_".contains(*char))
        .collect()
}
