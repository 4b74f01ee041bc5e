//! Copies that follow through the change stream, compared with what their sources are.

use singlet_item::{Item, Value};
use singlet_model::model::{Entity, Kept, TriggerEvent};

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::load::source_now;
use crate::scope::{Attributes, Caller, Scope};
use crate::write::{ChangedRow, TriggerOutcome, TriggerRun};

/// A copy that is not what its source is.
#[derive(Clone, Debug, PartialEq)]
pub struct StaleCopy {
    /// The write that has it follow.
    pub write: String,
    /// The source, as it is.
    pub source: Attributes,
    /// The attribute of the source.
    pub attribute: String,
}

impl Engine {
    /// The copies of a row that follow through the stream, and are not what their sources are. One whose source is gone stays as it is.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn stale_copies(
        &self,
        entity: &Entity,
        row: &Attributes,
        now: i64,
    ) -> Result<Vec<StaleCopy>, RuntimeError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: self.setting(),
            now,
            args: &nothing,
            caller: &nobody,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let mut stale = Vec::new();
        for attribute in &entity.attributes {
            let copy = attribute.copy.as_ref().filter(|copy| copy.kept == Kept::Stream);
            let Some(copy) = copy else { continue };
            let Some(source) = source_now(self, copy, row, scope).await? else {
                // Nothing to compare with: a copy outlives its source.
                continue;
            };
            if row.get(&attribute.name) != source.get(&copy.attribute) {
                stale.push(StaleCopy {
                    write: format!("{}.{}", entity.name, attribute.name),
                    source,
                    attribute: copy.attribute.clone(),
                });
            }
        }
        Ok(stale)
    }

    /// Has all copies of a source follow that a write has follow, by what the source is now; nothing, where it is gone. The id tells one time
    /// from another.
    ///
    /// # Errors
    ///
    /// As after a change.
    pub async fn look_again(
        &self,
        write: &str,
        source_key: &Item,
        id: &str,
        now: i64,
    ) -> Result<TriggerOutcome, RuntimeError> {
        let model = self.model().as_ref();
        let trigger = model.triggered_writes().find(|(known, _)| known.name == write);
        let Some((_, trigger)) = trigger else {
            return Ok(TriggerOutcome::NotMeant);
        };
        let (TriggerEvent::Update(Some(attribute)), Some(entity)) = (&trigger.event, model.entity(trigger.entity))
        else {
            return Ok(TriggerOutcome::NotMeant);
        };
        let Some(source) = self.row_at(entity, source_key, now).await? else {
            return Ok(TriggerOutcome::NotMeant);
        };
        let stale = StaleCopy {
            write: write.to_owned(),
            source,
            attribute: attribute.clone(),
        };
        self.run_for_copies(&stale, id, None, now).await
    }

    /// Has all copies of a source follow, as if it had changed. The id tells one time from another, and marks what is changed: nothing runs
    /// after that.
    ///
    /// # Errors
    ///
    /// As after a change.
    pub async fn mend_copies(&self, stale: &StaleCopy, id: &str, now: i64) -> Result<TriggerOutcome, RuntimeError> {
        self.run_for_copies(stale, id, Some(id), now).await
    }

    async fn run_for_copies(
        &self,
        stale: &StaleCopy,
        id: &str,
        mark: Option<&str>,
        now: i64,
    ) -> Result<TriggerOutcome, RuntimeError> {
        let mut before = stale.source.clone();
        // Any value but the one that it has: then the attribute counts as changed, for which the write runs.
        if before.remove(&stale.attribute).is_none() {
            before.insert(stale.attribute.clone(), Value::Null);
        }
        let change = ChangedRow {
            id: id.to_owned(),
            row: stale.source.clone(),
            before: Some(before),
        };
        let run = TriggerRun {
            write: &stale.write,
            change: &change,
            now,
            parked: None,
        };
        self.run_marked(run, mark).await
    }
}
