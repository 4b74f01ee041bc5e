//! Tables that are being made or removed. The engine does neither as one, so that a killed process would leave a table that says it
//! exists and cannot be written. A file beside the database says what was begun; whoever opens the folder next ends it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dynoxide::Database;
use dynoxide::actions::scan::ScanRequest;
use singlet_store::{Result, StoreError, TableSpec, TtlChange};

use crate::{Folder, error, tables};

/// How the name of such a file ends; it begins with the table's.
const ENDING: &str = ".unfinished";

/// What such a file says of a table that is being removed. Of one that is being made it says by what its items expire.
const REMOVING: &str = "removing";

/// Makes a table, with its indexes and its TTL.
pub(crate) fn create(database: &Database, folder: Option<&Folder>, spec: &TableSpec) -> Result<()> {
    // What is there already is not being made, and must not go.
    let known = database.describe_table(tables::describe(&spec.name)).is_ok();
    let Some(folder) = folder.filter(|_| !known) else {
        return make(database, spec);
    };
    let ttl = spec.ttl.as_deref();
    let expires = ttl.map_or(String::new(), |ttl| format!("expires {ttl}"));
    let begun = Begun::mark(&folder.path, &spec.name, &expires)?;
    let made = folder.journal.write(|| make(database, spec));
    made.and(begun.map_or(Ok(()), Begun::ended))
}

fn make(database: &Database, spec: &TableSpec) -> Result<()> {
    database
        .create_table(tables::create(spec))
        .map_err(error::from_engine)?;
    match &spec.ttl {
        Some(attribute) => expire(database, &spec.name, attribute),
        None => Ok(()),
    }
}

fn expire(database: &Database, table: &str, attribute: &str) -> Result<()> {
    let on = tables::update_ttl(table, &TtlChange::On(attribute.to_owned()));
    database.update_time_to_live(on).map(drop).map_err(error::from_engine)
}

/// Removes a table with everything in it.
pub(crate) fn delete(database: &Database, folder: Option<&Folder>, table: &str) -> Result<()> {
    let known = database.describe_table(tables::describe(table)).is_ok();
    let Some(folder) = folder.filter(|_| known) else {
        return remove(database, table);
    };
    let begun = Begun::mark(&folder.path, table, REMOVING)?;
    let gone = folder.journal.write(|| remove(database, table));
    gone.and(begun.map_or(Ok(()), Begun::ended))
}

fn remove(database: &Database, table: &str) -> Result<()> {
    let gone = database.delete_table(tables::delete(table));
    gone.map(drop).map_err(error::from_engine)
}

/// Ends what a killed process began.
pub(crate) fn end(database: &Database, folder: &Folder) -> Result<()> {
    let entries = std::fs::read_dir(&folder.path).map_err(|error| failed(&folder.path, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| failed(&folder.path, &error))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(table) = name.and_then(|name| name.strip_suffix(ENDING)) else {
            continue;
        };
        let what = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        folder.journal.write(|| end_one(database, table, &what))?;
        Begun(path).ended()?;
    }
    Ok(())
}

fn end_one(database: &Database, table: &str, what: &str) -> Result<()> {
    if database.describe_table(tables::describe(table)).is_err() {
        return Ok(());
    }
    if what == REMOVING || !has_rows(database, table) {
        return remove(database, table);
    }
    // It was whole when its rows came; only what they expire by may be missing.
    if let Some(attribute) = what.strip_prefix("expires ") {
        let ttl = database.describe_time_to_live(tables::describe_ttl(table));
        let ttl = ttl.map_err(error::from_engine)?.time_to_live_description.attribute_name;
        if ttl.is_none() {
            return expire(database, table, attribute);
        }
    }
    Ok(())
}

fn has_rows(database: &Database, table: &str) -> bool {
    let request = ScanRequest {
        table_name: table.to_owned(),
        limit: Some(1),
        ..ScanRequest::default()
    };
    let page = database.scan(request);
    page.is_ok_and(|page| page.count > 0)
}

/// The file that says that something was begun.
struct Begun(PathBuf);

impl Begun {
    /// Says it; not for a name that no table can have, which the engine refuses.
    fn mark(folder: &Path, table: &str, what: &str) -> Result<Option<Self>> {
        let fits = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
        if !table.chars().all(fits) {
            return Ok(None);
        }
        let path = folder.join(format!("{table}{ENDING}"));
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(what.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| failed(&path, &error))?;
        Ok(Some(Begun(path)))
    }

    fn ended(self) -> Result<()> {
        std::fs::remove_file(&self.0).map_err(|error| failed(&self.0, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::unavailable(format!("cannot write `{}`: {error}", path.display()))
}
