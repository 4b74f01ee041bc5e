//! Tables: made, changed and removed, each in one commit; what takes longer is left to a task.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::limits::{
    GLOBAL_INDEXES_MAX, INDEX_KEY_ATTRIBUTES_MAX, LOCAL_INDEXES_MAX, NAME_CHARS_MAX, NAME_CHARS_MIN,
    PROJECTED_ATTRIBUTES_MAX,
};
use singlet_keyspace::Draft;
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeySchema, KeyType, Result, StreamView, TableChange,
    TableDescription, TableSpec, TableStatus, TtlChange,
};

use crate::catalogue::{self, Catalogue, Index, Table};
use crate::layout::{self, Area};
use crate::stream::Moment;
use crate::tasks::{self, Task};
use crate::totals::Totals;
use crate::view::{View, from_space};
use crate::words;

pub(crate) fn create_table(catalogue: &Catalogue, draft: &mut Draft<'_>, spec: &TableSpec, now: Moment) -> Result<()> {
    check(spec)?;
    if catalogue.find_table(draft, &spec.name)?.is_some() {
        return Err(words::in_use(format!("Table already exists: {}", spec.name)));
    }
    let mut sorted = spec.clone();
    sorted.indexes.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let numbered = (1..).zip(sorted.indexes.clone());
    let indexes: Vec<Index> = numbered
        .map(|(number, index)| Index::new(number, index, spec, false))
        .collect();
    let table = Table {
        // Never used again: rows of a removed table, which go in steps, must not be those of the new one.
        number: catalogue::next_table(draft)?,
        next_index: u32::try_from(indexes.len()).unwrap_or(u32::MAX).saturating_add(1),
        indexes,
        spec: sorted,
        expiry_is_building: false,
        // From this commit on: what lies before is no change of this table.
        stream_since: draft.number(),
        created_at_seconds: now.at_seconds,
    };
    table.store(catalogue, draft)
}

/// Takes a table away. Its rows go in steps, and nobody finds them meanwhile.
pub(crate) fn delete_table(catalogue: &Catalogue, draft: &mut Draft<'_>, name: &str) -> Result<()> {
    let table = known(catalogue, draft, name)?;
    catalogue.changes_with(draft);
    draft
        .delete_row(layout::named_key(Area::Tables, name))
        .map_err(from_space)?;
    Task::RemoveTable { number: table.number }.begin(draft)
}

fn known(catalogue: &Catalogue, view: &impl View, name: &str) -> Result<Arc<Table>> {
    catalogue
        .find_table(view, name)?
        .ok_or_else(|| words::no_such_table(name))
}

pub(crate) fn describe_table(catalogue: &Catalogue, view: &impl View, name: &str) -> Result<TableDescription> {
    let table = known(catalogue, view, name)?;
    let totals = Totals::of(view, &table)?;
    let is_building = table.indexes.iter().any(|index| index.is_building);
    Ok(TableDescription {
        spec: table.spec.clone(),
        status: match is_building {
            true => TableStatus::Updating,
            false => TableStatus::Active,
        },
        item_count: totals.items,
        size_bytes: totals.bytes,
        created_at_seconds: Some(table.created_at_seconds),
    })
}

pub(crate) fn change_table(
    catalogue: &Catalogue,
    draft: &mut Draft<'_>,
    name: &str,
    change: &TableChange,
) -> Result<()> {
    let mut table = Table::clone(&*known(catalogue, draft, name)?);
    // One change at a time, since a task finds its table by number and goes on by its own place.
    tasks::check_idle(draft, &table)?;
    match change {
        TableChange::AddIndex(spec) => add_index(draft, &mut table, spec)?,
        TableChange::RemoveIndex(index) => remove_index(draft, &mut table, index)?,
        TableChange::Billing(billing) => {
            table.spec.billing = *billing;
            if *billing == Billing::OnDemand {
                table.spec.indexes.iter_mut().for_each(|index| index.units = None);
                table.indexes.iter_mut().for_each(|index| index.spec.units = None);
            }
        }
        TableChange::IndexUnits(index, units) => change_units(&mut table, index, *units)?,
        TableChange::Stream(view) => change_stream(draft, &mut table, *view)?,
        TableChange::Recovery(_) => {
            return Err(words::invalid_request(
                "There is no point-in-time recovery here: copy the folder with `singlet backup`",
            ));
        }
    }
    table.store(catalogue, draft)
}

