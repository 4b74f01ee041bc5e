//! Help with names that mean nothing.

use super::Checker;
use crate::diagnostic::{Diagnostic, nearest_word};
use crate::expression::functions::{FUNCTIONS, Function};
use crate::expression::parse::ExpressionNode;
use crate::expression::rules;
use crate::expression::tokens::quote_input;
use crate::expression::tree::{Expr, Literal};
use crate::types::Type;

/// How other languages spell absence.
const ABSENT_ELSEWHERE: &[&str] = &["null", "NULL", "Null", "none", "None", "nil", "undefined", "missing"];

/// How YAML of before 1.2 spells truth.
const TRUTH_ELSEWHERE: &[(&str, &str)] = &[
    ("yes", "true"),
    ("Yes", "true"),
    ("on", "true"),
    ("On", "true"),
    ("True", "true"),
    ("TRUE", "true"),
    ("no", "false"),
    ("No", "false"),
    ("off", "false"),
    ("Off", "false"),
    ("False", "false"),
    ("FALSE", "false"),
];

/// Functions of other languages, and what to write here.
const FUNCTIONS_ELSEWHERE: &[(&str, &str)] = &[
    ("len", "size(…)"),
    ("length", "size(…)"),
    ("count", "size(…)"),
    ("begins_with", "x.startsWith(…)"),
    ("concat", "a + b"),
    ("coalesce", "x == absent ? y : x"),
    ("exists_one", "size(list.filter(e, …)) == 1"),
    ("int", "round(x, 0)"),
    ("duration", "days(1), hours(1) or minutes(1)"),
    ("timestamp", "time(date, \"08:00\")"),
];

impl Checker<'_, '_> {
    pub(super) fn foreign_absence(&mut self, node: &ExpressionNode, name: &str) -> Expr {
        let message = format!("`{name}` is spelled `absent` here");
        let span = self.span(&node.range);
        let help = "write `absent`";
        self.report(
            Diagnostic::new(&rules::FOREIGN_ABSENCE, span, message)
                .help(help)
                .replace_with("absent"),
        );
        self.constant(node, Literal::Absent, Type::Absent)
    }

    pub(super) fn unknown_name(&mut self, node: &ExpressionNode, name: &str) -> Expr {
        if ABSENT_ELSEWHERE.contains(&name) {
            return self.foreign_absence(node, name);
        }
        let message = match self.scope.attributes {
            _ if self.scope.catalog.entity(name).is_some() => {
                format!("the entity `{name}` is no value by itself")
            }
            Some(entity) => {
                let owner = self.scope.catalog.name(entity);
                format!("`{name}` is neither an attribute of `{owner}` nor bound here")
            }
            None => format!("`{name}` means nothing here"),
        };
        let mistake = Diagnostic::new(&rules::UNKNOWN_NAME, self.span(&node.range), message);
        let mistake = self.helped(mistake, name);
        self.report(mistake);
        self.invalid(node)
    }

    fn helped(&self, mistake: Diagnostic, name: &str) -> Diagnostic {
        if let Some(instead) = self.elsewhere(name) {
            return mistake.help(format!("write `{instead}`")).replace_with(instead);
        }
        let truth = TRUTH_ELSEWHERE.iter().find(|(known, _)| *known == name);
        if let Some((_, instead)) = truth.filter(|_| self.hinted_words().next().is_none()) {
            return mistake.help(format!("write `{instead}`")).replace_with(*instead);
        }
        if let Some(near) = nearest_word(name, self.names_in_scope()) {
            return mistake.help(format!("did you mean `{near}`?")).replace_with(near);
        }
        if let Some(near) = nearest_word(name, self.hinted_words()) {
            return mistake
                .help(format!("did you mean `\"{near}\"`?"))
                .replace_with(format!("\"{near}\""));
        }
        if self.scope.catalog.entity(name).is_some() {
            return mistake.help(format!("`{name}(…)` with its key is a row"));
        }
        if let Some(function) = Function::functions_named(name).next() {
            return mistake.help(format!("`{name}` is a function: `{}`", function.signature));
        }
        match &self.hint {
            Some(ty @ Type::Enum(_)) => mistake.help(format!(
                "the members are {}",
                ty.enum_members().unwrap_or_default().join(", ")
            )),
            Some(Type::Text(_)) => mistake.help(format!("write `\"{name}\"` for the text")),
            _ => mistake,
        }
    }

