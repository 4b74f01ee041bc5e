//! What a webhook tells after a change, to whom, and the record that it is told once.

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::evaluate::evaluate;
use singlet_model::model::Webhook;
use singlet_store::PutRequest;

use super::record;
use super::trigger::ChangedRow;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Caller};

impl Engine {
    /// The address of a webhook, as the settings of this deployment have it; none where nobody is told.
    ///
    /// # Errors
    ///
    /// Where its expression has no value.
    pub fn webhook_address(&self, webhook: &Webhook) -> Result<Option<String>, RuntimeError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.change_scope(&nothing, &nobody, &nothing);
        let address = evaluate(&webhook.to, &scope)?;
        let address = address.as_ref().and_then(Value::as_str).map(str::to_owned);
        Ok(address.filter(|address| !address.is_empty()))
    }

    /// What a webhook tells of a change, by name; what is absent is left out.
    ///
    /// # Errors
    ///
    /// Where an expression of `send` has no value for this change.
    pub fn webhook_data(&self, webhook: &Webhook, change: &ChangedRow) -> Result<Attributes, RuntimeError> {
        self.given_args(&webhook.after, change)
    }
}

/// Puts the record that something was done after a change under a name that is no write's, unless it was done before.
///
/// # Errors
///
/// Where the table's key has no room for it.
pub fn change_record_put(model: &Model, name: &str, change: &str, now: i64) -> Result<PutRequest, RuntimeError> {
    let (item, condition) = record::change_record(model, name, change, now)?;
    Ok(PutRequest {
        table: model.table.name.clone(),
        item,
        condition: Some(condition),
        return_old: false,
    })
}

/// Has a row of the model's own go at an instant, in seconds since 1970, where the table has a TTL.
pub fn keep_row_until(model: &Model, item: &mut Item, seconds: i64) {
    item.extend([record::counts_until(model, seconds)]);
}
