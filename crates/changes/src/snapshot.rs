//! Every row as it is, while others write.
//!
//! A scan sees some rows before a change and some after it. Whoever first takes a position, then scans, and then reads on from the
//! position is told every change that the scan may have seen or missed: what is told last of a row is what it is.

use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_runtime::{Attributes, row};
use singlet_store::Result;
use singlet_values::json_text;

use crate::decode::{ChangeDecoder, Unfit, fitting_row};
use crate::source::{ChangeSource, ScanItems};
use crate::versions::is_current_version;

/// How many items are scanned at once.
const SCAN_ITEMS: u32 = 500;

/// Reads every row of a model's table.
pub struct SnapshotReader {
    decoder: ChangeDecoder,
    source: Arc<dyn ChangeSource>,
    start: Option<Item>,
    page_items: u32,
    is_done: bool,
}

/// A row as it is.
#[derive(Clone, Debug, PartialEq)]
pub enum SnapshotRow {
    /// A row of an entity.
    Row {
        /// The entity's name.
        entity: String,
        /// What identifies the row.
        key: Attributes,
        /// The row.
        row: Attributes,
    },
    /// An item of an entity that is not as the model has it.
    Misfit {
        /// The entity's name.
        entity: String,
        /// What does not fit.
        reason: String,
        /// The item.
        item: Item,
    },
}

impl SnapshotRow {
    /// The entity's name.
    pub fn entity(&self) -> &str {
        match self {
            SnapshotRow::Row { entity, .. } | SnapshotRow::Misfit { entity, .. } => entity,
        }
    }

    /// As one JSON object: a change of the kind `snapshot` without `id` and `at`, or a misfit.
    pub fn to_json(&self) -> String {
        let word = |text: &str| Value::S(text.to_owned());
        let fields = match self {
            SnapshotRow::Row { entity, key, row } => vec![
                ("entity", word(entity)),
                ("kind", word("snapshot")),
                ("key", Value::M(key.clone())),
                ("after", Value::M(row.clone())),
            ],
            SnapshotRow::Misfit { entity, reason, item } => vec![
                ("entity", word(entity)),
                ("misfit", word(reason)),
                ("new", Value::M(item.clone())),
            ],
        };
        let mut out = Vec::new();
        json_text::write_object(&mut out, fields.iter().map(|(name, value)| (*name, value)));
        String::from_utf8(out).unwrap_or_default()
    }
}

impl SnapshotReader {
    /// Of a model's table.
    pub fn new(model: Arc<Model>, source: Arc<dyn ChangeSource>) -> Self {
        SnapshotReader {
            decoder: ChangeDecoder::new(model),
            source,
            start: None,
            page_items: SCAN_ITEMS,
            is_done: false,
        }
    }

    /// The same with other pages; at least one item.
    #[must_use]
    pub fn with_page_items(mut self, items: u32) -> Self {
        self.page_items = items.max(1);
        self
    }

    /// Some more rows; nothing at the end. Rows that have expired and versions that are past are none.
    ///
    /// # Errors
    ///
    /// Where the source fails; the same rows are then read again.
    pub async fn next_page(&mut self, now_millis: i64) -> Result<Option<Vec<SnapshotRow>>> {
        if self.is_done {
            return Ok(None);
        }
        let request = ScanItems {
            table: self.decoder.model().table.name.clone(),
            start: self.start.clone(),
            limit: self.page_items,
        };
        let page = self.source.scan_items(&request).await?;
        let rows = page.items.into_iter();
        let rows = rows.filter_map(|item| self.row_of(item, now_millis)).collect();
        // Only a page without a last key is the end of the table.
        self.is_done = page.last_key.is_none();
        self.start = page.last_key;
        Ok(Some(rows))
    }

    fn row_of(&self, item: Item, now_millis: i64) -> Option<SnapshotRow> {
        let entity = self.decoder.entity_of(&item)?;
        // A row whose time has come is not there, whether or not the store has removed it.
        if row::has_expired(self.decoder.model(), &item, now_millis) {
            return None;
        }
        match fitting_row(entity, &item) {
            Ok(row) => {
                let is_current = |history| is_current_version(history, &row);
                entity
                    .history
                    .as_ref()
                    .is_none_or(is_current)
                    .then(|| SnapshotRow::Row {
                        entity: entity.name.clone(),
                        key: self.decoder.row_identity(entity, &row),
                        row,
                    })
            }
            Err(Unfit(reason)) => Some(SnapshotRow::Misfit {
                entity: entity.name.clone(),
                reason,
                item,
            }),
        }
    }
}
