//! JSON Schemas of the language's types.

use serde_json::{Map, Value as Json, json};
use singlet_item::Number;
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_model::text_forms::TextForm;
use singlet_model::types::{EntityId, LengthLimits, NumberLimits, ObjectType, Type};

use super::ids::{id_of_attribute, with_id};

/// The schemas that were asked for so far, by name.
#[derive(Debug)]
pub struct Schemas<'a> {
    model: &'a Model,
    named: Map<String, Json>,
    responses: Map<String, Json>,
}

impl<'a> Schemas<'a> {
    pub fn new(model: &'a Model) -> Self {
        Schemas {
            model,
            named: Map::new(),
            responses: Map::new(),
        }
    }

    /// Adds a schema under a name.
    pub fn add_schema(&mut self, name: &str, schema: Json) {
        self.named.insert(name.to_owned(), schema);
    }

    /// A reference to a response, under one name for all operations that have the same.
    pub fn response_reference(&mut self, status: u16, response: Json) -> Json {
        let of_status = |name: &str| name.split('-').nth(1) == Some(status.to_string().as_str());
        let known = self
            .responses
            .iter()
            .find(|(name, known)| of_status(name) && **known == response);
        let name = match known {
            Some((name, _)) => name.clone(),
            None => {
                let count = self.responses.keys().filter(|name| of_status(name)).count();
                let name = format!("problem-{status}-{}", count + 1);
                self.responses.insert(name.clone(), response);
                name
            }
        };
        json!({"$ref": format!("#/components/responses/{name}")})
    }

    /// All schemas and all responses.
    pub fn finish(mut self) -> (Json, Json) {
        self.named.sort_keys();
        self.responses.sort_keys();
        (Json::Object(self.named), Json::Object(self.responses))
    }

