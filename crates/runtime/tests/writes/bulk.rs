//! Operations that are more than one transaction: who may, who comes at the same time, and what an interruption leaves.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use singlet_runtime::Caller;
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

use super::faulty_store::{Fault, FaultyStore};
use super::support::{System, number, refused, role, user};

const LISTS: &str = r#"
singlet: 1
name: lists
table:
  name: lists
  key: {partition: PK, sort: SK}
  type: type
callers:
  jwt: {audience: lists, claims: {id: sub}}
entities:
  List:
    attributes:
      id: string 1..40
      owner: string 1..40
      locked: bool = false
      visits: int 0.. = 0
    key: {PK: "LIST#{id}", SK: "LIST"}
  Entry:
    attributes:
      id: List.id
      entry: ulid = ulid()
      seen: int 0.. = 0
    key: {PK: "LIST#{id}", SK: "ENTRY#{entry}"}
  Note:
    attributes:
      id: List.id
      note: int 0..999
      text: string 0..99 = ""
    key: {PK: "NOTE#{id}", SK: "NOTE#{note}"}
  NoteByText:
    mirrors: Note
    carries: [text]
    key: {PK: "TEXT#{id}", SK: "{text}#{note}"}
reads:
  list:
    get: List
    where: id == args.id
    allow: owner == caller.id
    http: GET /lists/{id}
writes:
  make:
    http: POST /lists
    allow: caller.authenticated
    do:
      - create: List
        set: {owner: caller.id}
        take: [id]
  lock:
    http: POST /lists/{id}/lock
    allow: caller.authenticated
    do:
      - update: List(args.id)
        set: {locked: true}
  add:
    http: POST /lists/{id}/entries
    allow: caller.authenticated
    do:
      - create: Entry
        set: {id: args.id}
  clear:
    http: POST /lists/{id}/clear
    let: {list: List(args.id)}
    allow: list.owner == caller.id
    require:
      - (!list.locked) else list_locked
    bulk: true
    do:
      - for: {e: {find: Entry, where: id == args.id}}
        delete: e
    return: {cleared: done}
  look:
    http: POST /lists/{id}/look
    allow: caller.authenticated
    bulk: true
    do:
      - for: {e: {find: Entry, where: id == args.id}}
        update: e
        add: {seen: 1}
    return: {looked: done}
  lookAt:
    http: POST /lists/{id}/look-at
    args: {entries: "list(Entry.entry) ..40"}
    allow: caller.authenticated
    bulk: true
    do:
      - for: {e: args.entries}
        update: Entry(args.id, e)
        add: {seen: 1}
    return: {looked: done}
  visit:
    http: POST /lists/{id}/visit
    args: {entries: "list(Entry.entry) ..40"}
    allow: caller.authenticated
    bulk: true
    do:
      - for: {e: args.entries}
        do:
          - update: Entry(args.id, e)
            add: {seen: 1}
          - update: List(args.id)
            add: {visits: 1}
    return: {visited: done}
  jot:
    http: POST /lists/{id}/notes
    args: {notes: "list(int) ..40"}
    allow: caller.authenticated
    bulk: true
    do:
      - for: {n: args.notes}
        create: Note
        set: {id: args.id, note: n, text: '"old"'}
    return: {jotted: done}
  rewrite:
    http: POST /lists/{id}/rewrite
    args: {notes: "list(int) ..10"}
    allow: caller.authenticated
    do:
      - for: {n: args.notes}
        update: Note(args.id, n)
        set: {text: '"new"'}
    return: nothing
"#;

/// Ada's list of some entries.
async fn with_list(store: Arc<dyn Store>, entries: usize) -> System {
    let system = System::placed("lists", LISTS, (store, false)).await;
    let list = json!({"id": "l"});
    system.write("make", &user("ada"), list.clone()).await.unwrap();
    for _ in 0..entries {
        system.write("add", &user("ada"), list.clone()).await.unwrap();
    }
    system
}

