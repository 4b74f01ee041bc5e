//! Rows without versions: what happened, and what is no change.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use singlet_changes::{ChangeKind, ChangeReader, ChangeSource};
use singlet_item::{Number, Value};
use singlet_store::{StreamPosition, StreamView};

use crate::support::{NOW, System, item};

/// Notes with a unique title, a mirror, records of requests and an end.
fn model(view: &str, table: &str) -> String {
    format!(
        r#"
singlet: 1
name: notes
table: {{name: notes, key: {{partition: PK, sort: SK}}, ttl: ttl, stream: {view}{table}}}
entities:
  Note:
    attributes:
      id: string 1..8
      title: string 1..20
      n: int 0..99 = 0
      due: time?
    key: {{PK: "NOTE#{{id}}", SK: "NOTE"}}
    unique: {{title: lower(title)}}
    expires: due
  NoteByTitle:
    mirrors: Note
    carries: all
    key: {{PK: "TITLE#{{title}}", SK: "NOTE#{{id}}"}}
writes:
  add: {{allow: true, do: [{{create: Note, take: [id, title, due]}}]}}
  raise: {{allow: true, args: {{id: string 1..8}}, do: [{{update: Note(args.id), add: {{n: 1}}}}]}}
  drop: {{allow: true, args: {{id: string 1..8}}, do: [{{delete: Note(args.id)}}]}}
  move: {{allow: true, args: {{id: string 1..8, to: string 1..8}}, do: [{{update: Note(args.id), rekey: true, set: {{id: args.to}}}}]}}
"#
    )
}

fn notes(view: &str) -> String {
    model(view, ", type: kind")
}

#[tokio::test]
async fn a_row_is_created_updated_and_deleted_and_what_is_kept_beside_it_is_no_change() {
    let system = System::open(&notes("both_images")).await;
    system.write("add", json!({"id": "a", "title": "One"})).await;
    system.write("raise", json!({"id": "a"})).await;
    system.write("drop", json!({"id": "a"})).await;
    let told = system.told().await;
    assert_eq!(
        told.lines(),
        [
            r#"created Note {"id":"a"} - -> {"id":"a","n":0,"title":"One"}"#,
            r#"updated Note {"id":"a"} {"id":"a","n":0,"title":"One"} -> {"id":"a","n":1,"title":"One"}"#,
            r#"deleted Note {"id":"a"} {"id":"a","n":1,"title":"One"} -> -"#,
        ]
    );
    // Guard and mirror come and go, and the mirror is updated.
    assert_eq!((told.nothing, told.unknown, told.misfits.len()), (5, 0, 0));
    assert_eq!(told.changes[1].differing_attributes(), ["n"]);
}

#[tokio::test]
async fn an_id_is_the_same_each_time_and_of_one_change_only() {
    let system = System::open(&notes("both_images")).await;
    for id in ["a", "b", "c"] {
        system.write("add", json!({"id": id, "title": id})).await;
        system.write("raise", json!({"id": id})).await;
    }
    let records = system.records().await;
    let first = system.meaning(records.clone()).await;
    let again = system.meaning(records).await;
    assert_eq!(first.changes, again.changes);
    let ids: BTreeSet<_> = first.changes.iter().map(|change| change.id.clone()).collect();
    assert_eq!(ids.len(), 6);
}

#[tokio::test]
async fn changes_in_one_transaction_have_ids_of_their_own_though_their_number_were_the_same() {
    let system = System::open(&notes("both_images")).await;
    system.write("add", json!({"id": "a", "title": "One"})).await;
    system.write("add", json!({"id": "b", "title": "Two"})).await;
    let mut records = system.records().await;
    records
        .iter_mut()
        .for_each(|record| "7".clone_into(&mut record.sequence));
    let told = system.meaning(records).await;
    let ids: BTreeSet<_> = told.changes.iter().map(|change| change.id.clone()).collect();
    assert_eq!(ids.len(), 2, "{told:?}");
}

#[tokio::test]
async fn a_row_that_is_swept_has_expired() {
    let system = System::open(&notes("both_images")).await;
    let due = "2026-01-01T00:00:00.000Z";
    let past = NOW - 400 * 86_400_000;
    let added = json!({"id": "a", "title": "One", "due": due});
    system.write_at(past, "add", added).await.unwrap();
    system.embedded.delete_expired().await.unwrap();
    let told = system.told().await;
    let kinds: Vec<_> = told.changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Created, ChangeKind::Expired]);
    assert!(told.changes[1].before.is_some() && told.changes[1].after.is_none());
}

