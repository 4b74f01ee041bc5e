//! What a read answers, in the shape in which it answers it.

mod counting;
mod meaning;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate, evaluate_as, evaluate_bound, holds_condition};
use singlet_model::expression::{Expr, ExprKind, Word};
use singlet_model::model::{Each, Let, LetValue, Read, Return, Selection, SelectionKind};
use singlet_model::types::EntityId;
use singlet_runtime::{Attributes, Bounds, Scope};
use singlet_values as values;

use crate::bench::Row;
use crate::oracle::{self, Question};
use counting::count_answer;
use meaning::PlaceMeaning;

/// What a read means.
#[derive(Debug)]
pub(crate) struct MeantRead {
    /// The rows that are asked for, in their order.
    pub rows: Vec<Attributes>,
    /// Why there is no answer.
    pub refusal: Option<OracleRefusal>,
    /// Whether the answer hangs on the order of rows that the model leaves open, so that several are right.
    pub ambiguous: bool,
    /// What each selection means, in the order in which they are looked at.
    pub(crate) selected: Vec<Selected>,
    meaning: PlaceMeaning,
}

/// The rows that one selection means, or the one that a name of `let` stands for.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    /// The selection; none of a row that is named by its key.
    pub selection: Option<Selection>,
    /// Whose rows they are.
    pub entity: Option<EntityId>,
    /// Whether it is the read's own.
    pub is_own: bool,
    /// What else every row of it satisfies.
    pub allow: Option<Expr>,
    /// The rows, in their order.
    pub rows: Vec<Attributes>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleRefusal {
    /// What is asked for is not there, or not to be seen.
    NotFound,
    /// The caller may not.
    Forbidden,
    /// The caller has shown no credentials.
    Unauthenticated,
    /// The request is wrong.
    Request,
    /// More than one row fits where one is expected.
    Several,
}

enum AnswerStop {
    Refused(OracleRefusal),
    Failed(EvaluateError),
}

impl From<EvaluateError> for AnswerStop {
    fn from(error: EvaluateError) -> Self {
        AnswerStop::Failed(error)
    }
}

impl From<OracleRefusal> for AnswerStop {
    fn from(refusal: OracleRefusal) -> Self {
        AnswerStop::Refused(refusal)
    }
}

/// What a read means, by looking at every row. The scope has what was sent.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub(crate) fn meant_read(
    model: &Model,
    read: &Read,
    rows: &[Row],
    scope: Scope<'_>,
) -> Result<MeantRead, EvaluateError> {
    let mut meant = answered(model, read, rows, scope, false)?;
    let lists = read.each.is_some() || read.lets.iter().any(|bound| matches!(bound.value, LetValue::Read(_)));
    if lists {
        let turned = answered(model, read, rows, scope, true)?;
        meant.ambiguous |= turned.meaning != meant.meaning || turned.refusal != meant.refusal;
    }
    Ok(meant)
}

fn answered(
    model: &Model,
    read: &Read,
    rows: &[Row],
    scope: Scope<'_>,
    turned: bool,
) -> Result<MeantRead, EvaluateError> {
    let refused = |refusal| MeantRead {
        rows: Vec::new(),
        refusal: Some(refusal),
        ambiguous: false,
        selected: Vec::new(),
        meaning: PlaceMeaning::Value(Value::Null),
    };
    let args = match arguments(read, scope) {
        Ok(args) => args,
        Err(AnswerStop::Refused(refusal)) => return Ok(refused(refusal)),
        Err(AnswerStop::Failed(error)) => return Err(error),
    };
    let asked = AnswerSearch {
        model,
        read,
        rows,
        scope: Scope { args: &args, ..scope },
        turned,
        chooses: Cell::new(false),
        selected: RefCell::default(),
    };
    match asked.answer() {
        Ok((rows, meaning)) => Ok(MeantRead {
            rows,
            refusal: None,
            ambiguous: asked.chooses.get(),
            selected: asked.selected.take(),
            meaning,
        }),
        Err(AnswerStop::Refused(refusal)) => Ok(MeantRead {
            ambiguous: asked.chooses.get(),
            ..refused(refusal)
        }),
        Err(AnswerStop::Failed(error)) => Err(error),
    }
}

