//! Tallies, and the selections that they answer.

use super::selection::SelectionSite;
use super::table::flag_field;
use super::triggers::beyond_the_row;
use super::{ExpressionNames, Resolver, suggest_names};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, BinaryOp, Expr, ExprKind, Scope};
use crate::model::{Entity, Read, Selection, SelectionKind, Tally, TallyGroup, TallyId, TallyUse, has_room_for_timers};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::{EntityId, Type};

/// The name that the number of rows has beside sums.
const COUNT: &str = "count";

impl Resolver<'_> {
    pub(super) fn tallies(&mut self, node: Option<&Node>, entities: &[Entity], zone: &str) -> Vec<Tally> {
        let entries = node.map_or(&[][..], Node::entries);
        let tallies = entries.iter().filter(|entry| entry.value.is_map());
        tallies.filter_map(|entry| self.tally(entry, entities, zone)).collect()
    }

    fn tally(&mut self, entry: &Entry, entities: &[Entity], zone: &str) -> Option<Tally> {
        self.check_name(&entry.key, "a tally");
        let name = entry.value.get("count").and_then(Node::text)?;
        let id = self.find_entity(name)?;
        self.check_tallied(entry, name, super::entity_of(entities, id)?, entities)?;
        let filter = entry.value.get("where").and_then(Node::text).map(|text| {
            let filter = expression::check_condition(text, &row_alone(&self.names, id), self.out);
            self.check_of_row_alone(&filter, "where");
            filter
        });
        let by = self.tally_groups(entry.value.get("by"), id);
        let sums = self.tally_sums(entry.value.get("sum"), id, filter.as_ref());
        Some(Tally {
            name: entry.key.text.clone(),
            span: entry.key.span,
            entity: id,
            definition: definition(&entry.value, &name.text, zone),
            by,
            sums,
            filter,
        })
    }

    fn tally_groups(&mut self, node: Option<&Node>, entity: EntityId) -> Vec<TallyGroup> {
        let mut groups = Vec::new();
        for text in texts_of(node) {
            let scope = Scope {
                absence: expression::Absence::Spreads,
                ..row_alone(&self.names, entity)
            };
            let expr = expression::check_expression(text, &scope, None, self.out);
            self.check_of_row_alone(&expr, "by");
            let is_no_group = matches!(
                expr.ty,
                Type::Geo(_)
                    | Type::Json
                    | Type::Object(_)
                    | Type::List(..)
                    | Type::Set(..)
                    | Type::Map(..)
                    | Type::Row(_)
                    | Type::Duration
            );
            if is_no_group {
                let message = format!(
                    "rows cannot be grouped by {}",
                    crate::text::with_article(&self.names.catalog.describe_type(&expr.ty))
                );
                let help = "group by a string, a number, a date, a time, an id, an enum or a bool";
                self.bad_tally(text.span, message, help);
            }
            groups.push(TallyGroup {
                text: text.text.clone(),
                expr,
            });
        }
        groups
    }

    fn tally_sums(&mut self, node: Option<&Node>, entity: EntityId, filter: Option<&Expr>) -> Vec<(String, Expr)> {
        let mut sums = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            if entry.key.text == COUNT {
                let message = "the figures have `count` twice: the number of rows, and a sum".to_owned();
                self.bad_tally(entry.key.span, message, "give the sum another name");
            }
            let Some(text) = entry.value.text() else { continue };
            let scope = row_alone(&self.names, entity);
            let scope = match filter {
                Some(filter) => scope.with_facts_of(filter, true),
                None => scope,
            };
            let sum = expression::check_expression(text, &scope, Some(&Type::number()), self.out);
            self.check_of_row_alone(&sum, "sum");
            sums.push((entry.key.text.clone(), sum));
        }
        sums
    }

    fn check_tallied(&mut self, entry: &Entry, name: &Text, entity: &Entity, entities: &[Entity]) -> Option<()> {
        self.check_stream(true, entry.key.span);
        if entity.mirror.is_some() || entity.role.is_some() {
            let message = format!(
                "rows of `{}` are no changes of their own, and cannot be counted",
                entity.name
            );
            self.bad_tally(name.span, message, "count the entity that they are kept with");
            return None;
        }
        if entity.history.is_some() {
            let what = format!("a tally of `{}`, whose rows have versions,", entity.name);
            self.not_yet(name.span, &what, "count them when they are asked for: `count`");
            return None;
        }
        if !has_room_for_timers(&self.table, entities) {
            let message =
                "a tally lies in rows side by side, and the table has no sort key of text for them".to_owned();
            self.bad_tally(
                name.span,
                message,
                "give the table a sort key, or count when it is asked for",
            );
            return None;
        }
        Some(())
    }

    /// A row that goes is taken from where it was counted: what is computed of it must be the same whenever that is.
    fn check_of_row_alone(&mut self, expr: &Expr, field: &str) {
        if let Some((span, what)) = beyond_the_row(expr) {
            let message = format!("{what} no part of the row, and `{field}` of a tally is of the row alone");
            self.bad_tally(span, message, "count what depends on it when it is asked for: `count`");
        }
    }

    /// Figures are of many rows: who may see them does not depend on one.
    pub(super) fn check_tally_allow(&mut self, read: &Read) {
        let own = read.selection.iter().map(|own| (own, &read.allow));
        let with = read
            .with
            .iter()
            .filter_map(|part| Some((&part.selection, part.allow.as_ref()?)));
        for (_, allow) in own.chain(with).filter(|(selection, _)| selection.tally.is_some()) {
            if allow.any(|part| matches!(part.kind, ExprKind::Attribute(_) | ExprKind::Row)) {
                let message = "figures are of many rows, and `allow` looks at one".to_owned();
                let help = "say who may by the caller alone, and which groups under `where`: `user_id == caller.id`";
                self.bad_tally(allow.span, message, help);
            }
        }
    }

    fn bad_tally(&mut self, span: Span, message: String, help: &str) {
        self.out.push(bad_tally(span, message, help));
    }
}

