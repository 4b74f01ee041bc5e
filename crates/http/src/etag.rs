//! Entity tags: the version of a row, and what requests say of it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use singlet_item::{Number, Value};
use singlet_model::model::Entity;
use singlet_model::types::Type;

use crate::problem::{FieldError, Place, Problem};

/// The version of a row of an entity.
pub fn version(entity: &Entity, row: &Value) -> Option<Number> {
    let attribute = entity
        .attributes
        .iter()
        .find(|attribute| attribute.ty == Type::Version)?;
    row.as_map()?.get(&attribute.name)?.as_number()
}

/// The tag of a version.
pub fn tag(version: Number) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{version}\"")).ok()
}

/// What `If-Match` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// Nothing.
    Unsaid,
    /// Whatever is there.
    Any,
    /// That version.
    Version(Number),
    /// A tag that no row has: a weak one, or one that is no version.
    Never,
}

/// What `If-Match` asks for.
///
/// # Errors
///
/// Where it is not one tag.
pub fn if_match(headers: &HeaderMap) -> Result<IfMatch, Problem> {
    let mut sent = headers.get_all(header::IF_MATCH).iter();
    let Some(first) = sent.next() else {
        return Ok(IfMatch::Unsaid);
    };
    let wrong = || {
        let place = Place::Header("If-Match".to_owned());
        Problem::invalid(vec![FieldError::new(
            place,
            "this must be one entity tag, such as `\"3\"`, or `*`",
        )])
    };
    let text = first.to_str().map_err(|_| wrong())?.trim();
    if sent.next().is_some() {
        return Err(wrong());
    }
    if text == "*" {
        return Ok(IfMatch::Any);
    }
    let (weak, tag) = text.strip_prefix("W/").map_or((false, text), |tag| (true, tag));
    let inside = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    let inside = inside.filter(|inside| !inside.contains('"')).ok_or_else(wrong)?;
    Ok(match inside.parse() {
        Ok(version) if !weak => IfMatch::Version(version),
        _ => IfMatch::Never,
    })
}

/// Whether `If-None-Match` names the tag, so that the row need not be sent again.
pub fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    let sent = headers.get_all(header::IF_NONE_MATCH).iter();
    let known = sent.filter_map(|value| value.to_str().ok());
    let mut each = known.flat_map(|list| list.split(',')).map(str::trim);
    each.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

/// The header of an idempotency key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// The idempotency key of a request: a string in quotes, as the draft has it, or bare.
///
/// # Errors
///
/// Where it is sent twice, empty, too long, or not printable ASCII.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut sent = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = sent.next() else { return Ok(None) };
    let text = first.to_str().unwrap_or_default().trim();
    let inside = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text);
    let printable = inside
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\');
    if sent.next().is_some() || inside.is_empty() || inside.len() > IDEMPOTENCY_KEY_CHARS_MAX || !printable {
        let detail =
            format!("this must be one key of 1 to {IDEMPOTENCY_KEY_CHARS_MAX} printable characters without quotes");
        let place = Place::Header("Idempotency-Key".to_owned());
        return Err(Problem::invalid(vec![FieldError::new(place, detail)]));
    }
    Ok(Some(inside.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn if_match_is_one_strong_tag_or_a_star() {
        let asked = |value| if_match(&headers(header::IF_MATCH, value));
        assert_eq!(asked("\"3\""), Ok(IfMatch::Version(Number::from(3))));
        assert_eq!(asked("*"), Ok(IfMatch::Any));
        assert_eq!(asked("W/\"3\""), Ok(IfMatch::Never));
        assert_eq!(asked("\"abc\""), Ok(IfMatch::Never));
        assert!(asked("3").is_err() && asked("\"1\", \"2\"").is_err());
        assert_eq!(if_match(&HeaderMap::new()), Ok(IfMatch::Unsaid));
    }

    #[test]
    fn if_none_match_compares_weakly_over_a_list() {
        let tag = HeaderValue::from_static("\"2\"");
        assert!(is_known(&headers(header::IF_NONE_MATCH, "\"1\", W/\"2\""), &tag));
        assert!(!is_known(&headers(header::IF_NONE_MATCH, "\"1\""), &tag));
    }

    #[test]
    fn an_idempotency_key_may_stand_in_quotes() {
        let key = |value| idempotency_key(&headers(IDEMPOTENCY_KEY, value));
        assert_eq!(key("\"a b\"").unwrap().as_deref(), Some("a b"));
        assert_eq!(key("a-b").unwrap().as_deref(), Some("a-b"));
        assert!(key("").is_err() && key("\"\"").is_err() && key("a\"b").is_err());
    }
}
