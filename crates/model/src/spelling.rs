//! The one spelling of a value that is text: what a request sends, what a model writes out and what is stored agree byte by byte.

use std::borrow::Cow;

use crate::evaluate::time;
use crate::types::Type;

/// Text as a value of a type is spelled; none where it stands for none. Instants become UTC with milliseconds, UUIDs lower case; of
/// the others there is only one spelling. Types that are not kept as text of a fixed form have none here.
pub fn canonical_text<'t>(text: &'t str, ty: &Type) -> Option<Cow<'t, str>> {
    match ty {
        Type::Date => time::parse_day(text).ok().map(|_| text.into()),
        Type::Month => time::parse_day(&format!("{text}-01")).ok().map(|_| text.into()),
        Type::Time | Type::Now => match time::iso_millis(time::parse_iso(text)?).ok()? {
            same if same == text => Some(text.into()),
            other => Some(other.into()),
        },
        Type::Uuid if text.bytes().any(|byte| byte.is_ascii_uppercase()) => known(text.to_ascii_lowercase().into(), ty),
        Type::Uuid | Type::Ulid | Type::Ksuid => known(text.into(), ty),
        Type::Text(_)
        | Type::Int(_)
        | Type::Number(_)
        | Type::Bool
        | Type::Bytes(_)
        | Type::Seconds
        | Type::Millis
        | Type::Duration
        | Type::Geo(_)
        | Type::Json
        | Type::Version
        | Type::Enum(_)
        | Type::Object(_)
        | Type::List(..)
        | Type::Set(..)
        | Type::Map(..)
        | Type::OrWords(..)
        | Type::Row(_)
        | Type::Group(..)
        | Type::Absent
        | Type::Unknown => None,
    }
}

/// The text, if keys know it as a value of the type.
fn known<'t>(text: Cow<'t, str>, ty: &Type) -> Option<Cow<'t, str>> {
    let domain = crate::key_domain(ty)?;
    domain.contains_text(&text).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_spelling() {
        let cases = [
            (Type::Date, "2026-02-13", Some("2026-02-13")),
            (Type::Date, "0000-01-01", Some("0000-01-01")),
            (Type::Date, "9999-12-31", Some("9999-12-31")),
            (Type::Date, "2024-02-29", Some("2024-02-29")),
            (Type::Date, "2026-02-29", None),
            (Type::Date, "+002026-02-13", None),
            (Type::Date, "-000001-01-01", None),
            (Type::Date, "20260213", None),
            (Type::Date, "2026-2-13", None),
            (Type::Date, "2026-02-13T00:00:00Z", None),
            (Type::Date, " 2026-02-13", None),
            (Type::Date, "２０２６-02-13", None),
            (Type::Month, "2026-01", Some("2026-01")),
            (Type::Month, "+002026-01", None),
            (Type::Month, "2026-13", None),
            (Type::Month, "2026-1", None),
            (Type::Month, "202601", None),
            (Type::Time, "2026-02-13T10:30:45.123Z", Some("2026-02-13T10:30:45.123Z")),
            (Type::Time, "2026-02-13T10:30:45Z", Some("2026-02-13T10:30:45.000Z")),
            (Type::Time, "2026-02-13t10:30:45z", Some("2026-02-13T10:30:45.000Z")),
            (
                Type::Time,
                "2026-02-13T11:30:45+01:00",
                Some("2026-02-13T10:30:45.000Z"),
            ),
            (
                Type::Time,
                "2026-02-13T10:30:45.1239999Z",
                Some("2026-02-13T10:30:45.123Z"),
            ),
            (
                Type::Time,
                "1969-12-31T23:59:59.9999Z",
                Some("1969-12-31T23:59:59.999Z"),
            ),
            (Type::Time, "0000-01-01T00:00:00Z", Some("0000-01-01T00:00:00.000Z")),
            (Type::Time, "0000-01-01T00:00:00+01:00", None),
            (Type::Time, "9999-12-30T22:00:00.000Z", Some("9999-12-30T22:00:00.000Z")),
            (Type::Time, "9999-12-30T22:00:00.001Z", None),
            (Type::Time, "+002026-02-13T10:30:45Z", None),
            (Type::Time, "20260213T103045Z", None),
            (Type::Time, "2026-02-13 10:30:45Z", None),
            (Type::Time, "2026-02-13T10:30:45", None),
            (
                Type::Ulid,
                "01J00000000000000000000007",
                Some("01J00000000000000000000007"),
            ),
            (Type::Ulid, "01j00000000000000000000007", None),
            (Type::Ulid, "81J00000000000000000000007", None),
            (
                Type::Ksuid,
                "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
                Some("0ujtsYcgvSTl8PAuAdqWYSMnLOv"),
            ),
            (Type::Ksuid, "0ujtsYcgvSTl8PAuAdqWYSMnLO", None),
            (
                Type::Uuid,
                "0190163D-8694-739B-AEA5-966C26F8AD91",
                Some("0190163d-8694-739b-aea5-966c26f8ad91"),
            ),
            (Type::Uuid, "{0190163d-8694-739b-aea5-966c26f8ad91}", None),
            (Type::Uuid, "0190163d8694739baea5966c26f8ad91", None),
        ];
        for (ty, text, expected) in cases {
            assert_eq!(canonical_text(text, &ty).as_deref(), expected, "{ty} {text}");
        }
    }
}
