//! Runs the plans of a model on a store.
//!
//! A [`Engine`] is a model opened on a store. A read goes through its plan: expressions become keys ([`keys`]), what the key does
//! not settle becomes a filter ([`lower`]), ranges are read side by side and merged in order ([`find`]), pages are filled, and a
//! sealed [`cursor`] says where the next one begins. Every answer says what it consumed.
//!
//! # Terms
//!
//! - A *range* is part of one item collection; a read may fan out to several.
//! - A *residue* is what DynamoDB cannot decide and the process checks on the row.
//!
//! It knows neither HTTP nor a terminal, and no engine: only the [`singlet_store::Store`] trait.

mod admit;
mod audit;
mod budget;
mod by_key;
mod claims;
mod control;
pub mod copies;
mod cursor;
mod digest;
mod engine;
mod error;
pub mod find;
mod guard_form;
mod keyed;
pub mod keys;
pub mod load;
pub mod lower;
mod open;
mod random;
mod range_rows;
mod read_on;
mod retry;
pub mod row;
mod scope;
mod searched;
pub mod table;
mod tallies;
pub mod typed;
mod write;

pub use audit::{
    AuditDepth, Auditor, Finding, FindingGroup, FindingKind, ItemChange, JudgedItem, MendPlan, PageAudit, RowAudit,
    audit_rows,
};
pub use budget::{Memory, Turns};
pub use by_key::{batch_get, primary_key};
pub use claims::{UnknownClaim, claim_from_json, claim_from_text, claim_type, put_claim};
pub use control::{
    BRIDGED, HeldTable, MIGRATED, Migration, MigrationPhase, OpenError, Relocation, RelocationPhase, TableControl,
    TableOpening, TableProcess, TableState, TableUse,
};
pub use copies::StaleCopy;
pub use engine::{Answer, Engine, Preview, Previewed, Request, Watched, WatchedRows, range_text, unwatchable};
pub use error::{NOT_IN_BOTH_MODELS, RuntimeError};
pub use open::{Deployment, Unsound};
pub use retry::retried_past_conflicts;
pub use scope::{Attributes, Caller, Scope, Setting};
pub use searched::{
    SearchHits, SearchIndex, SearchPlace, SearchProblem, SearchRequest, SearchedCircle, search_key, search_term,
};
pub use tallies::{
    GroupValues, TallyFigures, TallyHead, figure_values, group_of_row, group_prefix, group_row, tally_head,
};
pub use typed::{TypedCall, TypedPage};
pub use write::{
    ChangedRow, Deadline, GUARD_OWNER, Precondition, Refused, TickRun, TriggerOutcome, TriggerRun, WriteRequest,
    Written, change_record_put, keep_row_until, kept_row, key_in,
};

// What a program needs of other crates to embed an engine.
pub use singlet_item::{Item, Number, Value};
pub use singlet_model::Source;
pub use singlet_plan::Bounds;
pub use singlet_store::Store;
pub use singlet_values as values;
