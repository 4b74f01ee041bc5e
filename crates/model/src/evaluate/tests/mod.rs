//! Expressions and their values, as tables. What is expected is written out: the oracle of reads and writes shares this evaluator, so
//! nothing else would notice it err.

mod absence;
mod limits;
mod places;
mod texts;
mod times;
mod truths;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use singlet_item::{Number, Value};

use super::{Environment, decide_condition, evaluate, evaluate_as, evaluate_bound, holds_condition};
use crate::catalog::{AttributeName, Catalog};
use crate::diagnostic::Diagnostics;
use crate::expression::{self, Absence, Args, Claim, Expr, Scope, Word};
use crate::source::Span;
use crate::text::{Style, Text};
use crate::types::{EnumType, LengthLimits, Type};

/// 2026-02-13T22:30:45.123Z, which is the next day in Rome's zone only after midnight there.
const NOW: i64 = 1_771_021_845_123;

struct World {
    row: BTreeMap<String, Value>,
    zone: TimeZone,
}

impl Environment for World {
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.row.get(name).map(Cow::Borrowed)
    }
    fn row(&self) -> Option<Cow<'_, Value>> {
        Some(Cow::Owned(Value::M(self.row.clone())))
    }
    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        (name == "text").then(|| Cow::Owned(Value::S("milk".to_owned())))
    }
    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        (claim == "id").then(|| Cow::Owned(Value::S("u1".to_owned())))
    }
    fn setting(&self, _: &str) -> Option<Cow<'_, Value>> {
        None
    }
    fn bound(&self, _: &str) -> Option<Cow<'_, Value>> {
        None
    }
    fn word(&self, _: Word) -> Option<Cow<'_, Value>> {
        None
    }
    fn now(&self) -> i64 {
        NOW
    }
    fn zone(&self) -> &TimeZone {
        &self.zone
    }
    fn generate(&self, _: &Expr, argument: Option<u64>) -> Option<Value> {
        Some(Value::S("7".repeat(argument.unwrap_or(1) as usize)))
    }
}

fn number(text: &str) -> Value {
    Value::N(text.parse().unwrap())
}

fn world() -> World {
    let text = |text: &str| Value::S(text.to_owned());
    let place = BTreeMap::from([
        ("lat".to_owned(), number("52.2297")),
        ("lon".to_owned(), number("21.0122")),
    ]);
    let row = [
        ("title", text("buy milk")),
        ("status", text("high")),
        ("count", number("12345678901234567890.5")),
        ("due", text("2026-01-31")),
        ("at", text("2026-02-13T22:00:00.000Z")),
        ("epoch", number("1771021800")),
        ("tags", Value::L(vec![text("a"), text("b")])),
        ("place", Value::M(place)),
        ("nothing", Value::Null),
        ("millis", number("1771021845123")),
        ("month", text("2026-02")),
        ("words", text("OUT")),
        ("numbers", Value::L(Vec::new())),
        ("set", Value::Ss(["a".to_owned(), "b".to_owned()].into())),
    ];
    World {
        row: row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        zone: TimeZone::get("Europe/Rome").unwrap(),
    }
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let id = catalog.add_entity("Task").unwrap();
    let rank = Arc::new(EnumType {
        were: Vec::new(),
        name: "Rank".to_owned(),
        members: ["urgent", "high", "low"].map(str::to_owned).to_vec(),
    });
    let list = Type::List(Arc::new(Type::text()), LengthLimits::default());
    let attributes = [
        ("title", Type::text(), false),
        ("status", Type::Enum(Arc::clone(&rank)), false),
        ("count", Type::number(), false),
        ("due", Type::Date, false),
        ("at", Type::Time, false),
        ("epoch", Type::Seconds, false),
        ("tags", list, false),
        ("place", Type::Geo(None), false),
        ("missing", Type::text(), true),
        ("nothing", Type::text(), true),
        ("number?", Type::number(), true),
        ("day?", Type::Date, true),
        ("time?", Type::Time, true),
        ("rank?", Type::Enum(Arc::clone(&rank)), true),
        ("flag?", Type::Bool, true),
        ("place?", Type::Geo(None), true),
        (
            "list?",
            Type::List(Arc::new(Type::text()), LengthLimits::default()),
            true,
        ),
        ("millis", Type::Millis, false),
        ("month", Type::Month, false),
        (
            "words",
            Type::OrWords(Arc::new(Type::Date), ["OUT".to_owned()].into()),
            false,
        ),
        (
            "numbers",
            Type::List(Arc::new(Type::number()), LengthLimits::default()),
            false,
        ),
        ("set", Type::Set(Arc::new(Type::text()), LengthLimits::default()), false),
    ];
    for (name, ty, optional) in attributes {
        catalog.names_mut(id).unwrap().set_attribute(AttributeName {
            name: name.to_owned(),
            ty,
            optional,
        });
    }
    catalog
}

fn with_expr<T>(source: &str, use_it: impl FnOnce(&Expr) -> T) -> T {
    with_expr_in(source, Absence::Tested, use_it)
}

