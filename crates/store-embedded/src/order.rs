//! Values of keys as bytes that sort as DynamoDB sorts the values, one after another.
//!
//! A string or binary is its bytes, a zero byte followed by 255, and its end is two zero bytes: what ends sorts before what goes on,
//! and the next value begins where it ended. A number is its sign, the place of its first digit, and its digits two by
//! two; of a negative number all of that is turned round.

use singlet_item::{Number, Value};

/// What follows a zero byte within a value.
const ZERO_INSIDE: u8 = 0xff;
/// How a string or binary ends.
const END: [u8; 2] = [0, 0];

const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
/// The place of the first digit is from 10^-130 to 10^125: a byte without a sign.
const PLACE_MIN: i32 = -130;

/// Adds a value. Only strings, numbers and binaries are keys; of others nothing is added, and none gets here.
pub(crate) fn put_key_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::S(text) => put_text(out, text.as_bytes()),
        Value::B(bytes) => put_text(out, bytes),
        Value::N(number) => put_number(out, *number),
        Value::Bool(_) | Value::Null | Value::L(_) | Value::M(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => {}
    }
}

/// Adds what every string or binary begins with that begins with this one.
pub(crate) fn put_key_prefix(out: &mut Vec<u8>, prefix: &Value) {
    match prefix {
        Value::S(text) => put_escaped(out, text.as_bytes()),
        Value::B(bytes) => put_escaped(out, bytes),
        _ => put_key_value(out, prefix),
    }
}

/// The first bytes after all that begin with these; none, where nothing can come after.
pub(crate) fn after_prefix(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}

fn put_text(out: &mut Vec<u8>, bytes: &[u8]) {
    put_escaped(out, bytes);
    // Two zero bytes, which nothing inside can be: a text that ends comes before one that goes on.
    out.extend_from_slice(&END);
}

fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut parts = bytes.split(|byte| *byte == 0);
    out.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        // Above the end, so that a text with a zero byte comes after the one that ends there.
        out.extend_from_slice(&[0, ZERO_INSIDE]);
        out.extend_from_slice(part);
    }
}

fn put_number(out: &mut Vec<u8>, number: Number) {
    let (digits, power) = number.to_parts();
    if digits == 0 {
        out.push(ZERO);
        return;
    }
    let turn = |byte: u8| if digits < 0 { !byte } else { byte };
    out.push(if digits < 0 { NEGATIVE } else { POSITIVE });
    let count = number.significant_digits();
    let place = i32::from(power) + i32::from(count) - 1 - PLACE_MIN;
    // Of a negative number the greater place comes first, and so do its digits.
    out.push(turn(u8::try_from(place).unwrap_or(u8::MAX)));
    // An even count of digits, so that pairs begin at the first; 38 digits are even already.
    let mut rest = digits.unsigned_abs() * if count.is_multiple_of(2) { 1 } else { 10 };
    let start = out.len();
    while rest > 0 {
        // One more than the pair, so that none is zero, which ends the number.
        out.push(turn((rest % 100) as u8 + 1));
        rest /= 100;
    }
    out.get_mut(start..).unwrap_or_default().reverse();
    // Below every pair, so that fewer digits come first.
    out.push(turn(0));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn key(value: impl Into<Value>) -> Vec<u8> {
        let mut out = Vec::new();
        put_key_value(&mut out, &value.into());
        out
    }

    #[test]
    fn texts_sort_by_their_bytes_and_end_before_they_go_on() {
        let sorted = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "a\u{1}", "ab", "b", "😀"];
        for pair in sorted.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a_prefix_has_all_that_begin_with_it_and_nothing_else() {
        for (prefix, inside, outside) in [
            ("a", "a\u{10ffff}", "b"),
            ("\0", "\0\u{1}", "\u{1}"),
            ("a\0", "a\0z", "a\u{1}"),
        ] {
            let mut low = Vec::new();
            put_key_prefix(&mut low, &prefix.into());
            let high = after_prefix(low.clone()).unwrap();
            let range = low..high;
            assert!(
                range.contains(&key(prefix)) && range.contains(&key(inside)),
                "{prefix:?}"
            );
            assert!(!range.contains(&key(outside)), "{prefix:?}");
        }
        assert_eq!(after_prefix(vec![255, 255]), None);
    }

    #[test]
    fn numbers_sort_by_value() {
        let sorted = [
            "-9.9999999999999999999999999999999999999E+125",
            "-1E125",
            "-1000",
            "-10",
            "-9.5",
            "-9.49",
            "-9",
            "-1",
            "-0.001",
            "-1E-130",
            "0",
            "1E-130",
            "0.1",
            "0.11",
            "0.101E1",
            "1.1",
            "9",
            "10",
            "10.5",
            "11",
            "99",
            "100",
            "12345678901234567890123456789012345678",
            "9.9999999999999999999999999999999999999E+125",
        ];
        let keys: Vec<Vec<u8>> = sorted.iter().map(|text| key(text.parse::<Number>().unwrap())).collect();
        for (position, pair) in keys.windows(2).enumerate() {
            assert!(pair[0] < pair[1], "{} {}", sorted[position], sorted[position + 1]);
        }
    }
}