    /// The same name under its prefix, or as the text that is meant.
    fn elsewhere(&self, name: &str) -> Option<String> {
        if self.hinted_words().any(|word| word == name) {
            return Some(format!("\"{name}\""));
        }
        let under = |prefix: &str, name: &str| {
            let known = match prefix {
                "args" => self.scope.args.is_some_and(|args| args.get(name).is_some()),
                "caller" => self.claims().any(|claim| claim == name),
                _ => self.scope.settings.iter().any(|setting| setting.name == name),
            };
            known.then(|| format!("{prefix}.{name}"))
        };
        let spelled = name.split_once('_').map_or(("", ""), |parts| parts);
        ["args", "caller", "settings"].into_iter().find_map(|prefix| {
            let same = under(prefix, name);
            same.or_else(|| (spelled.0 == prefix).then(|| under(prefix, spelled.1)).flatten())
        })
    }

    fn claims(&self) -> impl Iterator<Item = &str> {
        let claims = self.scope.caller.unwrap_or_default();
        let always = self.scope.caller.map(|_| "authenticated");
        claims.iter().map(|claim| claim.name.as_str()).chain(always)
    }

    /// The words of what the name would be compared with or assigned to.
    fn hinted_words(&self) -> impl Iterator<Item = &str> {
        let words = match &self.hint {
            Some(Type::Enum(words)) => words.members.as_slice(),
            Some(Type::OrWords(_, words)) => words,
            _ => &[],
        };
        words.iter().map(String::as_str)
    }

    fn names_in_scope(&self) -> impl Iterator<Item = &str> {
        let entity = self.scope.attributes.and_then(|id| self.scope.catalog.names(id));
        let attributes = entity.map(|names| names.attributes()).unwrap_or_default();
        let bound = self.scope.bound.iter().chain(&self.variables);
        let words = ["now", "today", "absent", "true", "false"];
        let rows = self.scope.words.rows.as_ref().map(|_| "rows");
        attributes
            .iter()
            .map(|attribute| attribute.name.as_str())
            .chain(bound.map(|bound| bound.name.as_str()))
            .chain(words)
            .chain(rows)
    }

    /// A call of something that is neither a function nor an entity.
    pub(super) fn unknown_function(&mut self, node: &ExpressionNode, name: &str, args: &[&ExpressionNode]) -> Expr {
        let tested = args.first().map(|arg| self.source(arg)).unwrap_or("x");
        let instead = match name {
            "has" | "attribute_exists" | "isset" | "defined" => Some(format!("{tested} != absent")),
            "attribute_not_exists" => Some(format!("{tested} == absent")),
            _ => None,
        };
        if let Some(instead) = instead {
            let message = format!("`{name}` is not a function: absence is compared");
            let help = format!("write {}", quote_input(&instead));
            return self.refuse(&rules::FOREIGN_ABSENCE, node, message, Some(help));
        }
        let kind = match name.starts_with(|first: char| first.is_ascii_uppercase()) {
            true => "an entity",
            false => "a function",
        };
        let message = format!("`{name}` is not {kind}");
        let functions = FUNCTIONS.iter().map(|function| function.name);
        let known = functions.chain(self.scope.catalog.entity_names());
        let mistake = Diagnostic::new(&rules::UNKNOWN_FUNCTION, self.span(&node.name), message);
        let mistake = match FUNCTIONS_ELSEWHERE.iter().find(|(foreign, _)| *foreign == name) {
            Some((_, instead)) => mistake.help(format!("write `{instead}`")),
            None if self.out.is_full() => mistake,
            None => mistake.did_you_mean(name, known),
        };
        let mistake = match mistake.help {
            Some(_) => mistake,
            None => mistake.help("the functions are a closed list: the language reference has it"),
        };
        self.report(mistake);
        self.invalid(node)
    }
}
