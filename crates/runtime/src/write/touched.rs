//! A row that an operation reads, checks or changes, and the conditions under which it may.
//!
//! **Invariant: what was read is still so when it is written, or nothing is written.** A row that was read is pinned: by its version
//! where it has one, else by each attribute that was looked at, and in any case by whether it is there. A pin that fails is no
//! refusal, for nobody is to blame: everything is evaluated anew on what is there now.

use std::sync::Arc;

use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::model::{Entity, Step, Stored};
use singlet_model::types::Type;
use singlet_plan::write::Used;
use singlet_store::{Comparison, Condition, Path};

use super::edits::Edits;
use super::refuse::Denial;
use crate::scope::Attributes;

/// A row that an operation touches.
#[derive(Clone, Debug)]
pub(super) struct Touched<'a> {
    pub entity: &'a Entity,
    /// Its primary key.
    pub key: Item,
    /// The values by which it was named, or of which it is made.
    pub named: Arc<Attributes>,
    /// Those of the values that name it which its key tells, where that is not all of them. A row that was not read may spell what
    /// its key folds in another way than who names it.
    told: Option<Arc<Attributes>>,
    /// What was read of it.
    pub before: Before,
    /// What the plan says that the operation looks at in it, and what it looks at besides.
    pub planned: Vec<&'a Used>,
    pub used: Used,
    /// What must hold of it.
    pub checks: Vec<RowCheck<'a>>,
    /// What becomes of it.
    pub change: TouchedChange,
    /// The step that speaks for an update, and its place in the order of refusals.
    pub by: Option<(&'a Step, u32)>,
    pub edits: Edits<'a>,
    /// The row as it becomes, where that is known before it is written.
    pub after: Option<Arc<Attributes>>,
    /// What else is written with it.
    pub others: Vec<WriteAction<'a>>,
    /// Whether the answer shows it.
    pub answered: bool,
}

/// What was read of a row.
#[derive(Clone, Debug)]
pub(super) enum Before {
    /// Nothing.
    Unread,
    /// The item, if there is one, and the row that it is at this instant, if it has not expired.
    Read {
        item: Option<Item>,
        row: Option<Arc<Attributes>>,
    },
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TouchedChange {
    Nothing,
    Create,
    Update,
    Delete,
}

/// What must hold, and what is said when it does not.
#[derive(Clone, Debug)]
pub(super) struct RowCheck<'a> {
    /// Checks that come first speak first.
    pub order: u32,
    pub condition: Condition,
    pub denial: Denial<'a>,
}

impl<'a> RowCheck<'a> {
    /// A value that was read must still be so: if not, everything is evaluated anew.
    pub fn pin(condition: Condition) -> Self {
        RowCheck {
            order: ORDER_PIN,
            condition,
            denial: Denial::Changed,
        }
    }
}

/// What was read and must still be so comes after everything that may be said.
pub(super) const ORDER_PIN: u32 = u32::MAX;

/// Steps that were taken and would have been passed over, had the store refused them. Where it does so after all, somebody was
/// faster, and all is evaluated anew.
#[derive(Debug, Default)]
pub(super) struct NotPassedOver {
    /// Their places in the order of refusals.
    pub orders: Vec<u32>,
    /// The places beside their rows that they found free: of mirrors, of guards, of rows that move. Steps that come after them
    /// may speak for the same row.
    pub places: Vec<Item>,
}

impl NotPassedOver {
    /// Whether a refusal of a check would be one of them.
    pub(crate) fn has_met(&self, key: &Item, check: &RowCheck<'_>) -> bool {
        self.orders.contains(&check.order) || self.places.contains(key)
    }
}

/// What the actions of a row are made of, beside the row.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub key: Item,
    pub checks: Vec<RowCheck<'a>>,
    pub others: Vec<WriteAction<'a>>,
}

