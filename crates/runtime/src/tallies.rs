//! Where the figures of tallies lie in the table, and what one row adds to them.
//!
//! All of a tally is one item collection of Singlet's own: a *head*, which says which figures count, and a row for each group. What is
//! built anew lies beside what counts, under another *generation*, until the head names it.

use sha2::{Digest, Sha256};
use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate};
use singlet_model::model::Tally;

use crate::digest::hex_text;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Caller, Scope};
use crate::write::kept_row;

/// What the rows are called in keys.
const KIND: &str = "tally";

/// The values that make the group of a row.
const GROUP: &str = "$group";
/// How many rows there are in a group.
const COUNT: &str = "$count";
/// A sum of a group; its number follows.
const SUM: &str = "$sum";

/// The longest text of one value in a key; a longer one is told by its hash.
const KEY_TEXT_BYTES_MAX: usize = 96;

/// Bytes of the hash of a longer one.
const KEY_HASH_BYTES: usize = 24;

/// A value of a group, for each `by` of the tally; none where the row has none.
pub type GroupValues = Vec<Option<Value>>;

/// What a group has, or what is added to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TallyFigures {
    /// Rows.
    pub count: i64,
    /// Sums, in the order of the tally.
    pub sums: Vec<Number>,
}

impl TallyFigures {
    /// Adds others, or takes them away.
    ///
    /// # Errors
    ///
    /// Where a sum has more digits than a number.
    pub fn add_figures(&mut self, other: &TallyFigures, is_added: bool) -> Result<(), EvaluateError> {
        let sign = if is_added { 1 } else { -1 };
        self.count = self.count.saturating_add(sign * other.count);
        self.sums.resize(self.sums.len().max(other.sums.len()), Number::ZERO);
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            let changed = match is_added {
                true => sum.checked_add(*more),
                false => sum.checked_sub(*more),
            };
            *sum = changed.map_err(|error| EvaluateError::Arithmetic(format!("a sum leaves its range: {error}")))?;
        }
        Ok(())
    }

    /// Whether nothing would change.
    pub fn is_nothing(&self) -> bool {
        self.count == 0 && self.sums.iter().all(|sum| *sum == Number::ZERO)
    }
}

/// What the head of a tally says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TallyHead {
    /// The generation that counts; none until figures were built.
    pub live: Option<i64>,
    /// What those figures are of.
    pub definition: String,
    /// The generation that is being built.
    pub building: Option<i64>,
    /// A generation that counted before, and since when it does not, in milliseconds.
    pub past: Option<(i64, i64)>,
    /// Whether somebody asked for it to be built anew.
    pub is_asked: bool,
    /// Why it is kept no longer, until it is built anew.
    pub broken: Option<String>,
}

const LIVE: &str = "$live";
const DEFINITION: &str = "$definition";
const BUILDING: &str = "$building";
const PAST: &str = "$past";
const PAST_AT: &str = "$pastAt";
const ASKED: &str = "$asked";
const BROKEN: &str = "$broken";

impl TallyHead {
    /// As the row says it.
    pub fn of_item(item: &Item) -> Self {
        let number = |name: &str| {
            item.get(name)
                .and_then(Value::as_number)
                .and_then(|number| number.to_i64())
        };
        let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        TallyHead {
            live: number(LIVE),
            definition: text(DEFINITION).unwrap_or_default(),
            building: number(BUILDING),
            past: number(PAST).zip(number(PAST_AT)),
            is_asked: item.get(ASKED).and_then(Value::as_bool) == Some(true),
            broken: text(BROKEN),
        }
    }

    /// Puts it into the row of a head.
    pub fn put_into(&self, row: &mut Item) {
        let numbers = [
            (LIVE, self.live),
            (BUILDING, self.building),
            (PAST, self.past.map(|(generation, _)| generation)),
            (PAST_AT, self.past.map(|(_, at)| at)),
        ];
        for (name, number) in numbers {
            row.extend(number.map(|number| (name.to_owned(), Value::N(Number::from(number)))));
        }
        row.insert(DEFINITION.to_owned(), Value::S(self.definition.clone()));
        row.extend(self.is_asked.then(|| (ASKED.to_owned(), Value::Bool(true))));
        row.extend(self.broken.clone().map(|reason| (BROKEN.to_owned(), Value::S(reason))));
    }

    /// The generation that counts, where it is of the tally as the model has it now.
    pub fn live_for(&self, tally: &Tally) -> Option<i64> {
        // Figures of another definition are right, and answer another question.
        let is_of_it = self.definition == tally.definition && self.broken.is_none();
        self.live.filter(|_| is_of_it)
    }
}

/// The head of a tally: its key, and a type that no entity has.
///
/// # Errors
///
/// Where the table's key has no room for it.
pub fn tally_head(model: &Model, tally: &str) -> Result<Item, RuntimeError> {
    kept_row(model, KIND, &[&model.name, tally])
}

