//! Entity tags: the version of a row, and what requests say of it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use singlet_item::limits::IDEMPOTENCY_KEY_CHARS_MAX;
use singlet_item::{Number, Value};
use singlet_model::model::{Entity, IdempotencyNeed, Step, StepKind, Write};
use singlet_model::types::Type;
use singlet_runtime::Precondition;

use crate::problem::{FieldError, FieldErrors, Problem, RequestPlace};
use crate::refusals::version_differs;

/// How many tags are looked at.
const TAGS_MAX: usize = 32;

/// The version of a row of an entity.
pub(crate) fn row_version(entity: &Entity, row: &Value) -> Option<Number> {
    let attribute = entity
        .attributes
        .iter()
        .find(|attribute| attribute.ty == Type::Version)?;
    row.as_map()?.get(&attribute.name)?.as_number()
}

/// The tag of a version.
pub fn version_tag(version: Number) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{version}\"")).ok()
}

/// What `If-Match` and `If-None-Match` say of the row that a write changes.
///
/// # Errors
///
/// Where one of them is not as it should be, or both are there.
pub(crate) fn precondition_of(headers: &HeaderMap) -> Result<Precondition, Problem> {
    let wrong = |name: &str, detail: &str| {
        let place = RequestPlace::Header(name.to_owned());
        Problem::invalid_input(FieldErrors::only_error(FieldError::new(place, detail)))
    };
    let none_match = tags(headers, &header::IF_NONE_MATCH);
    let matching = tags(headers, &header::IF_MATCH);
    match (matching, none_match) {
        (None, None) => Ok(Precondition::Unsaid),
        (None, Some(text)) if text.as_deref() == Some("*") => Ok(Precondition::Absent),
        (None, Some(_)) => Err(wrong("If-None-Match", "of a write this must be `*`")),
        (Some(_), Some(_)) => Err(wrong("If-None-Match", "this is not taken beside `If-Match`")),
        (Some(text), None) if text.as_deref() == Some("*") => Ok(Precondition::Present),
        (Some(text), None) => {
            let versions = text
                .as_deref()
                .and_then(versions)
                .filter(|versions| !versions.is_empty());
            let detail = "this must be entity tags, such as `\"3\"` or `\"3\", \"4\"`, or `*`";
            versions
                .map(|versions| Precondition::Version(versions.into_iter().flatten().collect()))
                .ok_or_else(|| wrong("If-Match", detail))
        }
    }
}

/// All values of a header as one; an inner `None` where they are not text.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Option<String>> {
    let mut sent = headers.get_all(name).iter().peekable();
    sent.peek()?;
    let texts: Option<Vec<&str>> = sent.map(|value| value.to_str().ok()).collect();
    Some(texts.map(|texts| texts.join(",").trim().to_owned()))
}

/// The version of each tag; none for one that no row has: a weak one, or one that is no version.
fn versions(list: &str) -> Option<Vec<Option<Number>>> {
    let mut found = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start();
        let (weak, tag) = rest.strip_prefix("W/").map_or((false, rest), |tag| (true, tag));
        let (inside, after) = tag.strip_prefix('"')?.split_once('"')?;
        if found.len() == TAGS_MAX || inside.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return None;
        }
        // Another spelling of a number is another tag.
        let version = inside
            .parse()
            .ok()
            .filter(|version: &Number| version.to_string() == inside);
        // A weak tag matches nothing, but it is one, so that the list is not wrong.
        found.push(version.filter(|_| !weak));
        match after.trim_start() {
            "" => return Some(found),
            more => rest = more.strip_prefix(',')?,
        }
    }
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
        let place = RequestPlace::Header("Idempotency-Key".to_owned());
        return Err(Problem::invalid_input(FieldErrors::only_error(FieldError::new(
            place, detail,
        ))));
    }
    Ok(Some(inside.to_owned()))
}

/// The idempotency key of a write: none where the write takes none, or makes its own.
///
/// # Errors
///
/// Where it is not as it should be, or is missing though the write needs one.
pub fn write_key(write: &Write, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    if write.idempotency.need == IdempotencyNeed::None || write.idempotency.key.is_some() {
        // Where the write has its own key, or needs none, what the header says has no meaning.
        return Ok(None);
    }
    let key = idempotency_key(headers)?;
    if key.is_none() && write.idempotency.need == IdempotencyNeed::Required {
        let detail = "this operation needs an `Idempotency-Key` header";
        let place = RequestPlace::Header("Idempotency-Key".to_owned());
        return Err(Problem {
            errors: Box::new(FieldErrors::only_error(FieldError::new(place, "this is missing"))),
            ..Problem::new(StatusCode::BAD_REQUEST, "idempotency_key_required", detail)
        });
    }
    Ok(key)
}

/// What a request says of the row that a write changes.
///
/// # Errors
///
/// Where a header is not as it should be, or names a version of a row that the write makes.
pub fn write_precondition(write: &Write, headers: &HeaderMap) -> Result<Precondition, Problem> {
    let asked = precondition_of(headers)?;
    let needs_row = matches!(asked, Precondition::Present | Precondition::Version(_));
    let creates = |step: &&Step| matches!(step.kind, StepKind::Create(_));
    // What is only made has no version before.
    match needs_row && write.all_steps().iter().all(creates) {
        true => Err(version_differs()),
        false => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn if_match_is_strong_tags_or_a_star() {
        let asked = |value| precondition_of(&headers(header::IF_MATCH, value));
        let versions = |all: &[i64]| {
            Ok(Precondition::Version(
                all.iter().map(|one| Number::from(*one)).collect(),
            ))
        };
        assert_eq!(asked("\"3\""), versions(&[3]));
        assert_eq!(asked("\"1\" ,\"2\""), versions(&[1, 2]));
        assert_eq!(asked("*"), Ok(Precondition::Present));
        assert_eq!(asked("W/\"3\", \"4\""), versions(&[4]));
        for never in ["W/\"3\"", "\"abc\"", "\"3.0\"", "\"03\"", "\"\""] {
            assert_eq!(asked(never), versions(&[]), "{never}");
        }
        for wrong in ["3", "\"1\" \"2\"", "\"1", "", ",", "\"1\",", "*, \"1\"", "w/\"1\""] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
        let many = (0..=TAGS_MAX).map(|_| "\"1\"").collect::<Vec<_>>().join(",");
        assert!(super::versions(&many).is_none());
        assert_eq!(precondition_of(&HeaderMap::new()), Ok(Precondition::Unsaid));
    }

    #[test]
    fn if_none_match_of_a_write_is_a_star() {
        let asked = |value| precondition_of(&headers(header::IF_NONE_MATCH, value));
        assert_eq!(asked("*"), Ok(Precondition::Absent));
        assert!(asked("\"1\"").is_err());
        let mut both = headers(header::IF_NONE_MATCH, "*");
        both.insert(header::IF_MATCH, HeaderValue::from_static("*"));
        assert!(precondition_of(&both).is_err());
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
