//! What stands in an answer under one name is one thing: names of an answer do not meet.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Entity, Read, Return, Selection};
use crate::node::Node;
use crate::rules;
use crate::source::Span;
use crate::types::Type;

/// The member of an answer that holds the cursor of the next page, beside what else the answer has.
const NEXT: &str = "next";
/// The member that holds the number of rows, beside sums.
const COUNT: &str = "count";

/// Checks the members of a read's answer.
pub(super) fn check_answers(read: &Read, node: &Node, entities: &[Entity], out: &mut Diagnostics) {
    let own = own_members(read, entities);
    for part in &read.with {
        if let Some(what) = own.get(part.name.as_str()) {
            let message = format!(
                "the answer has `{}` twice: {what}, and the rows under `with`",
                part.name
            );
            let help = "give the rows under `with` another name";
            out.push(Diagnostic::new(&rules::AMBIGUOUS_NAME, part.span, message).help(help));
        }
        check_sums(&part.selection, part.span, out);
    }
    if let Some(selection) = &read.selection {
        check_sums(selection, selection.span, out);
    }
    check_value(read, node, out);
    check_elements(read, node, out);
    check_alone(read, node, out);
    if read.pages.is_some() {
        check_next(read, &own, node, out);
    }
}

/// What the answer has before rows are put beside it, by name.
fn own_members<'a>(read: &'a Read, entities: &'a [Entity]) -> HashMap<&'a str, &'static str> {
    match &read.returns {
        Return::Fields(fields) => {
            let fields = fields.iter().map(|(name, _)| (name.as_str(), "a field of `return`"));
            fields.collect()
        }
        Return::Usual | Return::Nothing | Return::Value(_) => {
            let entity = read.selection.as_ref().and_then(Selection::entity);
            let entity = entity.and_then(|id| super::entity_of(entities, id));
            let attributes = entity.map_or(&[][..], |entity| &entity.attributes);
            let is_row = match &read.returns {
                Return::Value(expr) => matches!(expr.ty, Type::Row(_)),
                Return::Usual | Return::Nothing | Return::Fields(_) => true,
            };
            let attributes = attributes.iter().filter(|_| is_row);
            attributes
                .map(|attribute| (attribute.name.as_str(), "an attribute of the row"))
                .collect()
        }
    }
}

/// Rows stand beside the members of an object: beside any other value there is no place for them.
fn check_value(read: &Read, node: &Node, out: &mut Diagnostics) {
    let Return::Value(expr) = &read.returns else { return };
    let holds = matches!(expr.ty, Type::Row(_) | Type::Object(_) | Type::Geo(_) | Type::Unknown);
    if let (false, false, Some(with)) = (holds, read.with.is_empty(), node.entry("with")) {
        let message = format!(
            "the rows under `with` have no place: `return` gives {} and no object",
            expr.ty
        );
        let help = "name the value: `return: {value: …}`, and the rows stand beside it";
        out.push(Diagnostic::new(&rules::NO_MEANING, with.key.span, message).help(help));
    }
}

/// The answer of an element is what `return` makes of its rows: without one there is none, and there is no row that others would
/// come with.
fn check_elements(read: &Read, node: &Node, out: &mut Diagnostics) {
    let (Some(each), Some(entry)) = (&read.each, node.entry("each")) else {
        return;
    };
    if !matches!(read.returns, Return::Value(_) | Return::Fields(_)) {
        let message = format!("nothing says what is answered for each `{}`", each.name);
        let help = format!(
            "add `return`, in which `rows` are the rows of one element: `return: {{{0}: {0}, rows: rows}}`",
            each.name
        );
        out.push(Diagnostic::new(&rules::MISSING_FIELD, entry.key.span, message).help(help));
    }
    if let Some(with) = node.entry("with") {
        let message = "`with` has no effect here: `each` answers elements, and rows come with a row";
        out.push(Diagnostic::new(&rules::NO_MEANING, with.key.span, message).help("remove it, or read without `each`"));
    }
}

/// What `with` names is all of the answer where there is no row that it comes with, and nothing that `return` would be made of.
fn check_alone(read: &Read, node: &Node, out: &mut Diagnostics) {
    let is_alone = read.selection.is_none() && read.each.is_none() && !read.with.is_empty();
    if let Some(entry) = node.entry("return").filter(|_| is_alone) {
        let message = "`return` has no effect here: `with` alone answers what it names";
        let help = "remove it, or read the row that the others come with: `get: …`";
        out.push(Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help(help));
    }
}

fn check_sums(selection: &Selection, span: Span, out: &mut Diagnostics) {
    if selection.sums.iter().any(|(name, _)| name == COUNT) {
        let message = "the answer has `count` twice: the number of rows, and a sum";
        out.push(Diagnostic::new(&rules::AMBIGUOUS_NAME, span, message).help("give the sum another name"));
    }
}

/// Where the pages are of one of several lists, the cursor stands beside them.
fn check_next(read: &Read, own: &HashMap<&str, &'static str>, node: &Node, out: &mut Diagnostics) {
    let group = read.with.iter().find(|part| part.name == NEXT);
    let what = match (own.get(NEXT), group) {
        (Some(what), _) => *what,
        (None, Some(_)) => "rows under `with`",
        (None, None) => return,
    };
    let span = node.entry("pages").map_or(read.span, |entry| entry.key.span);
    let message = format!("the answer has `next` twice: {what}, and the cursor of the next page");
    let help = "name it otherwise in `return`, or read the list by a read of its own";
    out.push(Diagnostic::new(&rules::AMBIGUOUS_NAME, span, message).help(help));
}