#[tokio::test]
async fn a_row_in_the_place_of_one_that_had_expired_is_a_new_one() {
    let system = System::open(&notes("both_images")).await;
    let due = "2026-01-01T00:00:00.000Z";
    let past = NOW - 400 * 86_400_000;
    let added = json!({"id": "a", "title": "One", "due": due});
    system.write_at(past, "add", added).await.unwrap();
    // Nobody has swept it: the item is there, the row is not.
    system.write("add", json!({"id": "a", "title": "Two"})).await;
    let told = system.told().await;
    let lines = told.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].starts_with("expired Note"), "{lines:?}");
    assert_eq!(
        lines[2],
        r#"created Note {"id":"a"} - -> {"id":"a","n":0,"title":"Two"}"#
    );
    assert_ne!(told.changes[1].id, told.changes[2].id);
}

#[tokio::test]
async fn what_a_write_removes_past_its_time_had_expired() {
    let system = System::open(&notes("both_images")).await;
    let mut old = item(&[
        ("PK", "NOTE#a"),
        ("SK", "NOTE"),
        ("kind", "Note"),
        ("id", "a"),
        ("title", "t"),
    ]);
    old.insert("n".to_owned(), Value::N(Number::from(0)));
    old.insert("ttl".to_owned(), Value::N(Number::from(1_000)));
    system.put(old).await;
    system.delete(item(&[("PK", "NOTE#a"), ("SK", "NOTE")])).await;
    let told = system.told().await;
    assert_eq!(told.changes.last().unwrap().kind, ChangeKind::Expired);
}

#[tokio::test]
async fn a_row_that_moves_is_the_end_of_one_key_and_the_beginning_of_another() {
    let system = System::open(&notes("both_images")).await;
    system.write("add", json!({"id": "a", "title": "One"})).await;
    system.write("move", json!({"id": "a", "to": "b"})).await;
    let mut lines = system.told().await.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            r#"created Note {"id":"a"} - -> {"id":"a","n":0,"title":"One"}"#,
            r#"created Note {"id":"b"} - -> {"id":"b","n":0,"title":"One"}"#,
            r#"deleted Note {"id":"a"} {"id":"a","n":0,"title":"One"} -> -"#,
        ]
    );
}

#[tokio::test]
async fn a_stream_that_carries_less_tells_kind_and_key_all_the_same() {
    for (view, before, after) in [
        ("keys_only", false, false),
        ("new_image", false, true),
        ("old_image", true, false),
    ] {
        let system = System::open(&notes(view)).await;
        system.write("add", json!({"id": "a", "title": "One"})).await;
        system.write("raise", json!({"id": "a"})).await;
        system.write("drop", json!({"id": "a"})).await;
        let told = system.told().await;
        let kinds: Vec<_> = told.changes.iter().map(|change| change.kind.word()).collect();
        assert_eq!(kinds, ["created", "updated", "deleted"], "{view}: {told:?}");
        assert!(
            told.changes.iter().all(|change| change.key["id"] == "a".into()),
            "{view}"
        );
        let updated = &told.changes[1];
        assert_eq!(
            (updated.before.is_some(), updated.after.is_some()),
            (before, after),
            "{view}"
        );
        assert_eq!(told.misfits, [], "{view}");
    }
}

#[tokio::test]
async fn guards_are_told_apart_without_a_type_attribute_too() {
    let system = System::open(&model("both_images", "")).await;
    system.write("add", json!({"id": "a", "title": "One"})).await;
    let told = system.told().await;
    assert_eq!((told.changes.len(), told.nothing, told.unknown), (1, 2, 0), "{told:?}");
}

