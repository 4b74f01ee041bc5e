//! Pages: query and scan.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use singlet_item::Item;
use singlet_item::limits::BATCH_GET_ITEMS_MAX;
use singlet_store::{
    BatchGetRequest, BatchGetTable, Condition, Direction, IndexKind, IndexProjection, IndexSpec, KeySchema, Operand,
    PageAnswer, Path, QueryRequest, ScanRequest, ScanSegment, Select, TableDescription, TableSpec,
};

use crate::capacity::{self, CapacityMode, NamedUnits};
use crate::endpoint::Endpoint;
use crate::expression::key_condition::{self, KeyConditions};
use crate::expression::{RequestPlaceholders, condition, projection};
use crate::fault::Fault;
use crate::input::{CAPACITY_MODES, Constraints, Input, check_name, check_unmixed, table_name};
use crate::schema::invalid_values;
use crate::{legacy, value};

const SELECTS: [&str; 4] = [
    "SPECIFIC_ATTRIBUTES",
    "COUNT",
    "ALL_ATTRIBUTES",
    "ALL_PROJECTED_ATTRIBUTES",
];

/// What a query and a scan have in common, as far as it is read without the table.
struct PageRequest {
    table: String,
    index: Option<String>,
    keys: KeyConditions,
    filter: Option<Condition>,
    /// The name of the parameter that the filter came from.
    filter_parameter: &'static str,
    paths: Vec<Path>,
    select: Option<String>,
    consistent: bool,
    limit: Option<u32>,
    start: Option<Item>,
    mode: CapacityMode,
}

impl PageRequest {
    fn read(input: &Input<'_>, is_query: bool) -> Result<Self, Fault> {
        let table = table_name(input, 1)?;
        check_shape(input, is_query)?;
        let (legacy_filter, legacy_all) = match is_query {
            true => (
                "QueryFilter",
                &["AttributesToGet", "QueryFilter", "KeyConditions", "ConditionalOperator"][..],
            ),
            false => (
                "ScanFilter",
                &["AttributesToGet", "ScanFilter", "ConditionalOperator"][..],
            ),
        };
        check_unmixed(
            input,
            legacy_all,
            &["ProjectionExpression", "FilterExpression", "KeyConditionExpression"],
        )?;
        let start = input.object("ExclusiveStartKey")?.map(value::item_of).transpose()?;
        let select = input.text("Select")?;
        check_select(input, select)?;
        let expressions = Expressions::read(input, is_query)?;
        let filter = match expressions.filter {
            Some(filter) => Some(filter),
            None => legacy::legacy_filter(input, legacy_filter)?,
        };
        let keys = match (expressions.keys, input.object("KeyConditions")?) {
            (Some(keys), _) => keys,
            (None, Some(members)) => legacy::key_conditions(members)?,
            (None, None) if is_query => {
                return Err(Fault::validation_fault(
                    "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
                ));
            }
            (None, None) => KeyConditions::new(),
        };
        Ok(Self {
            table,
            index: input.text("IndexName")?.map(str::to_owned),
            keys,
            filter,
            filter_parameter: if input.has(legacy_filter) {
                legacy_filter
            } else {
                "Filter Expression"
            },
            paths: match expressions.paths {
                Some(paths) => paths,
                None => legacy::attributes_to_get(input)?,
            },
            select: select.map(str::to_owned),
            consistent: input.flag("ConsistentRead")?.unwrap_or_default(),
            limit: input
                .integer("Limit")?
                .map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
            start,
            mode: CapacityMode::of(input)?,
        })
    }

