//! What goes wrong without a rule of its own: rows in one another's way, values that are exchanged, copies, ends, notes, streams.

use singlet_item::{Item, Value};
use singlet_migrate::{MigrateError, MigrateOptions, STAMP};
use singlet_runtime::{AuditDepth, Engine, MIGRATED, audit_rows, load};
use singlet_store::{PutRequest, StreamPosition, StreamRequest};

use super::place;
use super::support::{NOW, Table, aborted, assert_same, migrated, open_to_write};

/// A model whose only entities are these.
fn model(table: &str, entities: &str) -> String {
    format!(
        "singlet: 1\nname: work\ntable: {{name: TABLE, key: {{partition: PK, sort: SK}}, type: kind{table}}}\nentities:\n{entities}"
    )
}

async fn filled(text: &str, lines: &str) -> (Table, Engine) {
    let table = Table::named(place::store().await);
    let old = table.engine(text);
    open_to_write(&old).await.unwrap();
    load::load_text(&old, lines, NOW).await.unwrap();
    (table, old)
}

async fn assert_sound(new: &Engine) {
    open_to_write(new).await.unwrap();
    let audit = audit_rows(new, NOW, AuditDepth::Whole).await.unwrap();
    assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
}

const STEP: &str = r#"
  Step:
    attributes: {a: string 1..9, b: string 1..9}
    key: {PK: "STEP", SK: "{a}"}
    unique: {value: a}
"#;

fn by_b() -> String {
    model("", STEP)
        .replace("SK: \"{a}\"", "SK: \"{b}\"")
        .replace("{value: a}", "{value: b}")
}

/// Each row goes where another was, so that the last goes first; guards, too.
#[tokio::test]
async fn rows_make_room_for_one_another() {
    let lines = r#"{"Step": {"a": "1", "b": "2"}}
{"Step": {"a": "2", "b": "3"}}
{"Step": {"a": "3", "b": "4"}}"#;
    let (table, old) = filled(&model("", STEP), lines).await;
    let new = table.engine(&by_b());
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
}

/// Rows whose keys go around in circles of so many, and one that goes by itself.
fn circles(sizes: &[usize]) -> String {
    let mut lines = "{\"Step\": {\"a\": \"alone\", \"b\": \"away\"}}\n".to_owned();
    for (circle, size) in sizes.iter().enumerate() {
        for at in 0..*size {
            let next = (at + 1) % size;
            lines += &format!("{{\"Step\": {{\"a\": \"{circle}-{at}\", \"b\": \"{circle}-{next}\"}}}}\n");
        }
    }
    lines
}

/// None of the rows that exchange their keys can go first: all of them go at once, with what is unique about them, and back again.
#[tokio::test]
async fn rows_that_go_around_in_a_circle_go_at_once() {
    // Each row is a put, and its guard another.
    let (table, old) = filled(&model("", STEP), &circles(&[2, 3, 17, 50])).await;
    let before = table.contents().await;
    let new = table.engine(&by_b());
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
    for item in table.contents().await.values().filter(|item| item.contains_key("b")) {
        assert_eq!(item["SK"], item["b"]);
    }
    migrated(&new, &old, MigrateOptions::default()).await.unwrap();
    assert_same("and back", &table.contents().await, &before);
}

/// One that is followed: what a row leaves behind is another's.
#[tokio::test]
async fn rows_in_a_circle_leave_nothing_behind_for_followers() {
    let text = model(", stream: both_images", STEP);
    let (table, old) = filled(&text, &circles(&[3])).await;
    let before = records(&table).await.len();
    let new = table.engine(
        &text
            .replace("SK: \"{a}\"", "SK: \"{b}\"")
            .replace("{value: a}", "{value: b}"),
    );
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
    for (old, new) in records(&table).await.split_off(before) {
        let is_row = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key("b"));
        let is_noted = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key(MIGRATED));
        assert!(
            !(is_row(&old) || is_row(&new)) || is_noted(&old) || is_noted(&new),
            "{old:?} {new:?}"
        );
    }
}

