//! Conditions written by hand, run as they are written: the key condition, the filter, the limit, the order, the number of
//! queries. What the process does with a row by itself (who may see it, what time has made of it) is done here too.

use std::cmp::Ordering;

use jiff::Span;
use jiff::civil::Date;
use singlet_item::{Item, Value};
use singlet_model::evaluate::{evaluate, geo, holds_condition};
use singlet_model::expression::Expr;
use singlet_model::model::{
    Comparison, Entity, KeyPart, KeyTemplate, PartFunction, Projection, Selection, SelectionKind, Using, UsingKey,
};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, RuntimeError, Scope, row};
use singlet_store::{Direction, KeyRange, QueryRequest, SortRange};

use super::counted::counted_rows;
use super::meaning::{AskedRead, ExpectedRead, ReadStop};
use super::reads::{ComparedCase, ReadCase, TriedRead, answer_difference};
use super::shape::AnswerShape;
use super::worker::Worker;
use crate::writes::world;

/// Answers a case by the condition that is written, and by looking at every row.
pub(super) async fn compare_by_hand(worker: &Worker<'_>, tried: TriedRead<'_>, case: &ReadCase) -> ComparedCase {
    let judge = tried.judge;
    let mut asking = AskedRead::new(judge.model, judge.setting, tried.read, &case.request, &case.table.rows);
    match answers(worker, &mut asking).await {
        Ok((expected, got)) => ComparedCase {
            difference: answer_difference(&expected, &got),
            expected,
            got,
        },
        // Who may and what is named is no matter of the condition.
        Err(ReadStop::Because(expected)) => ComparedCase {
            difference: None,
            expected,
            got: Ok(None),
        },
        Err(ReadStop::Failed(error)) => ComparedCase {
            difference: None,
            expected: ExpectedRead::Fails(error.to_string()),
            got: Ok(None),
        },
    }
}

type Answers = (ExpectedRead, Result<Option<Value>, RuntimeError>);

async fn answers(worker: &Worker<'_>, asking: &mut AskedRead<'_>) -> Result<Answers, ReadStop> {
    asking.prepare_scope()?;
    let read = asking.read;
    let nothing = || Ok((ExpectedRead::Answer(AnswerShape::Value(None)), Ok(None)));
    let (Some(selection), Some(using)) = (&read.selection, &read.using) else {
        return nothing();
    };
    let Some(entity) = selection.entity().and_then(|id| asking.model.entity(id)) else {
        return nothing();
    };
    let query = HandCondition {
        worker,
        selection,
        using,
        entity,
    };
    let Some(each) = &read.each else {
        let meant = asking.found_rows(selection, asking.scope(), Some(&read.allow), true)?;
        let got = query.rows(asking, asking.scope()).await;
        return Ok((
            ExpectedRead::Answer(query.shape(asking, meant)?),
            query.answer(asking, got),
        ));
    };
    let elements = match evaluate(&each.list, &asking.scope()) {
        Ok(Some(Value::L(elements))) if elements.len() as u64 <= each.at_most => elements,
        _ => return Err(ReadStop::Because(ExpectedRead::BadRequest)),
    };
    let names = asking.bound.clone();
    let (mut groups, mut came) = (Vec::new(), Ok(Vec::new()));
    for element in elements {
        asking.bound.insert(each.name.clone(), element);
        let meant = asking.found_rows(selection, asking.scope(), Some(&read.allow), false)?;
        groups.push(vec![query.shape(asking, meant)?]);
        let got = query.rows(asking, asking.scope()).await;
        match (query.answer(asking, got), &mut came) {
            (Ok(value), Ok(came)) => came.push(value.unwrap_or(Value::Null)),
            (Err(error), _) => came = Err(error),
            _ => {}
        }
    }
    asking.bound = names;
    let most = usize::MAX;
    Ok((
        ExpectedRead::Answer(AnswerShape::Rows { groups, most }),
        came.map(|came| Some(Value::L(came))),
    ))
}

/// What stands in a key in place of what is written, where several queries are said.
enum Other {
    /// In place of every cell.
    Cell(String),
    /// In place of the day that a path gives, in one key.
    Day { key: String, path: String, day: String },
}

/// A condition, and what it is to answer.
struct HandCondition<'a, 'w, 's> {
    worker: &'w Worker<'s>,
    selection: &'a Selection,
    using: &'a Using,
    entity: &'a Entity,
}