/// Only a global index of a provisioned table has units of its own.
fn change_units(table: &mut Table, name: &str, units: IndexUnits) -> Result<()> {
    let wanted = Billing::Provisioned {
        read_units: units.read_units,
        write_units: units.write_units,
    };
    if table.spec.billing == Billing::OnDemand {
        return Err(words::invalid_request(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index when BillingMode is PAY_PER_REQUEST",
        ));
    }
    let apart = IndexUnits::apart_from(table.spec.billing, wanted);
    let kept = table.indexes.iter_mut().map(|index| &mut index.spec);
    let both = kept.chain(&mut table.spec.indexes);
    let mut named = both
        .filter(|index| index.name == name && index.kind == IndexKind::Global)
        .peekable();
    if named.peek().is_none() {
        return Err(words::no_such_index(name, &table.spec.name));
    }
    named.for_each(|index| index.units = apart);
    Ok(())
}

fn add_index(draft: &mut Draft<'_>, table: &mut Table, spec: &IndexSpec) -> Result<()> {
    if spec.kind == IndexKind::Local {
        return Err(words::invalid_values(
            "Local secondary indexes are made with their table only",
        ));
    }
    if table.indexes.iter().any(|index| index.spec.name == spec.name) {
        return Err(words::invalid_request(
            "Attempting to create an index which already exists",
        ));
    }
    let number = table.next_index;
    // Numbers of indexes are not given twice either: entries of a removed one go in steps.
    table.next_index = number.saturating_add(1);
    // Writes keep it from this commit on, and the task enters what was there: between the two nothing is missed.
    table.indexes.push(Index::new(number, spec.clone(), &table.spec, true));
    table
        .indexes
        .sort_unstable_by(|one, other| one.spec.name.cmp(&other.spec.name));
    table.spec.indexes = table.indexes.iter().map(|index| index.spec.clone()).collect();
    check(&table.spec)?;
    let task = Task::FillIndex {
        table: table.spec.name.clone(),
        number: table.number,
        index: number,
    };
    task.begin(draft)
}

fn remove_index(draft: &mut Draft<'_>, table: &mut Table, name: &str) -> Result<()> {
    let found = table
        .indexes
        .iter()
        .position(|index| index.spec.name == name && !index.is_local());
    let Some(found) = found else {
        return Err(words::no_such_index(name, &table.spec.name));
    };
    let index = table.indexes.remove(found);
    table.spec.indexes.retain(|spec| spec.name != name);
    let task = Task::RemoveIndex {
        number: table.number,
        index: index.number,
    };
    task.begin(draft)
}

fn change_stream(draft: &Draft<'_>, table: &mut Table, view: Option<StreamView>) -> Result<()> {
    match (table.spec.stream, view) {
        (Some(_), Some(_)) => {
            return Err(words::invalid_request(format!(
                "Table already has an enabled stream: TableName: {}",
                table.spec.name
            )));
        }
        (None, None) => return Err(words::invalid_request("Table has no stream to disable")),
        // What was before is another stream.
        (None, Some(_)) => table.stream_since = draft.number(),
        (Some(_), None) => {}
    }
    table.spec.stream = view;
    Ok(())
}

pub(crate) fn change_ttl(
    catalogue: &Catalogue,
    draft: &mut Draft<'_>,
    name: &str,
    attribute: Option<&str>,
) -> Result<()> {
    let mut table = Table::clone(&*known(catalogue, draft, name)?);
    let Some(change) = TtlChange::between(name, table.spec.ttl.as_deref(), attribute)? else {
        return Ok(());
    };
    tasks::check_idle(draft, &table)?;
    match change {
        TtlChange::On(attribute) => {
            table.spec.ttl = Some(attribute);
            // Until all times are entered nobody may say that one is missing.
            table.expiry_is_building = true;
            let task = Task::FillExpiries {
                table: name.to_owned(),
                number: table.number,
            };
            task.begin(draft)?;
        }
        TtlChange::Off(_) => {
            table.spec.ttl = None;
            table.expiry_is_building = false;
            Task::RemoveExpiries { number: table.number }.begin(draft)?;
        }
    }
    table.store(catalogue, draft)
}

