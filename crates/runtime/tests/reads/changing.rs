//! Pages of a table that changes at random between them: what stayed comes once, in order; what comes was there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, Request};

use crate::place;
use crate::support::{NOW, System, listed};

const MODEL: &str = r#"
singlet: 1
name: changing
table:
  name: changing
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
    GSI2: {partition: GSI2PK, sort: GSI2SK}
callers:
  jwt: {audience: changing, claims: {id: sub}}
entities:
  Note:
    attributes:
      owner: string 1..9
      id: int 0..99999
      rank: int 0..30
      topic: string 1..5
      flag: bool
    key: {PK: "OWNER#{owner}", SK: "NOTE#{id}"}
    index:
      GSI1: {GSI1PK: "OWNER#{owner}", GSI1SK: "{rank}#{id}"}
      GSI2: {GSI2PK: "TOPIC#{topic}", GSI2SK: "{rank}#{id}"}
reads:
  byId: {find: Note, where: owner == "o", order: id, allow: true}
  byIdDown: {find: Note, where: owner == "o", order: -id, allow: true}
  byRank: {find: Note, where: owner == "o", order: "rank, id", allow: true}
  byRankDown: {find: Note, where: owner == "o", order: "-rank, -id", allow: true}
  flagged: {find: Note, where: owner == "o" && flag, order: "rank, id", allow: true}
  ofTopics: {find: Note, where: 'topic in ["a", "b", "d"]', order: "rank, id", allow: true}
  ofTopicsDown: {find: Note, where: 'topic in ["a", "b", "d"] && !flag', order: "-rank, -id", allow: true}
  either: {find: Note, where: owner == "o" || topic == "a", order: "rank, id", allow: true}
  eitherDown: {find: Note, where: 'topic == "c" || topic == "d" && flag || owner == "p"', order: "-rank, -id", allow: true}
"#;

