//! A model opened where the data is.

use std::sync::Arc;

use singlet_http::auth::Secret;
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, table, values};
use singlet_store::Store;

use super::tables;
use crate::place::Place;
use crate::store::load_rows;

/// Opens a model on a store. Its table must be as the model needs it; where it is missing it is made and, if there are
/// rows for it, filled.
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
    if let Some(rows) = sample.filter(|_| missing) {
        load_rows(&engine, rows, &crate::progress::none())
            .await
            .map_err(|reason| format!("the rows of `{name}`: {reason}"))?;
    }
    Ok(engine)
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
