//! The updates that lead from a table that exists to another design of it, in an order in which DynamoDB takes them.

use std::fmt;

use singlet_store::{IndexKind, IndexSpec, TableSpec};

use crate::TableDesign;

/// The table after one update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What changes, in a few words.
    pub what: String,
    /// The whole table after it.
    pub design: TableDesign,
}

/// What no update of a table changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewTable {
    /// The table's name.
    Name,
    /// The table's key.
    Key,
    /// The local index of this name.
    LocalIndex(String),
}

impl fmt::Display for NewTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewTable::Name => out.write_str("its name is another one"),
            NewTable::Key => out.write_str("its key is another one"),
            NewTable::LocalIndex(name) => write!(
                out,
                "local index `{name}` is not the same, and local indexes are made with their table"
            ),
        }
    }
}

impl std::error::Error for NewTable {}

/// The updates from one design to another, one index or setting each. The last leaves the table as wanted; none, where they are the
/// same.
///
/// # Errors
///
/// What only a new table can have.
pub fn steps_between(old: &TableDesign, new: &TableDesign) -> Result<Vec<Step>, NewTable> {
    refuse_new_table(&old.spec, &new.spec)?;
    let mut updates = Updates {
        design: old.clone(),
        steps: Vec::new(),
    };
    updates.remove_indexes(&new.spec);
    updates.add_indexes(&new.spec);
    updates.set_units(&new.spec);
    updates.set_stream(new);
    updates.set_expiry(&new.spec);
    if updates.design.recovery != new.recovery {
        updates.step(if new.recovery { "recovery on" } else { "recovery off" }, |design| {
            design.recovery = new.recovery;
        });
    }
    // The order of indexes is no property of a table; the last template is that of the model alone.
    if let Some(last) = updates.steps.last_mut() {
        last.design = new.clone();
    }
    Ok(updates.steps)
}

fn refuse_new_table(old: &TableSpec, new: &TableSpec) -> Result<(), NewTable> {
    if old.name != new.name {
        return Err(NewTable::Name);
    }
    if old.key != new.key {
        return Err(NewTable::Key);
    }
    let local = |spec: &TableSpec, index: &IndexSpec| {
        let is_same = |known: &IndexSpec| known.kind == IndexKind::Local && is_same_index(known, index);
        spec.indexes.iter().any(is_same)
    };
    let is_local = |index: &&IndexSpec| index.kind == IndexKind::Local;
    let of_old = old.indexes.iter().filter(is_local).find(|index| !local(new, index));
    let of_new = new.indexes.iter().filter(is_local).find(|index| !local(old, index));
    match of_old.or(of_new) {
        Some(index) => Err(NewTable::LocalIndex(index.name.clone())),
        None => Ok(()),
    }
}

/// Whether an index can stay as it is; its units may change.
fn is_same_index(one: &IndexSpec, other: &IndexSpec) -> bool {
    one.name == other.name && one.kind == other.kind && one.key == other.key && one.projection == other.projection
}

struct Updates {
    design: TableDesign,
    steps: Vec<Step>,
}

impl Updates {
    fn step(&mut self, what: impl Into<String>, change: impl FnOnce(&mut TableDesign)) {
        change(&mut self.design);
        self.steps.push(Step {
            what: what.into(),
            design: self.design.clone(),
        });
    }

    /// One of another key or projection goes too, and is made anew under its name.
    fn remove_indexes(&mut self, new: &TableSpec) {
        let stays = |index: &IndexSpec| new.indexes.iter().any(|wanted| is_same_index(index, wanted));
        let indexes = self.design.spec.indexes.iter();
        let gone: Vec<String> = indexes
            .filter(|index| !stays(index))
            .map(|index| index.name.clone())
            .collect();
        for name in gone {
            self.step(format!("remove {name}"), |design| {
                design.spec.indexes.retain(|index| index.name != name);
            });
        }
    }

    fn add_indexes(&mut self, new: &TableSpec) {
        for index in &new.indexes {
            if !self.design.spec.indexes.iter().any(|known| is_same_index(known, index)) {
                self.step(format!("add {}", index.name), |design| {
                    design.spec.indexes.push(index.clone())
                });
            }
        }
    }

    fn set_units(&mut self, new: &TableSpec) {
        let mut units = self.design.spec.clone();
        units.billing = new.billing;
        for index in &mut units.indexes {
            let wanted = new.indexes.iter().find(|wanted| wanted.name == index.name);
            index.units = wanted.and_then(|wanted| wanted.units);
        }
        if units != self.design.spec {
            self.step("units", |design| design.spec = units);
        }
    }

    /// A stream that carries something else is another stream: the one of before ends first.
    fn set_stream(&mut self, new: &TableDesign) {
        let (was, is) = (self.design.spec.stream, new.spec.stream);
        if was != is {
            if was.is_some() {
                self.step("stream off", |design| design.spec.stream = None);
            }
            if is.is_some() {
                self.step("stream on", |design| design.spec.stream = is);
            }
        }
        if self.design.stream_readers != new.stream_readers {
            self.step("readers", |design| design.stream_readers = new.stream_readers.clone());
        }
    }

    /// DynamoDB takes no other attribute while one is set.
    fn set_expiry(&mut self, new: &TableSpec) {
        if self.design.spec.ttl == new.ttl {
            return;
        }
        if self.design.spec.ttl.is_some() {
            self.step("expiry off", |design| design.spec.ttl = None);
        }
        if new.ttl.is_some() {
            self.step("expiry on", |design| design.spec.ttl.clone_from(&new.ttl));
        }
    }
}
