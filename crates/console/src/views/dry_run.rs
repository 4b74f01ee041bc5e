//! What a write would do, without doing it.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use singlet_http::refusals::problem_of;
use singlet_plan::plan_json;
use singlet_store::Store;

use super::ask::{Asked, asked_instant, change_json, insert_member, write_named, write_request, written_json};
use super::engine_on;
use crate::answer::ConsoleError;
use crate::dry_store::DryStore;
use crate::routes::Asking;

/// Tries a write on a copy of the rows that it touches.
pub(super) async fn dry_run(asking: &Asking<'_>, asked: Asked) -> Result<Json, ConsoleError> {
    let model = Arc::clone(asking.system.model());
    let write = write_named(&model, &asked.name)?;
    let request = write_request(asking, write, &asked)?;
    asking.log_action("dry run", &write.name);
    let store = DryStore::new(&asking.system.engine).await?;
    let engine = engine_on(asking, Arc::clone(&store) as Arc<dyn Store>);
    let now = asked_instant(asking, &request, &asked);
    let outcome = match request {
        Ok(request) => {
            let outcome = engine.write(&write.name, &request).await;
            outcome.map_err(|error| problem_of(&asking.system, &write.name, error, &asking.request_id))
        }
        Err(problem) => Err(problem),
    };
    let changes = store.changed_rows().await?;
    let changes = changes
        .iter()
        .map(|(key, before, after)| change_json(&model, key, before.as_ref(), after.as_ref()));
    let changes: Vec<Json> = changes.collect();
    let mut answer = written_json(&outcome);
    insert_member(&mut answer, "now", json!(now));
    insert_member(&mut answer, "changes", json!(changes));
    insert_member(&mut answer, "plan", plan_json::write_json(&model, write));
    Ok(answer)
}
