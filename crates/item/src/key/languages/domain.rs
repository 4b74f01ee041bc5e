//! The values that a variable of a key may take.

use super::automaton::Builder;
use super::language::{KeyLanguage, ValueLengths};
use super::number_range::NumberRange;
use super::pattern::{Pattern, PatternError};
use super::shapes;
use crate::{Number, Value};
use std::fmt;
use std::sync::LazyLock;

/// The values that a variable may take, before any form is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Strings, limited by their length and by a pattern.
    Text(TextDomain),
    /// A finite set of words, in the order of their rank.
    OneOf(Vec<String>),
    /// Calendar days, `2026-02-13`.
    Date,
    /// Instants in UTC at milliseconds, `2026-02-13T10:30:45.123Z`.
    Time,
    /// Months, `2026-02`.
    Month,
    /// Years of four digits, `2026`.
    Year,
    /// ULIDs in upper case.
    Ulid,
    /// KSUIDs: 27 letters and digits.
    Ksuid,
    /// UUIDs in lower case, with dashes.
    Uuid,
    /// Geohashes of one precision.
    Geohash {
        /// How many characters each has.
        precision: u8,
    },
    /// Numbers.
    Number(NumberRange),
    /// Booleans.
    Bool,
    /// Bytes, which only a whole key can be.
    Binary {
        /// The fewest bytes.
        min_bytes: u32,
        /// The most bytes.
        max_bytes: Option<u32>,
    },
    /// The strings of several domains together: a date or a word, say.
    Either(Vec<Domain>),
}

/// Strings, limited by their length in characters and by a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextDomain {
    /// What every string matches.
    pub pattern: Option<Pattern>,
    /// The fewest characters.
    pub min_chars: u32,
    /// The most characters.
    pub max_chars: Option<u32>,
}

impl Domain {
    /// Strings of such a length, in characters.
    pub fn text(min_chars: u32, max_chars: Option<u32>) -> Self {
        Self::Text(TextDomain {
            pattern: None,
            min_chars,
            max_chars,
        })
    }

    /// Strings that match a pattern whole.
    pub fn from_pattern(pattern: &str) -> Result<Self, PatternError> {
        let pattern = Some(Pattern::new(pattern)?);
        Ok(Self::Text(TextDomain {
            pattern,
            ..TextDomain::default()
        }))
    }

