//! Tables of the five systems, and tables made to be hard, imported.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use singlet_face::Company;
use singlet_import::{Proposal, SampleOptions, propose_model, read_workbench, sample_table};
use singlet_item::{Item, Number, Value};
use singlet_model::model::Entity;
use singlet_model::{Model, Source};
use singlet_runtime::row::{decode_as_stored, encode_own};
use singlet_runtime::{Attributes, Caller, Engine, Scope, Setting, TableOpening, TableUse, load};
use singlet_store::{
    BatchWrite, BatchWriteRequest, IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, Store, TableSpec,
};
use singlet_store_embedded::EmbeddedStore;

mod designs;
mod recall;

/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;

const ALL: SampleOptions = SampleOptions {
    segments: 16,
    items_max: usize::MAX,
    page_items: 100,
    units_per_second: None,
};

fn loaded(text: &str) -> Model {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(
        !loaded.diagnostics.has_errors(),
        "{text}\n{:?}",
        loaded.diagnostics.into_sorted()
    );
    loaded.model.unwrap()
}

/// A model's table with its rows, as a store has it.
async fn table_of(model: &str, rows: &str) -> (Model, TableSpec, Vec<Item>) {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let engine = Engine::open(Arc::new(loaded(model)), Arc::clone(&store), Attributes::new(), [7; 32]);
    let opening = TableOpening {
        makes_tables: true,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    engine.open_table(&opening).await.unwrap();
    load::load_text(&engine, rows, NOW).await.unwrap();
    let table = engine.model().table.name.clone();
    let sample = sample_table(store.as_ref(), &table, &ALL).await.unwrap();
    assert!(sample.is_whole());
    let spec = store.describe_table(&table).await.unwrap().spec;
    (loaded(model), spec, sample.items)
}

/// The entities of a model, each with the items that it makes again as they are of what it reads from them.
fn made_again<'m>(model: &'m Model, items: &[Item]) -> Vec<(&'m Entity, BTreeSet<usize>)> {
    let setting = Setting::of(model, BTreeMap::new());
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: &setting,
        now: 0,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let is_again = |entity: &Entity, item: &Item| {
        let again = decode_as_stored(entity, item).and_then(|row| encode_own(model, entity, &row, scope));
        again.is_ok_and(|again| again == without_marks(item))
    };
    let of_entity = |entity: &'m Entity| {
        let own = items.iter().enumerate().filter(|(_, item)| is_again(entity, item));
        (entity, own.map(|(at, _)| at).collect())
    };
    model.entities.iter().map(of_entity).collect()
}

/// The items that are rows of the proposed model, told without what proposed it: read by an entity and made again of what was read.
fn encoded_back(proposal: &Proposal, items: &[Item]) -> usize {
    let model = loaded(&proposal.text);
    let again = made_again(&model, items).into_iter();
    let all: BTreeSet<usize> = again.flat_map(|(_, items)| items).collect();
    all.len()
}

/// An item without the marks that Singlet leaves in rows for itself.
fn without_marks(item: &Item) -> Item {
    let mut item = item.clone();
    item.retain(|name, _| !name.starts_with('$'));
    item
}

fn text(value: &str) -> Value {
    Value::S(value.to_owned())
}

fn number(value: i64) -> Value {
    Value::N(Number::from(value))
}

fn item<const N: usize>(attributes: [(&str, Value); N]) -> Item {
    attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn usual_spec() -> TableSpec {
    let key = KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String);
    TableSpec::new("Orders", key)
}

fn all_claimed(spec: &TableSpec, items: &[Item]) -> Proposal {
    let proposal = propose_model("orders", spec, items);
    assert_eq!(
        proposal.claimed_count(),
        items.len(),
        "{:?}\n{}",
        proposal.not_claimed,
        proposal.text
    );
    assert_eq!(encoded_back(&proposal, items), items.len(), "{}", proposal.text);
    proposal
}

fn order(customer: usize, at: usize) -> Item {
    let (customer, order) = (format!("c-{customer}"), format!("{at:06}"));
    item([
        ("PK", text(&format!("CUSTOMER#{customer}"))),
        ("SK", text(&format!("ORDER#{order}"))),
        ("customerId", text(&customer)),
        ("orderId", text(&order)),
        ("total", number(at as i64 * 100)),
        ("state", text(["open", "paid", "sent"][at % 3])),
    ])
}

