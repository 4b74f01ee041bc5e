//! A model, resolved: every name is bound, every expression typed. What the linter, the planner and the surfaces work on.

mod attribute_list;
mod callers;
mod entity;
mod read;
mod schedule;
mod search;
mod table;
mod tally;
mod webhook;
mod write;

pub use attribute_list::AttributeList;
pub use callers::{AudienceClaim, CallerClaim, Callers, ClaimSpelling, TokenUse};
pub use entity::{
    Attribute, Copy, Entity, EntityClaims, Guard, History, Holding, IndexEntry, IndexEntryKind, Kept, KeyChoice,
    KeyPart, KeyTemplate, Lapse, Mirror, Move, PartFunction, Personal, Role, States, Stored, Was,
};
pub use read::{
    Argument, Bounds, Comparison, DocumentedClaim, Each, Let, LetValue, Order, ParamValue, Read, Return, Route,
    Selection, SelectionKind, Using, UsingKey, WithPart,
};
pub(crate) use schedule::INTERVAL_MINUTES_MAX;
pub use schedule::{NoSchedule, Schedule, Tick};
pub use search::{HIGHLIGHTS, Matching, Search};
pub use table::{
    ABSENT_VALUE, Accepted, Billing, Estimate, Index, IndexId, KeyAttribute, KeyType, Projection, ProvisionedUnits,
    Rate, Table, TableClaims, TableSpans, ValueShares,
};
pub use tally::{Tally, TallyGroup, TallyId, TallyUse};
pub use webhook::{WEBHOOK_BODY_BYTES_MAX, Webhook};
pub use write::{
    Assignment, Cause, Idempotency, IdempotencyNeed, MoveTo, NamedStep, RUNS_PER_MINUTE_MAX, Refusal, Requirement,
    Step, StepKind, TRIGGER_ROWS_AT_ONCE, Taken, Trigger, TriggerEvent, UsingCall, Write,
};

use crate::catalog::Catalog;
use crate::types::{EntityId, Type};

/// How many variable parts a key template may have.
pub const TEMPLATE_PARTS_MAX: usize = 64;

/// A whole model.
#[derive(Debug)]
pub struct Model {
    /// The system's name.
    pub name: String,
    /// The time zone of `today` and of clock times.
    pub zone: String,
    /// The table and its indexes.
    pub table: Table,
    /// Who may call.
    pub callers: Callers,
    /// Values given at deployment: name, type, default.
    pub settings: Vec<Argument>,
    /// What is stored.
    pub entities: Vec<Entity>,
    /// Steps that writes share.
    pub steps: Vec<NamedStep>,
    /// What may be read.
    pub reads: Vec<Read>,
    /// What may be written.
    pub writes: Vec<Write>,
    /// Counts and sums that are kept as rows change.
    pub tallies: Vec<Tally>,
    /// What is found by its words.
    pub searches: Vec<Search>,
    /// What other systems are told.
    pub webhooks: Vec<Webhook>,
    /// How many, how crowded, how often.
    pub estimates: Vec<Estimate>,
    /// Findings that the team accepts.
    pub accepted: Vec<Accepted>,
    /// The names of entities and attributes.
    pub catalog: Catalog,
    /// The file that it was read from, as it stands there.
    pub text: std::sync::Arc<str>,
    /// The mirrors of each entity, by its id.
    pub(crate) mirrors: Vec<Vec<EntityId>>,
}

impl Model {
    /// An entity.
    pub fn entity(&self, id: EntityId) -> Option<&Entity> {
        self.entities.get(id.0 as usize)
    }

    /// The entity of that name.
    pub fn entity_named(&self, name: &str) -> Option<&Entity> {
        self.entity(self.catalog.entity(name)?)
    }

    /// An index.
    pub fn index(&self, id: IndexId) -> Option<&Index> {
        self.table.indexes.get(id.0 as usize)
    }

    /// The writes that run after changes, each with the change.
    pub fn triggered_writes(&self) -> impl Iterator<Item = (&Write, &Trigger)> {
        self.writes
            .iter()
            .filter_map(|write| Some((write, write.after.as_ref()?)))
    }

    /// The writes that run by the clock, each with when.
    pub fn scheduled_writes(&self) -> impl Iterator<Item = (&Write, Schedule)> {
        self.writes.iter().filter_map(|write| Some((write, write.every?)))
    }

