//! What reads and writes share: arguments, names, and conditions written by hand.

use super::promises::rows_of;
use super::selection::SelectionSite;
use super::table::{find_index, flag_field, whole_field};
use super::types::TypeTable;
use super::{Resolver, keys, route, selection};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, Args, BoundName, Expr, PresenceFacts, RowWord, Scope, Words};
use crate::model::{Argument, Comparison, KeyTemplate, LetValue, Route, SelectionKind, Table, Using, UsingKey};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::{EntityId, Type};

/// A name's value, its type, and whether it may be absent.
pub(super) struct NamedValue {
    pub value: LetValue,
    pub ty: Type,
    pub optional: bool,
}

/// Whether an argument that nothing uses is worth saying: not where the expressions that may use it could not be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unused {
    Reported,
    PassedOver,
}

/// What an operation knows before it binds names, apart from its arguments.
pub(super) struct KnownBefore {
    /// Whether somebody calls.
    pub has_caller: bool,
    /// The change after which it runs.
    pub words: Words,
    /// What is known of that change.
    pub facts: PresenceFacts,
}

impl Default for KnownBefore {
    /// A request.
    fn default() -> Self {
        KnownBefore {
            has_caller: true,
            words: Words::default(),
            facts: PresenceFacts::default(),
        }
    }
}

impl KnownBefore {
    /// A tick of the clock: nobody calls, and nothing has changed.
    pub(super) fn tick() -> Self {
        KnownBefore {
            has_caller: false,
            ..KnownBefore::default()
        }
    }
}

/// The route of a read or write.
pub(super) enum Http {
    /// There is none.
    None,
    /// It could be read.
    Route(Route),
    /// It could not, which was reported; its variables are arguments all the same.
    Broken(Vec<String>, Span),
}

impl Http {
    pub(super) fn of(node: Option<&Node>, reads: bool, out: &mut Diagnostics) -> Self {
        let Some(text) = node.and_then(Node::text) else {
            return Http::None;
        };
        match route::parse_route(text, reads, out) {
            Some(route) => Http::Route(route),
            None => Http::Broken(route::guessed_variables(&text.text), text.span),
        }
    }

    pub(super) fn route(&self) -> Option<&Route> {
        match self {
            Http::Route(route) => Some(route),
            _ => None,
        }
    }

    pub(super) fn into_route(self) -> Option<Route> {
        match self {
            Http::Route(route) => Some(route),
            _ => None,
        }
    }
}

impl Resolver<'_> {
    /// The declared arguments and the path's variables.
    pub(super) fn declare_args(&mut self, node: Option<&Node>, http: &Http, types: &mut TypeTable) -> Args {
        let mut args = Args::default();
        for entry in node.map_or(&[][..], Node::entries) {
            self.check_name(&entry.key, "an argument");
            self.check_no_past(&entry.value, "an argument");
            let declared = self.declared(&entry.value, types);
            let (ty, optional) = declared.map_or((Type::Unknown, false), |declared| {
                let optional = declared.optional || declared.default.is_some();
                (declared.ty, optional && declared.default.is_none())
            });
            args.declare_argument(&entry.key.text, ty, optional, entry.key.span);
        }
        match http {
            Http::None => {}
            Http::Route(route) => {
                for variable in &route.path_variables {
                    args.declare_path_variable(variable, route.span);
                }
            }
            Http::Broken(variables, span) => {
                for variable in variables {
                    args.declare_path_variable(variable, *span);
                }
            }
        }
        args
    }

    /// The defaults of declared arguments.
    pub(super) fn arg_defaults(&mut self, node: Option<&Node>, types: &mut TypeTable) -> Vec<(String, Expr)> {
        let mut defaults = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            let short = entry.value.text().or_else(|| entry.value.get("type")?.text());
            let has_default = short.is_some_and(|text| text.text.contains('='));
            let Some(declared) = has_default.then(|| self.declared(&entry.value, types)).flatten() else {
                continue;
            };
            if let Some(text) = &declared.default {
                let scope = self.names.scope();
                let value = expression::check_expression(text, &scope, Some(&declared.ty), self.out);
                defaults.push((entry.key.text.clone(), value));
            }
        }
        defaults
    }

    pub(super) fn let_value(
        &mut self,
        entry: &Entry,
        known: &KnownBefore,
        args: &Args,
        bound: &[BoundName],
    ) -> Option<NamedValue> {
        let scope = Scope {
            args: Some(args),
            bound: bound.to_vec(),
            words: known.words.clone(),
            facts: known.facts.clone(),
            caller: known.has_caller.then_some(&self.names.claims),
            ..self.names.scope()
        };
        named_value(&entry.value, &scope, self.out)
    }

    pub(super) fn using(
        &mut self,
        entry: Option<&Entry>,
        args: &Args,
        bound: &[BoundName],
        row: Option<EntityId>,
    ) -> Option<Using> {
        let entry = entry?;
        let node = &entry.value;
        let index = match node.get("index").and_then(Node::text) {
            Some(text) => Some(find_index(text, &self.index_names, &self.table, self.out)?),
            None => None,
        };
        let scope = Scope {
            args: Some(args),
            bound: bound.to_vec(),
            ..self.names.scope()
        };
        let known: Vec<String> = match index.and_then(|index| self.table.indexes.get(index.0 as usize)) {
            Some(index) => index.key().map(|attribute| attribute.name.clone()).collect(),
            None => self.table.key.iter().map(|attribute| attribute.name.clone()).collect(),
        };
        let mut key = Vec::new();
        for entry in node.get("key").map_or(&[][..], Node::entries) {
            if !known.contains(&entry.key.text) {
                let message = format!("`{}` is no key attribute here", entry.key.text);
                let names = known.iter().map(String::as_str);
                self.out.push(
                    Diagnostic::new(&rules::UNKNOWN_KEY_ATTRIBUTE, entry.key.span, message)
                        .did_you_mean(&entry.key.text, names),
                );
                continue;
            }
            if let Some(comparison) = comparison(entry, &self.table, &scope, self.out) {
                key.push(UsingKey {
                    attribute: entry.key.text.clone(),
                    comparison,
                    span: entry.key.span,
                });
            }
        }
        let filter = node.get("filter").and_then(Node::text).map(|text| {
            let scope = match row {
                Some(entity) => scope.with_row(entity),
                None => scope.clone(),
            };
            expression::check_condition(text, &scope, self.out)
        });
        let number = |field: &str| Some((whole_field(node, field)?, node.get(field)?.span()));
        Some(Using {
            index,
            key,
            filter,
            limit: number("limit"),
            descending: flag_field(node, "descending"),
            queries: number("queries"),
            span: entry.key.span,
        })
    }
}

