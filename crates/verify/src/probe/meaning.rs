//! What a read means, by looking at every row: who may, the names of `let`, the rows, their order, and the shape of the answer.
//!
//! It knows no key, no index and no plan: only the evaluator of expressions, and what entities promise of time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate, evaluate_as, evaluate_bound, holds_condition, time};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, LetValue, Order, Read, Return, Selection, SelectionKind};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::{Attributes, Request, Scope, Setting};
use singlet_values as values;

use super::counted::counted_rows;
use super::shape::AnswerShape;
use crate::choices::Choices;
use crate::oracle;
use crate::writes::world::{self, Row};

/// What a read must come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExpectedRead {
    /// An answer.
    Answer(AnswerShape),
    /// No such row, or none that the caller may see.
    NotFound,
    /// The caller may not.
    Forbidden,
    /// The caller has shown no credentials.
    Unauthenticated,
    /// More than one row fits where one is meant.
    Several,
    /// The request is wrong.
    BadRequest,
    /// An expression leaves the range of its type.
    Fails(String),
    /// Any of these: rows that a name stands for come in an order that the model leaves open.
    OneOf(Vec<ExpectedRead>),
}

/// Why a read has no answer.
pub(super) enum ReadStop {
    Because(ExpectedRead),
    Failed(EvaluateError),
}

impl From<EvaluateError> for ReadStop {
    fn from(error: EvaluateError) -> Self {
        ReadStop::Failed(error)
    }
}

/// A read on its way: its arguments and names.
pub(super) struct AskedRead<'a> {
    pub model: &'a Model,
    pub setting: &'a Setting,
    pub read: &'a Read,
    pub request: &'a Request,
    pub rows: &'a [Row],
    pub args: Attributes,
    pub bound: Attributes,
    /// In which order rows of `let` come that are equal in theirs.
    choices: Choices,
}

/// What a read must come to on these rows.
pub(super) fn expected_read(asking: &mut AskedRead<'_>) -> ExpectedRead {
    let mut all = vec![expected_so(asking)];
    for _ in 1..ORDERS_MAX {
        let Some(choices) = asking.choices.next_way() else {
            break;
        };
        asking.choices = choices;
        asking.args.clear();
        asking.bound.clear();
        let other = expected_so(asking);
        if !all.contains(&other) {
            all.push(other);
        }
    }
    match all.len() {
        1 => all.swap_remove(0),
        _ => ExpectedRead::OneOf(all),
    }
}

/// What it must come to on one of the ways through what the model leaves open.
fn expected_so(asking: &mut AskedRead<'_>) -> ExpectedRead {
    let answer = asking.prepare_scope().and_then(|()| asking.answer());
    match answer {
        Ok(shape) => ExpectedRead::Answer(shape),
        Err(ReadStop::Because(expected)) => expected,
        Err(ReadStop::Failed(error)) => ExpectedRead::Fails(error.to_string()),
    }
}

impl<'a> AskedRead<'a> {
    pub fn new(model: &'a Model, setting: &'a Setting, read: &'a Read, request: &'a Request, rows: &'a [Row]) -> Self {
        AskedRead {
            model,
            setting,
            read,
            request,
            rows,
            args: Attributes::new(),
            bound: Attributes::new(),
            choices: Choices::default(),
        }
    }

