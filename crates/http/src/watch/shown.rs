//! What a watcher holds, and the events that make it what the read answers now.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::Value;
use singlet_values::json_text;

/// The rows that a watcher has been told, in their order.
#[derive(Debug, Default)]
pub(super) struct ShownRows {
    rows: Vec<ShownRow>,
}

/// A row, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ShownRow {
    /// What tells it from the others.
    identity: String,
    text: String,
}

impl ShownRows {
    /// The rows of an answer, which attributes tell apart; where one is not shown, a row is told apart by all that is.
    pub fn of(rows: &[Value], key: &[String]) -> Self {
        let row = |value: &Value| {
            let text = json_text::json_of(value);
            let parts: Option<Vec<String>> = match value {
                Value::M(row) => key.iter().map(|name| row.get(name).map(json_text::json_of)).collect(),
                _ => None,
            };
            let identity = parts.map_or_else(|| text.clone(), |parts| parts.join(","));
            ShownRow { identity, text }
        };
        ShownRows {
            rows: rows.iter().map(row).collect(),
        }
    }

    /// What names this state: the same rows in the same order have the same one.
    pub fn id(&self) -> String {
        let text = self.rows.iter().fold(String::new(), |all, row| all + &row.text + "\n");
        let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        hash.as_ref()
            .iter()
            .take(ID_BYTES)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The event that tells all of it.
    pub fn page(&self) -> String {
        let rows: Vec<&str> = self.rows.iter().map(|row| row.text.as_str()).collect();
        event("page", &self.id(), &format!("{{\"items\":[{}]}}", rows.join(",")))
    }

    /// The events that make this state another one, and that state: first what goes, then what comes or changes, each with its place
    /// among the rows at that moment.
    pub(crate) fn become_next(&mut self, next: ShownRows) -> String {
        let mut events = String::new();
        let mut place_of: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, row) in next.rows.iter().enumerate() {
            place_of.insert(&row.identity, place);
        }
        // Of those that stay, the ones that keep their order; the others go and come again.
        let mut last = None;
        let mut stay = BTreeSet::new();
        for row in &self.rows {
            let place = place_of.get(row.identity.as_str()).copied();
            if let Some(place) = place.filter(|place| last.is_none_or(|last| last < *place)) {
                last = Some(place);
                stay.insert(row.identity.clone());
            }
        }
        for place in (0..self.rows.len()).rev() {
            if self.rows.get(place).is_some_and(|row| !stay.contains(&row.identity)) {
                self.rows.remove(place);
                events.push_str(&event("removed", &self.id(), &format!("{{\"at\":{place}}}")));
            }
        }
        for (place, row) in next.rows.into_iter().enumerate() {
            let told = format!("{{\"at\":{place},\"item\":{}}}", row.text);
            match self.rows.get_mut(place).filter(|known| known.identity == row.identity) {
                Some(known) if *known == row => {}
                Some(known) => {
                    *known = row;
                    events.push_str(&event("changed", &self.id(), &told));
                }
                None => {
                    self.rows.insert(place, row);
                    events.push_str(&event("added", &self.id(), &told));
                }
            }
        }
        events
    }
}

/// How many bytes of a hash stand in an id.
const ID_BYTES: usize = 12;

/// One event. JSON has no line breaks of its own.
fn event(name: &str, id: &str, data: &str) -> String {
    format!("event: {name}\nid: {id}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

    use serde_json::{Value as Json, json};

    use super::*;

    fn state(rows: &[(u32, u32)]) -> ShownRows {
        let row = |(id, n): &(u32, u32)| {
            Value::M(
                [
                    ("id".to_owned(), Value::from(i64::from(*id))),
                    ("n".to_owned(), Value::from(i64::from(*n))),
                ]
                .into(),
            )
        };
        ShownRows::of(&rows.iter().map(row).collect::<Vec<_>>(), &["id".to_owned()])
    }

    /// What a client makes of events.
    fn follow(mut held: Vec<Json>, events: &str) -> Vec<Json> {
        for event in events.split("\n\n").filter(|event| !event.is_empty()) {
            let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let data: Json = serde_json::from_str(line("data: ")).unwrap();
            let at = || usize::try_from(data["at"].as_u64().unwrap()).unwrap();
            match line("event: ") {
                "page" => held = data["items"].as_array().unwrap().clone(),
                "removed" => drop(held.remove(at())),
                "added" => held.insert(at(), data["item"].clone()),
                "changed" => held[at()] = data["item"].clone(),
                other => panic!("{other}"),
            }
        }
        held
    }

    #[test]
    fn whatever_the_states_a_client_that_follows_holds_the_last() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let mut drawn = || {
                let mut ids: Vec<u32> = (0..8).collect();
                random.shuffle(&mut ids);
                ids.truncate(random.usize(..=8));
                ids.into_iter().map(|id| (id, random.u32(..3))).collect::<Vec<_>>()
            };
            let (one, two) = (drawn(), drawn());
            let mut held = state(&one);
            let client = follow(Vec::new(), &held.page());
            let events = held.become_next(state(&two));
            let expected: Vec<Json> = two.iter().map(|(id, n)| json!({"id": id, "n": n})).collect();
            assert_eq!(follow(client, &events), expected, "{one:?} to {two:?}: {events}");
            let last = events.split("\n\n").filter(|event| !event.is_empty()).last();
            let told = last.map(|last| {
                last.lines()
                    .find_map(|line| line.strip_prefix("id: "))
                    .unwrap()
                    .to_owned()
            });
            assert_eq!(told.unwrap_or_else(|| state(&one).id()), state(&two).id());
        }
    }

    #[test]
    fn what_stays_is_not_told_again() {
        let mut held = state(&[(1, 0), (2, 0), (3, 0)]);
        let events = held.become_next(state(&[(1, 0), (9, 0), (2, 1), (3, 0)]));
        let names: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(names, ["added", "changed"]);
        assert_eq!(held.become_next(state(&[(1, 0), (9, 0), (2, 1), (3, 0)])), "");
    }
}
