//! Single items: put, get, update, delete.

use serde_json::{Map, Value as Json};
use singlet_item::Item;
use singlet_store::{
    Condition, DeleteRequest, ErrorKind, GetRequest, Path, PutRequest, StoreError, TableDescription, Update,
    UpdateRequest, UpdateReturn, WriteAnswer,
};

use crate::capacity::{self, CapacityMode, NamedUnits};
use crate::endpoint::Endpoint;
use crate::expression::{RequestPlaceholders, condition, projection, update};
use crate::fault::Fault;
use crate::input::{
    CAPACITY_MODES, Constraints, Input, METRICS_MODES, RETURN_ON_FAILURE, RETURN_VALUES, check_unmixed, table_name,
};
use crate::{legacy, schema, value};

/// What a write brings back besides being done.
struct WriteReturns {
    capacity: CapacityMode,
    metrics: bool,
    old_on_failure: bool,
}

impl WriteReturns {
    fn of(input: &Input<'_>) -> Result<Self, Fault> {
        Ok(Self {
            capacity: CapacityMode::of(input)?,
            metrics: input.text("ReturnItemCollectionMetrics")? == Some("SIZE"),
            old_on_failure: input.text("ReturnValuesOnConditionCheckFailure")? == Some("ALL_OLD"),
        })
    }

    /// A failed condition shows the item only where that was asked for.
    fn fault(&self, error: StoreError) -> Fault {
        match error.kind() {
            ErrorKind::ConditionFailed { old } => Fault::condition_failed(old.as_ref().filter(|_| self.old_on_failure)),
            _ => error.into(),
        }
    }

    fn answer(&self, table: &TableDescription, key: &Item, answer: &WriteAnswer) -> Json {
        let mut json = Map::new();
        if let Some(attributes) = answer.attributes.as_ref().filter(|attributes| !attributes.is_empty()) {
            json.insert("Attributes".to_owned(), value::item_json(attributes));
        }
        if let Some(consumed) = capacity::of_table(self.capacity, NamedUnits::Sum, table, &answer.consumed) {
            json.insert("ConsumedCapacity".to_owned(), consumed);
        }
        if let Some(metrics) = capacity::touched_collection(table, key).filter(|_| self.metrics) {
            json.insert("ItemCollectionMetrics".to_owned(), metrics);
        }
        Json::Object(json)
    }
}

/// What every write of one item is checked for first.
fn check_write(input: &Input<'_>, what: &str, place: &str) -> Result<(), Fault> {
    let mut constraints = Constraints::default();
    constraints.not_null(input.has(what), place);
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
    constraints.one_of(input.text("ReturnValues")?, "returnValues", &RETURN_VALUES);
    constraints.one_of(
        input.text("ReturnValuesOnConditionCheckFailure")?,
        "returnValuesOnConditionCheckFailure",
        &RETURN_ON_FAILURE,
    );
    constraints.one_of(
        input.text("ConditionalOperator")?,
        "conditionalOperator",
        &["OR", "AND"],
    );
    constraints.finish()
}

fn check_returns_old(input: &Input<'_>) -> Result<bool, Fault> {
    match input.text("ReturnValues")? {
        None | Some("NONE") => Ok(false),
        Some("ALL_OLD") => Ok(true),
        Some(_) => Err(Fault::validation_fault("ReturnValues can only be ALL_OLD or NONE")),
    }
}

/// The condition of a put or a delete, however it is said.
pub(crate) fn read_condition(input: &Input<'_>) -> Result<Option<Condition>, Fault> {
    let source = input.text("ConditionExpression")?;
    let placeholders = RequestPlaceholders::read(input, &[("ConditionExpression", source.is_some())], true)?;
    let parsed = source
        .map(|source| condition::read_condition("ConditionExpression", source, &placeholders))
        .transpose()?;
    placeholders.all_used()?;
    match parsed {
        Some(parsed) => Ok(Some(parsed)),
        None => legacy::expected_condition(input),
    }
}

pub(crate) fn read_item(input: &Input<'_>, name: &str) -> Result<Item, Fault> {
    match input.object(name)? {
        Some(members) => value::item_of(members),
        None => Ok(Item::new()),
    }
}

/// The projection of a get, however it is said.
pub(crate) fn read_projection(input: &Input<'_>) -> Result<Vec<Path>, Fault> {
    let source = input.text("ProjectionExpression")?;
    let placeholders = RequestPlaceholders::read(input, &[("ProjectionExpression", source.is_some())], false)?;
    let parsed = source
        .map(|source| projection::read_projection(source, &placeholders))
        .transpose()?;
    placeholders.all_used()?;
    match parsed {
        Some(parsed) => Ok(parsed),
        None => legacy::attributes_to_get(input),
    }
}