    pub fn scope(&self) -> Scope<'_> {
        Scope {
            setting: self.setting,
            now: self.request.now,
            args: &self.args,
            caller: &self.request.caller,
            attributes: None,
            row: None,
            bound: &self.bound,
        }
    }

    /// Arguments, who may, and the names of `let`.
    pub fn prepare_scope(&mut self) -> Result<(), ReadStop> {
        self.take_arguments()?;
        for conjunct in self.read.allow.conjuncts() {
            let of_a_row = !conjunct.attributes().is_empty();
            let of_a_name = conjunct.any(|part| matches!(part.kind, ExprKind::Bound(_)));
            if !of_a_row && !of_a_name && !holds_condition(conjunct, &self.scope())? {
                return Err(ReadStop::Because(match self.request.caller.authenticated {
                    true => ExpectedRead::Forbidden,
                    false => ExpectedRead::Unauthenticated,
                }));
            }
        }
        self.bind_lets()?;
        for conjunct in self.read.allow.conjuncts() {
            if conjunct.attributes().is_empty() && !holds_condition(conjunct, &self.scope())? {
                return Err(ReadStop::Because(ExpectedRead::NotFound));
            }
        }
        Ok(())
    }

    fn take_arguments(&mut self) -> Result<(), ReadStop> {
        let wrong = || ReadStop::Because(ExpectedRead::BadRequest);
        for (name, value) in &self.request.args {
            let arg = self.read.argument_named(name).ok_or_else(wrong)?;
            let value = values::checked_value(value, &arg.ty).map_err(|_| wrong())?;
            self.args.insert(name.clone(), value);
        }
        let left_open = self
            .read
            .args
            .iter()
            .filter(|arg| arg.optional && arg.default.is_none());
        let sent: Vec<&String> = left_open
            .map(|arg| &arg.name)
            .filter(|name| self.args.contains_key(*name))
            .collect();
        let listed = self.read.combinations.iter();
        let is_listed = listed
            .clone()
            .any(|known| known.len() == sent.len() && sent.iter().all(|name| known.contains(name)));
        if !self.read.combinations.is_empty() && !is_listed {
            return Err(wrong());
        }
        for arg in &self.read.args {
            if self.args.contains_key(&arg.name) {
                continue;
            }
            match &arg.default {
                Some(default) => {
                    let value = evaluate(default, &self.scope())?;
                    self.args.extend(value.map(|value| (arg.name.clone(), value)));
                }
                None if arg.optional => {}
                None => return Err(wrong()),
            }
        }
        Ok(())
    }

    fn bind_lets(&mut self) -> Result<(), ReadStop> {
        for bound in &self.read.lets {
            let value = match &bound.value {
                LetValue::Value(expr) => match &expr.kind {
                    ExprKind::Entity { entity, key } => self.row_by_key(*entity, key)?.map(Value::M),
                    _ => evaluate_bound(expr, &self.scope())?,
                },
                LetValue::Read(selection) => {
                    let found = self.found_rows(selection, self.scope(), None, false)?;
                    match selection.kind {
                        SelectionKind::Find => {
                            let found = self.in_a_chosen_order(selection, found)?.into_iter();
                            Some(Value::L(found.map(Value::M).collect()))
                        }
                        _ => match self.first_of(selection, found)? {
                            Some(mut first) => Some(Value::M(first.swap_remove(self.choices.choose_one(first.len())))),
                            None => None,
                        },
                    }
                }
            };
            match value {
                Some(value) => {
                    self.bound.insert(bound.name.clone(), value);
                }
                None if bound.optional => {}
                None => return Err(ReadStop::Because(ExpectedRead::NotFound)),
            }
        }
        Ok(())
    }

    fn row_by_key(&self, entity: EntityId, key: &[(String, Expr)]) -> Result<Option<Attributes>, ReadStop> {
        let Some(described) = self.model.entity(entity) else {
            return Ok(None);
        };
        let mut wanted = Attributes::new();
        for (name, expr) in key {
            let ty = described
                .attribute(name)
                .map_or(&Type::Unknown, |attribute| &attribute.ty);
            let value = evaluate_as(expr, ty, &self.scope())?;
            wanted.extend(value.map(|value| (name.clone(), value)));
        }
        let identity = world::row_identity(self.model, entity, &wanted);
        if identity.iter().any(Option::is_none) {
            return Ok(None);
        }
        let rows = self.seen_rows(described, false)?;
        Ok(rows
            .into_iter()
            .find(|row| world::row_identity(self.model, entity, row) == identity))
    }

    fn answer(&mut self) -> Result<AnswerShape, ReadStop> {
        if self.read.each.is_some() {
            return self.each();
        }
        let Some(selection) = self.read.selection.as_ref() else {
            return Ok(AnswerShape::Map(self.groups(None)?));
        };
        let rows = self.found_rows(selection, self.scope(), Some(&self.read.allow), true)?;
        match selection.kind {
            SelectionKind::Count => Ok(AnswerShape::Value(Some(counted_rows(selection, &rows, self.scope())?))),
            SelectionKind::Get { optional } => match self.first_of(selection, rows)? {
                Some(first) => Ok(AnswerShape::Any(self.shapes(first)?)),
                None if optional => Ok(AnswerShape::Value(self.returned_of_nothing()?)),
                None => Err(ReadStop::Because(ExpectedRead::NotFound)),
            },
            SelectionKind::Find => {
                if rows.is_empty() && self.read.empty == Some(404) {
                    return Err(ReadStop::Because(ExpectedRead::NotFound));
                }
                let groups = self.tied_rows(selection, rows)?.into_iter();
                Ok(AnswerShape::Rows {
                    groups: groups.map(|group| self.shapes(group)).collect::<Result<_, _>>()?,
                    most: selection.limit.map_or(usize::MAX, |limit| limit as usize),
                })
            }
        }
    }

    /// The rows of which the first is meant; without an order there may be one only.
    fn first_of(&self, selection: &Selection, rows: Vec<Attributes>) -> Result<Option<Vec<Attributes>>, ReadStop> {
        if selection.order.is_empty() && rows.len() > 1 {
            return Err(ReadStop::Because(ExpectedRead::Several));
        }
        Ok(self.tied_rows(selection, rows)?.into_iter().next())
    }

    fn shapes(&self, rows: Vec<Attributes>) -> Result<Vec<AnswerShape>, ReadStop> {
        rows.into_iter().map(|row| self.shape(&row)).collect()
    }

    /// A row as it is answered, with what comes with it.
    fn shape(&self, row: &Attributes) -> Result<AnswerShape, ReadStop> {
        let own = self.returned(row)?;
        if self.read.with.is_empty() {
            return Ok(AnswerShape::Value(Some(own)));
        }
        let Value::M(own) = own else {
            return Ok(AnswerShape::Value(Some(own)));
        };
        let own = own
            .into_iter()
            .map(|(name, value)| (name, AnswerShape::Value(Some(value))));
        let mut fields: BTreeMap<String, AnswerShape> = own.collect();
        fields.extend(self.groups(Some(row))?);
        Ok(AnswerShape::Map(fields))
    }

    fn returned(&self, row: &Attributes) -> Result<Value, ReadStop> {
        match &self.read.returns {
            Return::Usual | Return::Nothing => Ok(Value::M(row.clone())),
            Return::Value(_) | Return::Fields(_) => self.returned_in(self.scope().with_row(row)),
        }
    }

    fn returned_in(&self, scope: Scope<'_>) -> Result<Value, ReadStop> {
        Ok(match &self.read.returns {
            Return::Usual | Return::Nothing => Value::Null,
            Return::Value(expr) => evaluate(expr, &scope)?.unwrap_or(Value::Null),
            Return::Fields(fields) => {
                let mut map = Attributes::new();
                for (name, expr) in fields {
                    map.extend(evaluate(expr, &scope)?.map(|value| (name.clone(), value)));
                }
                Value::M(map)
            }
        })
    }

    /// What `return` makes of a row that may be missing, and is.
    fn returned_of_nothing(&self) -> Result<Option<Value>, ReadStop> {
        match &self.read.returns {
            Return::Usual | Return::Nothing => Ok(None),
            Return::Value(_) | Return::Fields(_) => self.returned_in(self.scope()).map(Some),
        }
    }

    /// What comes with a row, or with nothing.
    fn groups(&self, parent: Option<&Attributes>) -> Result<BTreeMap<String, AnswerShape>, ReadStop> {
        let mut bound = self.bound.clone();
        if let Some(parent) = parent {
            bound.insert("row".to_owned(), Value::M(parent.clone()));
        }
        let scope = Scope {
            row: parent,
            bound: &bound,
            ..self.scope()
        };
        let mut groups = BTreeMap::new();
        for part in &self.read.with {
            let rows = self.found_rows(&part.selection, scope, part.allow.as_ref(), false)?;
            let shape = match part.selection.kind {
                SelectionKind::Count => AnswerShape::Value(Some(counted_rows(&part.selection, &rows, scope)?)),
                SelectionKind::Get { .. } => match self.first_of(&part.selection, rows)? {
                    Some(first) => AnswerShape::Any(plain(first)),
                    None => AnswerShape::Value(None),
                },
                SelectionKind::Find => AnswerShape::Rows {
                    groups: self.tied_rows(&part.selection, rows)?.into_iter().map(plain).collect(),
                    most: part.selection.limit.map_or(usize::MAX, |limit| limit as usize),
                },
            };
            groups.insert(part.name.clone(), shape);
        }
        Ok(groups)
    }

    fn each(&mut self) -> Result<AnswerShape, ReadStop> {
        let (Some(each), Some(selection)) = (&self.read.each, &self.read.selection) else {
            return Ok(AnswerShape::Value(None));
        };
        let too_many = || ReadStop::Because(ExpectedRead::BadRequest);
        // A list too long to be made asks for too much.
        let elements = match evaluate(&each.list, &self.scope()).map_err(|_| too_many())? {
            Some(Value::L(elements)) => elements,
            _ => Vec::new(),
        };
        if elements.len() as u64 > each.at_most {
            return Err(too_many());
        }
        let names = self.bound.clone();
        let mut groups = Vec::new();
        for element in elements {
            self.bound = names.clone();
            self.bound.insert(each.name.clone(), element);
            let rows = self.found_rows(selection, self.scope(), Some(&self.read.allow), false)?;
            let orders = self.orders(selection, rows)?;
            let most = selection.limit.map_or(usize::MAX, |limit| limit as usize);
            let mut shapes = Vec::new();
            for rows in orders {
                let rows: Vec<Attributes> = rows.into_iter().take(most).collect();
                self.bound
                    .insert("rows".to_owned(), Value::L(rows.into_iter().map(Value::M).collect()));
                shapes.push(AnswerShape::Value(Some(self.returned(&Attributes::new())?)));
            }
            groups.push(vec![AnswerShape::Any(shapes)]);
        }
        self.bound = names;
        Ok(AnswerShape::Rows {
            groups,
            most: usize::MAX,
        })
    }

    /// Rows that are sorted, to the limit. Which of those comes first that are equal in the order is left open.
    fn in_a_chosen_order(&self, selection: &Selection, rows: Vec<Attributes>) -> Result<Vec<Attributes>, ReadStop> {
        let most = selection.limit.map_or(usize::MAX, |limit| limit as usize);
        let mut chosen = Vec::new();
        for mut group in self.tied_rows(selection, rows)? {
            while chosen.len() < most && !group.is_empty() {
                chosen.push(group.remove(self.choices.choose_one(group.len())));
            }
        }
        Ok(chosen)
    }

    /// Every order in which rows may come, where those are few; of many, that which they have.
    fn orders(&self, selection: &Selection, rows: Vec<Attributes>) -> Result<Vec<Vec<Attributes>>, ReadStop> {
        let mut orders: Vec<Vec<Attributes>> = vec![Vec::new()];
        for group in self.tied_rows(selection, rows)? {
            let mut longer = Vec::new();
            for permuted in permutations(&group) {
                for order in &orders {
                    let mut order = order.clone();
                    order.extend(permuted.iter().cloned());
                    longer.push(order);
                }
            }
            longer.truncate(ORDERS_MAX);
            orders = longer;
        }
        Ok(orders)
    }

    /// The rows that are meant, in their order. A read's own selection may be of another instant, or of all versions.
    pub fn found_rows(
        &self,
        selection: &Selection,
        scope: Scope<'_>,
        allow: Option<&Expr>,
        own: bool,
    ) -> Result<Vec<Attributes>, ReadStop> {
        let mut rows = Vec::new();
        for entity in selection.entities.iter().filter_map(|id| self.model.entity(*id)) {
            for row in self.seen_rows(entity, own)? {
                if self.means(selection, allow, scope.with_row(&row))? {
                    rows.push(row);
                }
            }
        }
        let order = self.order(selection, own)?;
        let mut failed = None;
        let sorting = sorted_by(selection, order);
        rows.sort_by(|a, b| {
            oracle::compare_rows(self.model, &sorting, a, b).unwrap_or_else(|error| {
                failed = Some(error);
                Ordering::Equal
            })
        });
        failed.map_or(Ok(rows), |error| Err(ReadStop::Failed(error)))
    }

    fn order(&self, selection: &Selection, own: bool) -> Result<Vec<Order>, ReadStop> {
        let mut order = selection.order.clone();
        if let Some(reverse) = self.read.reverse.as_ref().filter(|_| own)
            && holds_condition(reverse, &self.scope())?
        {
            order.iter_mut().for_each(|order| order.descending = !order.descending);
        }
        Ok(order)
    }

    /// Rows in groups of those that are equal in the order.
    pub(crate) fn tied_rows(
        &self,
        selection: &Selection,
        rows: Vec<Attributes>,
    ) -> Result<Vec<Vec<Attributes>>, ReadStop> {
        let mut groups: Vec<Vec<Attributes>> = Vec::new();
        for row in rows {
            let last = groups.last().and_then(|group| group.first());
            let tied = match last {
                Some(last) => oracle::compare_rows(self.model, selection, last, &row)?.is_eq(),
                None => false,
            };
            match groups.last_mut().filter(|_| tied) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        Ok(groups)
    }

    fn means(&self, selection: &Selection, allow: Option<&Expr>, scope: Scope<'_>) -> Result<bool, ReadStop> {
        for conjunct in selection.filter.iter().flat_map(Expr::conjuncts) {
            if !self.is_left_out(conjunct) && !holds_condition(conjunct, &scope)? {
                return Ok(false);
            }
        }
        Ok(match allow {
            Some(allow) => holds_condition(allow, &scope)?,
            None => true,
        })
    }

    /// `attribute OP args.x` is left out where the optional `x` was not sent; a test of `x` itself is not.
    pub fn is_left_out(&self, conjunct: &Expr) -> bool {
        let unsent = |expr: &Expr| match &expr.kind {
            ExprKind::Arg(name) => {
                !self.args.contains_key(name) && self.read.argument_named(name).is_some_and(|arg| arg.optional)
            }
            _ => false,
        };
        match &conjunct.kind {
            ExprKind::Binary(op, left, right) if op.is_comparison() => {
                (unsent(left) && !right.is_absent()) || (unsent(right) && !left.is_absent())
            }
            ExprKind::Call(_, args) => args.iter().any(unsent),
            _ => false,
        }
    }

    /// The rows of an entity as everybody sees them; of a mirror, those of its source, with what it carries.
    pub fn seen_rows(&self, entity: &Entity, own: bool) -> Result<Vec<Attributes>, ReadStop> {
        let source = self.model.source_of(entity);
        let (nothing, scope) = (Attributes::new(), self.scope());
        let scope = Scope {
            bound: &nothing,
            ..scope
        };
        let mut rows = Vec::new();
        for (_, row) in self.rows.iter().filter(|(id, _)| *id == source.id) {
            if !self.is_version(source, row, own)? {
                continue;
            }
            let Some(seen) = world::live_row(source, row, scope)? else {
                continue;
            };
            if entity.mirror.is_none() {
                rows.push(seen);
            } else if has_key(entity, row) {
                let carried = seen.into_iter().filter(|(name, _)| entity.attribute(name).is_some());
                rows.push(carried.collect());
            }
        }
        Ok(rows)
    }

    /// Whether a row is the version that is asked for: the current one, that of an instant, or any.
    fn is_version(&self, entity: &Entity, row: &Attributes, own: bool) -> Result<bool, ReadStop> {
        let Some(history) = &entity.history else {
            return Ok(true);
        };
        if own && self.read.all_versions {
            return Ok(true);
        }
        let Some(at) = self.read.at.as_ref().filter(|_| own) else {
            return Ok(world::is_current(entity, row));
        };
        let Some(at) = evaluate_as(at, &Type::Millis, &self.scope())? else {
            return Ok(false);
        };
        let at = at.as_number().and_then(Number::to_i64);
        let instant = |name: &String| -> Result<Option<i64>, EvaluateError> {
            let ty = entity.attribute(name).map_or(&Type::Time, |attribute| &attribute.ty);
            Ok(row
                .get(name)
                .map(|value| time::millis_of(value, ty))
                .transpose()?
                .flatten())
        };
        let (begun, until) = (instant(&history.at)?, instant(&history.until)?);
        let holds = begun <= at && until.is_none_or(|until| at.is_some_and(|at| at < until));
        Ok(holds && !world::is_deleted(history, row))
    }
}

