//! What there is to look at in the tables of an entity, by its model.

use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Entity, States};
use singlet_model::types::Type;

use super::chart::{CellPath, Chart, Filter, Group, Measure};
use crate::cell::{Column, ColumnType};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The most views of one kind of an entity.
const ENUM_VIEWS_MAX: usize = 3;
const SUM_VIEWS_MAX: usize = 2;
const TEXT_VIEWS_MAX: usize = 3;

/// What an entity has to be looked at by.
struct Looks<'m> {
    name: &'m str,
    entity: &'m Entity,
    columns: &'m [Column],
    /// Enums and truths, the state first.
    words: Vec<(&'m str, CellPath, Vec<String>)>,
    /// The instant at which a row is made.
    made: Option<(&'m str, CellPath)>,
    days: Vec<(&'m str, CellPath)>,
}

/// What can be seen in the table of what is.
pub(super) fn current_charts(model: &Model, entity: &Entity, columns: &[Column], now_millis: i64) -> Vec<Chart> {
    let looks = Looks::of(entity, columns);
    let mut charts = looks.counts();
    charts.extend(looks.overdue(now_millis.div_euclid(MILLIS_PER_DAY)));
    charts.extend(looks.by_day());
    charts.extend(looks.times());
    charts.extend(looks.sums());
    charts.extend(looks.texts(model));
    charts
}

/// What can be seen in the table of changes.
pub(super) fn changes_charts(entity: &Entity, columns: &[Column]) -> Vec<Chart> {
    let place = |name: &str| columns.iter().position(|column| column.name == name);
    let (Some(at), Some(kind), Some(before), Some(after)) =
        (place("changed_at"), place("kind"), place("before"), place("after"))
    else {
        return Vec::new();
    };
    let name = &entity.name;
    let mut by_day = Chart::new(format!("{name}: changes, by day and kind"), Group::Day(vec![at]));
    let kinds = ["snapshot", "created", "updated", "deleted", "expired", "unfit"];
    by_day.series = Some((vec![kind], kinds.map(str::to_owned).to_vec()));
    let mut charts = vec![by_day];
    let fields = match columns.get(after).map(|column| &column.ty) {
        Some(ColumnType::Struct(fields)) => fields.as_slice(),
        _ => return charts,
    };
    let state = entity.states.as_ref().and_then(|states| field_of(fields, &states.of));
    if let Some(state) = state {
        let title = format!("{name}: how often a state became another");
        charts.push(Chart::new(title, Group::Moves(vec![before, state], vec![after, state])));
    }
    let is_said = |attribute: &&Attribute| {
        let is_kept = matches!(attribute.ty, Type::Version) || attribute.always.is_some() || attribute.is.is_some();
        attribute.alias.is_none() && !is_kept
    };
    let said = entity.attributes.iter().filter(is_said);
    let said = said.filter_map(|attribute| Some((field_of(fields, &attribute.name)?, attribute.name.clone())));
    let title = format!("{name}: what changes");
    charts.push(Chart::new(
        title,
        Group::Fields(vec![before], vec![after], said.collect()),
    ));
    charts
}

impl<'m> Looks<'m> {
    fn of(entity: &'m Entity, columns: &'m [Column]) -> Self {
        let mut looks = Looks {
            name: &entity.name,
            entity,
            columns,
            words: Vec::new(),
            made: None,
            days: Vec::new(),
        };
        let readable = |attribute: &&Attribute| attribute.alias.is_none() && attribute.personal.is_none();
        for attribute in entity.attributes.iter().filter(readable) {
            let Some(path) = field_of(columns, &attribute.name).map(|at| vec![at]) else {
                continue;
            };
            let name = attribute.name.as_str();
            match &attribute.ty {
                Type::Enum(words) => looks.words.push((name, path, words.members.clone())),
                Type::Bool => looks
                    .words
                    .push((name, path, vec!["true".to_owned(), "false".to_owned()])),
                Type::Date => looks.days.push((name, path)),
                Type::Time | Type::Seconds | Type::Millis => {
                    let is_now = |expr: &singlet_model::expression::Expr| matches!(expr.kind, ExprKind::Now);
                    if attribute.default.as_ref().is_some_and(is_now) && looks.made.is_none() {
                        looks.made = Some((name, path));
                    }
                }
                _ => {}
            }
        }
        let state = entity.states.as_ref().map_or("", |states| states.of.as_str());
        looks.words.sort_by_key(|(name, ..)| *name != state);
        looks
    }

    /// What bars of others are divided by: the state.
    fn state(&self) -> Option<(CellPath, Vec<String>)> {
        let states = self.entity.states.as_ref()?;
        let (_, path, words) = self.words.iter().find(|(name, ..)| *name == states.of)?;
        Some((path.clone(), words.clone()))
    }

    /// Rows by enum; by the state in parts of the next enum, by others in parts of the state.
    fn counts(&self) -> Vec<Chart> {
        let state = self.entity.states.as_ref().map(|states| states.of.as_str());
        let mut charts = Vec::new();
        for (at, (name, path, words)) in self.words.iter().take(ENUM_VIEWS_MAX).enumerate() {
            let other = self.words.iter().find(|(other, ..)| other != name);
            let (series, and) = match (at, other, state) {
                (0, Some((other, path, words)), _) => (Some((path.clone(), words.clone())), Some(*other)),
                (_, _, Some(state)) if state != *name => (self.state(), Some(state)),
                _ => (None, None),
            };
            let title = match and {
                Some(and) => format!("{} by {name} and {and}", self.name),
                None => format!("{} by {name}", self.name),
            };
            let mut chart = Chart::new(title, Group::Words(path.clone(), words.clone()));
            chart.series = series;
            charts.push(chart);
        }
        charts
    }

    /// What is not done and whose day has passed.
    fn overdue(&self, today: i64) -> Vec<Chart> {
        let (Some(states), Some((state, words))) = (&self.entity.states, self.state()) else {
            return Vec::new();
        };
        let open = open_states(states, &words);
        let chart = |(name, path): &(&str, CellPath)| {
            let title = format!("{} that is {}, by {name} before today", self.name, open.join(" or "));
            let mut chart = Chart::new(title, Group::Day(path.clone()));
            chart.series = Some((state.clone(), words.clone()));
            chart.filter = Filter::OpenBefore {
                state: state.clone(),
                open: open.clone(),
                day: path.clone(),
                before: today,
            };
            chart
        };
        self.days.iter().map(chart).collect()
    }

    fn by_day(&self) -> Vec<Chart> {
        let chart = |(name, path): &(&str, CellPath)| {
            let mut chart = Chart::new(format!("{} by {name}", self.name), Group::Day(path.clone()));
            chart.series = self.state();
            chart
        };
        self.made.iter().chain(&self.days).map(chart).collect()
    }

    /// How long it takes from the beginning until a state is entered.
    fn times(&self) -> Vec<Chart> {
        let (Some(states), Some((from_name, from))) = (&self.entity.states, &self.made) else {
            return Vec::new();
        };
        let Some((state, words)) = self.state() else {
            return Vec::new();
        };
        let held = states.holding.iter().flat_map(|(_, attributes)| attributes);
        let mut noted: Vec<&str> = held
            .filter(|(_, value)| matches!(value.kind, ExprKind::Now))
            .map(|(name, _)| name.as_str())
            .collect();
        noted.sort_unstable();
        noted.dedup();
        let chart = |name: &str| {
            let to = field_of(self.columns, name)?;
            let title = format!(
                "{}: middle time from {from_name} to {name}, by {}",
                self.name, states.of
            );
            let mut chart = Chart::new(title, Group::Words(state.clone(), words.clone()));
            chart.measure = Measure::Between(from.clone(), vec![to]);
            Some(chart)
        };
        noted.into_iter().filter_map(chart).collect()
    }

    /// Sums, in parts by currency where there are several.
    fn sums(&self) -> Vec<Chart> {
        let is_currency = |attribute: &&Attribute| attribute.name.eq_ignore_ascii_case("currency");
        let currency = self.entity.attributes.iter().find(is_currency);
        let currency = currency.and_then(|attribute| field_of(self.columns, &attribute.name));
        let group = || match (self.days.first(), self.words.first(), &self.made) {
            (Some((name, path)), ..) => Some((*name, Group::Day(path.clone()))),
            (None, Some((name, path, words)), _) => Some((*name, Group::Words(path.clone(), words.clone()))),
            (None, None, Some((name, path))) => Some((*name, Group::Day(path.clone()))),
            _ => None,
        };
        let mut charts = Vec::new();
        for attribute in self.entity.attributes.iter().filter(|attribute| is_summed(attribute)) {
            let Some(at) = field_of(self.columns, &attribute.name) else {
                continue;
            };
            let scale = match self.columns.get(at).map(|column| &column.ty) {
                Some(ColumnType::Long) => 0,
                Some(ColumnType::Decimal(scale)) => *scale,
                _ => continue,
            };
            let Some((by, group)) = group() else { continue };
            let mut chart = Chart::new(format!("{}: sum of {}, by {by}", self.name, attribute.name), group);
            chart.measure = Measure::Sum(vec![at], scale);
            chart.series = match currency {
                Some(currency) => Some((vec![currency], Vec::new())),
                None => self.state(),
            };
            charts.push(chart);
        }
        charts.truncate(SUM_VIEWS_MAX);
        charts
    }

    /// The most frequent texts: those of the entity itself, and those in its objects, such as the city of a place.
    fn texts(&self, model: &Model) -> Vec<Chart> {
        let names = model.catalog.names(self.entity.id);
        let is_key = |name: &String| names.is_some_and(|names| names.key_variables.contains(name));
        let mut paths: Vec<(String, CellPath)> = Vec::new();
        for attribute in &self.entity.attributes {
            let is_other = attribute.personal.is_some() || attribute.reference.is_some() || is_key(&attribute.name);
            let Some(at) = field_of(self.columns, &attribute.name).filter(|_| !is_other) else {
                continue;
            };
            match (&attribute.ty, self.columns.get(at).map(|column| &column.ty)) {
                (Type::Text(_), Some(ColumnType::Text)) => paths.push((attribute.name.clone(), vec![at])),
                (Type::Object(_) | Type::Geo(_), Some(ColumnType::Struct(fields))) => {
                    let texts = fields
                        .iter()
                        .enumerate()
                        .filter(|(_, field)| field.ty == ColumnType::Text);
                    let named = texts.filter(|(_, field)| !matches!(field.name.as_str(), "lat" | "lon"));
                    paths.extend(
                        named.map(|(within, field)| (format!("{}.{}", attribute.name, field.name), vec![at, within])),
                    );
                }
                _ => {}
            }
        }
        let chart = |(name, path): (String, CellPath)| {
            let mut chart = Chart::new(format!("{} by {name}", self.name), Group::Text(path));
            chart.series = self.state();
            chart
        };
        // Fields of objects first: a title tells rows apart, a city puts them together.
        paths.sort_by_key(|(_, path)| std::cmp::Reverse(path.len()));
        paths.into_iter().take(TEXT_VIEWS_MAX).map(chart).collect()
    }
}

/// The states that lead elsewhere than back to the first one.
fn open_states(states: &States, words: &[String]) -> Vec<String> {
    let leads_on = |state: &&String| {
        let moves = states.moves.iter().filter(|step| step.from.contains(state));
        **state == states.start || moves.into_iter().any(|step| step.to != states.start)
    };
    words.iter().filter(leads_on).cloned().collect()
}

/// Whether a number is worth adding up: what is counted up by writes is a sum already.
fn is_summed(attribute: &Attribute) -> bool {
    let is_number = matches!(attribute.ty, Type::Int(_) | Type::Number(_));
    is_number && attribute.default.is_none() && attribute.is.is_none() && attribute.personal.is_none()
}

/// The newest column of an attribute that is as it is.
fn field_of(columns: &[Column], attribute: &str) -> Option<usize> {
    let is_meant = |column: &Column| column.attribute.as_deref() == Some(attribute) && column.personal.is_none();
    columns.iter().rposition(is_meant)
}