/// What was sent, with the defaults of what was not.
fn arguments(read: &Read, scope: Scope<'_>) -> Result<Attributes, AnswerStop> {
    let sent = scope.args;
    if sent.keys().any(|name| read.argument_named(name).is_none()) {
        return Err(OracleRefusal::Request.into());
    }
    let nothing = Attributes::new();
    let mut args = Attributes::new();
    for arg in &read.args {
        match (sent.get(&arg.name), &arg.default) {
            (Some(value), _) => {
                let value = values::checked_value(value, &arg.ty).map_err(|_| OracleRefusal::Request)?;
                args.insert(arg.name.clone(), value);
            }
            (None, Some(default)) => {
                let value = evaluate_as(
                    default,
                    &arg.ty,
                    &Scope {
                        args: &nothing,
                        ..scope
                    },
                )?;
                args.extend(value.map(|value| (arg.name.clone(), value)));
            }
            (None, None) if arg.optional => {}
            (None, None) => return Err(OracleRefusal::Request.into()),
        }
    }
    let optional = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
    let together: Vec<&str> = optional
        .map(|arg| arg.name.as_str())
        .filter(|name| sent.contains_key(*name))
        .collect();
    let is_known = |known: &Vec<String>| {
        known.len() == together.len() && known.iter().all(|name| together.contains(&name.as_str()))
    };
    match read.combinations.is_empty() || read.combinations.iter().any(is_known) {
        true => Ok(args),
        false => Err(OracleRefusal::Request.into()),
    }
}

struct AnswerSearch<'a> {
    model: &'a Model,
    read: &'a Read,
    rows: &'a [Row],
    scope: Scope<'a>,
    /// Whether rows that are equal in the order of a named list stand the other way round.
    turned: bool,
    /// Whether a named list has some of at least three rows that are equal in its order: either way round shows not all choices.
    chooses: Cell<bool>,
    selected: RefCell<Vec<Selected>>,
}

