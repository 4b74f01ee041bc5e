//! What none of the five systems has: copies kept in the transaction, versions without tombstones, attributes that stand in a
//! key alone.

use std::sync::Arc;

use singlet_audit::RepairMode;
use singlet_face::Company;
use singlet_item::{Item, Value};
use singlet_model::Source;
use singlet_runtime::{
    Attributes, Caller, Engine, FindingKind as Kind, MigrationPhase, TableOpening, TableUse, WriteRequest, load,
};

use super::place;
use super::support::{NOW, audited, audited_at, delete_item, items_of, put_item, repaired};

const MODEL: &str = r##"
singlet: 1
name: probe
table: {name: Probe, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, indexes: {GSI: {partition: GP, sort: GS}}}
callers: {jwt: {audience: probe, claims: {id: sub}}}
entities:
  Agent:
    attributes:
      id: string 1..8
      name: string 1..20
      email: string 3..40
    key: {PK: "AGENT#{id}", SK: "AGENT"}
    unique: {email: lower(email)}
  Ticket:
    attributes:
      agent: Agent.id
      no: {type: int 0..999, stored: none}
      title: string 1..30
      slug: {is: lower(title)}
      by: {copy: Agent(agent).name, kept: transaction}
      made: time = now
    key: {PK: "AGENT#{agent}", SK: "TICKET#{no}"}
    index:
      GSI: {GP: "BY#{by}", GS: "{slug}"}
    expires: made + days(30)
  Board:
    mirrors: Ticket
    carries: [title, by]
    key: {PK: "BOARD", SK: "{agent}#{no}"}
  Rate:
    attributes:
      code: string 1..5
      from: time
      until: time?
      amount: number 0.00..99.99
    key: {PK: "RATE#{code}", SK: "{from}"}
    history: {at: from, until: until}
    unique: {amount: string(amount)}
reads:
  tickets:
    find: Ticket
    where: by == args.by
    order: slug
    args: {by: string}
    allow: true
    http: GET /tickets?by
writes:
  endRate:
    allow: true
    http: DELETE /rates/{code}
    do:
      - delete: Rate(args.code)
"##;

const ROWS: &str = r#"
{"Agent": {"id": "ada", "name": "Ada", "email": "a@x.org"}}
{"Agent": {"id": "bob", "name": "Bob", "email": "b@x.org"}}
{"Ticket": {"agent": "ada", "no": 1, "title": "One"}}
{"Ticket": {"agent": "bob", "no": 2, "title": "Two"}}
{"Rate": {"code": "EUR", "from": "now-3d", "until": "now-1d", "amount": 1.5}}
{"Rate": {"code": "EUR", "from": "now-1d", "amount": 2.5}}
{"Rate": {"code": "USD", "from": "now-1d", "amount": 3.5}}
"#;

async fn probe() -> Engine {
    let loaded = singlet_model::load_source(&Source::new("probe.yaml", MODEL));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let engine = Engine::open(
        Arc::new(loaded.model.unwrap()),
        place::store().await,
        Attributes::new(),
        [1; 32],
    );
    let opening = TableOpening {
        makes_tables: true,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    engine.open_table(&opening).await.unwrap();
    load::load_text(&engine, ROWS, NOW).await.unwrap();
    engine
}

fn of<'i>(items: &'i [Item], kind: &str) -> &'i Item {
    items.iter().find(|item| item["kind"].as_str() == Some(kind)).unwrap()
}

fn changed(item: &Item, name: &str, value: Value) -> Item {
    let mut item = item.clone();
    item.insert(name.to_owned(), value);
    item
}

fn kinds(report: &singlet_audit::AuditReport) -> Vec<(&str, u64)> {
    let found = report.findings.iter().filter(|counted| counted.is_damage);
    let mut found: Vec<(&str, u64)> = found.map(|counted| (counted.kind.as_str(), counted.count)).collect();
    found.sort_unstable();
    found
}

/// A copy, what is computed, the index key and the mirror that follow from it are mended together.
#[tokio::test]
async fn a_stale_copy_is_found_and_mended_with_all_that_follows() {
    let engine = probe().await;
    let sound = items_of(&engine).await;
    let stale = changed(of(&sound, "Ticket"), "by", "Eve".into());
    put_item(&engine, &stale).await;
    let report = audited(&engine).await;
    assert_eq!(
        kinds(&report),
        [("copy-stale", 1), ("index-key-wrong", 1), ("mirror-stale", 1)]
    );
    let (report, changes) = repaired(&engine, RepairMode::Mend).await;
    assert_eq!(changes.len(), 1, "{}", report.text());
    assert!(items_of(&engine).await == sound, "{}", audited(&engine).await.text());
}

