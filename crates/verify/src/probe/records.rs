//! Rows of the engine's own: records of requests. What they hold comes from a request and its answer, so that one is made up from
//! the row that was drawn.

use singlet_item::Value;
use singlet_model::expression::ExprKind;
use singlet_model::model::Entity;
use singlet_runtime::{Attributes, Caller};

/// A request after which a record is what a row says.
#[derive(Debug, Default)]
pub(super) struct MadeUpRequest {
    pub caller: Caller,
    /// `request.key` and its like.
    pub words: Attributes,
    /// The row that was answered.
    pub answered: Option<Attributes>,
}

impl MadeUpRequest {
    /// For a row; of an entity that is no record, nothing.
    pub fn of(entity: &Entity, row: &Attributes) -> Self {
        let mut made = MadeUpRequest::default();
        if entity.role.is_none() {
            return made;
        }
        for attribute in &entity.attributes {
            let (Some(is), Some(value)) = (&attribute.is, row.get(&attribute.name)) else {
                continue;
            };
            made.take(&is.kind, value);
        }
        made
    }

    fn take(&mut self, is: &ExprKind, value: &Value) {
        match is {
            ExprKind::Caller(name) => {
                self.caller.claims.insert(name.clone(), value.clone());
            }
            ExprKind::Word(word) => {
                self.words.insert(word.as_str().to_owned(), value.clone());
            }
            ExprKind::Field(base, name) if base.kind == ExprKind::Row => {
                let answered = self.answered.get_or_insert_default();
                answered.insert(name.clone(), value.clone());
            }
            ExprKind::Attribute(name) => {
                let answered = self.answered.get_or_insert_default();
                answered.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
}