#[test]
fn kinds_are_told_apart_by_their_keys_where_no_attribute_names_them() {
    let mut items: Vec<Item> = (0..60).map(|at| order(at % 7, at)).collect();
    items.extend((0..7).map(|at| {
        item([
            ("PK", text(&format!("CUSTOMER#c-{at}"))),
            ("SK", text("PROFILE")),
            ("email", text(&format!("someone{at}@example.com"))),
            ("customerId", text(&format!("c-{at}"))),
        ])
    }));
    let proposal = all_claimed(&usual_spec(), &items);
    let names: BTreeSet<&str> = proposal.entities.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["Customer", "Order"]));
    assert!(
        proposal
            .text
            .contains(r#"key: {PK: "CUSTOMER#{customerId}", SK: "ORDER#{orderId}"}"#),
        "{}",
        proposal.text
    );
    assert!(
        proposal.text.contains("state: {enum: [open, paid, sent]}"),
        "{}",
        proposal.text
    );
}

#[test]
fn no_value_of_a_row_is_in_the_model() {
    let people = ["ada", "grace", "joan"];
    let items: Vec<Item> = (0..90)
        .map(|at| {
            let who = people[at % 3];
            item([
                // One tenant alone, so that its name is in every key.
                ("PK", text("tenant#acmecorp")),
                ("SK", text(&format!("person#{who}#{at}"))),
                ("mail", text(&format!("{who}@example.com"))),
                ("firstName", text(who)),
                ("secret", text("hunter")),
            ])
        })
        .collect();
    let proposal = all_claimed(&usual_spec(), &items);
    for value in ["acmecorp", "ada", "grace", "joan", "example.com", "hunter"] {
        assert!(!proposal.text.contains(value), "{value}\n{}", proposal.text);
    }
}

#[test]
fn a_table_of_no_rows_and_of_one() {
    let proposal = propose_model("orders", &usual_spec(), &[]);
    assert_eq!((proposal.claimed_count(), proposal.unclaimed_count()), (0, 0));
    assert!(proposal.text.contains("name: Orders"), "{}", proposal.text);
    let proposal = all_claimed(&usual_spec(), &[order(1, 1)]);
    assert!(!proposal.text.contains("c-1"), "{}", proposal.text);
}

#[test]
fn keys_of_numbers_and_bytes() {
    let key = KeySchema::partition("device", KeyType::Binary).sort("at", KeyType::Number);
    let mut spec = TableSpec::new("Measured", key);
    spec.indexes.push(IndexSpec {
        name: "byPlace".to_owned(),
        kind: IndexKind::Global,
        key: KeySchema::partition("place", KeyType::String).sort("level", KeyType::Number),
        projection: IndexProjection::All,
        units: None,
    });
    let items: Vec<Item> = (0..50_u8)
        .map(|at| {
            let mut item = item([
                ("device", Value::B(vec![at % 5, 0, 255])),
                ("at", number(1_700_000_000 + i64::from(at))),
                ("celsius", Value::N("21.75".parse().unwrap())),
            ]);
            if at % 2 == 0 {
                item.insert("place".to_owned(), text("cellar"));
                item.insert("level".to_owned(), number(-1));
            }
            item
        })
        .collect();
    let proposal = all_claimed(&spec, &items);
    assert!(proposal.text.contains("byPlace: own"), "{}", proposal.text);
}

#[test]
fn delimiters_in_values_escaped_or_not() {
    let escaped = |at: usize, value: &str, key: &str| {
        item([
            ("PK", text(&format!("NOTE#{at}"))),
            ("SK", text(&format!("TAG#{key}#{at}"))),
            ("tag", text(value)),
            ("id", text(&at.to_string())),
        ])
    };
    let items = [
        escaped(1, "a#b", "a$23b"),
        escaped(2, "home", "home"),
        escaped(3, "5$", "5$24"),
    ];
    let proposal = all_claimed(&usual_spec(), &items);
    assert!(proposal.text.contains("TAG#{tag}#{id}"), "{}", proposal.text);
    // As they are, at the end of a key.
    let raw = |at: usize, path: &str| {
        item([
            ("PK", text("FILES")),
            ("SK", text(&format!("FILE#{path}"))),
            ("path", text(path)),
            ("size", number(at as i64)),
        ])
    };
    let items = [raw(1, "a"), raw(2, "a#b"), raw(3, "a#b#c")];
    let proposal = all_claimed(&usual_spec(), &items);
    assert!(proposal.text.contains("FILE#{raw(path)}"), "{}", proposal.text);
}

