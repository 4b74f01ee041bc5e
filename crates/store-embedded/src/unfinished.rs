//! Tables that are being made or removed. The engine does neither as one, so that a killed process would leave a table that says it
//! exists and cannot be written. A file beside the database says what was begun; whoever opens the folder next ends it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dynoxide::Database;
use dynoxide::actions::scan::ScanRequest;
use singlet_store::{Result, StoreError, TableSpec, TtlChange};

use crate::{error, tables};

/// How the name of such a file ends; it begins with the table's.
const ENDING: &str = ".unfinished";

/// What such a file says of a table that is being removed. Of one that is being made it says by what its items expire.
const REMOVING: &str = "removing";

/// Makes a table, with its indexes and its TTL.
pub(crate) fn create(database: &Database, folder: Option<&Path>, spec: &TableSpec) -> Result<()> {
    // What is there already is not being made, and must not go.
    let known = database.describe_table(tables::describe(&spec.name)).is_ok();
    let begun = match folder.filter(|_| !known) {
        Some(folder) => {
            let expires = spec
                .ttl
                .as_deref()
                .map_or(String::new(), |ttl| format!("expires {ttl}"));
            Begun::mark(folder, &spec.name, &expires)?
        }
        None => None,
    };
    let made = make(database, spec);
    match begun {
        Some(begun) => made.and(begun.ended()),
        None => made,
    }
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
pub(crate) fn delete(database: &Database, folder: Option<&Path>, table: &str) -> Result<()> {
    let known = database.describe_table(tables::describe(table)).is_ok();
    let begun = match folder.filter(|_| known) {
        Some(folder) => Begun::mark(folder, table, REMOVING)?,
        None => None,
    };
    let gone = database.delete_table(tables::delete(table)).map_err(error::from_engine);
    match begun {
        Some(begun) => gone.map(drop).and(begun.ended()),
        None => gone.map(drop),
    }
}

/// Ends what a killed process began.
pub(crate) fn end(database: &Database, folder: &Path) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(table) = name.and_then(|name| name.strip_suffix(ENDING)) else {
            continue;
        };
        let what = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        let known = database.describe_table(tables::describe(table)).is_ok();
        if known && (what == REMOVING || !has_rows(database, table)) {
            database
                .delete_table(tables::delete(table))
                .map_err(error::from_engine)?;
        } else if let (true, Some(attribute)) = (known, what.strip_prefix("expires ")) {
            // It was whole when its rows came; only what they expire by may be missing.
            let ttl = database.describe_time_to_live(tables::describe_ttl(table));
            let ttl = ttl.map_err(error::from_engine)?.time_to_live_description.attribute_name;
            if ttl.is_none() {
                expire(database, table, attribute)?;
            }
        }
        Begun(path).ended()?;
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
