//! Types, limits and expressions as the model writes them.

use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Billing, KeyChoice, Projection, Rate, Table};
use singlet_model::types::{LengthLimits, NumberLimits, Type};

use crate::escape::inline_code;

/// An expression.
pub(crate) fn expression_text(model: &Model, expr: &Expr) -> String {
    singlet_plan::show::expression_in(&model.catalog, expr)
}

/// A type with its limits: `string 1..200`.
pub(crate) fn type_text(ty: &Type) -> String {
    let limits = match ty {
        Type::Text(limits) => {
            let pattern = limits.pattern.as_ref().map(|pattern| format!("/{pattern}/"));
            joined([range(&limits.length), pattern])
        }
        Type::Int(limits) | Type::Number(limits) => numbers(limits),
        Type::List(element, limits) => return joined([Some(format!("list({})", type_text(element))), range(limits)]),
        Type::Set(element, limits) => return joined([Some(format!("set({})", type_text(element))), range(limits)]),
        Type::Map(element, limits) => return joined([Some(format!("map({})", type_text(element))), range(limits)]),
        Type::Bytes(limits) => range(limits).unwrap_or_default(),
        Type::Object(object) | Type::Geo(Some(object)) if object.name.is_empty() => {
            let fields: Vec<String> = object
                .fields
                .iter()
                .map(|field| {
                    format!(
                        "{}{}: {}",
                        field.name,
                        if field.optional { "?" } else { "" },
                        type_text(&field.ty)
                    )
                })
                .collect();
            return format!("{{{}}}", fields.join(", "));
        }
        _ => String::new(),
    };
    joined([Some(ty.to_string()), Some(limits)])
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

fn range(limits: &LengthLimits) -> Option<String> {
    let end = |end: Option<u64>| end.map(|end| end.to_string()).unwrap_or_default();
    (limits.min.is_some() || limits.max.is_some()).then(|| format!("{}..{}", end(limits.min), end(limits.max)))
}

fn numbers(limits: &NumberLimits) -> String {
    if let Some(only) = &limits.only {
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        return format!("in [{}]", only.join(", "));
    }
    if limits.min.is_none() && limits.max.is_none() {
        return String::new();
    }
    let end = |end: Option<String>| end.unwrap_or_default();
    let (min, max) = (limits.min.as_ref(), limits.max.as_ref());
    format!(
        "{}..{}",
        end(min.map(ToString::to_string)),
        end(max.map(ToString::to_string))
    )
}

/// The templates of one key attribute, one for each condition.
pub(crate) fn template_texts(model: &Model, choices: &[KeyChoice], attribute: &str) -> Vec<String> {
    let shown = |choice: &KeyChoice| {
        let template = choice.attribute_template(attribute)?;
        let when = choice
            .when
            .as_ref()
            .map(|when| format!(" when {}", inline_code(&expression_text(model, when))));
        Some(format!("{}{}", inline_code(&template.text), when.unwrap_or_default()))
    };
    choices.iter().filter_map(shown).collect()
}

/// What an index's entries carry.
pub(crate) fn projection_text(projection: &Projection) -> String {
    match projection {
        Projection::All => "everything".to_owned(),
        Projection::Keys => "keys only".to_owned(),
        Projection::Include(names) => {
            let names: Vec<String> = names.iter().map(|name| inline_code(name)).collect();
            format!("keys and {}", names.join(", "))
        }
    }
}

/// How capacity is paid for.
pub(crate) fn billing_text(table: &Table) -> String {
    let Billing::Provisioned { read, write } = table.billing else {
        return "on demand".to_owned();
    };
    let indexes = table.indexes.iter().filter_map(|index| {
        let units = index.units?;
        Some(format!(
            "; {} {} and {}",
            inline_code(&index.name),
            units.read,
            units.write
        ))
    });
    let indexes: String = indexes.collect();
    format!("provisioned: {read} read units and {write} write units a second{indexes}")
}

/// How often.
pub fn rate_text(rate: Rate) -> String {
    let unit = match rate.seconds {
        1.0 => "second".to_owned(),
        60.0 => "minute".to_owned(),
        3600.0 => "hour".to_owned(),
        86400.0 => "day".to_owned(),
        2_592_000.0 => "month".to_owned(),
        seconds => format!("{seconds} seconds"),
    };
    format!("{} a {unit}", rate.count)
}
