//! Rows to try: what the model allows, as far as anything looks at it.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{evaluate, evaluate_as, holds_condition};
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::Entity;
use singlet_model::types::Type;

use super::chance::Chance;
use super::pool::{self, NOW, Pool};
use super::request::{Request, Scope};

/// The attributes of a row that are looked at, by name.
pub(super) type Row = BTreeMap<String, Value>;

/// How often a row that is meant is tried to be made.
const TRIES_MAX: usize = 6;

/// What rows of an entity are drawn from.
pub(super) struct Rows<'a> {
    entity: &'a Entity,
    /// What a row must satisfy to be meant.
    conjuncts: Vec<Expr>,
    /// What may be chosen of a row.
    slots: Vec<Slot>,
    /// Attributes that follow from others.
    computed: Vec<&'a str>,
}

/// An attribute, or a field of one, and the values that it may take; nothing stands for absent.
pub(super) struct Slot {
    path: String,
    ty: Type,
    values: Vec<Option<Value>>,
}

impl<'a> Rows<'a> {
    /// Prepares to draw rows, of which the conjuncts and `mentioned` paths are looked at.
    pub(super) fn of(
        model: &'a Model,
        entity: &'a Entity,
        conjuncts: Vec<Expr>,
        mentioned: &[String],
        pool: &Pool,
    ) -> Self {
        let mut paths: BTreeSet<String> = mentioned.iter().cloned().collect();
        conjuncts
            .iter()
            .for_each(|conjunct| attribute_paths(conjunct, &mut paths));
        let computed = close(entity, &mut paths);
        let free = paths.into_iter().filter(|path| !computed.contains(&root(path)));
        let slot = |path: String| {
            let (ty, optional) = model.type_at(entity, &path)?;
            let mut values: Vec<Option<Value>> = pool.values(&ty).into_iter().map(Some).collect();
            if optional {
                values.insert(values.len().min(1), None);
            }
            Some(Slot { path, ty, values })
        };
        Rows {
            entity,
            conjuncts,
            slots: free.filter_map(slot).collect(),
            computed,
        }
    }

    /// An attribute for which no value could be tried.
    pub(super) fn untried(&self) -> Option<&str> {
        self.slots
            .iter()
            .find(|slot| slot.values.is_empty())
            .map(|slot| slot.path.as_str())
    }

    /// A row that is meant; none where none was found.
    pub(super) fn draw(&self, request: &Request, chance: &mut Chance, pool: &Pool) -> Option<Row> {
        (0..TRIES_MAX).find_map(|_| {
            let row = self.any_row(request, chance, pool)?;
            let row = self.mended(row, request, pool)?;
            self.conjuncts
                .iter()
                .all(|conjunct| self.holds(conjunct, &row, request, pool))
                .then_some(row)
        })
    }

    /// Makes a request ask for what some row has: a computed value, say, that no argument hits by chance.
    pub(super) fn fit_request(&self, request: &mut Request, chance: &mut Chance, pool: &Pool) {
        let Some(row) = self.any_row(request, chance, pool) else {
            return;
        };
        for conjunct in &self.conjuncts {
            let ExprKind::Binary(BinaryOp::Eq, left, right) = &conjunct.kind else {
                continue;
            };
            for (asked, attribute) in [(left, right), (right, left)] {
                let scope = Scope {
                    request,
                    row: Some(&row),
                    zone: pool.zone(),
                };
                let Ok(Some(value)) = evaluate_as(attribute, &asked.ty, &scope) else {
                    continue;
                };
                let fits = !attribute.attributes().is_empty() && pool::is_within(&asked.ty, &value);
                match &asked.kind {
                    ExprKind::Arg(name) if fits => request.args.insert(name.clone(), value),
                    ExprKind::Caller(name) if fits => request.claims.insert(name.clone(), value),
                    _ => None,
                };
            }
        }
    }

    fn any_row(&self, request: &Request, chance: &mut Chance, pool: &Pool) -> Option<Row> {
        let mut row = Row::new();
        for slot in &self.slots {
            put(&mut row, &slot.path, chance.pick(&slot.values)?.clone());
        }
        self.completed(row, request, pool)
    }

    /// Rows that differ from one in one attribute, all of them.
    pub(super) fn near(&self, row: &Row, request: &Request, pool: &Pool) -> Vec<Row> {
        let changes = self
            .slots
            .iter()
            .flat_map(|slot| slot.values.iter().map(move |value| (slot, value)));
        let changed = changes.filter_map(|(slot, value)| self.changed(row, slot, value.clone(), request, pool));
        changed.collect()
    }

