//! What a help proposes is applied to the model in which the mistake stands: the finding is gone and nothing else came of it. And
//! no proposal admits a caller whom the author did not mean.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_model::evaluate::{Environment, holds_condition};
use singlet_model::expression::{Expr, Word};
use singlet_model::{Diagnostic, Source, load_source};

/// What a help proposes to write in place of what stands there: its replacement, or the code after `write` without a blank to fill
/// in.
fn proposed(finding: &Diagnostic) -> Option<(singlet_model::Span, String)> {
    if let Some(fix) = &finding.fix {
        return Some((fix.span, fix.replacement.clone()));
    }
    let help = finding.help.as_deref()?;
    let code = ["write `", "name them, in quotes: `", "compare it whole with `"]
        .iter()
        .find_map(|words| help.split_once(words).map(|(_, rest)| rest))?;
    let (code, rest) = code.split_once('`')?;
    let whole = rest.is_empty() || rest.starts_with(';') || rest.starts_with(',');
    (whole && !code.contains('…')).then(|| (finding.span, code.to_owned()))
}

/// The file with the proposal in it, in each way in which YAML may want it written.
fn applied(text: &str, (span, code): &(singlet_model::Span, String)) -> Vec<String> {
    let (start, end) = (span.start as usize, span.end as usize);
    let (before, after) = (&text[..start], &text[end..]);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = end + after.find('\n').unwrap_or(after.len());
    let mut ways = vec![
        format!("{before}{code}{after}"),
        format!("{before}{}{after}", code.replace('"', "\\\"")),
        format!("{before}'{}'{after}", code.replace('\'', "''")),
    ];
    // A function of a part: the part is what it is put around.
    let part = code.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    if let Some(at) = part.and_then(|part| text[start..end].find(part).map(|at| (start + at, part.len()))) {
        let (at, length) = at;
        ways.push(format!("{}{code}{}", &text[..at], &text[at + length..]));
    }
    // A value that is the rest of its line may be put in quotes as a whole.
    let line = &text[line_start..line_end];
    if let Some((name, _)) = line.split_once(": ") {
        let value = &text[(line_start + name.len() + 2).min(start)..start];
        let rest = &text[end..line_end];
        let whole = format!("{value}{code}{rest}").replace('\'', "''");
        ways.push(format!("{}{name}: '{whole}'{}", &text[..line_start], &text[line_end..]));
    }
    ways
}

fn errors(text: &str) -> Vec<Diagnostic> {
    load_source(&Source::new("model.yaml", text)).diagnostics.into_sorted()
}