/// Refuses what DynamoDB does not make.
fn check(spec: &TableSpec) -> Result<()> {
    check_name("TableName", &spec.name)?;
    if spec.key.partition.len() != 1 || spec.key.sort.len() > 1 {
        return Err(words::invalid_request(format!(
            "1 validation error detected: Value at 'keySchema' failed to satisfy constraint: a table has one partition attribute and \
             at most one sort attribute, not {} and {}",
            spec.key.partition.len(),
            spec.key.sort.len()
        )));
    }
    check_attributes(spec)?;
    let mut names: Vec<&str> = spec.indexes.iter().map(|index| index.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
        let name = pair.first().copied().unwrap_or_default();
        return Err(words::invalid_values(format!("Duplicate index name: {name}")));
    }
    let count = |kind| spec.indexes.iter().filter(|index| index.kind == kind).count();
    if count(IndexKind::Global) > GLOBAL_INDEXES_MAX {
        return Err(words::invalid_values(format!(
            "GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES_MAX}"
        )));
    }
    if count(IndexKind::Local) > LOCAL_INDEXES_MAX {
        return Err(words::invalid_values(format!(
            "Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_INDEXES_MAX}"
        )));
    }
    let projected = spec.indexes.iter().map(|index| match &index.projection {
        IndexProjection::Include(names) => names.len(),
        IndexProjection::All | IndexProjection::KeysOnly => 0,
    });
    if projected.sum::<usize>() > PROJECTED_ATTRIBUTES_MAX {
        return Err(words::invalid_values(format!(
            "Number of projected attributes exceeds the limit of {PROJECTED_ATTRIBUTES_MAX}"
        )));
    }
    spec.indexes.iter().try_for_each(|index| check_index(&spec.key, index))
}

fn check_name(what: &str, name: &str) -> Result<()> {
    let fits = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.chars().count()) {
        return Err(words::invalid_request(format!(
            "{what} must be at least {NAME_CHARS_MIN} characters long and at most {NAME_CHARS_MAX} characters long"
        )));
    }
    if !name.chars().all(fits) {
        return Err(words::invalid_request(format!(
            "1 validation error detected: Value '{name}' at '{what}' failed to satisfy constraint: Member must satisfy regular \
             expression pattern: [a-zA-Z0-9_.-]+"
        )));
    }
    Ok(())
}

/// An attribute has one type, wherever it is a key.
fn check_attributes(spec: &TableSpec) -> Result<()> {
    let mut types: BTreeMap<&str, KeyType> = BTreeMap::new();
    for attribute in spec.key_attributes() {
        let known = *types.entry(attribute.name.as_str()).or_insert(attribute.key_type);
        if known != attribute.key_type {
            return Err(words::invalid_values(format!(
                "Attribute {} is defined as {} and as {}",
                attribute.name,
                known.type_letter(),
                attribute.key_type.type_letter()
            )));
        }
    }
    for schema in std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key)) {
        let mut names: Vec<&str> = schema.attributes().map(|attribute| attribute.name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(words::invalid_request(
                "Invalid KeySchema: Both the Hash Key and the Range Key element in the KeySchema have the same name",
            ));
        }
    }
    Ok(())
}

fn check_index(table: &KeySchema, index: &IndexSpec) -> Result<()> {
    check_name("IndexName", &index.name)?;
    let counts = (index.key.partition.len(), index.key.sort.len());
    match index.kind {
        IndexKind::Global => {
            let fits = (1..=INDEX_KEY_ATTRIBUTES_MAX).contains(&counts.0) && counts.1 <= INDEX_KEY_ATTRIBUTES_MAX;
            if !fits {
                return Err(words::invalid_values(format!(
                    "The key of index {} has {} partition and {} sort attributes, and up to {INDEX_KEY_ATTRIBUTES_MAX} of each are taken",
                    index.name, counts.0, counts.1
                )));
            }
        }
        IndexKind::Local => check_local(table, index)?,
    }
    if matches!(&index.projection, IndexProjection::Include(names) if names.is_empty()) {
        return Err(words::invalid_values(
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ));
    }
    Ok(())
}

fn check_local(table: &KeySchema, index: &IndexSpec) -> Result<()> {
    if table.sort.is_empty() {
        return Err(words::invalid_values(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ));
    }
    if index.key.partition != table.partition {
        let name = |schema: &KeySchema| schema.partition.first().map_or(String::new(), |key| key.name.clone());
        return Err(words::invalid_values(format!(
            "Index KeySchema does not have the same leading hash key as table KeySchema for index: {}. index hash key: {}, table hash \
             key: {}",
            index.name,
            name(&index.key),
            name(table)
        )));
    }
    if index.key.sort.len() != 1 {
        return Err(words::invalid_values(format!(
            "Index KeySchema does not have a range key for index: {}",
            index.name
        )));
    }
    Ok(())
}
