//! How much of one thing a model may have.
//!
//! Some of what is asked of a model multiplies: each read is tried on each path, each mirror has the attributes of its source, what
//! comes with a row is planned for each combination of arguments. The bounds here are far beyond any design, and keep checking,
//! planning and describing a file of a megabyte within seconds. What goes beyond one is not read any further.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;

/// How many attributes an entity may have.
pub const ENTITY_ATTRIBUTES_MAX: usize = 1_000;

/// How many attributes all mirrors of a model may carry together.
pub const CARRIED_ATTRIBUTES_MAX: usize = 50_000;

/// How many mirrors an entity may have: a row is written with all of them in one transaction.
pub const ENTITY_MIRRORS_MAX: usize = singlet_item::limits::TRANSACTION_ITEMS_MAX - 1;

/// How many templates by condition a key, or an entry in an index, may have.
pub const KEY_CHOICES_MAX: usize = 64;

/// How many arguments an operation may have, and how many names it may bind.
pub const OPERATION_NAMES_MAX: usize = 100;

/// How many selections may come `with` a read.
pub const READ_WITH_MAX: usize = 64;

/// How many combinations of optional arguments of a read are planned.
pub const COMBINATIONS_MAX: usize = 1_024;

/// How many times a path is tried for a read without being counted: what the reads of any design take.
pub const READ_TRIES_USUAL: usize = 50;

/// How many more times paths are tried for the reads of a model: for each combination of optional arguments, for each alternative
/// of `||`, and for every four conditions.
pub const MODEL_TRIES_MAX: usize = 150_000;

/// How many steps a write or a named step may have, those of its groups included.
pub const WRITE_STEPS_MAX: usize = 500;

/// How many tallies a model may have: each reads every change of its entity.
pub const TALLIES_MAX: usize = 32;

/// By how many values a tally may group.
pub const TALLY_GROUPS_MAX: usize = 8;

/// How many sums a tally may keep.
pub const TALLY_SUMS_MAX: usize = 16;

/// Whether a model has no more of anything than it may; a finding for each thing of which it has.
pub(crate) fn are_within(root: &Node, out: &mut Diagnostics) -> bool {
    let mut counted = CountCheck { out, within: true };
    counted.entities(entries(root, "entities"));
    let operations = ["reads", "writes", "steps"]
        .into_iter()
        .flat_map(|name| entries(root, name));
    for operation in operations {
        let (arguments, names) = (entries(&operation.value, "args"), entries(&operation.value, "let"));
        counted.at_most(OPERATION_NAMES_MAX, arguments, "arguments that an operation may have");
        counted.at_most(OPERATION_NAMES_MAX, names, "names that an operation may bind");
    }
    for read in entries(root, "reads") {
        let with = entries(&read.value, "with");
        counted.at_most(READ_WITH_MAX, with, "selections that may come with a read");
    }
    counted.at_most(TALLIES_MAX, entries(root, "tallies"), "tallies that a model may have");
    for tally in entries(root, "tallies") {
        let sums = entries(&tally.value, "sum");
        counted.at_most(TALLY_SUMS_MAX, sums, "sums that a tally may keep");
        let by = tally.value.get("by").map_or(&[][..], Node::elements);
        if let Some(first) = by.get(TALLY_GROUPS_MAX) {
            counted.refuse(
                first.span(),
                &too_many(TALLY_GROUPS_MAX, "values by which a tally may group"),
            );
        }
    }
    for operation in entries(root, "writes").iter().chain(entries(root, "steps")) {
        if steps_within(operation.value.get("do"), 0).is_none() {
            counted.refuse(
                operation.key.span,
                &format!("this has more than {WRITE_STEPS_MAX} steps"),
            );
        }
    }
    counted.within
}

struct CountCheck<'a> {
    out: &'a mut Diagnostics,
    within: bool,
}

impl CountCheck<'_> {
    fn entities(&mut self, entities: &[Entry]) {
        let mut own: HashMap<&str, usize> = HashMap::new();
        for entity in entities {
            let attributes = entries(&entity.value, "attributes");
            self.at_most(ENTITY_ATTRIBUTES_MAX, attributes, "attributes that an entity may have");
            own.insert(&entity.key.text, attributes.len());
            self.choices(entity.value.get("key"));
            let indexes = entries(&entity.value, "index");
            indexes.iter().for_each(|entry| self.choices(Some(&entry.value)));
        }
        let count_of = |name: &str| own.get(name).copied().unwrap_or(0);
        let mut mirrors: HashMap<&str, usize> = HashMap::new();
        let mut carried = 0_usize;
        for entity in entities {
            let Some(source) = entity.value.get("mirrors").and_then(Node::text) else {
                continue;
            };
            let count = mirrors.entry(&source.text).or_default();
            *count += 1;
            if *count == ENTITY_MIRRORS_MAX + 1 {
                let message = format!("more than {ENTITY_MIRRORS_MAX} entities mirror `{}`", source.text);
                self.refuse(source.span, &message);
            }
            let before = carried;
            carried += count_of(&source.text);
            if before <= CARRIED_ATTRIBUTES_MAX && carried > CARRIED_ATTRIBUTES_MAX {
                let message = format!(
                    "with `{}` the mirrors of the model carry more than {CARRIED_ATTRIBUTES_MAX} attributes",
                    entity.key.text
                );
                self.refuse(entity.key.span, &message);
            }
        }
    }

    fn choices(&mut self, key: Option<&Node>) {
        let choices = key.map_or(&[][..], Node::elements);
        if let Some(first) = choices.get(KEY_CHOICES_MAX) {
            self.refuse(
                first.span(),
                &too_many(KEY_CHOICES_MAX, "templates by condition that a key may have"),
            );
        }
    }

    fn at_most(&mut self, most: usize, entries: &[Entry], what: &str) {
        if let Some(first) = entries.get(most) {
            self.refuse(first.key.span, &too_many(most, what));
        }
    }

    fn refuse(&mut self, span: Span, message: &str) {
        self.within = false;
        let help = "no design needs so many: make what differs in its values rows, and not names of the model";
        self.out
            .push(Diagnostic::new(&rules::TOO_MANY, span, message).help(help));
    }
}

fn too_many(most: usize, what: &str) -> String {
    format!("this is one more than the {most} {what}")
}

fn entries<'a>(node: &'a Node, name: &str) -> &'a [Entry] {
    node.get(name).map_or(&[][..], Node::entries)
}

/// How many steps there are with those before; none where there are too many.
fn steps_within(steps: Option<&Node>, before: usize) -> Option<usize> {
    let elements = steps.map_or(&[][..], Node::elements);
    let mut all = before + elements.len();
    for step in elements {
        all = steps_within(step.get("do"), all).filter(|all| *all <= WRITE_STEPS_MAX)?;
    }
    (all <= WRITE_STEPS_MAX).then_some(all)
}
