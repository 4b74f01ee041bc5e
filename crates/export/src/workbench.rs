//! A data model of NoSQL Workbench, version 3.0 of its JSON: the table, its indexes, and a facet for each entity.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use singlet_model::Model;
use singlet_model::model::{Entity, KeyChoice, Stored};
use singlet_model::types::Type;
use singlet_store::{IndexKind, KeyAttribute, KeySchema};

use crate::TableDesign;
use crate::design::{projection_json, provisioned_units};

/// The data model of a table. The days that it was made and changed are left empty: one model is one text.
pub fn data_model(model: &Model, design: &TableDesign) -> Value {
    json!({
        "ModelName": model.name,
        "ModelMetadata": {
            "Author": "",
            "DateCreated": "",
            "DateLastModified": "",
            "Description": "",
            "AWSService": "Amazon DynamoDB",
            "Version": "3.0",
        },
        "DataModel": [table(model, design)],
    })
}

fn table(model: &Model, design: &TableDesign) -> Value {
    let spec = &design.spec;
    let mut table = Map::new();
    let mut put = |name: &str, value: Value| table.insert(name.to_owned(), value);
    put("TableName", json!(spec.name));
    put("KeyAttributes", key_attributes(&spec.key));
    put("NonKeyAttributes", non_key_attributes(model, design));
    put(
        "TableFacets",
        model.entities.iter().map(|entity| facet(model, entity)).collect(),
    );
    for (kind, name) in [
        (IndexKind::Global, "GlobalSecondaryIndexes"),
        (IndexKind::Local, "LocalSecondaryIndexes"),
    ] {
        let indexes: Vec<Value> = indexes(design, kind);
        if !indexes.is_empty() {
            put(name, Value::Array(indexes));
        }
    }
    put("TableData", json!([]));
    put("DataAccess", json!({"MySql": {}}));
    match provisioned_units(spec.billing) {
        None => put("BillingMode", json!("PAY_PER_REQUEST")),
        Some((read, write)) => {
            put("BillingMode", json!("PROVISIONED"));
            let throughput = json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
            put(
                "ProvisionedCapacitySettings",
                json!({"ProvisionedThroughput": throughput}),
            )
        }
    };
    Value::Object(table)
}

/// Workbench knows one attribute on each side of a key: of several, the first.
fn key_attributes(key: &KeySchema) -> Value {
    let side = |name: &str, side: &[KeyAttribute]| {
        let first = side.first()?;
        let shown = json!({"AttributeName": first.name, "AttributeType": first.key_type.type_letter()});
        Some((name.to_owned(), shown))
    };
    let both = [side("PartitionKey", &key.partition), side("SortKey", &key.sort)];
    Value::Object(both.into_iter().flatten().collect())
}

fn indexes(design: &TableDesign, kind: IndexKind) -> Vec<Value> {
    let shown = design.indexes_of(kind).map(|index| {
        json!({
            "IndexName": index.name,
            "KeyAttributes": key_attributes(&index.key),
            "Projection": projection_json(&index.projection),
        })
    });
    shown.collect()
}

/// Every attribute that items have beside the table's key, once.
fn non_key_attributes(model: &Model, design: &TableDesign) -> Value {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    for entity in &model.entities {
        types.extend(stored_attributes(entity));
    }
    for attribute in design.spec.key_attributes() {
        types.insert(&attribute.name, attribute.key_type.type_letter());
    }
    types.extend(model.table.type_attribute.as_deref().map(|name| (name, "S")));
    types.extend(model.table.ttl.as_deref().map(|name| (name, "N")));
    let is_key = |name: &str| design.spec.key.attributes().any(|key| key.name == name);
    let shown = types.iter().filter(|(name, _)| !is_key(name));
    shown
        .map(|(name, letter)| json!({"AttributeName": name, "AttributeType": letter}))
        .collect()
}

/// Under which names an entity stores its attributes, and the types of these.
fn stored_attributes(entity: &Entity) -> impl Iterator<Item = (&str, &'static str)> {
    let stored = entity.attributes.iter().filter(|attribute| attribute.alias.is_none());
    stored.filter_map(|attribute| {
        let name = match &attribute.stored {
            Stored::Own => attribute.name.as_str(),
            Stored::As(name) => name,
            Stored::No => return None,
        };
        Some((name, stored_type(&attribute.ty)?))
    })
}

fn facet(model: &Model, entity: &Entity) -> Value {
    let keys = &model.table.key;
    let mut names: Vec<&str> = stored_attributes(entity).map(|(name, _)| name).collect();
    for key in entity
        .index
        .iter()
        .flat_map(|entry| entry.key_choices())
        .flat_map(|choice| &choice.keys)
    {
        names.push(&key.attribute);
    }
    names.extend(model.table.type_attribute.as_deref());
    names.extend(model.table.ttl.as_deref().filter(|_| entity.expires.is_some()));
    names.retain(|name| keys.iter().all(|key| key.name != *name));
    names.sort_unstable();
    names.dedup();
    let template = |at: usize| {
        let attribute = keys.get(at)?;
        let texts = entity
            .key
            .iter()
            .filter_map(|choice: &KeyChoice| choice.attribute_template(&attribute.name));
        let texts: Vec<&str> = texts.map(|key| key.text.as_str()).collect();
        Some(texts.join(" | "))
    };
    let sides = [("PartitionKeyAlias", template(0)), ("SortKeyAlias", template(1))];
    let alias = sides
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), json!(text?))));
    json!({
        "FacetName": entity.name,
        "KeyAttributeAlias": alias.collect::<Map<_, _>>(),
        "TableData": [],
        "NonKeyAttributes": names,
        "DataAccess": {"MySql": {}},
    })
}

/// The letter of the type as which DynamoDB holds values of a type; none of what is never stored.
fn stored_type(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Text(_) | Type::Date | Type::Time | Type::Month | Type::Ulid | Type::Ksuid | Type::Uuid => "S",
        Type::Enum(_) | Type::OrWords(..) => "S",
        Type::Int(_) | Type::Number(_) | Type::Seconds | Type::Millis | Type::Version => "N",
        Type::Bool => "BOOL",
        Type::Bytes(_) => "B",
        Type::Geo(_) | Type::Json | Type::Object(_) | Type::Map(..) => "M",
        Type::List(..) => "L",
        Type::Set(element, _) => match stored_type(element)? {
            "N" => "NS",
            "B" => "BS",
            _ => "SS",
        },
        Type::Now | Type::Duration | Type::Row(_) | Type::Group(..) | Type::Absent | Type::Unknown => return None,
    })
}
