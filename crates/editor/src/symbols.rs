//! The parts of a model, for an outline in the editor.

use singlet_model::Span;

use crate::outline::Outline;

/// How deep parts are listed: the top, entities and operations, and what they have.
const DEPTH_MAX: usize = 4;

/// A part of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub name_span: Span,
    /// Where it stands with all its parts.
    pub span: Span,
    /// The keys above it.
    pub path: Vec<String>,
    /// Its parts.
    pub children: Vec<Symbol>,
}

/// The parts of a text, as far as it can be read.
pub(crate) fn symbols_of(text: &str) -> Vec<Symbol> {
    let outline = Outline::of(text);
    let mut roots: Vec<Symbol> = Vec::new();
    for (at, entry) in outline.entries.iter().enumerate() {
        let path = outline.path(entry.parent);
        if entry.key.is_empty() || entry.is_flow || path.len() >= DEPTH_MAX || path.contains(&"") {
            continue;
        }
        let end = outline.entries.iter().enumerate().skip(at + 1);
        let mut end = end.take_while(|(later, _)| outline.ancestors(Some(*later)).any(|(above, _)| above == at));
        let last = end
            .by_ref()
            .map(|(_, later)| later.value.end.max(later.key_span.end))
            .max();
        let last = last.unwrap_or(0).max(entry.value.end).max(entry.key_span.end);
        let symbol = Symbol {
            name: entry.key.clone(),
            name_span: entry.key_span,
            span: Span::new(entry.key_span.start as usize, last as usize),
            path: path.iter().map(|&key| key.to_owned()).collect(),
            children: Vec::new(),
        };
        put_symbol(&mut roots, symbol);
    }
    roots
}

/// Puts a symbol under the last one that holds it.
fn put_symbol(symbols: &mut Vec<Symbol>, symbol: Symbol) {
    match symbols.last_mut().filter(|last| last.span.holds_span(symbol.span)) {
        Some(last) => put_symbol(&mut last.children, symbol),
        None => symbols.push(symbol),
    }
}
