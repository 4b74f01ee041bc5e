//! What the help of a design rule proposes is written into the model that the rule reports: the rule reports less of it, and no
//! other rule reports an error that was not there.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use singlet_lint::{all_rules, check_design, find_rule};
use singlet_model::{Diagnostic, Severity, Source, load_source};

/// A rule, its folder, what its help proposes, and the places of its model where that is written: what stands there, and what then.
type Proposal = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PROPOSALS: &[Proposal] = &[
    (
        "no-recovery",
        "evolution",
        "`recovery: point_in_time`",
        &[("  stream:", "  recovery: point_in_time\n  stream:")],
    ),
    (
        "missing-type-attribute",
        "evolution",
        "`type: entityType`",
        &[("  type: none", "  type: entityType")],
    ),
    (
        "expires-without-ttl",
        "evolution",
        "`ttl: ttl`",
        &[("  key: {partition", "  ttl: ttl\n  key: {partition")],
    ),
    (
        "untyped-index",
        "indexes",
        "`type: entityType`",
        &[("  type: none", "  type: entityType")],
    ),
    (
        "stream-without-images",
        "evolution",
        "`images: both_images`",
        &[("images: keys_only", "images: both_images")],
    ),
    (
        "retried-add",
        "writes",
        "`idempotency: required`",
        &[("idempotency: none", "idempotency: required")],
    ),
    (
        "unversioned",
        "writes",
        "`version: version`",
        &[("      revision: int 0.. = 0", "      version: version")],
    ),
    (
        "unguarded-unique",
        "writes",
        "`unique: {email: email}`",
        &[(
            "    claim: {unique: email}",
            "    unique: {email: email}\n    claim: {unique: email}",
        )],
    ),
    (
        "stale-copy",
        "writes",
        "`kept: frozen`",
        &[(
            "{copy: \"Item(itemId).name\"}",
            "{copy: \"Item(itemId).name\", kept: frozen}",
        )],
    ),
    (
        "idempotency-without-hash",
        "writes",
        "`{is: request.hash}`",
        &[("      answer: {is", "      hash: {is: request.hash}\n      answer: {is")],
    ),
    (
        "check-then-write",
        "writes",
        "`idempotency: required`",
        &[("idempotency: none", "idempotency: required")],
    ),
    (
        "unlimited-with",
        "reads",
        "`limit`",
        &[(
            "where: itemId == row.itemId}",
            "where: itemId == row.itemId, limit: 20}",
        )],
    ),
    (
        "scan-not-needed",
        "reads",
        "remove `scan`",
        &[("    scan: \"counted in the background\"", "   ")],
    ),
    (
        "strong-read-on-index",
        "indexes",
        "remove `consistent`",
        &[("    consistent: true", "   ")],
    ),
    (
        "unbounded-list",
        "cost",
        "`..50`",
        &[("comments: list(string 1..500)", "comments: list(string 1..500) ..50")],
    ),
    (
        "transaction-over-limit",
        "writes",
        "lower the upper limit",
        &[("lines: list(Line) 1..50", "lines: list(Line) 1..20")],
    ),
    (
        "only-a-scan",
        "reads",
        "`scan: \"why\"`",
        &[("    find: Item", "    scan: why\n    find: Item")],
    ),
    (
        "free-tier-on-demand",
        "cost",
        "`billing: {read: 25, write: 25}`",
        &[("billing: on_demand", "billing: {read: 25, write: 25}")],
    ),
    (
        "outdated-price",
        "cost",
        "`read_price: \"0.125\"`",
        &[("read_price: \"0.25\"", "read_price: \"0.125\"")],
    ),
    (
        "dropped-by-optional",
        "indexes",
        "`due_date != absent`",
        &[(
            "where: user_id == caller.id",
            "where: user_id == caller.id && due_date != absent",
        )],
    ),
    (
        "multi-attribute-key",
        "indexes",
        "`GSI1: {partition: user_id, sort: [status, task_id]}`",
        &[
            (
                "GSI1: {partition: GSI1PK, sort: GSI1SK}",
                "GSI1: {partition: user_id, sort: [status, task_id]}",
            ),
            (
                "GSI1: {GSI1PK: \"USER#{user_id}\", GSI1SK: \"STATUS#{status}#{task_id}\"}",
                "GSI1: own",
            ),
        ],
    ),
    (
        "unsaid-index-entry",
        "indexes",
        "`GSI1: own`",
        &[("GSI1: none", "GSI1: own")],
    ),
    (
        "wide-projection",
        "indexes",
        "`project: [documentId, ownerId, title]`",
        &[("sort: GSI1SK}", "sort: GSI1SK, project: [documentId, ownerId, title]}")],
    ),
    (
        "empty-key",
        "keys",
        "`code: string 1..100`",
        &[("code: string ..20", "code: string 1..100")],
    ),
    (
        "key-length",
        "keys",
        "`tag: string 1..100`",
        &[("tag: string\n", "tag: string 1..100\n")],
    ),
    (
        "random-shard-point-read",
        "keys",
        "`shard: {is: hash(orderId) % 10}`",
        &[
            ("shard: int 0..9 = random(10)", "shard: {is: hash(orderId) % 10}"),
            (
                "'Order{shard: random(10), orderId: args.orderId}'",
                "Order(hash(args.orderId) % 10, args.orderId)",
            ),
        ],
    ),
    (
        "raw-delimiter",
        "keys",
        "`{category}`",
        &[("{raw(category)}", "{category}")],
    ),
    ("two-spellings", "keys", "`concert`", &[("\"Concert\"", "\"concert\"")]),
    (
        "idempotency-not-scoped",
        "writes",
        "`{is: caller.id}`",
        &[("IDEMPOTENCY#{requestId}", "IDEMPOTENCY#{userId}#{requestId}")],
    ),
    (
        "idempotency-without-expiry",
        "writes",
        "`expires: createdAt + days(1)`, and `ttl: ttl`",
        &[
            (
                "    role: idempotency",
                "    expires: createdAt + days(1)\n    role: idempotency",
            ),
            ("  key: {partition", "  ttl: ttl\n  key: {partition"),
        ],
    ),
    (
        "update-upserts",
        "writes",
        "`condition: true`",
        &[(
            "{call: UpdateItem, set: [title]}",
            "{call: UpdateItem, set: [title], condition: true}",
        )],
    ),
    (
        "idempotency-by-index",
        "writes",
        "`consistent: true`",
        &[(
            "using: {index: GSI1, key: {GSI1PK: \"USER#{caller.id}\", GSI1SK: \"IDEMPOTENCY#{args.key}\"}}",
            "consistent: true",
        )],
    ),
    (
        "batch-cannot-update",
        "writes",
        "TransactWriteItems",
        &[("{call: BatchWriteItem}", "{call: TransactWriteItems, condition: true}")],
    ),
    (
        "rows-not-meant",
        "reads",
        "`filter: status != \"done\"`",
        &[(
            "using: {key: {PK: \"USER#{caller.id}\", SK: {begins_with: \"TASK#\"}}}",
            "using: {key: {PK: \"USER#{caller.id}\", SK: {begins_with: \"TASK#\"}}, filter: status != \"done\"}",
        )],
    ),
    (
        "key-type-conflict",
        "keys",
        "`seq: int = 0`",
        &[("rank: string 1..10", "rank: int = 0")],
    ),
    (
        "never-matches",
        "reads",
        "`GSI1SK: {begins_with: \"STATUS#{args.status}#\"}`",
        &[(
            "GSI1SK: \"STATUS#{args.status}#\"",
            "GSI1SK: {begins_with: \"STATUS#{args.status}#\"}",
        )],
    ),
    (
        "last-value-dropped",
        "reads",
        "`DUEDATE#{args.to}$`",
        &[("\"DUEDATE#{args.to}#\"", "\"DUEDATE#{args.to}$\"")],
    ),
    (
        "order-not-given",
        "reads",
        "`{ordered(title)}`",
        &[("TITLE#{title}#{isbn}", "TITLE#{ordered(title)}#{isbn}")],
    ),
    (
        "put-overwrites",
        "writes",
        "`condition: true`",
        &[("{call: PutItem}", "{call: PutItem, condition: true}")],
    ),
    (
        "call-does-not-fit",
        "writes",
        "use UpdateItem with `attribute_exists`",
        &[("{call: PutItem}", "{call: UpdateItem, set: [title], condition: true}")],
    ),
];

