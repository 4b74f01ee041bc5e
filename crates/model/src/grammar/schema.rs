//! The JSON Schema of a model file, for editors: completion, descriptions, and the shape of every field.

use serde_json::{Map, Value, json};

use super::{Record, Shape, words};

/// The schema, ready to be written to a file.
pub fn json_schema() -> Value {
    let definitions: Map<String, Value> = words::RECORDS
        .iter()
        .map(|record| (definition_name(record), record_schema(record)))
        .collect();
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("A Singlet model"));
    schema.insert("$ref".into(), reference(&words::MODEL));
    schema.insert("$defs".into(), Value::Object(definitions));
    Value::Object(schema)
}

fn record_schema(record: &Record) -> Value {
    let properties: Map<String, Value> = record
        .fields
        .iter()
        .map(|field| {
            let mut schema = shape_schema(&field.shape);
            if let Value::Object(map) = &mut schema {
                map.insert("description".into(), json!(field.doc));
            }
            (field.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = record
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    let others = match record.others {
        Some((_, shape)) => shape_schema(shape),
        None => json!(false),
    };
    json!({
        "type": "object",
        "description": record.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": others,
    })
}

/// YAML turns `true` and `1.10` into other things than text, and an expression or a default may well be one of those.
fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Expr | Shape::Text | Shape::Type => json!({"type": ["string", "number", "boolean"]}),
        Shape::Template => json!({"type": "string"}),
        Shape::Name => json!({"type": "string", "minLength": 1}),
        Shape::Whole => json!({"type": "integer", "minimum": 0}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Words(known) => {
            let word = |known: &&str| match *known {
                "true" => json!(true),
                "false" => json!(false),
                word => json!(word),
            };
            json!({"enum": known.iter().map(word).collect::<Vec<_>>()})
        }
        Shape::List(inner) => json!({"type": "array", "items": shape_schema(inner)}),
        Shape::Names(_, inner) => json!({"type": "object", "additionalProperties": shape_schema(inner)}),
        Shape::Record(record) => json!({"$ref": reference(record)}),
        Shape::Either(shapes) => {
            let shapes: Vec<Value> = shapes.iter().map(shape_schema).collect();
            json!({"anyOf": shapes})
        }
    }
}

fn definition_name(record: &Record) -> String {
    record.name.replace(' ', "_")
}

fn reference(record: &Record) -> Value {
    json!(format!("#/$defs/{}", definition_name(record)))
}
