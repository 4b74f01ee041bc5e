//! PartiQL: statements on the same requests.
//!
//! A `SELECT` that names its partition is a query, any other one a scan. `INSERT`, `UPDATE` and `DELETE` are one write each,
//! by the whole key.

mod literal;
mod parse;
mod token;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use singlet_item::limits::{BATCH_WRITE_ITEMS_MAX, TRANSACTION_ITEMS_MAX};
use singlet_item::{Item, Value};
use singlet_store::well_formed::{changed_paths, check_distinct};
use singlet_store::{
    Cancellation, Comparison, Condition, Consumed, DeleteRequest, ErrorKind, KeySchema, Operand, PageAnswer, Path,
    PutRequest, QueryRequest, ScanRequest, Segment, SortRange, TableDescription, TransactGet, TransactGetRequest,
    TransactWrite, TransactWriteRequest, UpdateRequest, UpdateReturn,
};

use self::parse::{SelectStatement, Statement};
use crate::capacity::{self, CapacityMode, NamedUnits};
use crate::endpoint::Endpoint;
use crate::expression::key_condition;
use crate::fault::{Fault, FaultKind};
use crate::input::{CAPACITY_MODES, Constraints, Input};
use crate::pages::names_in;
use crate::{schema, value};

/// The longest statement.
const STATEMENT_BYTES_MAX: usize = 8192;

fn read_statement(input: &Input<'_>) -> Result<Statement, Fault> {
    let statement = input.text("Statement")?;
    let mut constraints = Constraints::default();
    constraints.not_null(statement.is_some(), "statement");
    let statement = statement.unwrap_or_default();
    if input.has("Statement") && statement.is_empty() {
        constraints.add_failure(
            Some(""),
            "statement",
            "Member must have length greater than or equal to 1",
        );
    }
    if statement.len() > STATEMENT_BYTES_MAX {
        let words = format!("Member must have length less than or equal to {STATEMENT_BYTES_MAX}");
        constraints.add_failure(Some(statement), "statement", &words);
    }
    constraints.finish()?;
    let parameters: Vec<Value> = input
        .list("Parameters")?
        .into_iter()
        .flatten()
        .map(value::attribute_value)
        .collect::<Result<_, Fault>>()?;
    parse::read_statement(statement, parameters).map_err(Fault::validation_fault)
}

/// What a statement gave.
#[derive(Default)]
struct StatementOutcome {
    items: Vec<Item>,
    last_key: Option<Item>,
    consumed: Consumed,
}

pub(crate) async fn execute_statement(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let limit = input.integer("Limit")?;
    let mut constraints = Constraints::default();
    constraints.at_least(limit, "limit", 1);
    constraints.one_of(
        input.text("ReturnConsumedCapacity")?,
        "returnConsumedCapacity",
        &CAPACITY_MODES,
    );
    constraints.finish()?;
    let statement = read_statement(input)?;
    let start = match input.text("NextToken")? {
        Some(token) => Some(read_token(token).ok_or_else(|| Fault::validation_fault("Given NextToken is invalid"))?),
        None => None,
    };
    let table = endpoint.table(statement.table()).await?;
    let outcome = match statement {
        Statement::Select(select) => {
            let page = SelectPage {
                consistent: input.flag("ConsistentRead")?.unwrap_or_default(),
                limit: limit.and_then(|limit| u32::try_from(limit).ok()),
                start,
            };
            run_select(endpoint, &table, &select, page).await?
        }
        other => run_write(endpoint, &table, other).await?,
    };
    let mut json = Map::new();
    let items = outcome.items.iter().map(value::item_json).collect();
    json.insert("Items".to_owned(), Json::Array(items));
    if let Some(key) = &outcome.last_key {
        let key = value::item_json(key);
        json.insert("NextToken".to_owned(), Json::from(STANDARD.encode(key.to_string())));
        json.insert("LastEvaluatedKey".to_owned(), key);
    }
    let mode = CapacityMode::of(input)?;
    if let Some(consumed) = capacity::of_table(mode, NamedUnits::Sum, &table, &outcome.consumed) {
        json.insert("ConsumedCapacity".to_owned(), consumed);
    }
    Ok(Json::Object(json))
}

