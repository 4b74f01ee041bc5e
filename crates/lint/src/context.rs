//! What a rule sees, and where it puts what it finds.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use singlet_item::key::{Effort, Template, Verdict, ambiguity_within, collision_within};
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{
    Attribute, Entity, Index, KeyChoice, KeyPart, KeyTemplate, KeyType, Let, LetValue, NamedStep, Read, Selection,
    Step, StepKind, Write,
};
use singlet_model::types::EntityId;
use singlet_model::{Diagnostic, Diagnostics, Model, Rule, Span};
use singlet_plan::access::{self, AccessPath};
use singlet_plan::by_hand::{self, ByHand};
use singlet_plan::trial::{self, TRIALS_STEPS_MAX, Trial};

use crate::answers::Answered;
use crate::text_length::TextLength;
use crate::traffic::Traffic;
use singlet_plan::cost::Sizes;
use singlet_plan::read::{ReadPlan, plan_read};
use singlet_plan::size::SizeBound;

/// A model, and what follows from it that several rules need.
pub struct Context<'a> {
    /// The model.
    pub model: &'a Model,
    written: HashSet<(EntityId, &'a str)>,
    given: HashSet<(EntityId, &'a str)>,
    sizes: Sizes<'a>,
    traffic: Traffic<'a>,
    named_steps: HashMap<&'a str, &'a NamedStep>,
    by_hand: OnceCell<Vec<ByHand<'a>>>,
    trials: OnceCell<Vec<Trial>>,
    pub(crate) answered: OnceCell<Vec<Answered<'a>>>,
    plans: OnceCell<HashMap<&'a str, ReadPlan>>,
    no_plan: ReadPlan,
    effort: Effort,
    undecided: RefCell<Vec<Undecided>>,
}

/// A question about keys that was not decided.
pub struct Undecided {
    /// The key that it is about.
    pub span: Span,
    /// What a finding about it is about.
    pub subject: String,
    /// The question, to stand after `whether`.
    pub question: String,
}

/// How many steps all questions about the keys of a model take together: 20 hard ones, or some hundred thousand easy ones.
const DECISIONS_STEPS_MAX: u64 = 20 * Effort::DECISION_STEPS_MAX;

/// Rows that a read or a write asks for, wherever it says so.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The name of the read, the write or the named step.
    pub name: &'a str,
    /// Which rows.
    pub selection: &'a Selection,
    /// Of which entity.
    pub entity: &'a Entity,
    /// The read whose answer the rows are: not those of a `let`, nor of a write.
    pub read: Option<&'a Read>,
    /// What else holds of the rows: the `allow` of the read that they are the answer of.
    pub allow: Option<&'a Expr>,
}

