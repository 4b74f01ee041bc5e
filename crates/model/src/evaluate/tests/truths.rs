//! True, false and unknown, which is what hangs on a claim that the caller does not have.

use super::*;

const TRUE: &str = r#"caller.id == "u1""#;
const FALSE: &str = r#"caller.id != "u1""#;
/// Of a caller without a role.
const UNKNOWN: &str = r#"caller.role == "admin""#;

const T: Option<bool> = Some(true);
const F: Option<bool> = Some(false);
const U: Option<bool> = None;

fn truth_of(source: &str) -> Option<bool> {
    with_expr(source, |expr| decide_condition(expr, &world())).unwrap()
}

#[test]
fn and_or_and_not_have_three_truths() {
    let words = [(TRUE, T), (FALSE, F), (UNKNOWN, U)];
    let and = [[T, F, U], [F, F, F], [U, F, U]];
    let or = [[T, T, T], [T, F, U], [T, U, U]];
    for (row, (left, known)) in words.into_iter().enumerate() {
        assert_eq!(truth_of(left), known, "{left}");
        assert_eq!(truth_of(&format!("!({left})")), [F, T, U][row], "!({left})");
        for (column, (right, _)) in words.into_iter().enumerate() {
            let source = format!("({left}) && ({right})");
            assert_eq!(truth_of(&source), and[row][column], "{source}");
            let source = format!("({left}) || ({right})");
            assert_eq!(truth_of(&source), or[row][column], "{source}");
        }
    }
}

/// A test that is unknown decides only where both branches say the same.
#[test]
fn a_choice_has_three_truths() {
    let words = [TRUE, FALSE, UNKNOWN];
    let chosen = [
        // then: T, F, U; in each, otherwise: T, F, U
        [[T, T, T], [F, F, F], [U, U, U]],
        [[T, F, U], [T, F, U], [T, F, U]],
        [[T, U, U], [U, F, U], [U, U, U]],
    ];
    for (test, by_then) in words.into_iter().zip(chosen) {
        for (then, by_otherwise) in words.into_iter().zip(by_then) {
            for (otherwise, expected) in words.into_iter().zip(by_otherwise) {
                let source = format!("({test}) ? ({then}) : ({otherwise})");
                assert_eq!(truth_of(&source), expected, "{source}");
            }
        }
    }
}

/// Whoever has no claim passes nothing that hangs on it, whichever way it is asked.
#[test]
fn what_is_unknown_admits_nobody() {
    for source in [
        r#"caller.role == "admin""#,
        r#"caller.role != "admin""#,
        r#"caller.role < "b""#,
        r#"caller.role >= """#,
        r#"caller.role in ["admin"]"#,
        r#"!(caller.role in ["admin"])"#,
        r#"caller.role.contains("")"#,
        r#"!caller.role.contains("x")"#,
        r#"title.contains(caller.role)"#,
        r#"!title.startsWith(caller.role)"#,
        r#"lower(caller.role) == """#,
        r#"size(caller.role) == 0"#,
        r#"caller.role + "" == """#,
        r#"string(hash(caller.role)) != "x""#,
        r#"tags.all(t, t != caller.role)"#,
        r#"!tags.exists(t, t == caller.role)"#,
        r#"[caller.role].all(r, r == "x")"#,
        r#"max(caller.role, "a") == "a""#,
        r#"[caller.role].exists(r, r != "x")"#,
        r#"!("x" in [caller.role])"#,
        r#"![caller.role].contains("x")"#,
        r#"size([caller.role]) == 0"#,
        r#"size([caller.role].map(r, r)) == 0"#,
        r#"size([caller.role].filter(r, r == "x")) == 0"#,
        r#"sum([caller.role], r, size(r)) == 0"#,
        r#"max(["a", caller.role]) == "a""#,
        r#"{role: caller.role}.role != "x""#,
    ] {
        assert_eq!(
            with_expr(source, |expr| holds_condition(expr, &world())),
            Ok(false),
            "{source}"
        );
    }
}

/// A name that is bound to a list or an object keeps what is not known in it.
#[test]
fn what_is_unknown_stays_unknown_in_a_bound_name() {
    struct Bound(World, Value);
    impl Environment for Bound {
        fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
            self.0.attribute(name)
        }
        fn row(&self) -> Option<Cow<'_, Value>> {
            self.0.row()
        }
        fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
            self.0.arg(name)
        }
        fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
            self.0.caller(claim)
        }
        fn setting(&self, name: &str) -> Option<Cow<'_, Value>> {
            self.0.setting(name)
        }
        fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
            (name == "known").then_some(Cow::Borrowed(&self.1))
        }
        fn word(&self, word: Word) -> Option<Cow<'_, Value>> {
            self.0.word(word)
        }
        fn now(&self) -> i64 {
            self.0.now()
        }
        fn zone(&self) -> &TimeZone {
            self.0.zone()
        }
        fn generate(&self, expr: &Expr, argument: Option<u64>) -> Option<Value> {
            self.0.generate(expr, argument)
        }
    }
    let cases = [
        ("[caller.role]", r#"known.all(r, r == "x")"#),
        ("[caller.role]", r#"!known.exists(r, r == "x")"#),
        ("[caller.role]", r#"!("x" in known)"#),
        ("[caller.role]", r#"!known.contains("x")"#),
        ("[caller.role]", "size(known) == 0"),
        ("{role: caller.role}", r#"known.role != "x""#),
        ("{role: caller.role}", r#"!(known.role == "x")"#),
        ("{inner: {role: caller.role}}", r#"known.inner.role != "x""#),
    ];
    for (value, condition) in cases {
        let (bound, ty) = with_expr(value, |expr| (evaluate_bound(expr, &world()), expr.ty.clone()));
        let environment = Bound(world(), bound.unwrap().unwrap());
        let catalog = catalog();
        let scope = Scope::new(&catalog).with_bound("known", ty, false);
        let text = Text::new(
            condition.to_owned(),
            Span::new(0, condition.len()),
            Style::Plain,
            condition,
        );
        let mut found = Diagnostics::default();
        let expr = expression::check_expression(&text, &scope, None, &mut found);
        assert!(!found.has_errors(), "{condition}: {found:?}");
        assert_eq!(holds_condition(&expr, &environment), Ok(false), "{value}: {condition}");
        // Whoever shows it sees what there is.
        let shown = with_expr(value, |expr| evaluate(expr, &world())).unwrap().unwrap();
        assert!(!format!("{shown:?}").contains("Null"), "{shown:?}");
    }
}
