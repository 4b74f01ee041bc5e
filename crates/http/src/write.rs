//! Where writes meet the runtime.

use singlet_item::{Number, Value};
use singlet_runtime::{Attributes, Caller, Engine, RuntimeError};
use singlet_store::Consumed;

/// What is asked of a write.
#[derive(Clone, Debug, Default)]
#[allow(dead_code, reason = "the runtime takes it over")]
pub struct WriteRequest {
    pub args: Attributes,
    pub caller: Caller,
    pub now: i64,
    pub idempotency_key: Option<String>,
    pub version: Option<Number>,
}

/// What a write answers.
#[derive(Clone, Debug, Default)]
pub struct Written {
    pub status: u16,
    pub value: Option<Value>,
    pub version: Option<Number>,
    pub replayed: bool,
    pub consumed: Consumed,
}

/// Runs a write.
pub async fn call_write(_: &Engine, name: &str, _: &WriteRequest) -> Result<Written, RuntimeError> {
    Err(RuntimeError::Request(format!("`{name}` cannot be run yet")))
}
