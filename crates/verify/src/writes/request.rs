//! What is asked: arguments, who may ask, and whether it was asked before.

use singlet_item::{Number, Value};
use singlet_model::evaluate::{evaluate, evaluate_as, holds_condition};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, IdempotencyNeed, Role, Step};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Precondition, Scope, WriteRequest};
use singlet_values as values;

use super::oracle::{ExpectedOutcome, Making, Oracle, OracleFrame};
use super::world;

/// Which request: whose, of what, under which key.
pub(super) type RequestId = String;

/// An answer that is given again.
#[derive(Clone, Debug)]
pub(super) struct RecordedAnswer {
    asked: String,
    pub outcome: ExpectedOutcome,
    until: i64,
}

/// How long an answer is kept where no entity says so.
const KEPT_MILLIS: i64 = 86_400_000;

/// As long counts what ran after a change: longer than any change comes again.
const CHANGE_KEPT_MILLIS: i64 = 8 * KEPT_MILLIS;

/// Until when an answer counts where no entity says so.
pub(super) fn kept_until(now: i64) -> i64 {
    now.div_euclid(1_000) * 1_000 + KEPT_MILLIS
}

/// Until when it counts how far a bulk operation came.
pub(super) fn progress_kept_until(frame: OracleFrame<'_>, now: i64) -> i64 {
    let kept = match frame.cause {
        Some(_) => CHANGE_KEPT_MILLIS,
        None => KEPT_MILLIS,
    };
    now.div_euclid(1_000) * 1_000 + kept
}

/// The version that the row must have.
pub(super) fn version_of(request: &WriteRequest) -> Option<Number> {
    match &request.precondition {
        Precondition::Version(versions) => versions.first().copied(),
        _ => None,
    }
}

fn scope<'a>(frame: OracleFrame<'a>, args: &'a Attributes, bound: &'a Attributes) -> Scope<'a> {
    Scope {
        setting: frame.setting,
        now: frame.request.now,
        args,
        caller: &frame.request.caller,
        attributes: None,
        row: None,
        bound,
    }
}

/// The arguments with their defaults; null stays where it clears an attribute.
pub(super) fn filled_arguments(frame: OracleFrame<'_>) -> Result<Attributes, ExpectedOutcome> {
    let sent = &frame.request.args;
    let known = |name: &String| frame.write.args.iter().any(|arg| arg.name == *name);
    if !sent.keys().all(known) {
        return Err(ExpectedOutcome::BadRequest);
    }
    let nothing = Attributes::new();
    let mut args = Attributes::new();
    for arg in &frame.write.args {
        match sent.get(&arg.name) {
            Some(Value::Null) if clears(frame, &arg.name) => {
                args.insert(arg.name.clone(), Value::Null);
            }
            Some(Value::Null) if !arg.optional || is_patched(frame, &arg.name) => {
                return Err(ExpectedOutcome::BadRequest);
            }
            Some(value) if !value.is_null() => {
                let value = values::checked_value(value, &arg.ty).map_err(|_| ExpectedOutcome::BadRequest)?;
                args.insert(arg.name.clone(), value);
            }
            _ => match &arg.default {
                Some(default) => {
                    let scope = scope(frame, &nothing, &nothing);
                    let maker = frame.maker;
                    let value = evaluate(
                        default,
                        &Making {
                            scope,
                            maker,
                            operation: None,
                            becoming: false,
                        },
                    )?;
                    args.extend(value.map(|value| (arg.name.clone(), value)));
                }
                None if arg.optional => {}
                None => return Err(ExpectedOutcome::BadRequest),
            },
        }
    }
    // What the request lacks is said before who may ask.
    let lacks_key = frame.write.idempotency.need == IdempotencyNeed::Required
        && frame.write.idempotency.key.is_none()
        && frame.request.idempotency_key.is_none();
    if lacks_key {
        Err(ExpectedOutcome::BadRequest)
    } else {
        Ok(args)
    }
}

fn is_patched(frame: OracleFrame<'_>, name: &str) -> bool {
    let mut steps = frame.write.all_steps().into_iter();
    steps.any(|step| step.patch.iter().any(|taken| taken.attribute == name))
}

/// Whether null stands for "no value" of an attribute that may have none.
fn clears(frame: OracleFrame<'_>, name: &str) -> bool {
    let optional = |step: &Step| {
        let entity = step.entity().and_then(|id| frame.model.entity(id));
        entity
            .and_then(|entity| entity.attribute(name))
            .is_some_and(|attribute| attribute.optional)
    };
    frame.write.all_steps().into_iter().any(|step| {
        let taken = step.take.iter().any(|taken| taken.attribute == name && !taken.required);
        let patched = step.patch.iter().any(|taken| taken.attribute == name);
        (taken || patched) && optional(step)
    })
}

/// What `allow` says of the caller alone.
pub(super) fn admit_caller(frame: OracleFrame<'_>, args: &Attributes) -> Result<(), ExpectedOutcome> {
    let nothing = Attributes::new();
    for clause in frame.write.allow.conjuncts() {
        if clause.is_of_request() && !holds_condition(clause, &scope(frame, args, &nothing))? {
            return Err(match frame.request.caller.authenticated {
                true => ExpectedOutcome::Forbidden,
                false => ExpectedOutcome::Unauthenticated,
            });
        }
    }
    Ok(())
}