impl HandCondition<'_, '_, '_> {
    /// What must come: rows, one, or how many.
    fn shape(&self, asking: &AskedRead<'_>, meant: Vec<Attributes>) -> Result<AnswerShape, ReadStop> {
        let most = self.selection.limit.map_or(usize::MAX, |limit| limit as usize);
        if self.selection.kind == SelectionKind::Count {
            return Ok(AnswerShape::Value(Some(counted_rows(
                self.selection,
                &meant,
                asking.scope(),
            )?)));
        }
        let groups = asking.tied_rows(self.selection, meant)?.into_iter();
        let shown = |row: Attributes| AnswerShape::Value(Some(Value::M(self.shown(asking, row))));
        let groups = groups.map(|group| group.into_iter().map(shown).collect::<Vec<AnswerShape>>());
        let mut groups: Vec<Vec<AnswerShape>> = groups.collect();
        Ok(match self.selection.kind {
            SelectionKind::Get { .. } if groups.is_empty() => AnswerShape::Value(None),
            SelectionKind::Get { .. } => AnswerShape::Any(groups.swap_remove(0)),
            _ => AnswerShape::Rows { groups, most },
        })
    }

    fn answer(
        &self,
        asking: &AskedRead<'_>,
        got: Result<Vec<Attributes>, RuntimeError>,
    ) -> Result<Option<Value>, RuntimeError> {
        let rows = got?;
        Ok(match self.selection.kind {
            SelectionKind::Count => Some(counted_rows(self.selection, &rows, asking.scope())?),
            SelectionKind::Get { .. } => rows.into_iter().next().map(|row| Value::M(self.shown(asking, row))),
            SelectionKind::Find => {
                let most = self.selection.limit.map_or(usize::MAX, |limit| limit as usize);
                let rows = rows.into_iter().take(most).map(|row| Value::M(self.shown(asking, row)));
                Some(Value::L(rows.collect()))
            }
        })
    }

    /// A row; of a thin index, only what says which row it is.
    fn shown(&self, asking: &AskedRead<'_>, row: Attributes) -> Attributes {
        let index = self.using.index.and_then(|index| asking.model.index(index));
        match index.map(|index| &index.projection) {
            None | Some(Projection::All) => row,
            _ => {
                let names = world::key_variables(asking.model, self.entity.id);
                row.into_iter().filter(|(name, _)| names.contains(name)).collect()
            }
        }
    }

    /// The rows that the queries give.
    async fn rows(&self, asking: &AskedRead<'_>, scope: Scope<'_>) -> Result<Vec<Attributes>, RuntimeError> {
        let mut rows = Vec::new();
        let mut once: Vec<Item> = Vec::new();
        for range in self.ranges(asking, scope)? {
            for item in self.items(asking, range).await? {
                if once.contains(&item) {
                    continue;
                }
                rows.extend(self.row(asking, &item, scope)?);
                once.push(item);
            }
        }
        Ok(rows)
    }

    async fn items(&self, asking: &AskedRead<'_>, range: KeyRange) -> Result<Vec<Item>, RuntimeError> {
        let index = self.using.index.and_then(|index| asking.model.index(index));
        let limit = self
            .using
            .limit
            .map(|(limit, _)| u32::try_from(limit).unwrap_or(u32::MAX));
        let engine = self.worker.engine()?;
        let mut request = QueryRequest {
            index: index.map(|index| index.name.clone()),
            direction: if self.using.descending {
                Direction::Descending
            } else {
                Direction::Ascending
            },
            limit,
            ..QueryRequest::new(engine.model().table.name.clone(), range)
        };
        // A list goes on page by page; what has a limit of its own is asked for once.
        let whole = self.selection.kind != SelectionKind::Find || self.selection.limit.is_some();
        let mut items = Vec::new();
        loop {
            let page = engine.store().query(&request).await?;
            items.extend(page.items);
            request.start = page.last_key;
            if request.start.is_none() || (whole && limit.is_some()) {
                return Ok(items);
            }
        }
    }

    /// The row of an item that passes the filter, to a caller who may see it.
    fn row(&self, asking: &AskedRead<'_>, item: &Item, scope: Scope<'_>) -> Result<Option<Attributes>, RuntimeError> {
        let model = asking.model;
        let of_type = model
            .table
            .type_attribute
            .as_ref()
            .and_then(|name| item.get(name))
            .and_then(Value::as_str);
        if of_type.is_some_and(|name| name != self.entity.name) {
            return Ok(None);
        }
        // An item of something else, where no attribute says so, is taken for a row all the same.
        let Ok(stored) = row::decode_as_stored(self.entity, item) else {
            return Ok(Some(item.clone()));
        };
        if let Some(filter) = &self.using.filter
            && !holds_condition(filter, &scope.with_row(&stored))?
        {
            return Ok(None);
        }
        let Some(seen) = row::decode_live(model, self.entity, item, scope)? else {
            return Ok(None);
        };
        let is_shown = holds_condition(&asking.read.allow, &scope.with_row(&seen))?;
        Ok(Some(seen).filter(|_| is_shown))
    }

    /// The ranges of the queries: one, or as many as are said, the one that is written first.
    fn ranges(&self, asking: &AskedRead<'_>, scope: Scope<'_>) -> Result<Vec<KeyRange>, RuntimeError> {
        let Some(range) = self.range(asking, scope, None)? else {
            return Ok(Vec::new());
        };
        let count = self
            .using
            .queries
            .map_or(1, |(count, _)| usize::try_from(count).unwrap_or(usize::MAX));
        if count <= 1 {
            return Ok(vec![range]);
        }
        let others = match self.cells(scope, count)? {
            Some(cells) => Some(cells.into_iter().map(Other::Cell).collect()),
            None => self.other_days(asking, scope, count)?,
        };
        if let Some(others) = others {
            let mut all = Vec::new();
            for other in &others {
                all.extend(self.range(asking, scope, Some(other))?);
            }
            return Ok(all);
        }
        Ok(self.other_words(&range, count).unwrap_or_else(|| vec![range]))
    }

    /// The cells around a place, the nearest first.
    fn cells(&self, scope: Scope<'_>, count: usize) -> Result<Option<Vec<String>>, RuntimeError> {
        let parts = self
            .using
            .key
            .iter()
            .flat_map(|key| templates(&key.comparison))
            .flat_map(|key| &key.parts);
        for part in parts {
            let Some(PartFunction::Geohash(precision)) = part.function else {
                continue;
            };
            let place = value_at(&part.path, scope).and_then(|value| geo::Place::from_value(&value));
            let Some(center) = place else {
                return Ok(Some(Vec::new()));
            };
            return Ok(Some(ring(center, precision, count)));
        }
        Ok(None)
    }

    /// The days that the meaning has about the one that is written, the nearest first.
    fn other_days(
        &self,
        asking: &AskedRead<'_>,
        scope: Scope<'_>,
        count: usize,
    ) -> Result<Option<Vec<Other>>, RuntimeError> {
        let Some((key, path, attribute)) = self.written_day() else {
            return Ok(None);
        };
        let written = value_at(path, scope);
        let written = written
            .as_ref()
            .and_then(Value::as_str)
            .and_then(|day| day.parse::<Date>().ok());
        let Some(written) = written else {
            return Ok(Some(Vec::new()));
        };
        let of_it = |clause: &&Expr| {
            let names = clause.attributes();
            !names.is_empty() && names.iter().all(|name| *name == attribute) && !asking.is_left_out(clause)
        };
        let clauses = self.selection.filter.iter().flat_map(Expr::conjuncts).filter(of_it);
        let clauses: Vec<&Expr> = clauses.collect();
        let mut days = Vec::new();
        for distance in 0..i64::try_from(count).unwrap_or(i64::MAX) {
            for shift in [distance, -distance]
                .into_iter()
                .take(if distance == 0 { 1 } else { 2 })
            {
                let Ok(day) = written.checked_add(Span::new().days(shift)) else {
                    continue;
                };
                let row = Attributes::from([(attribute.to_owned(), Value::S(day.to_string()))]);
                let mut is_meant = true;
                for clause in &clauses {
                    is_meant = is_meant && holds_condition(clause, &scope.with_row(&row))?;
                }
                if is_meant && days.len() < count {
                    days.push(Other::Day {
                        key: key.to_owned(),
                        path: path.to_owned(),
                        day: day.to_string(),
                    });
                }
            }
        }
        Ok(Some(days))
    }

    /// The key that is written with a day where the rows have one: its name, what gives the day, and the attribute that has it.
    fn written_day(&self) -> Option<(&str, &str, &str)> {
        let choices = match self.using.index {
            Some(index) => self.entity.index_entry(index)?.key_choices(),
            None => &self.entity.key,
        };
        self.using.key.iter().find_map(|key| {
            let Comparison::Equal(given) = &key.comparison else {
                return None;
            };
            let stored = choices
                .iter()
                .find_map(|choice| choice.attribute_template(&key.attribute))?;
            let same_form = given.parts.len() == stored.parts.len();
            let mut parts = given.parts.iter().zip(&stored.parts).filter(|_| same_form);
            let is_day = |part: &KeyPart| part.ty == Type::Date && part.function.is_none();
            let (given, stored) = parts.find(|(given, stored)| is_day(given) && is_day(stored))?;
            Some((key.attribute.as_str(), given.path.as_str(), stored.path.as_str()))
        })
    }

    /// The same range with other words in the place of the one that is written: those of a small domain, by their rank.
    fn other_words(&self, range: &KeyRange, count: usize) -> Option<Vec<KeyRange>> {
        let choices = match self.using.index {
            Some(index) => self.entity.index_entry(index)?.key_choices(),
            None => &self.entity.key,
        };
        for key in &self.using.key {
            let Comparison::Equal(given) = &key.comparison else {
                continue;
            };
            if !given.parts.is_empty() {
                continue;
            }
            let stored = choices
                .iter()
                .find_map(|choice| choice.attribute_template(&key.attribute))?;
            let [part] = stored.parts.as_slice() else { continue };
            let members: Vec<Value> = match &part.ty {
                Type::Enum(words) => words.members.iter().cloned().map(Value::S).collect(),
                Type::Bool => vec![Value::Bool(false), Value::Bool(true)],
                ty => (0..ty.cardinality()?)
                    .filter_map(|at| Some(Value::from(i64::try_from(at).ok()?)))
                    .collect(),
            };
            let keys = members
                .iter()
                .filter_map(|member| stored.template.encode_key(|_| Some(member)).ok().flatten());
            let keys: Vec<Value> = keys.collect();
            let written = Self::equal_value(range, key)?;
            let first = keys.iter().position(|key| *key == written)?;
            let others = keys.into_iter().cycle().skip(first).take(count.min(members.len()));
            return Some(others.map(|value| with_value(range, &key.attribute, value)).collect());
        }
        None
    }

    fn equal_value(range: &KeyRange, key: &UsingKey) -> Option<Value> {
        let partition = range
            .partition
            .iter()
            .find(|(name, _)| *name == key.attribute)
            .map(|(_, value)| value);
        let sort = range
            .sort
            .iter()
            .find(|(name, _)| *name == key.attribute)
            .map(|(_, range)| range);
        match (partition, sort) {
            (Some(value), _) | (_, Some(SortRange::Equal(value))) => Some(value.clone()),
            _ => None,
        }
    }

    /// The range that is written; none where a value of it is absent.
    fn range(
        &self,
        asking: &AskedRead<'_>,
        scope: Scope<'_>,
        other: Option<&Other>,
    ) -> Result<Option<KeyRange>, RuntimeError> {
        let index = self.using.index.and_then(|index| asking.model.index(index));
        let partitions: Vec<&str> = match index {
            Some(index) => index.partition.iter().map(|key| key.name.as_str()).collect(),
            None => asking
                .model
                .table
                .key
                .iter()
                .take(1)
                .map(|key| key.name.as_str())
                .collect(),
        };
        let mut range = KeyRange {
            partition: Vec::new(),
            sort: Vec::new(),
        };
        for key in &self.using.key {
            let other = other.filter(|other| match other {
                Other::Cell(_) => true,
                Other::Day { key: name, .. } => *name == key.attribute,
            });
            let Some(compared) = compared(&key.comparison, scope, other)? else {
                return Ok(None);
            };
            match compared {
                SortRange::Equal(value) if partitions.contains(&key.attribute.as_str()) => {
                    range.partition.push((key.attribute.clone(), value));
                }
                compared => range.sort.push((key.attribute.clone(), compared)),
            }
        }
        let swapped = range
            .sort
            .iter()
            .any(|(_, range)| matches!(range, SortRange::Between(low, high) if low.cmp(high) == Ordering::Greater));
        // A range with its ends swapped is empty; DynamoDB refuses it.
        Ok(Some(range).filter(|_| !swapped))
    }
}

