//! Terraform, in its JSON syntax.

use serde_json::{Map, Value, json};
use singlet_store::{IndexKind, IndexProjection, IndexSpec, KeyAttribute, KeySchema};

use crate::TableDesign;
use crate::alarms::{Alarm, DimensionValue, Identifiers, alarms_of};
use crate::design::provisioned_units;

/// The name of the table's resource.
const TABLE: &str = "table";
const ACTIONS: &str = "alarm_actions";

/// The configuration of a table with its alarms. No plan destroys the table.
pub fn terraform_configuration(design: &TableDesign) -> Value {
    let readers = reader_variables(design);
    let alarms = alarms_of(design);
    let shown = alarms
        .iter()
        .map(|alarm| (alarm.id.clone(), alarm_resource(design, alarm, &readers)));
    let alarms: Map<String, Value> = shown.collect();
    json!({
        "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": provider_version(design)}}},
        "variable": variables(&readers),
        "resource": {
            "aws_dynamodb_table": {TABLE: table(design)},
            "aws_cloudwatch_metric_alarm": alarms,
        },
        "output": {
            "table_arn": {"value": format!("${{aws_dynamodb_table.{TABLE}.arn}}")},
        },
    })
}

/// Indexes of several attributes on a side came later.
fn provider_version(design: &TableDesign) -> &'static str {
    match design.spec.indexes.iter().any(|index| has_several(&index.key)) {
        true => ">= 6.28",
        false => ">= 5.0",
    }
}

fn has_several(key: &KeySchema) -> bool {
    key.partition.len() > 1 || key.sort.len() > 1
}

fn table(design: &TableDesign) -> Value {
    let spec = &design.spec;
    let attribute =
        |attribute: &KeyAttribute| json!({"name": literal(&attribute.name), "type": attribute.key_type.type_letter()});
    let mut table = Map::new();
    let mut put = |name: &str, value: Value| table.insert(name.to_owned(), value);
    put("name", json!(spec.name));
    put(
        "billing_mode",
        json!(if provisioned_units(spec.billing).is_some() {
            "PROVISIONED"
        } else {
            "PAY_PER_REQUEST"
        }),
    );
    if let Some((read, write)) = provisioned_units(spec.billing) {
        put("read_capacity", json!(read));
        put("write_capacity", json!(write));
    }
    for (name, value) in named_key(&spec.key) {
        put(name, value);
    }
    put("attribute", spec.key_attributes().into_iter().map(attribute).collect());
    for (kind, name) in [
        (IndexKind::Global, "global_secondary_index"),
        (IndexKind::Local, "local_secondary_index"),
    ] {
        let indexes: Vec<Value> = design
            .indexes_of(kind)
            .map(|index| index_block(design, index))
            .collect();
        if !indexes.is_empty() {
            put(name, Value::Array(indexes));
        }
    }
    if let Some(attribute) = &spec.ttl {
        put("ttl", json!([{"attribute_name": literal(attribute), "enabled": true}]));
    }
    if let Some(view) = spec.stream {
        put("stream_enabled", json!(true));
        put("stream_view_type", json!(view.word()));
    }
    put("point_in_time_recovery", json!([{"enabled": design.recovery}]));
    put("deletion_protection_enabled", json!(true));
    put("lifecycle", json!([{"prevent_destroy": true}]));
    Value::Object(table)
}

/// A key of one attribute on each side.
fn named_key(key: &KeySchema) -> Vec<(&'static str, Value)> {
    let side = |name, side: &[KeyAttribute]| Some((name, json!(literal(&side.first()?.name))));
    let both = [side("hash_key", &key.partition), side("range_key", &key.sort)];
    both.into_iter().flatten().collect()
}

