//! Values that writes make up: ids, digits, random numbers.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use singlet_item::{Number, Value};
use singlet_model::evaluate::{Borrowed, Environment, Look};
use singlet_model::expression::{Expr, ExprKind, FunctionId, Word};

use crate::random::random_bytes;
use crate::scope::Scope;

/// KSUIDs count seconds from 2014-05-13T16:53:20Z.
const KSUID_EPOCH_SECONDS: i64 = 1_400_000_000;

/// A scope in which new values can be made.
pub(crate) struct Generating<'a>(pub Scope<'a>);

impl Environment for Generating<'_> {
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.attribute(name)
    }

    fn row(&self) -> Option<Cow<'_, Value>> {
        self.0.row()
    }

    fn row_field(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.row_field(name)
    }

    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.arg(name)
    }

    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        self.0.caller(claim)
    }

    fn setting(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.setting(name)
    }

    fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.0.bound(name)
    }

    fn look_at(&self, name: &str, look: Look<'_>) -> Borrowed<'_> {
        self.0.look_at(name, look)
    }

    fn word(&self, word: Word) -> Option<Cow<'_, Value>> {
        self.0.word(word)
    }

    fn now(&self) -> i64 {
        self.0.now()
    }

    fn zone(&self) -> &TimeZone {
        self.0.zone()
    }

    fn generate(&self, expr: &Expr, argument: Option<u64>) -> Option<Value> {
        let ExprKind::Call(function, _) = &expr.kind else {
            return None;
        };
        // An instant before 1970 has no such id; its order is then that of the random part.
        let millis = u64::try_from(self.0.now).unwrap_or(0);
        Some(match function {
            FunctionId::Ulid => Value::S(ulid::Ulid::from_parts(millis, random_u128()?).to_string()),
            FunctionId::Uuid => {
                let tail: [u8; 10] = random_bytes()?;
                let id = uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid();
                Value::S(id.hyphenated().to_string())
            }
            FunctionId::Ksuid => Value::S(ksuid(self.0.now, random_bytes()?)),
            FunctionId::Digits => Value::S(digits(argument.unwrap_or(6))?),
            FunctionId::Random => Value::N(Number::from(i64::try_from(below(argument.unwrap_or(1))?).ok()?)),
            _ => return None,
        })
    }
}

fn random_u128() -> Option<u128> {
    random_bytes().map(u128::from_be_bytes)
}

/// A number below another, each as likely as any: numbers past the last whole round are drawn again.
fn below(most: u64) -> Option<u64> {
    let most = most.max(1);
    let fair = u64::MAX - u64::MAX % most;
    loop {
        let number = u64::from_be_bytes(random_bytes()?);
        // Without this the lower numbers would come more often, by which a code of digits is easier to guess.
        if number < fair {
            return Some(number % most);
        }
    }
}

fn digits(count: u64) -> Option<String> {
    (0..count.min(100))
        .map(|_| below(10).map(|digit| digit.to_string()))
        .collect()
}

/// Seconds and 16 random bytes, in base 62, 27 characters.
fn ksuid(now: i64, tail: [u8; 16]) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let seconds = u32::try_from(now.div_euclid(1_000) - KSUID_EPOCH_SECONDS).unwrap_or(0);
    let mut number: Vec<u8> = seconds.to_be_bytes().into_iter().chain(tail).collect();
    let mut text = Vec::with_capacity(27);
    for _ in 0..27 {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            rest = value % 62;
        }
        text.push(ALPHABET.get(rest as usize).copied().unwrap_or(b'0'));
    }
    text.reverse();
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ksuids_sort_by_time_and_have_one_length() {
        let early = ksuid(1_700_000_000_000, [255; 16]);
        let late = ksuid(1_700_000_001_000, [0; 16]);
        assert_eq!(early.len(), 27);
        assert!(early < late);
        // The greatest that there is, as its specification has it.
        let greatest = ksuid((i64::from(u32::MAX) + KSUID_EPOCH_SECONDS) * 1_000, [255; 16]);
        assert_eq!(greatest, "aWgEPTl1tmebfsQzFP4bxwgy80V");
    }

    #[test]
    fn digits_are_digits() {
        let code = digits(8).unwrap_or_default();
        assert_eq!(code.len(), 8);
        assert!(code.bytes().all(|byte| byte.is_ascii_digit()));
    }
}
