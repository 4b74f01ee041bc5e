//! One operation: names, clauses and steps, each seeing the rows as they were.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::evaluate::{
    EvaluateError, KeyValue, convert_value, evaluate, evaluate_as, holds_condition, row_order,
};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, LetValue, Requirement, Return, Selection, SelectionKind, Step, StepKind};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::{DefaultRefusal, default_name, default_status, requirement_status, step_refusal};
use singlet_runtime::{Attributes, Refused, Scope};

use super::by_hand::StepCall;
use super::change::{Fate, OracleEdits};
use super::oracle::{ExpectedOutcome, Making, OracleFrame};
use super::request::request_words;
use super::world::{self, Identity, Row};

/// A row that an operation looks at or changes.
#[derive(Clone, Debug)]
pub(super) struct TouchedRow {
    pub entity: EntityId,
    pub identity: Identity,
    /// The row as it was; none where there is none.
    pub was: Option<Attributes>,
    pub fate: Fate,
    pub edits: OracleEdits,
    pub becomes: Option<Attributes>,
}

/// An operation, as far as it came.
pub(super) struct OperationSteps<'a> {
    pub frame: OracleFrame<'a>,
    pub before: &'a [Row],
    pub args: Attributes,
    pub bound: Attributes,
    /// Which row a name stands for.
    pub names: BTreeMap<String, usize>,
    pub touched: Vec<TouchedRow>,
    /// The row that is answered: the first that is made or changed, though one whose numbers are only added to comes last. Whether
    /// it is new, and whether it is such a counter.
    pub first: Option<(usize, bool, bool)>,
    /// How many named steps are being taken: what they make is not the write's own.
    pub calls: u32,
    pub version_checked: bool,
    /// Promises that rows break as they are so far, in the order of their steps: a later step may mend them.
    pub broken: Vec<(usize, Vec<Refused>)>,
    /// The calls of steps, where they are taken by hand, and the step that was refused.
    pub calls_by_hand: Vec<StepCall<'a>>,
    pub stopped_at: Option<&'a Step>,
}

/// An element of a loop, and the row that it is.
pub(super) type Element = (Value, Option<(EntityId, Attributes)>);

impl<'a> OperationSteps<'a> {
    pub fn new(frame: OracleFrame<'a>, before: &'a [Row], args: Attributes) -> Self {
        OperationSteps {
            frame,
            before,
            args,
            bound: request_words(frame),
            names: BTreeMap::new(),
            touched: Vec::new(),
            first: None,
            calls: 0,
            version_checked: false,
            broken: Vec::new(),
            calls_by_hand: Vec::new(),
            stopped_at: None,
        }
    }

    pub fn scope<'s>(&'s self, attributes: Option<&'s Attributes>) -> Scope<'s> {
        Scope {
            setting: self.frame.setting,
            now: self.frame.request.now,
            args: &self.args,
            caller: &self.frame.request.caller,
            attributes,
            row: None,
            bound: &self.bound,
        }
    }

    pub fn making_scope<'s>(&'s self, attributes: Option<&'s Attributes>) -> Making<'s> {
        Making {
            scope: self.scope(attributes),
            maker: self.frame.maker,
            operation: Some(self),
            becoming: false,
        }
    }

    pub fn value(&self, expr: &Expr, own: Option<&Attributes>) -> Result<Option<Value>, ExpectedOutcome> {
        self.computed_value(evaluate(expr, &self.making_scope(own)))
    }

    pub fn value_as(&self, expr: &Expr, ty: &Type, own: Option<&Attributes>) -> Result<Option<Value>, ExpectedOutcome> {
        self.computed_value(evaluate_as(expr, ty, &self.making_scope(own)))
    }

    pub fn holds_now(&self, expr: &Expr, own: Option<&Attributes>) -> Result<bool, ExpectedOutcome> {
        self.computed_value(holds_condition(expr, &self.making_scope(own)))
    }