    /// A finite set of words.
    pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::OneOf(words.into_iter().map(str::to_owned).collect())
    }

    /// Integers between two limits.
    pub fn integer_range(min: Option<i64>, max: Option<i64>) -> Self {
        Self::Number(NumberRange::integer_range(min, max))
    }

    /// Whether `value` is one of them.
    pub fn contains(&self, value: &Value) -> bool {
        match value {
            Value::S(text) => self.contains_text(text),
            value => self.word(value).is_some(),
        }
    }

    /// Whether a text is one of them.
    pub fn contains_text(&self, text: &str) -> bool {
        self.is_text() && self.contains_word(text)
    }

    /// Whether its values are strings in a key and in the item.
    pub(crate) fn is_text(&self) -> bool {
        !matches!(self, Self::Number(_) | Self::Bool | Self::Binary { .. })
    }

    /// The length that every value has, in characters, if there is only one.
    pub(crate) fn fixed_chars(&self) -> Option<usize> {
        match self {
            Self::Date => Some(10),
            Self::Time => Some(24),
            Self::Month => Some(7),
            Self::Year => Some(4),
            Self::Ulid => Some(26),
            Self::Ksuid => Some(27),
            Self::Uuid => Some(36),
            Self::Geohash { precision } => Some(usize::from(*precision)),
            Self::Text(_) | Self::OneOf(_) | Self::Number(_) | Self::Bool | Self::Binary { .. } | Self::Either(_) => {
                None
            }
        }
    }

    /// The value as a *word*: its canonical text, by which the algebra of keys knows it. Nothing if
    /// the value is not in the domain.
    pub(crate) fn word(&self, value: &Value) -> Option<String> {
        let word = match (self, value) {
            (Self::Number(_), Value::N(number)) => number.to_string(),
            (Self::Bool, Value::Bool(truth)) => truth.to_string(),
            (Self::Binary { min_bytes, max_bytes }, Value::B(bytes)) => {
                let length = ValueLengths {
                    min: *min_bytes,
                    max: *max_bytes,
                };
                return length.contains(bytes.len()).then(String::new);
            }
            (domain, Value::S(text)) if domain.is_text() => text.clone(),
            _ => return None,
        };
        self.contains_word(&word).then_some(word)
    }

    /// The value that has this word.
    pub(crate) fn value(&self, word: &str) -> Option<Value> {
        match self {
            Self::Number(_) => word.parse().ok().map(Value::N),
            Self::Bool => word.parse().ok().map(Value::Bool),
            Self::Binary { .. } => Some(Value::B(word.as_bytes().to_vec())),
            Self::Text(_)
            | Self::OneOf(_)
            | Self::Date
            | Self::Time
            | Self::Month
            | Self::Year
            | Self::Ulid
            | Self::Ksuid
            | Self::Uuid
            | Self::Geohash { .. }
            | Self::Either(_) => Some(Value::S(word.to_owned())),
        }
    }

    pub(crate) fn contains_word(&self, word: &str) -> bool {
        match self {
            Self::OneOf(words) => words.iter().any(|candidate| candidate == word),
            Self::Number(range) => word
                .parse::<Number>()
                .is_ok_and(|number| number.to_string() == word && range.contains(number)),
            Self::Bool => matches!(word, "true" | "false"),
            Self::Either(domains) => domains.iter().any(|domain| domain.contains_word(word)),
            Self::Date => shapes::is_date(word),
            Self::Time => shapes::is_time(word),
            Self::Month => shapes::is_month(word),
            Self::Year => shapes::is_year(word),
            Self::Ulid => shapes::is_ulid(word),
            Self::Ksuid => shapes::is_ksuid(word),
            Self::Uuid => shapes::is_uuid(word),
            Self::Geohash { precision } => shapes::is_geohash(word, *precision),
            Self::Text(_) | Self::Binary { .. } => self.word_language().contains(word),
        }
    }

    /// The words, where they are a list by nature.
    pub(crate) fn listed_words(&self) -> &[String] {
        match self {
            Self::OneOf(words) => words,
            _ => &[],
        }
    }

    /// Whether some word contains `character`.
    pub(crate) fn mentions_character(&self, character: char) -> bool {
        match self {
            Self::OneOf(words) => words.iter().any(|word| word.contains(character)),
            _ => self.word_language().automaton.alphabet().contains(character),
        }
    }

    /// The words of every value.
    pub(crate) fn word_language(&self) -> KeyLanguage {
        match self {
            Self::Text(text) => text.language(),
            Self::OneOf(words) => KeyLanguage::of_words(words.iter().map(String::as_str)),
            Self::Date => DATE.clone(),
            Self::Time => TIME.clone(),
            Self::Month => MONTH.clone(),
            Self::Year => YEAR.clone(),
            Self::Ulid => ULID.clone(),
            Self::Ksuid => KSUID.clone(),
            Self::Uuid => UUID.clone(),
            Self::Geohash { precision } => {
                let length = ValueLengths {
                    min: u32::from(*precision),
                    max: Some(u32::from(*precision)),
                };
                KeyLanguage {
                    length,
                    ..GEOHASH.clone()
                }
            }
            Self::Number(range) => KeyLanguage::new(super::numerals::plain_numerals(range), ValueLengths::ANY),
            Self::Bool => KeyLanguage::of_words(["false", "true"]),
            Self::Binary { min_bytes, max_bytes } => KeyLanguage::any(ValueLengths {
                min: *min_bytes,
                max: *max_bytes,
            }),
            Self::Either(domains) => {
                let mut builder = Builder::new();
                let end = builder.add_state();
                for domain in domains {
                    let last = builder.add_automaton(0, &domain.word_language().automaton);
                    builder.add_jump(last, end);
                }
                KeyLanguage::new(builder.finish(end), ValueLengths::ANY)
            }
        }
    }

    /// A word that reads well in an example, where the domain suggests one.
    pub(crate) fn sample_word(&self) -> Option<String> {
        let text = match self {
            Self::Date => "2026-01-31",
            Self::Time => "2026-01-31T09:30:00.000Z",
            Self::Month => "2026-01",
            Self::Year => "2026",
            Self::Ulid => "01KGA3C4D5E6F7G8H9J0KMNPQR",
            Self::Ksuid => "2aBcDeFgHiJkLmNoPqRsTuVwXyZ",
            Self::Uuid => "019c1a2b-3c4d-7e5f-8a9b-0c1d2e3f4a5b",
            Self::Geohash { precision } => "u4pruydqqvj8".get(..usize::from(*precision))?,
            Self::OneOf(words) => words.first()?,
            Self::Bool => "true",
            Self::Number(range) => return range.sample_number().map(|number| number.to_string()),
            Self::Either(domains) => return domains.iter().find_map(Self::sample_word),
            Self::Text(TextDomain {
                pattern: None,
                min_chars,
                max_chars,
            }) => {
                let chars = Some((*min_chars).max(max_chars.unwrap_or(1).min(1)));
                let chars = chars.filter(|chars| *chars <= SAMPLE_CHARS_MAX)?;
                return Some("a".repeat(usize::try_from(chars).ok()?));
            }
            Self::Text(_) | Self::Binary { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// The longest text that is made up as an example; no key is longer.
const SAMPLE_CHARS_MAX: u32 = 2_048;

impl TextDomain {
    fn language(&self) -> KeyLanguage {
        let length = ValueLengths {
            min: self.min_chars,
            max: self.max_chars,
        };
        match &self.pattern {
            Some(pattern) => {
                let language = pattern.pattern_language();
                KeyLanguage {
                    length: language.length.meet(length),
                    ..language.clone()
                }
            }
            None => KeyLanguage::any(length),
        }
    }
}

impl fmt::Display for Domain {
    /// What a value must be, to stand after "must be".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::OneOf(words) => write!(f, "one of `{}`", words.join("`, `")),
            Self::Date => f.write_str("a date such as 2026-01-31"),
            Self::Time => f.write_str("a time such as 2026-01-31T09:30:00.000Z"),
            Self::Month => f.write_str("a month such as 2026-01"),
            Self::Year => f.write_str("a year of four digits"),
            Self::Ulid => f.write_str("a ULID"),
            Self::Ksuid => f.write_str("a KSUID"),
            Self::Uuid => f.write_str("a UUID in lower case"),
            Self::Geohash { precision } => write!(f, "a geohash of {precision} characters"),
            Self::Number(range) => range.fmt(f),
            Self::Bool => f.write_str("a boolean"),
            Self::Binary {
                min_bytes,
                max_bytes: Some(max),
            } => write!(f, "{min_bytes} to {max} bytes"),
            Self::Binary {
                min_bytes,
                max_bytes: None,
            } => write!(f, "at least {min_bytes} bytes"),
            Self::Either(domains) => {
                let alternatives: Vec<String> = domains.iter().map(Self::to_string).collect();
                f.write_str(&alternatives.join(" or "))
            }
        }
    }
}

impl fmt::Display for TextDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min_chars, self.max_chars) {
            (0, None) => f.write_str("text")?,
            (min, Some(max)) => write!(f, "text of {min} to {max} characters")?,
            (min, None) => write!(f, "text of at least {min} characters")?,
        }
        match &self.pattern {
            Some(pattern) => write!(f, " that matches /{}/", pattern.as_str()),
            None => Ok(()),
        }
    }
}

