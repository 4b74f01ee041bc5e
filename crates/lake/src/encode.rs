//! Values of a model as cells of its columns.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use jiff::civil::Date;
use singlet_item::{Number, Value};
use singlet_model::evaluate::time;
use singlet_model::model::{Entity, Personal};
use singlet_model::types::{ObjectType, Type};
use singlet_runtime::Attributes;
use singlet_values::json_text;

use crate::cell::{Cell, Column, ColumnType};
use crate::columns::{attribute_column, column_type, place_of};
use crate::personal::ValueHasher;

const EPOCH: Date = Date::constant(1970, 1, 1);

/// Why a value has no place in its column.
#[derive(Debug)]
pub(crate) struct NoPlace(pub String);

/// How rows of an entity become cells, one for each column.
pub(crate) struct RowEncoder {
    fields: Vec<Option<FieldEncoder>>,
}

/// How the values of an attribute or field become cells.
struct FieldEncoder {
    name: String,
    encoder: CellEncoder,
    /// Whether no message may say a value.
    is_personal: bool,
}

/// How values of a type become cells.
enum CellEncoder {
    Bool,
    Long,
    Decimal(u8),
    /// As it is written.
    Text,
    /// In JSON.
    Json,
    Binary,
    /// As what stands for it.
    Hashed(ValueHasher),
    Date,
    Instant(Type),
    Struct(RowEncoder),
    List(Box<CellEncoder>),
    Map(Box<CellEncoder>),
}

impl RowEncoder {
    /// Of an entity, in columns into which its own were merged.
    pub(crate) fn of_entity(entity: &Entity, columns: &[Column], hasher: &ValueHasher) -> Self {
        let mut fields: Vec<Option<FieldEncoder>> = columns.iter().map(|_| None).collect();
        for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
            let Some(ty) = attribute_column(attribute) else {
                continue;
            };
            let wanted = Column {
                name: attribute.name.clone(),
                attribute: Some(attribute.name.clone()),
                personal: attribute.personal,
                ty,
            };
            let Some(at) = place_of(columns, &wanted) else { continue };
            if let (Some(field), Some(column)) = (fields.get_mut(at), columns.get(at)) {
                let encoder = match attribute.personal {
                    Some(Personal::Hashed) => CellEncoder::Hashed(hasher.clone()),
                    _ => CellEncoder::of_type(&attribute.ty, &column.ty),
                };
                *field = Some(FieldEncoder {
                    name: attribute.name.clone(),
                    encoder,
                    is_personal: attribute.personal.is_some(),
                });
            }
        }
        RowEncoder { fields }
    }

    fn of_object(object: &ObjectType, columns: &[Column]) -> Self {
        Self::of_fields(object.fields.iter().map(|field| (&field.name, &field.ty)), columns)
    }

    fn of_fields<'t>(named: impl Iterator<Item = (&'t String, &'t Type)>, columns: &[Column]) -> Self {
        let mut fields: Vec<Option<FieldEncoder>> = columns.iter().map(|_| None).collect();
        for (name, ty) in named {
            let wanted = Column {
                name: name.clone(),
                attribute: Some(name.clone()),
                personal: None,
                ty: column_type(ty),
            };
            let Some(at) = place_of(columns, &wanted) else { continue };
            if let (Some(field), Some(column)) = (fields.get_mut(at), columns.get(at)) {
                *field = Some(FieldEncoder {
                    name: name.clone(),
                    encoder: CellEncoder::of_type(ty, &column.ty),
                    is_personal: false,
                });
            }
        }
        RowEncoder { fields }
    }

    /// A row's cells.
    pub(crate) fn encode_row(&self, row: &Attributes) -> Result<Vec<Cell>, NoPlace> {
        let cell = |field: &Option<FieldEncoder>| match field {
            None => Ok(Cell::Null),
            Some(field) => match row.get(&field.name) {
                None => Ok(Cell::Null),
                Some(value) => field.encoder.encode_value(value).map_err(|NoPlace(reason)| {
                    let reason = if field.is_personal {
                        "the value has no place in its column"
                    } else {
                        &reason
                    };
                    NoPlace(format!("`{}`: {reason}", field.name))
                }),
            },
        };
        self.fields.iter().map(cell).collect()
    }
}