    /// A value of the answer, which sees rows as they become.
    fn answered_value(&self, expr: &Expr) -> Result<Option<Value>, ExpectedOutcome> {
        let making = Making {
            becoming: true,
            ..self.making_scope(None)
        };
        self.computed_value(evaluate(expr, &making))
    }

    /// What was computed; a row that an expression names and that is not there is not found.
    pub fn computed_value<T>(&self, computed: Result<T, EvaluateError>) -> Result<T, ExpectedOutcome> {
        match computed {
            Err(EvaluateError::RowMissing(entity)) => {
                let name = default_name(&self.entity(entity)?.name, &DefaultRefusal::Absent);
                Err(refused_step(Refused {
                    name,
                    status: default_status(&DefaultRefusal::Absent),
                    shown: Attributes::new(),
                }))
            }
            computed => Ok(computed?),
        }
    }

    /// The row with that key, as it was or as it becomes.
    pub(crate) fn row_with_key(
        &self,
        entity: EntityId,
        key: &[KeyValue<'_>],
        becoming: bool,
    ) -> Result<Option<Attributes>, EvaluateError> {
        let Some(described) = self.frame.model.entity(entity) else {
            return Ok(None);
        };
        let mut known = Attributes::new();
        for (name, value, ty) in key {
            let Some(value) = value.clone() else { return Ok(None) };
            let value = match described.attribute(name) {
                Some(attribute) => convert_value(value, ty, &attribute.ty)?,
                None => value,
            };
            known.insert((*name).to_owned(), value);
        }
        let identity = world::row_identity(self.frame.model, entity, &known);
        let is_it = |touched: &&TouchedRow| touched.entity == entity && touched.identity == identity;
        if let Some(touched) = self.touched.iter().find(is_it).filter(|_| becoming) {
            match touched.fate {
                Fate::Deleted => return Ok(None),
                _ if touched.becomes.is_some() => return Ok(touched.becomes.clone()),
                _ => {}
            }
        }
        for (_, row) in self.before.iter().filter(|(known, _)| *known == entity) {
            let seen = world::live_row(described, row, self.scope(None))?;
            let current = seen.filter(|row| world::is_current(described, row));
            if let Some(row) = current
                && world::row_identity(self.frame.model, entity, &row) == identity
            {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Whether a row stays as it was, or keeps an instant that every write sets: it was written in the same one.
    pub(crate) fn leaves_it_or_its_instant(&self, touched: &TouchedRow) -> bool {
        let (Some(was), Some(becomes)) = (&touched.was, &touched.becomes) else {
            return false;
        };
        let described = self.frame.model.entity(touched.entity);
        let mut attributes = described.into_iter().flat_map(|entity| &entity.attributes);
        let keeps = |name: &String| was.get(name) == becomes.get(name);
        was == becomes || attributes.any(|attribute| attribute.always.is_some() && keeps(&attribute.name))
    }

    pub fn entity(&self, id: EntityId) -> Result<&'a Entity, ExpectedOutcome> {
        self.frame.model.entity(id).ok_or(ExpectedOutcome::BadRequest)
    }

    /// The row of the first step that is taken and changes one.
    pub(crate) fn first_changed(&self, steps: &'a [Step]) -> Result<Option<&'a Expr>, ExpectedOutcome> {
        for step in steps.iter().filter(|step| step.repeat.is_none()) {
            let taken = match &step.when {
                Some(when) => self.holds_now(when, None)?,
                None => true,
            };
            let found = match &step.kind {
                _ if !taken => None,
                StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => Some(target),
                StepKind::Group(inner) => self.first_changed(inner)?,
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub fn require_clause(
        &self,
        requirement: &Requirement,
        own: Option<&Attributes>,
    ) -> Result<Refused, ExpectedOutcome> {
        Ok(Refused {
            name: requirement.refusal.name.clone(),
            status: requirement_status(requirement),
            shown: self.shown(&requirement.refusal.shown, own)?,
        })
    }

    pub fn shown(&self, shown: &[(String, Expr)], own: Option<&Attributes>) -> Result<Attributes, ExpectedOutcome> {
        let mut values = Attributes::new();
        for (name, expr) in shown {
            values.extend(self.value(expr, own)?.map(|value| (name.clone(), value)));
        }
        Ok(values)
    }

    pub fn default_refusal(
        &self,
        step: &Step,
        entity: &Entity,
        why: &DefaultRefusal,
        own: Option<&Attributes>,
    ) -> Result<Refused, ExpectedOutcome> {
        let said = step_refusal(step, why);
        Ok(Refused {
            name: said.map_or_else(|| default_name(&entity.name, why), |said| said.name.clone()),
            status: said.and_then(|said| said.status).unwrap_or(default_status(why)),
            shown: said.map_or(Ok(Attributes::new()), |said| self.shown(&said.shown, own))?,
        })
    }

    pub fn key(
        &self,
        entity: EntityId,
        key: &[(String, Expr)],
        own: Option<&Attributes>,
    ) -> Result<Attributes, ExpectedOutcome> {
        let entity = self.entity(entity)?;
        let mut found = Attributes::new();
        for (name, expr) in key {
            let value = match entity.attribute(name) {
                Some(attribute) => self.value_as(expr, &attribute.ty, own)?,
                None => self.value(expr, own)?,
            };
            found.extend(value.map(|value| (name.clone(), value)));
        }
        Ok(found)
    }

    /// The row with that key; none where a part of it has no value.
    pub fn touch_row(&mut self, entity: EntityId, key: &Attributes) -> Result<Option<usize>, ExpectedOutcome> {
        let identity = world::row_identity(self.frame.model, entity, key);
        if identity.iter().any(Option::is_none) {
            return Ok(None);
        }
        let known = self
            .touched
            .iter()
            .position(|touched| touched.entity == entity && touched.identity == identity);
        if known.is_some() {
            return Ok(known);
        }
        let mut was = None;
        for row in self.seen(entity)? {
            if world::row_identity(self.frame.model, entity, &row) == identity {
                was = Some(row);
            }
        }
        self.frame.trace.touch(|| (entity, identity.clone()));
        self.touched.push(TouchedRow {
            entity,
            identity,
            was,
            fate: Fate::Looked,
            edits: OracleEdits::default(),
            becomes: None,
        });
        Ok(Some(self.touched.len() - 1))
    }

    /// The rows of an entity as everybody sees them.
    pub(super) fn seen(&self, entity: EntityId) -> Result<Vec<Attributes>, ExpectedOutcome> {
        let described = self.entity(entity)?;
        let mut rows = Vec::new();
        for (_, row) in self.before.iter().filter(|(known, _)| *known == entity) {
            let row = world::live_row(described, row, self.scope(None))?;
            rows.extend(row.filter(|row| world::is_current(described, row)));
        }
        Ok(rows)
    }

    /// The rows of a selection, in its order and to its limit.
    pub fn found_rows(&self, selection: &Selection) -> Result<Vec<Attributes>, ExpectedOutcome> {
        let mut rows = Vec::new();
        for entity in &selection.entities {
            for row in self.seen(*entity)? {
                let meant = match &selection.filter {
                    Some(filter) => self.holds_now(filter, Some(&row))?,
                    None => true,
                };
                if meant {
                    rows.push(row);
                }
            }
        }
        let mut failed = Ok(());
        rows.sort_by(|one, other| {
            self.compare_rows(selection, one, other).unwrap_or_else(|error| {
                failed = Err(error);
                Ordering::Equal
            })
        });
        failed?;
        self.in_a_chosen_order(selection, rows)
    }

    fn compare_rows(
        &self,
        selection: &Selection,
        one: &Attributes,
        other: &Attributes,
    ) -> Result<Ordering, ExpectedOutcome> {
        let Some(entity) = selection.entity().and_then(|id| self.frame.model.entity(id)) else {
            return Ok(Ordering::Equal);
        };
        for order in &selection.order {
            let ty = self.frame.model.type_at(entity, &order.path);
            let compared = match (one.get(&order.path), other.get(&order.path), ty) {
                (Some(one), Some(other), Some((ty, _))) => row_order(one, other, &ty)?,
                (one, other, _) => one.is_some().cmp(&other.is_some()),
            };
            if compared.is_ne() {
                return Ok(if order.descending { compared.reverse() } else { compared });
            }
        }
        Ok(Ordering::Equal)
    }

    /// Rows that are sorted, to the limit. Which of those comes first that are equal in the order is left open.
    fn in_a_chosen_order(
        &self,
        selection: &Selection,
        mut rows: Vec<Attributes>,
    ) -> Result<Vec<Attributes>, ExpectedOutcome> {
        let limit = selection.limit.and_then(|limit| usize::try_from(limit).ok());
        let most = limit.unwrap_or(usize::MAX).min(rows.len());
        // One row without an order is the only one, or refused.
        if matches!(selection.kind, SelectionKind::Get { .. }) && selection.order.is_empty() {
            rows.truncate(most);
            return Ok(rows);
        }
        let mut chosen = Vec::with_capacity(most);
        while let (true, Some(first)) = (chosen.len() < most, rows.first()) {
            let mut tied = 1;
            for other in rows.get(1..).unwrap_or_default() {
                if self.compare_rows(selection, first, other)?.is_ne() {
                    break;
                }
                tied += 1;
            }
            chosen.push(rows.remove(self.frame.maker.choices.choose_one(tied)));
        }
        Ok(chosen)
    }

    pub fn list_elements(&self, list: &LetValue) -> Result<Vec<Element>, ExpectedOutcome> {
        Ok(match list {
            LetValue::Value(expr) => {
                let elements = match self.value(expr, None)? {
                    Some(Value::L(elements)) => elements,
                    Some(Value::Ss(words)) => words.into_iter().map(Value::S).collect(),
                    Some(Value::Ns(numbers)) => numbers.into_iter().map(Value::N).collect(),
                    _ => Vec::new(),
                };
                let row_of = |element: &Value| match (expr.ty.element_type(), element) {
                    (Some(Type::Row(entity)), Value::M(row)) => Some((*entity, row.clone())),
                    _ => None,
                };
                let with_row = |element: Value| {
                    let row = row_of(&element);
                    (element, row)
                };
                elements.into_iter().map(with_row).collect()
            }
            LetValue::Read(selection) => {
                let entity = selection.entity().ok_or(ExpectedOutcome::BadRequest)?;
                let rows = self.found_rows(selection)?.into_iter();
                rows.map(|row| (Value::M(row.clone()), Some((entity, row)))).collect()
            }
        })
    }

    pub fn bind_element(&mut self, name: &str, (value, row): Element) {
        self.bound.insert(name.to_owned(), value);
        self.names.remove(name);
        if let Some((entity, row)) = row
            && let Ok(Some(at)) = self.touch_row(entity, &row)
        {
            self.names.insert(name.to_owned(), at);
        }
    }

    pub fn take_steps(&mut self, steps: &'a [Step]) -> Result<(), ExpectedOutcome> {
        for step in steps {
            let Some((name, list)) = &step.repeat else {
                self.take_turn(step)?;
                continue;
            };
            for element in self.list_elements(list)? {
                self.bind_element(name, element);
                self.take_turn(step)?;
            }
            self.bound.remove(name);
            self.names.remove(name);
        }
        Ok(())
    }

    /// Takes a step once.
    pub fn take_turn(&mut self, step: &'a Step) -> Result<(), ExpectedOutcome> {
        let done = self.take_step(step);
        if done.is_err() {
            self.stopped_at.get_or_insert(step);
        }
        done
    }

    fn take_step(&mut self, step: &'a Step) -> Result<(), ExpectedOutcome> {
        if let Some(when) = &step.when
            && !self.holds_now(when, None)?
        {
            self.note_skipped(when);
            return Ok(());
        }
        match &step.kind {
            StepKind::Group(inner) => self.take_steps(inner),
            StepKind::Call { step, args } => self.call(step, args),
            StepKind::Create(entity) => self.create(step, *entity, Attributes::new()),
            StepKind::Upsert(target) => match self.target_row(target)? {
                Some(at) if self.touched.get(at).is_some_and(|touched| touched.was.is_some()) => self.update(step, at),
                Some(at) => {
                    let entity = step.entity().ok_or(ExpectedOutcome::BadRequest)?;
                    let names = world::key_variables(self.frame.model, entity).iter().cloned();
                    let identity = self.touched.get(at).map(|touched| touched.identity.clone());
                    let known = names.zip(identity.into_iter().flatten());
                    let known: Attributes = known.filter_map(|(name, value)| Some((name, value?))).collect();
                    let problems = self.key_limits(step, entity, &known)?;
                    match self.refuse_step(step, problems)? {
                        true => Ok(()),
                        false => self.create(step, entity, known),
                    }
                }
                None => self.absent_row(step),
            },
            StepKind::Update(target) => match self.target_row(target)? {
                Some(at) => self.update(step, at),
                None => self.absent_row(step),
            },
            StepKind::Delete(target) => match self.target_row(target)? {
                Some(at) => self.delete(step, at),
                None => self.absent_row(step),
            },
            StepKind::Present(target) => match self.target_row(target)? {
                Some(at) => match self.touched.get(at).and_then(|touched| touched.was.clone()) {
                    Some(row) => {
                        let problems = self.step_requirements(step, &row)?;
                        self.refuse_step(step, problems).map(|_| ())
                    }
                    None => self.absent_row(step),
                },
                None => self.absent_row(step),
            },
            StepKind::Absent(target) => {
                let at = self.target_row(target)?;
                let row = at.and_then(|at| self.touched.get(at)?.was.clone());
                let (Some(row), Some(entity)) = (row, step.entity()) else {
                    return Ok(());
                };
                let refusal = self.default_refusal(step, self.entity(entity)?, &DefaultRefusal::Exists, Some(&row))?;
                self.note_in_the_way(entity, &row);
                self.refuse_step(step, vec![refusal]).map(|_| ())
            }
        }
    }

    fn call(&mut self, name: &str, args: &[(String, Expr)]) -> Result<(), ExpectedOutcome> {
        let mut known = self.frame.model.steps.iter();
        let named = known
            .find(|known| known.name == name)
            .ok_or(ExpectedOutcome::BadRequest)?;
        let mut given = Attributes::new();
        for param in &named.args {
            let value = match args.iter().find(|(name, _)| *name == param.name) {
                Some((_, expr)) => self.value_as(expr, &param.ty, None)?,
                None => match &param.default {
                    Some(default) => self.value(default, None)?,
                    None => None,
                },
            };
            given.extend(value.map(|value| (param.name.clone(), value)));
        }
        let outer = std::mem::replace(&mut self.args, given);
        self.calls += 1;
        let done = self.take_steps(&named.steps);
        self.calls -= 1;
        self.args = outer;
        done
    }

    /// The row that a step is about.
    pub fn target_row(&mut self, target: &Expr) -> Result<Option<usize>, ExpectedOutcome> {
        match &target.kind {
            ExprKind::Bound(name) => Ok(self.names.get(name).copied()),
            ExprKind::Entity { entity, key } => {
                let key = self.key(*entity, key, None)?;
                let at = self.touch_row(*entity, &key)?;
                self.note_missing(*entity, at, key);
                Ok(at)
            }
            _ => Ok(None),
        }
    }

    /// What is said of a key that no row can have.
    fn key_limits(&self, step: &Step, entity: EntityId, key: &Attributes) -> Result<Vec<Refused>, ExpectedOutcome> {
        let entity = self.entity(entity)?;
        let mut problems = Vec::new();
        for (name, value) in key {
            problems.extend(self.limit(step, entity, name, Some(value), None)?);
        }
        Ok(problems)
    }

    /// What is said of a row that is not there.
    pub fn absent_row(&self, step: &Step) -> Result<(), ExpectedOutcome> {
        let entity = self.entity(step.entity().ok_or(ExpectedOutcome::BadRequest)?)?;
        let refusal = self.default_refusal(step, entity, &DefaultRefusal::Absent, None)?;
        self.refuse_step(step, vec![refusal]).map(|_| ())
    }

    /// Whether a step with these problems is passed over; where it is not, they are what is said.
    pub fn refuse_step(&self, step: &Step, problems: Vec<Refused>) -> Result<bool, ExpectedOutcome> {
        match problems.is_empty() {
            true => Ok(false),
            false if step.or_skip => Ok(true),
            false if self.frame.lenient || self.is_unconditional(step) => Ok(false),
            false => Err(ExpectedOutcome::Refused(problems)),
        }
    }

    pub fn step_requirements(&self, step: &Step, own: &Attributes) -> Result<Vec<Refused>, ExpectedOutcome> {
        for requirement in &step.requirements {
            if !self.holds_now(&requirement.condition, Some(own))? {
                self.note_obstacle(&requirement.condition, step.entity().map(|entity| (entity, own)));
                return Ok(vec![self.require_clause(requirement, Some(own))?]);
            }
        }
        Ok(Vec::new())
    }

    /// Remembers what a step made of a row: under its name, and as what is answered.
    pub fn note_became(&mut self, step: &Step, at: usize, row: &Attributes, created: bool) {
        if let Some(name) = &step.named {
            self.bound.insert(name.clone(), Value::M(row.clone()));
            self.names.insert(name.clone(), at);
        }
        let other = step.set.len() + step.take.len() + step.patch.len() + step.remove.len() + step.append.len();
        let counted =
            !matches!(step.kind, StepKind::Create(_)) && !step.add.is_empty() && other == 0 && step.moves.is_none();
        let better = self.first.is_none_or(|(_, _, known)| known && !counted);
        if self.calls == 0 && better {
            self.first = Some((at, created, counted));
        }
    }

    /// The answer, from what rows become.
    pub fn answer(&mut self) -> Result<ExpectedOutcome, ExpectedOutcome> {
        let becomes = |at: &usize| self.touched.get(*at)?.becomes.clone();
        let names = self.names.iter();
        let after: Vec<(String, Value)> = names
            .filter_map(|(name, at)| Some((name.clone(), Value::M(becomes(at)?))))
            .collect();
        self.bound.extend(after);
        let first = self.first.and_then(|(at, _, _)| self.touched.get(at));
        let value = match &self.frame.write.returns {
            Return::Nothing => None,
            Return::Usual => first.and_then(|touched| touched.becomes.clone().or(touched.was.clone()).map(Value::M)),
            Return::Value(expr) => self.answered_value(expr)?,
            Return::Fields(fields) => {
                let mut map = Attributes::new();
                for (name, expr) in fields {
                    map.extend(self.answered_value(expr)?.map(|value| (name.clone(), value)));
                }
                Some(Value::M(map))
            }
        };
        let said = self.frame.write.http.as_ref().and_then(|route| route.status);
        let created = self.first.is_some_and(|(_, created, _)| created);
        let status = said.unwrap_or(match (&value, created) {
            (None, _) => 204,
            (Some(_), true) => 201,
            (Some(_), false) => 200,
        });
        Ok(ExpectedOutcome::Done {
            status,
            value: value.filter(|_| status != 204),
            replayed: false,
        })
    }
}

pub(super) fn refused_step(refused: Refused) -> ExpectedOutcome {
    ExpectedOutcome::Refused(vec![refused])
}

/// What is said where one row would be changed in two ways at once.
pub(super) fn same_item() -> ExpectedOutcome {
    ExpectedOutcome::Refused(same_item_refusal())
}

/// The refusal of two changes of one row that cannot both be.
pub(super) fn same_item_refusal() -> Vec<Refused> {
    vec![Refused {
        name: "same_item".to_owned(),
        status: 409,
        shown: Attributes::new(),
    }]
}

/// The number that a version begins with.
pub(super) fn first_version() -> Value {
    Value::N(Number::from(1))
}