fn read_token(token: &str) -> Option<Item> {
    let key: Json = serde_json::from_slice(&STANDARD.decode(token).ok()?).ok()?;
    value::item_of(key.as_object()?).ok()
}

/// Which page of a `SELECT`.
struct SelectPage {
    consistent: bool,
    limit: Option<u32>,
    start: Option<Item>,
}

async fn run_select(
    endpoint: &Endpoint,
    table: &TableDescription,
    select: &SelectStatement,
    page: SelectPage,
) -> Result<StatementOutcome, Fault> {
    let index = match &select.index {
        Some(name) => {
            let index = table.spec.indexes.iter().find(|index| index.name == *name);
            Some(index.ok_or_else(|| {
                Fault::validation_fault(format!("The table does not have the specified index: {name}"))
            })?)
        }
        None => None,
    };
    let key = index.map_or(&table.spec.key, |index| &index.key);
    let answer = match split(select.condition.clone(), key) {
        Some((keys, filter)) => {
            let request = QueryRequest {
                table: select.table.clone(),
                index: select.index.clone(),
                range: key_condition::range_of(keys, key)?,
                filter,
                select: singlet_store::Select::All,
                consistent: page.consistent,
                direction: select.direction,
                limit: page.limit,
                start: page.start,
            };
            endpoint.store.query(&request).await?
        }
        None => {
            let request = ScanRequest {
                table: select.table.clone(),
                index: select.index.clone(),
                filter: select.condition.clone(),
                select: singlet_store::Select::All,
                consistent: page.consistent,
                limit: page.limit,
                start: page.start,
                segment: None,
            };
            endpoint.store.scan(&request).await?
        }
    };
    let PageAnswer {
        items,
        last_key,
        consumed,
        ..
    } = answer;
    Ok(StatementOutcome {
        items: items.into_iter().map(|item| projected(item, &select.paths)).collect(),
        last_key,
        consumed,
    })
}

/// The keys that a condition fixes and what is left of it; none, where it fixes no partition or looks at keys besides.
fn split(condition: Option<Condition>, key: &KeySchema) -> Option<(key_condition::KeyConditions, Option<Condition>)> {
    let mut rest = flattened(condition?);
    let mut keys = key_condition::KeyConditions::new();
    for attribute in &key.partition {
        let position = rest
            .iter()
            .position(|part| matches!(range_of(part), Some((name, SortRange::Equal(_))) if name == attribute.name))?;
        keys.extend(range_of(&rest.remove(position)));
    }
    for attribute in &key.sort {
        let found = rest
            .iter()
            .position(|part| range_of(part).is_some_and(|(name, _)| name == attribute.name));
        let Some(position) = found else {
            break;
        };
        let range = range_of(&rest.remove(position));
        let is_equal = matches!(range, Some((_, SortRange::Equal(_))));
        keys.extend(range);
        if !is_equal {
            break;
        }
    }
    let mut names = Vec::new();
    rest.iter().for_each(|part| names_in(part, &mut names));
    if key
        .attributes()
        .any(|attribute| names.contains(&attribute.name.as_str()))
    {
        return None;
    }
    let filter = match (rest.len(), rest.pop()) {
        (0 | 1, only) => only,
        (_, last) => {
            rest.extend(last);
            Some(Condition::And(rest))
        }
    };
    Some((keys, filter))
}

fn flattened(condition: Condition) -> Vec<Condition> {
    match condition {
        Condition::And(parts) => parts.into_iter().flat_map(flattened).collect(),
        other => vec![other],
    }
}

