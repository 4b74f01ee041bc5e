//! Formulas over an attribute: every function, where its type takes it.

use fastrand::Rng;

use super::{GeneratedAttribute, StoredShape};

/// What can be computed of an attribute, `x` in its place.
fn values_of(attribute: &GeneratedAttribute) -> &'static [&'static str] {
    let kind = attribute.kind;
    let word = kind.ty.split([' ', '(']).next().unwrap_or_default();
    match (kind.shape, word) {
        (StoredShape::Text, "string" | "Code") => &[
            "lower(x)",
            "upper(x)",
            "trim(x + \" \")",
            "size(x)",
            "x + \"-\" + x",
            "x.startsWith(\"a\")",
            "x.contains(\"b\")",
            "hash(x) % 5",
            "min([x, \"b\"])",
            "[x, \"b\"].exists(v, v == \"a\")",
            "[x, \"a\"].filter(v, v != \"a\")",
            "x == \"a\" ? 1 : 2",
            "x == settings.word",
            "size(flat([[x], [x, \"b\"]]))",
        ],
        (StoredShape::Text, "date") if kind.ty == "date" => &[
            "month(x)",
            "year(x)",
            "x + days(1)",
            "x + months(1)",
            "x - days(40)",
            "days(x, x + days(2))",
            "days(x, x - days(2))",
            "time(x, \"08:30\")",
            "x == date(\"2026-11-16\")",
            "max(x, today)",
            "settings.grace == absent ? x : x + days(1)",
            "string(x)",
        ],
        (StoredShape::Text, "time") if kind.ty == "time" => &[
            "day(x)",
            "month(x)",
            "year(x)",
            "x + hours(30)",
            "x - minutes(5)",
            "x + months(1)",
            "x > now",
            "string(x)",
        ],
        (StoredShape::Number, "seconds" | "millis") => {
            &["day(x)", "year(x)", "x + hours(30)", "x - minutes(5)", "x > now"]
        }
        (StoredShape::Number, _) => &[
            "x + 1",
            "x - 2",
            "x * 3",
            "-x",
            "round(x / 3, 2)",
            "round(x / 7, 0)",
            "min(x, 5)",
            "max([x, 2])",
            "string(x)",
            "hash(x) % 3",
            "[x, 2].map(v, v + 1)",
            "sum([x, 2], v, v)",
            "numbered([x, 2])",
            "group([x, 2, x], v, v % 2)",
            "[x, 3].all(v, v > 1)",
            "x >= 2 ? \"much\" : \"little\"",
            "settings.least == absent ? x : x + settings.least",
        ],
        (StoredShape::Bool, _) => &["x ? 1 : 2", "(!x)"],
        (StoredShape::Place, _) => &["geohash(x, 5)", "distance(x, x)", "near(x, x, 1) && distance(x, x) < 1"],
        (StoredShape::Set, _) => &[
            "size(x)",
            "x.contains(\"a\")",
            "x.exists(v, v == \"b\")",
            "x.all(v, v != \"b\")",
        ],
        (StoredShape::List, _) => &[
            "size(x)",
            "sum(x, v, v)",
            "x.map(v, v * 2)",
            "x.filter(v, v > 1)",
            "numbered(x)",
            "group(x, v, v % 2)",
            "flat([x, x])",
            "x.contains(2)",
        ],
        (StoredShape::Map, _) => &["size(x)"],
        (StoredShape::Text | StoredShape::Bytes, _) => &[],
    }
}

/// A value computed of an attribute. What may be absent is tested first.
pub(super) fn computed_value(rng: &mut Rng, attribute: &GeneratedAttribute) -> Option<String> {
    let form = rng.choice(values_of(attribute)).copied()?;
    let computed = put(form, &attribute.name);
    Some(match attribute.optional {
        true => format!("{} == absent ? absent : ({computed})", attribute.name),
        false => computed,
    })
}

/// Tests that no key settles, `x` in the attribute's place.
fn tests_of(attribute: &GeneratedAttribute) -> &'static [&'static str] {
    let kind = attribute.kind;
    let word = kind.ty.split([' ', '(']).next().unwrap_or_default();
    match (kind.shape, word) {
        (StoredShape::Text, "string" | "Code") => &[
            "lower(x) == \"a\"",
            "trim(\" \" + x) == \"a\"",
            "size(x) > 1",
            "hash(x) % 2 == 0",
            "[\"a\", \"b\"].contains(x)",
            "[\"a\", \"ab\"].exists(v, v == x)",
            "x != settings.word",
            "(x == \"a\" ? 1 : 2) == 2",
        ],
        (StoredShape::Text, "date") if kind.ty == "date" => &[
            "month(x) == month(today)",
            "x >= date(\"2026-11-16\")",
            "x != date(\"2026-11-15\")",
            "x + days(1) > today",
            "days(today, today + days(3)).contains(x)",
            "time(x, \"12:00\") <= now",
        ],
        (StoredShape::Text, "time") if kind.ty == "time" => {
            &["day(x) <= today", "x + hours(12) > now", "year(x) == 2026"]
        }
        (StoredShape::Number, "seconds" | "millis") => &["x - minutes(1) < now", "day(x) != today"],
        (StoredShape::Number, _) => &[
            "x * 2 > 3",
            "x % 2 == 0",
            "round(x / 3, 1) > 0.5",
            "min(x, 5) == 5",
            "(settings.least == absent || x >= settings.least)",
            "[1, 2, 3].contains(x)",
        ],
        (StoredShape::Set, _) => &["x.exists(v, v == \"b\")", "size(x) > 1"],
        (StoredShape::List, _) => &["x.contains(2)", "sum(x, v, v) > 2", "(!x.exists(v, v == 9))"],
        (StoredShape::Map, _) => &["size(x) > 0"],
        _ => &[],
    }
}

/// A test of an attribute that no key settles.
pub(super) fn formula_test(rng: &mut Rng, attribute: &GeneratedAttribute) -> Option<String> {
    let test = rng.choice(tests_of(attribute)).copied()?;
    // A remainder is of whole numbers only.
    if test.contains(" % ") && attribute.kind.ty.starts_with("number") {
        return None;
    }
    let test = put(test, &attribute.name);
    Some(match attribute.optional {
        true => format!("({} != absent && {test})", attribute.name),
        false => test,
    })
}

/// The name in the place of `x` where that stands alone.
fn put(form: &str, name: &str) -> String {
    let mut text = String::new();
    let letters: Vec<char> = form.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let beside = |at: Option<usize>| {
            at.and_then(|at| letters.get(at))
                .is_some_and(|other| other.is_ascii_alphabetic())
        };
        match *letter == 'x' && !beside(at.checked_sub(1)) && !beside(Some(at + 1)) {
            true => text.push_str(name),
            false => text.push(*letter),
        }
    }
    text
}
