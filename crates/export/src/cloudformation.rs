//! CloudFormation templates.

use serde_json::{Map, Value, json};
use singlet_store::IndexKind;

use crate::TableDesign;
use crate::alarms::{Alarm, DimensionValue, Identifiers, alarms_of};
use crate::design::{attribute_definitions, key_schema, projection_json, provisioned_units};

/// The logical id of the table.
const TABLE: &str = "Table";
const TOPIC: &str = "AlarmTopicArn";
const HAS_TOPIC: &str = "HasAlarmTopic";

/// The template of a table with its alarms. The table stays when its stack goes.
pub fn cloudformation_template(design: &TableDesign) -> Value {
    let alarms = alarms_of(design);
    let readers = reader_parameters(design);
    let mut resources = Map::new();
    resources.insert(TABLE.to_owned(), table(design));
    for alarm in &alarms {
        resources.insert(format!("{}Alarm", alarm.id), alarm_resource(alarm, &readers));
    }
    let mut outputs = json!({
        "TableName": {"Value": {"Ref": TABLE}},
        "TableArn": {"Value": {"Fn::GetAtt": [TABLE, "Arn"]}},
    });
    if design.spec.stream.is_some() {
        put(
            &mut outputs,
            "StreamArn",
            json!({"Value": {"Fn::GetAtt": [TABLE, "StreamArn"]}}),
        );
    }
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("Table {} and its alarms", design.spec.name),
        "Parameters": parameters(&readers),
        "Conditions": conditions(&readers),
        "Resources": resources,
        "Outputs": outputs,
    })
}

fn table(design: &TableDesign) -> Value {
    let spec = &design.spec;
    let mut properties = json!({
        "TableName": spec.name,
        "AttributeDefinitions": attribute_definitions(spec),
        "KeySchema": key_schema(&spec.key),
        "BillingMode": if provisioned_units(spec.billing).is_some() { "PROVISIONED" } else { "PAY_PER_REQUEST" },
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": design.recovery},
        "DeletionProtectionEnabled": true,
    });
    if let Some(throughput) = throughput(provisioned_units(spec.billing)) {
        put(&mut properties, "ProvisionedThroughput", throughput);
    }
    for (kind, name) in [
        (IndexKind::Global, "GlobalSecondaryIndexes"),
        (IndexKind::Local, "LocalSecondaryIndexes"),
    ] {
        let indexes: Vec<Value> = indexes(design, kind);
        if !indexes.is_empty() {
            put(&mut properties, name, Value::Array(indexes));
        }
    }
    if let Some(attribute) = &spec.ttl {
        let ttl = json!({"AttributeName": attribute, "Enabled": true});
        put(&mut properties, "TimeToLiveSpecification", ttl);
    }
    if let Some(view) = spec.stream {
        put(
            &mut properties,
            "StreamSpecification",
            json!({"StreamViewType": view.word()}),
        );
    }
    json!({
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties,
    })
}

fn indexes(design: &TableDesign, kind: IndexKind) -> Vec<Value> {
    let shown = design.indexes_of(kind).map(|index| {
        let mut shown = json!({
            "IndexName": index.name,
            "KeySchema": key_schema(&index.key),
            "Projection": projection_json(&index.projection),
        });
        let units = provisioned_units(index.index_billing(design.spec.billing)).filter(|_| kind == IndexKind::Global);
        if let Some(throughput) = throughput(units) {
            put(&mut shown, "ProvisionedThroughput", throughput);
        }
        shown
    });
    shown.collect()
}

fn throughput(units: Option<(u32, u32)>) -> Option<Value> {
    let (read, write) = units?;
    Some(json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write}))
}

/// Each reader of the stream, with the parameter that names its function.
fn reader_parameters(design: &TableDesign) -> Vec<(String, String)> {
    let mut ids = Identifiers::default();
    let readers = design.stream_readers.iter();
    readers
        .map(|reader| (reader.clone(), format!("Reader{}Function", ids.unlike_others(reader))))
        .collect()
}

fn parameters(readers: &[(String, String)]) -> Value {
    let mut parameters = json!({
        TOPIC: {"Type": "String", "Default": "", "Description": "The SNS topic that alarms go to; none unless given"},
    });
    for (reader, parameter) in readers {
        let description = format!("The Lambda function that reads the stream for {reader}; no alarm unless given");
        let shown = json!({"Type": "String", "Default": "", "Description": description});
        put(&mut parameters, parameter, shown);
    }
    parameters
}

fn conditions(readers: &[(String, String)]) -> Value {
    let is_given = |parameter: &str| json!({"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]});
    let mut conditions = json!({HAS_TOPIC: is_given(TOPIC)});
    for (_, parameter) in readers {
        put(&mut conditions, &condition_of(parameter), is_given(parameter));
    }
    conditions
}

fn condition_of(parameter: &str) -> String {
    format!("Has{parameter}")
}

fn alarm_resource(alarm: &Alarm, readers: &[(String, String)]) -> Value {
    let parameter_of = |reader: &str| {
        readers
            .iter()
            .find(|(known, _)| known == reader)
            .map(|(_, name)| name.as_str())
    };
    let dimension = |(name, value): &(&str, DimensionValue)| {
        let value = match value {
            DimensionValue::Table => json!({"Ref": TABLE}),
            DimensionValue::Text(text) => json!(text),
            DimensionValue::FunctionOf(reader) => json!({"Ref": parameter_of(reader)}),
        };
        json!({"Name": name, "Value": value})
    };
    let mut properties = json!({
        "AlarmDescription": alarm.description,
        "Namespace": alarm.namespace,
        "MetricName": alarm.metric,
        "Statistic": alarm.statistic,
        "Period": alarm.period_seconds,
        "EvaluationPeriods": alarm.periods,
        "Threshold": alarm.threshold,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
        "AlarmActions": {"Fn::If": [HAS_TOPIC, [{"Ref": TOPIC}], {"Ref": "AWS::NoValue"}]},
    });
    if !alarm.dimensions.is_empty() {
        let dimensions: Vec<Value> = alarm.dimensions.iter().map(dimension).collect();
        put(&mut properties, "Dimensions", Value::Array(dimensions));
    }
    let mut resource = json!({"Type": "AWS::CloudWatch::Alarm"});
    if let Some(parameter) = alarm.stream_reader().and_then(parameter_of) {
        put(&mut resource, "Condition", json!(condition_of(parameter)));
    }
    put(&mut resource, "Properties", properties);
    resource
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}
