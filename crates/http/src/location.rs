//! Where a row that was made can be read: the `Location` of a 201.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{ParamValue, Read, Return, SelectionKind, Write};
use singlet_model::types::{EntityId, Type};

use crate::openapi::changed_entity;

/// What a path keeps as it is.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A path in which variables stand for attributes of the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    path: String,
    /// Variable and attribute.
    variables: Vec<(String, String)>,
}

impl Location {
    /// The route by which the answer of a write is read, if there is one: a `get` whose path alone tells the row.
    pub fn of(model: &Model, write: &Write) -> Option<Self> {
        let entity = answered(model, write)?;
        model.reads.iter().find_map(|read| by_path(read, entity))
    }

    /// The path of a row.
    pub fn path(&self, row: &Value) -> Option<String> {
        let row = row.as_map()?;
        let mut path = self.path.clone();
        for (variable, attribute) in &self.variables {
            let text = match row.get(attribute)? {
                Value::S(text) if !text.is_empty() => text.clone(),
                Value::N(number) => number.to_string(),
                _ => return None,
            };
            let part = utf8_percent_encode(&text, KEPT).to_string();
            path = path.replace(&format!("{{{variable}}}"), &part);
        }
        Some(path)
    }
}

/// The entity whose row is the answer.
fn answered(model: &Model, write: &Write) -> Option<EntityId> {
    match &write.returns {
        Return::Usual => changed_entity(model, write),
        Return::Value(expr) => match expr.ty {
            Type::Row(entity) => Some(entity),
            _ => None,
        },
        _ => None,
    }
}

fn by_path(read: &Read, entity: EntityId) -> Option<Location> {
    let route = read.http.as_ref().filter(|route| !route.path_variables.is_empty())?;
    let selection = read.selection.as_ref()?;
    let one = matches!(selection.kind, SelectionKind::Get { .. }) && selection.entities.as_slice() == [entity];
    let in_path = |name: &str| route.path_variables.iter().any(|variable| variable == name);
    let enough = read
        .args
        .iter()
        .all(|arg| arg.optional || arg.default.is_some() || in_path(&arg.name));
    let fixed = route
        .query
        .iter()
        .any(|(_, value)| matches!(value, ParamValue::Fixed(_)));
    if !one || !enough || fixed {
        return None;
    }
    let meaning = selection.filter.as_ref()?;
    let variables: Option<Vec<(String, String)>> = route
        .path_variables
        .iter()
        .map(|variable| Some((variable.clone(), equal_to(meaning, variable)?)))
        .collect();
    Some(Location {
        path: route.path.clone(),
        variables: variables?,
    })
}

/// The attribute that must equal an argument.
fn equal_to(meaning: &Expr, argument: &str) -> Option<String> {
    match &meaning.kind {
        ExprKind::Binary(BinaryOp::And, one, other) => equal_to(one, argument).or_else(|| equal_to(other, argument)),
        ExprKind::Binary(BinaryOp::Eq, one, other) => match (&one.kind, &other.kind) {
            (ExprKind::Attribute(name), ExprKind::Arg(arg)) | (ExprKind::Arg(arg), ExprKind::Attribute(name)) => {
                (arg == argument).then(|| name.clone())
            }
            _ => None,
        },
        _ => None,
    }
}