async fn entries(system: &System) -> usize {
    system.keys_under("LIST#l | ENTRY#").await.len()
}

#[tokio::test]
async fn what_a_row_says_of_the_caller_counts_before_anything_is_done() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 5).await;
    let list = json!({"id": "l"});
    for write in [system.write("clear", &user("bob"), list.clone()).await, {
        let none = json!({"id": "none"});
        system.write("clear", &user("ada"), none).await
    }] {
        assert_eq!(write, refused("list_not_found 404"));
    }
    assert_eq!(entries(&system).await, 5);
    system.write("lock", &user("ada"), list.clone()).await.unwrap();
    assert_eq!(
        system.write("clear", &user("ada"), list.clone()).await,
        refused("list_locked 409")
    );
    assert_eq!(entries(&system).await, 5);
    assert_eq!(system.keys_under("$progress").await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_interrupted_goes_on_where_it_stopped() {
    let store = FaultyStore::new(0, 1);
    let system = with_list(store.clone(), 35).await;
    let list = json!({"id": "l"});
    // The progress and ten turns arrive, or twenty; the next are lost for good, done or not.
    for lost in [Fault::LostBefore, Fault::LostAfter] {
        let before = entries(&system).await;
        store.expect(&[Fault::None, Fault::None]);
        store.expect(&[lost; 20]);
        let stopped = system.write("clear", &user("ada"), list.clone()).await.unwrap_err();
        assert!(stopped.starts_with("error: unavailable"), "{stopped}");
        store.calm();
        assert!(entries(&system).await < before);
        assert_eq!(system.keys_under("$progress").await.len(), 1);
    }
    // It was allowed when it began.
    system.write("lock", &user("ada"), list.clone()).await.unwrap();
    assert_eq!(
        system.write("clear", &user("ada"), list).await,
        Ok(json!({"cleared": 35}))
    );
    assert_eq!(system.keys().await, ["LIST#l | LIST"]);
}

/// How often each entry was looked at.
async fn seen(system: &System) -> Vec<i64> {
    let mut all = Vec::new();
    for key in system.keys_under("LIST#l | ENTRY#").await {
        all.push(system.attribute(&key, "seen").await.unwrap().as_i64().unwrap());
    }
    all
}

#[tokio::test]
async fn rows_that_are_still_found_have_one_turn_however_often_it_stops() {
    for rows in [5, 60] {
        let store = FaultyStore::new(0, 1);
        let system = with_list(store.clone(), 5).await;
        let list = json!({"id": "l"});
        for _ in 5..rows {
            system.write("add", &user("ada"), list.clone()).await.unwrap();
        }
        // Some transactions arrive; the next is lost for good, done or not.
        for (turns, lost) in [(3, Fault::LostBefore), (1, Fault::LostAfter), (1, Fault::LostAfter)] {
            store.expect(&vec![Fault::None; turns]);
            store.expect(&[lost; 20]);
            let stopped = system.write("look", &user("ada"), list.clone()).await;
            store.calm();
            assert!(stopped.is_err() || rows == 5, "{stopped:?}");
            if stopped.is_ok() {
                break;
            }
        }
        if seen(&system).await.contains(&0) {
            let looked = system.write("look", &user("ada"), list).await;
            assert_eq!(looked, Ok(json!({"looked": rows})));
        }
        assert_eq!(seen(&system).await, vec![1; rows]);
        assert_eq!(system.keys_under("$progress").await, Vec::<String>::new());
    }
}

/// Callers without an id cannot be told apart: with a key it is done once, and whoever asks again is told no more than that.
#[tokio::test]
async fn who_has_no_id_has_it_done_once_and_is_not_answered_again() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 5).await;
    let somebody = Caller {
        authenticated: true,
        ..Caller::anonymous()
    };
    let list = json!({"id": "l"});
    let looked = system.write_once("look", &somebody, "k", list.clone()).await;
    assert_eq!(looked, Ok(json!({"looked": 5})));
    let again = system.write_once("look", &somebody, "k", list.clone()).await;
    assert_eq!(again, Err("already done".to_owned()));
    assert_eq!(seen(&system).await, [1; 5]);
    for key in system.keys_under("$request").await {
        assert_eq!(system.attribute(&key, "response.body").await, None);
    }
    // Neither is somebody with an id answered what they were, whatever the id.
    for id in ["-", "ada"] {
        let looked = system.write_once("look", &user(id), "k", list.clone()).await;
        assert_eq!(looked, Ok(json!({"looked": 5})), "{id}");
    }
    assert_eq!(seen(&system).await, [3; 5]);
}

