//! What writes consume, against what their plans say: within the range, but for the exceptions that `docs/plan.md` lists.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use std::ops::RangeInclusive;
use std::sync::Arc;

use singlet_item::Value;
use singlet_model::Source;
use singlet_plan::write::{WriteCost, write_costs};
use singlet_runtime::{Attributes, Caller, Engine, WriteRequest, table};
use support::memory;

const MODEL: &str = r##"
singlet: 1
name: notes

table:
  name: notes
  key: {partition: PK, sort: SK}
  indexes:
    byDay: {partition: dayPk, sort: daySk}
    held: {partition: heldPk, sort: heldSk, project: keys}
  type: kind
  ttl: ttl

callers:
  jwt: {audience: notes, claims: {id: sub}}

entities:
  Note:
    attributes:
      owner: string 1..40
      noteId: string 1..40
      day: date = today
      text: string 1..40
      createdAt: time = now
    key: {PK: "U#{owner}", SK: "N#{noteId}"}
    index:
      byDay: {dayPk: "U#{owner}", daySk: "D#{day}#{noteId}"}
    expires: createdAt + days(1)

  Lease:
    attributes: {noteId: Note.noteId, text: Note.text, createdAt: time = now}
    key: {PK: "L#{noteId}", SK: "LEASE"}
    index:
      held: {heldPk: "HELD", heldSk: "{noteId}"}
    expires: createdAt + days(1)

writes:
  takeLease:
    allow: caller.authenticated
    idempotency: none
    do: [{create: Lease, take: [noteId, text]}]

  writeNote:
    allow: caller.authenticated
    idempotency: optional
    do:
      - create: Note
        set: {owner: caller.id}
        take: [noteId, text]

  changeNote:
    args: {noteId: Note.noteId, text: Note.text}
    allow: caller.authenticated
    idempotency: none
    let: {note: 'Note(caller.id, args.noteId)'}
    do:
      - update: note
        set: {text: args.text}

  changeIfThere:
    args: {noteId: Note.noteId, text: Note.text}
    allow: caller.authenticated
    idempotency: none
    do:
      - update: Note(caller.id, args.noteId)
        set: {text: args.text}
        else: skip

  writeTwice:
    args: {noteId: Note.noteId, text: Note.text}
    allow: caller.authenticated
    idempotency: none
    do:
      - create: Note
        set: {owner: caller.id, noteId: args.noteId, text: args.text}
        using: {call: PutItem, condition: true}
      - create: Note
        set: {owner: caller.id, noteId: "args.noteId + \"2\"", text: args.text}
        using: {call: PutItem, condition: true}
"##;

const NOW: i64 = 1_773_133_200_000;
const DAY: i64 = 86_400_000;

struct Notes {
    engine: Engine,
}

impl Notes {
    async fn open() -> Self {
        let loaded = singlet_model::load_source(&Source::new("notes", MODEL));
        let said: Vec<&String> = loaded.diagnostics.iter().map(|finding| &finding.message).collect();
        let model = loaded.model.unwrap_or_else(|| panic!("{said:?}"));
        let store = memory();
        store.create_table(&table::table_spec(&model)).await.unwrap();
        let engine = Engine::open(Arc::new(model), store, Attributes::new(), [7; 32]);
        Notes { engine }
    }

    fn cost(&self, write: &str) -> WriteCost {
        let model = self.engine.model();
        let at = model.writes.iter().position(|known| known.name == write).unwrap();
        write_costs(model).into_iter().nth(at).unwrap()
    }

    /// What the plan says.
    fn range(&self, write: &str) -> RangeInclusive<u64> {
        let cost = self.cost(write);
        cost.least..=cost.most.unwrap()
    }

    /// What it says where rows that have expired stand in the places of new ones.
    fn range_over_expired(&self, write: &str) -> RangeInclusive<u64> {
        let (least, most) = self.cost(write).over_expired;
        least..=most.unwrap()
    }

    /// What a write consumes.
    async fn consumed(&self, write: &str, text: &str, now: i64, key: Option<&str>) -> u64 {
        let request = WriteRequest {
            args: Attributes::from([
                ("noteId".to_owned(), Value::from("n")),
                ("text".to_owned(), Value::from(text)),
            ]),
            caller: Caller::with_id("ada"),
            now,
            idempotency_key: key.map(str::to_owned),
            precondition: None.into(),
        };
        let written = self.engine.write(write, &request).await.unwrap();
        written.consumed.total_units().write.get()
    }
}

#[tokio::test]
async fn a_write_consumes_what_its_plan_says() {
    let notes = Notes::open().await;
    let units = notes.consumed("writeNote", "a", NOW, None).await;
    assert!(notes.range("writeNote").contains(&units), "{units}");
    let units = notes.consumed("changeNote", "b", NOW, None).await;
    assert!(notes.range("changeNote").contains(&units), "{units}");
}

#[tokio::test]
async fn the_index_entries_of_an_expired_row_go_with_it() {
    let notes = Notes::open().await;
    notes.consumed("writeNote", "a", NOW, None).await;
    let units = notes.consumed("writeNote", "a", NOW + 2 * DAY, None).await;
    assert_eq!((units, notes.range_over_expired("writeNote")), (3, 1..=3));
}

#[tokio::test]
async fn an_index_entry_that_is_that_of_an_expired_row_stays() {
    let notes = Notes::open().await;
    let units = notes.consumed("takeLease", "a", NOW, None).await;
    assert_eq!((units, notes.range("takeLease")), (2, 2..=2));
    let units = notes.consumed("takeLease", "b", NOW + 2 * DAY, None).await;
    assert_eq!((units, notes.range_over_expired("takeLease")), (1, 1..=3));
}

#[tokio::test]
async fn a_key_that_need_not_be_sent_has_its_record_written() {
    let notes = Notes::open().await;
    let units = notes.consumed("writeNote", "a", NOW, Some("k1")).await;
    assert!(units > *notes.range("writeNote").end(), "{units}");
}

/// What nothing differs in is only checked, and a check alone is a transaction of its own.
#[tokio::test]
async fn a_row_that_stays_as_it_is_is_only_checked() {
    let notes = Notes::open().await;
    notes.consumed("writeNote", "a", NOW, None).await;
    let range = notes.range("changeNote");
    let changed = notes.consumed("changeNote", "b", NOW, None).await;
    let left = notes.consumed("changeNote", "b", NOW, None).await;
    assert!(range.contains(&changed), "{changed}");
    assert!(left <= *range.end(), "{left}");
}

/// A step that is passed over is a check as well, which takes two units: so may the row where it is not, beside its entry.
#[tokio::test]
async fn a_step_that_is_passed_over_is_a_check() {
    let notes = Notes::open().await;
    let units = notes.consumed("changeIfThere", "a", NOW, None).await;
    assert_eq!((units, *notes.range("changeIfThere").end()), (2, 3));
}

/// A document's calls are counted as it has them: the range is no promise of what the engine does.
#[tokio::test]
async fn calls_of_a_document_are_counted_as_it_has_them() {
    let notes = Notes::open().await;
    assert_eq!(notes.range("writeTwice"), 4..=4, "two puts, each with its entry");
    let units = notes.consumed("writeTwice", "a", NOW, None).await;
    assert_eq!(units, 6, "one transaction of both, and the entries");
}
