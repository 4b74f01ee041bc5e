//! The table of a model as other tools take it: [`cloudformation`] templates, one for each update that DynamoDB allows, [`terraform`] JSON,
//! a data model of NoSQL [`workbench`], and the [`iam`] policies of the service and of a caller.
//!
//! # Terms
//!
//! - A [`TableDesign`] is what is exported: the table as a store makes it, and what a store does not know of it.
//! - A [*step*](steps) is one update of a table that exists. DynamoDB makes or removes one index in an update.
//!
//! # What it is not
//!
//! No I/O: everything is told from the model, and comes back as JSON.

pub mod alarms;
pub mod cloudformation;
mod design;
pub mod iam;
pub mod steps;
pub mod terraform;
pub mod workbench;

pub use design::TableDesign;
