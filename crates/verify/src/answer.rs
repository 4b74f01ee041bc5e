//! What a read answers, in the shape in which it answers it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate};
use singlet_model::model::{Read, Selection, SelectionKind, WithPart};
use singlet_runtime::{Attributes, Bounds, Scope};

use crate::bench::Row;
use crate::oracle::{self, Question};

/// What a read means.
#[derive(Debug, Default)]
pub struct Meant {
    /// The rows, in their order.
    pub rows: Vec<Attributes>,
    /// How many there are, in all or of each value of an attribute, where that is what is asked.
    counted: Option<Value>,
    /// For each row, the rows that come with it, by name.
    with: Vec<BTreeMap<String, Vec<Attributes>>>,
    /// The rows of each element, where one answer is given for each.
    each: Option<Vec<(Value, Vec<Attributes>)>>,
}

/// What a read means, by looking at every row.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub fn meant(model: &Model, read: &Read, rows: &[Row], scope: Scope<'_>) -> Result<Meant, EvaluateError> {
    let Some(selection) = &read.selection else {
        return Ok(Meant::default());
    };
    let question = Question {
        read,
        selection,
        allow: Some(&read.allow),
    };
    if let Some(each) = &read.each {
        let elements = match evaluate(&each.list, &scope)? {
            Some(Value::L(elements)) => elements,
            _ => Vec::new(),
        };
        let mut answers = Vec::new();
        for element in elements {
            let bound = Attributes::from([(each.name.clone(), element.clone())]);
            let found = oracle::rows(model, question, rows, Scope { bound: &bound, ..scope })?;
            answers.push((element, found));
        }
        return Ok(Meant {
            rows: answers.iter().flat_map(|(_, rows)| rows.clone()).collect(),
            each: Some(answers),
            ..Meant::default()
        });
    }
    let own = oracle::rows(model, question, rows, scope)?;
    let mut with = Vec::new();
    for parent in own.iter().filter(|_| !read.with.is_empty()) {
        let scope = Scope {
            row: Some(parent),
            ..scope
        };
        let mut groups = BTreeMap::new();
        for part in &read.with {
            let question = Question {
                read,
                selection: &part.selection,
                allow: part.allow.as_ref(),
            };
            groups.insert(part.name.clone(), oracle::rows(model, question, rows, scope)?);
        }
        with.push(groups);
    }
    Ok(Meant {
        counted: (selection.kind == SelectionKind::Count).then(|| counted(selection, &own)),
        rows: own,
        with,
        each: None,
    })
}

impl Meant {
    /// How an answer differs from what is meant. Equal rows may come in any order, each once; of a limit, any of them.
    pub fn difference(&self, model: &Model, read: &Read, got: &[Value]) -> Option<String> {
        let selection = read.selection.as_ref()?;
        if let Some(each) = &self.each {
            return each_difference(model, selection, each, got);
        }
        let most = match selection.kind {
            SelectionKind::Count => {
                return (got.first() != self.counted.as_ref()).then(|| "the count differs".to_owned());
            }
            SelectionKind::Get { .. } if is_ambiguous(selection, &self.rows) => {
                return Some("one row came where several fit".to_owned());
            }
            SelectionKind::Get { .. } => 1,
            SelectionKind::Find => selection.limit.map_or(usize::MAX, |limit| limit as usize),
        };
        let mut own = got.to_vec();
        for row in &mut own {
            if let Value::M(row) = row {
                row.retain(|name, _| !read.with.iter().any(|part| part.name == *name));
            }
        }
        let differs = difference(model, selection, &self.rows, &own, most);
        let mut pairs = own.iter().zip(got);
        differs.or_else(|| pairs.find_map(|(own, got)| self.with_difference(model, read, own.as_map()?, got.as_map()?)))
    }

    /// How the rows that came with a row differ.
    fn with_difference(&self, model: &Model, read: &Read, own: &Attributes, got: &Attributes) -> Option<String> {
        // Rows that are equal in everything have the same rows with them.
        let at = self.rows.iter().position(|row| row == own)?;
        let meant = self.with.get(at)?;
        read.with.iter().find_map(|part| {
            let got = match got.get(&part.name) {
                Some(Value::L(rows)) => rows.as_slice(),
                Some(row) => std::slice::from_ref(row),
                None => &[],
            };
            let most = match part.selection.kind {
                SelectionKind::Get { .. } => 1,
                _ => part
                    .selection
                    .limit
                    .map_or(Bounds::USUAL.beside_rows_max, |limit| limit as usize),
            };
            let differs = difference(model, &part.selection, meant.get(&part.name)?, got, most);
            differs.map(|what| format!("with `{}`: {what}", part.name))
        })
    }

