//! Whether every side answers the same, which is looked at before anything is measured.

use std::net::SocketAddr;

use serde_json::{Map, Value as Json};

use super::client::Connection;
use super::operations::{Kind, OPERATIONS, Operation, Tokens};
use crate::error::{Failure, Outcome};

/// The place of the row that is asked for.
const AT: usize = 7;

/// Fields of a new row that no two sides give the same.
const GENERATED: [&str; 6] = [
    "task_id",
    "itemId",
    "created_at",
    "updated_at",
    "timestamp",
    "updatedAt",
];

/// Sends each operation to each side, and compares status and body. Then what was created is read again, by its key and as the
/// first of the list.
pub async fn check<'a>(sides: impl Iterator<Item = (&'a str, SocketAddr)> + Clone, tokens: &Tokens) -> Outcome<()> {
    for operation in OPERATIONS {
        let mut first: Option<(&str, u16, Json)> = None;
        for (side, address) in sides.clone() {
            let mut connection = Connection::open(address).await?;
            let (status, body) = ask(&mut connection, &operation.request(AT, tokens)).await?;
            if operation.kind == Kind::Create {
                read_again(side, &mut connection, operation, &body, tokens).await?;
            }
            let shape = comparable(operation.kind, body);
            match &first {
                None => first = Some((side, status, shape)),
                Some((other, known_status, known)) if (*known_status, known) != (status, &shape) => {
                    return Err(Failure(format!(
                        "{}: the sides do not answer the same\n{other}: {known_status} {known}\n{side}: {status} {shape}",
                        operation.name()
                    )));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

async fn ask(connection: &mut Connection, request: &[u8]) -> Outcome<(u16, Json)> {
    let answer = connection.send(request).await?;
    let text = answer.text();
    let body =
        serde_json::from_slice(&text).map_err(|_| Failure(format!("no JSON: {}", String::from_utf8_lossy(&text))))?;
    Ok((answer.status, body))
}

/// A body without what is each side's own: cursors, and what a create generates. That it is there is compared.
fn comparable(kind: Kind, mut body: Json) -> Json {
    let opaque = |value: &Json| match value {
        Json::String(text) if kind == Kind::Create => format!("{} characters", text.len()).into(),
        Json::String(_) => "some text".into(),
        Json::Number(_) => "a number".into(),
        other => other.clone(),
    };
    let names: &[&str] = if kind == Kind::Create { &GENERATED } else { &["next"] };
    if let Some(fields) = body.as_object_mut() {
        let own = fields.iter_mut().filter(|(name, _)| names.contains(&name.as_str()));
        own.for_each(|(_, value)| *value = opaque(value));
    }
    body
}

async fn read_again(
    side: &str,
    connection: &mut Connection,
    create: Operation,
    created: &Json,
    tokens: &Tokens,
) -> Outcome<()> {
    let id = ["task_id", "itemId"]
        .iter()
        .find_map(|name| created.get(name)?.as_str());
    let (_, by_key) = ask(connection, &create.get(id.unwrap_or_default(), tokens)).await?;
    let list = Operation {
        kind: Kind::List,
        ..create
    };
    let (_, listed) = ask(connection, &list.request(AT, tokens)).await?;
    let newest = listed.pointer("/items/0").cloned().unwrap_or_default();
    for (place, found) in [("by its key", &by_key), ("in the list", &newest)] {
        // A page of an item has more than the item.
        let all = Map::new();
        let found = found.as_object().unwrap_or(&all);
        let is_there = |(name, value): (&String, &Json)| found.get(name) == Some(value);
        if !created.as_object().is_some_and(|fields| fields.iter().all(is_there)) {
            let found = Json::Object(found.clone());
            let name = create.name();
            return Err(Failure(format!(
                "{name}: {side} created {created}, and {place} there is {found}"
            )));
        }
    }
    Ok(())
}
