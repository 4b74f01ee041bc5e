//! What a read that is watched looks at, so that whoever watches knows when to read again.

use std::collections::BTreeSet;
use std::sync::Arc;

use singlet_item::{Number, Value};
use singlet_model::evaluate::{decide_condition, evaluate_as};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, LetValue, Read, Return, SelectionKind};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::changes_with_time;

use super::{Engine, Request, arguments};
use crate::admit::is_of_the_caller;
use crate::budget::Memory;
use crate::error::RuntimeError;
use crate::row;
use crate::scope::{Attributes, Caller, Scope};
use crate::values::json_text;

/// A read with its arguments and its caller, of which it is known what it looks at.
///
/// **Invariant:** a change of which [`Watched::concerns`] says no changes nothing of what the read answers. Where that cannot be decided
/// from the change alone, it says yes: reading once too often shows nothing wrong.
#[derive(Debug)]
pub struct Watched {
    read: String,
    entity: EntityId,
    args: Attributes,
    caller: Caller,
    /// Entities of which any change may change the answer.
    others: BTreeSet<EntityId>,
    /// Whether the answer may change without a change of any row.
    pub is_timed: bool,
    /// What the answer depends on, where that is not the caller: whoever is admitted ([`Engine::admits_caller`]) and has the same key is
    /// answered the same.
    pub share_key: Option<String>,
}

/// The rows of a read that is watched.
#[derive(Debug)]
pub struct WatchedRows {
    /// As the read answers them.
    pub rows: Vec<Value>,
    /// The instant at which it was read, in epoch milliseconds.
    pub now: i64,
    /// When the state of one is the next to lapse, or one to expire, in epoch milliseconds.
    pub next_instant: Option<i64>,
}

/// Why a read cannot be watched; nothing where it can.
pub fn unwatchable(read: &Read) -> Option<&'static str> {
    let selection = read.selection.as_ref();
    let lists = selection.is_some_and(|own| own.kind == SelectionKind::Find && own.entities.len() == 1);
    match () {
        () if !lists || read.each.is_some() || read.pages.is_some() => {
            Some("only a list of rows of one entity can be watched")
        }
        () if read.at.is_some() || read.all_versions => Some("versions of the past do not change"),
        () if selection.is_some_and(|own| own.matching.is_some()) => Some("what is found by words is not watched"),
        () if read.scan.is_some() => Some("what reads the whole table is not read again at every change"),
        () => None,
    }
}

impl Engine {
    /// What a read looks at, for who watches it; nothing where it cannot be watched.
    ///
    /// # Errors
    ///
    /// Where the arguments are not those of the read.
    pub fn watched(&self, name: &str, request: &Request) -> Result<Option<Watched>, RuntimeError> {
        let Some(prepared) = self.reads.get(name) else {
            return Ok(None);
        };
        let read = &prepared.forward.read;
        let model = self.model();
        let own = read.selection.as_ref().and_then(|own| model.entity(own.entity()?));
        let (None, Some(own)) = (unwatchable(read), own) else {
            return Ok(None);
        };
        let sent = arguments::checked_arguments(read, &request.args)?;
        let nothing = Attributes::new();
        let scope = self.watch_scope(&nothing, &request.caller, &nothing, request.now);
        // With the defaults of the instant at which it is asked: it is read again with these arguments.
        let args = arguments::with_defaults(read, sent, scope)?.into_owned();
        // Changes are told of the row itself, never of a mirror, so that both are compared by their source.
        let source = model.source_of(own);
        let share_key = is_for_all(read).then(|| share_key(name, &args, request));
        Ok(Some(Watched {
            share_key,
            read: name.to_owned(),
            entity: source.id,
            args,
            caller: request.caller.clone(),
            others: others(read).map(|id| self.source_id(id)).collect(),
            is_timed: is_timed_entity(source) || expressions(read).any(mentions_time) || !read.with.is_empty(),
        }))
    }

    /// The rows that a watched read answers now.
    ///
    /// # Errors
    ///
    /// As [`Engine::read_within`].
    pub async fn read_watched(
        &self,
        watched: &Watched,
        request: &Request,
        memory: Option<Arc<dyn Memory>>,
    ) -> Result<WatchedRows, RuntimeError> {
        let answered = self.read_for(&watched.read, request, memory, Some(watched));
        let (answer, next_instant) = answered.await?;
        let rows = match answer.value {
            Some(Value::L(rows)) => rows,
            _ => Vec::new(),
        };
        Ok(WatchedRows {
            rows,
            now: request.now,
            next_instant,
        })
    }

    /// A row whose mirror is read changes as the row does.
    fn source_id(&self, id: EntityId) -> EntityId {
        let entity = self.model().entity(id);
        entity.map_or(id, |entity| self.model().source_of(entity).id)
    }

    fn watch_scope<'a>(
        &'a self,
        args: &'a Attributes,
        caller: &'a Caller,
        nothing: &'a Attributes,
        now: i64,
    ) -> Scope<'a> {
        Scope {
            setting: &self.setting,
            now,
            args,
            caller,
            attributes: None,
            row: None,
            bound: nothing,
        }
    }
}

impl Watched {
    /// Whether a change of a row of an entity may change the answer. An image is nothing where there was no row; where one is not
    /// known, ask with `None` for `images`.
    pub fn concerns(&self, engine: &Engine, entity: &str, images: Option<[Option<&Attributes>; 2]>) -> bool {
        let Some(entity) = engine.model().entity_named(entity) else {
            // What this model does not know may be anything.
            return true;
        };
        if self.others.contains(&entity.id) {
            return true;
        }
        // Without the images the row may be one that is shown.
        let Some(images) = images else {
            return entity.id == self.entity;
        };
        entity.id == self.entity
            && images
                .into_iter()
                .flatten()
                // Either image: a row that is no longer meant leaves the list as well as one that comes into it.
                .any(|row| self.may_show(engine, entity, row))
    }

