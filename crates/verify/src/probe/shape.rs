//! What an answer must look like: values, and lists in which equal rows may come in any order, each once.

use std::collections::BTreeMap;

use singlet_item::Value;

/// What an answer must be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerShape {
    /// Exactly this; nothing is as good as null.
    Value(Option<Value>),
    /// Groups of rows that are equal in the order, one after the other; of the last that is begun any may be left out, so that
    /// no more come than wanted.
    Rows { groups: Vec<Vec<AnswerShape>>, most: usize },
    /// A row with what comes with it.
    Map(BTreeMap<String, AnswerShape>),
    /// One of several.
    Any(Vec<AnswerShape>),
}

impl AnswerShape {
    /// Where an answer is something else; none where it is as it must be.
    pub fn shape_difference(&self, got: Option<&Value>) -> Option<String> {
        let got = got.filter(|value| !value.is_null());
        match self {
            AnswerShape::Value(wanted) => {
                let wanted = wanted.as_ref().filter(|value| !value.is_null());
                (wanted != got).then(|| match (wanted, got) {
                    (Some(_), None) => "nothing comes, though there is something".to_owned(),
                    (None, Some(_)) => "something comes, though there is nothing".to_owned(),
                    _ => "another value comes".to_owned(),
                })
            }
            AnswerShape::Rows { groups, most } => match got {
                Some(Value::L(rows)) => rows_difference(groups, *most, rows),
                _ => Some("no list comes".to_owned()),
            },
            AnswerShape::Map(wanted) => map_difference(wanted, got),
            AnswerShape::Any(all) => {
                let mut differences = all.iter().map(|shape| shape.shape_difference(got));
                let first = differences.next().flatten()?;
                match differences.any(|difference| difference.is_none()) {
                    true => None,
                    false => Some(first),
                }
            }
        }
    }

    /// What it is in one of its orders, to be shown.
    pub fn shown(&self) -> Option<Value> {
        match self {
            AnswerShape::Value(value) => value.clone(),
            AnswerShape::Rows { groups, most } => {
                let rows = groups.iter().flatten().take(*most).filter_map(AnswerShape::shown);
                Some(Value::L(rows.collect()))
            }
            AnswerShape::Map(fields) => {
                let fields = fields
                    .iter()
                    .filter_map(|(name, shape)| Some((name.clone(), shape.shown()?)));
                Some(Value::M(fields.collect()))
            }
            AnswerShape::Any(all) => all.first()?.shown(),
        }
    }

    /// Whether it has rows, or says more than nothing.
    pub fn is_full(&self) -> bool {
        match self {
            AnswerShape::Value(value) => value.as_ref().is_some_and(|value| !value.is_null()),
            AnswerShape::Rows { groups, .. } => !groups.is_empty(),
            AnswerShape::Map(fields) => fields.values().any(AnswerShape::is_full),
            AnswerShape::Any(all) => all.iter().any(AnswerShape::is_full),
        }
    }
}

fn map_difference(wanted: &BTreeMap<String, AnswerShape>, got: Option<&Value>) -> Option<String> {
    let Some(Value::M(got)) = got else {
        return Some("nothing comes, though there is something".to_owned());
    };
    if let Some(name) = got
        .iter()
        .find(|(name, value)| !value.is_null() && !wanted.contains_key(*name))
    {
        return Some(format!("`{}` comes, which is not asked for", name.0));
    }
    wanted.iter().find_map(|(name, shape)| {
        let difference = shape.shape_difference(got.get(name))?;
        Some(format!("`{name}`: {difference}"))
    })
}

fn rows_difference(groups: &[Vec<AnswerShape>], most: usize, got: &[Value]) -> Option<String> {
    let wanted = groups.iter().map(Vec::len).sum::<usize>().min(most);
    let missing = || {
        let known = groups.iter().flatten();
        let found = |shape: &&AnswerShape| got.iter().any(|row| shape.shape_difference(Some(row)).is_none());
        let missed = known.filter(|shape| !found(shape)).count();
        let extra = got.iter().filter(|row| !is_among(groups, row)).count();
        match (missed, extra) {
            (0, 0) => match got.len().cmp(&wanted) {
                std::cmp::Ordering::Greater => "a row comes more than once".to_owned(),
                _ => format!("{} of {wanted} rows come", got.len()),
            },
            (0, extra) => format!("{} too many", rows(extra)),
            (missed, 0) => format!("{} missing", rows(missed)),
            (missed, extra) => format!("{} missing, {} too many", rows(missed), rows(extra)),
        }
    };
    if got.len() != wanted {
        return Some(missing());
    }
    let mut rest = got;
    for group in groups {
        let (own, after) = rest.split_at(group.len().min(rest.len()));
        rest = after;
        let mut open: Vec<&AnswerShape> = group.iter().collect();
        for row in own {
            match open
                .iter()
                .position(|shape| shape.shape_difference(Some(row)).is_none())
            {
                Some(at) => {
                    open.swap_remove(at);
                }
                None if is_among(groups, row) => {
                    let times = got.iter().filter(|other| *other == row).count();
                    let meant = groups
                        .iter()
                        .flatten()
                        .filter(|shape| shape.shape_difference(Some(row)).is_none());
                    return Some(match times > meant.count() {
                        true => "a row comes more than once".to_owned(),
                        false => "the rows come in another order".to_owned(),
                    });
                }
                None => return Some(missing()),
            }
        }
    }
    None
}

fn is_among(groups: &[Vec<AnswerShape>], row: &Value) -> bool {
    groups
        .iter()
        .flatten()
        .any(|shape| shape.shape_difference(Some(row)).is_none())
}

fn rows(count: usize) -> String {
    match count {
        1 => "1 row is".to_owned(),
        many => format!("{many} rows are"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> AnswerShape {
        AnswerShape::Value(Some(Value::from(text)))
    }

    fn list(texts: &[&str]) -> Value {
        Value::L(texts.iter().map(|text| Value::from(*text)).collect())
    }

    #[test]
    fn equal_rows_come_in_any_order_each_once() {
        let shape = AnswerShape::Rows {
            groups: vec![vec![row("a"), row("b")], vec![row("c")]],
            most: usize::MAX,
        };
        assert_eq!(shape.shape_difference(Some(&list(&["b", "a", "c"]))), None);
        let said = |texts: &[&str]| shape.shape_difference(Some(&list(texts))).unwrap();
        assert_eq!(said(&["a", "c", "b"]), "the rows come in another order");
        assert_eq!(said(&["a", "a", "c"]), "a row comes more than once");
        assert_eq!(said(&["a", "b"]), "1 row is missing");
        assert_eq!(said(&["a", "b", "c", "d"]), "1 row is too many");
        assert_eq!(said(&["a", "b", "d"]), "1 row is missing, 1 row is too many");
    }

    #[test]
    fn a_limit_may_fall_among_equal_rows() {
        let shape = AnswerShape::Rows {
            groups: vec![vec![row("a"), row("b")]],
            most: 1,
        };
        assert_eq!(shape.shape_difference(Some(&list(&["b"]))), None);
        assert!(shape.shape_difference(Some(&list(&["a", "b"]))).is_some());
        assert!(shape.shape_difference(Some(&list(&[]))).is_some());
    }
}
