//! An index that a model adds is made while rows are read and written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use singlet_face::Company;
use singlet_item::{Number, Value};
use singlet_migrate::{IndexBuilder, before_indexes};
use singlet_runtime::{AuditDepth, Engine, Request, TableOpening, TableUse, WriteRequest, audit_rows, load};

use super::place;
use super::support::{NOW, Table, open_to_write};

const OLD: &str = r#"
singlet: 1
name: desk
table: {name: TABLE, key: {partition: PK, sort: SK}, type: kind}
entities:
  Task:
    attributes: {id: int 0..9999, due: int 0..9999}
    key: {PK: "TASK", SK: "{id}"}
reads:
  tasks: {find: Task, order: id, allow: true}
writes:
  move: {args: {id: int, due: int}, allow: true, do: [{update: Task(args.id), set: {due: args.due}}]}
"#;

fn with_index() -> String {
    let text = OLD.replace(
        "type: kind}",
        "type: kind, indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}}",
    );
    let key = "key: {PK: \"TASK\", SK: \"{id}\"}\n";
    let text = text.replace(
        key,
        &format!("{key}    index: {{GSI1: {{GSI1PK: \"DUE\", GSI1SK: \"{{due}}#{{id}}\"}}}}\n"),
    );
    text.replace("reads:\n", "reads:\n  byDue: {find: Task, order: due, allow: true}\n")
}

async fn filled(rows: usize) -> (Table, Engine) {
    let table = Table::named(place::store().await);
    let old = table.engine(OLD);
    open_to_write(&old).await.unwrap();
    let lines: Vec<String> = (0..rows)
        .map(|id| format!(r#"{{"Task": {{"id": {id}, "due": {}}}}}"#, rows - id))
        .collect();
    load::load_text(&old, &lines.join("\n"), NOW).await.unwrap();
    (table, old)
}

/// Opens a model; whoever was killed at the very end has left nothing to do.
async fn opened(engine: Engine) -> (Engine, IndexBuilder) {
    let opening = TableOpening {
        makes_tables: true,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    let (_, pending) = engine.open_before_indexes(&opening).await.unwrap();
    assert!(pending.is_empty() || pending == ["GSI1"], "{pending:?}");
    before_indexes(engine, &pending)
}

/// The values of an attribute in the order of a read.
async fn read(engine: &Engine, name: &str, attribute: &str) -> Result<Vec<i64>, String> {
    let request = Request {
        limit: Some(100),
        now: NOW,
        ..Request::default()
    };
    let answer = engine.read(name, &request).await.map_err(|error| error.to_string())?;
    let Some(Value::L(rows)) = answer.value else {
        panic!("no list");
    };
    let value = |row: &Value| row.as_map().unwrap()[attribute].as_number().unwrap().to_i64().unwrap();
    Ok(rows.iter().map(value).collect())
}

async fn moved(engine: &Engine, id: i64, due: i64) {
    let number = |number: i64| Value::N(Number::from(number));
    let args = [("id", number(id)), ("due", number(due))];
    let request = WriteRequest {
        args: args.map(|(name, value)| (name.to_owned(), value)).into(),
        now: NOW,
        ..WriteRequest::default()
    };
    engine.write("move", &request).await.unwrap();
}

/// Every row is in the index, in order, and the table knows the new model alone.
async fn assert_whole(engine: &Engine, rows: usize) {
    let due = read(engine, "byDue", "due").await.unwrap();
    assert_eq!(due.len(), rows);
    assert!(due.is_sorted(), "{due:?}");
    assert_eq!(engine.table_control().await.unwrap().unwrap().faces().len(), 1);
    open_to_write(engine).await.unwrap();
    let audit = audit_rows(engine, NOW, AuditDepth::Whole).await.unwrap();
    assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_read_and_written_while_an_index_is_made() {
    const ROWS: usize = 90;
    let (table, _) = filled(ROWS).await;
    let (engine, builder) = opened(table.engine(&with_index())).await;
    assert!(engine.table_control().await.unwrap().unwrap().faces().len() == 2);
    let refused = read(&engine, "byDue", "due").await.unwrap_err();
    assert!(refused.contains("being built"), "{refused}");
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = {
        let (engine, is_over) = (Arc::new(engine), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut writes = 0_usize;
            while !is_over.load(Ordering::SeqCst) || writes < 50 {
                moved(&engine, fastrand::i64(0..90), fastrand::i64(0..9999)).await;
                assert_eq!(read(&engine, "tasks", "id").await.unwrap().len(), ROWS);
                writes += 1;
            }
            engine
        })
    };
    let built = builder.build_indexes(&|| NOW).await.unwrap();
    is_over.store(true, Ordering::SeqCst);
    let engine = writing.await.unwrap();
    assert!(built.rows > 0);
    assert_whole(&engine, ROWS).await;
}

/// Ended anywhere, the next start goes on, and asks for the same index.
#[tokio::test]
async fn who_is_killed_while_an_index_is_made_begins_anew() {
    const ROWS: usize = 40;
    for calls in (0..60).step_by(3) {
        let (table, _) = filled(ROWS).await;
        let (engine, _) = opened(table.engine(&with_index())).await;
        moved(&engine, 3, 7).await;
        let dying = engine.on_store(Arc::new(super::deploying::Failing::after(calls, &table.store)));
        let (_, builder) = before_indexes(dying, &["GSI1".to_owned()]);
        if builder.build_indexes(&|| NOW).await.is_ok() {
            continue;
        }
        let (engine, builder) = opened(table.engine(&with_index())).await;
        moved(&engine, 5, 9).await;
        builder.build_indexes(&|| NOW).await.unwrap();
        assert_whole(&engine, ROWS).await;
    }
}

/// Whatever else differs is refused as before.
#[tokio::test]
async fn only_an_index_is_made_so() {
    let (table, _) = filled(3).await;
    let text = with_index().replace("SK: \"{id}\"", "SK: \"T{id}\"");
    let opening = TableOpening {
        makes_tables: true,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    let error = table.engine(&text).open_before_indexes(&opening).await.unwrap_err();
    assert!(error.to_string().contains("its key is"), "{error}");
}