#[test]
fn empty_texts_nulls_and_large_items() {
    let mut empty = order(1, 1);
    empty.insert("note".to_owned(), text(""));
    let mut large = order(1, 2);
    large.insert("note".to_owned(), text(&"x".repeat(390_000)));
    let mut deep = order(1, 3);
    deep.insert("note".to_owned(), text("short"));
    deep.insert(
        "lines".to_owned(),
        Value::L(vec![Value::M(item([("amount", number(1)), ("gone", Value::Null)]))]),
    );
    all_claimed(&usual_spec(), &[empty, large, deep]);
    let mut null = order(1, 4);
    null.insert("note".to_owned(), Value::Null);
    let proposal = propose_model("orders", &usual_spec(), &[order(1, 5), null]);
    assert_eq!(
        (proposal.claimed_count(), proposal.unclaimed_count()),
        (1, 1),
        "{:?}",
        proposal.not_claimed
    );
    let group = &proposal.not_claimed[0];
    assert_eq!(group.reason, "`note` is null");
    assert_eq!(group.example, "PK=CUSTOMER#x-9 SK=ORDER#999999");
}

#[test]
fn what_is_unlike_the_others_is_listed_with_its_key_masked() {
    let mut items: Vec<Item> = (0..40).map(|at| order(at % 7, at)).collect();
    items[3].insert("customerId".to_owned(), text("somebody else"));
    let proposal = propose_model("orders", &usual_spec(), &items);
    assert_eq!(
        (proposal.claimed_count(), proposal.unclaimed_count()),
        (39, 1),
        "{:?}",
        proposal.not_claimed
    );
    let group = &proposal.not_claimed[0];
    assert_eq!(group.reason, "`PK` would be another one");
    assert!(!group.example.contains("c-3"), "{}", group.example);
    assert!(proposal.text.contains("CUSTOMER#{customerId}"), "{}", proposal.text);
}

/// In a table that Singlet keeps they are its own marks; in any other they are attributes that the language has no name for.
#[test]
fn names_that_begin_with_a_dollar_are_not_passed_over() {
    let mut items = vec![order(1, 1), order(1, 2)];
    items[0].insert("$by".to_owned(), text("x"));
    let proposal = propose_model("orders", &usual_spec(), &items);
    assert_eq!(
        (proposal.claimed_count(), proposal.unclaimed_count()),
        (1, 1),
        "{:?}",
        proposal.not_claimed
    );
    items.push(item([
        ("PK", text("$singlet.orders")),
        ("SK", text("$")),
        ("$epoch", number(1)),
    ]));
    let proposal = propose_model("orders", &usual_spec(), &items);
    assert_eq!(
        (proposal.claimed_count(), proposal.unclaimed_count(), proposal.own),
        (2, 0, 1),
        "{:?}",
        proposal.not_claimed
    );
}

/// As ElectroDB writes them: keys in lower case, some with the delimiter within a value, and an attribute whose name means something in
/// expressions.
#[test]
fn items_of_electrodb_are_claimed() {
    let task = |project: &str, at: usize| {
        item([
            ("PK", text(&format!("$work#project_{}", project.to_lowercase()))),
            ("SK", text(&format!("$task_1#taskid_t-{at}"))),
            ("__edb_e__", text("task")),
            ("__edb_v__", text("1")),
            ("project", text(project)),
            ("taskId", text(&format!("T-{at}"))),
        ])
    };
    let person = |at: usize| {
        item([
            ("PK", text(&format!("$work#email_{at}@x.org"))),
            ("SK", text("$person_1")),
            ("__edb_e__", text("person")),
            ("__edb_v__", text("1")),
            ("email", text(&format!("{at}@X.org"))),
            ("settings", Value::M([("size".to_owned(), number(3))].into())),
            ("now", text("later")),
        ])
    };
    let tasks = |name: &dyn Fn(usize) -> String| (0..20).map(|at| task(&name(at), at)).collect::<Vec<_>>();
    let people: Vec<Item> = (0..20).map(person).collect();
    let plain = [tasks(&|at| format!("Apollo {at}")), people.clone()].concat();
    let proposal = all_claimed(&usual_spec(), &plain);
    let names: Vec<&str> = proposal.entities.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!(names, ["person", "task"]);
    for written in [
        "$work#project_{lower(project)}",
        "$task_1#taskid_{lower(taskId)}",
        "settings_value: {type: \"json\", stored: \"settings\"}",
        "now_value: {type: \"string\", stored: \"now\"}",
    ] {
        assert!(proposal.text.contains(written), "{written}\n{}", proposal.text);
    }
    // Where a value has the delimiter within it, which ElectroDB does not escape.
    let hard = [tasks(&|at| format!("A#{at}")), people].concat();
    let proposal = all_claimed(&usual_spec(), &hard);
    for written in [
        "$work#project_{raw(project_lower)}",
        "project_lower: {is: lower(project), stored: none}",
    ] {
        assert!(proposal.text.contains(written), "{written}\n{}", proposal.text);
    }
}

