//! How much of a model is found again in a table that was written by it: the five systems, and what ElectroDB, OneTable and
//! dynamodb-toolbox write.
//!
//! `cargo test -p singlet-import --test import -- --nocapture found_again` prints it.

use std::collections::BTreeSet;
use std::path::Path;

use singlet_import::propose_model;
use singlet_item::Item;
use singlet_model::Model;
use singlet_model::model::{Entity, KeyTemplate, Stored};
use singlet_runtime::load::entity_of_item;
use singlet_store::TableSpec;

use super::{encoded_back, loaded, made_again, table_of};

/// What share of an entity's rows a proposed one has, and the other way round, in percent, where it is the same.
const SAME_PERCENT_MIN: usize = 90;

/// What was looked for, and what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recall {
    pub entities: usize,
    pub entities_found: usize,
    pub templates: usize,
    pub templates_found: usize,
}

impl std::ops::AddAssign for Recall {
    fn add_assign(&mut self, more: Self) {
        self.entities += more.entities;
        self.entities_found += more.entities_found;
        self.templates += more.templates;
        self.templates_found += more.templates_found;
    }
}

/// The templates of an entity. What stands in keys alone has a name that nobody can know.
fn templates(entity: &Entity) -> BTreeSet<(String, String)> {
    let of_indexes = entity
        .index
        .iter()
        .flat_map(|entry| entry.key_choices())
        .flat_map(|choice| &choice.keys);
    let shown = |key: &KeyTemplate| {
        let mut text = key.text.clone();
        for attribute in entity.attributes.iter().filter(|own| own.stored == Stored::No) {
            for (before, after) in [("{", "}"), ("(", ")")] {
                text = text.replace(
                    &format!("{before}{}{after}", attribute.name),
                    &format!("{before}*{after}"),
                );
            }
        }
        // A key that is an attribute is the same as one that is made of it alone.
        let own = format!("{{{}}}", key.attribute);
        (key.attribute.clone(), if text == key.attribute { own } else { text })
    };
    entity.key_templates().chain(of_indexes).map(shown).collect()
}

/// Holds what is proposed for a table against the model that wrote it.
pub fn recall(name: &str, model: &Model, spec: &TableSpec, items: &[Item]) -> Recall {
    let proposal = propose_model(name, spec, items);
    let claimed = proposal.claimed_count();
    assert!(encoded_back(&proposal, items) >= claimed, "{name}\n{}", proposal.text);
    let unclaimed = proposal.unclaimed_count();
    assert_eq!(claimed + unclaimed + proposal.own, items.len(), "{name}");
    assert!(
        unclaimed * 50 <= items.len(),
        "{name}: {unclaimed} of {}\n{}",
        items.len(),
        proposal.text
    );
    eprintln!(
        "{name}: {claimed} of {} items claimed, {} of Singlet itself",
        items.len(),
        proposal.own
    );
    for group in &proposal.not_claimed {
        eprintln!("  {group:?}");
    }
    let proposed = loaded(&proposal.text);
    let again = made_again(&proposed, items);
    let mut found = Recall::default();
    for entity in &model.entities {
        let is_own = |item: &Item| {
            let is_row = !item.keys().any(|name| name.starts_with("$guard"));
            is_row && entity_of_item(model, item).is_some_and(|own| own.name == entity.name)
        };
        let own: BTreeSet<usize> = (0..items.len()).filter(|at| is_own(&items[*at])).collect();
        if own.is_empty() {
            continue;
        }
        found.entities += 1;
        let nearest = again
            .iter()
            .max_by_key(|(_, items)| items.intersection(&own).count())
            .unwrap();
        let both = nearest.1.intersection(&own).count();
        let is_same = both * 100 >= own.len() * SAME_PERCENT_MIN && both * 100 >= nearest.1.len() * SAME_PERCENT_MIN;
        found.entities_found += usize::from(is_same);
        let (wanted, got) = (templates(entity), templates(nearest.0));
        found.templates += wanted.len();
        found.templates_found += wanted.intersection(&got).count();
        if !is_same {
            eprintln!(
                "{name}: {}: {both} of {} rows are of {}",
                entity.name,
                own.len(),
                nearest.0.name
            );
        }
        for (key, text) in wanted.difference(&got) {
            eprintln!("{name}: {}: {key} {text} is not found: {got:?}", entity.name);
        }
    }
    found
}

#[tokio::test]
async fn the_five_systems_are_found_again() {
    let mut all = Recall::default();
    for name in ["todo", "wardrobe", "country", "booking", "ecobid"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{name}"));
        let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        let (model, spec, items) = table_of(&text("model.yaml"), &text("sample.jsonl")).await;
        all += recall(name, &model, &spec, &items);
    }
    eprintln!("{all:?}");
    // What is missing is a key by condition, which no rows prove.
    let wanted = Recall {
        entities: 25,
        entities_found: 25,
        templates: 77,
        templates_found: 76,
    };
    assert_eq!(all, wanted);
}

/// Drawn the same each time.
struct Drawn(u64);

impl Drawn {
    fn number(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// Letters that fold, delimiters of every library, and what is escaped elsewhere.
    fn text(&mut self) -> String {
        let letters: Vec<char> = "aBZ7éÉßΣЖ#$:_-% 日\"'\\{".chars().collect();
        let count = 1 + self.number(8);
        (0..count)
            .map(|_| letters[self.number(letters.len() as u64) as usize])
            .collect()
    }

    fn named(&mut self, at: usize) -> String {
        format!("{}-{at}", self.text())
    }
}

/// A model of what a library writes, held against that library itself by `scripts/foreign-libraries`.
fn library(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/foreign-tables");
    std::fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap()
}

fn line(entity: &str, row: serde_json::Value) -> String {
    serde_json::json!({ entity: row }).to_string() + "\n"
}

fn library_rows(name: &str, rows: usize) -> String {
    let mut drawn = Drawn(20_261_118);
    let mut lines = String::new();
    for at in 0..rows {
        let (id, other, text) = (drawn.named(at), drawn.named(at), drawn.text());
        let number = drawn.number(9999);
        let rows = match name {
            "electrodb" => [
                line(
                    "task",
                    serde_json::json!({"project": id, "taskId": other, "assignee": text, "status": (["open", "closed"][at % 2]), "createdAt": number}),
                ),
                line("person", serde_json::json!({"email": id + "@x.org", "name": other})),
            ],
            "onetable" => [
                line("Account", serde_json::json!({"id": id, "name": text})),
                line(
                    "User",
                    serde_json::json!({"accountId": id, "email": other + "@x.org", "role": (["user", "admin"][at % 2])}),
                ),
            ],
            _ => [
                line(
                    "Order",
                    serde_json::json!({"customer": text, "orderId": other, "state": (["new", "sent"][at % 2]), "total": number, "lines": []}),
                ),
                String::new(),
            ],
        };
        lines.extend(rows);
    }
    lines
}

#[tokio::test]
async fn tables_of_three_libraries_are_found_again() {
    let mut all = Recall::default();
    for name in ["electrodb", "onetable", "dynamodb-toolbox"] {
        let (model, spec, items) = table_of(&library(name), &library_rows(name, 200)).await;
        all += recall(name, &model, &spec, &items);
    }
    eprintln!("{all:?}");
    let wanted = Recall {
        entities: 5,
        entities_found: 5,
        templates: 16,
        templates_found: 16,
    };
    assert_eq!(all, wanted);
}
