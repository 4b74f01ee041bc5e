//! What a name or a path means.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::expression::functions::{CallForm, Function};
use crate::expression::parse::{ExpressionNode, NodeKind};
use crate::expression::rules;
use crate::expression::scope::{BoundName, RowWord, WordPresence};
use crate::expression::tree::{Expr, ExprKind, Literal, Word};
use crate::types::{EntityId, Type};

impl Checker<'_, '_> {
    pub(super) fn name(&mut self, node: &ExpressionNode, name: &str) -> Expr {
        let bound = self.bound(name);
        let entity = self.scope.attributes;
        let is_attribute = entity.is_some_and(|id| self.scope.catalog.attribute(id, name).is_some());
        match (bound, entity) {
            (Some(_), Some(entity)) if is_attribute => self.ambiguous(node, name, entity),
            (Some(bound), _) => {
                let expr = self.made(node, ExprKind::Bound(bound.name), bound.ty);
                self.narrowed(Expr {
                    optional: bound.optional,
                    ..expr
                })
            }
            (None, Some(entity)) if is_attribute => self.attribute(node, entity, name),
            _ => self.word(node, name),
        }
    }

    /// The innermost binding of a name.
    pub(super) fn bound(&self, name: &str) -> Option<BoundName> {
        let bound = self.scope.bound.iter().chain(&self.variables);
        bound.rev().find(|bound| bound.name == name).cloned()
    }

    fn ambiguous(&mut self, node: &ExpressionNode, name: &str, entity: EntityId) -> Expr {
        let owner = self.scope.catalog.name(entity).to_owned();
        let message = format!("`{name}` is both an attribute of `{owner}` and bound here");
        let help = format!("rename the bound one, or write `row.{name}` for the attribute");
        self.refuse(&rules::AMBIGUOUS, node, message, Some(help))
    }

    /// An attribute of the row whose attributes stand bare.
    fn attribute(&mut self, node: &ExpressionNode, entity: EntityId, name: &str) -> Expr {
        let Some(attribute) = self.scope.catalog.attribute(entity, name) else {
            return self.no_attribute(node, entity, name);
        };
        let names = self.scope.catalog.names(entity);
        let by_key = || names.is_some_and(|names| names.key_variables.iter().any(|known| known == name));
        let missing = self.scope.row_may_be_missing && self.scope.attributes == Some(entity) && !by_key();
        let expr = self.made(node, ExprKind::Attribute(name.to_owned()), attribute.ty.clone());
        self.narrowed(Expr {
            optional: attribute.optional || missing || self.row_may_be_absent(),
            ..expr
        })
    }

    /// Whether `row` is the row whose attributes stand bare.
    fn row_is_bare(&self) -> bool {
        self.scope.row == RowWord::Same && self.scope.words.changed.is_none()
    }

    /// Whether there may be no row, as far as the tests around it tell.
    fn row_may_be_absent(&self) -> bool {
        self.scope.row_may_be_absent && !self.facts.is_present("row")
    }

    fn word(&mut self, node: &ExpressionNode, name: &str) -> Expr {
        match name {
            "now" => self.made(node, ExprKind::Now, Type::Now),
            "today" => self.made(node, ExprKind::Today, Type::Date),
            "absent" => self.constant(node, Literal::Absent, Type::Absent),
            "row" => self.row(node),
            "before" if self.scope.words.changed.is_some() => self.before(node),
            "rows" => self.typed_word(node, Word::Rows, self.scope.words.rows.clone()),
            "source" => self.typed_word(node, Word::Source, self.scope.words.source.clone()),
            "done" => self.typed_word(node, Word::Done, self.scope.words.done.then(Type::int)),
            "args" | "caller" | "settings" | "request" | "response" if self.has_prefix(name) => {
                let message = format!("`{name}` is no value by itself");
                let help = format!("name what is meant: `{name}.…`");
                self.refuse(&rules::UNKNOWN_NAME, node, message, Some(help))
            }
            "args" | "caller" => self.not_here(node, name),
            _ => self.unknown_name(node, name),
        }
    }

