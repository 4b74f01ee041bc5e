//! Whether a condition holds of an item: what the embedded store decides by, and what says which part of a condition failed.

use std::borrow::Cow;
use std::cmp::Ordering;

use singlet_item::{Item, Number, Value};

use crate::{AttributeType, Comparison, Condition, Operand, Path, Segment};

impl Condition {
    /// Whether it holds of an item, or of none.
    pub fn holds_of(&self, item: Option<&Item>) -> bool {
        match self {
            Self::And(all) => all.iter().all(|condition| condition.holds_of(item)),
            Self::Or(any) => any.iter().any(|condition| condition.holds_of(item)),
            Self::Not(inner) => !inner.holds_of(item),
            Self::Compare {
                left,
                comparison,
                right,
            } => compare(value(left, item).as_deref(), *comparison, value(right, item).as_deref()),
            Self::Between { operand, low, high } => {
                let operand = value(operand, item);
                compare(
                    operand.as_deref(),
                    Comparison::GreaterOrEqual,
                    value(low, item).as_deref(),
                ) && compare(
                    operand.as_deref(),
                    Comparison::LessOrEqual,
                    value(high, item).as_deref(),
                )
            }
            Self::In { operand, options } => {
                let operand = value(operand, item);
                let mut options = options.iter().map(|option| value(option, item));
                options.any(|option| compare(operand.as_deref(), Comparison::Equal, option.as_deref()))
            }
            Self::Exists(path) => at(path, item).is_some(),
            Self::NotExists(path) => at(path, item).is_none(),
            Self::HasType(path, ty) => at(path, item).is_some_and(|value| type_of(value) == *ty),
            Self::BeginsWith(whole, start) => match (value(whole, item).as_deref(), value(start, item).as_deref()) {
                (Some(Value::S(text)), Some(Value::S(start))) => text.starts_with(start.as_str()),
                (Some(Value::B(bytes)), Some(Value::B(start))) => bytes.starts_with(start),
                _ => false,
            },
            Self::Contains(whole, part) => match (value(whole, item), value(part, item)) {
                (Some(whole), Some(part)) => contains(&whole, &part),
                _ => false,
            },
        }
    }
}

fn compare(left: Option<&Value>, comparison: Comparison, right: Option<&Value>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return comparison == Comparison::NotEqual;
    };
    let order = match (left, right) {
        (Value::S(left), Value::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::N(left), Value::N(right)) => Some(left.cmp(right)),
        (Value::B(left), Value::B(right)) => Some(left.cmp(right)),
        _ => None,
    };
    match comparison {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn value<'a>(operand: &'a Operand, item: Option<&'a Item>) -> Option<Cow<'a, Value>> {
    match operand {
        Operand::Value(value) => Some(Cow::Borrowed(value)),
        Operand::Path(path) => at(path, item).map(Cow::Borrowed),
        Operand::Size(path) => {
            let size = match at(path, item)? {
                Value::S(text) => text.len(),
                Value::B(bytes) => bytes.len(),
                Value::L(elements) => elements.len(),
                Value::M(entries) => entries.len(),
                Value::Ss(words) => words.len(),
                Value::Ns(numbers) => numbers.len(),
                Value::Bs(all) => all.len(),
                _ => return None,
            };
            Some(Cow::Owned(Value::N(Number::from(i64::try_from(size).ok()?))))
        }
    }
}

fn at<'a>(path: &Path, item: Option<&'a Item>) -> Option<&'a Value> {
    let mut value = item?.get(path.name())?;
    for segment in path.inner_segments() {
        value = match (segment, value) {
            (Segment::Key(name), Value::M(entries)) => entries.get(name)?,
            (Segment::Index(index), Value::L(elements)) => elements.get(*index)?,
            _ => return None,
        };
    }
    Some(value)
}

fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::S(text), Value::S(part)) => text.contains(part.as_str()),
        (Value::Ss(words), Value::S(word)) => words.contains(word),
        (Value::Ns(numbers), Value::N(number)) => numbers.contains(number),
        (Value::Bs(all), Value::B(bytes)) => all.contains(bytes),
        (Value::L(elements), part) => elements.contains(part),
        _ => false,
    }
}

fn type_of(value: &Value) -> AttributeType {
    match value {
        Value::S(_) => AttributeType::String,
        Value::N(_) => AttributeType::Number,
        Value::B(_) => AttributeType::Binary,
        Value::Bool(_) => AttributeType::Bool,
        Value::Null => AttributeType::Null,
        Value::L(_) => AttributeType::List,
        Value::M(_) => AttributeType::Map,
        Value::Ss(_) => AttributeType::StringSet,
        Value::Ns(_) => AttributeType::NumberSet,
        Value::Bs(_) => AttributeType::BinarySet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn item() -> Item {
        BTreeMap::from([
            ("s".to_owned(), Value::S("abc".to_owned())),
            ("n".to_owned(), Value::N(Number::from(5))),
            ("l".to_owned(), Value::L(vec![Value::Bool(true)])),
        ])
    }

    #[test]
    fn what_is_absent_compares_with_nothing_but_differs() {
        let item = item();
        let missing = |comparison| Condition::compare(Path::attribute("x"), comparison, Value::N(Number::from(1)));
        assert!(!missing(Comparison::Less).holds_of(Some(&item)));
        assert!(!missing(Comparison::Equal).holds_of(Some(&item)));
        assert!(missing(Comparison::NotEqual).holds_of(Some(&item)));
        assert!(missing(Comparison::NotEqual).holds_of(None));
    }

    #[test]
    fn types_do_not_mix() {
        let item = item();
        let text = Condition::compare(Path::attribute("n"), Comparison::Less, Value::S("9".to_owned()));
        assert!(!text.holds_of(Some(&item)));
        let number = Condition::compare(Path::attribute("n"), Comparison::Less, Value::N(Number::from(9)));
        assert!(number.holds_of(Some(&item)));
        assert!(!number.negate().holds_of(Some(&item)));
    }

    #[test]
    fn functions_look_inside() {
        let item = item();
        let starts = Condition::begins_with("s", "ab");
        assert!(starts.holds_of(Some(&item)));
        assert!(Condition::contains("l", true).holds_of(Some(&item)));
        assert!(Condition::exists(Path::attribute("l").list_element(0)).holds_of(Some(&item)));
        assert!(Condition::not_exists(Path::attribute("l").list_element(1)).holds_of(Some(&item)));
        let size = Condition::compare(
            Operand::Size(Path::attribute("s")),
            Comparison::Equal,
            Value::N(Number::from(3)),
        );
        assert!(size.holds_of(Some(&item)));
    }
}