/// A read, the meaning of it, and whether it descends; rows by id where it says so, else by rank and id.
type Case = (&'static str, fn(&Json) -> bool, bool, bool);

const CASES: &[Case] = &[
    ("byId", |note| note["owner"] == "o", false, true),
    ("byIdDown", |note| note["owner"] == "o", true, true),
    ("byRank", |note| note["owner"] == "o", false, false),
    ("byRankDown", |note| note["owner"] == "o", true, false),
    (
        "flagged",
        |note| note["owner"] == "o" && note["flag"] == true,
        false,
        false,
    ),
    ("ofTopics", |note| is_of(note, &["a", "b", "d"]), false, false),
    (
        "ofTopicsDown",
        |note| is_of(note, &["a", "b", "d"]) && note["flag"] == false,
        true,
        false,
    ),
    (
        "either",
        |note| note["owner"] == "o" || is_of(note, &["a"]),
        false,
        false,
    ),
    (
        "eitherDown",
        |note| is_of(note, &["c"]) || is_of(note, &["d"]) && note["flag"] == true || note["owner"] == "p",
        true,
        false,
    ),
];

fn is_of(note: &Json, topics: &[&str]) -> bool {
    topics.iter().any(|topic| note["topic"] == *topic)
}

/// A table and what is known to be in it.
struct Table {
    system: System,
    notes: BTreeMap<u64, Json>,
    touched: BTreeSet<u64>,
    random: fastrand::Rng,
}

impl Table {
    async fn filled(seed: u64) -> Table {
        let mut table = Table {
            system: System::of(MODEL, "").await,
            notes: BTreeMap::new(),
            touched: BTreeSet::new(),
            random: fastrand::Rng::with_seed(seed),
        };
        for _ in 0..table.random.usize(0..70) {
            let id = table.random.u64(0..100_000);
            table.put(id).await;
        }
        table.touched.clear();
        table
    }

    fn note(&mut self, id: u64) -> Json {
        json!({
            "owner": if self.random.u8(..3) < 2 { "o" } else { "p" },
            "id": id,
            "rank": self.random.u64(0..=30),
            "topic": (["a", "b", "c", "d", "e"][self.random.usize(0..5)]),
            "flag": self.random.bool(),
        })
    }

    /// Puts a note with this id, in place of any that there is.
    async fn put(&mut self, id: u64) {
        self.remove(id).await;
        let note = self.note(id);
        self.system.put("Note", &note).await;
        self.notes.insert(id, note);
    }

    async fn remove(&mut self, id: u64) {
        self.touched.insert(id);
        if let Some(note) = self.notes.remove(&id) {
            self.system.remove("Note", &note).await;
        }
    }

    /// Some id that is in the table, mostly; often the last that was given.
    fn any(&mut self, last: Option<u64>) -> u64 {
        let at = self.random.usize(..self.notes.len().max(1));
        let there = self.notes.keys().nth(at).copied().unwrap_or(1);
        match last {
            Some(last) if self.random.u8(..3) == 0 => last,
            _ => there,
        }
    }

    /// A few inserts, removals and changes that move rows.
    async fn change(&mut self, last: Option<u64>) {
        for _ in 0..self.random.usize(0..6) {
            let id = self.any(last);
            match self.random.u8(..4) {
                0 => {
                    let fresh = self.random.u64(0..100_000);
                    self.put(fresh).await;
                }
                1 => {
                    // Right beside another in every order.
                    let mut note = self.note(id.wrapping_add(1) % 100_000);
                    if let Some(known) = self.notes.get(&id) {
                        note = known.clone();
                        note["id"] = json!((id + 1) % 100_000);
                    }
                    let id = note["id"].as_u64().unwrap();
                    self.remove(id).await;
                    self.system.put("Note", &note).await;
                    self.notes.insert(id, note);
                }
                2 => self.remove(id).await,
                _ => self.put(id).await,
            }
        }
    }

    /// Reads all pages while the table changes, and checks what they give.
    async fn walk(&mut self, (read, keep, down, by_id): Case, limit: usize) {
        let order = |note: &Json| {
            let id = note["id"].as_u64().unwrap();
            (if by_id { 0 } else { note["rank"].as_u64().unwrap() }, id)
        };
        let before = self.notes.clone();
        self.touched.clear();
        let mut request = Request {
            caller: Caller::anonymous(),
            limit: Some(limit),
            now: NOW,
            ..Request::default()
        };
        let mut got: Vec<Json> = Vec::new();
        loop {
            let answer = self.system.engine.read(read, &request).await.unwrap();
            for row in listed(&answer) {
                let id = row["id"].as_u64().unwrap();
                assert_eq!(
                    self.notes.get(&id),
                    Some(&sorted(&row)),
                    "{read}: a row that is not there"
                );
                assert!(keep(&row), "{read}: a row that does not belong");
                got.push(row);
            }
            request.cursor = answer.next;
            if request.cursor.is_none() {
                break;
            }
            let last = got.last().map(|row| row["id"].as_u64().unwrap());
            self.change(last).await;
        }
        let touched = self.touched.clone();
        let stayed = |note: &&Json| !touched.contains(&note["id"].as_u64().unwrap());
        let mut expected: Vec<_> = before
            .values()
            .filter(|note| keep(note))
            .filter(stayed)
            .map(order)
            .collect();
        expected.sort();
        if down {
            expected.reverse();
        }
        let seen: Vec<_> = got.iter().filter(stayed).map(order).collect();
        assert_eq!(seen, expected, "{read} by {limit}");
    }
}

/// The row with its names in the order in which the test writes them.
fn sorted(row: &Json) -> Json {
    json!({"owner": row["owner"], "id": row["id"], "rank": row["rank"], "topic": row["topic"], "flag": row["flag"]})
}

#[tokio::test]
async fn what_stays_comes_once_whatever_changes_between_pages() {
    for seed in 0..place::ROUNDS {
        println!("seed {seed}");
        let mut table = Table::filled(seed).await;
        for (read, alternatives) in [("byRank", 1), ("ofTopics", 1), ("either", 2), ("eitherDown", 3)] {
            let plan = &table.system.engine.plan(read).unwrap().combinations[0].parts[0].plan;
            assert_eq!(plan.queries.len(), alternatives, "{read}");
        }
        for case in CASES {
            let limit = [1, 2, 3, 5, 9][table.random.usize(0..5)];
            table.walk(*case, limit).await;
        }
    }
}