/// The row of a group, without figures.
///
/// # Errors
///
/// Where the table's key has no room for it.
pub fn group_row(model: &Model, tally: &str, generation: i64, group: &GroupValues) -> Result<Item, RuntimeError> {
    let mut row = tally_head(model, tally)?;
    let sort = group_prefix(generation, group);
    row.extend(model.table.key.get(1).map(|key| (key.name.clone(), Value::S(sort))));
    let values = group.iter().map(|value| match value {
        // In a list of its own each, so that what is absent can be told from any value.
        Some(value) => Value::L(vec![value.clone()]),
        None => Value::L(Vec::new()),
    });
    row.insert(GROUP.to_owned(), Value::L(values.collect()));
    Ok(row)
}

/// The beginning of the sort keys of all groups of a generation whose first values are these.
pub fn group_prefix(generation: i64, values: &[Option<Value>]) -> String {
    // The generation first, so that all figures of one are one range.
    let mut text = format!("{generation}#");
    for value in values {
        text.push_str(&key_text(value.as_ref()));
        text.push('#');
    }
    text
}

/// The attributes of a group that hold its figures, with their numbers.
pub fn figure_values(figures: &TallyFigures) -> impl Iterator<Item = (String, Number)> {
    let sums = figures.sums.iter().enumerate();
    let sums = sums.map(|(at, sum)| (format!("{SUM}{at}"), *sum));
    std::iter::once((COUNT.to_owned(), Number::from(figures.count))).chain(sums)
}

/// The group and the figures of one of these rows; nothing, where it is the head.
pub fn group_of_row(item: &Item, sums: usize) -> Option<(GroupValues, TallyFigures)> {
    let group = item.get(GROUP)?.as_list()?;
    let group = group.iter().map(|value| value.as_list()?.first().cloned()).collect();
    let number = |name: &str| item.get(name).and_then(Value::as_number);
    let figures = TallyFigures {
        count: number(COUNT).and_then(|count| count.to_i64()).unwrap_or_default(),
        sums: (0..sums)
            .map(|at| number(&format!("{SUM}{at}")).unwrap_or(Number::ZERO))
            .collect(),
    };
    Some((group, figures))
}

/// A value as a part of a key: what is no longer than it may be, and of another value another.
fn key_text(value: Option<&Value>) -> String {
    let (mark, text) = match value {
        None => return "-".to_owned(),
        Some(Value::S(text)) => ('s', text.clone()),
        Some(Value::N(number)) => ('n', number.to_string()),
        Some(Value::Bool(truth)) => ('b', truth.to_string()),
        Some(other) => ('x', format!("{other:?}")),
    };
    // The escape before the delimiter, or what it makes would be escaped again.
    let escaped = text.replace('%', "%25").replace('#', "%23");
    match escaped.len() <= KEY_TEXT_BYTES_MAX {
        true => format!("{mark}{escaped}"),
        false => {
            let hash = Sha256::digest(escaped.as_bytes());
            format!("{mark}%{}", hex_text(hash.get(..KEY_HASH_BYTES).unwrap_or_default()))
        }
    }
}

impl Engine {
    /// The group in which a tally counts a row, and what the row adds to it; nothing, where it is not counted.
    ///
    /// # Errors
    ///
    /// Where a value of the row leaves the range of what is computed of it.
    pub fn tallied_row(
        &self,
        tally: &Tally,
        row: &Attributes,
    ) -> Result<Option<(GroupValues, TallyFigures)>, EvaluateError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: self.setting(),
            now: 0,
            args: &nothing,
            caller: &nobody,
            attributes: Some(row),
            row: None,
            bound: &nothing,
        };
        if let Some(filter) = &tally.filter
            && evaluate(filter, &scope)? != Some(Value::Bool(true))
        {
            return Ok(None);
        }
        let mut group = GroupValues::new();
        for by in &tally.by {
            group.push(evaluate(&by.expr, &scope)?);
        }
        let mut sums = Vec::new();
        for (_, sum) in &tally.sums {
            sums.push(match evaluate(sum, &scope)? {
                Some(Value::N(number)) => number,
                _ => Number::ZERO,
            });
        }
        Ok(Some((group, TallyFigures { count: 1, sums })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_have_keys_that_differ() {
        let texts = ["", "-", "a", "a#", "a%23", "#", "s", "%"];
        let long: Vec<String> = ["x", "y"].iter().map(|end| "a".repeat(200) + end).collect();
        let texts = texts.iter().map(|text| (*text).to_owned()).chain(long);
        let mut values: Vec<Option<Value>> = texts.map(|text| Some(Value::S(text))).collect();
        values.extend([
            None,
            Some(Value::Bool(true)),
            Some(Value::N(Number::from(1))),
            Some(Value::S("1".into())),
        ]);
        let mut keys = Vec::new();
        for one in &values {
            for other in &values {
                keys.push(group_prefix(1, &[one.clone(), other.clone()]));
            }
        }
        let all = keys.len();
        assert!(keys.iter().all(|key| key.len() < 1_024));
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn no_group_begins_as_another_whole_one_does() {
        let one = group_prefix(1, &[Some(Value::S("a".into()))]);
        let longer = group_prefix(1, &[Some(Value::S("ab".into())), None]);
        let later = group_prefix(12, &[Some(Value::S("a".into()))]);
        assert!(!longer.starts_with(&one) && !later.starts_with(&group_prefix(1, &[])));
    }
}