fn index_block(design: &TableDesign, index: &IndexSpec) -> Value {
    let mut block = Map::new();
    block.insert("name".to_owned(), json!(index.name));
    if has_several(&index.key) {
        let element = |attribute: &KeyAttribute, role: &str| json!({"attribute_name": literal(&attribute.name), "key_type": role});
        let partition = index.key.partition.iter().map(|attribute| element(attribute, "HASH"));
        let sort = index.key.sort.iter().map(|attribute| element(attribute, "RANGE"));
        block.insert("key_schema".to_owned(), partition.chain(sort).collect());
    } else {
        // A local index has the partition key of its table, and does not say it.
        let own = named_key(&index.key).into_iter();
        let own = own.filter(|(name, _)| index.kind == IndexKind::Global || *name == "range_key");
        block.extend(own.map(|(name, value)| (name.to_owned(), value)));
    }
    let (projection, names) = match &index.projection {
        IndexProjection::All => ("ALL", None),
        IndexProjection::KeysOnly => ("KEYS_ONLY", None),
        IndexProjection::Include(names) => ("INCLUDE", Some(names)),
    };
    block.insert("projection_type".to_owned(), json!(projection));
    if let Some(names) = names {
        let names = names.iter().map(|name| json!(literal(name))).collect();
        block.insert("non_key_attributes".to_owned(), names);
    }
    let units = provisioned_units(index.index_billing(design.spec.billing)).filter(|_| index.kind == IndexKind::Global);
    if let Some((read, write)) = units {
        block.insert("read_capacity".to_owned(), json!(read));
        block.insert("write_capacity".to_owned(), json!(write));
    }
    Value::Object(block)
}

/// Each reader of the stream, with the variable that names its function.
fn reader_variables(design: &TableDesign) -> Vec<(String, String)> {
    let mut ids = Identifiers::default();
    let readers = design.stream_readers.iter();
    readers
        .map(|reader| (reader.clone(), format!("reader_{}_function", ids.unlike_others(reader))))
        .collect()
}

fn variables(readers: &[(String, String)]) -> Value {
    let mut variables = Map::new();
    let actions = json!({"type": "list(string)", "default": [], "description": "What alarms do, such as an SNS topic"});
    variables.insert(ACTIONS.to_owned(), actions);
    for (reader, variable) in readers {
        let description = format!("The Lambda function that reads the stream for {reader}; no alarm unless given");
        let shown = json!({"type": "string", "default": "", "description": literal(&description)});
        variables.insert(variable.clone(), shown);
    }
    Value::Object(variables)
}

fn alarm_resource(design: &TableDesign, alarm: &Alarm, readers: &[(String, String)]) -> Value {
    let variable_of = |reader: &str| {
        readers
            .iter()
            .find(|(known, _)| known == reader)
            .map(|(_, name)| name.as_str())
    };
    let dimension = |(name, value): &(&str, DimensionValue)| {
        let value = match value {
            DimensionValue::Table => format!("${{aws_dynamodb_table.{TABLE}.name}}"),
            DimensionValue::Text(text) => literal(text),
            DimensionValue::FunctionOf(reader) => format!("${{var.{}}}", variable_of(reader).unwrap_or_default()),
        };
        ((*name).to_owned(), json!(value))
    };
    let mut resource = json!({
        "alarm_name": literal(&format!("{}-{}", design.spec.name, alarm.id)),
        "alarm_description": literal(&alarm.description),
        "namespace": alarm.namespace,
        "metric_name": alarm.metric,
        "statistic": alarm.statistic,
        "period": alarm.period_seconds,
        "evaluation_periods": alarm.periods,
        "threshold": alarm.threshold,
        "comparison_operator": "GreaterThanThreshold",
        "treat_missing_data": "notBreaching",
        "alarm_actions": format!("${{var.{ACTIONS}}}"),
        "dimensions": alarm.dimensions.iter().map(dimension).collect::<Map<_, _>>(),
    });
    if let (Some(variable), Some(resource)) = (alarm.stream_reader().and_then(variable_of), resource.as_object_mut()) {
        let count = json!(format!("${{var.{variable} == \"\" ? 0 : 1}}"));
        resource.insert("count".to_owned(), count);
    }
    resource
}

/// Text that Terraform takes as it is: in its JSON every string is a template.
fn literal(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}