static DATE: LazyLock<KeyLanguage> = LazyLock::new(|| fixed(&date_pattern()));
static TIME: LazyLock<KeyLanguage> = LazyLock::new(|| {
    fixed(&format!(
        r"(?:{})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{{3}}Z",
        date_pattern()
    ))
});
static MONTH: LazyLock<KeyLanguage> = LazyLock::new(|| fixed("[0-9]{4}-(?:0[1-9]|1[0-2])"));
static YEAR: LazyLock<KeyLanguage> = LazyLock::new(|| fixed("[0-9]{4}"));
static ULID: LazyLock<KeyLanguage> = LazyLock::new(|| fixed("[0-7][0-9A-HJKMNP-TV-Z]{25}"));
static KSUID: LazyLock<KeyLanguage> = LazyLock::new(|| fixed("[0-9A-Za-z]{27}"));
static UUID: LazyLock<KeyLanguage> = LazyLock::new(|| fixed("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
static GEOHASH: LazyLock<KeyLanguage> = LazyLock::new(|| fixed("[0-9b-hjkmnp-z]*"));

/// Every day of the Gregorian calendar from year 0 to 9999, leap years included.
fn date_pattern() -> String {
    let leap_year = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
    let long_months = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
    let short_months = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let february = "02-(?:0[1-9]|1[0-9]|2[0-8])";
    format!("[0-9]{{4}}-(?:{long_months}|{short_months}|{february})|{leap_year}-02-29")
}

/// The language of a pattern written here. The tests know that each of them is one.
fn fixed(pattern: &str) -> KeyLanguage {
    match Pattern::new(pattern) {
        Ok(pattern) => pattern.pattern_language().clone(),
        Err(_) => KeyLanguage::of_words([]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed_domains() -> Vec<Domain> {
        let mut domains = vec![
            Domain::Date,
            Domain::Time,
            Domain::Month,
            Domain::Year,
            Domain::Ulid,
            Domain::Ksuid,
            Domain::Uuid,
        ];
        domains.extend((1..=12).map(|precision| Domain::Geohash { precision }));
        domains
    }

    #[test]
    fn every_sample_is_in_its_domain_and_has_its_length() {
        for domain in fixed_domains() {
            let sample = domain.sample_word().unwrap();
            assert!(domain.contains(&Value::from(sample.as_str())), "{domain}: {sample}");
            assert_eq!(domain.fixed_chars(), Some(sample.len()), "{domain}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let is_date = |text: &str| Domain::Date.contains(&Value::from(text));
        for text in ["2024-02-29", "2000-02-29", "0400-02-29", "2026-12-31", "1996-02-29"] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "2026-02-29",
            "1900-02-29",
            "2100-02-29",
            "2026-04-31",
            "2026-13-01",
            "2026-00-10",
            "2026-1-1",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn times_have_one_shape() {
        let is_time = |text: &str| Domain::Time.contains(&Value::from(text));
        assert!(is_time("2026-02-13T10:30:45.123Z") && is_time("2024-02-29T23:59:59.999Z"));
        for text in [
            "2026-02-13T10:30:45Z",
            "2026-02-13T24:00:00.000Z",
            "2026-02-30T10:30:45.123Z",
            "2026-02-13",
        ] {
            assert!(!is_time(text), "{text}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_in_no_domain() {
        assert!(!Domain::text(0, None).contains(&Value::from(1)));
        assert!(!Domain::integer_range(None, None).contains(&Value::from("1")));
        assert!(!Domain::Bool.contains(&Value::from("true")));
        assert!(Domain::Bool.contains(&Value::from(true)));
        assert!(!Domain::text(0, None).contains(&Value::Null));
    }

    #[test]
    fn a_date_or_a_word() {
        let domain = Domain::Either(vec![Domain::Date, Domain::one_of(["AVAILABLE"])]);
        assert!(domain.contains(&Value::from("2026-02-13")) && domain.contains(&Value::from("AVAILABLE")));
        assert!(!domain.contains(&Value::from("GONE")));
        assert!(domain.word_language().contains("2026-02-13") && domain.word_language().contains("AVAILABLE"));
        assert_eq!(domain.to_string(), "a date such as 2026-01-31 or one of `AVAILABLE`");
    }

    #[test]
    fn lengths_and_patterns_bind_together() {
        let pattern = Some(Pattern::new("[a-z]+").unwrap());
        let domain = Domain::Text(TextDomain {
            pattern,
            min_chars: 2,
            max_chars: Some(3),
        });
        let accepted: Vec<&str> = ["a", "ab", "abc", "abcd", "a1"]
            .into_iter()
            .filter(|text| domain.contains(&Value::from(*text)))
            .collect();
        assert_eq!(accepted, ["ab", "abc"]);
    }
}