#[tokio::test]
async fn guards_are_told_apart_where_the_partition_key_is_a_number() {
    let text = r#"
singlet: 1
name: cars
table: {name: cars, key: {partition: id}, stream: keys_only}
entities:
  Car:
    attributes: {id: int 1..999, plate: string 1..8}
    unique: {plate: plate}
writes:
  add: {allow: true, do: [{create: Car, take: [id, plate]}]}
"#;
    let system = System::open(text).await;
    assert_eq!(
        singlet_runtime::table::table_spec(system.engine.model()).stream,
        Some(StreamView::KeysOnly)
    );
    system.write("add", json!({"id": 7, "plate": "B-1"})).await;
    let told = system.told().await;
    assert_eq!(told.lines(), [r#"created Car {"id":7} - -> -"#]);
    assert_eq!((told.nothing, told.unknown), (1, 0));
}

#[tokio::test]
async fn a_row_that_does_not_fit_is_told_with_its_reason_and_whole() {
    let system = System::open(&notes("both_images")).await;
    let row = [
        ("PK", "NOTE#a"),
        ("SK", "NOTE"),
        ("kind", "Note"),
        ("id", "a"),
        ("title", "t"),
    ];
    system.put(item(&row)).await;
    let mut wrong = item(&row);
    wrong.insert("n".to_owned(), Value::S("many".to_owned()));
    system.put(wrong.clone()).await;
    let told = system.told().await;
    let reasons: Vec<&str> = told.misfits.iter().map(|misfit| misfit.reason.as_str()).collect();
    assert_eq!(reasons.len(), 2, "{told:?}");
    assert_eq!(reasons[0], "`n` is missing");
    assert!(told.changes.is_empty());
    assert_eq!(told.misfits[1].record.new, Some(wrong));
    assert!(
        told.misfits[0].to_string().contains(r#""PK":"NOTE#a""#),
        "{}",
        told.misfits[0]
    );
}

#[tokio::test]
async fn rows_of_another_system_are_unknown_and_no_misfits() {
    let system = System::open(&notes("both_images")).await;
    system
        .put(item(&[("PK", "ORDER#1"), ("SK", "ORDER"), ("kind", "Order")]))
        .await;
    let told = system.told().await;
    assert_eq!((told.changes.len(), told.misfits.len(), told.unknown), (0, 0, 1));
}

#[tokio::test]
async fn a_row_whose_place_something_else_takes_has_ended() {
    let system = System::open(&notes("both_images")).await;
    let mut note = item(&[
        ("PK", "NOTE#a"),
        ("SK", "NOTE"),
        ("kind", "Note"),
        ("id", "a"),
        ("title", "t"),
    ]);
    note.insert("n".to_owned(), Value::N(Number::from(3)));
    system.put(note).await;
    system
        .put(item(&[("PK", "NOTE#a"), ("SK", "NOTE"), ("kind", "Order")]))
        .await;
    let told = system.told().await;
    assert_eq!(
        told.lines(),
        [
            r#"created Note {"id":"a"} - -> {"id":"a","n":3,"title":"t"}"#,
            r#"deleted Note {"id":"a"} {"id":"a","n":3,"title":"t"} -> -"#,
        ]
    );
}

#[tokio::test]
async fn a_reader_knows_when_it_comes_to_what_happened_after_it_began() {
    let system = System::open(&notes("both_images")).await;
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(system.engine.store()));
    let model = Arc::clone(system.engine.model());
    let mut reader = ChangeReader::new(model, source, StreamPosition::Start).with_page_records(1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    system.write("add", json!({"id": "a", "title": "One"})).await;
    assert!(!reader.has_passed(now - 1));
    reader.next_page().await.unwrap();
    // The store has the same clock, and a minute is more than this takes.
    assert!(reader.has_passed(now - 1) && !reader.has_passed(now + 60));
    // Empty pages do not take it back.
    while !reader.is_at_head() {
        reader.next_page().await.unwrap();
    }
    assert!(reader.has_passed(now - 1));
}

/// A migration puts rows elsewhere, and takes its notes away again: the rows are the same, whatever it does.
#[tokio::test]
async fn what_a_migration_does_is_no_change() {
    let system = System::open(&notes("both_images")).await;
    system.write("add", json!({"id": "a", "title": "One"})).await;
    let made = system.records().await.into_iter().filter_map(|record| record.new);
    let row = made.into_iter().find(|item| item.contains_key("n")).unwrap();
    let noted = |item: &singlet_item::Item| {
        let mut item = item.clone();
        item.insert("$was".to_owned(), Value::M(std::collections::BTreeMap::new()));
        item
    };
    let mut moved = row.clone();
    moved.insert("PK".to_owned(), "NOTE#b".into());
    let left = noted(&item(&[("PK", "NOTE#a"), ("SK", "NOTE"), ("kind", "$moved")]));
    for item in [noted(&row), left, noted(&moved), moved] {
        system.put(item).await;
    }
    system.delete(item(&[("PK", "NOTE#a"), ("SK", "NOTE")])).await;
    system.write("add", json!({"id": "c", "title": "Two"})).await;
    let told = system.told().await;
    assert_eq!(
        told.lines(),
        [r#"created Note {"id":"c"} - -> {"id":"c","n":0,"title":"Two"}"#]
    );
}
