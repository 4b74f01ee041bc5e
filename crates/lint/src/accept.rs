//! `accept:` in the model: findings that the team has seen and lives with, each with its reason.

use singlet_model::{Diagnostic, Diagnostics, Model, Rule, Severity};

pub(crate) static RULES: &[&Rule] = &[&UNUSED_ACCEPTANCE, &UNKNOWN_RULE];

static UNUSED_ACCEPTANCE: Rule = Rule {
    code: "A001",
    name: "unused-acceptance",
    severity: Severity::Warning,
    page: "An `accept` entry matches no finding.

The design changed and the reason no longer applies, or `at` names something else. An acceptance that matches nothing today
would silently accept a new mistake tomorrow.

Way out: remove the entry, or correct `rule` and `at`.",
};

static UNKNOWN_RULE: Rule = Rule {
    code: "A002",
    name: "unknown-rule",
    severity: Severity::Error,
    page: "An `accept` entry names a rule that does not exist.

Way out: `singlet explain` lists the rules. Errors of the language cannot be accepted.",
};

/// Takes out what the model accepts, and reports acceptances that match nothing.
pub(crate) fn apply_accepts(model: &Model, diagnostics: Diagnostics) -> Diagnostics {
    let mut used = vec![false; model.accepted.len()];
    let mut kept = Diagnostics::default();
    for diagnostic in diagnostics.into_sorted() {
        let accepted = model.accepted.iter().position(|accepted| {
            let named = accepted.rule == diagnostic.rule.name || accepted.rule == diagnostic.rule.code;
            named && covers(&accepted.at, &diagnostic.subject)
        });
        match accepted {
            Some(at) => used.iter_mut().skip(at).take(1).for_each(|used| *used = true),
            None => kept.push(diagnostic),
        }
    }
    for (accepted, used) in model.accepted.iter().zip(used) {
        let known = crate::DESIGN_RULES
            .iter()
            .any(|design| design.rule.name == accepted.rule || design.rule.code == accepted.rule);
        if !known {
            let message = format!("there is no design rule `{}`", accepted.rule);
            let names = crate::DESIGN_RULES.iter().map(|design| design.rule.name);
            kept.push(Diagnostic::new(&UNKNOWN_RULE, accepted.rule_span, message).did_you_mean(&accepted.rule, names));
        } else if !used {
            let message = format!("nothing at `{}` breaks the rule `{}`", accepted.at, accepted.rule);
            kept.push(
                Diagnostic::new(&UNUSED_ACCEPTANCE, accepted.span, message).help("remove the entry, or correct `at`"),
            );
        }
    }
    kept
}

/// `Booking` covers `Booking.GSI1`.
fn covers(at: &str, subject: &str) -> bool {
    subject == at || subject.strip_prefix(at).is_some_and(|rest| rest.starts_with('.'))
}
