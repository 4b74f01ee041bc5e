//! From the ends of a range of values to the ends of a range of keys.

use singlet_item::Value;

/// What stands around the part that has ends.
#[derive(Clone, Debug)]
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

/// A key at the end of a range, and whether the key itself is left out.
pub type KeyEnd = Option<(Value, bool)>;

impl Ends {
    /// The least and the greatest key; where neither end has a value, all keys that begin with the prefix are meant.
    pub fn keys(&self, low: KeyEnd, high: KeyEnd) -> (KeyEnd, KeyEnd) {
        (self.low(low), self.high(high))
    }

    /// The least key: that of the value itself, or where it is left out, the one after all keys that begin with it.
    fn low(&self, end: KeyEnd) -> KeyEnd {
        match end {
            None if self.whole || self.prefix.is_empty() => None,
            None => Some((Value::S(self.prefix.clone()), false)),
            Some((Value::S(text), excluded)) if !self.whole => {
                let start = format!("{}{text}", self.prefix);
                Some(match (excluded, self.last) {
                    (false, _) => (Value::S(start), false),
                    (true, true) => (Value::S(start), true),
                    // Behind every key that has this value and goes on with other parts.
                    (true, false) => (Value::S(after(&format!("{start}{}", self.follower))), false),
                })
            }
            end => end,
        }
    }

    /// The greatest key: the last that begins with the value, or where it is left out, the value itself.
    fn high(&self, end: KeyEnd) -> KeyEnd {
        match end {
            None if self.whole || self.prefix.is_empty() => None,
            None => Some((Value::S(after(&self.prefix)), true)),
            Some((Value::S(text), excluded)) if !self.whole => {
                let start = format!("{}{text}", self.prefix);
                Some(match (excluded, self.last) {
                    (true, _) => (Value::S(start), true),
                    (false, true) => (Value::S(start), false),
                    (false, false) => (Value::S(after(&format!("{start}{}", self.follower))), true),
                })
            }
            end => end,
        }
    }
}

/// The least text after every text that begins so: the last character becomes the next one.
pub fn after(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    while let Some(last) = chars.pop() {
        // Past the numbers that are no characters.
        let next = ((last as u32 + 1)..=0x0010_FFFF).find_map(char::from_u32);
        if let Some(next) = next {
            chars.push(next);
            break;
        }
    }
    chars.into_iter().collect()
}
