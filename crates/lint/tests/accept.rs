//! `accept:` covers findings of design rules, and says what it does not cover.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use singlet_model::Source;

const MODEL: &str = r#"singlet: 1
name: reference
table: {name: reference, key: {partition: PK, sort: SK}}
entities:
  Country:
    attributes: {code: 'string /[A-Z]{2}/'}
    key: {PK: "COUNTRIES", SK: "{code}"}
"#;

fn messages(accept: &str) -> Vec<String> {
    let source = Source::new("model.yaml", format!("{MODEL}{accept}"));
    let findings = singlet_lint::check_design(singlet_model::load_source(&source)).into_sorted();
    findings
        .iter()
        .filter(|finding| finding.rule.name == "constant-partition-key" || finding.rule.code.starts_with('A'))
        .map(|finding| match &finding.help {
            Some(help) => format!("{} {} ({help})", finding.rule.code, finding.message),
            None => format!("{} {}", finding.rule.code, finding.message),
        })
        .collect()
}

#[test]
fn an_acceptance_with_its_reason_settles_the_finding() {
    let accept = "accept:\n  - {rule: constant-partition-key, at: Country, why: a handful of rows}\n";
    assert_eq!(messages(accept), [""; 0]);
}

#[test]
fn a_rule_that_there_is_not_is_named_with_the_nearest() {
    let accept = "accept:\n  - {rule: constant-partition-keys, at: Country, why: a handful of rows}\n";
    let found = messages(accept);
    assert!(found.iter().any(|line| line
        == "A002 there is no design rule `constant-partition-keys` (did you mean `constant-partition-key`?)"));
    assert!(found.iter().any(|line| line.starts_with("K001")), "{found:?}");
}

#[test]
fn an_acceptance_that_covers_nothing_is_reported() {
    let accept = "accept:\n  - {rule: constant-partition-key, at: Country, why: a handful of rows}\n  - {rule: constant-partition-key, at: City, why: gone}\n";
    let found = messages(accept);
    assert_eq!(
        found,
        ["A001 nothing at `City` breaks the rule `constant-partition-key` (remove the entry, or correct `at`)"]
    );
}

#[test]
fn an_error_of_the_language_cannot_be_accepted() {
    let accept = "accept:\n  - {rule: unknown-type, at: Country, why: later}\n";
    assert!(messages(accept).iter().any(|line| line.starts_with("A002")));
}