impl<'a> Asked<'a> {
    /// The read, where the rows are its own and not those that come `with` it.
    pub(crate) fn own_read(&self) -> Option<&'a Read> {
        self.read.filter(|_| self.allow.is_some())
    }

    /// Whether the meaning, the order or the grouping names an attribute.
    pub fn mentions_attribute(&self, attribute: &str) -> bool {
        let filter = self.selection.filter.iter().chain(self.allow);
        let ordered = self
            .selection
            .order
            .iter()
            .any(|order| order.path.split('.').next() == Some(attribute));
        let grouped = self.selection.by.iter().any(|by| by == attribute);
        ordered || grouped || filter.into_iter().any(|expr| expr.mentions_attribute(attribute))
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let mut context = Context {
            model,
            written: written(model),
            given: given(model),
            sizes: Sizes::of(model),
            traffic: Traffic::default(),
            by_hand: OnceCell::new(),
            trials: OnceCell::new(),
            answered: OnceCell::new(),
            plans: OnceCell::new(),
            no_plan: ReadPlan {
                read: String::new(),
                combinations: Vec::new(),
            },
            effort: Effort::new(DECISIONS_STEPS_MAX),
            undecided: RefCell::default(),
            named_steps: model.steps.iter().map(|named| (named.name.as_str(), named)).collect(),
        };
        context.traffic = Traffic::of(&context);
        context
    }

    /// Whether the keys of two entities can be equal, as far as the work that one check may do goes.
    pub fn key_collision(&self, left: &[Template], right: &[Template]) -> Verdict {
        collision_within(left, right, &self.effort)
    }

    /// Whether two rows of one entity can have one key.
    pub fn key_ambiguity(&self, templates: &[Template]) -> Verdict {
        ambiguity_within(templates, &self.effort)
    }

    /// Notes a question that was not decided, so that silence does not pass for an answer.
    pub(crate) fn note_undecided(&self, span: Span, subject: impl Into<String>, question: impl Into<String>) {
        self.undecided.borrow_mut().push(Undecided {
            span,
            subject: subject.into(),
            question: question.into(),
        });
    }

    /// What rules that ran so far could not decide.
    pub(crate) fn take_undecided(&self) -> Vec<Undecided> {
        self.undecided.take()
    }

    /// The steps that writes share, by name.
    pub fn named_steps(&self) -> &HashMap<&'a str, &'a NamedStep> {
        &self.named_steps
    }

    /// How large the items of an entity can be, as far as limits say.
    pub(crate) fn size_bound(&self, entity: &Entity) -> Option<&SizeBound<'a>> {
        self.sizes.entity_bound(entity.id)
    }

    /// How large rows and index entries are.
    pub fn row_sizes(&self) -> &Sizes<'a> {
        &self.sizes
    }

    /// How a read of the model is answered.
    pub fn read_plan(&self, read: &Read) -> &ReadPlan {
        let plans = self.plans.get_or_init(|| {
            let reads = self.model.reads.iter();
            reads
                .map(|read| (read.name.as_str(), plan_read(self.model, read)))
                .collect()
        });
        plans.get(read.name.as_str()).unwrap_or(&self.no_plan)
    }

    /// How often rows are read and written, as far as the estimates say.
    pub(crate) fn row_traffic(&self) -> &Traffic<'a> {
        &self.traffic
    }

    /// The attribute behind a part of a key: a mirror's is its source's.
    pub fn attribute(&self, entity: &'a Entity, part: &KeyPart) -> Option<&'a Attribute> {
        self.model.source_of(entity).attribute(part.root_attribute())
    }

    /// How long the text is that the model itself makes for a part of a key: it is computed, or has a default, and no write sets or takes it.
    pub fn made_length(&self, entity: &Entity, part: &KeyPart) -> Option<TextLength> {
        let source = self.model.source_of(entity);
        let attribute = source.attribute(part.root_attribute())?;
        let made = attribute.is.as_ref().or(attribute.default.as_ref())?;
        (!self.given.contains(&(source.id, part.root_attribute()))).then(|| TextLength::of(made))
    }

    /// Every template of every key, each place once, with the path that it stands on and whether it is of the sort key.
    pub fn key_templates(&self) -> impl Iterator<Item = (AccessPath<'a>, &'a KeyTemplate, bool)> {
        let mut seen = HashSet::new();
        let both = |path: AccessPath<'a>| {
            let partition = path.partition_templates().iter().map(move |key| (path, key, false));
            partition.chain(path.sort_templates().iter().map(move |key| (path, key, true)))
        };
        self.own_paths()
            .flat_map(both)
            .filter(move |(_, key, sort)| seen.insert((key.span, *sort)))
    }

    /// How many partitions the keys of a path can make, where all their variables have few values.
    pub fn partition_count(&self, path: &AccessPath<'_>) -> Option<u64> {
        let mut seen = HashSet::new();
        let parts = path.partition_templates().iter().flat_map(|key| &key.parts);
        let distinct = parts.filter(|part| seen.insert(part.path.as_str()));
        distinct
            .map(|part| part.ty.cardinality())
            .try_fold(1_u64, |all, values| all.checked_mul(values?))
    }

    /// Whether a part spreads rows on purpose: a small number that is a hash, random or a remainder.
    pub(crate) fn is_shard(&self, entity: &Entity, part: &KeyPart) -> bool {
        let spread = |attribute: &Attribute| {
            let value = attribute.default.as_ref().or(attribute.is.as_ref());
            value.is_some_and(|expr| {
                expr.any(|part| {
                    matches!(
                        part.kind,
                        ExprKind::Call(FunctionId::Hash | FunctionId::Random, _) | ExprKind::Binary(BinaryOp::Rem, ..)
                    )
                })
            })
        };
        part.ty.cardinality().is_some()
            && self
                .model
                .source_of(entity)
                .attribute(part.root_attribute())
                .is_some_and(spread)
    }

    /// Every read whose condition is written by hand, beside the keys that it is to meet.
    pub fn by_hand(&self) -> &[ByHand<'a>] {
        self.by_hand.get_or_init(|| by_hand::conditions_by_hand(self.model))
    }

    /// Every read with a condition by hand, and what came of trying it.
    pub(crate) fn condition_trials(&self) -> impl Iterator<Item = (&ByHand<'a>, &Trial)> {
        let trials = self.trials.get_or_init(|| {
            let each = self.by_hand().iter();
            let effort = Effort::new(TRIALS_STEPS_MAX);
            each.map(|by_hand| trial::try_condition(self.model, by_hand, &effort))
                .collect()
        });
        self.by_hand().iter().zip(trials)
    }

    /// All rows that are asked for: by reads, with them, and by `let` and `for` of reads, writes and named steps.
    pub fn asked_rows(&self) -> Vec<Asked<'a>> {
        let mut all = Vec::new();
        for read in &self.model.reads {
            let own = read.selection.iter().map(|selection| (selection, Some(&read.allow)));
            let with = read.with.iter().map(|part| (&part.selection, None));
            let answers = own.chain(with);
            all.extend(
                answers.filter_map(|(selection, allow)| self.one_asked(&read.name, selection, Some(read), allow)),
            );
            all.extend(self.bound(&read.name, &read.lets, &[]));
        }
        for write in &self.model.writes {
            all.extend(self.bound(&write.name, &write.lets, &write.all_steps()));
        }
        for named in &self.model.steps {
            all.extend(self.bound(&named.name, &[], &named.steps.iter().collect::<Vec<_>>()));
        }
        all
    }

    fn bound(&self, name: &'a str, lets: &'a [Let], steps: &[&'a Step]) -> Vec<Asked<'a>> {
        let repeated = steps
            .iter()
            .filter_map(|step| step.repeat.as_ref().map(|(_, value)| value));
        let values = lets.iter().map(|named| &named.value).chain(repeated);
        let selections = values.filter_map(|value| match value {
            LetValue::Read(selection) => Some(selection),
            LetValue::Value(_) => None,
        });
        selections
            .filter_map(|selection| self.one_asked(name, selection, None, None))
            .collect()
    }

    fn one_asked(
        &self,
        name: &'a str,
        selection: &'a Selection,
        read: Option<&'a Read>,
        allow: Option<&'a Expr>,
    ) -> Option<Asked<'a>> {
        // A tally is asked for figures, and no rows; what is found by words needs no key of the table.
        if selection.tally.is_some() || selection.matching.is_some() {
            return None;
        }
        Some(Asked {
            name,
            selection,
            entity: self.model.entity(selection.entity()?)?,
            read,
            allow,
        })
    }

    /// Every way to rows of the model: for each entity the table and the indexes that it is in.
    pub fn own_paths(&self) -> impl Iterator<Item = AccessPath<'a>> {
        let model = self.model;
        model
            .entities
            .iter()
            .flat_map(move |entity| access::own_paths(model, entity))
    }

    /// Every way to the rows of an entity, mirrors included.
    pub fn entity_paths(&self, entity: EntityId) -> Vec<AccessPath<'a>> {
        let entity = self.model.entity(entity);
        entity
            .map(|entity| access::access_paths(self.model, entity))
            .unwrap_or_default()
    }

    /// Every read with each of its selections and the entity of each.
    pub fn read_selections(&self) -> impl Iterator<Item = (&'a Read, &'a Selection, &'a Entity)> {
        let model = self.model;
        model.reads.iter().flat_map(move |read| {
            read.all_selections()
                .filter_map(move |selection| Some((read, selection, model.entity(selection.entity()?)?)))
        })
    }

    /// Every write with each of its steps, those of groups and of named steps that it calls included.
    pub fn write_steps(&self) -> impl Iterator<Item = (&'a Write, &'a Step)> {
        let model = self.model;
        model
            .writes
            .iter()
            .flat_map(move |write| steps_of(model, write).into_iter().map(move |step| (write, step)))
    }

    /// The subject of a finding about an entity on a path: `Task` for the table, `Task.GSI1` for an index.
    pub fn path_subject(&self, path: &AccessPath<'_>) -> String {
        match path.index {
            Some(index) => format!("{}.{}", path.entity.name, index.name),
            None => path.entity.name.clone(),
        }
    }

    /// Whether anything changes an attribute after its row was created.
    pub fn changes_attribute(&self, entity: &Entity, attribute: &str) -> bool {
        let source = self.model.source_of(entity);
        let Some(declared) = source.attribute(attribute) else {
            return false;
        };
        let moved = source.states.as_ref().is_some_and(|states| {
            let held = states.holding.iter().flat_map(|(_, values)| values);
            states.of == attribute || held.clone().any(|(name, _)| name == attribute)
        });
        if declared.fixed {
            return false;
        }
        let computed = declared.is.as_ref().is_some_and(|expr| {
            expr.attributes()
                .into_iter()
                .any(|from| from != attribute && self.changes_attribute(source, from))
        });
        let written = self.written.contains(&(source.id, attribute));
        moved || declared.always.is_some() || computed || written
    }
}

