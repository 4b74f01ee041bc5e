//! What is tried: engines in memory, or in tables of DynamoDB that are made for it and removed.

use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use singlet_model::Model;
use singlet_model::model::Billing;
use singlet_runtime::Attributes;
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::VerifyError;
use singlet_verify::probe::{self, Report, Subject};

use crate::place::Place;
use crate::{commands, source};

/// The longest name of a table.
const TABLE_NAME_CHARS_MAX: usize = 255;

/// What stands between the name of a model's table and the number of one that was made for it.
const MADE_FOR_IT: &str = "-verify-";

/// Makes subjects.
pub(super) struct Subjects<'a> {
    place: Place,
    model: &'a Path,
    settings: Attributes,
    /// Tables that were made, to be removed.
    made: Mutex<Vec<String>>,
}

impl<'a> Subjects<'a> {
    pub(crate) fn new(place: Place, model: &'a Path, settings: Attributes) -> Self {
        Subjects {
            place,
            model,
            settings,
            made: Mutex::default(),
        }
    }

    /// Runs what tries them, and removes every table that was made for it.
    pub(crate) fn run(&self, work: impl for<'s> FnOnce(&'s probe::Subjects<'s>) -> Report) -> Result<Report, String> {
        let make = || -> Pin<Box<dyn Future<Output = Result<Subject, VerifyError>> + '_>> {
            Box::pin(async { self.make().await.map_err(VerifyError::Failed) })
        };
        let report = work(&make);
        let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        if made.is_empty() {
            return Ok(report);
        }
        let mut failed = None;
        let removing = commands::block_on(async {
            failed = self.remove(&made).await.err();
            Ok(std::process::ExitCode::SUCCESS)
        });
        match failed {
            None if removing.is_ok() => Ok(report),
            None => Err("the tables that were made could not be removed".to_owned()),
            Some(reason) => Err(reason),
        }
    }

    async fn make(&self) -> Result<Subject, String> {
        let mut model = load(self.model)?;
        let store: Arc<dyn Store> = match &self.place {
            Place::DynamoDb { .. } => {
                let store = self.place.open().await?;
                self.prepare(&mut model, store.as_ref()).await?;
                store
            }
            Place::Memory | Place::Folder(_) => Arc::new(EmbeddedStore::memory().map_err(|error| error.to_string())?),
        };
        let opened = Subject::open(Arc::new(model), store, self.settings.clone()).await;
        opened.map_err(|error| self.place.failed_here(&error))
    }

    /// A name that no table has. It is written down before the table is made, so that it is removed whatever happens.
    async fn prepare(&self, model: &mut Model, store: &dyn Store) -> Result<(), String> {
        let there = store
            .list_tables()
            .await
            .map_err(|error| self.place.failed_here(&error))?;
        let suffix = format!(
            "{MADE_FOR_IT}{:016x}",
            std::hash::RandomState::new().build_hasher().finish()
        );
        let own: String = model
            .table
            .name
            .chars()
            .take(TABLE_NAME_CHARS_MAX - suffix.len())
            .collect();
        self.note_left(&there, &format!("{own}{MADE_FOR_IT}"));
        model.table.name = own + &suffix;
        if there.contains(&model.table.name) {
            return Err(format!("there is a table `{}` already", model.table.name));
        }
        // What a table costs while nothing is asked of it, and its stream, are not what is tried.
        model.table.billing = Billing::OnDemand;
        model.table.stream = None;
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(model.table.name.clone());
        Ok(())
    }

    /// Says once which tables another run made: one that was killed could not remove its own, and one that goes on still needs them.
    fn note_left(&self, there: &[String], beginning: &str) {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        for left in there
            .iter()
            .filter(|name| name.starts_with(beginning) && made.is_empty())
        {
            eprintln!("note: another run made the table `{left}`; unless that goes on, delete it");
        }
    }

    async fn remove(&self, made: &[String]) -> Result<(), String> {
        let store = self.place.open().await?;
        let there = store
            .list_tables()
            .await
            .map_err(|error| self.place.failed_here(&error))?;
        let mut failed: Vec<String> = Vec::new();
        for name in made.iter().filter(|name| there.contains(name)) {
            if let Err(error) = store.delete_table(name).await {
                failed.push(format!("the table `{name}` could not be removed: {error}"));
            }
        }
        match failed.is_empty() {
            true => Ok(()),
            false => Err(failed.join("; ")),
        }
    }
}

/// The model anew: each table has a name of its own.
fn load(path: &Path) -> Result<Model, String> {
    let bytes = source::read_source(&PathBuf::from(path))?;
    let source = singlet_model::decode_source(&path.display().to_string(), bytes);
    let source = source.map_err(|_| format!("`{}` has changed", path.display()))?;
    let model = singlet_model::load_source(&source).model;
    model.ok_or_else(|| format!("`{}` has changed", path.display()))
}
