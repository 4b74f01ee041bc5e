//! Which rows: `get`, `find` and `count` with their meaning, in reads, in `with`, in `let` and in `for`.

use super::table::{flag_field, whole_field};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, RowWord, Scope};
use crate::model::{Order, Selection, SelectionKind};
use crate::node::Node;
use crate::rules;
use crate::text::Text;
use crate::types::{EntityId, Type};

/// Where a selection stands.
pub(super) struct SelectionSite<'a> {
    /// What its expressions see, apart from the row.
    pub scope: &'a Scope<'a>,
    /// What `row` is.
    pub row: RowWord,
    /// Whether conjuncts with optional arguments may be left out.
    pub leaves_out: bool,
}

/// Resolves a selection; none where it names no entity that there is.
pub(super) fn resolve_selection(
    node: &Node,
    place: &SelectionSite<'_>,
    catalog: &Catalog,
    out: &mut Diagnostics,
) -> Option<Selection> {
    let (kind, name) = verb(node, out)?;
    let entity = catalog.entity(&name.text);
    let Some(entity) = entity else {
        out.push(super::unknown_entity(catalog, &name));
        return None;
    };
    check_bound_name(place.scope, catalog, entity, out, name.span);
    let mut scope = place.scope.clone();
    scope.attributes = Some(entity);
    scope.row = place.row.clone();
    let filter = node.get("where").and_then(Node::text).map(|text| {
        let scope = match place.leaves_out {
            true => scope.with_arguments_left_out(),
            false => scope.clone(),
        };
        expression::check_condition(text, &scope, out)
    });
    let sums = node.get("sum").map_or(&[][..], Node::entries);
    let sums = sums
        .iter()
        .filter_map(|entry| {
            let text = entry.value.text()?;
            let value = expression::check_expression(text, &scope, Some(&Type::number()), out);
            Some((entry.key.text.clone(), value))
        })
        .collect();
    Some(Selection {
        kind,
        entities: vec![entity],
        span: name.span,
        filter,
        order: order(node.get("order").and_then(Node::text), entity, catalog, out),
        by: grouped(node.get("by"), entity, catalog, out),
        sums,
        limit: whole_field(node, "limit"),
        consistent: flag_field(node, "consistent"),
        tally: None,
        matching: None,
    })
}

fn verb(node: &Node, out: &mut Diagnostics) -> Option<(SelectionKind, Text)> {
    if let Some(text) = node.get("get").and_then(Node::text) {
        let optional = text.text.ends_with('?');
        let name = text.part_text(0, text.text.len() - usize::from(optional));
        return Some((SelectionKind::Get { optional }, name));
    }
    if let Some(text) = node.get("count").and_then(Node::text) {
        return Some((SelectionKind::Count, text.clone()));
    }
    match node.get("find")? {
        Node::Scalar(text) => Some((SelectionKind::Find, text.clone())),
        other => {
            let message = "finding several entities at once is not built yet";
            let help = "find one of them, and the others under `with`";
            out.push(Diagnostic::new(&rules::NOT_YET, other.span(), message).help(help));
            None
        }
    }
}

/// A bound name must not be an attribute's too: nobody could tell which is meant.
pub(super) fn check_bound_name(
    scope: &Scope<'_>,
    catalog: &Catalog,
    entity: EntityId,
    out: &mut Diagnostics,
    span: crate::source::Span,
) {
    for bound in &scope.bound {
        if catalog.attribute(entity, &bound.name).is_some() {
            let message = format!(
                "`{}` is the name of a value and an attribute of `{}`: it could mean either here",
                bound.name,
                catalog.name(entity)
            );
            let help = format!(
                "give the value another name where `let`, `for`, `as` or `each` binds `{}`",
                bound.name
            );
            out.push(Diagnostic::new(&rules::AMBIGUOUS_NAME, span, message).help(help));
        }
    }
}

fn order(text: Option<&Text>, entity: EntityId, catalog: &Catalog, out: &mut Diagnostics) -> Vec<Order> {
    let mut order = Vec::new();
    let Some(text) = text else { return order };
    let mut start = 0;
    for piece in text.text.split(',') {
        let part = text.part_text(start, start + piece.len()).trimmed_text();
        start += piece.len() + 1;
        let descending = part.text.starts_with('-');
        let path = part.part_text(usize::from(descending), part.text.len()).trimmed_text();
        if orderable(&path, entity, catalog, out) {
            order.push(Order {
                path: path.text,
                descending,
                span: part.span,
            });
        }
    }
    order
}

fn orderable(path: &Text, entity: EntityId, catalog: &Catalog, out: &mut Diagnostics) -> bool {
    let root = path.text.split('.').next().unwrap_or_default();
    let Some(attribute) = catalog
        .attribute(entity, &path.text)
        .or_else(|| catalog.attribute(entity, root))
    else {
        let known = catalog.names(entity).map_or(&[][..], |names| names.attributes());
        let message = format!(
            "`{}` has no attribute `{}` to order by",
            catalog.name(entity),
            path.text
        );
        let mut diagnostic = Diagnostic::new(&rules::BAD_ORDER, path.span, message)
            .did_you_mean(&path.text, known.iter().map(|attribute| attribute.name.as_str()));
        if let Some((name, direction)) = path.text.split_once(' ') {
            let known = catalog.attribute(entity, name).is_some();
            diagnostic = diagnostic.help(match direction.trim().to_ascii_lowercase().as_str() {
                "desc" | "descending" if known => format!("write `-{name}`: `-` descends"),
                "asc" | "ascending" if known => format!("write `{name}`: it ascends unless `-` stands before it"),
                _ => "write `order: -createdAt, task_id`: `-` descends, commas separate".to_owned(),
            });
        }
        out.push(diagnostic);
        return false;
    };
    let unordered = matches!(
        attribute.ty,
        Type::Geo(_) | Type::Json | Type::Object(_) | Type::List(..) | Type::Set(..) | Type::Map(..)
    );
    if unordered && root == path.text {
        let help = "order by a string, a number, a date, a time, an id, an enum or a bool";
        let message = format!(
            "rows cannot come by `{}`, {}",
            path.text,
            crate::text::with_article(&attribute.ty.to_string())
        );
        out.push(Diagnostic::new(&rules::BAD_ORDER, path.span, message).help(help));
    }
    !unordered || root != path.text
}

fn grouped(node: Option<&Node>, entity: EntityId, catalog: &Catalog, out: &mut Diagnostics) -> Vec<String> {
    let mut names = Vec::new();
    for (name, span) in super::promises::spanned_names(node) {
        match catalog.attribute(entity, &name) {
            Some(_) => names.push(name),
            None => out.push(super::unknown_attribute(catalog, entity, &name, span)),
        }
    }
    names
}