    fn has_prefix(&self, name: &str) -> bool {
        match name {
            "args" => self.scope.args.is_some(),
            "caller" => self.scope.caller.is_some(),
            "settings" => !self.scope.settings.is_empty(),
            "request" => self.scope.words.request != WordPresence::No,
            _ => self.scope.words.response != WordPresence::No,
        }
    }

    /// What the row that changed was.
    fn before(&mut self, node: &ExpressionNode) -> Expr {
        let known = self.scope.words.before;
        match self.scope.words.changed.clone().filter(|_| known != WordPresence::No) {
            Some(ty) => {
                let expr = self.made(node, ExprKind::Word(Word::Before), ty);
                self.narrowed(Expr {
                    optional: known == WordPresence::Maybe,
                    ..expr
                })
            }
            None => self.not_here(node, "before"),
        }
    }

    fn row(&mut self, node: &ExpressionNode) -> Expr {
        if let Some(ty) = self.scope.words.changed.clone() {
            return self.made(node, ExprKind::Word(Word::Changed), ty);
        }
        match (&self.scope.row, self.scope.attributes) {
            (RowWord::Same, Some(entity)) => {
                let expr = self.made(node, ExprKind::Row, Type::Row(entity));
                Expr {
                    optional: self.scope.row_may_be_missing || self.row_may_be_absent(),
                    ..expr
                }
            }
            (RowWord::Other(ty), _) => self.made(node, ExprKind::Row, ty.clone()),
            _ => self.not_here(node, "row"),
        }
    }

    fn typed_word(&mut self, node: &ExpressionNode, word: Word, ty: Option<Type>) -> Expr {
        match ty {
            Some(ty) => self.made(node, ExprKind::Word(word), ty),
            None => self.not_here(node, word.as_str()),
        }
    }

    fn not_here(&mut self, node: &ExpressionNode, name: &str) -> Expr {
        let why = match name {
            "args" => {
                "there is no request here, so there are no arguments: what one says of a row is stored by `set:` in a write's step"
            }
            "caller" => "there is no caller here: who it was is stored by `set:` in a write's step",
            "row" if self.scope.attributes.is_some() => "its attributes stand bare here",
            "row" => "there is no row here",
            "rows" => "only `return` of a `find` knows the rows",
            "source" => "only `found` of a copy knows its source",
            "done" => "only `return` of a bulk write knows it",
            "before" => "only an update has a row before it, where the table's stream carries `both_images`",
            _ => "only idempotency records and writes with idempotency know it",
        };
        let message = format!("`{name}` means nothing here");
        self.refuse(&rules::NOT_HERE, node, message, Some(why.to_owned()))
    }

    /// `of.name`.
    pub(super) fn field(&mut self, node: &ExpressionNode, of: &ExpressionNode, name: &str) -> Expr {
        if let NodeKind::Name(prefix) = &of.kind
            && self.bound(prefix).is_none()
            && let Some(expr) = self.prefixed(node, of, prefix, name)
        {
            return expr;
        }
        let of_expr = self.node(of, false);
        self.field_of(node, of, of_expr, name)
    }

    /// A name after one of the words that only stand before names.
    fn prefixed(&mut self, node: &ExpressionNode, of: &ExpressionNode, prefix: &str, name: &str) -> Option<Expr> {
        let owned = self
            .scope
            .attributes
            .is_some_and(|id| self.scope.catalog.attribute(id, prefix).is_some());
        Some(match prefix {
            "args" => self.argument(node, of, name),
            "caller" => self.claim(node, of, name),
            "settings" if !owned => self.setting(node, name),
            "request" | "response" if !owned => self.exchange(node, prefix, name),
            "row" if self.row_is_bare() => self.attribute(node, self.scope.attributes?, name),
            _ => return None,
        })
    }

    fn argument(&mut self, node: &ExpressionNode, of: &ExpressionNode, name: &str) -> Expr {
        let Some(args) = self.scope.args else {
            return self.not_here(of, "args");
        };
        let Some(arg) = args.get(name) else {
            let message = format!("there is no argument `{name}`");
            let span = self.span(&node.name);
            let mistake = Diagnostic::new(&rules::UNKNOWN_ARGUMENT, span, message)
                .help(format!("declare it under `args`: `{name}: …`"))
                .did_you_mean(name, args.iter().map(|arg| arg.name.as_str()));
            self.report(mistake);
            return self.invalid(node);
        };
        arg.mark_used();
        let expr = self.made(node, ExprKind::Arg(name.to_owned()), arg.known_type());
        self.narrowed(Expr {
            optional: arg.optional,
            ..expr
        })
    }

