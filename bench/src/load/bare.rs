//! The least that could answer: handlers that know the keys and make the service's calls of the engine. They check no token,
//! no input and no state.

use std::net::SocketAddr;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};
use singlet_runtime::{Item, Store, Value, values};
use singlet_store::{
    Comparison, Condition, Direction, GetRequest, KeyRange, Path as StorePath, PutRequest, QueryRequest, Select,
    SortRange, StoreError, TransactWrite, TransactWriteRequest,
};
use singlet_store_embedded::EmbeddedStore;

use super::data::now_seconds;
use crate::error::Outcome;

const TODO: &str = "todo-app-data";
const ECOBID: &str = "ecobid";
const PAGE_ROWS: u32 = 20;
/// An item, twenty reservations and an auction, with as many again that the caller may not see.
const NEIGHBOURS_MAX: u32 = 42;

/// The attributes of a task and of an item, with their type.
const TASK: [&str; 13] = [
    "category",
    "completed_at",
    "created_at",
    "description",
    "due_date",
    "entity_type",
    "priority",
    "status",
    "task_id",
    "title",
    "updated_at",
    "user_id",
    "version",
];
const ITEM: [&str; 18] = [
    "auctionId",
    "category",
    "completedAt",
    "description",
    "entityType",
    "geohash",
    "geohash4",
    "imageUrl",
    "itemId",
    "location",
    "mode",
    "reservationId",
    "reservedUntil",
    "status",
    "timestamp",
    "title",
    "updatedAt",
    "userId",
];

/// What rows have beside their attributes.
const INTERNAL: [&str; 14] = [
    "PK",
    "SK",
    "GSI1PK",
    "GSI1SK",
    "GSI2PK",
    "GSI2SK",
    "GSI3PK",
    "GSI3SK",
    "GSI4PK",
    "GSI4SK",
    "entity_type",
    "entityType",
    "ttl",
    // Which write a row is from.
    "$by",
];

type Engine = State<Arc<dyn Store>>;
type Answer = Result<Response, Failed>;

/// Serves the data of a folder.
pub async fn start(folder: &FilePath) -> Outcome<SocketAddr> {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder)?);
    let router = Router::new()
        .route("/todo/api/v1/tasks/{id}", get(task))
        .route("/todo/api/v1/tasks", get(tasks).post(create_task))
        .route("/ecobid/items/{id}", get(item_page))
        .route("/ecobid/items", get(items).post(create_item))
        .with_state(store);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

async fn task(State(store): Engine, Path(id): Path<String>) -> Answer {
    let request = GetRequest {
        table: TODO.to_owned(),
        key: fields([("PK", text("TASK#ada")), ("SK", text(format!("TASK#{id}")))]),
        ..GetRequest::default()
    };
    let answer = store.get(&request).await?;
    Ok(answered(StatusCode::OK, &answer.item.map(row).unwrap_or_default()))
}

async fn tasks(State(store): Engine) -> Answer {
    let range =
        KeyRange::partition("GSI1PK", text("USER#ada")).sort("GSI1SK", SortRange::begins_with(text("STATUS#pending#")));
    page(
        &store,
        QueryRequest {
            index: Some("GSI1".to_owned()),
            select: only(&TASK),
            ..QueryRequest::new(TODO, range)
        },
    )
    .await
}

async fn items(State(store): Engine) -> Answer {
    let range = KeyRange::partition("category", text("books"));
    page(
        &store,
        QueryRequest {
            index: Some("GSI2".to_owned()),
            select: only(&ITEM),
            ..QueryRequest::new(ECOBID, range)
        },
    )
    .await
}

/// What is asked for of a row: keys are left out.
fn only(attributes: &[&str]) -> Select {
    let own = ["ttl"].iter().chain(attributes);
    Select::Paths(own.map(|name| StorePath::attribute(*name)).collect())
}