/// One action of the request, and its conditions one by one.
#[derive(Clone, Debug)]
pub(super) struct WriteAction<'a> {
    pub key: Item,
    pub doing: Doing,
    pub checks: Vec<RowCheck<'a>>,
}

/// What an action does.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    Put(Item),
    Update(singlet_store::Update),
    Delete,
    Check,
}

impl<'a> Touched<'a> {
    pub fn new(entity: &'a Entity, key: Item, named: Arc<Attributes>) -> Self {
        // What a key folds is not what the row has: somebody else may have spelled it.
        let is_told = |name: &str| !entity.is_key_attribute(name) || entity.key_tells(name);
        let told = |named: &Attributes| {
            let told = named.iter().filter(|(name, _)| is_told(name));
            Arc::new(told.map(|(name, value)| (name.clone(), value.clone())).collect())
        };
        Touched {
            entity,
            key,
            told: (!named.keys().all(|name| is_told(name))).then(|| told(&named)),
            named,
            before: Before::Unread,
            planned: Vec::new(),
            used: Used::default(),
            checks: Vec::new(),
            change: TouchedChange::Nothing,
            by: None,
            edits: Edits::default(),
            after: None,
            others: Vec::new(),
            answered: false,
        }
    }

    /// What its actions are made of, for one who only looks at them.
    pub fn parts(&self) -> Parts<'a> {
        Parts {
            key: self.key.clone(),
            checks: self.checks.clone(),
            others: self.others.clone(),
        }
    }

    /// What its actions are made of, when they are sent: nobody asks for it afterwards. The key of a row that was read stays,
    /// because what is pinned depends on it.
    pub(crate) fn take_parts(&mut self) -> Parts<'a> {
        let key = match self.is_read() {
            true => self.key.clone(),
            false => std::mem::take(&mut self.key),
        };
        Parts {
            key,
            checks: std::mem::take(&mut self.checks),
            others: std::mem::take(&mut self.others),
        }
    }

    pub fn is_read(&self) -> bool {
        matches!(self.before, Before::Read { .. })
    }

    /// What is known of it from its key.
    pub fn known(&self) -> &Arc<Attributes> {
        self.told.as_ref().unwrap_or(&self.named)
    }

    /// The row as it was; what the key says of it, where it was not read.
    pub fn row(&self) -> Option<&Arc<Attributes>> {
        match &self.before {
            Before::Unread => Some(self.known()),
            Before::Read { row, .. } => row.as_ref(),
        }
    }

    /// The row as it was, or what names it, for who looks at it while more becomes of the rows.
    pub fn row_or_named(&self) -> Arc<Attributes> {
        Arc::clone(self.row().unwrap_or(&self.named))
    }

    /// The row as it becomes, or as it was.
    pub fn row_after(&self) -> Option<&Arc<Attributes>> {
        self.after.as_ref().or(self.row())
    }

    /// The item as it was read.
    pub fn item(&self) -> Option<&Item> {
        match &self.before {
            Before::Unread => None,
            Before::Read { item, .. } => item.as_ref(),
        }
    }

    /// Conditions that what was read is still so.
    pub fn pins(&self, model: &Model, also: &[&str]) -> Vec<RowCheck<'a>> {
        let Before::Read { item, row } = &self.before else {
            return Vec::new();
        };
        let Some(item) = item else {
            // It was not there, which is as much a reason as what is there.
            return vec![RowCheck::pin(absent_item(model))];
        };
        if row.is_none() {
            // Expired: it may be gone by now, but must not have come back.
            return vec![RowCheck::pin(absent_or_expired_as(model, item))];
        }
        let mut pins = vec![RowCheck::pin(present_item(model))];
        let version = self
            .entity
            .attributes
            .iter()
            .find(|attribute| attribute.ty == Type::Version);
        // Every write of the model gives the row another version: one condition says what all the others would.
        if let Some(version) = version {
            pins.push(RowCheck::pin(same(item, stored_name(&version.stored, &version.name))));
            return pins;
        }
        // A row that ends meanwhile is not there any more, whatever else was looked at.
        if let (Some(ttl), Some(_)) = (&model.table.ttl, &self.entity.expires) {
            // Also where it has none: a row that is given an end meanwhile may be over.
            pins.push(RowCheck::pin(same(item, ttl)));
        }
        let looked_at = |name: &str| {
            let mut used = self.planned.iter().copied().chain([&self.used]);
            self.answered || also.contains(&name) || used.any(|used| used.whole || used.attributes.contains(name))
        };
        // What a state is at this instant follows from when it lapses.
        let states = self.entity.states.as_ref().filter(|states| looked_at(&states.of));
        let lapses = states.into_iter().flat_map(|states| &states.lapses);
        let lapses: Vec<&str> = lapses.flat_map(|lapse| lapse.at.attributes()).collect();
        for attribute in &self.entity.attributes {
            let wanted = looked_at(&attribute.name) || lapses.contains(&attribute.name.as_str());
            let source = match &attribute.alias {
                Some(alias) => self.entity.attribute(alias),
                None => Some(attribute),
            };
            let name = source
                .filter(|_| wanted)
                .and_then(|source| self.entity.name_in_item(source));
            let Some(name) = name else { continue };
            // An item with another key is another item: its key needs no pin.
            if !self.key.contains_key(name) {
                pins.push(RowCheck::pin(same(item, name)));
            }
        }
        pins
    }
}

