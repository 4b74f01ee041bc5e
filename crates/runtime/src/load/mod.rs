//! Rows from a file into the table, by the rules by which a create makes them.
//!
//! A line of the file is `{"Entity": {…}}`. What a create fills in is filled in ([`fill`]); what a create refuses is refused,
//! with the line and the attribute. The file is read several times and never held: first everything that it shows by itself is
//! looked at, keys and unique values included ([`survey`]), and nothing is written unless all of it is right. Then each row is
//! written by itself under the conditions of a create ([`send`]), so that what only the table shows stops the loading at its line
//! and overwrites nothing. A row that is there already, with every value that its line states, is passed over: loading again
//! is safe.

mod as_is;
mod dump;
mod fill;
mod image;
mod kept;
mod lines;
mod misfit;
mod put;
mod send;
mod source;
mod survey;
mod write_rows;

use std::sync::Arc;

use singlet_item::Item;
use singlet_model::Model;
use singlet_model::model::Entity;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::row;
use crate::scope::{Attributes, Caller, Scope};
use crate::write::guards_of_row;

pub use dump::{Dumped, dump_rows, entity_of_item, is_known, is_of_singlet, row_line};
pub use kept::{KeptItem, KeptKind, kept_items, oversize_of};
pub use lines::{LINE_BYTES_MAX, RowSource, TextRows};
pub use misfit::{LoadError, Misfit, MisfitKind};
pub use put::put_all;
pub use send::BY;

pub(crate) use fill::GivenRow;
pub(crate) use kept::{GivenItem, GivenKind, excluded_rows, kept_beside, key_values, place_of};
pub(crate) use source::source_now;

/// The bounds of a loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadBounds {
    /// Keys and unique values that are compared with one another in one reading of the file, 8 bytes each. A file with more is
    /// read more often, not held.
    pub claims_max: usize,
    /// Rows on their way to the store at the same time.
    pub rows_at_once_max: usize,
    /// How many misfits are shown.
    pub misfits_max: usize,
}

impl Default for LoadBounds {
    fn default() -> Self {
        LoadBounds {
            claims_max: 16 * 1024 * 1024,
            rows_at_once_max: 32,
            misfits_max: 20,
        }
    }
}

/// How rows are loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The instant from which relative times count, and that fills in `now`; epoch milliseconds.
    pub now: i64,
    /// Takes rows of another program as they are: nothing is filled in, and what does not fit is counted, not refused.
    pub as_is: bool,
    /// The bounds.
    pub bounds: LoadBounds,
}

impl LoadOptions {
    /// Loads as a create would make rows at this instant.
    pub fn at(now: i64) -> Self {
        LoadOptions {
            now,
            as_is: false,
            bounds: LoadBounds::default(),
        }
    }
}

/// What was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedRows {
    /// Rows that were written.
    pub rows: u64,
    /// Items that they became: mirrors and guards count.
    pub items: u64,
    /// Rows that were there already.
    pub there: u64,
    /// Rows of another program that could not be taken at all: they have no key, or it is taken.
    pub left_out: u64,
    /// With [`LoadOptions::as_is`], what does not fit: how often, and the first lines.
    pub misfits: Vec<misfit::CountedMistake>,
}

/// How far a loading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Whether rows are being written; before, the file is looked at.
    pub writing: bool,
    /// Bytes of the file that this reading has passed.
    pub bytes: u64,
    /// Rows that are in the table by now.
    pub rows: u64,
}

/// Loads rows into an engine's table.
///
/// # Errors
///
/// What is wrong with lines of the file, before anything is written; the line at which the table refused a row; or the file or
/// the store fails.
pub async fn load_rows(
    engine: &Engine,
    rows: &dyn RowSource,
    options: &LoadOptions,
    progress: &mut (dyn FnMut(LoadProgress) + Send),
) -> Result<LoadedRows, LoadError> {
    engine.learn_guard_form().await?;
    if options.as_is {
        return as_is::load_as_is(engine, rows, options, progress).await;
    }
    survey::survey_rows(engine, rows, options, progress)?;
    write_rows::write_rows(engine, rows, options, progress).await
}

/// Loads rows that are at hand as text.
///
/// # Errors
///
/// As [`load_rows`].
pub async fn load_text(engine: &Engine, text: &str, now: i64) -> Result<LoadedRows, LoadError> {
    load_rows(engine, &TextRows(text), &LoadOptions::at(now), &mut |_| {}).await
}

/// The items of one line, filled in as a create fills them in; what another row says is not looked at.
///
/// # Errors
///
/// What is wrong with the line.
pub fn line_items(model: &Model, line: &str, scope: Scope<'_>) -> Result<Vec<Item>, RuntimeError> {
    let given = fill::given_row(model, line, scope).map_err(|misfits| misfit::first_as_error(&misfits))?;
    items_of_row(model, given.entity, &given.row, scope)
}

/// Every item that a row is kept as: its own, its mirrors' and its guards'.
///
/// # Errors
///
/// Where the row has no key, or an expression leaves the range of its type.
pub fn items_of_row(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<Item>, RuntimeError> {
    let mut items = row::encode_with_mirrors(model, entity, row, scope)?;
    items.extend(
        guards_of_row(model, entity, row, scope)?
            .into_iter()
            .map(|(_, item)| item),
    );
    Ok(items)
}

/// The names of a loading: nobody calls, and nothing was sent.
struct LoadScope {
    nothing: Attributes,
    nobody: Caller,
}

impl LoadScope {
    fn new() -> Self {
        LoadScope {
            nothing: Attributes::new(),
            nobody: Caller::anonymous(),
        }
    }

    fn scope<'s>(&'s self, engine: &'s Engine, now: i64) -> Scope<'s> {
        Scope {
            setting: engine.setting(),
            now,
            args: &self.nothing,
            caller: &self.nobody,
            attributes: None,
            row: None,
            bound: &self.nothing,
        }
    }
}

/// What a loading works on.
#[derive(Clone, Copy)]
struct Loading<'a> {
    engine: &'a Engine,
    scope: Scope<'a>,
    options: &'a LoadOptions,
}

impl<'a> Loading<'a> {
    fn model(&self) -> &'a Model {
        self.engine.model()
    }

    fn store(&self) -> &'a Arc<dyn singlet_store::Store> {
        self.engine.store()
    }
}