    /// The index, if one is asked for; it must be there and take what is asked of it.
    fn index_of<'a>(&self, table: &'a TableSpec) -> Result<Option<&'a IndexSpec>, Fault> {
        let Some(name) = &self.index else {
            return Ok(None);
        };
        let Some(index) = table.indexes.iter().find(|index| index.name == *name) else {
            return Err(Fault::validation_fault(format!(
                "The table does not have the specified index: {name}"
            )));
        };
        if index.kind == IndexKind::Global {
            if self.consistent {
                return Err(Fault::validation_fault(
                    "Consistent reads are not supported on global secondary indexes",
                ));
            }
            self.check_projected(table, index)?;
        }
        Ok(Some(index))
    }

    /// A global index gives only what it holds.
    fn check_projected(&self, table: &TableSpec, index: &IndexSpec) -> Result<(), Fault> {
        if self.select.as_deref() == Some("ALL_ATTRIBUTES") && index.projection != IndexProjection::All {
            return Err(invalid_values(format!(
                "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection \
                 type is not ALL",
                index.name
            )));
        }
        let missing: Vec<&str> = self
            .paths
            .iter()
            .map(Path::name)
            .filter(|name| !is_projected(table, index, name))
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(invalid_values(format!(
                "Global secondary index {} does not project [{}]",
                index.name,
                missing.join(", ")
            ))),
        }
    }

    fn select(&self) -> Select {
        match (self.select.as_deref(), self.paths.is_empty()) {
            (Some("COUNT"), _) => Select::Count,
            (_, false) => Select::Paths(self.paths.as_slice().into()),
            (_, true) => Select::All,
        }
    }

    /// Whether items must be fetched from the table: a local index that lacks what is asked for.
    fn fetches(&self, table: &TableSpec, index: Option<&IndexSpec>) -> bool {
        let Some(index) = index.filter(|index| index.kind == IndexKind::Local) else {
            return false;
        };
        let lacks = |path: &Path| !is_projected(table, index, path.name());
        match self.select.as_deref() {
            Some("COUNT") => false,
            Some("ALL_ATTRIBUTES") => index.projection != IndexProjection::All,
            _ => self.paths.iter().any(lacks),
        }
    }

    /// Refuses a start that is no key of what is read.
    fn check_start(&self, table: &TableSpec, index: Option<&IndexSpec>) -> Result<(), Fault> {
        let Some(start) = &self.start else {
            return Ok(());
        };
        let keys: Vec<_> = table
            .key
            .attributes()
            .chain(index.into_iter().flat_map(|index| index.key.attributes()))
            .collect();
        let fits = keys.iter().all(|key| {
            start
                .get(&key.name)
                .is_some_and(|value| key.key_type.takes_value(value))
        }) && start.keys().all(|name| keys.iter().any(|key| key.name == *name));
        match fits {
            true => Ok(()),
            false => Err(Fault::validation_fault("The provided starting key is invalid")),
        }
    }

    fn answer(&self, table: &TableDescription, page: &PageAnswer) -> Json {
        let mut json = Map::new();
        if self.select.as_deref() != Some("COUNT") {
            let items = page.items.iter().map(value::item_json).collect();
            json.insert("Items".to_owned(), Json::Array(items));
        }
        json.insert("Count".to_owned(), Json::from(page.count));
        json.insert("ScannedCount".to_owned(), Json::from(page.scanned));
        if let Some(key) = &page.last_key {
            json.insert("LastEvaluatedKey".to_owned(), value::item_json(key));
        }
        if let Some(consumed) = capacity::of_table(self.mode, NamedUnits::Sum, table, &page.consumed) {
            json.insert("ConsumedCapacity".to_owned(), consumed);
        }
        Json::Object(json)
    }
}

/// The expressions of a page, read with the same placeholders.
struct Expressions {
    keys: Option<KeyConditions>,
    filter: Option<Condition>,
    paths: Option<Vec<Path>>,
}

impl Expressions {
    fn read(input: &Input<'_>, is_query: bool) -> Result<Self, Fault> {
        let paths = input.text("ProjectionExpression")?;
        let filter = input.text("FilterExpression")?;
        let keys = input.text("KeyConditionExpression")?.filter(|_| is_query);
        let mut all = vec![
            ("ProjectionExpression", paths.is_some()),
            ("FilterExpression", filter.is_some()),
        ];
        if is_query {
            all.push(("KeyConditionExpression", keys.is_some()));
        }
        let placeholders = RequestPlaceholders::read(input, &all, true)?;
        let filter = filter
            .map(|source| condition::read_condition("FilterExpression", source, &placeholders))
            .transpose()?;
        let paths = paths
            .map(|source| projection::read_projection(source, &placeholders))
            .transpose()?;
        let keys = keys
            .map(|source| key_condition::read_key_condition(source, &placeholders))
            .transpose()?;
        placeholders.all_used()?;
        Ok(Self { keys, filter, paths })
    }
}