/// Every step of a write, those of groups and of the named steps that it calls included.
pub fn steps_of<'a>(model: &'a Model, write: &'a Write) -> Vec<&'a Step> {
    let mut all = Vec::new();
    for step in write.all_steps() {
        all.push(step);
        if let StepKind::Call { step: name, .. } = &step.kind
            && let Some(named) = model.steps.iter().find(|named| named.name == *name)
        {
            all.extend(named.steps.iter());
        }
    }
    all
}

/// Every attribute that some step changes on a row that was there before.
fn written(model: &Model) -> HashSet<(EntityId, &str)> {
    let mut written = HashSet::new();
    let named = model.steps.iter().flat_map(|named| &named.steps);
    let own = model.writes.iter().flat_map(Write::all_steps);
    for step in named.chain(own) {
        let Some(entity) = step.entity() else { continue };
        if matches!(step.kind, StepKind::Create(_)) {
            continue;
        }
        let set = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
        written.extend(set.map(|set| (entity, set.attribute.as_str())));
        let taken = step.take.iter().chain(&step.patch);
        written.extend(taken.map(|taken| (entity, taken.attribute.as_str())));
    }
    written
}

/// Every attribute that some step sets or takes, on whatever row.
fn given(model: &Model) -> HashSet<(EntityId, &str)> {
    let named = model.steps.iter().flat_map(|named| &named.steps);
    let own = model.writes.iter().flat_map(Write::all_steps);
    let mut given = HashSet::new();
    for step in named.chain(own) {
        let Some(entity) = step.entity() else { continue };
        given.extend(step.set.iter().map(|set| (entity, set.attribute.as_str())));
        given.extend(
            step.take
                .iter()
                .chain(&step.patch)
                .map(|taken| (entity, taken.attribute.as_str())),
        );
    }
    given
}

