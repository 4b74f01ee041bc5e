//! A model proposed for a table that exists.
//!
//! [`sample_table`] reads pages of many segments of a table, [`read_workbench`] a data model of NoSQL Workbench. [`propose`] tells kinds of items
//! apart, finds types and key templates for each, writes a model, and then holds every item against it.
//!
//! **Invariant: what is claimed encodes back.** An item counts as an entity's only if the model, as it is loaded from the text that is proposed,
//! makes the same item again of what it reads from it. Everything else is listed.
//!
//! **Invariant: no value of a row is in the model.** Only words that label keys, and members of enums, which are short, few and often repeated.
//!
//! # Terms
//!
//! - A *kind* is items that are taken for rows of one entity: they say so by an attribute, or their keys are alike.
//! - A *drafted* entity is one before it was held against items. One that fails is drafted again with less in it.

mod attributes;
mod claims;
mod draft;
mod kinds;
mod model_text;
mod part_forms;
mod proposal;
mod sample;
mod templates;
mod workbench;

pub use claims::NotClaimed;
pub use proposal::{Proposal, ProposedEntity, propose_model};
pub use sample::{Sample, SampleOptions, sample_table};
pub use workbench::{WorkbenchError, WorkbenchTable, read_workbench};
