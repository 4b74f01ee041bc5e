//! From a line to the row that a create would have made of it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate_as, time};
use singlet_model::expression::{Expr, ExprKind, FunctionId};
use singlet_model::model::{Attribute, Entity, Role};
use singlet_model::types::Type;

use super::misfit::{Misfit, MisfitKind};
use crate::row;
use crate::scope::{Attributes, Scope};
use crate::values::{self, Members, Tree};
use crate::write::Generating;

/// The row of a line.
#[derive(Debug)]
pub(crate) struct GivenRow<'m> {
    pub entity: &'m Entity,
    /// Every attribute, but for copies that the line does not state.
    pub row: Attributes,
    /// What the line itself states, but for instants that count from now: by these a row that was loaded before is known.
    pub stated: BTreeSet<String>,
}

/// The row of a line, with everything that a create fills in.
///
/// # Errors
///
/// Everything that is wrong with the line.
pub(super) fn given_row<'m>(model: &'m Model, line: &str, scope: Scope<'_>) -> Result<GivenRow<'m>, Vec<Misfit>> {
    let (name, fields) = entity_and_fields(line).map_err(|misfit| vec![misfit])?;
    let entity = loadable_entity(model, &name).map_err(|misfit| vec![misfit])?;
    let mut filling = RowFilling {
        entity,
        scope,
        row: Attributes::new(),
        stated: BTreeSet::new(),
        computed: Vec::new(),
        misfits: Vec::new(),
    };
    for (name, tree) in &fields {
        filling.take(name, tree);
    }
    // What is wrong already would be said a second time by what follows from it.
    if filling.misfits.is_empty() {
        filling.complete();
    }
    match filling.misfits.is_empty() {
        true => Ok(GivenRow {
            entity,
            row: filling.row,
            stated: filling.stated,
        }),
        false => Err(filling
            .misfits
            .into_iter()
            .map(|misfit| misfit.of(&entity.name))
            .collect()),
    }
}

/// `{"Entity": {…}}`, taken apart.
pub(super) fn entity_and_fields(line: &str) -> Result<(Cow<'_, str>, Members<'_>), Misfit> {
    let wrong = |reason: String| Misfit::new(MisfitKind::Line, reason);
    let tree = Tree::parse(line).map_err(|error| wrong(format!("this is not JSON: {error}")))?;
    if let Tree::Object(members) = tree
        && let Ok([(name, Tree::Object(fields))]) = <[_; 1]>::try_from(members)
    {
        return Ok((name, fields));
    }
    Err(wrong("a line is `{\"Entity\": {…}}`".to_owned()))
}

/// The entity of that name, where its rows are loaded.
pub(super) fn loadable_entity<'m>(model: &'m Model, name: &str) -> Result<&'m Entity, Misfit> {
    let wrong = |reason: String| Err(Misfit::new(MisfitKind::Entity, reason));
    match model.entity_named(name) {
        None => wrong(format!("there is no entity `{name}` to load")),
        Some(entity) if entity.mirror.is_some() => {
            wrong(format!("`{name}` mirrors another entity: load that one's rows"))
        }
        Some(entity) if entity.role == Some(Role::Idempotency) => {
            wrong(format!("`{name}` holds records of requests, which only requests make"))
        }
        Some(entity) => Ok(entity),
    }
}

/// A row on its way.
struct RowFilling<'a> {
    entity: &'a Entity,
    scope: Scope<'a>,
    row: Attributes,
    stated: BTreeSet<String>,
    /// Computed attributes that the line states all the same.
    computed: Vec<(&'a Attribute, Value)>,
    misfits: Vec<Misfit>,
}

impl<'a> RowFilling<'a> {
    fn wrong(&mut self, kind: MisfitKind, name: &str, reason: impl Into<String>) {
        self.misfits.push(Misfit::new(kind, reason).at(attribute_pointer(name)));
    }

    /// What the line says of an attribute; null says nothing, as in a create.
    fn take(&mut self, name: &str, tree: &Tree<'_>) {
        let Some(attribute) = self.entity.attribute(name) else {
            return self.wrong(MisfitKind::UnknownAttribute, name, "there is no such attribute");
        };
        if tree.is_null() {
            return;
        }
        let (value, is_relative) = match value_of(tree, &attribute.ty, self.scope) {
            Ok(found) => found,
            Err((below, reason)) => {
                let misfit = Misfit::new(MisfitKind::WrongValue, reason);
                return self
                    .misfits
                    .push(misfit.at(format!("{}{below}", attribute_pointer(name))));
            }
        };
        if attribute.is.is_some() || attribute.alias.is_some() {
            return self.computed.push((attribute, value));
        }
        self.row.insert(name.to_owned(), value);
        if !is_relative {
            self.stated.insert(name.to_owned());
        }
    }

    /// What a create fills in, in its order: the state, defaults, what the state holds, what is computed.
    fn complete(&mut self) {
        let entity = self.entity;
        if let Some(states) = &entity.states {
            let start = || Value::S(states.start.clone());
            self.row.entry(states.of.clone()).or_insert_with(start);
        }
        for attribute in &entity.attributes {
            let follows = attribute.is.is_some() || attribute.copy.is_some();
            if !follows && !self.row.contains_key(&attribute.name) {
                self.fill(attribute);
            }
        }
        self.fill_held();
        if self.misfits.is_empty() {
            match row::complete_row(entity, self.row.clone(), self.scope) {
                Ok(row) => self.row = row,
                Err(error) => self.misfits.push(Misfit::new(MisfitKind::Computed, error.to_string())),
            }
        }
        if self.misfits.is_empty() {
            self.check_computed();
            self.check_required();
        }
    }

