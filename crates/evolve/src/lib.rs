//! What a change of a model means before it is made: for the rows that are stored, for clients, and for the bill.
//!
//! # Terms
//!
//! - A [`RowChange`] is one difference in what is stored. Its [`DataClass`] says what must be done to rows that are there, its
//!   [`Way`] how the change can be made, and its promise what stored rows may break.
//! - A [`ContractChange`] is one difference that a client, a follower or a reader of a lake may notice.
//! - The [`MigrationCost`] is what it takes to change the rows, by the estimates of the model.
//!
//! Encoders are compared, not text: what counts is the [`Face`](singlet_face::Face) of each model. Where something is not certain, the more careful
//! way is said.
//!
//! # What it offers
//!
//! [`compare_models`] for two models, [`compare_with_table`] for what a table knows of the models that wrote its rows,
//! [`compare_contracts`] for two OpenAPI documents, [`migration_cost`]; and [`diff_text`], [`diff_markdown`], [`diff_json`] to show it all.
//!
//! # What it is not
//!
//! No I/O, and nothing of a row is changed here.

mod contract;
mod doubled;
mod follow;
mod hindrances;
mod hints;
mod json;
mod keys;
mod markdown;
mod migration;
mod names;
mod places;
mod rows;
mod schema;
mod shown;
mod structure;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use singlet_face::Face;
use singlet_item::Value;
use singlet_model::{Model, Span};

pub use contract::{ContractChange, compare_contracts};
pub use follow::compare_followers;
pub use hindrances::{STREAM_HINDRANCE, bridge_hindrances};
pub use json::diff_json;
pub use markdown::diff_markdown;
pub use migration::{EntityWork, MigrationCost, RATE_UNITS_USUAL, migration_cost};
pub use shown::{Deny, FileNames, WholeDiff};
pub use text::diff_text;

/// What must be done to rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DataClass {
    /// Nothing.
    Nothing,
    /// They get values that they lack, or guards and mirrors beside them.
    Fill,
    /// Their entries in an index are made, or made anew.
    Index,
    /// They come to stand under another key.
    Rekey,
    /// Values change their name, their type or their meaning.
    Reshape,
    /// Something stored belongs to no model any more.
    Drop,
}

impl DataClass {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            DataClass::Nothing => "nothing",
            DataClass::Fill => "fill",
            DataClass::Index => "index",
            DataClass::Rekey => "rekey",
            DataClass::Reshape => "reshape",
            DataClass::Drop => "drop",
        }
    }
}

/// How a change can be made. The later is the more careful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Old and new run side by side on the rows as they are.
    Free,
    /// Old and new run side by side while rows are made ready for both.
    Bridge,
    /// Writes stop while rows are changed, and the old model runs no more.
    Still,
    /// The rows go into another table.
    NewTable,
}

impl Way {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Way::Free => "free",
            Way::Bridge => "bridge",
            Way::Still => "still",
            Way::NewTable => "new table",
        }
    }
}

/// One difference in what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The entity, by the name that the new model has for it; none for the table.
    pub entity: Option<String>,
    /// Of what: ``attribute `due` ``, `the key`.
    pub part: String,
    /// What the old model has there.
    pub was: String,
    /// What the new one has.
    pub is: String,
    /// What comes of it.
    pub so: String,
    /// What must be done to rows.
    pub data: DataClass,
    /// How.
    pub way: Way,
    /// What stored rows may break: to be looked for first.
    pub promise: Option<String>,
    /// What the model must say before the change can be made at all.
    pub lacks: Option<String>,
    /// What would make it easier.
    pub help: Option<String>,
    /// Where it stands in the old file, where there is one.
    pub before: Option<Span>,
    /// Where it stands in the new file.
    pub after: Option<Span>,
}

/// The settings with which a model is deployed.
pub type Settings = BTreeMap<String, Value>;

/// What differs in what two models store.
pub fn compare_models(old: (&Model, &Settings), new: (&Model, &Settings)) -> Vec<RowChange> {
    let faces = (Face::of(old.0, old.1), Face::of(new.0, new.1));
    let mut changes = structure::table_changes(old.0, new.0);
    changes.extend(rows::row_changes(&faces.0, &faces.1, Some(old.0), new.0));
    changes.extend(structure::promise_changes(old.0, new.0));
    finish(changes, Some(old.0), new.0)
}

/// What differs between what a model that wrote rows of a table stored and what a model stores. The table knows how rows are stored,
/// not the model's text, so that nothing is said of its reads, writes and routes.
pub fn compare_with_table(wrote: &Face, new: &Model, settings: &Settings) -> Vec<RowChange> {
    let mut face = Face::of(new, settings);
    // How guards are hashed is the table's own business, and no model's.
    face.encoders = wrote.encoders;
    face.guards.clone_from(&wrote.guards);
    finish(rows::row_changes(wrote, &face, None, new), None, new)
}

fn finish(mut changes: Vec<RowChange>, old: Option<&Model>, new: &Model) -> Vec<RowChange> {
    hints::add_rename_hints(&mut changes, old, new);
    doubled::forbid_large_twins(&mut changes, old, new);
    for change in &mut changes {
        places::locate_change(change, old, new);
    }
    changes.sort_by(|one, other| {
        let order = |change: &RowChange| {
            (
                std::cmp::Reverse(change.way),
                change.entity.clone(),
                change.part.clone(),
            )
        };
        order(one).cmp(&order(other))
    });
    changes.dedup();
    changes
}

/// The way of the whole: that of its most careful part.
pub fn whole_way(changes: &[RowChange]) -> Way {
    changes.iter().map(|change| change.way).max().unwrap_or(Way::Free)
}
