//! What every side finds: a user with tasks, and one who gives books away.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use singlet_runtime::{Deployment, Engine, Source, Store};
use singlet_store_embedded::EmbeddedStore;

use crate::error::Outcome;

/// How many tasks and items there are.
pub const ROWS: usize = 200;

const MODELS: [(&str, &str); 2] = [
    ("todo", include_str!("../../../systems/todo/model.yaml")),
    ("ecobid", include_str!("../../../systems/ecobid/model.yaml")),
];

/// The engines of the systems, by name, on one store.
pub fn engines(store: &Arc<dyn Store>) -> Outcome<Vec<(&'static str, Engine)>> {
    let open = |(name, model): (&'static str, &str)| {
        let engine = Engine::load(&Source::new(name, model), Arc::clone(store), Deployment::default())?;
        Ok((name, engine))
    };
    MODELS.into_iter().map(open).collect()
}

/// Makes the tables in a folder, and fills them.
pub async fn fill(folder: &Path) -> Outcome<()> {
    fill_store(Arc::new(EmbeddedStore::open(folder)?)).await
}

/// The same in a folder of the engine of before, which has a server of its own.
pub async fn fill_before(folder: &Path) -> Outcome<()> {
    fill_store(Arc::new(singlet_store_before::EmbeddedStore::open(folder)?)).await
}

async fn fill_store(store: Arc<dyn Store>) -> Outcome<()> {
    for (name, engine) in engines(&store)? {
        engine.create_table().await?;
        let rows = if name == "todo" { todo() } else { ecobid() };
        engine.load_lines(&rows.join("\n")).await?;
    }
    Ok(())
}

/// Copies a folder of files.
pub fn copy(from: &Path, to: &Path) -> Outcome<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        std::fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}

/// The id of the row at a place: a ULID long past, so that new rows come after it.
pub fn row_id(at: usize) -> String {
    format!("01J{at:023}")
}

/// The time now.
pub fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn todo() -> Vec<String> {
    let user =
        r#"{"User": {"user_id": "ada", "email": "ada@example.org", "name": "Ada", "created_at": 1, "updated_at": 1}}"#;
    let tasks = (0..ROWS).map(|at| {
        let id = row_id(at);
        format!(
            r#"{{"Task": {{"user_id": "ada", "task_id": "{id}", "title": "Something to do, number {at}", "description": "A few words about it", "status": "pending", "priority": "medium", "category": "home", "due_date": "2027-03-01", "created_at": 1790000000, "updated_at": 1790000000, "version": 1}}}}"#
        )
    });
    [user.to_owned()].into_iter().chain(tasks).collect()
}

/// Items that a buyer has come for: a confirmed reservation stays as it is, whatever the time.
fn ecobid() -> Vec<String> {
    let users = ["ada", "linus"].map(|name| {
        format!(
            r#"{{"User": {{"userId": "{name}", "username": "{name}", "email": "{name}@example.org", "ratingSum": 0, "ratingCount": 0, "itemsGiven": 0}}}}"#
        )
    });
    let items = (0..ROWS).flat_map(|at| {
        let (id, seconds) = (row_id(at), format!("{:02}:{:02}", at / 60, at % 60));
        [
            format!(
                r#"{{"Item": {{"itemId": "{id}", "userId": "ada", "title": "Novels, box {at}", "description": "Used, but in good condition", "category": "books", "mode": "free", "status": "confirmed", "location": {{"lat": 52.23{:04}, "lon": 21.01{:04}, "city": "Warszawa", "country": "PL"}}, "imageUrl": "https://images.example.com/{id}.jpg", "timestamp": "2026-10-01T10:{seconds}.000Z", "updatedAt": "2026-10-01T11:{seconds}.000Z", "reservationId": "{id}"}}}}"#,
                at * 7,
                at * 3
            ),
            format!(
                r#"{{"Reservation": {{"itemId": "{id}", "resId": "{id}", "buyerId": "linus", "sellerId": "ada", "status": "confirmed", "message": "I could come tonight", "pickupTime": "2026-10-02T18:00:00.000Z", "createdAt": "2026-10-01T11:{seconds}.000Z", "expiresAt": "2026-10-02T11:{seconds}.000Z"}}}}"#
            ),
        ]
    });
    users.into_iter().chain(items).collect()
}
