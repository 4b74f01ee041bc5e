//! What is told of a table from its model alone. What other tools make of it, `scripts/export-check` says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use serde_json::Value;
use singlet_export::steps::{NewTable, steps_between};
use singlet_export::{TableDesign, cloudformation, iam, terraform};
use singlet_model::{Model, Source};
use singlet_store::{Billing, IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, StreamView, TableSpec};

fn index(name: &str, kind: IndexKind) -> IndexSpec {
    IndexSpec {
        name: name.to_owned(),
        kind,
        key: KeySchema::partition("PK", KeyType::String).sort(format!("{name}SK"), KeyType::String),
        projection: IndexProjection::All,
        units: None,
    }
}

fn design(indexes: Vec<IndexSpec>) -> TableDesign {
    let key = KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String);
    TableDesign {
        spec: TableSpec {
            indexes,
            ..TableSpec::new("Desk", key)
        },
        recovery: false,
        stream_readers: Vec::new(),
    }
}

fn global(names: &[&str]) -> TableDesign {
    design(names.iter().map(|name| index(name, IndexKind::Global)).collect())
}

fn words(old: &TableDesign, new: &TableDesign) -> Vec<String> {
    let steps = steps_between(old, new).unwrap();
    if let Some(last) = steps.last() {
        assert_eq!(last.design, *new);
    }
    steps.into_iter().map(|step| step.what).collect()
}

#[test]
fn one_index_an_update_and_those_that_go_first() {
    assert_eq!(words(&global(&["GSI1"]), &global(&["GSI1"])), Vec::<String>::new());
    assert_eq!(words(&global(&[]), &global(&["GSI1"])), ["add GSI1"]);
    let changed = words(&global(&["GSI1", "GSI2"]), &global(&["GSI3", "GSI2", "GSI4"]));
    assert_eq!(changed, ["remove GSI1", "add GSI3", "add GSI4"]);
    // The order in which indexes are listed is no property of a table.
    assert_eq!(
        words(&global(&["GSI1", "GSI2"]), &global(&["GSI2", "GSI1"])),
        Vec::<String>::new()
    );
    // Each template has the indexes of one update more.
    let steps = steps_between(&global(&[]), &global(&["GSI1", "GSI2"])).unwrap();
    let counts = steps.iter().map(|step| step.design.spec.indexes.len());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn an_index_with_another_key_is_removed_and_made_anew() {
    let mut new = global(&["GSI1"]);
    new.spec.indexes[0].projection = IndexProjection::KeysOnly;
    assert_eq!(words(&global(&["GSI1"]), &new), ["remove GSI1", "add GSI1"]);
}

#[test]
fn what_only_a_new_table_has_is_refused() {
    let old = global(&[]);
    let mut renamed = old.clone();
    renamed.spec.name = "Other".to_owned();
    assert_eq!(steps_between(&old, &renamed), Err(NewTable::Name));
    let mut keyed = old.clone();
    keyed.spec.key = KeySchema::partition("PK", KeyType::String);
    assert_eq!(steps_between(&old, &keyed), Err(NewTable::Key));
    let local = design(vec![index("recent", IndexKind::Local)]);
    assert_eq!(
        steps_between(&old, &local),
        Err(NewTable::LocalIndex("recent".to_owned()))
    );
    assert_eq!(
        steps_between(&local, &old),
        Err(NewTable::LocalIndex("recent".to_owned()))
    );
}

#[test]
fn streams_and_expiry_end_before_they_are_others() {
    let mut old = global(&[]);
    old.spec.stream = Some(StreamView::KeysOnly);
    old.spec.ttl = Some("ttl".to_owned());
    let mut new = old.clone();
    new.spec.stream = Some(StreamView::Both);
    new.spec.ttl = Some("expires".to_owned());
    new.spec.billing = Billing::Provisioned {
        read_units: 5,
        write_units: 5,
    };
    new.recovery = true;
    let expected = [
        "units",
        "stream off",
        "stream on",
        "expiry off",
        "expiry on",
        "recovery on",
    ];
    assert_eq!(words(&old, &new), expected);
}

#[test]
fn a_table_stays_when_its_stack_goes_and_no_plan_destroys_it() {
    let mut design = global(&["a-b", "ab"]);
    design.stream_readers = vec!["lake".to_owned()];
    let template = cloudformation::cloudformation_template(&design);
    let table = &template["Resources"]["Table"];
    assert_eq!(table["DeletionPolicy"], "Retain");
    assert_eq!(table["UpdateReplacePolicy"], "Retain");
    // Two names that are one without their signs are two alarms all the same.
    assert!(
        template["Resources"]["IndexabReadThrottlesAlarm"].is_object(),
        "{template:#}"
    );
    assert!(template["Resources"]["IndexabN2ReadThrottlesAlarm"].is_object());
    assert_eq!(
        template["Resources"]["ReaderlakeBehindAlarm"]["Condition"],
        "HasReaderlakeFunction"
    );
    let configuration = terraform::terraform_configuration(&design);
    let table = &configuration["resource"]["aws_dynamodb_table"]["table"];
    assert_eq!(table["lifecycle"][0]["prevent_destroy"], true);
}

#[test]
fn text_that_terraform_would_compute_stands_for_itself() {
    let mut design = global(&[]);
    design.spec.ttl = Some("${bomb}%{x}".to_owned());
    let configuration = terraform::terraform_configuration(&design);
    let ttl = &configuration["resource"]["aws_dynamodb_table"]["table"]["ttl"][0];
    assert_eq!(ttl["attribute_name"], "$${bomb}%%{x}");
}

fn model(text: &str) -> Model {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(
        !loaded.diagnostics.has_errors(),
        "{:?}",
        loaded.diagnostics.into_sorted()
    );
    loaded.model.unwrap()
}

const NOTES: &str = r#"
singlet: 1
name: notes
table:
  name: Notes
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
    GSI2: {partition: GSI2PK, sort: GSI2SK}
  type: kind
callers:
  jwt: {audience: notes, claims: {id: sub}}
entities:
  Note:
    attributes:
      owner: string 1..64
      id: string 1..20
      tag: string 1..20
      month: month
    key: {PK: "$N*{owner}", SK: "{id}"}
    index:
      GSI1: {GSI1PK: "{owner}#{month}", GSI1SK: "{id}"}
      GSI2: {GSI2PK: "TAG#{tag}", GSI2SK: "{id}"}
reads:
  mine:
    find: Note
    where: owner == caller.id
    order: id
    allow: caller.authenticated
    http: GET /notes
  ofMonth:
    find: Note
    where: owner == caller.id && month == args.month
    order: id
    allow: caller.authenticated
    http: GET /months/{month}
"#;

fn statement<'a>(policy: &'a Value, id: &str) -> &'a Value {
    let statements = policy["Statement"].as_array().unwrap();
    statements
        .iter()
        .find(|statement| statement["Sid"] == id)
        .unwrap_or(&Value::Null)
}