#[tokio::test]
async fn an_element_that_is_passed_over_is_counted() {
    let store = FaultyStore::new(0, 1);
    let system = with_list(store.clone(), 5).await;
    let keys = system.keys_under("LIST#l | ENTRY#").await;
    let mut entries: Vec<&str> = keys.iter().filter_map(|key| key.rsplit('#').next()).collect();
    // The second is nobody's.
    entries.insert(1, "00000000000000000000000000");
    let asked = json!({"id": "l", "entries": entries});
    store.expect(&[Fault::None; 4]);
    store.expect(&[Fault::LostBefore; 20]);
    system.write("lookAt", &user("ada"), asked.clone()).await.unwrap_err();
    store.calm();
    system.write("lookAt", &user("ada"), asked).await.unwrap();
    assert_eq!(seen(&system).await, [1; 5]);
}

#[tokio::test]
async fn what_was_left_for_a_day_begins_anew() {
    let store = FaultyStore::new(0, 1);
    let system = with_list(store.clone(), 35).await;
    let list = json!({"id": "l"});
    let stop = async |turns: usize| {
        store.expect(&vec![Fault::None; turns]);
        store.expect(&[Fault::LostBefore; 20]);
        system.write("clear", &user("ada"), list.clone()).await.unwrap_err();
        store.calm();
    };
    let until = async || {
        let progress = system.keys_under("$progress").await;
        system
            .attribute(&progress[0], "$until")
            .await
            .unwrap()
            .as_i64()
            .unwrap()
    };
    stop(2).await;
    assert_eq!(until().await, system.now() / 1_000 + 86_400);
    // Each transaction renews it.
    system.pass(86_000_000);
    stop(1).await;
    assert_eq!(until().await, system.now() / 1_000 + 86_400);
    system.write("lock", &user("ada"), list.clone()).await.unwrap();
    system.pass(86_400_000);
    assert_eq!(
        system.write("clear", &user("ada"), list.clone()).await,
        refused("list_locked 409"),
        "what was allowed a day ago is asked again"
    );
    assert_eq!(entries(&system).await, 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_at_once_do_it_once() {
    for seed in 0..5 {
        let system = Arc::new(System::on("country", FaultyStore::busy(5, seed)).await);
        let countries: Vec<Json> = (0..8)
            .map(|at| {
                let letter = char::from(b'A' + at);
                json!({
                    "alpha2Code": format!("A{letter}"), "alpha3Code": format!("AA{letter}"),
                    "numericCode": format!("00{at}"), "name": "x",
                })
            })
            .collect();
        let file = json!({ "countries": countries });
        let loads: Vec<_> = (0..10)
            .map(|_| {
                let (system, file) = (Arc::clone(&system), file.clone());
                tokio::spawn(async move {
                    let load = async || {
                        system
                            .write_once("loadCountries", &role("w", "writer"), "k", file.clone())
                            .await
                    };
                    let mut outcome = load().await;
                    while outcome == refused("conflict") {
                        outcome = load().await;
                    }
                    outcome
                })
            })
            .collect();
        for load in loads {
            assert_eq!(load.await.unwrap(), Ok(json!({"loaded": 8})));
        }
        let rows = system.promises().await;
        assert_eq!(rows.of("Country").len(), 8);
        assert_eq!(system.keys_under("$progress").await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_is_done_in_turns_takes_no_version() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 5).await;
    let mut request = system.request("clear", &user("ada"), &json!({"id": "l"}));
    request.precondition = Some(number(1)).into();
    let refused = system.send("clear", &request).await.unwrap_err();
    assert!(refused.to_string().contains("takes no version"), "{refused}");
    assert_eq!(entries(&system).await, 5);
}

/// The entries of the list, by their ids.
async fn entry_ids(system: &System) -> Vec<String> {
    let keys = system.keys_under("LIST#l | ENTRY#").await;
    keys.iter()
        .filter_map(|key| Some(key.rsplit('#').next()?.to_owned()))
        .collect()
}

/// The write units and the read units that a write takes.
async fn units(system: &System, write: &str, args: Json) -> (u64, f64) {
    let request = system.request(write, &user("ada"), &args);
    let consumed = system.send(write, &request).await.unwrap().consumed.total_units();
    (consumed.write.get(), consumed.read.half_count() as f64 / 2.0)
}

#[tokio::test]
async fn turns_about_different_rows_share_a_transaction() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 20).await;
    // Two for each row, two for the progress with each ten of them; it is put and removed once.
    let (written, _) = units(&system, "look", json!({"id": "l"})).await;
    assert_eq!(written, 20 * 2 + 2 * 2 + 2);
    assert_eq!(seen(&system).await, vec![1; 20]);
    // A row and its mirror, in a transaction either way.
    let notes: Vec<i64> = (0..20).collect();
    let (written, _) = units(&system, "jot", json!({"id": "l", "notes": notes})).await;
    assert_eq!(written, 20 * 4 + 2 * 2 + 2);
    assert_eq!(system.keys_under("TEXT#l | ").await.len(), 20);
}

#[tokio::test]
async fn turns_about_one_row_are_taken_one_by_one() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 7).await;
    let ids = entry_ids(&system).await;
    let visited = system
        .write("visit", &user("ada"), json!({"id": "l", "entries": ids}))
        .await;
    assert_eq!(visited, Ok(json!({"visited": 7})));
    assert_eq!(seen(&system).await, vec![1; 7]);
    assert_eq!(system.attribute("LIST#l | LIST", "visits").await, Some(json!(7)));
    // One that is named twice has two turns.
    let first = &ids[0];
    let twice = json!({"id": "l", "entries": [first, first, &ids[1], first]});
    let looked = system.write("lookAt", &user("ada"), twice).await;
    assert_eq!(looked, Ok(json!({"looked": 4})));
    assert_eq!(seen(&system).await, [4, 2, 1, 1, 1, 1, 1]);
}