/// The selection that a tally answers; none where it names none that there is.
pub(super) fn tally_selection(
    node: &Node,
    place: &SelectionSite<'_>,
    tallies: &[Tally],
    out: &mut Diagnostics,
) -> Option<Selection> {
    let name = node.get("tally").and_then(Node::text)?;
    let found = tallies.iter().position(|tally| tally.name == name.text);
    let Some((at, tally)) = found.and_then(|at| Some((at, tallies.get(at)?))) else {
        let message = format!("there is no tally `{}`", name.text);
        let known: Vec<&str> = tallies.iter().map(|tally| tally.name.as_str()).collect();
        let diagnostic = Diagnostic::new(&rules::BAD_TALLY, name.span, message);
        let diagnostic = suggest_names(diagnostic, &name.text, &known, "the tallies are");
        out.push(diagnostic);
        return None;
    };
    for field in ["by", "sum", "order", "limit", "consistent"] {
        if let Some(entry) = node.entry(field) {
            let message = format!("`{field}` has no effect here: the tally says what is counted");
            out.push(Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help("remove it"));
        }
    }
    let mut scope = place.scope.clone();
    scope.attributes = Some(tally.entity);
    scope.row = place.row.clone();
    let text = node.get("where").and_then(Node::text);
    let filter = text.map(|text| expression::check_condition(text, &scope, out));
    let fixed = fixed_groups(tally, filter.as_ref(), out);
    let told: Vec<&TallyGroup> = told_groups(tally, &fixed).collect();
    Some(Selection {
        kind: SelectionKind::Count,
        entities: vec![tally.entity],
        span: name.span,
        filter: both(tally.filter.clone(), filter),
        order: Vec::new(),
        by: told.iter().map(|group| group.text.clone()).collect(),
        sums: tally.sums.clone(),
        limit: None,
        consistent: flag_field(node, "consistent"),
        tally: Some(TallyUse {
            tally: TallyId(u32::try_from(at).unwrap_or(u32::MAX)),
            by: told.into_iter().map(|group| group.expr.clone()).collect(),
            fixed,
        }),
        matching: None,
    })
}