fn with_value(range: &KeyRange, attribute: &str, value: Value) -> KeyRange {
    let mut range = range.clone();
    for (name, known) in &mut range.partition {
        if name == attribute {
            *known = value.clone();
        }
    }
    for (name, known) in &mut range.sort {
        if name == attribute {
            *known = SortRange::Equal(value.clone());
        }
    }
    range
}

fn templates(comparison: &Comparison) -> Vec<&KeyTemplate> {
    match comparison {
        Comparison::Between(low, high) => vec![low, high],
        Comparison::Equal(key)
        | Comparison::Less(key)
        | Comparison::LessOrEqual(key)
        | Comparison::Greater(key)
        | Comparison::GreaterOrEqual(key)
        | Comparison::BeginsWith(key) => vec![key],
    }
}

fn compared(
    comparison: &Comparison,
    scope: Scope<'_>,
    other: Option<&Other>,
) -> Result<Option<SortRange>, RuntimeError> {
    let value = |key: &KeyTemplate| encoded(key, scope, other);
    Ok(match comparison {
        Comparison::Equal(key) => value(key)?.map(SortRange::Equal),
        Comparison::Less(key) => value(key)?.map(SortRange::Less),
        Comparison::LessOrEqual(key) => value(key)?.map(SortRange::LessOrEqual),
        Comparison::Greater(key) => value(key)?.map(SortRange::Greater),
        Comparison::GreaterOrEqual(key) => value(key)?.map(SortRange::GreaterOrEqual),
        Comparison::BeginsWith(key) => value(key)?.map(SortRange::BeginsWith),
        Comparison::Between(low, high) => match (value(low)?, value(high)?) {
            (Some(low), Some(high)) => Some(SortRange::Between(low, high)),
            _ => None,
        },
    })
}

