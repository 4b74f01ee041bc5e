//! Expressions of the five systems, and the mistakes people make in them.

mod absence;
mod accepted;
mod as_cel;
mod garbage;
mod mistakes;
mod model;
mod writing;

use super::*;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::text::{Style, Text};
use model::Model;

/// An expression as a double-quoted or block scalar would hold it: the decoded text is the source.
fn text(source: &str) -> Text {
    Text::new(source.to_owned(), Span::new(0, source.len()), Style::Literal, source)
}

fn plain(source: &str) -> Text {
    Text::new(source.to_owned(), Span::new(0, source.len()), Style::Plain, source)
}

fn checked(scope: &Scope<'_>, source: &str) -> (Expr, Vec<Diagnostic>) {
    let mut out = Diagnostics::default();
    let expr = check_expression(&text(source), scope, None, &mut out);
    (expr, out.into_sorted())
}

/// Checks a condition of a read and returns what was found.
fn findings(scope: &Scope<'_>, source: &str) -> Vec<Diagnostic> {
    let mut out = Diagnostics::default();
    check_condition(&text(source), scope, &mut out);
    out.into_sorted()
}

#[track_caller]
fn accepts(scope: &Scope<'_>, source: &str) -> Expr {
    let (expr, found) = checked(scope, source);
    let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    assert!(found.is_empty(), "{source}: {messages:?}");
    expr
}

/// One mistake: its expression, the text it is reported at, the rule, the message, the help.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// Checks each case in a model of its own, since path variables learn their types.
#[track_caller]
fn refuses(scope: impl for<'m> Fn(&'m Model) -> Scope<'m>, cases: &[Case<'_>]) {
    for (source, at, rule, message, help) in cases {
        let model = Model::new();
        let (_, found) = checked(&scope(&model), source);
        let shown: Vec<_> = found
            .iter()
            .map(|one| {
                let at = &source[one.span.text_range()];
                (
                    *source,
                    at,
                    one.rule.name,
                    one.message.as_str(),
                    one.help.as_deref().unwrap_or(""),
                )
            })
            .collect();
        assert_eq!(shown, [(*source, *at, *rule, *message, *help)]);
    }
}

#[test]
fn rules_have_pages_and_codes_of_their_own() {
    for (at, rule) in RULES.iter().enumerate() {
        assert!(rule.page.lines().count() > 6, "{}", rule.code);
        assert!(
            !rule.page_summary().is_empty() && !rule.page_summary().ends_with('.'),
            "{}",
            rule.code
        );
        let twice = RULES[..at]
            .iter()
            .any(|other| other.code == rule.code || other.name == rule.name);
        assert!(!twice, "{}", rule.code);
    }
}

#[test]
fn functions_have_a_signature_that_begins_with_how_they_are_called() {
    for function in FUNCTIONS {
        let called = match function.form {
            CallForm::Function => function.signature.starts_with(&format!("{}(", function.name)),
            CallForm::Method => function.signature.contains(&format!(".{}(", function.name)),
        };
        assert!(called, "{}", function.signature);
        assert!(function.doc.ends_with('.'), "{}", function.name);
    }
}
