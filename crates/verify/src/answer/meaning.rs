//! What may stand at a place of an answer. Rows that are equal in the order may come in any order, each once.

use std::collections::BTreeMap;

use singlet_item::Value;

/// What may stand at a place of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlaceMeaning {
    /// This value.
    Value(Value),
    /// A row as it is shown, with what comes with it.
    Row(Value, BTreeMap<String, PlaceMeaning>),
    /// Rows in their order, those that are equal in it together; of all of them the first so many.
    Rows {
        groups: Vec<Vec<PlaceMeaning>>,
        most: usize,
    },
    /// One of these; nothing where there is none.
    One(Vec<PlaceMeaning>),
    /// Fields with a meaning each.
    Fields(BTreeMap<String, PlaceMeaning>),
}

impl PlaceMeaning {
    /// How a value differs; nothing where it fits.
    pub fn value_difference(&self, got: Option<&Value>) -> Option<String> {
        let got = got.filter(|got| !got.is_null());
        match self {
            PlaceMeaning::Value(Value::Null) => got.map(|_| "something is answered where nothing is meant".to_owned()),
            PlaceMeaning::Value(value) => (got != Some(value)).then(|| "the value differs".to_owned()),
            PlaceMeaning::One(any) => one_difference(any, got),
            PlaceMeaning::Row(own, with) => row_difference(own, with, got),
            PlaceMeaning::Fields(fields) => fields_difference(fields, got),
            PlaceMeaning::Rows { groups, most } => match got {
                Some(Value::L(got)) => rows_difference(groups, *most, got),
                _ => Some("there are no rows".to_owned()),
            },
        }
    }

    fn fits(&self, got: &Value) -> bool {
        self.value_difference(Some(got)).is_none()
    }

    /// As values, to be shown.
    pub fn shown(&self) -> Vec<Value> {
        match self {
            PlaceMeaning::Value(value) => vec![value.clone()],
            PlaceMeaning::One(any) => any.iter().flat_map(PlaceMeaning::shown).collect(),
            PlaceMeaning::Row(own, with) => {
                let mut own = own.clone();
                if let Value::M(row) = &mut own {
                    row.extend(
                        with.iter()
                            .map(|(name, part)| (name.clone(), one_of(part, part.shown()))),
                    );
                }
                vec![own]
            }
            PlaceMeaning::Rows { groups, most } => {
                let rows = groups.iter().flatten().flat_map(PlaceMeaning::shown);
                rows.take(*most).collect()
            }
            PlaceMeaning::Fields(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, part)| (name.clone(), one_of(part, part.shown())));
                vec![Value::M(fields.collect())]
            }
        }
    }
}

/// Rows stay a list.
fn one_of(part: &PlaceMeaning, shown: Vec<Value>) -> Value {
    match part {
        PlaceMeaning::Rows { .. } => Value::L(shown),
        _ => shown.into_iter().next().unwrap_or(Value::Null),
    }
}

fn one_difference(any: &[PlaceMeaning], got: Option<&Value>) -> Option<String> {
    match (any, got) {
        ([], None) => None,
        ([], Some(_)) => Some("a row comes where none is meant".to_owned()),
        // What is made of a row may be absent, which is answered as no row is.
        (any, None) if any.iter().any(|one| one.value_difference(None).is_none()) => None,
        (_, None) => Some("no row comes where one is meant".to_owned()),
        (any, Some(got)) => match any.iter().any(|one| one.fits(got)) {
            true => None,
            false => any.first().and_then(|first| first.value_difference(Some(got))),
        },
    }
}

fn row_difference(own: &Value, with: &BTreeMap<String, PlaceMeaning>, got: Option<&Value>) -> Option<String> {
    // A value that is absent is answered as null.
    if with.is_empty() {
        let own = Some(own).filter(|own| !own.is_null());
        return (got != own).then(|| "row differs".to_owned());
    }
    let (Value::M(own), Some(Value::M(got))) = (own, got) else {
        return (got != Some(own)).then(|| "row differs".to_owned());
    };
    for (name, part) in with {
        if let Some(what) = part.value_difference(got.get(name)) {
            return Some(format!("with `{name}`: {what}"));
        }
    }
    let rest = got.iter().filter(|(name, _)| !with.contains_key(*name));
    let own = own.iter().filter(|(name, _)| !with.contains_key(*name));
    (!rest.eq(own)).then(|| "row differs".to_owned())
}

fn fields_difference(fields: &BTreeMap<String, PlaceMeaning>, got: Option<&Value>) -> Option<String> {
    let Some(Value::M(got)) = got else {
        return Some("there are no fields".to_owned());
    };
    if let Some(other) = got.keys().find(|name| !fields.contains_key(*name)) {
        return Some(format!("`{other}` is not meant"));
    }
    fields.iter().find_map(|(name, part)| {
        let what = part.value_difference(got.get(name))?;
        Some(format!("`{name}`: {what}"))
    })
}

fn rows_difference(groups: &[Vec<PlaceMeaning>], most: usize, got: &[Value]) -> Option<String> {
    let all = groups.iter().map(Vec::len).sum::<usize>();
    let wanted = all.min(most);
    if got.len() != wanted {
        return Some(format!("{} rows came, {wanted} are meant", got.len()));
    }
    let mut begin = 0;
    for group in groups {
        let end = (begin + group.len()).min(got.len());
        let mut left: Vec<&PlaceMeaning> = group.iter().collect();
        for (at, row) in got.iter().enumerate().take(end).skip(begin) {
            match left.iter().position(|meaning| meaning.fits(row)) {
                Some(known) => {
                    left.remove(known);
                }
                None => return Some(misplaced(groups, got, at, row, &left)),
            }
        }
        begin = end;
    }
    None
}

/// What is wrong with a row that does not fit its place.
fn misplaced(groups: &[Vec<PlaceMeaning>], got: &[Value], at: usize, row: &Value, left: &[&PlaceMeaning]) -> String {
    let meant = groups.iter().flatten().filter(|meaning| meaning.fits(row)).count();
    let came = got.iter().filter(|other| *other == row).count();
    if meant == 0 {
        let nearest = left.iter().find_map(|meaning| {
            let what = meaning.value_difference(Some(row))?;
            what.starts_with("with").then_some(what)
        });
        return nearest.unwrap_or_else(|| format!("row {at} is not meant, or not so"));
    }
    match came > meant {
        true => format!("row {at} comes more than once"),
        false => format!("row {at} is out of order"),
    }
}