fn encoded(key: &KeyTemplate, scope: Scope<'_>, other: Option<&Other>) -> Result<Option<Value>, RuntimeError> {
    let lookup = |path: &str| {
        let part = key.parts.iter().find(|part| part.path == path);
        let value = value_at(path, scope)?;
        match (part.and_then(|part| part.function), other) {
            (Some(PartFunction::Geohash(_)), Some(Other::Cell(cell))) => Some(Value::S(cell.clone())),
            (Some(PartFunction::Geohash(precision)), _) => {
                Some(Value::S(geo::Place::from_value(&value)?.geohash(precision)))
            }
            (_, Some(Other::Day { path: of, day, .. })) if of == path => Some(Value::S(day.clone())),
            _ => Some(value),
        }
    };
    let encoded = key.template.encode_key(lookup);
    encoded.map_err(|error| RuntimeError::Request(format!("`{}` has no key for these values: {error}", key.text)))
}

/// What a path of a condition stands for: `args.x`, `caller.id`, `today`, a name of `let` or `each`.
fn value_at(path: &str, scope: Scope<'_>) -> Option<Value> {
    use singlet_model::evaluate::{Environment, time};
    let mut names = path.split('.');
    let first = match names.next()? {
        "args" => scope.arg(names.next()?)?.into_owned(),
        "caller" => scope.caller(names.next()?)?.into_owned(),
        "settings" => scope.setting.settings.get(names.next()?)?.clone(),
        "today" => Value::S(time::day_of(scope.now, scope.zone()).ok()?),
        "now" => Value::S(time::iso_millis(scope.now).ok()?),
        name => scope.bound(name)?.into_owned(),
    };
    names.try_fold(first, |value, name| value.as_map()?.get(name).cloned())
}

/// The cells about a place, the nearest first.
fn ring(center: geo::Place, precision: u8, count: usize) -> Vec<String> {
    let (height, width) = geo::cell_degrees(precision);
    let side = (1..).find(|side| (2 * side + 1) * (2 * side + 1) >= count).unwrap_or(1);
    let steps = i32::try_from(side).unwrap_or(1);
    let mut steps: Vec<(i32, i32)> = (-steps..=steps)
        .flat_map(|north| (-steps..=steps).map(move |east| (north, east)))
        .collect();
    steps.sort_by_key(|(north, east)| north * north + east * east);
    let mut cells: Vec<String> = Vec::new();
    for (north, east) in steps {
        let lon = center.lon + f64::from(east) * width;
        let place = geo::Place {
            lat: (center.lat + f64::from(north) * height).clamp(-90.0, 90.0),
            lon: (lon + 180.0).rem_euclid(360.0) - 180.0,
        };
        let cell = place.geohash(precision);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.truncate(count);
    cells
}
