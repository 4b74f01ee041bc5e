//! What is shown, view by view.

pub(crate) mod ask;
pub(crate) mod changes;
mod cost;
mod design;
mod dry_run;
mod export;
mod key_map;
mod outcome;
mod recorder;
mod row_detail;
mod rows;

use std::sync::Arc;

use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use serde_json::{Value as Json, json};
use singlet_http::Service;

pub(crate) use self::design::DrawnModels;
use crate::Console;
use crate::answer::{ConsoleError, json_response};
use crate::routes::Asking;

/// What the page shows before any view: the systems, and what may be done.
pub(crate) fn session_view(console: &Console, service: &Service) -> Json {
    let systems = service.systems();
    let systems = systems.iter().map(|system| {
        let model = system.model();
        json!({
            "name": system.name,
            "prefix": system.prefix,
            "table": model.table.name,
            "readOnly": console.settings.read_only || system.read_only,
            "entities": model.entities.iter().map(|entity| &entity.name).collect::<Vec<_>>(),
            "stream": model.table.stream,
        })
    });
    json!({
        "signedIn": true,
        "readOnly": console.settings.read_only,
        "systems": systems.collect::<Vec<_>>(),
        "now": service.now(),
    })
}

/// Answers for a view of a system.
pub(crate) async fn answer_view(asking: &Asking<'_>, parts: &Parts, view: &str) -> Result<Response, ConsoleError> {
    let shown = |json: Json| Ok(json_response(&json));
    match (view, &parts.method) {
        ("design", &Method::GET) => shown(design::design_view(asking)),
        ("rows", &Method::POST) => shown(rows::rows_page(asking, asking.sent_body()?).await?),
        ("row", &Method::POST) => shown(row_detail::row_detail(asking, asking.sent_body()?).await?),
        ("export", &Method::GET) => export::export_lines(asking, parts),
        ("operations", &Method::GET) => shown(ask::operation_forms(asking)),
        ("read", &Method::POST) => shown(ask::ask_read(asking, asking.sent_body()?).await?),
        ("dry-run", &Method::POST) => shown(dry_run::dry_run(asking, asking.sent_body()?).await?),
        ("write", &Method::POST) => {
            asking.check_writes()?;
            shown(ask::ask_write(asking, asking.sent_body()?).await?)
        }
        ("scenario", &Method::POST) => shown(recorder::recorded_scenario(asking, asking.sent_body()?)?),
        ("changes", &Method::POST) => shown(changes::changes_page(asking, asking.sent_body()?).await?),
        ("followers", &Method::GET) => shown(changes::followers_view(asking).await?),
        ("parked", &Method::POST) => {
            asking.check_writes()?;
            shown(changes::order_parked(asking, asking.sent_body()?).await?)
        }
        ("cost", &Method::GET) => shown(cost::cost_view(asking)),
        (path, &Method::GET) if path.starts_with("drawing/") => design::design_drawing(asking, path),
        _ => Err(ConsoleError::not_there("there is no such view")),
    }
}

/// An engine in front of whose store something notes what is asked.
pub(crate) fn engine_on(asking: &Asking<'_>, store: Arc<dyn singlet_store::Store>) -> Arc<singlet_runtime::Engine> {
    Arc::new(asking.system.engine.on_store(store))
}