/// What `where` of a read says: each part that one of the tally's groups has a value.
fn fixed_groups(tally: &Tally, filter: Option<&Expr>, out: &mut Diagnostics) -> Vec<(usize, Expr)> {
    let mut fixed: Vec<(usize, Expr)> = Vec::new();
    for part in filter.map(Expr::conjuncts).unwrap_or_default() {
        if part.is_invalid() {
            continue;
        }
        match fixed_group(tally, part) {
            Some((at, _)) if fixed.iter().any(|(known, _)| *known == at) => {
                let message = "this group of the tally is said twice".to_owned();
                out.push(bad_tally(part.span, message, "keep one"));
            }
            Some(one) => fixed.push(one),
            None => {
                let groups: Vec<&str> = tally.by.iter().map(|group| group.text.as_str()).collect();
                let message = format!("`{}` does not know this of the rows that it counts", tally.name);
                let help = match groups.is_empty() {
                    true => "it has no groups: remove it, or give the tally `by`".to_owned(),
                    false => format!(
                        "say that one of its groups has a value, with `==` and `&&`: {}",
                        crate::grammar::listed_words(&groups)
                    ),
                };
                out.push(bad_tally(part.span, message, &help));
            }
        }
    }
    fixed
}

fn bad_tally(span: Span, message: String, help: &str) -> Diagnostic {
    Diagnostic::new(&rules::BAD_TALLY, span, message).help(help)
}

/// What is known of a row that is counted: its attributes.
fn row_alone(names: &ExpressionNames, entity: EntityId) -> Scope<'_> {
    Scope {
        caller: None,
        settings: &[],
        ..names.row_scope(entity)
    }
}

/// The groups of a tally that a selection does not fix.
fn told_groups<'t>(tally: &'t Tally, fixed: &[(usize, Expr)]) -> impl Iterator<Item = &'t TallyGroup> {
    let is_told = |at: usize| !fixed.iter().any(|(known, _)| *known == at);
    let all: Vec<&TallyGroup> = tally
        .by
        .iter()
        .enumerate()
        .filter(|(at, _)| is_told(*at))
        .map(|(_, group)| group)
        .collect();
    all.into_iter()
}

fn fixed_group(tally: &Tally, part: &Expr) -> Option<(usize, Expr)> {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &part.kind else {
        return None;
    };
    let sides = [(left, right), (right, left)];
    sides.into_iter().find_map(|(group, value)| {
        let is_known =
            value.attributes().is_empty() && !value.any(|part| part.kind == ExprKind::Row) && !value.is_absent();
        let at = tally.by.iter().position(|known| is_same(&known.expr, group))?;
        is_known.then(|| (at, value.as_ref().clone()))
    })
}

/// Whether two expressions say the same, wherever they stand.
fn is_same(one: &Expr, other: &Expr) -> bool {
    bare(one) == bare(other)
}

fn bare(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    expr.walk_mut(&mut |part| {
        part.span = Span::default();
        part.optional = false;
    });
    expr
}

fn both(one: Option<Expr>, other: Option<Expr>) -> Option<Expr> {
    let both = |left: Expr, right: Expr| Expr {
        span: right.span,
        kind: ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(right)),
        ty: Type::Bool,
        optional: false,
    };
    [one, other].into_iter().flatten().reduce(both)
}

fn texts_of(node: Option<&Node>) -> Vec<&Text> {
    match node {
        Some(Node::Scalar(text)) => vec![text],
        Some(node) => node.elements().iter().filter_map(Node::text).collect(),
        None => Vec::new(),
    }
}

fn definition(node: &Node, entity: &str, zone: &str) -> String {
    let mut said = vec![format!("zone {zone}"), format!("count {entity}")];
    said.extend(texts_of(node.get("by")).iter().map(|text| format!("by {}", text.text)));
    for sum in node.get("sum").map_or(&[][..], Node::entries) {
        let text = sum.value.text().map_or("", |text| &text.text);
        said.push(format!("sum {} {text}", sum.key.text));
    }
    said.extend(
        node.get("where")
            .and_then(Node::text)
            .map(|text| format!("where {}", text.text)),
    );
    said.join("\n")
}