fn check_shape(input: &Input<'_>, is_query: bool) -> Result<(), Fault> {
    let mut constraints = Constraints::default();
    let limit = input.integer("Limit")?;
    match is_query {
        // DynamoDB names this one differently, and does not show it.
        true if limit.is_some_and(|limit| limit < 1) => constraints.add_words(
            "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
        ),
        true => {}
        false => constraints.at_least(limit, "limit", 1),
    }
    constraints.one_of(
        input.text("ReturnConsumedCapacity")?,
        "returnConsumedCapacity",
        &CAPACITY_MODES,
    );
    constraints.one_of(input.text("Select")?, "select", &SELECTS);
    constraints.one_of(
        input.text("ConditionalOperator")?,
        "conditionalOperator",
        &["OR", "AND"],
    );
    if let Some(index) = input.text("IndexName")? {
        check_name(&mut constraints, index, "indexName", 3);
    }
    if !is_query {
        let segments = [("Segment", "segment", 0), ("TotalSegments", "totalSegments", 1)];
        for (name, place, least) in segments {
            let value = input.integer(name)?;
            constraints.at_least(value, place, least);
            if let Some(value) = value.filter(|value| *value > SEGMENTS_MAX) {
                let words = format!("Member must have value less than or equal to {SEGMENTS_MAX}");
                constraints.add_failure(Some(&value.to_string()), place, &words);
            }
        }
    }
    constraints.finish()
}

/// The most parts of a parallel scan.
const SEGMENTS_MAX: i64 = 1_000_000;

fn check_select(input: &Input<'_>, select: Option<&str>) -> Result<(), Fault> {
    let named = ["ProjectionExpression", "AttributesToGet"]
        .into_iter()
        .find(|name| input.has(name));
    match (select, named) {
        (Some("SPECIFIC_ATTRIBUTES"), None) => Err(Fault::validation_fault(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        )),
        (Some(select), Some(name)) if select != "SPECIFIC_ATTRIBUTES" => {
            let what = if select == "COUNT" { "only the Count" } else { select };
            Err(Fault::validation_fault(format!(
                "Cannot specify the {name} when choosing to get {what}"
            )))
        }
        (Some("ALL_PROJECTED_ATTRIBUTES"), _) if !input.has("IndexName") => Err(Fault::validation_fault(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        )),
        _ => Ok(()),
    }
}

/// Whether an index holds an attribute.
fn is_projected(table: &TableSpec, index: &IndexSpec, name: &str) -> bool {
    let is_key = |key: &KeySchema| key.attributes().any(|attribute| attribute.name == name);
    match &index.projection {
        IndexProjection::All => true,
        IndexProjection::Include(names) if names.iter().any(|included| included == name) => true,
        IndexProjection::Include(_) | IndexProjection::KeysOnly => is_key(&table.key) || is_key(&index.key),
    }
}

pub(crate) async fn query_page(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let page = PageRequest::read(input, true)?;
    let direction = match input.flag("ScanIndexForward")? {
        Some(false) => Direction::Descending,
        _ => Direction::Ascending,
    };
    let table = endpoint.table(&page.table).await?;
    let index = page.index_of(&table.spec)?;
    let key = index.map_or(&table.spec.key, |index| &index.key);
    let range = key_condition::range_of(page.keys.clone(), key)?;
    check_filter(&page, key)?;
    page.check_start(&table.spec, index)?;
    let fetches = page.fetches(&table.spec, index);
    let request = QueryRequest {
        table: page.table.clone(),
        index: page.index.clone(),
        range,
        filter: page.filter.clone(),
        // Whole entries of the index: without the keys of the table nothing could be fetched.
        select: if fetches { Select::All } else { page.select() },
        consistent: page.consistent,
        direction,
        limit: page.limit,
        start: page.start.clone(),
    };
    let mut answer = endpoint.store.query(&request).await?;
    if fetches {
        fetch(endpoint, &page, &table, &mut answer).await?;
    }
    Ok(page.answer(&table, &answer))
}

/// A filter looks at what is not the key: the key is what the condition of the query is for.
fn check_filter(page: &PageRequest, key: &KeySchema) -> Result<(), Fault> {
    let Some(filter) = &page.filter else {
        return Ok(());
    };
    let mut names = Vec::new();
    names_in(filter, &mut names);
    match key
        .attributes()
        .find(|attribute| names.contains(&attribute.name.as_str()))
    {
        None => Ok(()),
        Some(attribute) => Err(Fault::validation_fault(format!(
            "{} can only contain non-primary key attributes: Primary key attribute: {}",
            page.filter_parameter, attribute.name
        ))),
    }
}

