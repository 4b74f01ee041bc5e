//! The types that every model has, and what other tools call them.

use crate::types::{LengthLimits, TextLimits, Type};

/// Their names, those of collections and of enums included.
pub(super) const BUILT_IN: [&str; 21] = [
    "string", "int", "number", "bool", "bytes", "date", "time", "seconds", "millis", "duration", "month", "ulid",
    "ksuid", "uuid", "geo", "json", "version", "list", "set", "map", "enum",
];

/// Those names, for who offers them.
pub(crate) fn built_in_type_names() -> &'static [&'static str] {
    &BUILT_IN
}

/// The type of that name, unless it is one of other types.
pub(super) fn built_in(name: &str) -> Option<Type> {
    Some(match name {
        "string" => Type::Text(TextLimits::default()),
        "int" => Type::int(),
        "number" => Type::number(),
        "bool" => Type::Bool,
        "bytes" => Type::Bytes(LengthLimits::default()),
        "date" => Type::Date,
        "time" => Type::Time,
        "seconds" => Type::Seconds,
        "millis" => Type::Millis,
        "duration" => Type::Duration,
        "month" => Type::Month,
        "ulid" => Type::Ulid,
        "ksuid" => Type::Ksuid,
        "uuid" => Type::Uuid,
        "geo" => Type::Geo(None),
        "json" => Type::Json,
        "version" => Type::Version,
        _ => return None,
    })
}

/// Names that other tools have for our types.
pub(super) fn common_names(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "str" | "text" | "varchar" | "char" => "string",
        "integer" | "long" | "i64" | "bigint" => "int",
        "float" | "double" | "decimal" | "numeric" => "number",
        "boolean" => "bool",
        "datetime" | "timestamp" | "instant" => "time",
        "binary" | "blob" => "bytes",
        "guid" => "uuid",
        "mail" | "e-mail" | "emailaddress" => "email",
        "uri" | "link" => "url",
        "tel" | "telephone" | "phonenumber" => "phone",
        "array" => "list",
        "object" | "any" => "json",
        _ => return None,
    })
}