/// Where a question about keys is shown: at the template with the most parts.
pub(crate) fn key_place(choice: &KeyChoice) -> Span {
    let longest = choice.keys.iter().max_by_key(|key| key.parts.len());
    longest.map_or(choice.span, |key| key.span)
}

/// The templates of a choice, in the order of the key attributes.
pub fn choice_templates(choice: &KeyChoice) -> Vec<Template> {
    templates_of(&choice.keys)
}

/// The templates of some key attributes, in their order.
pub(crate) fn templates_of(keys: &[KeyTemplate]) -> Vec<Template> {
    keys.iter().map(|key| key.template.clone()).collect()
}

/// Whether a template has no variable part.
pub fn is_constant(keys: &[KeyTemplate]) -> bool {
    !keys.is_empty() && keys.iter().all(|key| key.parts.is_empty())
}

/// That rows of an entity have all key attributes of an index.
pub(crate) struct HeldKey {
    /// Whether some rows may lack one.
    pub may_be_absent: bool,
}

/// Whether rows of an entity have all key attributes of an index, by their stored names, by the primary key, or by what
/// other indexes put there.
pub(crate) fn held_key(model: &Model, entity: &Entity, index: &Index) -> Option<HeldKey> {
    let mut may_be_absent = false;
    for key in index.key() {
        let primary = model.table.key.iter().any(|known| known.name == key.name);
        let own = entity
            .attribute_stored_as(&key.name)
            .filter(|attribute| KeyType::of(&attribute.ty).is_some());
        match (primary, own) {
            (true, _) => {}
            (false, Some(attribute)) => may_be_absent |= attribute.optional,
            (false, None) => may_be_absent |= made_elsewhere(entity, &key.name)?,
        }
    }
    Some(HeldKey { may_be_absent })
}