fn findings(text: &str) -> Vec<Diagnostic> {
    let loaded = load_source(&Source::new("model.yaml", text));
    assert!(!loaded.diagnostics.has_errors(), "{:?}\n{text}", loaded.diagnostics);
    check_design(loaded).into_sorted()
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
    for (name, folder, proposed, edits) in PROPOSALS {
        let rule = find_rule(name).unwrap();
        let file = format!("src/rules/{folder}/{}.yaml", name.replace('-', "_"));
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let mut edited = text.clone();
        for (before, after) in *edits {
            assert!(edited.contains(before), "{name}: there is no `{before}` in its model");
            // Whom a rule of the language lets in by its helps is tried there; design rules leave that alone.
            assert!(!after.contains("allow"), "{name}: who may is not for this help to say");
            edited = edited.replace(before, after);
        }
        let old = findings(&text);
        let helps: Vec<&str> = old
            .iter()
            .filter(|finding| finding.rule == rule)
            .filter_map(|finding| finding.help.as_deref())
            .collect();
        if !helps.iter().any(|help| help.contains(proposed)) {
            wrong.push(format!("{name}: no help proposes {proposed}: {helps:?}"));
        }
        let new = findings(&edited);
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

/// Code in a help that stands as it would be written: more than a word, and nothing left to fill in.
fn looks_like_an_edit(help: &str) -> bool {
    let code = help.split('`').skip(1).step_by(2);
    let signs = [": ", " = ", " == ", " != ", "{", "["];
    code.into_iter()
        .any(|code| !code.contains('…') && signs.iter().any(|sign| code.contains(sign)))
}

#[test]
fn whatever_looks_like_an_edit_is_tried() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    let mut untried = Vec::new();
    for rule in all_rules() {
        let name = rule.name.replace('-', "_");
        let folders = fs::read_dir(&rules).unwrap().map(|entry| entry.unwrap().path());
        let mut files = folders.map(|folder| folder.join(format!("{name}.yaml")));
        let Some(file) = files.find(|file| file.is_file()) else {
            continue;
        };
        let text = fs::read_to_string(file).unwrap();
        let known = PROPOSALS.iter().any(|(known, ..)| *known == rule.name);
        let found = findings(&text);
        let own = found.iter().filter(|finding| finding.rule == rule);
        let helps = own.filter_map(|finding| finding.help.as_deref());
        if let Some(help) = helps
            .into_iter()
            .find(|help| looks_like_an_edit(help))
            .filter(|_| !known)
        {
            untried.push(format!("{}: {help}", rule.name));
        }
    }
    assert!(untried.is_empty(), "{}", untried.join("\n"));
}