    /// Whether more than one row fits where the read, or what comes with it, expects one: that is refused.
    pub fn is_ambiguous(&self, read: &Read) -> bool {
        let own = read.selection.iter().any(|own| is_ambiguous(own, &self.rows));
        let with = |groups: &BTreeMap<String, Vec<Attributes>>| {
            let rows = |part: &WithPart| groups.get(&part.name).map_or(&[][..], Vec::as_slice);
            read.with.iter().any(|part| is_ambiguous(&part.selection, rows(part)))
        };
        own || self.with.iter().any(with)
    }

    /// As values, to be shown.
    pub fn shown(&self) -> Vec<Value> {
        let counted = self.counted.iter().cloned();
        let with = self.with.iter().flat_map(BTreeMap::values).flatten();
        let rows = self.rows.iter().chain(with);
        counted.chain(rows.cloned().map(Value::M)).collect()
    }
}

/// Of rows in an order the first is meant; else a `get` means one row, and no other may fit.
fn is_ambiguous(selection: &Selection, rows: &[Attributes]) -> bool {
    matches!(selection.kind, SelectionKind::Get { .. }) && selection.order.is_empty() && rows.len() > 1
}

/// Answers are `{of: element, found: rows}`, one for each element.
fn each_difference(
    model: &Model,
    selection: &Selection,
    meant: &[(Value, Vec<Attributes>)],
    got: &[Value],
) -> Option<String> {
    let answers = match got {
        [Value::L(answers)] => answers.as_slice(),
        _ => &[],
    };
    if answers.len() != meant.len() {
        return Some(format!("{} answers came for {} elements", answers.len(), meant.len()));
    }
    meant.iter().zip(answers).find_map(|((element, rows), answer)| {
        let answer = answer.as_map();
        if answer.and_then(|answer| answer.get("of")) != Some(element) {
            return Some("an answer is for another element".to_owned());
        }
        let found = match answer.and_then(|answer| answer.get("found")) {
            Some(Value::L(found)) => found.as_slice(),
            _ => &[],
        };
        let most = selection.limit.map_or(usize::MAX, |limit| limit as usize);
        difference(model, selection, rows, found, most)
    })
}

fn difference(
    model: &Model,
    selection: &Selection,
    meant: &[Attributes],
    got: &[Value],
    most: usize,
) -> Option<String> {
    let wanted = meant.len().min(most);
    if got.len() != wanted {
        return Some(format!("{} rows came, {wanted} are meant", got.len()));
    }
    let got: Vec<&Attributes> = got.iter().filter_map(Value::as_map).collect();
    for (at, row) in got.iter().enumerate() {
        let times_meant = meant.iter().filter(|known| known == row).count();
        let times = got.iter().filter(|known| known == &row).count();
        if times_meant == 0 {
            return Some(format!("row {at} is not meant, or not so"));
        }
        if times > times_meant {
            return Some(format!("row {at} comes more than once"));
        }
    }
    let out_of_order = got
        .iter()
        .zip(meant)
        .position(|(got, meant)| oracle::compare(model, selection, got, meant).is_ok_and(Ordering::is_ne));
    out_of_order.map(|at| format!("row {at} is out of order"))
}

fn counted(selection: &Selection, rows: &[Attributes]) -> Value {
    let number = |count: usize| Value::N(Number::from(i64::try_from(count).unwrap_or(i64::MAX)));
    let Some(by) = selection.by.first() else {
        return number(rows.len());
    };
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let group = match row.get(by) {
            Some(Value::S(text)) => text.clone(),
            Some(Value::N(number)) => number.to_string(),
            Some(Value::Bool(truth)) => truth.to_string(),
            _ => continue,
        };
        *groups.entry(group).or_default() += 1;
    }
    let groups = groups.into_iter().map(|(group, count)| (group, number(count)));
    Value::M(groups.collect())
}