/// The attributes that a condition looks at.
pub(crate) fn names_in<'a>(condition: &'a Condition, names: &mut Vec<&'a str>) {
    let mut operands = |all: &[&'a Operand]| {
        for operand in all {
            match operand {
                Operand::Path(path) | Operand::Size(path) => names.push(path.name()),
                Operand::Value(_) => {}
            }
        }
    };
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| names_in(part, names)),
        Condition::Not(inner) => names_in(inner, names),
        Condition::Compare { left, right, .. } => operands(&[left, right]),
        Condition::Between { operand, low, high } => operands(&[operand, low, high]),
        Condition::In { operand, options } => {
            operands(&[operand]);
            options.iter().for_each(|option| operands(&[option]));
        }
        Condition::Exists(path) | Condition::NotExists(path) | Condition::HasType(path, _) => names.push(path.name()),
        Condition::BeginsWith(whole, part) | Condition::Contains(whole, part) => operands(&[whole, part]),
    }
}

pub(crate) async fn scan_page(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let page = PageRequest::read(input, false)?;
    let segment = segment(input)?;
    let table = endpoint.table(&page.table).await?;
    let index = page.index_of(&table.spec)?;
    page.check_start(&table.spec, index)?;
    let fetches = page.fetches(&table.spec, index);
    let request = ScanRequest {
        table: page.table.clone(),
        index: page.index.clone(),
        filter: page.filter.clone(),
        select: if fetches { Select::All } else { page.select() },
        consistent: page.consistent,
        limit: page.limit,
        start: page.start.clone(),
        segment,
    };
    let mut answer = endpoint.store.scan(&request).await?;
    if fetches {
        fetch(endpoint, &page, &table, &mut answer).await?;
    }
    Ok(page.answer(&table, &answer))
}

fn segment(input: &Input<'_>) -> Result<Option<ScanSegment>, Fault> {
    match (input.integer("Segment")?, input.integer("TotalSegments")?) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(Fault::validation_fault(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is \
             present",
        )),
        (None, Some(_)) => Err(Fault::validation_fault(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is \
             present",
        )),
        (Some(index), Some(total)) if index >= total => Err(Fault::validation_fault(format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {index} is \
             not less than TotalSegments: {total}"
        ))),
        (Some(index), Some(total)) => Ok(Some(ScanSegment {
            index: u32::try_from(index).unwrap_or_default(),
            total: u32::try_from(total).unwrap_or(1),
        })),
    }
}

/// How often what a batch left out is asked for again.
const FETCH_ROUNDS_MAX: usize = 100;

/// Replaces what a local index holds of the items by what the table has, as DynamoDB does where the index lacks what is
/// asked for. An item that went meanwhile stays as the index had it.
async fn fetch(
    endpoint: &Endpoint,
    page: &PageRequest,
    table: &TableDescription,
    answer: &mut PageAnswer,
) -> Result<(), Fault> {
    let key_of = |item: &Item| -> Item {
        let names = table.spec.key.attributes().map(|attribute| &attribute.name);
        names
            .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
            .collect()
    };
    for chunk in answer.items.chunks_mut(BATCH_GET_ITEMS_MAX) {
        let mut projection = page.paths.clone();
        if !projection.is_empty() {
            let keys = table.spec.key.attributes();
            let more = keys.filter(|key| page.paths.iter().all(|path| path.name() != key.name));
            // The keys, too, by which what was found is told; they are taken out again.
            projection.extend(more.map(|key| Path::attribute(key.name.clone())));
        }
        let mut wanted: Vec<Item> = chunk.iter().map(key_of).collect();
        let mut found: BTreeMap<Item, Item> = BTreeMap::new();
        for _ in 0..FETCH_ROUNDS_MAX {
            if wanted.is_empty() {
                break;
            }
            let request = BatchGetRequest {
                tables: vec![BatchGetTable {
                    table: page.table.clone(),
                    keys: std::mem::take(&mut wanted),
                    consistent: page.consistent,
                    projection: projection.as_slice().into(),
                }],
            };
            let part = endpoint.store.batch_get(&request).await?;
            answer.consumed += &part.consumed;
            let items = part.items.into_values().flatten();
            found.extend(items.map(|item| (key_of(&item), item)));
            wanted.extend(part.unprocessed.into_iter().flat_map(|table| table.keys));
        }
        for item in chunk {
            if let Some(mut whole) = found.remove(&key_of(item)) {
                if !page.paths.is_empty() {
                    whole.retain(|name, _| page.paths.iter().any(|path| path.name() == name));
                }
                *item = whole;
            }
        }
    }
    Ok(())
}