/// The range that one comparison of an attribute with a value is.
fn range_of(condition: &Condition) -> Option<(String, SortRange)> {
    let whole = |path: &Path| path.inner_segments().is_empty().then(|| path.name().to_owned());
    match condition {
        Condition::Compare {
            left: Operand::Path(path),
            comparison,
            right: Operand::Value(value),
        } => {
            let value = value.clone();
            let range = match comparison {
                Comparison::Equal => SortRange::Equal(value),
                Comparison::NotEqual => return None,
                Comparison::Less => SortRange::Less(value),
                Comparison::LessOrEqual => SortRange::LessOrEqual(value),
                Comparison::Greater => SortRange::Greater(value),
                Comparison::GreaterOrEqual => SortRange::GreaterOrEqual(value),
            };
            Some((whole(path)?, range))
        }
        Condition::Between {
            operand: Operand::Path(path),
            low: Operand::Value(low),
            high: Operand::Value(high),
        } => Some((whole(path)?, SortRange::Between(low.clone(), high.clone()))),
        Condition::BeginsWith(Operand::Path(path), Operand::Value(start)) => {
            Some((whole(path)?, SortRange::BeginsWith(start.clone())))
        }
        _ => None,
    }
}

/// The paths of an item, each under its last name.
fn projected(item: Item, paths: &[Path]) -> Item {
    if paths.is_empty() {
        return item;
    }
    let mut picked = Item::new();
    for path in paths {
        let mut value = item.get(path.name());
        let mut name = path.name();
        for segment in path.inner_segments() {
            value = match (segment, value) {
                (Segment::Key(key), Some(Value::M(entries))) => {
                    name = key;
                    entries.get(key)
                }
                (Segment::Index(index), Some(Value::L(elements))) => elements.get(*index),
                _ => None,
            };
        }
        if let Some(value) = value {
            picked.insert(name.to_owned(), value.clone());
        }
    }
    picked
}

/// The whole key that a condition fixes, and what is left of it.
fn key_and_rest(table: &TableDescription, condition: Condition) -> Result<(Item, Option<Condition>), Fault> {
    let mut rest = flattened(condition);
    let mut key = Item::new();
    for attribute in table.spec.key.attributes() {
        let found = rest
            .iter()
            .position(|part| matches!(range_of(part), Some((name, SortRange::Equal(_))) if name == attribute.name));
        let fixed = found.and_then(|position| range_of(&rest.remove(position)));
        let Some((name, SortRange::Equal(value))) = fixed else {
            return Err(Fault::validation_fault(
                "Where clause does not contain a mandatory equality on all key attributes",
            ));
        };
        key.insert(name, value);
    }
    schema::check_key(&table.spec, &key)?;
    let rest = match rest.is_empty() {
        true => None,
        false => Some(Condition::And(rest)),
    };
    Ok((key, rest))
}

/// A write as an action of a transaction has it.
fn write_of(table: &TableDescription, statement: Statement) -> Result<TransactWrite, Fault> {
    let partition = || table.spec.key.partition.first().map_or("", |key| key.name.as_str());
    match statement {
        Statement::Insert { table: name, item } => {
            schema::check_item(&table.spec, &item)?;
            Ok(TransactWrite::Put(PutRequest {
                table: name,
                item,
                condition: Some(Condition::not_exists(partition())),
                return_old: false,
            }))
        }
        Statement::Update {
            table: name,
            update,
            condition,
            returns,
        } => {
            let (key, rest) = key_and_rest(table, condition)?;
            check_distinct(changed_paths(&update)).map_err(Fault::validation_fault)?;
            schema::check_update(&table.spec, &update)?;
            let exists = Condition::exists(partition());
            Ok(TransactWrite::Update(UpdateRequest {
                table: name,
                key,
                update,
                condition: Some(match rest {
                    Some(rest) => exists.and(rest),
                    None => exists,
                }),
                returns,
            }))
        }
        Statement::Delete {
            table: name,
            condition,
            returns_old,
        } => {
            let (key, condition) = key_and_rest(table, condition)?;
            Ok(TransactWrite::Delete(DeleteRequest {
                table: name,
                key,
                condition,
                return_old: returns_old,
            }))
        }
        Statement::Exists(select) => {
            let condition = select.condition.ok_or_else(|| {
                Fault::validation_fault("Where clause does not contain a mandatory equality on all key attributes")
            })?;
            let (key, rest) = key_and_rest(table, condition)?;
            let exists = Condition::exists(partition());
            Ok(TransactWrite::Check {
                table: select.table,
                key,
                condition: match rest {
                    Some(rest) => exists.and(rest),
                    None => exists,
                },
            })
        }
        Statement::Select(_) => Err(Fault::validation_fault(
            "Statements of one request either all read or all write",
        )),
    }
}

