//! Rows by their key: `Task(a, b)` and `Task{a: b}`.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::expression::parse::{ExpressionNode, FieldNode};
use crate::expression::relations::same_kind;
use crate::expression::rules;
use crate::expression::tree::{Expr, ExprKind};
use crate::types::{EntityId, Type};

impl Checker<'_, '_> {
    pub(super) fn key_by_position(&mut self, node: &ExpressionNode, entity: EntityId, args: &[ExpressionNode]) -> Expr {
        let variables = self.key_variables(entity);
        if !variables.is_empty() && variables.len() != args.len() {
            return self.wrong_count_of_key(node, entity, &variables, args.len());
        }
        if let Some((one, other)) = alike(&variables) {
            self.told_apart_by_position(node, entity, &variables, args, (one, other));
        }
        let mut key = Vec::with_capacity(args.len());
        let mut optional = false;
        for (at, arg) in args.iter().enumerate() {
            let unknown = (String::new(), Type::Unknown);
            let (name, ty) = variables.get(at).unwrap_or(&unknown);
            let (expr, spreads) = self.key_value(arg, ty);
            optional |= spreads;
            key.push((name.clone(), expr));
        }
        self.row_of(node, entity, key, optional)
    }

    pub(super) fn key_by_name(&mut self, node: &ExpressionNode, name: &str, fields: &[FieldNode]) -> Expr {
        let Some(entity) = self.scope.catalog.entity(name) else {
            let message = format!("`{name}` is not an entity");
            let known = self.scope.catalog.entity_names();
            let mistake = Diagnostic::new(&rules::UNKNOWN_FUNCTION, self.span(&node.name), message);
            self.out.push_unknown(mistake, name, known);
            return self.invalid(node);
        };
        let variables = self.key_variables(entity);
        self.no_strange_fields(entity, &variables, fields);
        let mut key = Vec::with_capacity(variables.len());
        let mut optional = false;
        for (name, ty) in &variables {
            let Some(field) = fields.iter().find(|field| field.field == *name) else {
                self.missing_field(node, entity, name);
                continue;
            };
            let (expr, spreads) = self.key_value(&field.value, ty);
            optional |= spreads;
            key.push((name.clone(), expr));
        }
        self.row_of(node, entity, key, optional)
    }

    fn key_variables(&self, entity: EntityId) -> Vec<(String, Type)> {
        let names = self.scope.catalog.names(entity);
        let variables = names.map(|names| names.key_variables.as_slice()).unwrap_or_default();
        let typed = |name: &String| {
            let attribute = self.scope.catalog.attribute(entity, name);
            (
                name.clone(),
                attribute.map_or(Type::Unknown, |attribute| attribute.ty.clone()),
            )
        };
        variables.iter().map(typed).collect()
    }

    fn key_value(&mut self, node: &ExpressionNode, ty: &Type) -> (Expr, bool) {
        self.hint = Some(ty.clone());
        let mut expr = self.node(node, false);
        self.hint = None;
        let spreads = self.present(node, &expr);
        self.assign(node, &mut expr, ty);
        (expr, spreads)
    }

    fn row_of(&self, node: &ExpressionNode, entity: EntityId, key: Vec<(String, Expr)>, optional: bool) -> Expr {
        Expr {
            optional,
            ..self.made(node, ExprKind::Entity { entity, key }, Type::Row(entity))
        }
    }

    fn wrong_count_of_key(
        &mut self,
        node: &ExpressionNode,
        entity: EntityId,
        variables: &[(String, Type)],
        found: usize,
    ) -> Expr {
        let name = self.scope.catalog.name(entity);
        let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
        let values = if names.len() == 1 { "value" } else { "values" };
        let message = format!("the key of `{name}` takes {} {values}, not {found}", names.len());
        let help = format!("its key is `{name}({})`", names.join(", "));
        self.refuse(&rules::WRONG_KEY, node, message, Some(help))
    }

    fn told_apart_by_position(
        &mut self,
        node: &ExpressionNode,
        entity: EntityId,
        variables: &[(String, Type)],
        args: &[ExpressionNode],
        (one, other): (&str, &str),
    ) {
        let called = |node: &ExpressionNode| same_word(self.source(node).rsplit('.').next().unwrap_or_default());
        let mut values = variables.iter().zip(args);
        if values.all(|((name, _), arg)| called(arg) == same_word(name)) {
            return;
        }
        let name = self.scope.catalog.name(entity);
        let message =
            format!("`{one}` and `{other}` in the key of `{name}` have one type: only their places tell them apart");
        let named: Vec<String> = variables
            .iter()
            .zip(args)
            .map(|((name, _), arg)| format!("{name}: {}", self.source(arg)))
            .collect();
        // Braces are YAML's, so the whole stands in quotes; those that the arguments leave free.
        let written = format!("{name}{{{}}}", named.join(", "));
        let quote = if written.contains('"') { '\'' } else { '"' };
        let help = format!("name them, in quotes: `{quote}{written}{quote}`");
        self.report(Diagnostic::new(&rules::POSITIONAL_KEY, self.span(&node.range), message).help(help));
    }

    fn no_strange_fields(&mut self, entity: EntityId, variables: &[(String, Type)], fields: &[FieldNode]) {
        for (at, field) in fields.iter().enumerate() {
            let name = field.field.as_str();
            let again = fields.iter().take(at).any(|before| before.field == name);
            let known = variables.iter().any(|(variable, _)| variable == name);
            let owner = self.scope.catalog.name(entity);
            let message = match (again, known || variables.is_empty()) {
                (true, _) => format!("`{name}` is given twice"),
                (_, true) => continue,
                _ => format!("`{name}` is not part of the key of `{owner}`"),
            };
            let names = variables.iter().map(|(variable, _)| variable.as_str());
            let listed: Vec<&str> = names.clone().collect();
            let mistake = Diagnostic::new(&rules::WRONG_KEY, self.span(&field.range), message)
                .help(format!("its key is made of {}", listed.join(", ")))
                .did_you_mean(name, names);
            self.report(mistake);
        }
    }

    fn missing_field(&mut self, node: &ExpressionNode, entity: EntityId, name: &str) {
        let owner = self.scope.catalog.name(entity);
        let message = format!("`{name}` is missing from the key of `{owner}`");
        self.report(Diagnostic::new(&rules::WRONG_KEY, self.span(&node.range), message));
    }
}

/// A name without the differences in which models spell one word: `user_id` and `userId`.
fn same_word(name: &str) -> String {
    let letters = name.chars().filter(|char| *char != '_');
    letters.flat_map(char::to_lowercase).collect()
}

/// Two variables of one type.
fn alike(variables: &[(String, Type)]) -> Option<(&str, &str)> {
    variables.iter().enumerate().find_map(|(at, (one, one_ty))| {
        let others = variables.get(at + 1..).unwrap_or_default();
        let same = others.iter().find(|(_, ty)| !ty.is_unknown() && same_kind(one_ty, ty));
        same.map(|(other, _)| (one.as_str(), other.as_str()))
    })
}
