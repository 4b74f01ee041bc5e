//! Instants and spans of time as scenarios write them.

use singlet_model::evaluate::time;
use singlet_values as values;

/// `2026-03-10T09:00:00Z` in epoch milliseconds.
pub(crate) fn instant_millis(text: &str) -> Option<i64> {
    time::parse_iso(text)
}

/// `25h`, `1d`, `90s`, `5ms` in milliseconds; months have no fixed length.
pub(crate) fn span_millis(text: &str) -> Option<i64> {
    if let Some(millis) = text.strip_suffix("ms") {
        return millis.parse().ok();
    }
    let duration = values::parse_duration(text)?;
    (duration.months() == 0).then(|| duration.millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_have_a_fixed_length() {
        assert_eq!(span_millis("1d2h"), Some(93_600_000));
        assert_eq!(span_millis("5ms"), Some(5));
        assert_eq!(span_millis("1mo"), None);
        assert_eq!(span_millis("soon"), None);
        assert_eq!(instant_millis("1970-01-01T00:00:01Z"), Some(1_000));
        assert_eq!(instant_millis("tomorrow"), None);
    }
}
