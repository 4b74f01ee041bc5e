//! Places as editors count them: lines from zero, and units of UTF-16 in a line.

use serde_json::{Value as Json, json};
use singlet_model::Span;

/// The byte of a place; past the end of a line it is that end, and past the last line the end of the text.
pub(super) fn offset_of(text: &str, position: &Json) -> usize {
    let number = |name: &str| position.get(name).and_then(Json::as_u64).unwrap_or(0);
    let (line, character) = (number("line"), number("character"));
    let mut start = 0;
    for _ in 0..line {
        match text.get(start..).and_then(|rest| rest.find('\n')) {
            Some(newline) => start += newline + 1,
            None => return text.len(),
        }
    }
    let rest = text.get(start..).unwrap_or_default();
    let mut units = 0;
    for (at, char) in rest.char_indices() {
        if units >= character || matches!(char, '\n' | '\r') {
            return start + at;
        }
        units += char.len_utf16() as u64;
    }
    text.len()
}

/// The place of a byte.
pub(super) fn position_of(text: &str, offset: u32) -> Json {
    let before = text.get(..offset as usize).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count();
    let character = before.get(line_start..).unwrap_or_default().encode_utf16().count();
    json!({"line": line, "character": character})
}

/// The places of a span.
pub(super) fn range_of(text: &str, span: Span) -> Json {
    json!({"start": position_of(text, span.start), "end": position_of(text, span.end)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_units_of_utf_16() {
        let text = "a: é𝒳b\r\nc: d";
        for (offset, line, character) in [
            (0, 0, 0),
            (3, 0, 3),
            (5, 0, 4),
            (9, 0, 6),
            (10, 0, 7),
            (12, 1, 0),
            (16, 1, 4),
        ] {
            let place = json!({"line": line, "character": character});
            assert_eq!(position_of(text, offset), place);
            assert_eq!(offset_of(text, &place), offset as usize);
        }
        assert_eq!(offset_of(text, &json!({"line": 0, "character": 99})), 10);
        assert_eq!(offset_of(text, &json!({"line": 9, "character": 0})), text.len());
        assert_eq!(offset_of(text, &json!("nonsense")), 0);
    }
}
