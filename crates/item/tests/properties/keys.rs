//! Encoding, decoding and order of single variables.

use super::cases;
use proptest::prelude::*;
use proptest::sample::Index;
use singlet_item::key::{Delimiter, Domain, Form, NumberRange, Order, Part, Template, Variable};
use singlet_item::{Number, Value};
use std::cmp::Ordering;

/// A form, a domain, and two values of it.
#[derive(Clone, Debug)]
struct Sample {
    form: Form,
    domain: Domain,
    values: [Value; 2],
}

/// Strings of ordinary, low, high and escaped characters, with many that begin alike.
const STRINGS: &str = "[ab!\"#$%&\u{0} ]{0,4}[az~é€😀#$]{0,2}";

fn pair<T: std::fmt::Debug>(values: impl Strategy<Value = T>) -> impl Strategy<Value = [T; 2]> {
    prop::collection::vec(values, 2).prop_map(|values| values.try_into().unwrap())
}

fn strings(pattern: &'static str, domain: Domain) -> impl Strategy<Value = Sample> {
    let forms = vec![Form::Escaped, Form::Ordered, Form::Raw, Form::Lower, Form::Upper];
    (pair(pattern), prop::sample::select(forms)).prop_map(move |(values, form)| Sample {
        form,
        domain: domain.clone(),
        values: values.map(Value::S),
    })
}

fn fixed(pattern: &'static str, domain: Domain) -> impl Strategy<Value = Sample> {
    (pair(pattern), any::<bool>()).prop_map(move |(values, descending)| Sample {
        form: if descending {
            Form::Fixed.descending_form()
        } else {
            Form::Fixed
        },
        domain: domain.clone(),
        values: values.map(Value::S),
    })
}

fn numbers() -> impl Strategy<Value = Sample> {
    let ranges = (0u8..=3, 0i64..=20, prop::sample::select(vec![30i64, 99, 100, 123_456]));
    (ranges, any::<[Index; 2]>(), 0..3usize).prop_map(|((decimals, min, max), indexes, form)| {
        let unit: Number = format!("1E-{decimals}").parse().unwrap();
        let range = NumberRange {
            decimals: Some(decimals),
            ..NumberRange::integer_range(Some(min), Some(max))
        };
        let units = usize::try_from((max - min) * 10i64.pow(decimals.into())).unwrap() + 1;
        let value = |index: Index| {
            let offset = Number::from(index.index(units) as u64).checked_mul(unit).unwrap();
            Value::N(Number::from(min).checked_add(offset).unwrap())
        };
        let domain = Domain::Number(range);
        let padded = Form::of(&domain);
        let form = [padded.clone(), padded.descending_form(), Form::Plain][form].clone();
        Sample {
            form,
            domain,
            values: indexes.map(value),
        }
    })
}

fn words() -> impl Strategy<Value = Sample> {
    let all = vec!["home", "home office", "a#b", "a$", "a", "z", ""];
    let lists = prop::sample::subsequence(all.clone(), 2..=all.len()).prop_shuffle();
    (lists, any::<[Index; 2]>(), 0..4usize).prop_map(|(words, indexes, form)| {
        let domain = Domain::one_of(words.iter().copied());
        let rank = Form::rank_form(&domain).unwrap();
        let form = [Form::Escaped, Form::Raw, rank.clone(), rank.descending_form()][form].clone();
        let values = indexes.map(|index| Value::from(*index.get(&words)));
        Sample { form, domain, values }
    })
}

const DATES: &str = "(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])";
const TIMES: &str =
    "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z";

fn truncated() -> impl Strategy<Value = Sample> {
    let forms = prop::sample::select(vec![Form::Day, Form::Month, Form::Year]);
    (pair(TIMES), forms).prop_map(|(values, form)| Sample {
        form,
        domain: Domain::Time,
        values: values.map(Value::S),
    })
}

