//! What an editor asks of a model file: what is wrong with it, what may stand at a place, what stands there, where a name is used.
//!
//! # Terms
//!
//! - A *document* ([`Document`]) is a text as it was at one moment, with what `check` finds in it. It may be half typed.
//! - An *outline* is the text read line by line, as far as it goes: it says where one is in a file that is no YAML yet.
//! - An *occurrence* is a place where a name of the model stands, with what it names.
//!
//! # What it is not
//!
//! It opens no file and knows no protocol: places are bytes of the text. It has no opinion of its own about a model: findings are those of
//! `singlet check`, and plans those of `singlet plan`.

mod completion;
mod expressions;
mod hover;
mod meaning;
mod occurrences;
mod outline;
mod rename;
mod shapes;
mod symbols;

pub use completion::{Completion, CompletionKind};
pub use occurrences::{NameKind, NameOccurrence};
pub use rename::RenameRefusal;
pub use symbols::Symbol;

use std::sync::Arc;

use singlet_model::node::{self, Node};
use singlet_model::{Diagnostic, Diagnostics, Model, Source, Span};

/// A text as it was at one moment.
#[derive(Debug)]
pub struct Document {
    source: Source,
    findings: Vec<Diagnostic>,
    tree: Option<Node>,
    /// The model of this text, or of the last one before it that could be read.
    model: Option<Arc<Model>>,
    /// Whether it is the model of this text, and without errors of the language.
    is_whole: bool,
}

impl Document {
    /// Reads a text, and says what the language finds in it. What was known before is used where the text is half typed.
    pub fn new(name: &str, text: &str, before: Option<&Document>) -> Self {
        let source = Source::new(name, text);
        let tree = node::read_tree(&source, &mut Diagnostics::default());
        let loaded = singlet_model::load_source(&source);
        let is_whole = loaded.model.is_some() && !loaded.diagnostics.has_errors();
        let model = loaded.model.map(Arc::new);
        let last = || before.and_then(|before| before.model.clone());
        Document {
            source,
            findings: loaded.diagnostics.into_sorted(),
            tree,
            model: model.or_else(last),
            is_whole,
        }
    }

    /// With what `check` finds in it, design rules included. That takes much longer than reading it.
    #[must_use]
    pub fn with_checks(self) -> Self {
        let findings = check_text(&self.source);
        self.with_findings(findings)
    }

    /// With what somebody found in the same text meanwhile.
    #[must_use]
    pub fn with_findings(self, findings: Vec<Diagnostic>) -> Self {
        Document { findings, ..self }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// What was found, hints included, by place.
    pub fn all_findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The model of this text, or of the last one before it that could be read.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_deref()
    }

    /// Whether there is a model of this very text, without errors of the language.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn tree(&self) -> Option<&Node> {
        self.tree.as_ref()
    }

    /// Every place where a name of the model stands; none where the text is no YAML.
    pub fn occurrences(&self) -> Vec<NameOccurrence> {
        match (self.tree(), self.model()) {
            (Some(tree), Some(model)) => occurrences::occurrences_in(tree, model),
            _ => Vec::new(),
        }
    }

    /// The name at a place.
    pub(crate) fn occurrence_at(&self, offset: usize) -> Option<NameOccurrence> {
        let found = self.occurrences().into_iter();
        found
            .filter(|one| span_touches(one.span, offset))
            .min_by_key(|one| one.span.end - one.span.start)
    }

    /// Where the name at a place is defined.
    pub fn definition_at(&self, offset: usize) -> Option<Span> {
        let at = self.occurrence_at(offset)?;
        let all = self.occurrences();
        let mut same = all.iter().filter(|one| one.is_same_name(&at));
        same.find(|one| one.is_definition).map(|one| one.span)
    }

    /// Every place where the name at a place stands, its definition first.
    pub fn references_at(&self, offset: usize, with_definition: bool) -> Vec<Span> {
        let Some(at) = self.occurrence_at(offset) else {
            return Vec::new();
        };
        let mut found = self.occurrences();
        found.retain(|one| one.is_same_name(&at) && (with_definition || !one.is_definition));
        found.sort_by_key(|one| (!one.is_definition, one.span));
        found.dedup_by_key(|one| one.span);
        found.into_iter().map(|one| one.span).collect()
    }

    /// What could be typed at a place.
    pub fn completions(&self, offset: usize) -> Vec<Completion> {
        completion::completions_at(self, offset)
    }

    /// What stands at a place, in Markdown.
    pub fn hover(&self, offset: usize) -> Option<String> {
        hover::hover_at(self, offset)
    }

    /// The parts of the model, for an outline in the editor.
    pub fn symbols(&self) -> Vec<Symbol> {
        symbols::symbols_of(self.text())
    }

    /// The place of the name that would be renamed.
    ///
    /// # Errors
    ///
    /// Why it cannot be.
    pub fn renamed_at(&self, offset: usize) -> Result<Span, RenameRefusal> {
        rename::renamed_at(self, offset).map(|at| at.span)
    }

    /// The places of the name at a place, each to be replaced by another.
    ///
    /// # Errors
    ///
    /// Why it cannot be: what is renamed in some places only would be another model.
    pub fn rename_spans(&self, offset: usize, to: &str) -> Result<Vec<Span>, RenameRefusal> {
        rename::rename_at(self, offset, to)
    }

    /// The findings that a replacement settles, at a range.
    pub fn fixes_within(&self, range: Span) -> impl Iterator<Item = (&Diagnostic, &singlet_model::diagnostic::Fix)> {
        let meets = move |span: Span| span.start <= range.end && range.start <= span.end;
        let near = self.findings.iter().filter(move |finding| meets(finding.span));
        near.filter_map(|finding| finding.fix.as_ref().map(|fix| (finding, fix)))
    }
}

/// What `check` finds in a text, hints included, by place.
pub fn check_text(source: &Source) -> Vec<Diagnostic> {
    singlet_lint::check_design(singlet_model::load_source(source)).into_sorted()
}

/// Whether a place lies within a span or at its end.
fn span_touches(span: Span, offset: usize) -> bool {
    (span.start as usize..=span.end as usize).contains(&offset)
}
