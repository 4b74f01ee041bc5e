//! What is done to the table itself: indexes, expiry, stream.
//!
//! What changes rows must not meet goes before them: an index whose key means something else refuses them, and expiry by an
//! attribute that is no expiry any more would remove them. What is new comes last: an index is then built once, of rows as they stay.

use std::time::Duration;

use singlet_item::limits::GLOBAL_INDEXES_MAX;
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, Store, StoreError, TableChange, TableSpec, TableStatus,
};

use crate::error::MigrateError;
use crate::migrator::Working;

/// How often a table is looked at while it changes.
const TABLE_WAIT: Duration = Duration::from_millis(500);

/// How often a step is tried while others change the table.
const STEP_TRIES_MAX: usize = 40;

/// One change of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableStep {
    Change(TableChange),
    Ttl(Option<String>),
}

impl TableStep {
    pub fn words(&self) -> String {
        match self {
            TableStep::Change(TableChange::AddIndex(index)) => format!("make index `{}`", index.name),
            TableStep::Change(TableChange::RemoveIndex(name)) => format!("remove index `{name}`"),
            TableStep::Change(TableChange::Stream(Some(view))) => {
                format!("have the stream carry {}", format!("{view:?}").to_lowercase())
            }
            TableStep::Change(TableChange::Stream(None)) => "end the stream".to_owned(),
            TableStep::Change(TableChange::Billing(Billing::OnDemand)) => "pay by request".to_owned(),
            TableStep::Change(TableChange::Billing(Billing::Provisioned {
                read_units,
                write_units,
            })) => format!("provision {read_units} read and {write_units} write units a second"),
            TableStep::Change(TableChange::IndexUnits(index, units)) => format!(
                "provision {} read and {} write units a second for index `{index}`",
                units.read_units, units.write_units
            ),
            TableStep::Change(TableChange::Recovery(true)) => "turn on point-in-time recovery".to_owned(),
            TableStep::Change(TableChange::Recovery(false)) => "turn off point-in-time recovery".to_owned(),
            TableStep::Ttl(Some(name)) => format!("expire items by `{name}`"),
            TableStep::Ttl(None) => "expire no items".to_owned(),
        }
    }
}

impl TableStep {
    /// Does it once nothing else is under way, and waits until it is done.
    ///
    /// Another process may do the same at this moment, and the store refuses one of the two; and a store waits for a while only, where an
    /// index of many rows takes longer. So it is the table that decides whether it is done, and not what the call said.
    pub async fn take(&self, store: &dyn Store, table: &str) -> Result<(), StoreError> {
        let mut tries = 0;
        loop {
            wait_for_table(store, table).await?;
            let Err(error) = self.ask(store, table).await else {
                return Ok(());
            };
            let live = store.describe_table(table).await?;
            if self.is_taken(&live.spec) {
                return wait_for_table(store, table).await;
            }
            tries += 1;
            let is_under_way = error.is_unavailable() && live.status == TableStatus::Updating;
            if !(error.is_in_use() || is_under_way) || tries == STEP_TRIES_MAX {
                return Err(error);
            }
            tokio::time::sleep(TABLE_WAIT).await;
        }
    }

    async fn ask(&self, store: &dyn Store, table: &str) -> Result<(), StoreError> {
        match self {
            TableStep::Change(change) => store.update_table(table, change).await,
            TableStep::Ttl(ttl) => store.update_ttl(table, ttl.as_deref()).await,
        }
    }

    /// Whether a table is what it is after this.
    fn is_taken(&self, live: &TableSpec) -> bool {
        match self {
            TableStep::Change(TableChange::AddIndex(index)) => {
                let known = live.indexes.iter().find(|known| known.name == index.name);
                known.is_some_and(|known| !is_other(index, known))
            }
            // The description of a table does not have it.
            TableStep::Change(TableChange::Recovery(_)) => false,
            _ => {
                let mut after = live.clone();
                self.apply(&mut after);
                after == *live
            }
        }
    }

    /// What the table is after it.
    pub fn apply(&self, table: &mut TableSpec) {
        match self {
            TableStep::Change(TableChange::AddIndex(index)) => table.indexes.push(index.clone()),
            TableStep::Change(TableChange::RemoveIndex(name)) => table.indexes.retain(|index| index.name != *name),
            TableStep::Change(TableChange::Billing(billing)) => {
                // Units that were given to an index stay its own; one that had none is given the table's.
                let was = table.billing;
                table.indexes.iter_mut().for_each(|index| {
                    let now = if was == Billing::OnDemand {
                        *billing
                    } else {
                        index.index_billing(was)
                    };
                    index.units = IndexUnits::apart_from(*billing, now);
                });
                table.billing = *billing;
            }
            TableStep::Change(TableChange::IndexUnits(name, units)) => {
                let named = table.indexes.iter_mut().filter(|index| index.name == *name);
                named.for_each(|index| index.units = Some(*units));
            }
            TableStep::Change(TableChange::Stream(view)) => table.stream = *view,
            TableStep::Change(TableChange::Recovery(_)) => {}
            TableStep::Ttl(ttl) => table.ttl.clone_from(ttl),
        }
    }
}