#[tokio::test]
async fn what_stands_in_a_key_alone_is_read_from_it_or_told() {
    let engine = probe().await;
    let sound = items_of(&engine).await;
    let lost = changed(of(&sound, "Ticket"), "SK", "TICKET#many".into());
    put_item(&engine, &lost).await;
    let report = audited(&engine).await;
    assert_eq!(report.count_of(Kind::KeyUnreadable), 1, "{}", report.text());
    let (_, changes) = repaired(&engine, RepairMode::Mend).await;
    assert_eq!(changes, []);
}

/// Without tombstones a row may end with its last version; then the guard of its identity says so.
#[tokio::test]
async fn versions_without_a_current_one_are_told() {
    let engine = probe().await;
    let request = WriteRequest {
        args: Attributes::from([("code".to_owned(), "USD".into())]),
        caller: Caller::with_id("ada"),
        now: NOW,
        ..WriteRequest::default()
    };
    engine.write("endRate", &request).await.unwrap();
    let report = audited(&engine).await;
    assert!(report.sound, "{}", report.text());
    let items = items_of(&engine).await;
    let current = items
        .iter()
        .find(|item| item.get("amount") == Some(&Value::N("2.5".parse().unwrap())))
        .unwrap();
    delete_item(&engine, current).await;
    let report = audited(&engine).await;
    assert_eq!(
        kinds(&report),
        [("guard-orphan", 1), ("version-without-current", 1)],
        "{}",
        report.text()
    );
    put_item(&engine, current).await;
    let other = changed(current, "SK", "2026-11-16T00:00:00.000Z".into());
    let other = changed(&other, "from", "2026-11-16T00:00:00.000Z".into());
    put_item(&engine, &other).await;
    let report = audited(&engine).await;
    assert_eq!(report.count_of(Kind::VersionTwiceOpen), 2, "{}", report.text());
}

/// What has expired is a note, and what is beside it is nobody's damage.
#[tokio::test]
async fn expired_rows_that_are_still_there_are_a_note() {
    let engine = probe().await;
    let report = audited_at(&engine, NOW + 40 * 86_400_000).await;
    assert!(report.sound, "{}", report.text());
    assert_eq!(report.count_of(Kind::ExpiredLeft), 2);
}

/// A guard whose row is there under another value, or not at all, goes; one that a row needs comes.
#[tokio::test]
async fn two_rows_with_one_value_are_told_and_not_decided() {
    let engine = probe().await;
    let sound = items_of(&engine).await;
    let bob = sound
        .iter()
        .find(|item| item.get("name") == Some(&"Bob".into()) && item.contains_key("email"));
    put_item(&engine, &changed(bob.unwrap(), "email", "A@x.org".into())).await;
    let report = audited(&engine).await;
    assert_eq!(
        kinds(&report),
        [("guard-of-another", 1), ("guard-old-value", 1)],
        "{}",
        report.text()
    );
    let (report, _) = repaired(&engine, RepairMode::Mend).await;
    let left: Vec<&str> = report.not_mended.iter().map(|one| one.kind.as_str()).collect();
    assert!(left.contains(&"guard-of-another"), "{left:?}");
    assert_eq!(kinds(&audited(&engine).await), [("guard-of-another", 1)]);
}

/// While a migration is under way, the control row says so.
#[tokio::test]
async fn a_migration_under_way_is_known() {
    let engine = probe().await;
    assert_eq!(engine.migration_phase().await.unwrap(), None);
    let items = items_of(&engine).await;
    let control = items.iter().find(|item| item.contains_key("$epoch")).unwrap();
    let mut control = changed(control, "$phase", "rows".into());
    control.insert("$target".to_owned(), "a face".into());
    control.insert("$drops".to_owned(), false.into());
    put_item(&engine, &control).await;
    assert_eq!(engine.migration_phase().await.unwrap(), Some(MigrationPhase::Rows));
    // A phase that this version does not know is not taken for none.
    put_item(&engine, &changed(&control, "$phase", "elsewhere".into())).await;
    assert!(engine.migration_phase().await.is_err());
}
