//! Columns as the schema of a Delta table, and back.

use serde_json::{Map, Value as Json, json};

use singlet_model::model::Personal;

use crate::cell::{Column, ColumnType};
use crate::data_file::DECIMAL_DIGITS;

/// Where a field says of which attribute it is.
const ATTRIBUTE: &str = "singlet.attribute";

/// Where a field says that it tells of a person, and how.
const PERSONAL: &str = "singlet.personal";

/// As the text of a schema.
pub(crate) fn schema_text(columns: &[Column]) -> String {
    struct_json(columns).to_string()
}

fn struct_json(columns: &[Column]) -> Json {
    let field = |column: &Column| {
        let mut known = Map::new();
        if let Some(attribute) = &column.attribute {
            known.insert(ATTRIBUTE.to_owned(), Json::from(attribute.as_str()));
        }
        if let Some(personal) = column.personal {
            known.insert(PERSONAL.to_owned(), Json::from(personal.word()));
        }
        json!({"name": column.name, "type": type_json(&column.ty), "nullable": true, "metadata": known})
    };
    json!({"type": "struct", "fields": columns.iter().map(field).collect::<Vec<_>>()})
}

fn type_json(ty: &ColumnType) -> Json {
    match ty {
        ColumnType::Bool => "boolean".into(),
        ColumnType::Int => "integer".into(),
        ColumnType::Long => "long".into(),
        ColumnType::Decimal(scale) => format!("decimal({DECIMAL_DIGITS},{scale})").into(),
        ColumnType::Text => "string".into(),
        ColumnType::Binary => "binary".into(),
        ColumnType::Date => "date".into(),
        ColumnType::Timestamp => "timestamp".into(),
        ColumnType::Struct(columns) => struct_json(columns),
        ColumnType::List(element) => json!({"type": "array", "elementType": type_json(element), "containsNull": true}),
        ColumnType::Map(value) => {
            json!({"type": "map", "keyType": "string", "valueType": type_json(value), "valueContainsNull": true})
        }
    }
}

/// From the text of a schema that the lake wrote; nothing where it is another's.
pub(crate) fn columns_of_schema(text: &str) -> Option<Vec<Column>> {
    columns_of(&serde_json::from_str(text).ok()?)
}

fn columns_of(schema: &Json) -> Option<Vec<Column>> {
    let column = |field: &Json| {
        let known = |name: &str| field.get("metadata")?.get(name)?.as_str();
        Some(Column {
            name: field.get("name")?.as_str()?.to_owned(),
            attribute: known(ATTRIBUTE).map(str::to_owned),
            personal: known(PERSONAL).and_then(Personal::from_word),
            ty: type_of(field.get("type")?)?,
        })
    };
    schema.get("fields")?.as_array()?.iter().map(column).collect()
}

fn type_of(json: &Json) -> Option<ColumnType> {
    if let Some(word) = json.as_str() {
        return match word {
            "boolean" => Some(ColumnType::Bool),
            "integer" => Some(ColumnType::Int),
            "long" => Some(ColumnType::Long),
            "string" => Some(ColumnType::Text),
            "binary" => Some(ColumnType::Binary),
            "date" => Some(ColumnType::Date),
            "timestamp" => Some(ColumnType::Timestamp),
            other => {
                let scale = other.strip_prefix(&format!("decimal({DECIMAL_DIGITS},"))?;
                scale.strip_suffix(')')?.trim().parse().ok().map(ColumnType::Decimal)
            }
        };
    }
    let inner = |name: &str| type_of(json.get(name)?).map(Box::new);
    match json.get("type")?.as_str()? {
        "struct" => columns_of(json).map(ColumnType::Struct),
        "array" => inner("elementType").map(ColumnType::List),
        "map" => inner("valueType").map(ColumnType::Map),
        _ => None,
    }
}