/// The most orders of the rows of one element that are tried.
const ORDERS_MAX: usize = 24;

/// The most rows that are equal in an order and are tried in every order.
const PERMUTED_MAX: usize = 4;

fn permutations(rows: &[Attributes]) -> Vec<Vec<Attributes>> {
    let Some((first, rest)) = rows.split_first().filter(|_| rows.len() <= PERMUTED_MAX) else {
        return vec![rows.to_vec()];
    };
    let mut all = Vec::new();
    for others in permutations(rest) {
        for at in 0..=others.len() {
            let mut order = others.clone();
            order.insert(at, first.clone());
            all.push(order);
        }
    }
    all
}

fn sorted_by(selection: &Selection, order: Vec<Order>) -> Selection {
    Selection {
        order,
        ..selection.clone()
    }
}

fn plain(rows: Vec<Attributes>) -> Vec<AnswerShape> {
    rows.into_iter()
        .map(|row| AnswerShape::Value(Some(Value::M(row))))
        .collect()
}

fn has_key(entity: &Entity, row: &Attributes) -> bool {
    let mut parts = entity.key_templates().flat_map(|key| &key.parts);
    parts.all(|part| {
        let mut names = part.path.split('.');
        let first = names.next().and_then(|name| row.get(name));
        let value = names.try_fold(first, |value, name| {
            Some(value.and_then(|value| value.as_map()?.get(name)))
        });
        value.flatten().is_some()
    })
}