/// A page of the newest rows.
async fn page(store: &Arc<dyn Store>, request: QueryRequest) -> Answer {
    let request = QueryRequest {
        direction: Direction::Descending,
        limit: Some(PAGE_ROWS),
        filter: Some(Condition::not_exists("ttl").or(ends(Comparison::Greater))),
        ..request
    };
    let page = store.query(&request).await?;
    let next = page.last_key.map(|key| Json::Object(json_of(key)).to_string());
    let items: Vec<Json> = page.items.into_iter().map(row).collect();
    Ok(answered(StatusCode::OK, &json!({"items": items, "next": next})))
}

/// An item with its reservations and its auction, which are its neighbours.
async fn item_page(State(store): Engine, Path(id): Path<String>) -> Answer {
    let range = KeyRange::partition("PK", text(format!("ITEM#{id}")))
        .sort("SK", SortRange::between(text("AUCTION#"), text("RESERVATION$")));
    let request = QueryRequest {
        direction: Direction::Descending,
        limit: Some(NEIGHBOURS_MAX),
        ..QueryRequest::new(ECOBID, range)
    };
    let (mut item, mut reservations, mut auctions) = (Json::Null, Vec::new(), Vec::new());
    for neighbour in store.query(&request).await?.items {
        match neighbour.get("entityType").and_then(Value::as_str) {
            Some("Item") => item = row(neighbour),
            Some("Reservation") => reservations.push(row(neighbour)),
            _ => auctions.push(row(neighbour)),
        }
    }
    if let Some(item) = item.as_object_mut() {
        item.insert("reservations".to_owned(), Json::Array(reservations));
        item.insert("auctions".to_owned(), Json::Array(auctions));
    }
    Ok(answered(StatusCode::OK, &item))
}

/// A task, and that its user is there.
async fn create_task(State(store): Engine, body: Bytes) -> Answer {
    let body: Map<String, Json> = serde_json::from_slice(&body).unwrap_or_default();
    let id = new_id();
    let sent = |name: &str| body.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let task = fields([
        ("PK", text("TASK#ada")),
        ("SK", text(format!("TASK#{id}"))),
        ("GSI1PK", text("USER#ada")),
        ("GSI1SK", text(format!("STATUS#pending#{id}"))),
        ("GSI2PK", text("USER#ada")),
        ("GSI2SK", text(format!("DUEDATE#{}#{id}", sent("due_date")))),
        ("GSI3PK", text("USER#ada")),
        ("GSI3SK", text(format!("PRIORITY#1#{id}"))),
        ("GSI4PK", text("USER#ada")),
        ("GSI4SK", text(format!("CATEGORY#{}#{id}", sent("category")))),
        ("entity_type", text("Task")),
        ("user_id", text("ada")),
        ("task_id", text(&id)),
        ("title", text(sent("title"))),
        ("description", text(sent("description"))),
        ("priority", text(sent("priority"))),
        ("category", text(sent("category"))),
        ("due_date", text(sent("due_date"))),
        ("status", text("pending")),
        ("created_at", Value::from(now_seconds())),
        ("updated_at", Value::from(now_seconds())),
        ("version", Value::from(1)),
    ]);
    let answer = row(task.clone());
    let actions = vec![
        put(TODO, task),
        TransactWrite::Check {
            table: TODO.to_owned(),
            key: fields([("PK", text("USER#ada")), ("SK", text("METADATA"))]),
            condition: Condition::exists("PK").and(Condition::not_exists("deleting")),
        },
    ];
    transact(&store, actions, id).await?;
    Ok(answered(StatusCode::CREATED, &answer))
}