impl CellEncoder {
    fn of_type(ty: &Type, column: &ColumnType) -> Self {
        match (ty, column) {
            (Type::Object(object) | Type::Geo(Some(object)), ColumnType::Struct(columns)) => {
                CellEncoder::Struct(RowEncoder::of_object(object, columns))
            }
            (Type::Geo(None), ColumnType::Struct(columns)) => {
                let number = Type::number();
                let names = ["lat".to_owned(), "lon".to_owned()];
                CellEncoder::Struct(RowEncoder::of_fields(names.iter().map(|name| (name, &number)), columns))
            }
            (Type::List(element, _) | Type::Set(element, _), ColumnType::List(column)) => {
                CellEncoder::List(Box::new(CellEncoder::of_type(element, column)))
            }
            (Type::Map(element, _), ColumnType::Map(column)) => {
                CellEncoder::Map(Box::new(CellEncoder::of_type(element, column)))
            }
            (_, ColumnType::Bool) => CellEncoder::Bool,
            (_, ColumnType::Int | ColumnType::Long) => CellEncoder::Long,
            (_, ColumnType::Decimal(scale)) => CellEncoder::Decimal(*scale),
            (_, ColumnType::Binary) => CellEncoder::Binary,
            (_, ColumnType::Date) => CellEncoder::Date,
            (_, ColumnType::Timestamp) => CellEncoder::Instant(ty.clone()),
            (Type::Json | Type::Unknown | Type::Object(_), ColumnType::Text) => CellEncoder::Json,
            (_, ColumnType::Text) => CellEncoder::Text,
            (_, ColumnType::Struct(_) | ColumnType::List(_) | ColumnType::Map(_)) => CellEncoder::Json,
        }
    }

    fn encode_value(&self, value: &Value) -> Result<Cell, NoPlace> {
        let wrong = || NoPlace("the value is not of its type".to_owned());
        // Free-form, nothing is a value too.
        if value.is_null() && !matches!(self, CellEncoder::Json) {
            return Ok(Cell::Null);
        }
        match self {
            CellEncoder::Bool => value.as_bool().map(Cell::Bool).ok_or_else(wrong),
            CellEncoder::Long => {
                let number = value.as_number().ok_or_else(wrong)?;
                let long = number.to_i64().map(Cell::Long);
                long.ok_or_else(|| NoPlace(format!("`{number}` has more than 64 bits")))
            }
            CellEncoder::Decimal(scale) => {
                let number = value.as_number().ok_or_else(wrong)?;
                let decimal = decimal_of(number, *scale);
                decimal.ok_or_else(|| NoPlace(format!("`{number}` has more digits than a decimal")))
            }
            CellEncoder::Text => Ok(text_of(value)),
            CellEncoder::Json => Ok(Cell::text(json_text::json_of(value))),
            CellEncoder::Hashed(hasher) => Ok(Cell::text(hasher.hashed_value(value))),
            CellEncoder::Binary => value
                .as_bytes()
                .map(|bytes| Cell::Bytes(bytes.to_vec()))
                .ok_or_else(wrong),
            CellEncoder::Date => {
                let day = value.as_str().and_then(|text| time::parse_day(text).ok());
                day.map(|day| Cell::Int(days_since_epoch(day))).ok_or_else(wrong)
            }
            CellEncoder::Instant(ty) => {
                let millis = time::millis_of(value, ty).ok().flatten();
                let micros = millis.and_then(|millis| millis.checked_mul(1_000));
                micros.map(Cell::Long).ok_or_else(wrong)
            }
            CellEncoder::Struct(fields) => {
                let map = value.as_map().ok_or_else(wrong)?;
                fields.encode_row(map).map(Cell::Struct)
            }
            CellEncoder::List(element) => {
                let cells = members_of(value).ok_or_else(wrong)?;
                let cells = cells.iter().map(|value| element.encode_value(value));
                cells.collect::<Result<_, _>>().map(Cell::List)
            }
            CellEncoder::Map(element) => {
                let entries = value.as_map().ok_or_else(wrong)?.iter();
                let entries = entries.map(|(key, value)| Ok((key.clone().into_bytes(), element.encode_value(value)?)));
                entries.collect::<Result<_, NoPlace>>().map(Cell::Map)
            }
        }
    }
}

