//! A model inside a program: a write, then rows into its own types, page by page.
//!
//! `cargo run -p singlet-runtime --example embed`

use std::sync::Arc;

use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use singlet_runtime::{Caller, Deployment, Engine, Source};
use singlet_store_embedded::EmbeddedStore;

#[derive(Serialize)]
struct DueBetween {
    from: String,
    to: String,
}

#[derive(Debug, Deserialize)]
struct Task {
    title: String,
    due_date: Option<String>,
}

async fn lines() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let model = Source::new("todo", include_str!("../../../systems/todo/model.yaml"));
    let engine = Engine::load_source(&model, Arc::new(EmbeddedStore::memory()?), Deployment::default())?;
    engine.create_table().await?;
    engine
        .load_lines(include_str!("../../../systems/todo/sample.jsonl"))
        .await?;

    let ada = Caller::with_id("ada");
    let paint = engine
        .call("createTask")
        .arg("title", "Paint")
        .arg("due_date", "2030-01-01");
    let task: Task = paint.by(ada.clone()).once("request-17").write().await?;

    let (from, to) = ("2020-01-01".to_owned(), "2040-12-31".to_owned());
    let due = engine.call("tasksInDueDateOrder").args(DueBetween { from, to }).by(ada);
    let mut pages = std::pin::pin!(due.limit(5).pages::<Task>());
    let mut lines = vec![format!("{} {}", task.due_date.unwrap_or_default(), task.title)];
    while let Some(page) = pages.try_next().await? {
        lines.extend(
            page.rows
                .iter()
                .map(|task| format!("{} {}", task.due_date.as_deref().unwrap_or("-"), task.title)),
        );
    }
    Ok(lines)
}

#[allow(clippy::print_stdout, reason = "an example prints")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    lines().await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

#[tokio::test]
async fn the_example_shows_the_tasks_by_their_day() {
    let lines = lines().await.unwrap_or_default();
    let nothing = String::new();
    let (first, rest) = lines.split_first().unwrap_or((&nothing, &[]));
    assert_eq!(first, "2030-01-01 Paint");
    assert!(rest.contains(first) && rest.len() > 5, "{lines:#?}");
    assert!(
        rest.is_sorted_by_key(|line| line.get(..10).map(str::to_owned)),
        "{lines:#?}"
    );
}
