//! The modelling language: one YAML file that says what a single-table design means.
//!
//! A file goes through three stages, each of which collects what it finds and goes on:
//!
//! 1. [`node`]: YAML into a tree of nodes with places. What YAML loses silently is refused here.
//! 2. [`grammar`]: does the tree have the shape of a model? Unknown, missing and misshapen fields.
//! 3. `resolve`: names are bound, expressions typed, meaning checked; the result is a [`Model`].
//!
//! # Terms
//!
//! - A *rule* ([`diagnostic::Rule`]) is one thing that can be found; a *diagnostic* is one finding of it, with a place.
//! - A *row* is an item of the table as an entity sees it; a *key template* makes its key attributes.
//! - An *expression* is CEL, typed here ([`expression`]); there is one meaning of absence and of numbers everywhere.
//!
//! # What it is not
//!
//! No I/O, no clock, nothing asynchronous, no knowledge of design rules (the linter's), of costs (the planner's) or of
//! stores.

pub mod catalog;
pub mod counts;
pub mod diagnostic;
pub mod entries;
pub mod evaluate;
pub mod expression;
pub mod grammar;
pub mod model;
pub mod node;
mod resolve;
pub mod rules;
pub mod source;
pub mod spelling;
pub mod text;
pub mod text_forms;
pub mod types;
pub mod word_forms;
pub mod words;

pub use diagnostic::{Diagnostic, Diagnostics, Rule, Severity};
pub use model::Model;
pub use source::{Position, Source, Span};

/// A file, read and resolved.
#[derive(Debug)]
pub struct Loaded {
    /// The model, where the file could be read at all. With errors among the findings it is not whole.
    pub model: Option<Model>,
    /// What was found.
    pub diagnostics: Diagnostics,
}

/// Reads, checks and resolves a model.
pub fn load_source(source: &Source) -> Loaded {
    let mut diagnostics = Diagnostics::default();
    let root = node::read_tree(source, &mut diagnostics);
    let model = root.and_then(|mut root| {
        let torn = grammar::check_shape(&root, source, &mut diagnostics);
        // What has no value was reported, and is as if it were not there.
        root.drop_entries(&|value| value.text().is_some_and(grammar::is_null));
        if !counts::are_within(&root, &mut diagnostics) {
            return None;
        }
        let of_shape = diagnostics.len();
        let mut model = resolve::resolve_file(&root, &mut diagnostics);
        model.text = source.text().into();
        diagnostics.retain_from(of_shape, |finding| {
            !torn.iter().any(|torn| torn.holds_span(finding.span))
        });
        Some(model)
    });
    Loaded { model, diagnostics }
}

/// The values of a type that can stand in a key, as the key's algebra has them; none for a type that cannot.
pub(crate) fn key_domain(ty: &types::Type) -> Option<singlet_item::key::Domain> {
    resolve::key_domain(ty)
}

/// The names of the types that every model has.
pub fn built_in_type_names() -> &'static [&'static str] {
    resolve::built_in_type_names()
}

/// Takes the bytes of a file as UTF-8, with or without a byte order mark.
///
/// # Errors
///
/// The finding, with the place of the first byte that is not UTF-8, and the text up to there to show it in.
pub fn decode_source(name: &str, bytes: Vec<u8>) -> Result<Source, Box<(Source, Diagnostic)>> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let valid = bytes.get(..at).map(String::from_utf8_lossy).unwrap_or_default();
            let source = Source::new(name, valid.into_owned());
            let message = format!("byte {} of the file is not UTF-8", at + 1);
            let diagnostic =
                Diagnostic::new(&rules::INVALID_UTF8, Span::new(at, at), message).help("save the file as UTF-8");
            Err(Box::new((source, diagnostic)))
        }
    }
}
