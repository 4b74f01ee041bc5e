//! Requests to try, and what the names in an expression stand for in one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{Environment, evaluate, evaluate_as, holds_condition, time};
use singlet_model::expression::{Expr, ExprKind, Word};
use singlet_model::model::{LetValue, Read};
use singlet_model::types::Type;

use super::chance::Chance;
use super::pool::{NOW, Pool};
use super::row::{Row, Rows};
use super::untried::Untried;
use crate::meaning;

/// Combinations of optional arguments that are tried.
const COMBINATIONS_MAX: usize = 16;

/// What a caller sends.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub args: Row,
    pub claims: Row,
    pub bound: Row,
    pub settings: Row,
}

/// A request, and the row that is looked at.
pub(super) struct Scope<'r> {
    pub request: &'r Request,
    pub row: Option<&'r Row>,
    pub zone: &'r TimeZone,
}

impl Environment for Scope<'_> {
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.row?.get(name).map(Cow::Borrowed)
    }

    fn row(&self) -> Option<Cow<'_, Value>> {
        self.row.map(|row| Cow::Owned(Value::M(row.clone())))
    }

    fn row_field(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.attribute(name)
    }

    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.request.args.get(name).map(Cow::Borrowed)
    }

    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        match claim {
            "authenticated" => Some(Cow::Owned(Value::Bool(true))),
            claim => self.request.claims.get(claim).map(Cow::Borrowed),
        }
    }

    fn setting(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.request.settings.get(name).map(Cow::Borrowed)
    }

    fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.request.bound.get(name).map(Cow::Borrowed)
    }

    fn word(&self, _: Word) -> Option<Cow<'_, Value>> {
        None
    }

    fn now(&self) -> i64 {
        NOW
    }

    fn zone(&self) -> &TimeZone {
        self.zone
    }

    fn generate(&self, _: &Expr, _: Option<u64>) -> Option<Value> {
        None
    }
}

impl Request {
    /// The value of a part of a template by hand: a plain name of the request.
    pub(super) fn value_at(&self, path: &str, zone: &TimeZone) -> Option<Value> {
        let (first, rest) = path.split_once('.').map_or((path, ""), |(first, rest)| (first, rest));
        match (first, rest) {
            ("now", "") => time::iso_millis(NOW).ok().map(Value::S),
            ("today", "") => time::day_of(NOW, zone).ok().map(Value::S),
            ("args", rest) => at_path(&self.args, rest),
            ("caller", rest) => at_path(&self.claims, rest),
            ("settings", rest) => at_path(&self.settings, rest),
            _ => at_path(&self.bound, path),
        }
    }
}

fn at_path(values: &Row, path: &str) -> Option<Value> {
    let mut names = path.split('.');
    let first = values.get(names.next()?)?.clone();
    names.try_fold(first, |value, name| value.as_map()?.get(name).cloned())
}

/// What requests of a read are drawn from.
pub(super) struct Requests<'a> {
    model: &'a Model,
    read: &'a Read,
    claims: BTreeMap<String, Vec<Value>>,
    args: BTreeMap<&'a str, Vec<Value>>,
    /// The combinations of optional arguments in which all that the condition names are sent.
    combinations: Vec<Vec<&'a str>>,
    /// Rows that names are bound to.
    rows: BTreeMap<&'a str, Rows<'a>>,
}