/// Waits until nothing about a table is under way: an index of before may still be built.
pub(crate) async fn wait_for_table(store: &dyn Store, table: &str) -> Result<(), StoreError> {
    while store.describe_table(table).await?.status == TableStatus::Updating {
        tokio::time::sleep(TABLE_WAIT).await;
    }
    Ok(())
}

/// What keeps a table from becoming what a model needs.
pub(crate) fn table_hindrances(wanted: &TableSpec, live: &TableSpec) -> Vec<String> {
    let mut found = Vec::new();
    if wanted.key != live.key {
        found.push("the key of a table cannot be changed: the rows go into another table".to_owned());
    }
    for index in &wanted.indexes {
        let known = live.indexes.iter().find(|known| known.name == index.name);
        let is_local = index.kind == IndexKind::Local || known.is_some_and(|known| known.kind == IndexKind::Local);
        if is_local && known.is_none_or(|known| is_other(index, known)) {
            found.push(format!(
                "local index `{}` can only be made with its table: the rows go into another table",
                index.name
            ));
        }
    }
    let global = |index: &&IndexSpec| index.kind == IndexKind::Global;
    let kept = live.indexes.iter().filter(global);
    let kept = kept.filter(|known| !wanted.indexes.iter().any(|index| index.name == known.name));
    let count = kept.count() + wanted.indexes.iter().filter(global).count();
    if count > GLOBAL_INDEXES_MAX {
        found.push(format!(
            "the table would have {count} indexes, and has room for {GLOBAL_INDEXES_MAX}: remove some first"
        ));
    }
    found
}

/// What is done before rows are changed.
pub(crate) fn steps_before(wanted: &TableSpec, live: &TableSpec) -> Vec<TableStep> {
    let changed = live.indexes.iter().filter(|known| {
        let index = wanted.indexes.iter().find(|index| index.name == known.name);
        index.is_some_and(|index| is_other(index, known))
    });
    let mut steps: Vec<TableStep> = changed
        .map(|index| TableStep::Change(TableChange::RemoveIndex(index.name.clone())))
        .collect();
    if live.ttl.is_some() && live.ttl != wanted.ttl {
        steps.push(TableStep::Ttl(None));
    }
    steps
}

/// What is done once rows are as they stay. Of the indexes of a model of before, where it is given, those that are gone are removed; what
/// somebody else has made is left alone.
pub(crate) fn steps_after(wanted: &TableSpec, live: &TableSpec, dropped: Option<&TableSpec>) -> Vec<TableStep> {
    let known = |name: &str| live.indexes.iter().any(|index| index.name == name);
    let mut steps = Vec::new();
    if let Some(old) = dropped {
        let was_there = |known: &&IndexSpec| old.indexes.iter().any(|index| index.name == known.name);
        let gone = live.indexes.iter().filter(|known| known.kind == IndexKind::Global);
        let gone = gone
            .filter(was_there)
            .filter(|known| !wanted.indexes.iter().any(|index| index.name == known.name));
        steps.extend(gone.map(|index| TableStep::Change(TableChange::RemoveIndex(index.name.clone()))));
    }
    let new = wanted.indexes.iter().filter(|index| !known(&index.name));
    steps.extend(new.map(|index| TableStep::Change(TableChange::AddIndex(index.clone()))));
    if wanted.ttl.is_some() && live.ttl != wanted.ttl {
        steps.push(TableStep::Ttl(wanted.ttl.clone()));
    }
    if wanted.stream.is_some() && live.stream != wanted.stream {
        // Another view is another stream.
        if live.stream.is_some() {
            steps.push(TableStep::Change(TableChange::Stream(None)));
        }
        steps.push(TableStep::Change(TableChange::Stream(wanted.stream)));
    }
    steps
}

/// Everything that is done to the table, in order.
pub(crate) fn all_steps(wanted: &TableSpec, live: &TableSpec, dropped: Option<&TableSpec>) -> Vec<TableStep> {
    let mut steps = steps_before(wanted, live);
    // As it is after the first steps: an index that they remove has to be made again.
    let mut between = live.clone();
    steps.iter().for_each(|step| step.apply(&mut between));
    steps.extend(steps_after(wanted, &between, dropped));
    steps
}

/// Whether an index must be made anew to be as wanted. What it is paid is another matter.
pub(crate) fn is_other(wanted: &IndexSpec, live: &IndexSpec) -> bool {
    let is_same = (&wanted.key, wanted.kind) == (&live.key, live.kind);
    !is_same || carried(&wanted.projection) != carried(&live.projection)
}

/// What an index carries, in one order.
fn carried(projection: &IndexProjection) -> IndexProjection {
    match projection {
        IndexProjection::Include(names) => {
            let mut names = names.clone();
            names.sort_unstable();
            IndexProjection::Include(names)
        }
        other => other.clone(),
    }
}

impl Working<'_> {
    pub async fn live_table(&self) -> Result<TableSpec, MigrateError> {
        Ok(self.models.old.store().describe_table(self.table()).await?.spec)
    }

    /// Does some changes of the table, one after the other, each waited for.
    pub async fn change_table(&self, steps: Vec<TableStep>) -> Result<(), MigrateError> {
        let store = self.models.old.store();
        for step in steps {
            step.take(&**store, self.table()).await?;
        }
        Ok(wait_for_table(&**store, self.table()).await?)
    }
}