    fn claim(&mut self, node: &ExpressionNode, of: &ExpressionNode, name: &str) -> Expr {
        let Some(claims) = self.scope.caller else {
            return self.not_here(of, "caller");
        };
        let claim = claims.iter().find(|claim| claim.name == name);
        let ty = match (name, claim) {
            ("authenticated", _) => Type::Bool,
            (_, Some(claim)) => claim.ty.clone(),
            (_, None) => {
                let known = claims.iter().map(|claim| claim.name.as_str());
                let message = format!("a caller has no claim `{name}`");
                let there: Vec<String> = known.clone().map(|claim| format!("`{claim}`")).collect();
                let help = format!(
                    "name it under `claims` of `callers`; there are `authenticated`{}{}",
                    if there.is_empty() { "" } else { ", " },
                    there.join(", ")
                );
                let mistake = Diagnostic::new(&rules::UNKNOWN_FIELD, self.span(&node.name), message)
                    .help(help)
                    .did_you_mean(name, known.chain(["authenticated"]));
                self.report(mistake);
                return self.invalid(node);
            }
        };
        self.made(node, ExprKind::Caller(name.to_owned()), ty)
    }

    fn setting(&mut self, node: &ExpressionNode, name: &str) -> Expr {
        let Some(setting) = self.scope.settings.iter().find(|setting| setting.name == name) else {
            let known = self.scope.settings.iter().map(|setting| setting.name.as_str());
            let message = format!("there is no setting `{name}`");
            let mistake = Diagnostic::new(&rules::UNKNOWN_NAME, self.span(&node.name), message)
                .help(format!("declare it under `settings`: `{name}: …`"))
                .did_you_mean(name, known);
            self.report(mistake);
            return self.invalid(node);
        };
        let expr = self.made(node, ExprKind::Setting(name.to_owned()), setting.ty.clone());
        self.narrowed(Expr {
            optional: setting.optional,
            ..expr
        })
    }

    /// `request.key` and its like.
    fn exchange(&mut self, node: &ExpressionNode, prefix: &str, name: &str) -> Expr {
        let words = &self.scope.words;
        let (word, ty, known) = match (prefix, name) {
            ("request", "key") => (Word::RequestKey, Type::text(), words.request),
            ("request", "hash") => (Word::RequestHash, Type::text(), words.request),
            ("response", "status") => (Word::ResponseStatus, Type::int(), words.response),
            ("response", "body") => (Word::ResponseBody, Type::Json, words.response),
            _ => {
                let message = format!("`{prefix}` has no `{name}`");
                let help = "there are `request.key`, `request.hash`, `response.status` and `response.body`";
                return self.refuse(&rules::UNKNOWN_FIELD, node, message, Some(help.to_owned()));
            }
        };
        if known == WordPresence::No {
            return self.not_here(node, word.as_str());
        }
        let expr = self.made(node, ExprKind::Word(word), ty);
        self.narrowed(Expr {
            optional: known == WordPresence::Maybe,
            ..expr
        })
    }

    /// A field of a value, by its type.
    fn field_of(&mut self, node: &ExpressionNode, of: &ExpressionNode, of_expr: Expr, name: &str) -> Expr {
        let found = match &of_expr.ty {
            Type::Unknown => Some((Type::Unknown, false)),
            Type::Json => Some((Type::Json, true)),
            Type::Row(entity) => match self.scope.catalog.attribute(*entity, name) {
                Some(attribute) => Some((attribute.ty.clone(), attribute.optional)),
                None => return self.no_attribute(node, *entity, name),
            },
            Type::Group(key, _) if name == "key" => Some((key.as_ref().clone(), false)),
            Type::Group(_, row) if name == "rows" => Some((Type::List(row.clone(), Default::default()), false)),
            other => field_of_object(other, name),
        };
        let Some((ty, optional)) = found else {
            return self.no_field(node, of, &of_expr.ty, name);
        };
        let optional = optional || of_expr.optional;
        let kind = ExprKind::Field(Box::new(of_expr), name.to_owned());
        self.narrowed(Expr {
            optional,
            ..self.made(node, kind, ty)
        })
    }

