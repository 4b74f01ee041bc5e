//! Which words of the language the models of a run have, and which they have not.
//!
//! What stands under a read or a write counts only where that came to something: rows, or a change.

use std::collections::BTreeSet;

use singlet_model::expression::FUNCTIONS;
use singlet_model::grammar::words::{MODEL, RECORDS};
use singlet_model::grammar::{Record, Shape};
use singlet_model::text_forms::TEXT_FORMS;

use crate::shrink::ShrinkTree;

/// Records of which it makes no difference to a drawn answer which of a few words a field has. (Searches are not drawn: their languages
/// are tried in `singlet-search`.)
const INDIFFERENT: &[&str] = &["table", "stream", "using call", "searched entity"];

/// The words of some models.
#[derive(Clone, Debug, Default)]
pub struct WordCoverage {
    /// `record.field`, and `record.field word` where a field takes one of a few words.
    words: BTreeSet<String>,
    /// Names that are called.
    functions: BTreeSet<String>,
    /// First words of types.
    types: BTreeSet<String>,
}

impl WordCoverage {
    /// Both together.
    pub fn add_coverage(&mut self, other: WordCoverage) {
        self.words.extend(other.words);
        self.functions.extend(other.functions);
        self.types.extend(other.types);
    }

    /// Takes the words of a model; of `reads` or `writes` only what stands under these names.
    pub fn see_words(&mut self, text: &str, section: &str, covered: &[&str]) {
        let Some(ShrinkTree::Map(mut entries)) = ShrinkTree::read(text) else {
            return;
        };
        for (name, value) in &mut entries {
            if let (true, ShrinkTree::Map(all)) = (name == section, value) {
                all.retain(|(name, _)| covered.contains(&name.as_str()));
            }
        }
        self.record(&ShrinkTree::Map(entries), &MODEL);
    }

    /// Words of the grammar that no model has.
    pub fn missing_words(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        for record in RECORDS {
            for field in record.fields {
                all.insert(format!("{}.{}", record.name, field.name));
                let words = few_words(&field.shape).into_iter();
                for word in words.filter(|_| !INDIFFERENT.contains(&record.name)) {
                    all.insert(format!("{}.{} {word}", record.name, field.name));
                }
            }
        }
        all.into_iter().filter(|word| !self.words.contains(word)).collect()
    }

    /// Functions that no model calls.
    pub fn missing_functions(&self) -> Vec<&'static str> {
        let mut missing: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        missing.retain(|name| !self.functions.contains(*name));
        missing.dedup();
        missing
    }

    /// Types that no model has.
    pub fn missing_types(&self) -> Vec<&'static str> {
        let all = [
            "string", "int", "number", "bool", "bytes", "date", "month", "time", "seconds", "millis", "duration",
            "ulid", "ksuid", "uuid", "geo", "json", "version", "list", "set", "map",
        ];
        let forms = TEXT_FORMS.iter().map(|form| form.name);
        let all = all.into_iter().chain(forms);
        all.filter(|ty| !self.types.contains(*ty)).collect()
    }

    fn record(&mut self, tree: &ShrinkTree, record: &Record) {
        let ShrinkTree::Map(entries) = tree else { return };
        for (name, value) in entries {
            match (record.field_named(name), &record.others) {
                (Some(field), _) => {
                    self.words.insert(format!("{}.{name}", record.name));
                    if let ShrinkTree::Text(text, _) = value
                        && few_words(&field.shape).contains(&text.as_str())
                    {
                        self.words.insert(format!("{}.{name} {text}", record.name));
                    }
                    self.shape(value, &field.shape);
                }
                (None, Some((_, shape))) => self.shape(value, shape),
                (None, None) => {}
            }
        }
    }

    fn shape(&mut self, tree: &ShrinkTree, shape: &Shape) {
        match (shape, tree) {
            (Shape::Record(record), _) => self.record(tree, record),
            (Shape::List(of), ShrinkTree::List(elements)) => {
                elements.iter().for_each(|element| self.shape(element, of))
            }
            (Shape::Names(_, of), ShrinkTree::Map(entries)) => entries.iter().for_each(|(name, value)| {
                self.calls(name);
                self.shape(value, of);
            }),
            (Shape::Either(any), _) => {
                let fits = |shape: &&Shape| match tree {
                    ShrinkTree::Text(..) => !matches!(shape, Shape::List(_) | Shape::Names(..) | Shape::Record(_)),
                    ShrinkTree::List(_) => matches!(shape, Shape::List(_)),
                    ShrinkTree::Map(_) => matches!(shape, Shape::Names(..) | Shape::Record(_)),
                };
                any.iter().filter(fits).for_each(|shape| self.shape(tree, shape));
            }
            (Shape::Type, ShrinkTree::Text(text, _)) => self.of_type(text),
            (Shape::Expr | Shape::Template | Shape::Text, ShrinkTree::Text(text, _)) => self.calls(text),
            _ => {}
        }
    }

    fn of_type(&mut self, text: &str) {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        self.types.extend(words.map(str::to_owned));
        if let Some((_, default)) = text.split_once(" = ") {
            self.calls(default);
        }
    }

    /// Names before an opening bracket.
    fn calls(&mut self, text: &str) {
        for (at, _) in text.match_indices('(') {
            let before = text.get(..at).unwrap_or_default();
            let start = before
                .rfind(|letter: char| !letter.is_alphanumeric())
                .map_or(0, |at| at + 1);
            self.functions.extend(before.get(start..).map(str::to_owned));
        }
    }
}

fn few_words(shape: &Shape) -> Vec<&'static str> {
    match shape {
        Shape::Words(words) => words.to_vec(),
        Shape::Either(any) => any.iter().flat_map(few_words).collect(),
        _ => Vec::new(),
    }
}