async fn run_write(
    endpoint: &Endpoint,
    table: &TableDescription,
    statement: Statement,
) -> Result<StatementOutcome, Fault> {
    endpoint.check_writable(&table.spec.name)?;
    if matches!(statement, Statement::Exists(_)) {
        return Err(Fault::validation_fault("EXISTS is for transactions"));
    }
    let answer = match write_of(table, statement)? {
        TransactWrite::Put(request) => endpoint.store.put(&request).await.map_err(|error| match error.kind() {
            ErrorKind::ConditionFailed { .. } => Fault::new(FaultKind::DuplicateItem, DUPLICATE),
            _ => error.into(),
        })?,
        TransactWrite::Update(request) => endpoint.store.update(&request).await?,
        TransactWrite::Delete(request) => endpoint.store.delete(&request).await?,
        TransactWrite::Check { .. } => return Err(Fault::validation_fault("EXISTS is for transactions")),
    };
    Ok(StatementOutcome {
        items: answer.attributes.into_iter().collect(),
        last_key: None,
        consumed: answer.consumed,
    })
}

const DUPLICATE: &str = "Duplicate primary key exists in table";

fn statements<'a>(input: &Input<'a>, name: &str, place: &str, most: usize) -> Result<&'a [Json], Fault> {
    let list = input.list(name)?;
    let mut constraints = Constraints::default();
    constraints.not_null(list.is_some(), place);
    let list = list.unwrap_or_default();
    if input.has(name) && list.is_empty() {
        constraints.add_failure(Some("[]"), place, "Member must have length greater than or equal to 1");
    }
    if list.len() > most {
        let shown: Vec<String> = list.iter().map(Json::to_string).collect();
        let words = format!("Member must have length less than or equal to {most}");
        constraints.add_failure(Some(&format!("[{}]", shown.join(", "))), place, &words);
    }
    constraints.finish()?;
    Ok(list)
}

pub(crate) async fn execute_batch(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let list = statements(input, "Statements", "statements", BATCH_WRITE_ITEMS_MAX)?;
    let mode = CapacityMode::of(input)?;
    let mut responses = Vec::with_capacity(list.len());
    let mut consumed = Consumed::default();
    let mut described: Vec<Arc<TableDescription>> = Vec::new();
    for given in list {
        let response = execute_one(endpoint, &Input::of(given)?).await;
        responses.push(match response {
            Ok((table, outcome)) => {
                let mut json = json!({ "TableName": table.spec.name });
                if let (Json::Object(json), Some(item)) = (&mut json, outcome.items.first()) {
                    json.insert("Item".to_owned(), value::item_json(item));
                }
                consumed += outcome.consumed;
                if described.iter().all(|known| known.spec.name != table.spec.name) {
                    described.push(table);
                }
                json
            }
            Err(fault) => json!({ "Error": { "Code": short_code(&fault), "Message": fault.message() } }),
        });
    }
    let mut json = json!({ "Responses": responses });
    let all: Vec<Json> = described
        .iter()
        .filter_map(|table| capacity::of_table(mode, NamedUnits::Sum, table, &consumed))
        .collect();
    if let (Json::Object(json), false) = (&mut json, all.is_empty()) {
        json.insert("ConsumedCapacity".to_owned(), Json::Array(all));
    }
    Ok(json)
}

/// The code of a statement that failed in a batch.
fn short_code(fault: &Fault) -> &'static str {
    match fault.kind() {
        FaultKind::Validation => "ValidationError",
        kind => {
            let name = kind.name();
            name.strip_suffix("Exception").unwrap_or(name)
        }
    }
}