/// Which request it is, where it has a key.
pub(super) fn request_id(frame: OracleFrame<'_>, args: &Attributes) -> Result<Option<RequestId>, ExpectedOutcome> {
    let idempotency = &frame.write.idempotency;
    if idempotency.need == IdempotencyNeed::None {
        return Ok(None);
    }
    let nothing = Attributes::new();
    let own = match &idempotency.key {
        Some(key) => evaluate(key, &scope(frame, args, &nothing))?,
        None => None,
    };
    let key = match own.or_else(|| frame.request.idempotency_key.clone().map(Value::S)) {
        Some(key) => key,
        None => return Ok(None),
    };
    let Some(entity) = record_entity(frame) else {
        return Ok(Some(match frame.request.caller.claims.get("id") {
            Some(caller) => format!("{} {caller:?} {key:?}", frame.write.name),
            None => format!("nobody's {} {key:?}", asked(frame)),
        }));
    };
    let words = words(frame, &key);
    let mut id = Vec::new();
    for name in world::key_variables(frame.model, entity.id) {
        let is = entity.attribute(name).and_then(|attribute| attribute.is.as_ref());
        let value = match is {
            Some(is) => evaluate(is, &scope(frame, args, &words))?,
            None => None,
        };
        id.push(value.ok_or(ExpectedOutcome::BadRequest)?);
    }
    Ok(Some(format!("{id:?}")))
}

fn record_entity<'a>(frame: OracleFrame<'a>) -> Option<&'a Entity> {
    let mut entities = frame.model.entities.iter();
    entities.find(|entity| entity.role == Some(Role::Idempotency))
}

fn words(frame: OracleFrame<'_>, key: &Value) -> Attributes {
    let asked = Value::S(asked(frame));
    Attributes::from([
        ("request.key".to_owned(), key.clone()),
        ("request.hash".to_owned(), asked),
    ])
}

fn asked(frame: OracleFrame<'_>) -> String {
    format!("{} {:?}", frame.write.name, frame.request.args)
}

/// The answer to be given again.
pub(super) fn recorded_answer(
    frame: OracleFrame<'_>,
    outcome: &ExpectedOutcome,
) -> Result<RecordedAnswer, ExpectedOutcome> {
    let now = frame.request.now;
    let mut until = kept_until(now);
    if let Some(entity) = record_entity(frame) {
        until = i64::MAX;
        let nothing = Attributes::new();
        let mut row = Attributes::new();
        for attribute in &entity.attributes {
            if let Some(default) = &attribute.default {
                let value = evaluate_as(default, &attribute.ty, &scope(frame, &nothing, &nothing))?;
                row.extend(value.map(|value| (attribute.name.clone(), value)));
            }
        }
        if let Some(expires) = &entity.expires {
            let ends = evaluate_as(expires, &Type::Millis, &scope(frame, &nothing, &nothing).with_row(&row))?;
            let ends = ends.and_then(|value| value.as_number()).and_then(Number::to_i64);
            until = ends.map_or(until, |ends| (ends + 999).div_euclid(1_000) * 1_000);
        }
    }
    Ok(RecordedAnswer {
        asked: asked(frame),
        outcome: outcome.clone(),
        until,
    })
}

impl Oracle {
    /// What an earlier request with the same key was answered.
    pub(super) fn replayed(
        &self,
        frame: OracleFrame<'_>,
        id: &RequestId,
    ) -> Option<Result<ExpectedOutcome, ExpectedOutcome>> {
        let recorded = self.records.get(id).filter(|known| known.until > frame.request.now)?;
        if recorded.asked != asked(frame) {
            return Some(Err(ExpectedOutcome::KeyReused));
        }
        // Who has no id may be anybody: no answer is given again.
        if !frame.request.caller.claims.contains_key("id") {
            return Some(Err(ExpectedOutcome::AlreadyDone));
        }
        let ExpectedOutcome::Done { status, value, .. } = &recorded.outcome else {
            return None;
        };
        let replay = frame
            .write
            .idempotency
            .replay
            .and_then(|status| u16::try_from(status).ok());
        Some(Ok(ExpectedOutcome::Done {
            status: replay.unwrap_or(*status),
            value: value.clone(),
            replayed: true,
        }))
    }
}

/// What expressions know from the beginning: the change after which the write runs, or what is said of the request. Where no key was
/// sent, `request.key` is absent.
pub(super) fn request_words(frame: OracleFrame<'_>) -> Attributes {
    if let Some(cause) = frame.cause {
        return cause.clone();
    }
    match &frame.request.idempotency_key {
        Some(key) if frame.write.idempotency.need != IdempotencyNeed::None => words(frame, &Value::S(key.clone())),
        _ => Attributes::new(),
    }
}

/// The first row that a clause looks at.
pub(super) fn first_bound<'e>(clause: &'e Expr, is_row: &dyn Fn(&str) -> bool) -> Option<&'e str> {
    let mut found = None;
    clause.walk(&mut |part| {
        if let ExprKind::Bound(name) = &part.kind
            && found.is_none()
            && is_row(name)
        {
            found = Some(name.as_str());
        }
    });
    found
}