#[test]
fn the_service_may_query_the_indexes_of_its_plans_alone() {
    let model = model(NOTES);
    let policy = iam::service_policy(&model, &TableDesign::new(&model, global(&[]).spec));
    let indexes = statement(&policy, "Indexes")["Resource"].to_string();
    assert!(
        indexes.contains("index/GSI1") && !indexes.contains("GSI2"),
        "{policy:#}"
    );
    let actions = statement(&policy, "Table")["Action"].to_string();
    // `UpdateItem` is there in any case: processes say by it that they share the table.
    assert!(
        !actions.contains("Scan") && !actions.contains("ConditionCheckItem"),
        "{actions}"
    );
    assert!(statement(&policy, "Stream").is_null());
}

#[test]
fn a_caller_reaches_partitions_with_their_id_and_nothing_without_a_key() {
    let model = model(NOTES);
    let design = TableDesign::new(&model, global(&[]).spec);
    let policy = iam::caller_policy(&model, &design, "${sub}").unwrap();
    let keys =
        |id: &str| statement(&policy, id)["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"].clone();
    assert_eq!(keys("OwnItems"), serde_json::json!(["${$}N${*}${sub}"]));
    assert_eq!(keys("OwnEntries0"), serde_json::json!(["${sub}#*"]));
    let text = policy.to_string();
    for action in ["Scan", "PartiQL", "PutItem", "UpdateItem", "DeleteItem", "GSI2"] {
        assert!(!text.contains(action), "{text}");
    }
    let stranger = NOTES
        .replace("owner == caller.id", "owner == args.owner")
        .replace("/notes", "/notes/{owner}");
    let stranger = stranger.replace("/months/{month}", "/months/{month}/{owner}");
    assert_eq!(iam::caller_policy(&self::model(&stranger), &design, "${sub}"), None);
}