/// Text as it is, a number with all its digits, anything else in JSON.
fn text_of(value: &Value) -> Cell {
    match value {
        Value::S(text) => Cell::text(text.as_str()),
        Value::N(number) => Cell::text(number.to_string()),
        Value::B(_)
        | Value::Bool(_)
        | Value::Null
        | Value::L(_)
        | Value::M(_)
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => Cell::text(json_text::json_of(value)),
    }
}

fn members_of(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::L(values) => Some(values.clone()),
        Value::Ss(words) => Some(words.iter().cloned().map(Value::S).collect()),
        Value::Ns(numbers) => Some(numbers.iter().copied().map(Value::N).collect()),
        Value::Bs(all) => Some(all.iter().cloned().map(Value::B).collect()),
        Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::Null | Value::M(_) => None,
    }
}

/// A number as so many decimals, where it has no more and all its digits fit.
fn decimal_of(number: Number, scale: u8) -> Option<Cell> {
    let (digits, power) = number.to_parts();
    let shift = i32::from(power) + i32::from(scale);
    let factor = 10_i128.checked_pow(shift.unsigned_abs());
    let unscaled = match (digits, shift) {
        (0, _) => 0,
        (_, 0..) => digits.checked_mul(factor?)?,
        (_, _) if digits % factor? == 0 => digits / factor?,
        _ => return None,
    };
    let most = 10_i128.pow(u32::from(crate::data_file::DECIMAL_DIGITS));
    (unscaled.abs() < most).then(|| Cell::Bytes(unscaled.to_be_bytes().to_vec()))
}

fn days_since_epoch(day: Date) -> i32 {
    let days = day.duration_since(EPOCH).as_hours() / 24;
    i32::try_from(days).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str, scale: u8) -> Option<i128> {
        let number: Number = text.parse().unwrap();
        let Cell::Bytes(bytes) = decimal_of(number, scale)? else {
            panic!("a decimal is bytes");
        };
        Some(i128::from_be_bytes(bytes.try_into().unwrap()))
    }

    #[test]
    fn a_decimal_has_every_digit_or_is_none() {
        assert_eq!(decimal("0", 2), Some(0));
        assert_eq!(decimal("1.5", 2), Some(150));
        assert_eq!(decimal("-1.25", 2), Some(-125));
        assert_eq!(decimal("1.255", 2), None);
        assert_eq!(decimal("1e3", 0), Some(1_000));
        assert_eq!(decimal("0.1", 0), None);
        let most = "9".repeat(38);
        assert_eq!(decimal(&most, 0), Some(most.parse().unwrap()));
        assert_eq!(decimal("1e38", 0), None);
        assert_eq!(decimal("1e37", 1), None);
        assert_eq!(decimal("1e125", 0), None);
        assert_eq!(decimal("1e-130", 38), None);
    }

    #[test]
    fn a_day_is_counted_from_1970() {
        assert_eq!(days_since_epoch(EPOCH), 0);
        assert_eq!(days_since_epoch(Date::constant(1969, 12, 31)), -1);
        assert_eq!(days_since_epoch(Date::constant(0, 1, 1)), -719_528);
        assert_eq!(days_since_epoch(Date::constant(9999, 12, 31)), 2_932_896);
    }
}