    /// A row that differs from one in two attributes.
    pub(super) fn further(&self, row: &Row, request: &Request, chance: &mut Chance, pool: &Pool) -> Option<Row> {
        let mut row = row.clone();
        for _ in 0..2 {
            let slot = chance.pick(&self.slots)?;
            put(&mut row, &slot.path, chance.pick(&slot.values)?.clone());
        }
        self.completed(row, request, pool)
    }

    fn changed(&self, row: &Row, slot: &Slot, value: Option<Value>, request: &Request, pool: &Pool) -> Option<Row> {
        let mut row = row.clone();
        put(&mut row, &slot.path, value);
        self.completed(row, request, pool)
    }

    /// Changes a row conjunct by conjunct until each holds, where a single attribute can make it hold.
    fn mended(&self, mut row: Row, request: &Request, pool: &Pool) -> Option<Row> {
        for conjunct in &self.conjuncts {
            if self.holds(conjunct, &row, request, pool) {
                continue;
            }
            row = self.mended_for(conjunct, &row, request, pool)?;
        }
        Some(row)
    }

    fn mended_for(&self, conjunct: &Expr, row: &Row, request: &Request, pool: &Pool) -> Option<Row> {
        let mut paths = BTreeSet::new();
        attribute_paths(conjunct, &mut paths);
        close(self.entity, &mut paths);
        let mentioned = self.slots.iter().filter(|slot| paths.contains(&slot.path));
        mentioned.into_iter().find_map(|slot| {
            let equal = self.compared_values(conjunct, slot, row, request, pool);
            let values = equal.into_iter().map(Some).chain(slot.values.iter().cloned());
            let mut rows = values.filter_map(|value| self.changed(row, slot, value, request, pool));
            rows.find(|row| self.holds(conjunct, row, request, pool))
        })
    }

    /// The values that a comparison names for an attribute.
    fn compared_values(&self, conjunct: &Expr, slot: &Slot, row: &Row, request: &Request, pool: &Pool) -> Vec<Value> {
        let scope = Scope {
            request,
            row: Some(row),
            zone: pool.zone(),
        };
        let mut found = Vec::new();
        conjunct.walk(&mut |part| {
            let ExprKind::Binary(op, left, right) = &part.kind else {
                return;
            };
            for side in [left, right].into_iter().filter(|side| side.attributes().is_empty()) {
                let value = match op {
                    BinaryOp::In => evaluate(side, &scope),
                    _ => evaluate_as(side, &slot.ty, &scope),
                };
                match value {
                    Ok(Some(Value::L(values))) if *op == BinaryOp::In => found.extend(values),
                    Ok(Some(value)) => found.push(value),
                    _ => {}
                }
            }
        });
        found.retain(|value| pool::is_within(&slot.ty, value));
        found
    }

    /// A row with what follows from its attributes; none where no such row can be there now.
    fn completed(&self, mut row: Row, request: &Request, pool: &Pool) -> Option<Row> {
        self.hold_states(&mut row);
        // What is computed may be computed from what is computed.
        for _ in 0..2 {
            for name in &self.computed {
                let attribute = self.entity.attribute(name)?;
                let value = match (&attribute.alias, &attribute.is) {
                    (Some(of), _) => row.get(of).cloned(),
                    (None, Some(is)) => {
                        let scope = Scope {
                            request,
                            row: Some(&row),
                            zone: pool.zone(),
                        };
                        evaluate_as(is, &attribute.ty, &scope).ok()?
                    }
                    (None, None) => None,
                };
                if value
                    .as_ref()
                    .is_some_and(|value| !pool::is_within(&attribute.ty, value))
                {
                    return None;
                }
                put(&mut row, name, value);
            }
        }
        self.is_there(&row, request, pool).then_some(row)
    }

    /// What holds only during a state is there during it, and not else.
    fn hold_states(&self, row: &mut Row) {
        let Some(states) = &self.entity.states else { return };
        let state = row.get(&states.of).and_then(Value::as_str).map(str::to_owned);
        let Some(state) = state else { return };
        let held = |name: &str, state: &str| {
            let mut holding = states
                .holding
                .iter()
                .filter(|(_, held)| held.iter().any(|(held, _)| held == name));
            holding.any(|(during, _)| during.iter().any(|during| during == state))
        };
        for slot in &self.slots {
            let of_state = states
                .holding
                .iter()
                .any(|(_, all)| all.iter().any(|(name, _)| *name == slot.path));
            if !of_state {
                continue;
            }
            match held(&slot.path, &state) {
                true if !row.contains_key(&slot.path) => {
                    let first = slot.values.iter().find_map(|value| value.clone());
                    put(row, &slot.path, first);
                }
                true => {}
                false => put(row, &slot.path, None),
            }
        }
    }

