//! Whether a text is a date, an id, a geohash: the same as the languages of these domains say, without walking an automaton, for
//! every key that is made asks it.

pub(crate) fn is_year(text: &str) -> bool {
    matches!(text.as_bytes(), [y1, y2, y3, y4] if are_digits(&[*y1, *y2, *y3, *y4]))
}

pub(crate) fn is_month(text: &str) -> bool {
    let month = text.split_once('-');
    month.is_some_and(|(year, month)| is_year(year) && two_digits(month).is_some_and(|month| (1..=12).contains(&month)))
}

pub(crate) fn is_date(text: &str) -> bool {
    let Some((month, day)) = text.rsplit_once('-').filter(|(month, _)| is_month(month)) else {
        return false;
    };
    let (Some(year), Some(month)) = (
        month.get(..4).and_then(|year| year.parse::<u16>().ok()),
        month.get(5..).and_then(two_digits),
    ) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    two_digits(day).is_some_and(|day| (1..=days).contains(&day))
}

pub(crate) fn is_time(text: &str) -> bool {
    let Some((date, clock)) = text.split_once('T') else {
        return false;
    };
    let [h1, h2, b':', m1, m2, b':', s1, s2, b'.', f1, f2, f3, b'Z'] = clock.as_bytes() else {
        return false;
    };
    is_date(date)
        && are_digits(&[*h1, *h2, *m1, *m2, *s1, *s2, *f1, *f2, *f3])
        && [*h1, *h2] <= *b"23"
        && *m1 <= b'5'
        && *s1 <= b'5'
}

pub(crate) fn is_ulid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 26
        && bytes.first().is_some_and(|first| (b'0'..=b'7').contains(first))
        && bytes.iter().all(
            |byte| matches!(byte, b'0'..=b'9' | b'A'..=b'H' | b'J' | b'K' | b'M' | b'N' | b'P'..=b'T' | b'V'..=b'Z'),
        )
}

pub(crate) fn is_ksuid(text: &str) -> bool {
    text.len() == 27 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(crate) fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

pub(crate) fn is_geohash(text: &str, precision: u8) -> bool {
    text.len() == usize::from(precision)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'b'..=b'h' | b'j' | b'k' | b'm' | b'n' | b'p'..=b'z'))
}

fn two_digits(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
        _ => None,
    }
}

fn are_digits(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use crate::key::languages::domain::Domain;
    use proptest::prelude::*;

    const DOMAINS: [Domain; 8] = [
        Domain::Year,
        Domain::Month,
        Domain::Date,
        Domain::Time,
        Domain::Ulid,
        Domain::Ksuid,
        Domain::Uuid,
        Domain::Geohash { precision: 5 },
    ];

    const WORDS: [&str; 14] = [
        "2026",
        "2026-02",
        "2026-12",
        "2000-02-29",
        "1900-02-28",
        "2026-04-30",
        "2026-12-31",
        "2026-02-13T23:59:59.123Z",
        "0000-02-29T00:00:00.000Z",
        "01J00000000000000000000007",
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "aWgEPTl1tmebfsQzFP4bxwgy80V",
        "0190163d-8694-739b-aea5-966c26f8ad91",
        "u3qcn",
    ];

    fn agree(text: &str) {
        for domain in &DOMAINS {
            let walked = domain.word_language().contains(text);
            assert_eq!(domain.contains_word(text), walked, "`{text}` in {domain}");
        }
    }

    #[test]
    fn every_day_of_some_years_is_as_the_language_has_it() {
        for year in ["0000", "1900", "1999", "2000", "2024", "2100"] {
            for month in 0..14 {
                for day in 0..33 {
                    agree(&format!("{year}-{month:02}-{day:02}"));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_word_with_a_few_changes_is_as_the_language_has_it(
            word in 0..WORDS.len(),
            changes in prop::collection::vec((0..40_usize, "[ -~é]", prop::bool::ANY), 0..3),
        ) {
            let mut text: Vec<char> = WORDS[word].chars().collect();
            for (at, with, inserts) in changes {
                let at = at % (text.len() + 1);
                let with = with.chars().next().unwrap_or('0');
                match text.get_mut(at) {
                    Some(place) if !inserts => *place = with,
                    _ => text.insert(at, with),
                }
            }
            agree(&text.into_iter().collect::<String>());
        }
    }
}
