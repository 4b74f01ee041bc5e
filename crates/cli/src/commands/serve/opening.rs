//! A model opened where the data is.

use std::path::PathBuf;
use std::sync::Arc;

use singlet_http::auth::Secret;
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, table, values};
use singlet_store::Store;

use super::tables;
use crate::place::Place;
use crate::store::load_rows;

/// Opens a model on a store. Its table must be as the model needs it; where it is missing it is made and, if there are
/// rows for it, filled. A filling that broke off is taken up.
pub async fn open(
    place: &Place,
    store: &Arc<dyn Store>,
    model: Model,
    settings: Attributes,
    secret: &Secret,
    sample: Option<&str>,
) -> Result<Engine, String> {
    let wanted = table::spec(&model);
    let name = model.name.clone();
    let table = wanted.name.clone();
    let failed = |error: singlet_store::StoreError| format!("table `{table}` of `{name}`: {error}");
    let tables = store.list_tables().await.map_err(failed)?;
    let missing = !tables.contains(&table);
    if missing && !place.makes_tables() {
        return Err(format!("there is no table `{table}`, which `{name}` needs"));
    }
    let filling = Filling::of(place, &table, missing && sample.is_some())?;
    if missing {
        store.create_table(&wanted).await.map_err(failed)?;
    } else {
        let live = store.describe_table(&table).await.map_err(failed)?;
        let found = tables::differences(&wanted, &live.spec);
        if !found.is_empty() {
            return Err(format!(
                "table `{table}` is not as `{name}` needs it: {}",
                found.join("; ")
            ));
        }
    }
    let cursor_key = secret.cursor_key(&name);
    let engine = Engine::open(Arc::new(model), Arc::clone(store), settings, cursor_key);
    if let (Some(rows), Some(filling)) = (sample, filling) {
        load_rows(&engine, rows, filling.instant, &crate::progress::none())
            .await
            .map_err(|reason| format!("the rows of `{name}`: {reason}"))?;
        filling.end()?;
    }
    Ok(engine)
}

/// That a new table is being filled. A file beside the data says so until it is done: who finds it fills the table once more,
/// as of the same instant, so that every row is put in its own place again.
struct Filling {
    file: Option<PathBuf>,
    instant: i64,
}

impl Filling {
    /// The one that was begun and did not end, or a new one where the table is new.
    fn of(place: &Place, table: &str, is_new: bool) -> Result<Option<Self>, String> {
        let instant = crate::store::now();
        let Some(folder) = place.folder() else {
            return Ok(is_new.then_some(Filling { file: None, instant }));
        };
        let file = folder.join(format!("{table}.filling"));
        let failed = |error: std::io::Error| format!("`{}`: {error}", file.display());
        let begun = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let instant = match begun {
            // Where the file itself was cut, nothing was put yet.
            Some(text) if text.ends_with('\n') => text.trim().parse().unwrap_or(instant),
            None if !is_new => return Ok(None),
            _ => {
                std::fs::write(&file, format!("{instant}\n")).map_err(failed)?;
                instant
            }
        };
        Ok(Some(Filling {
            file: Some(file),
            instant,
        }))
    }

    fn end(self) -> Result<(), String> {
        match self.file {
            Some(file) => std::fs::remove_file(&file).map_err(|error| format!("`{}`: {error}", file.display())),
            None => Ok(()),
        }
    }
}

/// The values of a model's settings.
pub fn settings(model: &Model, given: &[(String, String)]) -> Result<Attributes, String> {
    let mut settings = Attributes::new();
    for (name, text) in given {
        let Some(known) = model.settings.iter().find(|known| known.name == *name) else {
            return Err(format!("`{}` has no setting `{name}`", model.name));
        };
        let value = values::from_text(text, &known.ty)
            .map_err(|wrong| format!("setting `{name}` of `{}`: {wrong}", model.name))?;
        settings.insert(name.clone(), value);
    }
    Ok(settings)
}