async fn execute_one(
    endpoint: &Endpoint,
    input: &Input<'_>,
) -> Result<(Arc<TableDescription>, StatementOutcome), Fault> {
    let statement = read_statement(input)?;
    let table = endpoint.table(statement.table()).await?;
    let outcome = match statement {
        Statement::Select(select) => {
            let condition = select.condition.clone().unwrap_or(Condition::And(Vec::new()));
            key_and_rest(&table, condition).map_err(|_| {
                Fault::validation_fault(
                    "Select statements within BatchExecuteStatement must specify the primary key in the where clause.",
                )
            })?;
            let page = SelectPage {
                consistent: input.flag("ConsistentRead")?.unwrap_or_default(),
                limit: None,
                start: None,
            };
            run_select(endpoint, &table, &select, page).await?
        }
        other => run_write(endpoint, &table, other).await?,
    };
    Ok((table, outcome))
}

pub(crate) async fn execute_transaction(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let list = statements(input, "TransactStatements", "transactStatements", TRANSACTION_ITEMS_MAX)?;
    let mut parsed = Vec::with_capacity(list.len());
    for given in list {
        let statement = read_statement(&Input::of(given)?)?;
        let table = endpoint.table(statement.table()).await?;
        parsed.push((table, statement));
    }
    let is_read = |statement: &Statement| matches!(statement, Statement::Select(_));
    let items: Vec<Option<Item>> = match parsed.iter().all(|(_, statement)| is_read(statement)) {
        true => read_all(endpoint, parsed).await?,
        false => write_all(endpoint, parsed, input.text("ClientRequestToken")?).await?,
    };
    let responses: Vec<Json> = items
        .iter()
        .map(|item| match item {
            Some(item) => json!({ "Item": value::item_json(item) }),
            None => json!({}),
        })
        .collect();
    Ok(json!({ "Responses": responses }))
}

type Parsed = Vec<(Arc<TableDescription>, Statement)>;

async fn read_all(endpoint: &Endpoint, parsed: Parsed) -> Result<Vec<Option<Item>>, Fault> {
    let mut gets = Vec::with_capacity(parsed.len());
    let mut paths = Vec::with_capacity(parsed.len());
    for (table, statement) in parsed {
        let Statement::Select(select) = statement else {
            continue;
        };
        let condition = select.condition.unwrap_or(Condition::And(Vec::new()));
        let (key, rest) = key_and_rest(&table, condition)?;
        if rest.is_some() {
            return Err(Fault::validation_fault(
                "Select statements within ExecuteTransaction take the primary key alone in the where clause",
            ));
        }
        gets.push(TransactGet {
            table: select.table,
            key,
            projection: Default::default(),
        });
        paths.push(select.paths);
    }
    let answer = endpoint.store.transact_get(&TransactGetRequest { gets }).await?;
    let items = answer.items.into_iter().zip(paths);
    Ok(items
        .map(|(item, paths)| item.map(|item| projected(item, &paths)))
        .collect())
}

async fn write_all(endpoint: &Endpoint, parsed: Parsed, token: Option<&str>) -> Result<Vec<Option<Item>>, Fault> {
    let mut actions = Vec::with_capacity(parsed.len());
    for (table, statement) in parsed {
        endpoint.check_writable(&table.spec.name)?;
        let mut write = write_of(&table, statement)?;
        if let TransactWrite::Update(update) = &mut write {
            update.returns = UpdateReturn::Nothing;
        }
        actions.push(write);
    }
    let request = TransactWriteRequest {
        actions,
        token: token.map(str::to_owned),
    };
    let written = endpoint.store.transact_write(&request).await;
    written.map_err(|error| match error.kind() {
        ErrorKind::Cancelled(reasons) => cancelled(&request, reasons),
        _ => error.into(),
    })?;
    Ok(vec![None; request.actions.len()])
}

/// An insert that failed found its key taken.
fn cancelled(request: &TransactWriteRequest, reasons: &[Cancellation]) -> Fault {
    let is_insert = |position: usize| matches!(request.actions.get(position), Some(TransactWrite::Put(_)));
    Fault::cancelled_by_reasons(reasons.iter().enumerate().map(|(position, reason)| match reason {
        Cancellation::ConditionFailed { .. } if is_insert(position) => {
            json!({ "Code": "DuplicateItem", "Message": DUPLICATE })
        }
        other => crate::fault::reason_json(other, false),
    }))
}
