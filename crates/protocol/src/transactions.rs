//! Transactions that read and that write.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use singlet_item::limits::{TOKEN_CHARS_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_ITEMS_MAX};
use singlet_item::{Item, item_size_bytes};
use singlet_store::{
    Cancellation, DeleteRequest, ErrorKind, PutRequest, TableDescription, TransactGet, TransactGetRequest,
    TransactWrite, TransactWriteRequest, UpdateRequest, UpdateReturn,
};

use crate::capacity::{self, CapacityMode, NamedUnits};
use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};
use crate::input::{CAPACITY_MODES, Constraints, Input, METRICS_MODES, RETURN_ON_FAILURE, table_name};
use crate::items::{read_condition, read_item, read_projection, read_update};
use crate::{schema, value};

/// What is wrong with one action cancels the transaction, so that the others are told too. A key without a value is wrong with the
/// request.
fn reason_of(checked: Result<(), Fault>) -> Result<Option<Cancellation>, Fault> {
    let is_of_request = |fault: &Fault| {
        fault.kind() != FaultKind::Validation
            || fault
                .message()
                .starts_with("One or more parameter values are not valid.")
    };
    match checked {
        Ok(()) => Ok(None),
        Err(fault) if is_of_request(&fault) => Err(fault),
        Err(fault) => Ok(Some(Cancellation::Invalid(fault.message().to_owned()))),
    }
}

fn transact_items<'a>(input: &Input<'a>) -> Result<&'a [Json], Fault> {
    let items = input.list("TransactItems")?;
    let mut constraints = Constraints::default();
    constraints.one_of(
        input.text("ReturnConsumedCapacity")?,
        "returnConsumedCapacity",
        &CAPACITY_MODES,
    );
    constraints.one_of(
        input.text("ReturnItemCollectionMetrics")?,
        "returnItemCollectionMetrics",
        &METRICS_MODES,
    );
    if let Some(token) = input.text("ClientRequestToken")? {
        let chars = token.chars().count();
        if chars > TOKEN_CHARS_MAX {
            let words = format!("Member must have length less than or equal to {TOKEN_CHARS_MAX}");
            constraints.add_failure(Some(token), "clientRequestToken", &words);
        }
        if chars == 0 {
            let words = "Member must have length greater than or equal to 1";
            constraints.add_failure(Some(token), "clientRequestToken", words);
        }
    }
    constraints.not_null(items.is_some(), "transactItems");
    match items {
        Some([]) => constraints.add_failure(
            Some("[]"),
            "transactItems",
            "Member must have length greater than or equal to 1",
        ),
        Some(items) if items.len() > TRANSACTION_ITEMS_MAX => {
            let shown: Vec<String> = items.iter().map(Json::to_string).collect();
            let words = format!("Member must have length less than or equal to {TRANSACTION_ITEMS_MAX}");
            constraints.add_failure(Some(&format!("[{}]", shown.join(", "))), "transactItems", &words);
        }
        _ => {}
    }
    constraints.finish()?;
    Ok(items.unwrap_or_default())
}

pub(crate) async fn transact_get_items(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let items = transact_items(input)?;
    let mode = CapacityMode::of(input)?;
    let mut gets = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let Some(get) = Input::of(item)?.inner("Get")? else {
            let mut constraints = Constraints::default();
            constraints.not_null(false, &format!("transactItems.{}.member.get", position + 1));
            return Err(constraints
                .finish()
                .err()
                .unwrap_or_else(|| Fault::validation_fault("")));
        };
        gets.push(TransactGet {
            table: table_name(&get, 1)?,
            key: read_item(&get, "Key")?,
            projection: read_projection(&get)?.into(),
        });
    }
    let request = TransactGetRequest { gets };
    let mut described: Vec<Arc<TableDescription>> = Vec::new();
    let mut seen: Vec<(&str, &Item)> = Vec::new();
    for get in &request.gets {
        if seen.contains(&(get.table.as_str(), &get.key)) {
            return Err(Fault::validation_fault(
                "Transaction request cannot include multiple operations on one item",
            ));
        }
        seen.push((&get.table, &get.key));
        describe_once(endpoint, &get.table, &mut described).await?;
    }
    let mut wrong = Vec::with_capacity(request.gets.len());
    for get in &request.gets {
        let table = described.iter().find(|known| known.spec.name == get.table);
        let checked = table.map_or(Ok(()), |table| schema::check_key(&table.spec, &get.key));
        wrong.push(reason_of(checked)?);
    }
    if wrong.iter().any(Option::is_some) {
        let reasons: Vec<Cancellation> = wrong
            .into_iter()
            .map(|reason| reason.unwrap_or(Cancellation::Nothing))
            .collect();
        return Err(Fault::transaction_cancelled(&reasons, |_| false));
    }
    let answer = endpoint.store.transact_get(&request).await?;
    let responses: Vec<Json> = answer
        .items
        .iter()
        .map(|item| match item {
            Some(item) => json!({ "Item": value::item_json(item) }),
            None => json!({}),
        })
        .collect();
    let mut json = Map::new();
    json.insert("Responses".to_owned(), Json::Array(responses));
    let consumed: Vec<Json> = described
        .iter()
        .filter_map(|table| capacity::of_table(mode, NamedUnits::Reads, table, &answer.consumed))
        .collect();
    if !consumed.is_empty() {
        json.insert("ConsumedCapacity".to_owned(), Json::Array(consumed));
    }
    Ok(Json::Object(json))
}