/// Begun and given up halfway: whatever had turned by then turns back.
#[tokio::test]
async fn a_circle_that_no_transaction_holds_is_refused_and_turned_back() {
    let (table, old) = filled(&model("", STEP), &circles(&[3, 51])).await;
    let before = table.contents().await;
    let new = table.engine(&by_b());
    let error = migrated(&old, &new, MigrateOptions::default()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Blocked(51, _)), "{error}");
    assert!(open_to_write(&old).await.is_err());
    aborted(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_same("a circle", &table.contents().await, &before);
    open_to_write(&old).await.unwrap();
}

/// The guards of two rows change places.
#[tokio::test]
async fn unique_values_are_exchanged() {
    let lines = r#"{"Step": {"a": "1", "b": "2"}}
{"Step": {"a": "2", "b": "1"}}"#;
    let (table, old) = filled(&model("", STEP), lines).await;
    let before = table.contents().await;
    let new = table.engine(&model("", STEP).replace("{value: a}", "{value: b}"));
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
    migrated(&new, &old, MigrateOptions::default()).await.unwrap();
    assert_same("and back", &table.contents().await, &before);
}

/// Where keys and unique values are exchanged along a chain, the guard of one row names its owner as that of another did: neither is taken
/// for the other, forwards and backwards.
#[tokio::test]
async fn guards_that_name_their_owners_alike_are_told_apart() {
    let entity = STEP.replace("b: string 1..9}", "b: string 1..9, c: string 1..9, d: string 1..9}");
    let text = model("", &entity).replace("{value: a}", "{value: c}");
    let next = text
        .replace("SK: \"{a}\"", "SK: \"{b}\"")
        .replace("{value: c}", "{value: d}");
    let lines = r#"{"Step": {"a": "1", "b": "2", "c": "x", "d": "y"}}
{"Step": {"a": "2", "b": "3", "c": "y", "d": "z"}}
{"Step": {"a": "3", "b": "4", "c": "z", "d": "x"}}"#;
    let (table, old) = filled(&text, lines).await;
    let before = table.contents().await;
    let new = table.engine(&next);
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
    migrated(&new, &old, MigrateOptions::default()).await.unwrap();
    assert_same("and back", &table.contents().await, &before);
}

/// A copy comes from its source, which comes to stand elsewhere itself.
#[tokio::test]
async fn a_copy_that_rows_lack_comes_from_its_source() {
    let old_text = model(
        "",
        r#"
  User:
    attributes: {id: string 1..9, name: string 1..20}
    key: {PK: "USER#{id}", SK: "USER"}
  Post:
    attributes: {id: string 1..9, author: User.id}
    key: {PK: "POST#{id}", SK: "POST"}
"#,
    );
    let new_text = old_text
        .replace("\"USER#{id}\", SK: \"USER\"", "\"U#{id}\", SK: \"U\"")
        .replace(
            "author: User.id}",
            "author: User.id, authorName: {copy: User(author).name, kept: frozen}}",
        );
    let mut lines = String::new();
    for at in 0..30 {
        lines += &format!("{{\"User\": {{\"id\": \"u{at}\", \"name\": \"Name {at}\"}}}}\n");
        lines += &format!("{{\"Post\": {{\"id\": \"p{at}\", \"author\": \"u{at}\"}}}}\n");
    }
    let (table, old) = filled(&old_text, &lines).await;
    let new = table.engine(&new_text);
    let small = MigrateOptions {
        page_items: 7,
        ..MigrateOptions::default()
    };
    migrated(&old, &new, small).await.unwrap();
    let posts = table.contents().await;
    let posts: Vec<&Item> = posts.values().filter(|item| item.contains_key("author")).collect();
    assert_eq!(posts.len(), 30);
    for post in posts {
        let number = post["author"].as_str().unwrap().trim_start_matches('u').to_owned();
        assert_eq!(post["authorName"], Value::from(format!("Name {number}")));
    }
    assert_sound(&new).await;
}

const OFFER: &str = r#"
  Offer:
    attributes: {id: string 1..9, price: int 0..99, until: time?}
    key: {PK: "OFFER#{id}", SK: "OFFER"}
    expires: until
"#;

