//! What should wake somebody: throttles, refused requests, units near what is provisioned, readers of the stream that fall behind.

use std::collections::BTreeSet;

use singlet_store::{Billing, IndexKind};

use crate::TableDesign;
use crate::design::provisioned_units;

/// The share of the provisioned units above which an alarm sounds.
const PROVISIONED_PERCENT_MAX: u64 = 80;
/// A stream keeps changes for a day: whoever is this far behind has most of it left.
const ITERATOR_AGE_MILLISECONDS_MAX: u64 = 5 * 60 * 1_000;
/// The refused requests in five minutes above which something is wrong with a client.
const USER_ERRORS_MAX: u64 = 10;

/// An alarm of CloudWatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// Letters and digits, unlike that of every other alarm of the table.
    pub id: String,
    /// What it means, and what to look at.
    pub description: String,
    /// The namespace of the metric.
    pub namespace: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// What it is of.
    pub dimensions: Vec<(&'static str, DimensionValue)>,
    /// How the values of a period become one.
    pub statistic: &'static str,
    /// How long a period is.
    pub period_seconds: u64,
    /// How many periods are looked at; in all of them the threshold must be passed.
    pub periods: u64,
    /// The value above which it sounds.
    pub threshold: u64,
}

/// The value of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DimensionValue {
    /// The table's name.
    Table,
    /// This text.
    Text(String),
    /// The name of the function that reads the stream under this name, which whoever deploys knows.
    FunctionOf(String),
}

impl Alarm {
    /// The reader of the stream that it is of.
    pub fn stream_reader(&self) -> Option<&str> {
        self.dimensions.iter().find_map(|(_, value)| match value {
            DimensionValue::FunctionOf(reader) => Some(reader.as_str()),
            DimensionValue::Table | DimensionValue::Text(_) => None,
        })
    }
}

/// The alarms of a table.
pub fn alarms_of(design: &TableDesign) -> Vec<Alarm> {
    let mut alarms = of_place(design, None, "Table", design.spec.billing);
    let mut ids = Identifiers::default();
    for index in design.indexes_of(IndexKind::Global) {
        let id = ids.unlike_others(&index.name);
        let billing = index.index_billing(design.spec.billing);
        alarms.extend(of_place(design, Some(&index.name), &format!("Index{id}"), billing));
    }
    alarms.push(user_errors());
    let mut ids = Identifiers::default();
    alarms.extend(design.stream_readers.iter().map(|reader| {
        let id = ids.unlike_others(reader);
        iterator_age(reader, &id)
    }));
    alarms
}

/// Throttles of the table or of an index, and its units where they are provisioned.
fn of_place(design: &TableDesign, index: Option<&str>, id: &str, billing: Billing) -> Vec<Alarm> {
    let place = match index {
        Some(name) => format!("index {name} of table {}", design.spec.name),
        None => format!("table {}", design.spec.name),
    };
    let mut dimensions = vec![("TableName", DimensionValue::Table)];
    dimensions.extend(index.map(|name| ("GlobalSecondaryIndexName", DimensionValue::Text(name.to_owned()))));
    let sum = |name: &str, metric, description: String, threshold| Alarm {
        id: format!("{id}{name}"),
        description,
        namespace: "AWS/DynamoDB",
        metric,
        dimensions: dimensions.clone(),
        statistic: "Sum",
        period_seconds: 60,
        periods: 5,
        threshold,
    };
    let throttled = |what: &str| format!("{what} of {place} are throttled");
    let mut alarms = vec![
        sum("ReadThrottles", "ReadThrottleEvents", throttled("reads"), 0),
        sum("WriteThrottles", "WriteThrottleEvents", throttled("writes"), 0),
    ];
    if let Some((read, write)) = provisioned_units(billing) {
        let near = |what: &str, units: u32| {
            format!("{place} takes more than {PROVISIONED_PERCENT_MAX} percent of its {units} {what} units a second")
        };
        let most = |units: u32| u64::from(units) * 60 * PROVISIONED_PERCENT_MAX / 100;
        alarms.push(sum(
            "ReadUnits",
            "ConsumedReadCapacityUnits",
            near("read", read),
            most(read),
        ));
        alarms.push(sum(
            "WriteUnits",
            "ConsumedWriteCapacityUnits",
            near("write", write),
            most(write),
        ));
    }
    alarms
}

/// CloudWatch counts refused requests by account and region, not by table.
fn user_errors() -> Alarm {
    Alarm {
        id: "UserErrors".to_owned(),
        description: "requests to DynamoDB are refused as wrong, of any table of this account and region".to_owned(),
        namespace: "AWS/DynamoDB",
        metric: "UserErrors",
        dimensions: Vec::new(),
        statistic: "Sum",
        period_seconds: 300,
        periods: 1,
        threshold: USER_ERRORS_MAX,
    }
}

fn iterator_age(reader: &str, id: &str) -> Alarm {
    Alarm {
        id: format!("Reader{id}Behind"),
        description: format!("the function that reads the stream for {reader} falls behind"),
        namespace: "AWS/Lambda",
        metric: "IteratorAge",
        dimensions: vec![("FunctionName", DimensionValue::FunctionOf(reader.to_owned()))],
        statistic: "Maximum",
        period_seconds: 60,
        periods: 5,
        threshold: ITERATOR_AGE_MILLISECONDS_MAX,
    }
}

/// Names made of letters and digits alone, each once.
#[derive(Default)]
pub(crate) struct Identifiers {
    known: BTreeSet<String>,
}

impl Identifiers {
    pub(crate) fn unlike_others(&mut self, name: &str) -> String {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let numbered = (2_usize..).map(|number| format!("{plain}N{number}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered);
        let found = free.find(|name| !self.known.contains(name)).unwrap_or(plain);
        self.known.insert(found.clone());
        found
    }
}
