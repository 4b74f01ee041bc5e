//! From the ends of a range of values to the ends of a range of keys.

use singlet_item::Value;
use singlet_store::SortRange;

/// Every key that begins with a text; no condition where that is every key.
pub fn begins_with(prefix: &str) -> Option<SortRange> {
    (!prefix.is_empty()).then(|| SortRange::begins_with(prefix))
}

/// What stands around the part that has ends.
pub struct Ends {
    /// The text before the part.
    pub prefix: String,
    /// The text after the part; empty also where the next part stands right after it, which then has one width.
    pub follower: String,
    /// Whether nothing stands after the part.
    pub last: bool,
    /// Whether the part is the whole key, in the key's own type.
    pub whole: bool,
}

impl Ends {
    /// The range, and keys that it includes too much; none where it is empty.
    pub fn range(
        &self,
        low: Option<(Value, bool)>,
        high: Option<(Value, bool)>,
    ) -> Option<(Option<SortRange>, Vec<Value>)> {
        if low.is_none() && high.is_none() {
            return Some((begins_with(&self.prefix), Vec::new()));
        }
        let (low, low_excluded) = self.low(low);
        let (high, high_excluded) = self.high(high);
        let mut except = Vec::new();
        let range = match (low, high) {
            (Some(low), Some(high)) => {
                if is_after(&low, &high) {
                    return None;
                }
                except.extend(low_excluded.then(|| low.clone()));
                except.extend(high_excluded.then(|| high.clone()));
                SortRange::Between(low, high)
            }
            (Some(low), None) if low_excluded => SortRange::Greater(low),
            (Some(low), None) => SortRange::GreaterOrEqual(low),
            (None, Some(high)) if high_excluded => SortRange::Less(high),
            (None, Some(high)) => SortRange::LessOrEqual(high),
            (None, None) => return Some((None, except)),
        };
        Some((Some(range), except))
    }

    /// The least key: that of the value itself, or where it is left out, the one after all keys that begin with it.
    fn low(&self, end: Option<(Value, bool)>) -> (Option<Value>, bool) {
        match end {
            None if self.whole || self.prefix.is_empty() => (None, false),
            None => (Some(Value::S(self.prefix.clone())), false),
            Some((value, excluded)) if self.whole => (Some(value), excluded),
            Some((Value::S(text), excluded)) => {
                let start = format!("{}{text}", self.prefix);
                match (excluded, self.last) {
                    (false, _) => (Some(Value::S(start)), false),
                    (true, true) => (Some(Value::S(start)), true),
                    (true, false) => (Some(Value::S(after(&format!("{start}{}", self.follower)))), false),
                }
            }
            Some((value, excluded)) => (Some(value), excluded),
        }
    }

    /// The greatest key: the last that begins with the value, or where it is left out, the value itself.
    fn high(&self, end: Option<(Value, bool)>) -> (Option<Value>, bool) {
        match end {
            None if self.whole || self.prefix.is_empty() => (None, false),
            None => (Some(Value::S(after(&self.prefix))), true),
            Some((value, excluded)) if self.whole => (Some(value), excluded),
            Some((Value::S(text), excluded)) => {
                let start = format!("{}{text}", self.prefix);
                match (excluded, self.last) {
                    (true, _) => (Some(Value::S(start)), true),
                    (false, true) => (Some(Value::S(start)), false),
                    (false, false) => (Some(Value::S(after(&format!("{start}{}", self.follower)))), true),
                }
            }
            Some((value, excluded)) => (Some(value), excluded),
        }
    }
}

/// The least text after every text that begins so: the last character becomes the next one.
pub(crate) fn after(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    while let Some(last) = chars.pop() {
        let next = ((last as u32 + 1)..=0x0010_FFFF).find_map(char::from_u32);
        if let Some(next) = next {
            chars.push(next);
            break;
        }
    }
    chars.into_iter().collect()
}

fn is_after(low: &Value, high: &Value) -> bool {
    match (low, high) {
        (Value::S(low), Value::S(high)) => low.as_bytes() > high.as_bytes(),
        (Value::N(low), Value::N(high)) => low > high,
        (Value::B(low), Value::B(high)) => low > high,
        _ => false,
    }
}
