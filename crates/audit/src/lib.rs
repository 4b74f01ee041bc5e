//! Whether what lies in a table is what its model says, and what of it can be mended for certain.
//!
//! [`audit_table`] scans a table in segments side by side, at a rate, from where an earlier scan stopped; what it knows of rows
//! is [`singlet_runtime::Auditor`]. It holds counts and a few examples, never the table: what concerns two items is asked for by
//! key, and read again together before it is reported.
//!
//! # Terms
//!
//! - A *finding* is an item that is not as the model has it: *damage*, or a *note*, which is only worth knowing.
//! - A *mend* puts right what follows from what is there: it needs no decision.
//!
//! It reads no file, and knows no terminal: who calls keeps progress and old images ([`AuditKeeper`]).

mod estimate;
mod pacer;
mod progress;
mod report;
mod run;

pub use estimate::{AuditEstimate, estimate_audit};
pub use pacer::Pacer;
pub use progress::AuditProgress;
pub use report::{AuditReport, CountedFinding, Example, MendCount};
pub use run::{AuditError, AuditKeeper, AuditOptions, KeepNothing, RepairMode, audit_table};