pub(crate) async fn put_item(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let table = table_name(input, 1)?;
    check_write(input, "Item", "item")?;
    check_unmixed(input, &["Expected", "ConditionalOperator"], &["ConditionExpression"])?;
    let request = PutRequest {
        item: read_item(input, "Item")?,
        return_old: check_returns_old(input)?,
        condition: read_condition(input)?,
        table,
    };
    let options = WriteReturns::of(input)?;
    endpoint.check_writable(&request.table)?;
    let table = endpoint.table(&request.table).await?;
    schema::check_item(&table.spec, &request.item)?;
    let answer = endpoint
        .store
        .put(&request)
        .await
        .map_err(|error| options.fault(error))?;
    Ok(options.answer(&table, &request.item, &answer))
}

pub(crate) async fn delete_item(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let table = table_name(input, 1)?;
    check_write(input, "Key", "key")?;
    check_unmixed(input, &["Expected", "ConditionalOperator"], &["ConditionExpression"])?;
    let request = DeleteRequest {
        key: read_item(input, "Key")?,
        return_old: check_returns_old(input)?,
        condition: read_condition(input)?,
        table,
    };
    let options = WriteReturns::of(input)?;
    endpoint.check_writable(&request.table)?;
    let table = endpoint.table(&request.table).await?;
    schema::check_key(&table.spec, &request.key)?;
    let answer = endpoint
        .store
        .delete(&request)
        .await
        .map_err(|error| options.fault(error))?;
    Ok(options.answer(&table, &request.key, &answer))
}

pub(crate) async fn update_item(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let table = table_name(input, 1)?;
    check_write(input, "Key", "key")?;
    check_unmixed(
        input,
        &["AttributeUpdates", "Expected", "ConditionalOperator"],
        &["UpdateExpression", "ConditionExpression"],
    )?;
    let key = read_item(input, "Key")?;
    let (update, condition) = read_update(input)?;
    let request = UpdateRequest {
        table,
        key,
        update,
        condition,
        returns: match input.text("ReturnValues")? {
            Some("ALL_OLD") => UpdateReturn::Old,
            Some("ALL_NEW") => UpdateReturn::New,
            Some("UPDATED_OLD") => UpdateReturn::UpdatedOld,
            Some("UPDATED_NEW") => UpdateReturn::UpdatedNew,
            _ => UpdateReturn::Nothing,
        },
    };
    let options = WriteReturns::of(input)?;
    endpoint.check_writable(&request.table)?;
    let table = endpoint.table(&request.table).await?;
    schema::check_key(&table.spec, &request.key)?;
    schema::check_update(&table.spec, &request.update)?;
    let answer = endpoint
        .store
        .update(&request)
        .await
        .map_err(|error| options.fault(error))?;
    Ok(options.answer(&table, &request.key, &answer))
}

/// An update with its condition, however they are said.
pub(crate) fn read_update(input: &Input<'_>) -> Result<(Update, Option<Condition>), Fault> {
    let (source, condition_source) = (input.text("UpdateExpression")?, input.text("ConditionExpression")?);
    let expressions = [
        ("UpdateExpression", source.is_some()),
        ("ConditionExpression", condition_source.is_some()),
    ];
    let placeholders = RequestPlaceholders::read(input, &expressions, true)?;
    let parsed = source
        .map(|source| update::read_update(source, &placeholders))
        .transpose()?;
    let condition = condition_source
        .map(|source| condition::read_condition("ConditionExpression", source, &placeholders))
        .transpose()?;
    placeholders.all_used()?;
    let parsed = match parsed {
        Some(parsed) => parsed,
        None => legacy::attribute_updates(input)?,
    };
    let condition = match condition {
        Some(condition) => Some(condition),
        None => legacy::expected_condition(input)?,
    };
    Ok((parsed, condition))
}

pub(crate) async fn get_item(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let table = table_name(input, 1)?;
    let mut constraints = Constraints::default();
    constraints.not_null(input.has("Key"), "key");
    constraints.one_of(
        input.text("ReturnConsumedCapacity")?,
        "returnConsumedCapacity",
        &CAPACITY_MODES,
    );
    constraints.finish()?;
    check_unmixed(input, &["AttributesToGet"], &["ProjectionExpression"])?;
    let request = GetRequest {
        key: read_item(input, "Key")?,
        consistent: input.flag("ConsistentRead")?.unwrap_or_default(),
        projection: read_projection(input)?.into(),
        table,
    };
    let mode = CapacityMode::of(input)?;
    let table = endpoint.table(&request.table).await?;
    schema::check_key(&table.spec, &request.key)?;
    let answer = endpoint.store.get(&request).await?;
    let mut json = Map::new();
    if let Some(item) = &answer.item {
        json.insert("Item".to_owned(), value::item_json(item));
    }
    if let Some(consumed) = capacity::of_table(mode, NamedUnits::Sum, &table, &answer.consumed) {
        json.insert("ConsumedCapacity".to_owned(), consumed);
    }
    Ok(Json::Object(json))
}
