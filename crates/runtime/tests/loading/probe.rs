//! A model that has what loading must keep, on an empty table.

use std::sync::Arc;

use singlet_model::{Model, Source};
use singlet_runtime::load::{self, LoadError, LoadOptions, LoadedRows};
use singlet_runtime::{Attributes, Caller, Engine, Request, TableOpening, TableUse, Value};
use singlet_store::{ScanRequest, Store};
use singlet_store_embedded::EmbeddedStore;

pub const NOW: i64 = 1_780_000_000_000;

pub const MODEL: &str = r##"
singlet: 1
name: probe
table: {name: Probe, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, indexes: {GSI: {partition: GP, sort: GS}}}
types:
  State: {enum: [open, held, done]}
callers: {jwt: {audience: probe, claims: {id: sub}}}
entities:
  Agent:
    attributes:
      id: string 1..8
      name: string 1..20
      email: string 3..40
      points: int 0..99 = 0
      token: string = digits(6)
      version: version
      updatedAt: {type: time, always: now}
    key: {PK: "AGENT#{id}", SK: "AGENT"}
    unique: {email: lower(email)}
  Ticket:
    attributes:
      agent: Agent.id
      no: int 0..999
      title: string 1..30
      state: State
      shard: int 0..3 = hash(no) % 4
      slug: {is: lower(title)}
      createdAt: time = now
      heldUntil: time?
      doneAt: time?
      due: date?
      by: {copy: Agent(agent).name, kept: transaction}
      first: {copy: Agent(agent).name, kept: frozen}
    key: {PK: "AGENT#{agent}", SK: "TICKET#{no}"}
    index:
      GSI: {GP: "SHARD#{shard}", GS: "{createdAt}"}
    states:
      of: state
      start: open
      moves: {hold: open -> held, end: held -> done}
      while:
        held: {heldUntil: now + hours(1)}
        done: {doneAt: now}
    expires: 'heldUntil == absent ? absent : heldUntil + days(30)'
  Board:
    mirrors: Ticket
    carries: [title, state]
    key: {PK: "BOARD#{state}", SK: "{agent}#{no}"}
  Slot:
    attributes:
      day: date
      part: {enum: [am, pm, all]}
    key: {PK: "SLOT#{day}", SK: "{part}"}
    excludes: 'part == "all" ? [Slot(day, "am"), Slot(day, "pm")] : [Slot(day, "all")]'
  Node:
    attributes:
      id: string 1..8
      parent: string 1..8
      name: string 1..20
      above: {copy: Node(parent).name, kept: frozen}
    key: {PK: "NODE#{id}", SK: "NODE"}
  Rate:
    attributes:
      code: string 1..5
      from: time
      until: time?
      amount: number 0.00..99.99
    key: {PK: "RATE#{code}", SK: "{from}"}
    history: {at: from, until: until}
    unique: {amount: string(amount)}
  Blob:
    attributes:
      id: string 1..4000
      text: string?
      data: json?
    key: {PK: "BLOB#{id}", SK: "BLOB"}
reads:
  shard:
    find: Ticket
    args: {shard: int 0..3}
    where: shard == args.shard
    order: createdAt
    allow: true
    http: GET /shards/{shard}
"##;

pub fn model(text: &str) -> Arc<Model> {
    let loaded = singlet_model::load_source(&Source::new("probe.yaml", text));
    let errors: Vec<String> = loaded.diagnostics.iter().map(|found| found.message.clone()).collect();
    let sound = !loaded.diagnostics.has_errors();
    Arc::new(loaded.model.filter(|_| sound).unwrap_or_else(|| panic!("{errors:?}")))
}

pub fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}

pub fn engine_on(text: &str, store: &Arc<dyn Store>) -> Engine {
    Engine::open(model(text), Arc::clone(store), Attributes::new(), [1; 32])
}

pub fn opening(used_for: TableUse) -> TableOpening {
    TableOpening {
        makes_tables: true,
        company: singlet_face::Company::Alone,
        used_for,
        now: NOW,
    }
}

/// An engine of the model on an empty table.
pub async fn probe() -> Engine {
    let engine = engine_on(MODEL, &memory());
    engine.open_table(&opening(TableUse::Writing)).await.unwrap();
    engine
}

pub async fn load(engine: &Engine, lines: &str) -> Result<LoadedRows, LoadError> {
    load::load_text(engine, lines, NOW).await
}

/// The message with which lines are refused by themselves; nothing is then in the table.
pub async fn refused(engine: &Engine, lines: &str) -> String {
    let before = items(engine).await.len();
    let error = load(engine, lines).await.unwrap_err();
    assert!(matches!(error, LoadError::File { .. }), "{error:?}");
    assert_eq!(items(engine).await.len(), before, "{error}");
    error.to_string()
}

pub async fn load_with(engine: &Engine, lines: &str, options: &LoadOptions) -> Result<LoadedRows, LoadError> {
    load::load_rows(engine, &load::TextRows(lines), options, &mut |_| {}).await
}

/// Every item of the table that is not of the model's own keeping: kind and rest.
pub async fn items(engine: &Engine) -> Vec<singlet_runtime::Item> {
    let mut items = Vec::new();
    let mut request = ScanRequest {
        table: engine.model().table.name.clone(),
        ..ScanRequest::default()
    };
    loop {
        let page = engine.store().scan(&request).await.unwrap();
        items.extend(page.items.into_iter().filter(|item| kind(item) != "$singlet"));
        request.start = page.last_key;
        if request.start.is_none() {
            return items;
        }
    }
}

pub fn kind(item: &singlet_runtime::Item) -> &str {
    item.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// The items of a kind.
pub async fn of_kind(engine: &Engine, wanted: &str) -> Vec<singlet_runtime::Item> {
    let items = items(engine).await.into_iter();
    items.filter(|item| kind(item) == wanted).collect()
}

pub async fn found(engine: &Engine, read: &str, args: &[(&str, Value)]) -> Vec<Value> {
    let args = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let request = Request {
        args: args.collect(),
        caller: Caller::anonymous(),
        now: NOW,
        ..Request::default()
    };
    match engine.read(read, &request).await.unwrap().value {
        Some(Value::L(rows)) => rows,
        other => panic!("{other:?}"),
    }
}