    /// Whether a row is there as it is stored: it has neither expired nor lapsed, and its version has not ended before it began.
    fn is_there(&self, row: &Row, request: &Request, pool: &Pool) -> bool {
        let scope = Scope {
            request,
            row: Some(row),
            zone: pool.zone(),
        };
        let past = |at: &Expr| match evaluate_as(at, &Type::Millis, &scope) {
            Ok(Some(value)) => value.as_number().and_then(Number::to_i64).is_none_or(|at| at <= NOW),
            Ok(None) => false,
            Err(_) => true,
        };
        let expired = self.entity.expires.as_ref().is_some_and(past);
        let lapsed = self.entity.states.as_ref().is_some_and(|states| {
            let state = row.get(&states.of).and_then(Value::as_str);
            states
                .lapses
                .iter()
                .any(|lapse| Some(lapse.from.as_str()) == state && past(&lapse.at))
        });
        let ended = self.entity.history.as_ref().is_some_and(|history| {
            let text = |name: &str| row.get(name).and_then(Value::as_str);
            text(&history.at)
                .zip(text(&history.until))
                .is_some_and(|(at, until)| until <= at)
        });
        !expired && !lapsed && !ended
    }

    fn holds(&self, conjunct: &Expr, row: &Row, request: &Request, pool: &Pool) -> bool {
        let scope = Scope {
            request,
            row: Some(row),
            zone: pool.zone(),
        };
        holds_condition(conjunct, &scope).unwrap_or(false)
    }
}

/// The paths of attributes that an expression looks at.
pub(super) fn attribute_paths(expr: &Expr, found: &mut BTreeSet<String>) {
    match attribute_path(expr) {
        Some(path) => {
            found.insert(path);
        }
        None => expr.for_each_part(&mut |part| attribute_paths(part, found)),
    }
}

fn attribute_path(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Attribute(name) => Some(name.clone()),
        ExprKind::Field(of, name) => Some(format!("{}.{name}", attribute_path(of)?)),
        _ => None,
    }
}

/// Adds what the paths follow from, and what decides whether a row is there; gives the attributes that are computed.
fn close<'a>(entity: &'a Entity, paths: &mut BTreeSet<String>) -> Vec<&'a str> {
    let mut computed: Vec<&str> = Vec::new();
    entity
        .expires
        .iter()
        .for_each(|expires| attribute_paths(expires, paths));
    if let Some(states) = &entity.states {
        let held = || {
            states
                .holding
                .iter()
                .flat_map(|(_, held)| held.iter().map(|(name, _)| name.as_str()))
        };
        if paths
            .iter()
            .any(|path| root(path) == states.of || held().any(|name| name == root(path)))
        {
            paths.insert(states.of.clone());
            paths.extend(held().map(str::to_owned));
            states.lapses.iter().for_each(|lapse| attribute_paths(&lapse.at, paths));
        }
    }
    loop {
        let roots: BTreeSet<String> = paths.iter().map(|path| root(path).to_owned()).collect();
        let more = entity
            .attributes
            .iter()
            .filter(|attribute| roots.contains(&attribute.name));
        let mut grown = false;
        for attribute in more {
            if computed.contains(&attribute.name.as_str()) {
                continue;
            }
            if let Some(of) = &attribute.alias {
                paths.insert(of.clone());
            } else if let Some(is) = attribute.is.as_ref().filter(|is| is_of_row(is)) {
                attribute_paths(is, paths);
            } else {
                continue;
            }
            computed.push(&attribute.name);
            grown = true;
        }
        if !grown {
            return computed;
        }
    }
}

/// Whether a computed value follows from the row alone, and not from who wrote it or when.
fn is_of_row(is: &Expr) -> bool {
    !is.any(|part| {
        let outside = matches!(
            part.kind,
            ExprKind::Arg(_)
                | ExprKind::Caller(_)
                | ExprKind::Now
                | ExprKind::Today
                | ExprKind::Setting(_)
                | ExprKind::Word(_)
                | ExprKind::Entity { .. }
                | ExprKind::Invalid
        );
        outside || part.is_generated()
    })
}

fn root(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// Sets or removes the value at a path.
fn put(row: &mut Row, path: &str, value: Option<Value>) {
    let Some((first, rest)) = path.split_once('.') else {
        match value {
            Some(value) => row.insert(path.to_owned(), value),
            None => row.remove(path),
        };
        return;
    };
    let mut inner = match row.remove(first) {
        Some(Value::M(map)) => map,
        _ => Row::new(),
    };
    put(&mut inner, rest, value);
    row.insert(first.to_owned(), Value::M(inner));
}

/// The value at a path.
pub(super) fn value_at<'r>(row: &'r Row, path: &str) -> Option<&'r Value> {
    if let Some(value) = row.get(path) {
        return Some(value);
    }
    let mut names = path.split('.');
    let first = row.get(names.next()?)?;
    names.try_fold(first, |value, name| value.as_map()?.get(name))
}