    fn fill(&mut self, attribute: &Attribute) {
        let made = match (&attribute.always, &attribute.default) {
            (Some(expr), _) | (None, Some(expr)) => {
                if self.entity.is_key_attribute(&attribute.name) && is_made_up(expr) {
                    let reason =
                        "this is part of the key and must be given: a generated value would make another row each time";
                    return self.wrong(MisfitKind::Missing, &attribute.name, reason);
                }
                self.value(expr, &attribute.ty)
            }
            (None, None) if attribute.ty == Type::Version => Ok(Some(Value::N(Number::from(1)))),
            (None, None) => Ok(None),
        };
        match made {
            Ok(value) => self.row.extend(value.map(|value| (attribute.name.clone(), value))),
            Err(error) => self.wrong(MisfitKind::WrongValue, &attribute.name, error.to_string()),
        }
    }

    /// What is held while the row is in its state.
    fn fill_held(&mut self) {
        let entity = self.entity;
        let Some(states) = &entity.states else { return };
        let Some(state) = self.row.get(&states.of).and_then(Value::as_str).map(str::to_owned) else {
            return;
        };
        let held = states.holding.iter().filter(|(during, _)| during.contains(&state));
        for (name, expr) in held.flat_map(|(_, held)| held) {
            let Some(attribute) = entity.attribute(name).filter(|_| !self.row.contains_key(name)) else {
                continue;
            };
            match self.value(expr, &attribute.ty) {
                Ok(Some(value)) => drop(self.row.insert(name.clone(), value)),
                Ok(None) => {}
                Err(error) => self.wrong(MisfitKind::WrongValue, name, error.to_string()),
            }
        }
    }

    fn value(&self, expr: &Expr, ty: &Type) -> Result<Option<Value>, EvaluateError> {
        evaluate_as(expr, ty, &Generating(self.scope.with_row(&self.row)))
    }

    /// A computed attribute may be stated, as files from elsewhere have it, if it says the same.
    fn check_computed(&mut self) {
        for (attribute, stated) in std::mem::take(&mut self.computed) {
            let computed = self.row.get(&attribute.name);
            if computed != Some(&stated) {
                let shown = computed.map_or_else(|| "absent".to_owned(), values::json_text::json_of);
                let reason = format!("this is computed, as {shown}; leave it out");
                self.wrong(MisfitKind::Computed, &attribute.name, reason);
            }
        }
    }

    fn check_required(&mut self) {
        let entity = self.entity;
        for attribute in &entity.attributes {
            let follows = attribute.alias.is_some() || attribute.copy.is_some();
            if !attribute.optional && !follows && !self.row.contains_key(&attribute.name) {
                self.wrong(MisfitKind::Missing, &attribute.name, "this is missing");
            }
        }
    }
}

/// A value, and whether it counts from now; or where in it something is wrong, and what.
pub(super) fn value_of(tree: &Tree<'_>, ty: &Type, scope: Scope<'_>) -> Result<(Value, bool), (String, String)> {
    if let Tree::Text(text) = tree
        && let Some(value) = relative(text, ty, scope)
    {
        let value = value.map_err(|error| (String::new(), error.to_string()))?;
        return Ok((value, true));
    }
    let value = values::from_tree(tree, ty).map_err(|invalid| (invalid.pointer, invalid.reason))?;
    Ok((value, false))
}

/// `now-3d`, `today+7d`: instants and days from the moment of loading.
fn relative(text: &str, ty: &Type, scope: Scope<'_>) -> Option<Result<Value, EvaluateError>> {
    let shift = |rest: &str| -> Option<Result<i64, EvaluateError>> {
        let duration = match rest.chars().next() {
            None => return Some(Ok(scope.now)),
            Some('+') => values::parse_duration(rest.get(1..)?)?,
            Some('-') => values::parse_duration(rest.get(1..)?)?.negated(),
            Some(_) => return None,
        };
        Some(time::shifted_millis(scope.now, duration, &scope.setting.zone))
    };
    if ty.is_instant() {
        let moved = shift(text.strip_prefix("now")?)?;
        return Some(moved.and_then(|millis| time::instant_as(millis, ty)));
    }
    if *ty == Type::Date {
        let moved = shift(text.strip_prefix("today")?)?;
        let day = moved.and_then(|millis| time::day_of(millis, &scope.setting.zone));
        return Some(day.map(Value::S));
    }
    None
}

/// Whether an expression gives another value each time, whatever the row says.
fn is_made_up(expr: &Expr) -> bool {
    expr.any(|part| match &part.kind {
        ExprKind::Now | ExprKind::Today => true,
        ExprKind::Call(function, _) => generates(*function),
        _ => false,
    })
}

fn generates(function: FunctionId) -> bool {
    matches!(function.name(), "ulid" | "ksuid" | "uuid" | "digits" | "random")
}

/// An attribute's place in the row.
pub(super) fn attribute_pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