async fn describe_once(
    endpoint: &Endpoint,
    table: &str,
    described: &mut Vec<Arc<TableDescription>>,
) -> Result<(), Fault> {
    if described.iter().all(|known| known.spec.name != table) {
        described.push(endpoint.table(table).await?);
    }
    Ok(())
}

/// An action, and whether it wants to be shown the item that its condition failed on.
struct TransactionAction {
    write: TransactWrite,
    wants_old: bool,
}

pub(crate) async fn transact_write_items(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let items = transact_items(input)?;
    let mode = CapacityMode::of(input)?;
    let with_metrics = input.text("ReturnItemCollectionMetrics")? == Some("SIZE");
    let actions: Vec<TransactionAction> = items
        .iter()
        .enumerate()
        .map(|(position, item)| read_action(position, &Input::of(item)?))
        .collect::<Result<_, Fault>>()?;
    let wants_old: Vec<bool> = actions.iter().map(|action| action.wants_old).collect();
    let request = TransactWriteRequest {
        actions: actions.into_iter().map(|action| action.write).collect(),
        token: input.text("ClientRequestToken")?.map(str::to_owned),
    };
    let mut described: Vec<Arc<TableDescription>> = Vec::new();
    for action in &request.actions {
        let (table, _) = target(action);
        endpoint.check_writable(table)?;
        describe_once(endpoint, table, &mut described).await?;
    }
    // What is wrong with one action is so for the store too, which also knows what the items say of the others.
    let mut wrong = check_actions(&request, &described)?;
    let answer = endpoint
        .store
        .transact_write(&request)
        .await
        .map_err(|error| match error.kind() {
            ErrorKind::Cancelled(reasons) => {
                let ours = wrong
                    .iter_mut()
                    .map(Option::take)
                    .chain(std::iter::repeat_with(|| None));
                let reasons: Vec<Cancellation> = reasons
                    .iter()
                    .zip(ours)
                    .map(|(theirs, ours)| ours.unwrap_or_else(|| theirs.clone()))
                    .collect();
                Fault::transaction_cancelled(&reasons, |position| {
                    wants_old.get(position).copied().unwrap_or_default()
                })
            }
            _ => error.into(),
        })?;
    let mut json = Map::new();
    let consumed: Vec<Json> = described
        .iter()
        .filter_map(|table| capacity::of_table(mode, NamedUnits::Writes, table, &answer.consumed))
        .collect();
    if !consumed.is_empty() {
        json.insert("ConsumedCapacity".to_owned(), Json::Array(consumed));
    }
    if with_metrics {
        let mut metrics: Map<String, Json> = Map::new();
        for action in &request.actions {
            let (name, item) = target(action);
            let table = described.iter().find(|known| known.spec.name == name);
            let Some(collection) = table.and_then(|table| capacity::touched_collection(table, item)) else {
                continue;
            };
            if let Json::Array(list) = metrics.entry(name.to_owned()).or_insert_with(|| json!([])) {
                list.push(collection);
            }
        }
        if !metrics.is_empty() {
            json.insert("ItemCollectionMetrics".to_owned(), Json::Object(metrics));
        }
    }
    Ok(Json::Object(json))
}

/// The table of an action, and what has its key.
fn target(action: &TransactWrite) -> (&str, &Item) {
    match action {
        TransactWrite::Put(put) => (&put.table, &put.item),
        TransactWrite::Update(update) => (&update.table, &update.key),
        TransactWrite::Delete(delete) => (&delete.table, &delete.key),
        TransactWrite::Check { table, key, .. } => (table, key),
    }
}

