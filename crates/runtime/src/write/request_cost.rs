//! What a request would cost, as far as that is certain before anything is read.

use singlet_plan::write::{SentRequest, WriteCost, WriteCosts, as_requested};

use super::{WriteRequest, arguments};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Scope};

impl Engine {
    /// The write units of one request: of what it sends, the steps that it runs and the lists that it has. What rows decide is left open.
    ///
    /// # Errors
    ///
    /// Where the arguments are not those of the write.
    pub fn write_cost(&self, name: &str, request: &WriteRequest) -> Result<WriteCost, RuntimeError> {
        let model = self.model().as_ref();
        let Some(write) = model.writes.iter().find(|write| write.name == name) else {
            return Err(RuntimeError::Request(format!("there is no write `{name}`")));
        };
        let args = arguments::checked_inputs(self, write, request)?;
        let nothing = Attributes::new();
        let scope = Scope {
            setting: self.setting(),
            now: request.now,
            args: &args,
            caller: &request.caller,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let sent = SentRequest {
            names: &scope,
            args: &args,
            has_key: request.idempotency_key.is_some(),
        };
        let write = as_requested(write, &sent);
        Ok(WriteCosts::new(model).of(&write))
    }
}
