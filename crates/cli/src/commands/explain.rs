//! `singlet explain`.

use std::process::ExitCode;

use clap::Args;
use singlet_lint::{all_rules, find_rule, rule_page};
use singlet_model::Rule;
use singlet_model::diagnostic::nearest_word;

use crate::exit;

/// Explain a rule: what it means, why it matters and what to do.
#[derive(Args)]
pub(crate) struct Explain {
    /// A rule's code or name, such as `K001` or `constant-partition-key`; without one, all rules are listed.
    rule: Option<String>,
}

impl Explain {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let Some(name) = self.rule else {
            return super::print_text(&list());
        };
        match find_rule(&name) {
            Some(rule) => super::print_text(&explain(rule)),
            None => {
                let known = all_rules().flat_map(|rule| [rule.code, rule.name]);
                match nearest_word(&name, known) {
                    Some(near) => eprintln!("error: there is no rule `{name}`; did you mean `{near}`?"),
                    None => eprintln!("error: there is no rule `{name}`; `singlet explain` lists them"),
                }
                ExitCode::from(exit::USAGE)
            }
        }
    }
}

fn explain(rule: &Rule) -> String {
    format!(
        "{} {} ({})\n\n{}\n",
        rule.code,
        rule.name,
        rule.severity.word(),
        rule_page(rule)
    )
}

fn list() -> String {
    let width = all_rules().map(|rule| rule.name.len()).max().unwrap_or(0);
    all_rules()
        .map(|rule| {
            let severity = rule.severity.word();
            format!(
                "{} {:width$} {severity:7} {}\n",
                rule.code,
                rule.name,
                rule.page_summary()
            )
        })
        .collect()
}