/// Under which name an attribute stands in the item.
pub(super) fn stored_name<'n>(stored: &'n Stored, name: &'n str) -> &'n str {
    match stored {
        Stored::As(other) => other,
        _ => name,
    }
}

/// The attribute has the value that was read, or still none.
fn same(item: &Item, name: &str) -> Condition {
    let path = Path::attribute(name);
    match item.get(name) {
        Some(value) => Condition::equal(path, value.clone()),
        None => Condition::not_exists(path),
    }
}

fn partition(model: &Model) -> Path {
    Path::attribute(model.table.key.first().map_or("", |key| key.name.as_str()))
}

/// There is an item.
pub(super) fn present_item(model: &Model) -> Condition {
    Condition::Exists(partition(model))
}

/// There is no item.
pub(super) fn absent_item(model: &Model) -> Condition {
    Condition::NotExists(partition(model))
}

/// There is an item, and it has not expired.
pub(super) fn present_now(model: &Model, entity: &Entity, now: i64) -> Condition {
    match ttl_of(model, entity) {
        Some(ttl) => {
            // As readers see it: a row has ended when the second that it names begins.
            let later = Condition::compare(Path::attribute(ttl), Comparison::Greater, seconds(now));
            present_item(model).and(Condition::not_exists(Path::attribute(ttl)).or(later))
        }
        None => present_item(model),
    }
}

/// There is no item, or it has expired.
pub(crate) fn absent_now(model: &Model, expires: bool, now: i64) -> Condition {
    match model.table.ttl.as_ref().filter(|_| expires) {
        Some(ttl) => {
            // The other half of `present_now`: of any instant exactly one of them holds.
            let over = Condition::compare(Path::attribute(ttl), Comparison::LessOrEqual, seconds(now));
            absent_item(model).or(over)
        }
        None => absent_item(model),
    }
}

fn ttl_of<'m>(model: &'m Model, entity: &Entity) -> Option<&'m String> {
    let expires = model.source_of(entity).expires.is_some();
    model.table.ttl.as_ref().filter(|_| expires)
}

/// There is no item, or it expires when it did.
fn absent_or_expired_as(model: &Model, item: &Item) -> Condition {
    match &model.table.ttl {
        Some(ttl) => absent_item(model).or(same(item, ttl)),
        None => absent_item(model),
    }
}

fn seconds(now: i64) -> Value {
    Value::N(Number::from(now.div_euclid(1_000)))
}