impl AnswerSearch<'_> {
    fn answer(&self) -> Result<(Vec<Attributes>, PlaceMeaning), AnswerStop> {
        let read = self.read;
        self.admit(self.scope, false)?;
        let mut bound = Attributes::new();
        for name in &read.lets {
            let value = self.named(
                name,
                Scope {
                    bound: &bound,
                    ..self.scope
                },
            )?;
            match value {
                Some(value) => {
                    bound.insert(name.name.clone(), value);
                }
                None if name.optional => {}
                None => return Err(OracleRefusal::NotFound.into()),
            }
        }
        let scope = Scope {
            bound: &bound,
            ..self.scope
        };
        self.admit(scope, true)?;
        let Some(selection) = &read.selection else {
            return Ok((Vec::new(), PlaceMeaning::Fields(self.with(None, scope)?)));
        };
        let mut selection = selection.clone();
        if let Some(reverse) = &read.reverse
            && holds_condition(reverse, &scope)?
        {
            let orders = selection.order.iter_mut();
            orders.for_each(|order| order.descending = !order.descending);
        }
        if let Some(each) = &read.each {
            return self.each(each, &selection, scope);
        }
        let own = self.selected(&selection, Some(&read.allow), true, scope)?;
        let meaning = match selection.kind {
            SelectionKind::Count => PlaceMeaning::Value(count_answer(&selection, &own, scope)?),
            SelectionKind::Get { optional: false } if own.is_empty() => return Err(OracleRefusal::NotFound.into()),
            SelectionKind::Get { .. } if is_several(&selection, &own) => return Err(OracleRefusal::Several.into()),
            SelectionKind::Get { .. } if own.is_empty() => self.shape_of_nothing(scope)?,
            SelectionKind::Get { .. } => {
                let first = self.groups(&selection, &own)?.into_iter().next().unwrap_or_default();
                PlaceMeaning::One(self.shaped(&first, scope)?)
            }
            SelectionKind::Find if own.is_empty() && read.empty == Some(404) => {
                return Err(OracleRefusal::NotFound.into());
            }
            SelectionKind::Find => {
                let mut groups = Vec::new();
                for group in self.groups(&selection, &own)? {
                    groups.push(self.shaped(&group, scope)?);
                }
                let most = most_of(&selection, usize::MAX);
                PlaceMeaning::Rows { groups, most }
            }
        };
        Ok((own, meaning))
    }

    /// What `allow` says of the caller, or of rows that were named.
    fn admit(&self, scope: Scope<'_>, of_rows: bool) -> Result<(), AnswerStop> {
        for clause in self.read.allow.conjuncts() {
            let names = clause.any(|part| matches!(part.kind, ExprKind::Bound(_)));
            let is_of_a_row = !clause.attributes().is_empty();
            if is_of_a_row || names != of_rows || holds_condition(clause, &scope)? {
                continue;
            }
            return Err(match (of_rows, self.scope.caller.authenticated) {
                (true, _) => OracleRefusal::NotFound.into(),
                (false, true) => OracleRefusal::Forbidden.into(),
                (false, false) => OracleRefusal::Unauthenticated.into(),
            });
        }
        Ok(())
    }

    /// What a name of `let` stands for.
    fn named(&self, bound: &Let, scope: Scope<'_>) -> Result<Option<Value>, AnswerStop> {
        Ok(match &bound.value {
            LetValue::Value(expr) => match &expr.kind {
                ExprKind::Entity { entity, key } => self.row_of(*entity, key, scope)?.map(Value::M),
                _ => evaluate_bound(expr, &scope)?,
            },
            LetValue::Read(selection) => {
                let found = self.selected(selection, None, false, scope)?;
                let mut rows = Vec::new();
                let groups = self.groups(selection, &found)?;
                self.note_choice(selection, &groups);
                for mut group in groups {
                    if self.turned {
                        group.reverse();
                    }
                    rows.extend(group.into_iter().map(Value::M));
                }
                match selection.kind {
                    SelectionKind::Get { .. } if is_several(selection, &found) => {
                        return Err(OracleRefusal::Several.into());
                    }
                    SelectionKind::Get { .. } => rows.into_iter().next(),
                    SelectionKind::Find => {
                        rows.truncate(most_of(selection, usize::MAX));
                        Some(Value::L(rows))
                    }
                    SelectionKind::Count => Some(count_answer(selection, &found, scope)?),
                }
            }
        })
    }

    /// The row with a key, as it is now.
    fn row_of(&self, id: EntityId, key: &[(String, Expr)], scope: Scope<'_>) -> Result<Option<Attributes>, AnswerStop> {
        let Some(entity) = self.model.entity(id) else {
            return Ok(None);
        };
        let mut wanted = Attributes::new();
        for (name, expr) in key {
            let value = match entity.attribute(name) {
                Some(attribute) => evaluate_as(expr, &attribute.ty, &scope)?,
                None => evaluate(expr, &scope)?,
            };
            match value {
                Some(value) => wanted.insert(name.clone(), value),
                None => return Ok(None),
            };
        }
        let rows = oracle::current_rows(entity, self.rows, scope)?;
        let is_it = |row: &Attributes| wanted.iter().all(|(name, value)| row.get(name) == Some(value));
        let found = rows.into_iter().find(is_it);
        self.selected.borrow_mut().push(Selected {
            selection: None,
            entity: Some(id),
            is_own: false,
            allow: None,
            rows: found.iter().cloned().collect(),
        });
        Ok(found)
    }

    fn selected(
        &self,
        selection: &Selection,
        allow: Option<&Expr>,
        is_own: bool,
        scope: Scope<'_>,
    ) -> Result<Vec<Attributes>, EvaluateError> {
        let question = Question {
            read: self.read,
            selection,
            allow,
            is_own,
        };
        let rows = oracle::meant_rows(self.model, question, self.rows, scope)?;
        self.selected.borrow_mut().push(Selected {
            selection: Some(selection.clone()),
            entity: selection.entity(),
            is_own,
            allow: allow.cloned(),
            rows: rows.clone(),
        });
        Ok(rows)
    }

    /// Rows that are equal in the order, together.
    fn groups(&self, selection: &Selection, rows: &[Attributes]) -> Result<Vec<Vec<Attributes>>, EvaluateError> {
        let mut groups: Vec<Vec<Attributes>> = Vec::new();
        for row in rows {
            let last = groups.last_mut();
            match last {
                Some(group) if is_equal(self.model, selection, group, row)? => group.push(row.clone()),
                _ => groups.push(vec![row.clone()]),
            }
        }
        Ok(groups)
    }

    fn note_choice(&self, selection: &Selection, groups: &[Vec<Attributes>]) {
        let mut left = match selection.kind {
            SelectionKind::Get { .. } => 1,
            SelectionKind::Find => most_of(selection, usize::MAX),
            SelectionKind::Count => return,
        };
        for group in groups {
            if left > 0 && left < group.len() && group.len() > 2 {
                self.chooses.set(true);
            }
            left = left.saturating_sub(group.len());
        }
    }

    /// What is shown where there is no row: nothing, or the shape with what does not hang on one.
    fn shape_of_nothing(&self, scope: Scope<'_>) -> Result<PlaceMeaning, EvaluateError> {
        Ok(match &self.read.returns {
            Return::Usual | Return::Nothing => PlaceMeaning::One(Vec::new()),
            Return::Value(expr) => PlaceMeaning::Value(evaluate(expr, &scope)?.unwrap_or(Value::Null)),
            Return::Fields(fields) => {
                let mut map = Attributes::new();
                for (name, expr) in fields {
                    map.extend(evaluate(expr, &scope)?.map(|value| (name.clone(), value)));
                }
                PlaceMeaning::Value(Value::M(map))
            }
        })
    }

    /// Rows as they are shown, with what comes with each.
    fn shaped(&self, rows: &[Attributes], scope: Scope<'_>) -> Result<Vec<PlaceMeaning>, AnswerStop> {
        let mut all = Vec::new();
        for row in rows {
            let with = self.with(Some(row), scope)?;
            let own = match &self.read.returns {
                Return::Usual | Return::Nothing => Value::M(row.clone()),
                Return::Value(expr) => evaluate(expr, &scope.with_row(row))?.unwrap_or(Value::Null),
                Return::Fields(fields) => {
                    let mut map = Attributes::new();
                    for (name, expr) in fields {
                        let value = evaluate(expr, &scope.with_row(row))?;
                        map.extend(value.map(|value| (name.clone(), value)));
                    }
                    Value::M(map)
                }
            };
            all.push(PlaceMeaning::Row(own, with));
        }
        Ok(all)
    }

    /// What comes with a row, or with nothing.
    fn with(
        &self,
        parent: Option<&Attributes>,
        scope: Scope<'_>,
    ) -> Result<BTreeMap<String, PlaceMeaning>, AnswerStop> {
        let scope = Scope { row: parent, ..scope };
        let mut parts = BTreeMap::new();
        for part in &self.read.with {
            let selection = &part.selection;
            let rows = self.selected(selection, part.allow.as_ref(), false, scope)?;
            let groups = self.groups(selection, &rows)?;
            let plain = |group: Vec<Attributes>| -> Vec<PlaceMeaning> {
                let rows = group.into_iter();
                rows.map(|row| PlaceMeaning::Row(Value::M(row), BTreeMap::new()))
                    .collect()
            };
            let meaning = match selection.kind {
                SelectionKind::Count => PlaceMeaning::Value(count_answer(selection, &rows, scope)?),
                SelectionKind::Get { .. } if is_several(selection, &rows) => return Err(OracleRefusal::Several.into()),
                SelectionKind::Get { .. } => {
                    PlaceMeaning::One(groups.into_iter().next().map(plain).unwrap_or_default())
                }
                SelectionKind::Find => PlaceMeaning::Rows {
                    groups: groups.into_iter().map(plain).collect(),
                    most: most_of(selection, Bounds::USUAL.beside_rows_max),
                },
            };
            parts.insert(part.name.clone(), meaning);
        }
        Ok(parts)
    }

    /// One answer for each element.
    fn each(
        &self,
        each: &Each,
        selection: &Selection,
        scope: Scope<'_>,
    ) -> Result<(Vec<Attributes>, PlaceMeaning), AnswerStop> {
        let elements = match evaluate(&each.list, &scope)? {
            Some(Value::L(elements)) => elements,
            _ => Vec::new(),
        };
        if elements.len() as u64 > each.at_most {
            return Err(OracleRefusal::Request.into());
        }
        let (mut all, mut answers) = (Vec::new(), Vec::new());
        for element in elements {
            let mut bound = scope.bound.clone();
            bound.insert(each.name.clone(), element);
            let found = {
                let scope = Scope { bound: &bound, ..scope };
                self.selected(selection, Some(&self.read.allow), true, scope)?
            };
            let groups = self.groups(selection, &found)?;
            self.note_choice(selection, &groups);
            let rows = groups.clone().into_iter().flat_map(|mut group| {
                if self.turned {
                    group.reverse();
                }
                group.into_iter().map(Value::M)
            });
            let rows = rows.take(most_of(selection, usize::MAX));
            bound.insert("rows".to_owned(), Value::L(rows.collect()));
            let scope = Scope { bound: &bound, ..scope };
            answers.push(vec![self.of_element(selection, &groups, scope)?]);
            all.extend(found);
        }
        let meaning = PlaceMeaning::Rows {
            groups: answers,
            most: usize::MAX,
        };
        Ok((all, meaning))
    }

    fn of_element(
        &self,
        selection: &Selection,
        groups: &[Vec<Attributes>],
        scope: Scope<'_>,
    ) -> Result<PlaceMeaning, EvaluateError> {
        let Return::Fields(fields) = &self.read.returns else {
            let value = match &self.read.returns {
                Return::Value(expr) => evaluate(expr, &scope)?.unwrap_or(Value::Null),
                _ => Value::M(Attributes::new()),
            };
            return Ok(PlaceMeaning::Value(value));
        };
        let mut shown = BTreeMap::new();
        for (name, expr) in fields {
            let is_rows = matches!(&expr.kind, ExprKind::Word(Word::Rows));
            if is_rows {
                let plain = |row: &Attributes| PlaceMeaning::Row(Value::M(row.clone()), BTreeMap::new());
                let groups = groups.iter().map(|group| group.iter().map(plain).collect()).collect();
                let most = most_of(selection, usize::MAX);
                shown.insert(name.clone(), PlaceMeaning::Rows { groups, most });
            } else if let Some(value) = evaluate(expr, &scope)? {
                shown.insert(name.clone(), PlaceMeaning::Value(value));
            }
        }
        Ok(PlaceMeaning::Fields(shown))
    }
}