fn samples() -> impl Strategy<Value = Sample> {
    let pattern = |text| Domain::from_pattern(text).unwrap();
    prop_oneof![
        3 => strings(STRINGS, Domain::text(0, Some(6))),
        1 => strings("[a-c#$]{1,3}", pattern("[a-c#$]+")),
        1 => strings("[a-c]{1,3}", pattern("[a-c]*")),
        1 => strings("[a#!]{2}", Domain::text(2, Some(2))),
        1 => fixed(DATES, Domain::Date),
        1 => fixed(TIMES, Domain::Time),
        1 => fixed("[0-9]{4}-(0[1-9]|1[0-2])", Domain::Month),
        1 => fixed("[0-9]{4}", Domain::Year),
        1 => fixed("[0-7][0-9A-HJKMNP-TV-Z]{25}", Domain::Ulid),
        1 => fixed("[0-9A-Za-z]{27}", Domain::Ksuid),
        1 => fixed("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", Domain::Uuid),
        1 => fixed("[0-9b-hjkmnp-z]{6}", Domain::Geohash { precision: 6 }),
        3 => numbers(),
        2 => words(),
        1 => truncated(),
        1 => pair(any::<bool>()).prop_map(|values| Sample {
            form: Form::Bool,
            domain: Domain::Bool,
            values: values.map(Value::Bool),
        }),
    ]
}

fn delimiters() -> impl Strategy<Value = Delimiter> {
    prop::sample::select(vec!['#', '#', '#', '|', ':', '-', '.', '/', '~', '!', '@', '_'])
        .prop_map(|character| Delimiter::new(character).unwrap())
}

/// The sample's variable between two literals, the second of which may be missing or be followed by
/// more text.
fn template(sample: &Sample, delimiter: Delimiter, rest: &[Part]) -> Template {
    let mut parts = vec![
        Part::Text(format!("A{delimiter}")),
        Part::Variable(Variable::new("x", sample.form.clone(), sample.domain.clone())),
    ];
    parts.extend_from_slice(rest);
    Template::new(parts, delimiter).unwrap()
}

fn rests(delimiter: Delimiter) -> Vec<Vec<Part>> {
    let tail = || Part::bare_variable("y", Domain::text(0, Some(3)));
    let delimited = Part::Text(delimiter.to_string());
    vec![
        vec![],
        vec![delimited.clone(), tail()],
        vec![delimited],
        vec![Part::text("-x"), tail()],
        vec![tail()],
    ]
}

fn key(template: &Template, value: &Value, tail: &str) -> Value {
    let lookup = |name: &str| Some(if name == "x" { value.clone() } else { Value::from(tail) });
    template.encode_key(lookup).unwrap().unwrap()
}

