//! Rows with versions: a new version is the change, and the version before it still lies in the table.
//!
//! A version is closed in the transaction that writes the next one, with the next one's instant. So a closed version that another
//! begins with is no change by itself, and one that none begins with was the last: its row was deleted. One that is written closed, as `load`
//! writes the past, never was what its row is.

use singlet_item::{Item, Value};
use singlet_model::evaluate::time;
use singlet_model::model::{Entity, History};
use singlet_runtime::Attributes;
use singlet_store::{Result, StreamEvent, StreamRecord};

use crate::change::{Change, ChangeId, ChangeKind};
use crate::decode::{ChangeDecoder, Unfit, fitting_row, is_of_bridge, made_by};
use crate::source::{Beside, ChangeSource};

/// How many items are read at once in search of a version.
const BESIDE_ITEMS: u32 = 32;

/// How often it is read on for a version, to each side.
const BESIDE_PAGES_MAX: usize = 64;

/// On which side of an instant a version begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Earlier,
    Later,
}

type Told = std::result::Result<Vec<Change>, Unfit>;

/// What a record of a version means.
pub(crate) async fn decode_version(
    decoder: &ChangeDecoder,
    source: &dyn ChangeSource,
    of: (&Entity, &History),
    record: &StreamRecord,
) -> Result<Told> {
    let (entity, _) = of;
    let row = |item: &Option<Item>| item.as_ref().map(|item| fitting_row(entity, item)).transpose();
    let (before, after) = match (row(&record.old), row(&record.new)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(unfit), _) | (_, Err(unfit)) => return Ok(Err(unfit)),
    };
    let search = Search {
        decoder,
        source,
        of,
        record,
    };
    match (record.event, before, after) {
        (StreamEvent::Insert, _, Some(after)) => search.begun(after).await,
        (StreamEvent::Modify, Some(before), Some(after)) => search.closed(before, after).await,
        (StreamEvent::Remove, Some(before), _) => Ok(Ok(search.removed(before))),
        _ => Ok(Err(Unfit(
            "versions are told from both images, and the stream does not carry them".to_owned(),
        ))),
    }
}

/// One version, and where its neighbours are looked for.
struct Search<'a> {
    decoder: &'a ChangeDecoder,
    source: &'a dyn ChangeSource,
    of: (&'a Entity, &'a History),
    record: &'a StreamRecord,
}

