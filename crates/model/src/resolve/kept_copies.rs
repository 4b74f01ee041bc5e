//! Copies that follow their source through the change stream: each is a write that runs after the source has changed.
//!
//! Such a write is made as if it stood in the model. The change only has it look: it reads what the source is by then, finds the rows
//! that hold copies, and writes them on condition of what it read. So changes that are told again, in another order or to somebody who is late
//! do no harm.

use super::Resolver;
use super::types::TypeTable;
use crate::diagnostic::Diagnostic;
use crate::entries::Entries;
use crate::expression::{BinaryOp, Expr, ExprKind, Word};
use crate::model::{Assignment, Attribute, Copy, Entity, Kept, LetValue, NamedStep, Step, Write};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::{Style, Text};
use crate::types::Type;

/// What the source is called in such a write.
const SOURCE: &str = "copied_row";
/// What a row that holds a copy is called.
const HOLDER: &str = "holding_row";

impl Resolver<'_> {
    /// The writes that have copies follow through the stream.
    pub(super) fn kept_copies(
        &mut self,
        entities: &[Entity],
        steps: &[NamedStep],
        types: &mut TypeTable,
    ) -> Vec<Write> {
        let mut writes = Vec::new();
        for holder in entities {
            for attribute in &holder.attributes {
                let copy = attribute.copy.as_deref().filter(|copy| copy.kept == Kept::Stream);
                if let Some(copy) = copy {
                    writes.extend(self.kept_copy((holder, attribute, copy), entities, steps, types));
                }
            }
        }
        writes
    }

    fn kept_copy(
        &mut self,
        (holder, attribute, copy): (&Entity, &Attribute, &Copy),
        entities: &[Entity],
        steps: &[NamedStep],
        types: &mut TypeTable,
    ) -> Option<Write> {
        let source = super::entity_of(entities, copy.entity)?;
        self.check_kept_copy(attribute, holder, source)?;
        let filter = self.holders_of(copy);
        let entry = self.written_out(holder, attribute, copy);
        // What is made here was not written by anybody: nothing is said of it.
        let said = std::mem::take(self.out);
        let mut write = self.write(&entry, entities, steps, types);
        *self.out = said;
        let value = self.value_of(copy, attribute.span);
        let step = write.steps.first_mut()?;
        set_copy(step, attribute, value);
        let is_strong = filter
            .as_ref()
            .is_some_and(|filter| is_in_one_partition(holder, filter));
        if let Some((_, LetValue::Read(selection))) = &mut step.repeat {
            selection.consistent = is_strong;
            selection.filter = filter;
        }
        write.looks_again = !is_strong;
        Some(write)
    }

    fn check_kept_copy(&mut self, attribute: &Attribute, holder: &Entity, source: &Entity) -> Option<()> {
        let before = self.out.len();
        self.check_stream(true, attribute.span);
        if source.history.is_some() || holder.history.is_some() {
            let what = "a copy that follows through the change stream, of or in rows that have versions,";
            self.not_yet(attribute.span, what, "freeze it: `kept: frozen`");
        }
        if source.mirror.is_some() || holder.mirror.is_some() {
            let message =
                "a copy follows through the change stream from a row to a row, and a mirror is kept with its own";
            self.out
                .push(Diagnostic::new(&rules::BAD_COPY, attribute.span, message).help("copy from what is mirrored"));
        }
        (self.out.len() == before).then_some(())
    }

    /// The write as a model would have it, without what only this one may do.
    fn written_out(&self, holder: &Entity, attribute: &Attribute, copy: &Copy) -> Entry {
        let span = attribute.span;
        let source = self.names.catalog.name(copy.entity);
        let names = self.names.catalog.names(copy.entity);
        let key: Vec<String> = names
            .map_or(&[][..], |names| &names.key_variables)
            .iter()
            .map(|name| format!("row.{name}"))
            .collect();
        let text = |text: String| Text::new(text, span, Style::Plain, "");
        let scalar = |of: String| Node::Scalar(text(of));
        let entry = |key: &str, value: Node| Entry {
            key: text(key.to_owned()),
            value,
        };
        let map = |entries: Vec<Entry>| {
            let mut all = Entries::default();
            entries.into_iter().for_each(|entry| all.push(entry));
            Node::Map(all, span)
        };
        let found = map(vec![entry("find", scalar(holder.name.clone()))]);
        let step = map(vec![
            entry("for", map(vec![entry(HOLDER, found)])),
            entry("update", scalar(HOLDER.to_owned())),
        ]);
        let changed = scalar(format!("{source}.{}", copy.attribute));
        let body = map(vec![
            entry("after", map(vec![entry("update", changed)])),
            entry(
                "let",
                map(vec![entry(SOURCE, scalar(format!("{source}({})", key.join(", "))))]),
            ),
            entry("bulk", scalar("true".to_owned())),
            entry("do", Node::List(vec![step], span)),
        ]);
        entry(&format!("{}.{}", holder.name, attribute.name), body)
    }

    /// Which rows hold copies: those whose parts name the source, and what `found` says besides.
    fn holders_of(&self, copy: &Copy) -> Option<Expr> {
        let mut all: Vec<Expr> = Vec::new();
        if let ExprKind::Entity { key, .. } = &copy.source.kind {
            for (variable, part) in key {
                let equal = |other: Expr| condition(BinaryOp::Eq, part.clone(), other);
                all.extend(self.field_of(copy, variable, part.span).map(equal));
            }
        }
        all.extend(copy.found.as_ref().map(|found| {
            let mut found = found.clone();
            found.walk_mut(&mut |part| {
                if part.kind == ExprKind::Word(Word::Source) {
                    part.kind = ExprKind::Bound(SOURCE.to_owned());
                }
            });
            found
        }));
        all.into_iter()
            .reduce(|left, right| condition(BinaryOp::And, left, right))
    }

    fn value_of(&self, copy: &Copy, span: Span) -> Expr {
        let value = self.field_of(copy, &copy.attribute, span);
        value.unwrap_or_else(|| Expr::invalid_at(span))
    }

    fn field_of(&self, copy: &Copy, name: &str, span: Span) -> Option<Expr> {
        let attribute = self.names.catalog.attribute(copy.entity, name)?;
        let row = Expr {
            kind: ExprKind::Bound(SOURCE.to_owned()),
            ty: Type::Row(copy.entity),
            optional: false,
            span,
        };
        Some(Expr {
            kind: ExprKind::Field(Box::new(row), name.to_owned()),
            ty: attribute.ty.clone(),
            optional: attribute.optional,
            span,
        })
    }
}

/// No other step may write a copy.
fn set_copy(step: &mut Step, attribute: &Attribute, value: Expr) {
    step.set.push(Assignment {
        attribute: attribute.name.clone(),
        entry: None,
        value,
        span: attribute.span,
    });
}

/// Whether the rows lie in one item collection of the table, which can be read strongly: an index may be behind.
fn is_in_one_partition(holder: &Entity, filter: &Expr) -> bool {
    let conjuncts = filter.conjuncts();
    let is_fixed = |path: &str| {
        conjuncts.iter().any(|conjunct| match &conjunct.kind {
            ExprKind::Binary(BinaryOp::Eq, left, right) => [left, right]
                .iter()
                .any(|side| side.kind == ExprKind::Attribute(path.to_owned())),
            _ => false,
        })
    };
    let mut partitions = holder.key.iter().filter_map(|choice| choice.keys.first());
    partitions.all(|key| key.parts.iter().all(|part| is_fixed(&part.path)))
}

fn condition(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr {
        span: left.span,
        kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
        ty: Type::Bool,
        optional: false,
    }
}
