//! What the help of a design rule proposes is written into the model that the rule reports: the rule reports less of it, and no
//! other rule reports an error that was not there.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use singlet_lint::{check, find_rule};
use singlet_model::{Diagnostic, Severity, Source, load};

/// A rule, its folder, what its help proposes, and the place of its model where that is written: what stands there, and what then.
type Proposal = (&'static str, &'static str, &'static str, &'static str, &'static str);

const PROPOSALS: &[Proposal] = &[
    (
        "no-recovery",
        "evolution",
        "`recovery: point_in_time`",
        "  stream:",
        "  recovery: point_in_time\n  stream:",
    ),
    (
        "missing-type-attribute",
        "evolution",
        "`type: entityType`",
        "  type: none",
        "  type: entityType",
    ),
    (
        "expires-without-ttl",
        "evolution",
        "`ttl: ttl`",
        "  key: {partition",
        "  ttl: ttl\n  key: {partition",
    ),
    (
        "untyped-index",
        "indexes",
        "`type: entityType`",
        "  type: none",
        "  type: entityType",
    ),
    (
        "stream-without-images",
        "evolution",
        "`images: both_images`",
        "images: keys_only",
        "images: both_images",
    ),
    (
        "retried-add",
        "writes",
        "`idempotency: required`",
        "idempotency: none",
        "idempotency: required",
    ),
    (
        "unversioned",
        "writes",
        "`version: version`",
        "      revision: int 0.. = 0",
        "      version: version",
    ),
    (
        "unguarded-unique",
        "writes",
        "`unique: {email: email}`",
        "    claim: {unique: email}",
        "    unique: {email: email}\n    claim: {unique: email}",
    ),
    (
        "stale-copy",
        "writes",
        "`kept: frozen`",
        "{copy: \"Item(itemId).name\"}",
        "{copy: \"Item(itemId).name\", kept: frozen}",
    ),
    (
        "idempotency-without-hash",
        "writes",
        "`{is: request.hash}`",
        "      answer: {is",
        "      hash: {is: request.hash}\n      answer: {is",
    ),
    (
        "check-then-write",
        "writes",
        "`idempotency: required`",
        "idempotency: none",
        "idempotency: required",
    ),
    (
        "unlimited-with",
        "reads",
        "`limit`",
        "where: itemId == row.itemId}",
        "where: itemId == row.itemId, limit: 20}",
    ),
    (
        "scan-not-needed",
        "reads",
        "remove `scan`",
        "    scan: \"counted in the background\"",
        "   ",
    ),
    (
        "strong-read-on-index",
        "indexes",
        "remove `consistent`",
        "    consistent: true",
        "   ",
    ),
    (
        "unbounded-list",
        "cost",
        "`..50`",
        "comments: list(string 1..500)",
        "comments: list(string 1..500) ..50",
    ),
    (
        "transaction-over-limit",
        "writes",
        "lower the upper limit",
        "lines: list(Line) 1..50",
        "lines: list(Line) 1..20",
    ),
    (
        "only-a-scan",
        "reads",
        "`scan: \"why\"`",
        "    find: Item",
        "    scan: why\n    find: Item",
    ),
];

fn findings(text: &str) -> Vec<Diagnostic> {
    let loaded = load(&Source::new("model.yaml", text));
    assert!(!loaded.diagnostics.has_errors(), "{:?}\n{text}", loaded.diagnostics);
    check(loaded).into_sorted()
}

/// How many errors each rule finds.
fn errors(found: &[Diagnostic]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in found.iter().filter(|finding| finding.rule.severity == Severity::Error) {
        *counts.entry(finding.rule.name).or_default() += 1;
    }
    counts
}

#[test]
fn what_a_help_proposes_makes_a_model_better() {
    let mut wrong = Vec::new();
    for (name, folder, proposed, before, after) in PROPOSALS {
        let rule = find_rule(name).unwrap();
        let file = format!("src/rules/{folder}/{}.yaml", name.replace('-', "_"));
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        assert!(text.contains(before), "{name}: there is no `{before}` in its model");
        let old = findings(&text);
        let helps: Vec<&str> = old
            .iter()
            .filter(|finding| finding.rule == rule)
            .filter_map(|finding| finding.help.as_deref())
            .collect();
        if !helps.iter().any(|help| help.contains(proposed)) {
            wrong.push(format!("{name}: no help proposes {proposed}: {helps:?}"));
        }
        let new = findings(&text.replace(before, after));
        let count = |found: &[Diagnostic]| found.iter().filter(|finding| finding.rule == rule).count();
        if count(&new) >= count(&old) {
            wrong.push(format!(
                "{name}: {} findings before, {} after",
                count(&old),
                count(&new)
            ));
        }
        let known = errors(&old);
        for (other, count) in errors(&new) {
            if count > known.get(other).copied().unwrap_or(0) {
                wrong.push(format!("{name}: what it proposes is an error of {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
