//! A table as `DescribeTable` says it.

use serde_json::{Map, Value as Json, json};
use singlet_store::{Billing, IndexKind, IndexProjection, IndexSpec, KeySchema, TableDescription, TableStatus};

use crate::endpoint::Endpoint;

/// The account that ARNs name: there is none.
pub(crate) const ACCOUNT: &str = "000000000000";

impl Endpoint {
    /// The ARN of a table.
    pub(crate) fn table_arn(&self, table: &str) -> String {
        format!("arn:aws:dynamodb:{}:{ACCOUNT}:table/{table}", self.settings.region)
    }

    /// The ARN of a table's stream. Its label is the time of the table, so that a table made anew has another stream.
    pub(crate) fn stream_arn(&self, table: &TableDescription) -> String {
        format!("{}/stream/{}", self.table_arn(&table.spec.name), stream_label(table))
    }

    pub(crate) fn describe_table(&self, table: &TableDescription) -> Json {
        let spec = &table.spec;
        let mut json = Map::new();
        let mut add = |name: &str, value: Json| {
            json.insert(name.to_owned(), value);
        };
        let definitions = spec.key_attributes().into_iter().map(
            |attribute| json!({ "AttributeName": attribute.name, "AttributeType": attribute.key_type.type_letter() }),
        );
        add("AttributeDefinitions", definitions.collect());
        add("TableName", json!(spec.name));
        add("KeySchema", key_schema(&spec.key));
        add("TableStatus", json!(status(table.status)));
        add("CreationDateTime", json!(table.created_at_seconds.unwrap_or_default()));
        add("ProvisionedThroughput", throughput(spec.billing));
        if spec.billing == Billing::OnDemand {
            add("BillingModeSummary", json!({ "BillingMode": "PAY_PER_REQUEST" }));
        }
        add("TableSizeBytes", json!(table.size_bytes));
        add("ItemCount", json!(table.item_count));
        add("TableArn", json!(self.table_arn(&spec.name)));
        add("TableId", json!(table_id(table)));
        add("DeletionProtectionEnabled", json!(false));
        for (kind, name) in [
            (IndexKind::Global, "GlobalSecondaryIndexes"),
            (IndexKind::Local, "LocalSecondaryIndexes"),
        ] {
            let indexes = spec.indexes.iter().filter(|index| index.kind == kind);
            let described: Vec<Json> = indexes.map(|index| self.describe_index(table, index)).collect();
            if !described.is_empty() {
                add(name, Json::Array(described));
            }
        }
        if let Some(view) = spec.stream {
            let stream = json!({ "StreamEnabled": true, "StreamViewType": view.word() });
            add("StreamSpecification", stream);
            add("LatestStreamLabel", json!(stream_label(table)));
            add("LatestStreamArn", json!(self.stream_arn(table)));
        }
        Json::Object(json)
    }

    fn describe_index(&self, table: &TableDescription, index: &IndexSpec) -> Json {
        let mut json = json!({
            "IndexName": index.name,
            "KeySchema": key_schema(&index.key),
            "Projection": projection(&index.projection),
            "IndexArn": format!("{}/index/{}", self.table_arn(&table.spec.name), index.name),
        });
        if let (Json::Object(json), IndexKind::Global) = (&mut json, index.kind) {
            json.insert("IndexStatus".to_owned(), json!("ACTIVE"));
            json.insert(
                "ProvisionedThroughput".to_owned(),
                throughput(index.index_billing(table.spec.billing)),
            );
        }
        json
    }
}

pub(crate) fn key_schema(key: &KeySchema) -> Json {
    let element = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
    let partition = key.partition.iter().map(|attribute| element(&attribute.name, "HASH"));
    let sort = key.sort.iter().map(|attribute| element(&attribute.name, "RANGE"));
    partition.chain(sort).collect()
}

fn projection(projection: &IndexProjection) -> Json {
    match projection {
        IndexProjection::All => json!({ "ProjectionType": "ALL" }),
        IndexProjection::KeysOnly => json!({ "ProjectionType": "KEYS_ONLY" }),
        IndexProjection::Include(names) => json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names }),
    }
}

fn throughput(billing: Billing) -> Json {
    let (read_units, write_units) = match billing {
        Billing::OnDemand => (0, 0),
        Billing::Provisioned {
            read_units,
            write_units,
        } => (read_units, write_units),
    };
    json!({
        "ReadCapacityUnits": read_units,
        "WriteCapacityUnits": write_units,
        "NumberOfDecreasesToday": 0,
    })
}

fn status(status: TableStatus) -> &'static str {
    match status {
        TableStatus::Creating => "CREATING",
        TableStatus::Active => "ACTIVE",
        TableStatus::Updating => "UPDATING",
        TableStatus::Deleting => "DELETING",
        TableStatus::Unusable => "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
    }
}

/// When a table was made, as a stream's label has it: `2026-01-31T12:00:00.000`.
pub(crate) fn stream_label(table: &TableDescription) -> String {
    let seconds = table.created_at_seconds.unwrap_or_default();
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.000",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The date of a day counted from 1970, in eras of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The same for as long as the table lives.
fn table_id(table: &TableDescription) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let seconds = table.created_at_seconds.unwrap_or_default();
    for byte in table.spec.name.bytes().chain(seconds.to_be_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let low = hash.rotate_left(32) ^ u64::from_be_bytes(seconds.to_be_bytes());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        hash >> 32,
        hash >> 16 & 0xffff,
        hash & 0xfff,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_773), (2026, 11, 16));
    }
}