    /// The schema of a type.
    pub fn of(&mut self, ty: &Type) -> Json {
        match ty {
            Type::Text(limits) => {
                let mut schema = json!({"type": "string"});
                lengths(&mut schema, &limits.length, ["minLength", "maxLength"]);
                if let Some(format) = TextForm::of(limits).and_then(|form| form.format) {
                    insert_member(&mut schema, "format", json!(format));
                }
                if let Some(pattern) = &limits.pattern {
                    insert_member(&mut schema, "pattern", json!(format!("^(?:{pattern})$")));
                }
                schema
            }
            Type::Int(limits) => numbers("integer", limits),
            Type::Number(limits) => numbers("number", limits),
            Type::Version | Type::Seconds | Type::Millis => json!({"type": "integer"}),
            Type::Bool => json!({"type": "boolean"}),
            Type::Bytes(_) => json!({"type": "string", "contentEncoding": "base64"}),
            Type::Date => json!({"type": "string", "format": "date"}),
            Type::Time | Type::Now => json!({"type": "string", "format": "date-time"}),
            Type::Duration => json!({"type": "string", "pattern": "^([0-9]+(mo|d|h|m|s))+$"}),
            Type::Month => json!({"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}),
            Type::Ulid => json!({"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}),
            Type::Ksuid => json!({"type": "string", "pattern": "^[0-9A-Za-z]{27}$"}),
            Type::Uuid => json!({"type": "string", "format": "uuid"}),
            Type::Geo(None) => place(),
            Type::Json | Type::Unknown => json!({}),
            Type::Enum(words) => {
                let schema = json!({"type": "string", "enum": words.members});
                self.under(&words.name, |_| schema)
            }
            Type::Object(object) | Type::Geo(Some(object)) => {
                self.under(&object.name, |schemas| schemas.object(object))
            }
            Type::List(element, limits) => self.list(element, limits, false),
            Type::Set(element, limits) => self.list(element, limits, true),
            Type::Map(element, limits) => {
                let mut schema = json!({"type": "object", "additionalProperties": self.of(element)});
                lengths(&mut schema, limits, ["minProperties", "maxProperties"]);
                schema
            }
            Type::OrWords(value, words) => {
                json!({"anyOf": [self.of(value), {"type": "string", "enum": words.as_ref()}]})
            }
            Type::Row(entity) => self.entity(*entity),
            Type::Group(key, row) => {
                let row = self.of(row);
                json!({"type": "object", "properties": {"key": self.of(key), "rows": {"type": "array", "items": row}}})
            }
            Type::Absent => json!({"type": "null"}),
        }
    }

    /// A reference to a schema with a name, or the schema itself without one.
    fn under(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Json) -> Json {
        if name.is_empty() {
            return make(self);
        }
        if !self.named.contains_key(name) {
            // A place first, so that a type within itself ends.
            self.named.insert(name.to_owned(), Json::Null);
            let schema = make(self);
            self.named.insert(name.to_owned(), schema);
        }
        schema_reference(name)
    }

    /// A row of an entity.
    pub fn entity(&mut self, id: EntityId) -> Json {
        let Some(entity) = self.model.entity(id) else {
            return json!({});
        };
        self.under(&entity.name, |schemas| {
            let (properties, required) = schemas.row(entity);
            closed_object(properties, required)
        })
    }

    /// The properties of a row, and which are always there.
    pub fn row(&mut self, entity: &Entity) -> (Map<String, Json>, Vec<String>) {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for attribute in &entity.attributes {
            let id = id_of_attribute(self.model, entity, &attribute.name);
            properties.insert(attribute.name.clone(), with_id(self.of(&attribute.ty), id.as_ref()));
            if !attribute.optional {
                required.push(attribute.name.clone());
            }
        }
        (properties, required)
    }

    fn object(&mut self, of: &ObjectType) -> Json {
        let (properties, required) = self.object_fields(of);
        closed_object(properties, required)
    }

    /// The properties of an object, and which are always there.
    pub fn object_fields(&mut self, of: &ObjectType) -> (Map<String, Json>, Vec<String>) {
        let mut properties = Map::new();
        for field in &of.fields {
            properties.insert(field.name.clone(), self.of(&field.ty));
        }
        let needed = of.fields.iter().filter(|field| !field.optional);
        (properties, needed.map(|field| field.name.clone()).collect())
    }

    fn list(&mut self, element: &Type, limits: &LengthLimits, unique: bool) -> Json {
        let mut schema = json!({"type": "array", "items": self.of(element)});
        lengths(&mut schema, limits, ["minItems", "maxItems"]);
        if unique {
            insert_member(&mut schema, "minItems", json!(limits.min.unwrap_or_default().max(1)));
            insert_member(&mut schema, "uniqueItems", json!(true));
        }
        schema
    }

    /// The schema of a type as text in a path or a query.
    pub(crate) fn of_text(&mut self, ty: &Type) -> Json {
        match ty {
            Type::Geo(_) => json!({
                "type": "string",
                "pattern": "^-?[0-9]{1,2}(\\.[0-9]{1,9})?,-?1?[0-9]{1,2}(\\.[0-9]{1,9})?$",
                "description": "Latitude and longitude: `52.2297,21.0122`.",
            }),
            ty => self.of(ty),
        }
    }
}

/// A reference to a named schema.
pub(crate) fn schema_reference(name: &str) -> Json {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object with these properties and no others.
pub(crate) fn closed_object(properties: Map<String, Json>, required: Vec<String>) -> Json {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        insert_member(&mut schema, "required", json!(required));
    }
    insert_member(&mut schema, "additionalProperties", json!(false));
    schema
}

/// Puts a member into a schema.
pub(crate) fn insert_member(schema: &mut Json, name: &str, value: Json) {
    if let Json::Object(members) = schema {
        members.insert(name.to_owned(), value);
    }
}

fn place() -> Json {
    json!({
        "type": "object",
        "properties": {
            "lat": {"type": "number", "minimum": -90, "maximum": 90},
            "lon": {"type": "number", "minimum": -180, "maximum": 180},
        },
        "required": ["lat", "lon"],
    })
}

fn lengths(schema: &mut Json, limits: &LengthLimits, [least, most]: [&str; 2]) {
    if let Some(min) = limits.min {
        insert_member(schema, least, json!(min));
    }
    if let Some(max) = limits.max {
        insert_member(schema, most, json!(max));
    }
}

fn numbers(kind: &str, limits: &NumberLimits) -> Json {
    let mut schema = json!({"type": kind});
    if let Some(only) = &limits.only {
        insert_member(
            &mut schema,
            "enum",
            only.iter().map(|number| literal(*number)).collect(),
        );
        return schema;
    }
    if let Some(min) = limits.min {
        insert_member(&mut schema, "minimum", literal(min));
    }
    if let Some(max) = limits.max {
        insert_member(&mut schema, "maximum", literal(max));
    }
    if let Some(decimals) = limits.decimals.filter(|decimals| *decimals > 0 && kind == "number") {
        let text = format!("At most {decimals} digits after the point.");
        insert_member(&mut schema, "description", json!(text));
    }
    schema
}

fn literal(number: Number) -> Json {
    serde_json::from_str(&number.to_string()).unwrap_or(Json::Null)
}