    /// Every change that something follows: a write that runs after it, or a webhook that tells of it.
    pub fn followed_changes(&self) -> impl Iterator<Item = &Trigger> {
        let told = self.webhooks.iter().map(|webhook| &webhook.after);
        self.triggered_writes().map(|(_, trigger)| trigger).chain(told)
    }

    /// A tally.
    pub fn tally(&self, id: TallyId) -> Option<&Tally> {
        self.tallies.get(id.0 as usize)
    }

    /// Whether anything happens by itself: a write that runs after changes or by the clock, a tally that is kept, or a webhook.
    pub fn has_runs(&self) -> bool {
        self.writes.iter().any(Write::runs_by_itself) || !self.tallies.is_empty() || !self.webhooks.is_empty()
    }

    /// Whether something follows what time does to rows of an entity: a state that lapses, their expiry, or an instant of theirs.
    pub fn is_timed(&self, entity: &Entity) -> bool {
        let mut of_entity = self.followed_changes().filter(|trigger| trigger.entity == entity.id);
        of_entity.any(|trigger| self.is_timed_by(trigger))
    }

    /// Whether time alone may do that which is followed.
    pub fn is_timed_by(&self, trigger: &Trigger) -> bool {
        let Some(entity) = self.entity(trigger.entity) else {
            return false;
        };
        let states = entity.states.as_ref().filter(|states| !states.lapses.is_empty());
        let is_timed = match &trigger.event {
            TriggerEvent::Create | TriggerEvent::Delete => false,
            TriggerEvent::Update(None) => states.is_some(),
            TriggerEvent::Update(Some(name)) => entity.is_changed_by_lapse(name),
            TriggerEvent::Enter(state) => {
                states.is_some_and(|states| states.lapses.iter().any(|lapse| lapse.to == *state))
            }
            TriggerEvent::Expire | TriggerEvent::Reach(_) => true,
        };
        is_timed && has_room_for_timers(&self.table, &self.entities) && entity.history.is_none()
    }

    /// Whether timers have a place in the table: they lie side by side in the order of their instants.
    pub fn has_room_for_timers(&self) -> bool {
        has_room_for_timers(&self.table, &self.entities)
    }

    /// Whether something follows changes of an entity.
    pub fn is_followed(&self, id: EntityId) -> bool {
        self.followed_changes().any(|trigger| trigger.entity == id)
    }

    /// The estimate for an entity, a read or a write.
    pub fn estimate_of(&self, subject: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.subject == subject)
    }

    /// The mirrors of an entity.
    pub fn mirrors_of(&self, id: EntityId) -> impl Iterator<Item = &Entity> {
        let mirrors = self.mirrors.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
        mirrors.iter().filter_map(|mirror| self.entity(*mirror))
    }

    /// The entity whose attributes a row has: a mirror's source, else the entity itself.
    pub fn source_of<'a>(&'a self, entity: &'a Entity) -> &'a Entity {
        entity
            .mirror
            .as_ref()
            .and_then(|mirror| self.entity(mirror.of))
            .unwrap_or(entity)
    }

    /// An attribute's type, by path: `location.lat`.
    pub fn type_at(&self, entity: &Entity, path: &str) -> Option<(Type, bool)> {
        let mut names = path.split('.');
        let first = self.catalog.attribute(entity.id, names.next()?)?;
        let mut ty = first.ty.clone();
        let mut optional = first.optional;
        for name in names {
            let field = ty.object_type()?.field_named(name)?;
            optional |= field.optional;
            ty = field.ty.clone();
        }
        Some((ty, optional))
    }
}

/// Whether timers have a place in the table: side by side in one item collection, in the order of their instants.
pub(crate) fn has_room_for_timers(table: &Table, entities: &[Entity]) -> bool {
    let Some(sort) = table.key.get(1) else { return false };
    let put = || {
        entities
            .iter()
            .flat_map(Entity::key_templates)
            .find(|key| key.attribute == sort.name)
    };
    match sort.declared {
        Some(declared) => declared == KeyType::String,
        None => put().is_none_or(|key| key.template.key_type() == singlet_item::key::KeyType::S),
    }
}