#[test]
fn an_attribute_names_the_kind_only_where_keys_agree() {
    // `type` is what an order is of, not what the item is.
    let items: Vec<Item> = (0..60)
        .map(|at| {
            let mut item = order(at % 7, at);
            item.insert("type".to_owned(), text(["gift", "normal"][at % 2]));
            item
        })
        .collect();
    let proposal = all_claimed(&usual_spec(), &items);
    assert!(proposal.text.contains("type: none"), "{}", proposal.text);
    assert_eq!(proposal.entities.len(), 1, "{}", proposal.text);
}

#[tokio::test]
async fn a_kind_of_one_row_in_ten_thousand_is_found_or_the_unread_share_is_said() {
    let store = EmbeddedStore::memory().unwrap();
    let spec = usual_spec();
    store.create_table(&spec).await.unwrap();
    let rows = std::env::var("SINGLET_IMPORT_ROWS")
        .ok()
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(10_000);
    let mut items: Vec<Item> = (1..rows).map(|at| order(at % 700, at)).collect();
    items.push(item([
        ("PK", text("RATE#eur")),
        ("SK", text("RATE")),
        ("percent", number(3)),
    ]));
    for some in items.chunks(25) {
        let writes = some.iter().map(|item| BatchWrite::Put {
            table: spec.name.clone(),
            item: item.clone(),
        });
        let request = BatchWriteRequest {
            writes: writes.collect(),
        };
        store.batch_write(&request).await.unwrap();
    }
    let sample = sample_table(&store, &spec.name, &ALL).await.unwrap();
    assert_eq!(sample.items.len(), rows);
    let proposal = all_claimed(&spec, &sample.items);
    assert!(
        proposal.entities.iter().any(|entity| entity.name == "Rate"),
        "{}",
        proposal.text
    );
    // Read in part: pages of every segment, and the share that is not read is said.
    let options = SampleOptions {
        items_max: rows / 10,
        page_items: 20,
        ..ALL
    };
    let sample = sample_table(&store, &spec.name, &options).await.unwrap();
    assert_eq!(sample.items.len(), rows / 10);
    assert!(!sample.is_whole());
    let unread = sample.unread_share().unwrap();
    assert!((0.89..0.91).contains(&unread), "{unread}");
    let customers: BTreeSet<&str> = sample.items.iter().filter_map(|item| item["PK"].as_str()).collect();
    assert!(
        customers.len() >= 64,
        "{} partitions in pages of all segments",
        customers.len()
    );
}

#[test]
fn a_data_model_of_workbench() {
    let file = r#"{"ModelName": "shop", "ModelMetadata": {"Version": "3.0"}, "DataModel": [{
        "TableName": "Shop",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}, "SortKey": {"AttributeName": "SK", "AttributeType": "S"}},
        "NonKeyAttributes": [{"AttributeName": "name", "AttributeType": "S"}],
        "TableFacets": [{"FacetName": "Customer", "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"}, "NonKeyAttributes": ["name"],
            "TableData": [{"PK": {"S": "CUST#1"}, "SK": {"S": "CUST#1"}, "name": {"S": "Zhang"}}]}],
        "GlobalSecondaryIndexes": [{"IndexName": "GSI1", "KeyAttributes": {"PartitionKey": {"AttributeName": "SK", "AttributeType": "S"}},
            "Projection": {"ProjectionType": "ALL"}}],
        "TableData": [{"PK": {"S": "CUST#2"}, "SK": {"S": "CUST#2"}, "name": {"S": "Wei"}}]}]}"#;
    let tables = read_workbench(file).unwrap();
    let [table] = tables.as_slice() else {
        panic!("{tables:?}")
    };
    assert_eq!((table.spec.name.as_str(), table.items.len()), ("Shop", 2));
    let proposal = all_claimed(&table.spec, &table.items);
    assert!(
        proposal.text.contains(r#"PK: "CUST#{cust_id}", SK: "CUST#{cust_id}""#),
        "{}",
        proposal.text
    );
    for (wrong, reason) in [
        ("", "it is no JSON"),
        ("{}", "`DataModel` is not"),
        (r#"{"DataModel": [{}]}"#, "`DataModel[0].TableName` is not"),
    ] {
        let error = read_workbench(wrong).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}