/// The order of values that keys are to follow: by rank for the words of a set.
fn compare(domain: &Domain, one: &Value, two: &Value) -> Ordering {
    match domain {
        Domain::OneOf(words) => {
            let rank = |value: &Value| words.iter().position(|word| Some(word.as_str()) == value.as_str());
            rank(one).cmp(&rank(two))
        }
        _ => one.cmp(two),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_is_encoded_decodes_to_itself(sample in samples(), delimiter in delimiters(), tail in "[ab#]{0,3}") {
        for rest in &rests(delimiter)[..3] {
            let template = template(&sample, delimiter, rest);
            let [value, _] = &sample.values;
            match template.decode_key(&key(&template, value, &tail)) {
                Ok(decoded) => {
                    let x = decoded.iter().find(|(name, _)| name == "x").map(|(_, value)| value);
                    prop_assert_eq!(x, (!sample.form.is_lossy()).then_some(value));
                }
                // Only values that are not escaped can hide a border.
                Err(error) => prop_assert!(matches!(sample.form, Form::Raw | Form::Plain), "{}", error),
            }
        }
    }

    #[test]
    fn keys_follow_values_wherever_order_is_promised(
        sample in samples(),
        delimiter in delimiters(),
        tails in pair("[ab#~!]{0,3}"),
    ) {
        let [one, two] = &sample.values;
        for rest in rests(delimiter) {
            let template = template(&sample, delimiter, &rest);
            let values = compare(&sample.domain, one, two);
            let keys = key(&template, one, &tails[0]).cmp(&key(&template, two, &tails[1]));
            match template.order_after(1) {
                _ if values == Ordering::Equal => {}
                Order::Ascending => prop_assert_eq!(keys, values, "{}", template),
                Order::Descending => prop_assert_eq!(keys, values.reverse(), "{}", template),
                Order::Coarse => {
                    let text = |value| template.encode_first(2, |_| Some(Value::clone(value))).unwrap();
                    prop_assert!(text(one) == text(two) || keys == values, "{}", template);
                }
                Order::Unordered => {}
            }
        }
    }

    #[test]
    fn order_is_promised_where_designs_rely_on_it(sample in samples()) {
        let delimiter = Delimiter::default();
        let order = |rest: &[Part]| template(&sample, delimiter, rest).order_after(1);
        let delimited = [Part::text("#"), Part::bare_variable("y", Domain::Ulid)];
        match &sample.form {
            Form::Ordered | Form::Fixed | Form::Padded { .. } | Form::Bool if !matches!(sample.domain, Domain::OneOf(_)) => {
                prop_assert_eq!(order(&delimited), Order::Ascending);
            }
            Form::Rank { .. } => prop_assert_eq!(order(&delimited), Order::Ascending),
            Form::Descending(_) => prop_assert_eq!(order(&delimited), Order::Descending),
            Form::Escaped if !matches!(sample.domain, Domain::OneOf(_)) => prop_assert_eq!(order(&[]), Order::Ascending),
            _ => {}
        }
    }

    #[test]
    fn no_value_forges_a_delimiter(text in STRINGS, delimiter in delimiters(), form in 0..4usize) {
        let form = [Form::Escaped, Form::Ordered, Form::Lower, Form::Upper][form].clone();
        let variable = Variable::new("x", form, Domain::text(0, None));
        let encoded = variable.encode_value(&Value::from(text), delimiter).unwrap();
        prop_assert!(!encoded.contains(delimiter.character()));
    }

    #[test]
    fn a_prefix_reaches_no_neighbour(names in pair("[A-C]{1,3}"), values in pair(STRINGS), ordered in any::<bool>()) {
        let form = if ordered { Form::Ordered } else { Form::Escaped };
        let [prefix, key] = [0, 1].map(|side| {
            let parts = vec![
                Part::Text(format!("{}#", names[side])),
                Part::Variable(Variable::new("x", form.clone(), Domain::text(0, None))),
                Part::text("#"),
                Part::bare_variable("y", Domain::text(0, None)),
            ];
            let template = Template::new(parts, Delimiter::default()).unwrap();
            let lookup = |name: &str| Some(Value::from(if name == "x" { values[side].as_str() } else { "#$" }));
            template.encode_first(if side == 0 { 3 } else { 4 }, lookup).unwrap().unwrap()
        });
        prop_assert_eq!(key.starts_with(&prefix), names[0] == names[1] && values[0] == values[1]);
    }

    #[test]
    fn keys_are_within_their_bounds(sample in samples(), delimiter in delimiters(), tail in "[aé#]{0,3}") {
        for rest in rests(delimiter) {
            let template = template(&sample, delimiter, &rest);
            let key = key(&template, &sample.values[0], &tail);
            let bytes = key.as_str().unwrap().len();
            prop_assert!(template.min_bytes() <= bytes, "{}", template);
            prop_assert!(template.max_bytes().is_none_or(|max| bytes <= max), "{}", template);
        }
    }

    #[test]
    fn a_beginning_of_a_value_is_a_beginning_of_its_text(text in STRINGS, start in STRINGS, form in 0..3usize) {
        let form = [Form::Escaped, Form::Ordered, Form::Raw][form].clone();
        let variable = Variable::new("x", form, Domain::text(0, None));
        let delimiter = Delimiter::default();
        let encoded = variable.encode_value(&Value::from(text.as_str()), delimiter).unwrap();
        let beginning = variable.encode_start(&start, delimiter).unwrap();
        prop_assert_eq!(encoded.starts_with(&beginning), text.starts_with(&start));
    }
}
