//! Design rules: what the checker knows about single-table designs.
//!
//! One rule, one file under `rules/`, with its page as the doc comment, and beside it a model that the rule reports
//! (`name.yaml`, findings marked with `#~`) and a near miss that it does not (`name.ok.yaml`). A rule is a function from a
//! resolved model to findings: it collects, it never stops, it prints nothing. Rules that need a plan are written the same
//! way as rules that need none: the [`Context`] has both.
//!
//! Codes: `K` keys, `I` indexes, `R` reads, `W` writes, `C` cost and limits, `E` evolution and operations; `P` what another kind of store
//! lacks, which is looked for only where one is named. Codes and names are stable.

mod accept;
mod answers;
mod context;
mod key_space;
mod prices;
mod rules;
mod steps;
mod store_kinds;
mod text_length;
mod traffic;

pub use context::{Context, Findings};
pub use rules::DESIGN_RULES;
pub use store_kinds::{STORE_KINDS, StoreKind, check_for_store, store_kind};

use singlet_model::{Diagnostics, Loaded, Rule, Severity};

/// A design rule: what it is called, and how it is found.
#[derive(Debug)]
pub struct DesignRule {
    /// Code, name, severity and page.
    pub rule: Rule,
    /// Reports every place where the model breaks the rule.
    pub check: fn(&Context<'_>, &mut Findings<'_>),
}

/// Declares the rule of a file: its page is the doc comment.
macro_rules! design_rule {
    ($(#[doc = $page:literal])* $code:literal $name:literal $severity:ident) => {
        pub(crate) static RULE: crate::DesignRule = crate::DesignRule {
            rule: singlet_model::Rule {
                code: $code,
                name: $name,
                severity: singlet_model::Severity::$severity,
                page: concat!($($page, "\n"),*),
            },
            check,
        };
    };
}
pub(crate) use design_rule;

/// Every rule there is: the language's and the design's.
pub fn all_rules() -> impl Iterator<Item = &'static Rule> {
    let design = DESIGN_RULES.iter().map(|design| &design.rule);
    singlet_model::rules::all_rules()
        .chain(design)
        .chain(accept::RULES.iter().copied())
        .chain(store_kinds::RULES.iter().copied())
}

/// The rule of that name or code.
pub fn find_rule(name: &str) -> Option<&'static Rule> {
    all_rules().find(|rule| rule.name == name || rule.code.eq_ignore_ascii_case(name))
}

/// A rule's page, without the space that a doc comment leaves before each line.
pub fn rule_page(rule: &Rule) -> String {
    let lines = rule.page.trim_matches('\n').lines();
    let stripped: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    stripped.join("\n").trim().to_owned()
}

/// Runs every design rule over a model that has no errors, and takes out what the model accepts.
pub fn check_design(loaded: Loaded) -> Diagnostics {
    let Loaded { model, mut diagnostics } = loaded;
    let Some(model) = model else {
        return diagnostics;
    };
    if diagnostics.has_errors() {
        return diagnostics;
    }
    let context = Context::new(&model);
    for design in DESIGN_RULES {
        (design.check)(&context, &mut Findings::new(&design.rule, &mut diagnostics));
    }
    accept::apply_accepts(&model, diagnostics)
}

/// Whether the severity makes `check` fail.
pub fn fails_check(severity: Severity, deny_warnings: bool) -> bool {
    match severity {
        Severity::Error => true,
        Severity::Warning => deny_warnings,
        Severity::Hint => false,
    }
}