/// What a name in `let` or `for` stands for.
pub(super) fn named_value(node: &Node, scope: &Scope<'_>, out: &mut Diagnostics) -> Option<NamedValue> {
    let Some(text) = node.text() else {
        let place = SelectionSite {
            scope,
            row: RowWord::None,
            leaves_out: false,
        };
        let selection = selection::resolve_selection(node, &place, scope.catalog, out)?;
        let entity = selection.entity()?;
        let (ty, optional) = match selection.kind {
            SelectionKind::Get { optional } => (Type::Row(entity), optional),
            SelectionKind::Find => (rows_of(entity, selection.limit), false),
            SelectionKind::Count => (Type::int(), false),
        };
        return Some(NamedValue {
            value: LetValue::Read(selection),
            ty,
            optional,
        });
    };
    let may_be_missing = text.text.trim_end().ends_with('?');
    let text = match may_be_missing {
        true => text.part_text(0, text.text.trim_end().len() - 1),
        false => text.clone(),
    };
    let expr = expression::check_expression(&text, scope, None, out);
    if may_be_missing && !matches!(expr.ty, Type::Row(_) | Type::Unknown) {
        let message = "only a row can be missing";
        out.push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).help("remove the `?`"));
    }
    let optional = expr.optional || may_be_missing;
    Some(NamedValue {
        ty: expr.ty.clone(),
        optional,
        value: LetValue::Value(expr),
    })
}

fn comparison(entry: &Entry, table: &Table, scope: &Scope<'_>, out: &mut Diagnostics) -> Option<Comparison> {
    let attribute = entry.key.text.as_str();
    if let Some(text) = entry.value.text() {
        return Some(Comparison::Equal(using_template(attribute, text, table, scope, out)?));
    }
    let [only] = entry.value.entries() else {
        let message = format!("`{attribute}` takes one comparison");
        out.push(
            Diagnostic::new(&rules::WRONG_SHAPE, entry.value.span(), message)
                .help("one of `=`, `<`, `<=`, `>`, `>=`, `begins_with`, `between`"),
        );
        return None;
    };
    if only.key.text == "between" {
        let [low, high] = only.value.elements() else {
            let message = "`between` takes two templates";
            out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, only.value.span(), message)
                    .help("write `between: [\"a\", \"b\"]`"),
            );
            return None;
        };
        let low = using_template(attribute, low.text()?, table, scope, out)?;
        let high = using_template(attribute, high.text()?, table, scope, out)?;
        return Some(Comparison::Between(low, high));
    }
    let template = using_template(attribute, only.value.text()?, table, scope, out)?;
    Some(match only.key.text.as_str() {
        "=" => Comparison::Equal(template),
        "<" => Comparison::Less(template),
        "<=" => Comparison::LessOrEqual(template),
        ">" => Comparison::Greater(template),
        ">=" => Comparison::GreaterOrEqual(template),
        "begins_with" => Comparison::BeginsWith(template),
        _ => return None,
    })
}

/// A template whose parts are expressions over the request.
fn using_template(
    attribute: &str,
    text: &Text,
    table: &Table,
    scope: &Scope<'_>,
    out: &mut Diagnostics,
) -> Option<KeyTemplate> {
    let mut lookup = |path: &Text, out: &mut Diagnostics| {
        let expr = expression::check_expression(path, scope, None, out);
        let ty = match expr.ty {
            Type::Now => Type::Time,
            Type::Unknown => Type::text(),
            other => other,
        };
        Some((ty, expr.optional))
    };
    keys::key_template(keys::KeyPlace::of(table, attribute), text, &mut lookup, out)
}

/// The arguments as the model has them. One that no expression uses is a mistake.
pub(super) fn resolved_arguments(
    args: &Args,
    mut defaults: Vec<(String, Expr)>,
    unused: Unused,
    out: &mut Diagnostics,
) -> Vec<Argument> {
    let mut all = Vec::new();
    for arg in args.iter() {
        if !arg.is_used() && unused == Unused::Reported {
            let message = match arg.is_inferred() {
                true => format!("the path variable `{}` is not used", arg.name),
                false => format!("the argument `{}` is not used", arg.name),
            };
            let help = format!("use `args.{}`, or remove it", arg.name);
            out.push(Diagnostic::new(&rules::UNKNOWN_ARGUMENT, arg.span, message).help(help));
        }
        let ty = match arg.known_type() {
            Type::Unknown => Type::text(),
            known => known,
        };
        let default = defaults
            .iter()
            .position(|(name, _)| *name == arg.name)
            .map(|at| defaults.swap_remove(at).1);
        all.push(Argument {
            name: arg.name.clone(),
            ty,
            optional: arg.optional || default.is_some(),
            default,
            span: arg.span,
        });
    }
    all
}