/// No item twice, not too much; and, for each action, what is wrong with it.
fn check_actions(
    request: &TransactWriteRequest,
    described: &[Arc<TableDescription>],
) -> Result<Vec<Option<Cancellation>>, Fault> {
    let mut seen: Vec<(&str, Item)> = Vec::new();
    let mut wrong = Vec::with_capacity(request.actions.len());
    let mut bytes = 0;
    for action in &request.actions {
        let (name, item) = target(action);
        let Some(table) = described.iter().find(|known| known.spec.name == name) else {
            wrong.push(None);
            continue;
        };
        let checked = match action {
            TransactWrite::Put(put) => schema::check_item(&table.spec, &put.item),
            TransactWrite::Update(update) => schema::check_key(&table.spec, &update.key)
                .and_then(|()| schema::check_update(&table.spec, &update.update)),
            TransactWrite::Delete(_) | TransactWrite::Check { .. } => schema::check_key(&table.spec, item),
        };
        wrong.push(reason_of(checked)?);
        let names = table.spec.key.attributes();
        let key: Item = names
            .filter_map(|attribute| Some((attribute.name.clone(), item.get(&attribute.name)?.clone())))
            .collect();
        if seen.contains(&(name, key.clone())) {
            return Err(Fault::validation_fault(
                "Transaction request cannot include multiple operations on one item",
            ));
        }
        seen.push((name, key));
        bytes += item_size_bytes(item);
    }
    match bytes > TRANSACTION_BYTES_MAX {
        true => Err(Fault::validation_fault(
            "Collection size of items exceeded, which can also be caused by the aggregate size of the items in the \
             transaction exceeding the 4MB limit",
        )),
        false => Ok(wrong),
    }
}

fn read_action(position: usize, item: &Input<'_>) -> Result<TransactionAction, Fault> {
    let kinds = ["ConditionCheck", "Put", "Delete", "Update"];
    let given: Vec<&str> = kinds.into_iter().filter(|kind| item.has(kind)).collect();
    let [kind] = given.as_slice() else {
        return Err(Fault::validation_fault(match given.is_empty() {
            true => "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
            false => "TransactItems can only contain one of Check, Put, Update or Delete",
        }));
    };
    let inner = item.inner(kind)?.unwrap_or(*item);
    let place = |member: &str| {
        let mut kind = (*kind).to_owned();
        if let Some(first) = kind.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        format!("transactItems.{}.member.{kind}.{member}", position + 1)
    };
    let mut constraints = Constraints::default();
    let (what, what_place) = if *kind == "Put" {
        ("Item", "item")
    } else {
        ("Key", "key")
    };
    constraints.not_null(inner.has(what), &place(what_place));
    constraints.not_null(inner.has("TableName"), &place("tableName"));
    if *kind == "ConditionCheck" {
        constraints.not_null(inner.has("ConditionExpression"), &place("conditionExpression"));
    }
    if *kind == "Update" {
        constraints.not_null(inner.has("UpdateExpression"), &place("updateExpression"));
    }
    constraints.one_of(
        inner.text("ReturnValuesOnConditionCheckFailure")?,
        &place("returnValuesOnConditionCheckFailure"),
        &RETURN_ON_FAILURE,
    );
    constraints.finish()?;
    let table = table_name(&inner, 1)?;
    let write = match *kind {
        "Put" => TransactWrite::Put(PutRequest {
            table,
            item: read_item(&inner, "Item")?,
            condition: read_condition(&inner)?,
            return_old: false,
        }),
        "Update" => {
            let key = read_item(&inner, "Key")?;
            let (update, condition) = read_update(&inner)?;
            TransactWrite::Update(UpdateRequest {
                table,
                key,
                update,
                condition,
                returns: UpdateReturn::Nothing,
            })
        }
        "Delete" => TransactWrite::Delete(DeleteRequest {
            table,
            key: read_item(&inner, "Key")?,
            condition: read_condition(&inner)?,
            return_old: false,
        }),
        _ => {
            let key = read_item(&inner, "Key")?;
            let Some(condition) = read_condition(&inner)? else {
                return Err(Fault::validation_fault("The expression can not be empty;"));
            };
            TransactWrite::Check { table, key, condition }
        }
    };
    Ok(TransactionAction {
        write,
        wants_old: inner.text("ReturnValuesOnConditionCheckFailure")? == Some("ALL_OLD"),
    })
}
