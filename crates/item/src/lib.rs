//! What DynamoDB stores and what it costs, as plain values: attribute values, exact numbers, item sizes, capacity
//! arithmetic, and the text of keys.
//!
//! # Terms
//!
//! - A [`Value`] is one attribute value, an [`Item`] is the attributes of one row by name.
//! - A [`Path`] is where a value stands in an item.
//! - A [`Number`] is DynamoDB's exact decimal of 38 significant digits. Nothing here is ever a binary float.
//! - A *key template* ([`key::Template`]) is the text of one key attribute: literal text and variables, such as
//!   `STATUS#{status}#{task_id}`. A variable has a *domain* (which values it may take) and a *form* (how a value
//!   stands in the text).
//! - Two templates *collide* if some values make their keys equal. [`key::collision`] decides it over the whole of both
//!   domains, and shows the values.
//! - *Units* are what DynamoDB charges: [`ReadUnits`] of 4 KB, counted in halves, and [`WriteUnits`] of 1 KB.
//!
//! # What it is not
//!
//! It does no I/O, knows neither a model file nor a store, and holds no prices. It does not evaluate expressions. It
//! depends on no other crate of Singlet, and every other crate may depend on it.

pub mod capacity;
pub mod key;
pub mod limits;
mod number;
mod path;
mod size;
mod value;

pub use capacity::{ReadUnits, WriteUnits};
pub use number::{Number, NumberError};
pub use path::{Path, Paths, Segment, first_bytes};
pub use size::item_size_bytes;
pub use value::{Item, Value};
