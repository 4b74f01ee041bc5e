//! Stored values as JSON text, in one pass and with every digit of a number: a JSON tree would hold numbers as doubles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use singlet_item::Value;

/// A value.
pub fn json_of(value: &Value) -> String {
    let mut out = Vec::new();
    write_value(&mut out, value);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends a value.
pub fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::S(text) => write_string(out, text),
        Value::N(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Null => out.extend_from_slice(b"null"),
        Value::B(bytes) => write_string(out, &STANDARD.encode(bytes)),
        Value::L(elements) => list(out, elements, write_value),
        Value::M(entries) => write_object(out, entries.iter().map(|(name, value)| (name.as_str(), value))),
        Value::Ss(words) => list(out, words, |out, word| write_string(out, word)),
        Value::Ns(numbers) => list(out, numbers, |out, number| {
            out.extend_from_slice(number.to_string().as_bytes());
        }),
        Value::Bs(all) => list(out, all, |out, bytes| write_string(out, &STANDARD.encode(bytes))),
    }
}

/// A value over several lines, for people.
pub fn indented_json(value: &Value) -> String {
    let mut out = String::new();
    indent(&mut out, value, 0);
    out
}

fn indent(out: &mut String, value: &Value, depth: usize) {
    if let Value::L(elements) = value
        && !elements.is_empty()
    {
        let elements = elements.iter().map(|element| (None, element));
        return indent_all(out, ('[', ']'), elements, depth);
    }
    if let Value::M(entries) = value
        && !entries.is_empty()
    {
        let entries = entries.iter().map(|(name, value)| (Some(name.as_str()), value));
        return indent_all(out, ('{', '}'), entries, depth);
    }
    out.push_str(&json_of(value));
}

fn indent_all<'a>(
    out: &mut String,
    (open, close): (char, char),
    entries: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    depth: usize,
) {
    out.push(open);
    for (at, (name, value)) in entries.enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(name) = name {
            out.push_str(&json_of(&Value::S(name.to_owned())));
            out.push_str(": ");
        }
        indent(out, value, depth + 1);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

/// Appends an object.
pub fn write_object<'a>(out: &mut Vec<u8>, entries: impl Iterator<Item = (&'a str, &'a Value)>) {
    out.push(b'{');
    for (at, (name, value)) in entries.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(out, name);
        out.push(b':');
        write_value(out, value);
    }
    out.push(b'}');
}

/// Appends a string.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    // Writing into memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

fn list<T>(out: &mut Vec<u8>, elements: impl IntoIterator<Item = T>, each: impl Fn(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (at, element) in elements.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        each(out, element);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_digit_of_a_number_is_kept() {
        let digits = "12345678901234567890123456789012345678";
        let mut out = Vec::new();
        write_value(
            &mut out,
            &Value::L(vec![Value::N(digits.parse().unwrap()), Value::S("a\"\n".to_owned())]),
        );
        assert_eq!(String::from_utf8(out).unwrap(), format!("[{digits},\"a\\\"\\n\"]"));
    }

    #[test]
    fn lines_are_indented_with_every_digit() {
        let digits = "12345678901234567890123456789012345678";
        let list = Value::L(vec![Value::N(digits.parse().unwrap()), Value::L(Vec::new())]);
        let value = Value::M(BTreeMap::from([
            ("a\"".to_owned(), list),
            ("b".to_owned(), Value::Null),
        ]));
        let expected = format!("{{\n  \"a\\\"\": [\n    {digits},\n    []\n  ],\n  \"b\": null\n}}");
        assert_eq!(indented_json(&value), expected);
    }

    #[test]
    fn maps_nest() {
        let inner = Value::M(BTreeMap::from([("b".to_owned(), Value::Null)]));
        let mut out = Vec::new();
        write_value(
            &mut out,
            &Value::M(BTreeMap::from([
                ("a".to_owned(), inner),
                ("c".to_owned(), Value::Bool(true)),
            ])),
        );
        assert_eq!(out, br#"{"a":{"b":null},"c":true}"#);
    }
}