    /// Whether the read may answer a row: nothing that can be decided from the row alone rules it out.
    fn may_show(&self, engine: &Engine, entity: &Entity, row: &Attributes) -> bool {
        let Some(prepared) = engine.reads.get(&self.read) else {
            return true;
        };
        let filter = prepared.forward.read.selection.iter().flat_map(|own| &own.filter);
        let nothing = Attributes::new();
        let scope = engine.watch_scope(&self.args, &self.caller, &nothing, 0).with_row(row);
        let is_of_row = |conjunct: &&Expr| {
            // The image is of the instant of the change, and the answer of now.
            let later = |name: &str| changes_with_time(engine.model(), entity, name);
            let unsent = |name: &str| !self.args.contains_key(name);
            !mentions_time(conjunct)
                && !conjunct
                    .any(|part| matches!(part.kind, ExprKind::Bound(_) | ExprKind::Row | ExprKind::Entity { .. }))
                && !conjunct.attributes().into_iter().any(later)
                && !conjunct.mentioned_arguments().into_iter().any(unsent)
        };
        let mut decided_ones = filter.flat_map(Expr::conjuncts).filter(is_of_row);
        // Only what is certainly false rules a row out; an expression that fails or is not known does not.
        !decided_ones.any(|conjunct| matches!(decide_condition(conjunct, &scope), Ok(Some(false))))
    }

    /// The next instant after now at which time changes one of these rows.
    pub(super) fn next_instant(&self, engine: &Engine, rows: &[Attributes], now: i64) -> Option<i64> {
        rows.iter()
            .flat_map(|row| self.instants_of(engine, row, now))
            // One that has passed is in the rows already, and would be waited for at once and without an end.
            .filter(|instant| *instant > now)
            .min()
    }

    /// The instants at which time changes a row: a state lapses, or the row expires. Also a row that is not shown may be from then on.
    pub fn instants_of(&self, engine: &Engine, row: &Attributes, now: i64) -> Vec<i64> {
        let model = engine.model();
        let Some(entity) = model.entity(self.entity) else {
            return Vec::new();
        };
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = engine.watch_scope(&nothing, &nobody, &nothing, now).with_row(row);
        let lapses = entity.states.iter().flat_map(|states| {
            let state = row.get(&states.of).and_then(Value::as_str);
            states
                .lapses
                .iter()
                .filter(move |lapse| state == Some(lapse.from.as_str()))
        });
        let lapses = lapses.filter_map(|lapse| evaluate_as(&lapse.at, &Type::Millis, &scope).ok()?);
        let mut all: Vec<i64> = lapses
            .filter_map(|at| at.as_number().and_then(Number::to_i64))
            .collect();
        let expiry = row::expiry_of(model, entity, row, scope).ok().flatten();
        all.extend(expiry.map(|seconds| seconds.saturating_mul(1_000)));
        all
    }
}

/// The entities whose rows a read takes beside its own.
fn others(read: &Read) -> impl Iterator<Item = EntityId> {
    let with = read
        .with
        .iter()
        .flat_map(|part| part.selection.entities.iter().copied());
    let lets = read.lets.iter().flat_map(|bound| match &bound.value {
        LetValue::Read(selection) => selection.entities.clone(),
        LetValue::Value(_) => Vec::new(),
    });
    let mut named = Vec::new();
    for expr in expressions(read) {
        expr.walk(&mut |part| {
            if let ExprKind::Entity { entity, .. } = &part.kind {
                named.push(*entity);
            }
        });
    }
    with.chain(lets).chain(named)
}

/// Every expression that says what a read answers.
fn expressions(read: &Read) -> impl Iterator<Item = &Expr> {
    let lets = read.lets.iter().flat_map(|bound| match &bound.value {
        LetValue::Read(selection) => selection.filter.as_ref(),
        LetValue::Value(value) => Some(value),
    });
    let filters = read.all_selections().filter_map(|selection| selection.filter.as_ref());
    let allowed = read.with.iter().filter_map(|part| part.allow.as_ref());
    let returned: Vec<&Expr> = match &read.returns {
        Return::Usual | Return::Nothing => Vec::new(),
        Return::Value(value) => vec![value],
        Return::Fields(fields) => fields.iter().map(|(_, value)| value).collect(),
    };
    lets.chain(filters).chain(allowed).chain(returned).chain([&read.allow])
}

/// Whether nothing that a read answers depends on who asks, but whether they may ask at all.
fn is_for_all(read: &Read) -> bool {
    let mentions_caller = |expr: &Expr| expr.any(|part| matches!(part.kind, ExprKind::Caller(_)));
    let allowed = read.allow.conjuncts();
    let is_admission = |conjunct: &&Expr| !mentions_caller(conjunct) || is_of_the_caller(conjunct);
    // `allow` is looked at conjunct by conjunct: those of the caller alone are asked of each who watches.
    let others = expressions(read).filter(|expr| !std::ptr::eq(*expr, &read.allow));
    others.into_iter().all(|expr| !mentions_caller(expr)) && allowed.iter().all(is_admission)
}

fn share_key(name: &str, args: &Attributes, request: &Request) -> String {
    let args = json_text::json_of(&Value::M(args.clone()));
    format!("{name} {:?} {:?} {args}", request.limit, request.cursor)
}

fn mentions_time(expr: &Expr) -> bool {
    expr.any(|part| matches!(part.kind, ExprKind::Now | ExprKind::Today))
}

fn is_timed_entity(entity: &Entity) -> bool {
    let lapses = entity.states.as_ref().is_some_and(|states| !states.lapses.is_empty());
    lapses || entity.expires.is_some()
}
