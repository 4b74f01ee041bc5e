//! Two models at once on one table.
//!
//! # Terms
//!
//! - The *twin* of a row is the item that the other model has of it under another key. Where the key is the same there is one item,
//!   with the attributes of both.
//! - A row is *concerned* where the other model has it, its mirrors or its guards otherwise.
//!
//! # How it goes
//!
//! Each model has a [layer] in front of its store. Reads drop what lies in the other model's place. A write that touches a concerned
//! row is made anew with what the other model needs of it: the items are read, what becomes of them is computed whole, and all of them are
//! written in one transaction under the condition that each is as it was read. What the other model cannot hold is refused.
//!
//! | phase | old model | new model | rows |
//! |---|---|---|---|
//! | *announce* | reads past the new one | | |
//! | *expand* | writes both | | |
//! | *backfill* | writes both | | those that nobody writes get what the new model needs; then indexes are made |
//! | *verify* | writes both | | are audited as the new model will read them |
//! | *switch* | writes both | writes both | |
//! | *settle* | | writes both | |
//! | *rest* | | | (only where something follows changes) what the old model told is done |
//! | *contract* | | writes its own | lose what the old model needed |
//! | *withdraw* | writes both | | |
//! | *retreat* | writes its own | | lose what the new model needed |
//!
//! The last two are an abort, which is possible before *contract*.
//!
//! Changes are followed by the old model's processes up to *rest*, and by the new model's from *contract* on ([handover]).
//!
//! # Processes
//!
//! In a folder one process has both models ([`Bridge::open`]). Where several share a table each has one ([`TableMember`]), and one that serves
//! nothing leads them from phase to phase ([`Bridge::lead`]).
//!
//! # What it is not
//!
//! What it does not carry is said by [`bridge_hindrances`](singlet_evolve::bridge_hindrances).

mod handover;
mod hindrances;
mod layer;
mod layout;
mod pass;
mod process;
mod roll;
mod run;
mod state;
mod twins;
mod write;

pub use process::TableMember;
pub use roll::ProcessTimes;
pub use run::{Bridge, BridgeGoal, BridgePlan};
pub use state::BridgeSide;