/// One of many that is refused stops it there: what was before it is done, and what is behind it is not.
#[tokio::test]
async fn a_turn_that_is_refused_leaves_those_before_it() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 0).await;
    system
        .write("jot", &user("ada"), json!({"id": "l", "notes": [4]}))
        .await
        .unwrap();
    let jotted = system
        .write("jot", &user("ada"), json!({"id": "l", "notes": [1, 2, 3, 4, 5, 6]}))
        .await;
    assert_eq!(jotted, refused("note_exists 409"));
    let notes = system.keys_under("NOTE#l | ").await;
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(
        notes.iter().all(|key| !key.ends_with('5') && !key.ends_with('6')),
        "{notes:?}"
    );
}

#[tokio::test]
async fn a_loop_reads_each_row_once() {
    let system = with_list(Arc::new(EmbeddedStore::memory().unwrap()), 0).await;
    let notes: Vec<i64> = (0..10).collect();
    let args = json!({"id": "l", "notes": notes});
    system.write("jot", &user("ada"), args.clone()).await.unwrap();
    let (written, read) = units(&system, "rewrite", args).await;
    assert!((read - 10.0).abs() < 0.01, "{read}");
    // The row, and its mirror at another key.
    assert_eq!(written, 10 * (2 + 4));
    assert_eq!(system.keys_under("TEXT#l | new").await.len(), 10);
}