/// What has ended is nobody's: it hinders nothing, and is not shown again.
#[tokio::test]
async fn a_row_that_has_ended_hinders_nothing() {
    let text = model(", ttl: ends", OFFER);
    let lines = r#"{"Offer": {"id": "a", "price": 1}}
{"Offer": {"id": "b", "price": 2, "until": "2026-11-16T13:00:00.000Z"}}"#;
    let (table, old) = filled(&text, lines).await;
    let mut ended = table
        .contents()
        .await
        .into_values()
        .find(|item| item.contains_key("ends"))
        .unwrap();
    ended.insert("PK".to_owned(), "OFFER#c".into());
    ended.insert("price".to_owned(), "dear".into());
    ended.insert("ends".to_owned(), Value::N(1.into()));
    let request = PutRequest {
        table: table.name.clone(),
        item: ended,
        ..PutRequest::default()
    };
    table.store.put(&request).await.unwrap();
    let new = table.engine(&text.replace(
        "price: int 0..99",
        "price: int 0..99, size: {type: int 0..9, fill: \"1\"}",
    ));
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
    let left = table.contents().await;
    assert_eq!(left.values().filter(|item| item.contains_key("size")).count(), 2);
    assert_eq!(left.values().filter(|item| item.contains_key(STAMP)).count(), 0);
}

/// The guard of an identity keeps the note of when its last version was closed.
#[tokio::test]
async fn a_note_in_a_guard_goes_along() {
    let text = model(
        "",
        r#"
  Price:
    attributes: {code: string 1..9, from: time = now, until: time?, amount: int 0..99}
    key: {PK: "PRICE#{code}", SK: "{from}"}
    history: {at: from, until: until, same: keep}
"#,
    );
    let line = r#"{"Price": {"code": "x", "from": "2026-01-01T00:00:00.000Z", "until": "2026-02-01T00:00:00.000Z", "amount": 1}}"#;
    let (table, old) = filled(&text, line).await;
    let items = table.contents().await;
    let mut guard = items.values().find(|item| item.contains_key("$of")).unwrap().clone();
    guard.insert("$closed".to_owned(), "2026-02-01T00:00:00.000Z".into());
    let request = PutRequest {
        table: table.name.clone(),
        item: guard,
        ..PutRequest::default()
    };
    table.store.put(&request).await.unwrap();
    let new = table.engine(&text.replace("Price:", "Tariff:\n    was: Price"));
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    let guards = table.contents().await;
    let guards: Vec<&Item> = guards.values().filter(|item| item.contains_key("$of")).collect();
    assert_eq!(guards.len(), 1);
    assert_eq!(guards[0]["$of"], "Tariff#x".into());
    assert_eq!(guards[0]["$closed"], "2026-02-01T00:00:00.000Z".into());
}

/// Every record that a migration leaves in the stream says on one side that it is of one: no follower takes it for a change.
#[tokio::test]
async fn a_stream_tells_of_no_change() {
    let text = model(", ttl: ends, stream: both_images", OFFER);
    let lines: String = (0..20)
        .map(|at| format!("{{\"Offer\": {{\"id\": \"o{at}\", \"price\": {at}}}}}\n"))
        .collect();
    let (table, old) = filled(&text, &lines).await;
    let before = records(&table).await.len();
    let new = table.engine(
        &text
            .replace("\"OFFER#{id}\"", "\"O#{id}\"")
            .replace("int 0..99", "int 0..999"),
    );
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    assert_sound(&new).await;
    let of_rows: Vec<_> = records(&table).await.split_off(before);
    let of_rows = of_rows.iter().filter(|(old, new)| {
        let is_row = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key("price"));
        is_row(old) || is_row(new)
    });
    let mut count = 0;
    for (old, new) in of_rows {
        count += 1;
        let is_noted = |item: &Option<Item>| item.as_ref().is_some_and(|item| item.contains_key(MIGRATED));
        assert!(is_noted(old) || is_noted(new), "{old:?} {new:?}");
    }
    assert_eq!(count, 20 * 3, "left, come, noted no longer");
    assert_eq!(
        table
            .contents()
            .await
            .values()
            .filter(|item| item.contains_key(STAMP))
            .count(),
        0
    );
}

async fn records(table: &Table) -> Vec<(Option<Item>, Option<Item>)> {
    let mut all = Vec::new();
    let mut position = StreamPosition::Start;
    loop {
        let request = StreamRequest {
            table: table.name.clone(),
            position,
            limit: 1000,
        };
        let page = table.store.read_stream(&request).await.unwrap();
        if page.records.is_empty() {
            return all;
        }
        all.extend(page.records.into_iter().map(|record| (record.old, record.new)));
        position = page.next;
    }
}
