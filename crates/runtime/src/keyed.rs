//! The row that a selection names by its whole key: most reads ask for one, and it takes one get.

use std::sync::LazyLock;

use singlet_item::{Item, Paths, Value};
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::Expr;
use singlet_model::model::Entity;
use singlet_plan::read::{Query, SelectionPlan};
use singlet_store::{GetAnswer, GetRequest, ItemLookup};

use crate::error::RuntimeError;
use crate::keys::OneKey;
use crate::range_rows::is_row_of;
use crate::scope::{Attributes, Scope};
use crate::{keys, row};

/// What is asked for of an item where all of it is.
static EVERYTHING: LazyLock<Paths> = LazyLock::new(Paths::default);

/// What a selection asks for by its key.
pub(crate) enum Keyed<'a> {
    /// No one row: it may have several.
    Several,
    /// A row that cannot be there.
    Nothing,
    /// This one.
    Row(KeyedRow<'a>),
}

/// A row that is asked for by its key.
pub(crate) struct KeyedRow<'a> {
    /// The attributes of its key.
    key: Vec<(&'a str, Value)>,
    consistent: bool,
    model: &'a Model,
    entity: &'a Entity,
    query: &'a Query,
    scope: Scope<'a>,
    /// What of the meaning the key does not say.
    conditions: &'a [Expr],
    allow: Option<&'a Expr>,
}

impl<'a> Keyed<'a> {
    /// What a plan asks for in a scope, if that is one row.
    ///
    /// # Errors
    ///
    /// Where an expression fails.
    pub fn of(
        model: &'a Model,
        plan: &'a SelectionPlan,
        scope: Scope<'a>,
        allow: Option<&'a Expr>,
        consistent: bool,
    ) -> Result<Self, RuntimeError> {
        // Several queries may have the same row, and which cover is taken is decided by counting ranges.
        let ([query], []) = (&*plan.queries, &*plan.covers) else {
            return Ok(Keyed::Several);
        };
        let Some(entity) = model.entity(query.entity) else {
            return Ok(Keyed::Several);
        };
        let (key, exact) = match keys::one_key(model, query, scope)? {
            OneKey::Key(key, exact) => (key, exact),
            OneKey::Nothing => return Ok(Keyed::Nothing),
            OneKey::Several => return Ok(Keyed::Several),
        };
        // A key that is not exact says too little, so that the whole meaning is checked on the row.
        let conditions = if exact { &query.rest } else { &query.meaning };
        // What the request alone decides is decided before the call: it saves the read, and says nothing about the row.
        for condition in conditions.iter().filter(|condition| condition.attributes().is_empty()) {
            if !holds_condition(condition, &scope)? {
                return Ok(Keyed::Nothing);
            }
        }
        Ok(Keyed::Row(KeyedRow {
            key,
            consistent,
            model,
            entity,
            query,
            scope,
            conditions,
            allow,
        }))
    }
}

impl KeyedRow<'_> {
    /// What is asked of a store that gives it at once: that looks itself at whether the item is a row that is there.
    pub(crate) fn item_lookup(&self) -> ItemLookup<'_> {
        ItemLookup {
            table: &self.model.table.name,
            key: &self.key,
            consistent: self.consistent,
            projection: self.query.layout.row_alone().unwrap_or_else(|| self.projection()),
            wanted: row::wanted_item(self.model, self.entity, self.scope.now),
        }
    }

    /// The row that [`KeyedRow::lookup`] has brought, if the meaning includes it.
    ///
    /// # Errors
    ///
    /// As [`KeyedRow::of_answer`].
    pub(crate) fn of_lookup(&self, answer: &mut GetAnswer) -> Result<Option<Attributes>, RuntimeError> {
        // Only where the store was asked for the row alone has it looked at type and expiry itself.
        if self.query.layout.row_alone().is_none() {
            return self.of_answer(answer);
        }
        let Some(item) = answer.item.take() else {
            return Ok(None);
        };
        self.kept(Some(row::take_row_alone((self.model, self.entity), item, self.scope)?))
    }

    /// What is asked of a store that has to be waited for.
    pub(crate) fn request(&self) -> GetRequest {
        GetRequest {
            table: self.model.table.name.clone(),
            key: self.key_item(),
            consistent: self.consistent,
            projection: self.projection().clone(),
        }
    }

    fn projection(&self) -> &Paths {
        self.query.item_projection().unwrap_or(&EVERYTHING)
    }

    /// Its key, as an item.
    pub(crate) fn key_item(&self) -> Item {
        let key = self.key.iter();
        key.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// The row of the item that the store has, if the meaning includes it.
    ///
    /// # Errors
    ///
    /// Where the item is not as the model has it, or an expression fails.
    pub(crate) fn of_answer(&self, answer: &mut GetAnswer) -> Result<Option<Attributes>, RuntimeError> {
        let Some(item) = answer.item.take() else {
            return Ok(None);
        };
        let place = (self.model, self.entity);
        let layout = &self.query.layout;
        let row = match layout.may_be_bare {
            true => row::take_live_without_keys(place, item, layout, self.scope)?,
            false => return self.of_whole_item(item),
        };
        self.kept(row)
    }

    /// The row of an item that came with its keys, if the meaning includes it.
    ///
    /// # Errors
    ///
    /// As [`KeyedRow::of_answer`].
    pub(crate) fn of_whole_item(&self, item: Item) -> Result<Option<Attributes>, RuntimeError> {
        // The key may be that of a row of another entity, where templates of two of them meet.
        if !is_row_of(self.model, self.entity, &item) {
            return Ok(None);
        }
        let taken = row::take_live_with_key((self.model, self.entity), item, &self.query.layout, self.scope)?;
        self.kept(taken.map(|(row, _)| row))
    }

    fn kept(&self, row: Option<Attributes>) -> Result<Option<Attributes>, RuntimeError> {
        let Some(row) = row else { return Ok(None) };
        let scope = self.scope.with_row(&row);
        // The meaning first: `allow` is asked of rows that are meant.
        for condition in self.conditions.iter().chain(self.allow) {
            if !holds_condition(condition, &scope)? {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }
}