#[test]
fn what_a_help_proposes_settles_the_mistake() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let mut models: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    models.sort();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for path in models {
        let text = fs::read_to_string(&path).unwrap();
        let before = errors(&text);
        for finding in &before {
            let Some(proposal) = proposed(finding) else { continue };
            tried += 1;
            let settles = |text: &String| {
                let after = errors(text);
                after.len() <= before.len() && !after.iter().any(|other| other.message == finding.message)
            };
            if !applied(&text, &proposal).iter().any(settles) {
                let found: Vec<String> = applied(&text, &proposal)
                    .iter()
                    .map(|text| {
                        format!(
                            "{:?}",
                            errors(text).iter().map(|found| &found.message).collect::<Vec<_>>()
                        )
                    })
                    .collect();
                wrong.push(format!(
                    "{}: {}: `{}`\n    {}",
                    path.file_name().unwrap().to_string_lossy(),
                    finding.rule.code,
                    proposal.1,
                    found.join("\n    ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 30, "only {tried} helps propose something");
}

/// A caller with some claims.
struct Caller(BTreeMap<&'static str, &'static str>);

impl Environment for Caller {
    fn attribute(&self, _: &str) -> Option<Cow<'_, Value>> {
        None
    }
    fn row(&self) -> Option<Cow<'_, Value>> {
        None
    }
    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        let sent = self.0.get("args.x").filter(|_| name == "x");
        sent.map(|text| Cow::Owned(Value::S((*text).to_owned())))
    }
    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        match claim {
            "authenticated" => Some(Cow::Owned(Value::Bool(self.0.contains_key("id")))),
            claim => self.0.get(claim).map(|text| Cow::Owned(Value::S((*text).to_owned()))),
        }
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
        0
    }
    fn zone(&self) -> &TimeZone {
        static UTC: std::sync::LazyLock<TimeZone> = std::sync::LazyLock::new(|| TimeZone::UTC);
        &UTC
    }
    fn generate(&self, _: &Expr, _: Option<u64>) -> Option<Value> {
        None
    }
}

/// Every combination of a few values of each claim, and of claims that are missing.
fn callers() -> Vec<Caller> {
    let values: [(&str, &[&str]); 4] = [
        ("id", &["u1", "u2"]),
        ("role", &["admin", "Admin", "guest", "administrator", ""]),
        ("groups", &["desk", "helpdesk-guest", "desk lead", "front,desk", ""]),
        ("args.x", &["u1", "admin", ""]),
    ];
    let mut all: Vec<BTreeMap<&str, &str>> = vec![BTreeMap::new()];
    for (name, known) in values {
        let mut longer = all.clone();
        for text in known {
            longer.extend(all.iter().map(|claims| {
                let mut claims = claims.clone();
                claims.insert(name, text);
                claims
            }));
        }
        all = longer;
    }
    all.into_iter().map(Caller).collect()
}

fn model_with(allow: &str) -> String {
    let allow = allow.replace('\'', "''");
    format!(
        "singlet: 1\nname: m\ntable: {{name: mmm, key: {{partition: PK}}}}\n\
         callers: {{jwt: {{audience: m, claims: {{id: sub, role: role, groups: groups}}}}}}\n\
         entities:\n  E:\n    attributes: {{e: string 1..9}}\n    key: {{PK: \"{{e}}\"}}\n\
         reads:\n  one:\n    get: E\n    args: {{y: E.e, x: string?}}\n    where: e == args.y\n    \
         http: GET /e?y&x\n    allow: '{allow}'\n    let: {{used: 'args.x == absent'}}\n"
    )
}

fn admits(text: &str, caller: &Caller) -> Option<bool> {
    let model = load_source(&Source::new("model.yaml", text)).model?;
    holds_condition(&model.reads.first()?.allow, caller).ok()
}

/// Mistakes in `allow`, and whom their authors mean to admit.
#[test]
fn no_proposal_admits_more_callers_than_are_meant() {
    type Meant = fn(&BTreeMap<&str, &str>) -> bool;
    fn has(claims: &BTreeMap<&str, &str>, name: &str, text: &str) -> bool {
        claims.get(name) == Some(&text)
    }
    let cases: [(&str, Meant); 12] = [
        (r#""desk" in caller.groups"#, |claims| has(claims, "groups", "desk")),
        (r#"caller.role in "admin""#, |claims| has(claims, "role", "admin")),
        (r#"caller.role == admin"#, |claims| has(claims, "role", "admin")),
        (r#"caller.role = "admin""#, |claims| has(claims, "role", "admin")),
        (r#"caller.role === "admin""#, |claims| has(claims, "role", "admin")),
        (r#"caller.authenticated and caller.role == "admin""#, |claims| {
            claims.contains_key("id") && has(claims, "role", "admin")
        }),
        (r#"caller.rol == "admin""#, |claims| has(claims, "role", "admin")),
        (r#"caller.role != null && caller.role == "admin""#, |claims| {
            has(claims, "role", "admin")
        }),
        (r#"caller.id == args.x"#, |claims| {
            claims.contains_key("args.x") && claims.get("id") == claims.get("args.x")
        }),
        (r#"caller.id == args.x || caller.role == "admin""#, |claims| {
            has(claims, "role", "admin") || (claims.contains_key("args.x") && claims.get("id") == claims.get("args.x"))
        }),
        (
            r#"contains(caller.groups, "desk") && caller.role == "admin""#,
            |claims| has(claims, "role", "admin") && claims.get("groups").is_some_and(|groups| groups.contains("desk")),
        ),
        (r#"len(caller.groups) == 4 && caller.role == "admin""#, |claims| {
            has(claims, "role", "admin") && claims.get("groups").is_some_and(|groups| groups.len() == 4)
        }),
    ];
    let callers = callers();
    assert!(callers.len() > 400, "{}", callers.len());
    for (allow, meant) in cases {
        let text = model_with(allow);
        let found = errors(&text);
        assert!(!found.is_empty(), "{allow} is right");
        let help = found
            .first()
            .and_then(|finding| finding.help.clone())
            .unwrap_or_default();
        // A test that lets everybody in who leaves an argument out is no help in `allow`.
        assert!(!help.contains("== absent ||"), "{allow}: {help}");
        for proposal in found.iter().filter_map(proposed) {
            for text in applied(&text, &proposal).iter().filter(|text| errors(text).is_empty()) {
                for caller in &callers {
                    let admitted = admits(text, caller) == Some(true);
                    assert!(
                        !admitted || meant(&caller.0),
                        "{allow} becomes `{}`: {:?}",
                        proposal.1,
                        caller.0
                    );
                }
            }
        }
    }
}