/// An item, the row by which its user finds it, where exactly it is, and that the user is there.
async fn create_item(State(store): Engine, body: Bytes) -> Answer {
    let body: Map<String, Json> = serde_json::from_slice(&body).unwrap_or_default();
    let (id, now) = (new_id(), now_text());
    let sent = |name: &str| body.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let item = fields([
        ("PK", text(format!("ITEM#{id}"))),
        ("SK", text("METADATA")),
        ("GSI4PK", text("STATUS#available")),
        ("GSI4SK", text(format!("{now}#{id}"))),
        ("entityType", text("Item")),
        ("itemId", text(&id)),
        ("userId", text("ada")),
        ("title", text(sent("title"))),
        ("description", text(sent("description"))),
        ("category", text(sent("category"))),
        ("mode", text(sent("mode"))),
        ("status", text("available")),
        ("location", stored(roughly(body.get("location")).as_ref())),
        // Where all these books are.
        ("geohash", text("u3qcp")),
        ("geohash4", text("u3qc")),
        ("imageUrl", text(sent("imageUrl"))),
        ("timestamp", text(&now)),
        ("updatedAt", text(&now)),
    ]);
    let mirror = fields([
        ("PK", text("USER#ada")),
        ("SK", text(format!("ITEM#{id}"))),
        ("entityType", text("UserItem")),
        ("itemId", text(&id)),
        ("userId", text("ada")),
        ("title", text(sent("title"))),
        ("status", text("available")),
    ]);
    let place = fields([
        ("PK", text(format!("ITEM#{id}"))),
        ("SK", text("PLACE")),
        ("entityType", text("Place")),
        ("itemId", text(&id)),
        ("userId", text("ada")),
        ("location", stored(body.get("location"))),
    ]);
    let answer = row(item.clone());
    let actions = vec![
        TransactWrite::Check {
            table: ECOBID.to_owned(),
            key: fields([("PK", text("USER#ada")), ("SK", text("PROFILE"))]),
            condition: Condition::exists("PK"),
        },
        put(ECOBID, item),
        put(ECOBID, mirror),
        put(ECOBID, place),
    ];
    transact(&store, actions, id).await?;
    Ok(answered(StatusCode::CREATED, &answer))
}

/// A place to a hundredth of a degree, as everybody may see it.
fn roughly(place: Option<&Json>) -> Option<Json> {
    let mut place = place?.clone();
    for name in ["lat", "lon"] {
        let exact = place.get(name).and_then(Json::as_f64).unwrap_or_default();
        place[name] = json!((exact * 100.0).round() / 100.0);
    }
    Some(place)
}

fn put(table: &str, item: Item) -> TransactWrite {
    TransactWrite::Put(PutRequest {
        table: table.to_owned(),
        item,
        // In the place of a row whose time is over.
        condition: Some(Condition::not_exists("PK").or(ends(Comparison::LessOrEqual))),
        return_old: false,
    })
}

/// A row's end, against the time now.
fn ends(comparison: Comparison) -> Condition {
    Condition::compare(StorePath::attribute("ttl"), comparison, Value::from(now_seconds()))
}

async fn transact(store: &Arc<dyn Store>, actions: Vec<TransactWrite>, token: String) -> Result<(), StoreError> {
    let request = TransactWriteRequest {
        actions,
        token: Some(token),
    };
    store.transact_write(&request).await.map(drop)
}

struct Failed(StoreError);

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, self.0.to_string()).into_response()
    }
}

fn answered(status: StatusCode, value: &Json) -> Response {
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

/// What of an item its readers see.
fn row(mut item: Item) -> Json {
    item.retain(|name, _| !INTERNAL.contains(&name.as_str()));
    Json::Object(json_of(item))
}

fn json_of(item: Item) -> Map<String, Json> {
    let json = |(name, value): (String, Value)| (name, values::to_json(&value));
    item.into_iter().map(json).collect()
}

/// A value as a table holds it.
fn stored(json: Option<&Json>) -> Value {
    match json {
        Some(Json::Object(entries)) => Value::M(
            entries
                .iter()
                .map(|(name, json)| (name.clone(), stored(Some(json))))
                .collect(),
        ),
        Some(Json::Number(number)) => number.to_string().parse().map_or(Value::Null, Value::N),
        Some(Json::String(words)) => text(words),
        _ => Value::Null,
    }
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Item {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn text(text: impl Into<String>) -> Value {
    Value::S(text.into())
}

/// An id of 26 characters after all that were there before.
fn new_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("01M{:023}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The time now, as it is stored.
fn now_text() -> String {
    format!("{:.3}", Timestamp::now())
}