impl<'a> Requests<'a> {
    /// Prepares to draw; the reason where nothing can be drawn.
    pub(super) fn new(model: &'a Model, read: &'a Read, named: &[&Expr], pool: &Pool) -> Result<Self, Untried> {
        let mut args = BTreeMap::new();
        for arg in &read.args {
            let values = pool.values(&arg.ty);
            if values.is_empty() {
                return Err(Untried::Argument(arg.name.clone()));
            }
            args.insert(arg.name.as_str(), values);
        }
        let template_args: Vec<&str> = template_paths(read)
            .filter_map(|path| path.strip_prefix("args."))
            .collect();
        let mut combinations = meaning::argument_combinations(read);
        let is_optional = |name: &str| {
            read.args
                .iter()
                .any(|arg| arg.name == name && arg.optional && arg.default.is_none())
        };
        combinations.retain(|sent| {
            template_args
                .iter()
                .all(|name| !is_optional(name) || sent.contains(name))
        });
        combinations.truncate(COMBINATIONS_MAX);
        if combinations.is_empty() {
            return Err(Untried::NoCombination);
        }
        let mut rows = BTreeMap::new();
        for bound in &read.lets {
            if let Some((entity, filter)) = bound_row(&bound.value)
                && let Some(entity) = model.entity(entity)
            {
                let conjuncts: Vec<Expr> = filter
                    .map(Expr::conjuncts)
                    .unwrap_or_default()
                    .into_iter()
                    .cloned()
                    .collect();
                let mut mentioned = Vec::new();
                named
                    .iter()
                    .for_each(|expr| fields_of(expr, &bound.name, &mut mentioned));
                for path in template_paths(read) {
                    let field = path
                        .strip_prefix(bound.name.as_str())
                        .and_then(|rest| rest.strip_prefix('.'));
                    mentioned.extend(field.map(str::to_owned));
                }
                rows.insert(
                    bound.name.as_str(),
                    Rows::of(model, entity, conjuncts, &mentioned, pool),
                );
            }
        }
        Ok(Requests {
            model,
            read,
            claims: claims(read, named, pool),
            args,
            combinations,
            rows,
        })
    }

    /// What of the optional arguments was not tried: one that the condition names and that need not be sent, so that nothing says
    /// what is read without it, or more combinations than are tried.
    pub(super) fn left_out(&self) -> Option<String> {
        let all = meaning::argument_combinations(self.read).len();
        if self.combinations.len() == COMBINATIONS_MAX && all > COMBINATIONS_MAX {
            return Some(format!("{all} combinations of arguments are more than are tried"));
        }
        let optional = |name: &&str| {
            self.read
                .args
                .iter()
                .any(|arg| arg.name == *name && arg.optional && arg.default.is_none())
        };
        let mut named = template_paths(self.read)
            .filter_map(|path| path.strip_prefix("args."))
            .filter(|name| optional(name));
        let named = named.next().filter(|_| all > self.combinations.len())?;
        Some(format!(
            "`args.{named}` may be left out, and nothing says what is read then"
        ))
    }

    /// The combinations of optional arguments that are tried.
    pub(super) fn combinations(&self) -> &[Vec<&'a str>] {
        &self.combinations
    }

    /// Whether an argument is sent in a combination.
    pub(super) fn is_sent(&self, name: &str, sent: &[&str]) -> bool {
        let arg = self.read.args.iter().find(|arg| arg.name == name);
        sent.contains(&name) || arg.is_some_and(|arg| !arg.optional || arg.default.is_some())
    }

    /// A request that sends a combination; none where the names that it binds have no value, or the caller may not.
    pub(super) fn draw(&self, chance: &mut Chance, sent: &[&str], pool: &Pool) -> Option<Request> {
        let mut request = Request::default();
        for arg in &self.read.args {
            let values = self
                .args
                .get(arg.name.as_str())
                .filter(|_| self.is_sent(&arg.name, sent));
            let value = values.and_then(|values| chance.pick(values));
            request
                .args
                .extend(value.map(|value| (arg.name.clone(), value.clone())));
        }
        for (name, values) in &self.claims {
            request
                .claims
                .extend(chance.pick(values).map(|value| (name.clone(), value.clone())));
        }
        for setting in &self.model.settings {
            let scope = Scope {
                request: &request,
                row: None,
                zone: pool.zone(),
            };
            let default = setting
                .default
                .as_ref()
                .and_then(|default| evaluate_as(default, &setting.ty, &scope).ok()?);
            let value = default.or_else(|| pool.values(&setting.ty).into_iter().next());
            request
                .settings
                .extend(value.map(|value| (setting.name.clone(), value)));
        }
        self.bind(&mut request, chance, pool)?;
        let scope = Scope {
            request: &request,
            row: None,
            zone: pool.zone(),
        };
        let allow = self.read.allow.conjuncts().into_iter();
        let mut of_caller = allow.filter(|conjunct| conjunct.attributes().is_empty());
        of_caller
            .all(|conjunct| holds_condition(conjunct, &scope).unwrap_or(false))
            .then_some(request)
    }