impl Search<'_> {
    /// A version was written.
    async fn begun(&self, after: Attributes) -> Result<Told> {
        let (_, history) = self.of;
        // Written closed, as the past is loaded: it never was what its row is.
        if after.contains_key(&history.until) {
            return Ok(Ok(Vec::new()));
        }
        let before = match self.neighbour(&after, Side::Earlier).await? {
            Ok(found) => found,
            Err(unfit) => return Ok(Err(unfit)),
        };
        // One that was closed earlier, or says that the row was deleted, is not what the row was.
        let mut before = before
            // Closed by this very version: one that was closed earlier was the end of another life of the row.
            .filter(|before| before.get(&history.until) == after.get(&history.at) && !is_tombstone(history, before));
        if let Some(before) = &mut before {
            before.remove(&history.until);
        }
        Ok(Ok(match (is_tombstone(history, &after), before) {
            (true, before) => vec![self.change(ChangeKind::Deleted, before, None, &after)],
            (false, Some(before)) => {
                vec![self.change(ChangeKind::Updated, Some(before), Some(after.clone()), &after)]
            }
            (false, None) => vec![self.change(ChangeKind::Created, None, Some(after.clone()), &after)],
        }))
    }

    /// A version became another: mostly it was closed.
    async fn closed(&self, before: Attributes, after: Attributes) -> Result<Told> {
        let (_, history) = self.of;
        let is_current = |row: &Attributes| is_current_version(history, row);
        Ok(Ok(match (is_current(&before), is_current(&after)) {
            (true, true) if before == after && is_of_bridge(self.record) => Vec::new(),
            (true, true) => vec![self.change(ChangeKind::Updated, Some(before), Some(after.clone()), &after)],
            (true, false) => {
                let next = match self.neighbour(&after, Side::Later).await? {
                    Ok(next) => next,
                    Err(unfit) => return Ok(Err(unfit)),
                };
                // The version that closed it begins at the same instant; without one the row was deleted.
                match next.is_some_and(|next| next.get(&history.at) == after.get(&history.until)) {
                    true => Vec::new(),
                    false => vec![self.change(ChangeKind::Deleted, Some(before), None, &after)],
                }
            }
            // What once was changes nothing of what is.
            (false, _) => Vec::new(),
        }))
    }

    /// A version was removed: only the current one is a row.
    fn removed(&self, before: Attributes) -> Vec<Change> {
        let (_, history) = self.of;
        match is_current_version(history, &before) {
            false => Vec::new(),
            true => {
                let kind = self.decoder.kind_of_end(self.record);
                vec![self.change(kind, Some(before.clone()), None, &before)]
            }
        }
    }

    fn change(
        &self,
        kind: ChangeKind,
        before: Option<Attributes>,
        after: Option<Attributes>,
        any: &Attributes,
    ) -> Change {
        let (entity, _) = self.of;
        Change {
            id: ChangeId::of_record(&self.record.sequence, &self.record.key),
            entity: entity.name.clone(),
            kind,
            key: self.decoder.row_identity(entity, any),
            before,
            after,
            at_seconds: self.record.at_seconds,
            by: made_by(self.record),
        }
    }

    /// The version next to one, on the side that is asked for. Versions of a row lie in the order of their instants, ascending or
    /// descending, with rows of others between them: so the first on either side is the next one, or there is none there.
    async fn neighbour(
        &self,
        version: &Attributes,
        side: Side,
    ) -> Result<std::result::Result<Option<Attributes>, Unfit>> {
        // Both directions: a key may hold the instant descending.
        for after in [side == Side::Later, side == Side::Earlier] {
            match self.first_version(version, after).await? {
                Ok(Some(found)) if self.side_of(&found, version) == Some(side) => return Ok(Ok(Some(found))),
                Ok(_) => {}
                Err(unfit) => return Ok(Err(unfit)),
            }
        }
        Ok(Ok(None))
    }

    /// The first version of the same row in a direction.
    async fn first_version(
        &self,
        version: &Attributes,
        after: bool,
    ) -> Result<std::result::Result<Option<Attributes>, Unfit>> {
        let (entity, history) = self.of;
        let model = self.decoder.model();
        let identity = self.decoder.row_identity(entity, version);
        let mut beside = Beside {
            table: model.table.name.clone(),
            partition: model.table.key.first().map(|key| key.name.clone()).unwrap_or_default(),
            key: self.record.key.clone(),
            after,
            limit: BESIDE_ITEMS,
        };
        for _ in 0..BESIDE_PAGES_MAX {
            let page = self.source.items_beside(&beside).await?;
            for item in &page.items {
                if !self.decoder.is_row_of(entity, item) {
                    continue;
                }
                let found = match fitting_row(entity, item) {
                    Ok(found) => found,
                    Err(unfit) => return Ok(Err(unfit)),
                };
                // Other rows may lie between, in the same collection.
                if found.contains_key(&history.at) && self.decoder.row_identity(entity, &found) == identity {
                    return Ok(Ok(Some(found)));
                }
            }
            match page.last_key {
                Some(last) => beside.key = last,
                None => return Ok(Ok(None)),
            }
        }
        Ok(Err(Unfit(format!(
            "its other versions lie more than {BESIDE_PAGES_MAX} pages of {BESIDE_ITEMS} items away"
        ))))
    }

    fn side_of(&self, found: &Attributes, version: &Attributes) -> Option<Side> {
        let (entity, history) = self.of;
        let ty = &entity.attribute(&history.at)?.ty;
        let instant = |row: &Attributes| time::millis_of(row.get(&history.at)?, ty).ok()?;
        Some(match instant(found)? < instant(version)? {
            true => Side::Earlier,
            false => Side::Later,
        })
    }
}

/// Whether a version is what its row is.
pub(crate) fn is_current_version(history: &History, row: &Attributes) -> bool {
    !row.contains_key(&history.until) && !is_tombstone(history, row)
}

fn is_tombstone(history: &History, row: &Attributes) -> bool {
    let tombstone = history.tombstone.as_ref().and_then(|name| row.get(name));
    tombstone.and_then(Value::as_bool) == Some(true)
}