fn with_expr_in<T>(source: &str, absence: Absence, use_it: impl FnOnce(&Expr) -> T) -> T {
    let catalog = catalog();
    let mut args = Args::default();
    args.declare_argument("text", Type::text(), false, Span::default());
    let claims = ["id", "role"].map(|name| Claim {
        name: name.to_owned(),
        ty: Type::text(),
    });
    let scope = Scope {
        args: Some(&args),
        caller: Some(&claims),
        absence,
        ..Scope::new(&catalog).with_row(catalog.entity("Task").unwrap())
    };
    let text = Text::new(source.to_owned(), Span::new(0, source.len()), Style::Plain, source);
    let mut found = Diagnostics::default();
    let expr = expression::check_expression(&text, &scope, None, &mut found);
    assert!(!found.has_errors(), "{source}: {found:?}");
    use_it(&expr)
}

/// A value as the tables write it: text and numbers bare, lists in brackets, `-` for absent, `!` and the reason for an error.
fn written(value: super::Evaluated) -> String {
    fn of(value: &Value) -> String {
        match value {
            Value::S(text) => text.clone(),
            Value::N(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::L(list) => format!("[{}]", list.iter().map(of).collect::<Vec<_>>().join(" ")),
            Value::B(_) | Value::Null | Value::M(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => {
                format!("{value:?}")
            }
        }
    }
    match value {
        Ok(Some(value)) => of(&value),
        Ok(None) => "-".to_owned(),
        Err(error) => format!("!{error}"),
    }
}

/// Compares each expression with what is written beside it.
fn expect(world: &World, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(source, expected)| {
            (
                source,
                expected,
                written(with_expr(source, |expr| evaluate(expr, world))),
            )
        })
        .filter(|(_, expected, found)| *expected != found)
        .map(|(source, expected, found)| format!("{source}\n    expected {expected}\n    found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn conditions_hold_as_the_language_says() {
    let cases = [
        (r#"title.contains(args.text) && title.startsWith("buy")"#, true),
        (r#"missing == "x""#, false),
        (r#"missing != "x""#, true),
        ("missing == absent", true),
        ("nothing == absent", true),
        ("title != absent", true),
        (r#"!(missing == "x")"#, true),
        (r#"missing.contains("x")"#, false),
        (r#"missing in ["x", "y"]"#, false),
        (r#"status < "low" && status > "urgent""#, true),
        (r#"status in ["urgent", "high"]"#, true),
        ("at < now", true),
        ("epoch <= now && now - at < hours(1)", true),
        (r#"due + months(1) == "2026-02-28""#, true),
        (r#"due + days(1) == "2026-02-01""#, true),
        ("day(at) == today", true),
        (r#"today == "2026-02-13""#, true),
        (r#"month(due) == "2026-01" && year(due) == 2026"#, true),
        ("count == 12345678901234567890.5", true),
        ("count + 0.5 == 12345678901234567891", true),
        ("round(10 / 3, 2) == 3.33", true),
        ("7 % 4 == 3 && 2 * 3 - 1 == 5", true),
        (r#"tags.exists(t, t == "b") && !tags.all(t, t == "b")"#, true),
        ("size(tags) == 2 && size(title) == 8", true),
        (r#"tags.contains("a")"#, true),
        ("near(place, place, 1)", true),
        (r#"geohash(place, 5) == "u3qcn""#, true),
        (r#"caller.role == "admin""#, false),
        (r#"caller.role != "admin""#, false),
        (r#"max(3, 9, 5) == 9 && min(3, 9) == 3"#, true),
        (r#"lower("ABC") + string(2) == "abc2""#, true),
    ];
    let world = world();
    for (source, expected) in cases {
        assert_eq!(
            with_expr(source, |expr| holds_condition(expr, &world)),
            Ok(expected),
            "{source}"
        );
    }
}

#[test]
fn instants_take_the_form_of_the_attribute() {
    let world = world();
    let stored = |source: &str, ty: &Type| {
        with_expr(source, |expr| evaluate_as(expr, ty, &world))
            .unwrap()
            .unwrap()
    };
    assert_eq!(
        stored("now", &Type::Time),
        Value::S("2026-02-13T22:30:45.123Z".to_owned())
    );
    assert_eq!(stored("now", &Type::Seconds), number("1771021845"));
    assert_eq!(stored("now + days(1)", &Type::Millis), number("1771108245123"));
    assert_eq!(
        stored("at + minutes(5)", &Type::Time),
        Value::S("2026-02-13T22:05:00.000Z".to_owned())
    );
    assert_eq!(
        stored("missing == absent ? now : at", &Type::Time),
        Value::S("2026-02-13T22:30:45.123Z".to_owned())
    );
}

#[test]
fn a_clock_time_is_of_the_models_zone() {
    let world = world();
    let value = with_expr(r#"time(due, "08:00")"#, |expr| evaluate(expr, &world)).unwrap();
    assert_eq!(value, Some(Value::S("2026-01-31T07:00:00.000Z".to_owned())));
}

#[test]
fn lists_are_computed_in_order() {
    let world = world();
    let value = |source: &str| with_expr(source, |expr| evaluate(expr, &world)).unwrap().unwrap();
    let text = |text: &str| Value::S(text.to_owned());
    assert_eq!(
        value(r#"days(due, date("2026-02-02"))"#),
        Value::L(vec![text("2026-01-31"), text("2026-02-01"), text("2026-02-02")])
    );
    assert_eq!(value(r#"days(date("2026-02-02"), due)"#), Value::L(Vec::new()));
    assert_eq!(value(r#"tags.map(t, upper(t))"#), Value::L(vec![text("A"), text("B")]));
    assert_eq!(value("sum(tags, t, size(t))"), number("2"));
    assert_eq!(value("digits(6)"), text("777777"));
}

#[test]
fn a_hash_is_the_same_for_ever() {
    let world = world();
    let value = with_expr(r#"hash("a") % 10"#, |expr| evaluate(expr, &world)).unwrap();
    assert_eq!(value, Some(Value::N(Number::from(8))));
}

#[test]
fn division_by_zero_is_an_error_not_a_panic() {
    let world = world();
    let failed = with_expr("round(1 / (size(tags) - 2), 2) == 1", |expr| {
        holds_condition(expr, &world)
    });
    assert!(failed.is_err());
}

/// Of a caller without a role: neither true nor false, whichever way it is asked.
#[test]
fn what_hangs_on_a_missing_claim_is_unknown() {
    let cases = [
        (r#"caller.role == "admin""#, None),
        (r#"caller.role != "admin""#, None),
        (r#"!(caller.role == "admin")"#, None),
        (r#"!(caller.role != "admin")"#, None),
        (r#"!(!(caller.role != "admin"))"#, None),
        ("!(title != caller.role)", None),
        ("!(caller.role in tags)", None),
        (r#"!(caller.role in ["a", "b"])"#, None),
        (r#"!(title in [caller.role, "x"])"#, None),
        (r#"title in [caller.role, "buy milk"]"#, Some(true)),
        (r#"!title.contains(caller.role)"#, None),
        (r#"!caller.role.startsWith("a")"#, None),
        (r#"lower(caller.role) != "admin""#, None),
        (r#"size(caller.role) != 3"#, None),
        (r#"caller.role == "admin" || true"#, Some(true)),
        (r#"true || caller.role == "admin""#, Some(true)),
        (r#"caller.role == "admin" || false"#, None),
        (r#"caller.role == "admin" && false"#, Some(false)),
        (r#"false && caller.role == "admin""#, Some(false)),
        (r#"caller.role == "admin" && true"#, None),
        (r#"!(caller.role == "admin" && false)"#, Some(true)),
        (r#"!(caller.role == "admin" || caller.id == "u1")"#, Some(false)),
        ("caller.role == absent", Some(true)),
        ("!(caller.role != absent)", Some(true)),
        ("!tags.exists(t, t == caller.role)", None),
        ("!tags.exists(t, t != caller.role)", None),
        (r#"tags.exists(t, t == caller.role || t == "b")"#, Some(true)),
        (r#"!tags.all(t, t == "a" || t == caller.role)"#, None),
        ("size(tags.filter(t, t == caller.role)) == 0", None),
        (r#"caller.role == "admin" ? true : false"#, None),
        (r#"caller.role == "admin" ? true : true"#, Some(true)),
        (r#"(caller.role == "admin" ? 1 : 2) == 2"#, None),
        (
            r#"(caller.role == absent ? "guest" : caller.role) == "guest""#,
            Some(true),
        ),
        // What a row does not say is false, and its `!` true.
        (r#"!(missing == "x")"#, Some(true)),
        (r#"!(missing == caller.id)"#, Some(true)),
    ];
    for (source, expected) in cases {
        let (truth, passes) = with_expr(source, |expr| {
            (decide_condition(expr, &world()), holds_condition(expr, &world()))
        });
        assert_eq!(truth, Ok(expected), "{source}");
        assert_eq!(passes, Ok(expected == Some(true)), "{source}");
    }
}

/// What is shown or stored knows no third truth; a name that is bound to it does.
#[test]
fn an_unknown_condition_is_shown_as_false_and_bound_as_unknown() {
    let source = r#"caller.role != "admin""#;
    assert_eq!(
        with_expr(source, |expr| evaluate(expr, &world())),
        Ok(Some(Value::Bool(false)))
    );
    assert_eq!(
        with_expr(source, |expr| evaluate_bound(expr, &world())),
        Ok(Some(Value::Null))
    );
    assert_eq!(with_expr("caller.role", |expr| evaluate(expr, &world())), Ok(None));
    let chosen = r#"caller.role == "admin" ? "all" : "own""#;
    assert_eq!(
        with_expr(chosen, |expr| evaluate(expr, &world())),
        Ok(Some(Value::S("own".to_owned())))
    );
}