    /// Gives the names of `let` and `each` their values.
    fn bind(&self, request: &mut Request, chance: &mut Chance, pool: &Pool) -> Option<()> {
        for bound in &self.read.lets {
            let value = match (self.rows.get(bound.name.as_str()), &bound.value) {
                (Some(rows), value) => {
                    let mut row = rows.draw(request, chance, pool)?;
                    if let LetValue::Value(Expr {
                        kind: ExprKind::Entity { key, .. },
                        ..
                    }) = value
                    {
                        let scope = Scope {
                            request,
                            row: None,
                            zone: pool.zone(),
                        };
                        for (name, expr) in key {
                            row.insert(name.clone(), evaluate(expr, &scope).ok()??);
                        }
                    }
                    Some(Value::M(row))
                }
                (None, LetValue::Value(expr)) => {
                    let scope = Scope {
                        request,
                        row: None,
                        zone: pool.zone(),
                    };
                    evaluate(expr, &scope).ok()?
                }
                (None, LetValue::Read(_)) => None,
            };
            request.bound.extend(value.map(|value| (bound.name.clone(), value)));
        }
        if let Some(each) = &self.read.each {
            let scope = Scope {
                request,
                row: None,
                zone: pool.zone(),
            };
            let list = evaluate(&each.list, &scope).ok()??;
            let element = chance.pick(list.as_list()?)?.clone();
            request.bound.insert(each.name.clone(), element);
        }
        Some(())
    }
}

/// The entity of a row that a name is bound to, and what is said of the row.
fn bound_row(value: &LetValue) -> Option<(singlet_model::types::EntityId, Option<&Expr>)> {
    match value {
        LetValue::Value(Expr {
            kind: ExprKind::Entity { entity, .. },
            ..
        }) => Some((*entity, None)),
        LetValue::Value(_) => None,
        LetValue::Read(selection) => Some((selection.entity()?, selection.filter.as_ref())),
    }
}

fn fields_of(expr: &Expr, name: &str, found: &mut Vec<String>) {
    expr.walk(&mut |part| {
        if let Some(path) = part.path()
            && let Some(field) = path.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'))
        {
            found.push(field.to_owned());
        }
    });
}

/// The names in the templates of a read's condition.
pub(super) fn template_paths(read: &Read) -> impl Iterator<Item = &str> {
    let keys = read.using.iter().flat_map(|using| &using.key);
    keys.flat_map(|key| super::condition::comparison_templates(&key.comparison))
        .flat_map(|template| template.parts.iter().map(|part| part.path.as_str()))
}

/// The claims that anything mentions, with the values that are tried.
fn claims(read: &Read, named: &[&Expr], pool: &Pool) -> BTreeMap<String, Vec<Value>> {
    let mut claims: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut take = |name: &str, ty: &Type| {
        let ty = match ty {
            Type::Unknown => Type::text(),
            known => known.clone(),
        };
        claims.entry(name.to_owned()).or_insert_with(|| pool.values(&ty));
    };
    for expr in named.iter().copied().chain([&read.allow]) {
        expr.walk(&mut |part| {
            if let ExprKind::Caller(name) = &part.kind {
                take(name, &part.ty);
            }
        });
    }
    for name in template_paths(read).filter_map(|path| path.strip_prefix("caller.")) {
        take(name, &Type::text());
    }
    claims.remove("authenticated");
    claims
}