/// Whether the template with which some index fills an attribute may be incomplete; nothing where none fills it.
fn made_elsewhere(entity: &Entity, name: &str) -> Option<bool> {
    let choices = entity.index.iter().flat_map(|entry| entry.key_choices());
    let made = choices.filter_map(|choice| Some((choice, choice.attribute_template(name)?)));
    let mut made = made
        .map(|(choice, key)| choice.when.is_some() || key.parts.iter().any(|part| part.optional))
        .peekable();
    made.peek()?;
    Some(made.all(|may_be_absent| may_be_absent))
}

/// Names in backticks, the first few of many.
pub fn listed_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// How many names a message lists.
const LISTED_MAX: usize = 5;

/// The subject of a finding about an index.
pub(crate) fn index_subject(index: &Index) -> String {
    format!("table.{}", index.name)
}

/// A number as people read it: `3,000`.
pub fn grouped_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Read units as a number.
pub fn unit_figure(units: singlet_item::ReadUnits) -> f64 {
    units.half_count() as f64 / 2.0
}

/// Values after a word: `with `args.to` `2026-02-13``; the word's object alone where there are none.
pub(crate) fn with_values(word: &str, values: &[(String, String)]) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("`{name}` `{value}`"))
        .collect();
    match (word, shown.is_empty()) {
        (word, false) => format!("{word} {}", enumerated_names(&shown)),
        ("with", true) => "on any call".to_owned(),
        (_, true) => "a row".to_owned(),
    }
}

/// One thing or several: `1 partition`, `4 partitions`.
pub fn counted_thing(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped_thousands(number))
}

/// Names in a row, as a sentence has them: `a`, `b` and `c`.
pub(crate) fn enumerated_names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Where a rule puts what it finds.
pub struct Findings<'a> {
    rule: &'static Rule,
    out: &'a mut Diagnostics,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(rule: &'static Rule, out: &'a mut Diagnostics) -> Self {
        Findings { rule, out }
    }

    /// Starts a finding about `subject` at `span`; it counts once it is [pushed](Findings::push).
    pub fn at(&self, span: Span, subject: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.rule, span, message).about(subject)
    }

    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.out.push(diagnostic);
    }
}