fn is_equal(
    model: &Model,
    selection: &Selection,
    group: &[Attributes],
    row: &Attributes,
) -> Result<bool, EvaluateError> {
    match group.first() {
        Some(first) => Ok(oracle::compare_rows(model, selection, first, row)?.is_eq()),
        None => Ok(true),
    }
}

/// Of rows in an order the first is meant; else one row is expected, and no other may fit.
fn is_several(selection: &Selection, rows: &[Attributes]) -> bool {
    selection.order.is_empty() && rows.len() > 1
}

fn most_of(selection: &Selection, unless_said: usize) -> usize {
    let limit = selection
        .limit
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    limit.unwrap_or(unless_said)
}

impl MeantRead {
    /// How an answer differs from what is meant: all rows of a list, or the one value that is answered.
    pub fn answer_difference(&self, _model: &Model, read: &Read, got: &[Value]) -> Option<String> {
        let finds = read.selection.as_ref().map(|selection| selection.kind) == Some(SelectionKind::Find);
        match finds && read.each.is_none() {
            true => self.meaning.value_difference(Some(&Value::L(got.to_vec()))),
            false => self.meaning.value_difference(got.first()),
        }
    }

    /// As values, to be shown.
    pub fn shown(&self) -> Vec<Value> {
        match self.refusal {
            Some(refusal) => vec![Value::S(format!("{refusal:?}"))],
            None => self.meaning.shown(),
        }
    }
}