    fn no_attribute(&mut self, node: &ExpressionNode, entity: EntityId, name: &str) -> Expr {
        let catalog = self.scope.catalog;
        let message = format!("`{}` has no attribute `{name}`", catalog.name(entity));
        let known = catalog
            .names(entity)
            .map(|names| names.attributes())
            .unwrap_or_default();
        let mistake = Diagnostic::new(&rules::UNKNOWN_FIELD, self.span(&node.name), message)
            .did_you_mean(name, known.iter().map(|attribute| attribute.name.as_str()));
        self.report(mistake);
        self.invalid(node)
    }

    fn no_field(&mut self, node: &ExpressionNode, of: &ExpressionNode, ty: &Type, name: &str) -> Expr {
        let message = format!(
            "{} has type `{}`, which has no field `{name}`",
            self.shown(of),
            self.describe(ty)
        );
        let mistake = Diagnostic::new(&rules::UNKNOWN_FIELD, self.span(&node.name), message);
        let source = self.source(of);
        let mistake = match ty {
            _ if Function::functions_named(name)
                .next()
                .is_some_and(|known| known.form == CallForm::Function) =>
            {
                mistake.help(format!("write `{name}({source})`"))
            }
            Type::Map(..) => mistake.help(format!("write `{source}[\"{name}\"]` for an entry of a map")),
            Type::List(..) | Type::Set(..) => {
                mistake.help(format!("look at each element: `{source}.exists(e, e.{name} == …)`"))
            }
            Type::Group(..) => mistake.help("a group has `key` and `rows`"),
            other => {
                let fields = other
                    .object_type()
                    .map(|object| object.fields.as_slice())
                    .unwrap_or_default();
                let known = fields.iter().map(|field| field.name.as_str());
                let place = matches!(other, Type::Geo(_)).then_some(["lat", "lon"]);
                mistake.did_you_mean(name, known.chain(place.into_iter().flatten()))
            }
        };
        self.report(mistake);
        self.invalid(node)
    }

    /// `of[at]`.
    pub(super) fn index(&mut self, node: &ExpressionNode, of: &ExpressionNode, at: &ExpressionNode) -> Expr {
        if let (NodeKind::Name(word), NodeKind::Text(name), Some(entity)) = (&of.kind, &at.kind, self.scope.attributes)
            && word == "row"
            && self.row_is_bare()
        {
            return self.attribute(node, entity, name);
        }
        let of_expr = self.node(of, false);
        if let (Type::Row(_) | Type::Object(_) | Type::Geo(_), NodeKind::Text(name)) = (&of_expr.ty, &at.kind) {
            return self.field_of(node, of, of_expr, name);
        }
        let mut at_expr = self.node(at, false);
        self.present(at, &at_expr);
        let (element, wanted) = match &of_expr.ty {
            Type::Unknown => (Type::Unknown, Type::Unknown),
            Type::Json => (Type::Json, Type::Unknown),
            Type::List(element, _) => (element.as_ref().clone(), Type::int()),
            Type::Map(element, _) => (element.as_ref().clone(), Type::text()),
            other => {
                let ty = self.describe(other);
                let message = format!("{} has type `{ty}`, which has no entries", self.shown(of));
                let help = "lists have entries by number, maps by text".to_owned();
                return self.refuse(&rules::TYPE_MISMATCH, node, message, Some(help));
            }
        };
        self.assign(at, &mut at_expr, &wanted);
        let expr = self.made(node, ExprKind::Index(Box::new(of_expr), Box::new(at_expr)), element);
        self.narrowed(Expr { optional: true, ..expr })
    }
}

fn field_of_object(ty: &Type, name: &str) -> Option<(Type, bool)> {
    let field = ty.object_type().and_then(|object| object.field_named(name));
    match (field, ty, name) {
        (Some(field), ..) => Some((field.ty.clone(), field.optional)),
        (None, Type::Geo(_), "lat" | "lon") => Some((Type::number(), false)),
        _ => None,
    }
}
