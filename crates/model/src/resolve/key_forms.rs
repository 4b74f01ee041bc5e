//! From an attribute's type, and the function around it, to how it stands in a key.

use singlet_item::Number;
use singlet_item::key::{Domain, Form, NumberRange, TextDomain, Variable};

use super::template_syntax::VariablePart;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::PartFunction;
use crate::rules;
use crate::text::with_article;
use crate::types::{LengthLimits, NumberLimits, TextLimits, Type};

/// Epoch seconds and milliseconds stand in keys at the width that they have until the year 2286.
const SECONDS_MAX: i64 = 9_999_999_999;
const MILLIS_MAX: i64 = 9_999_999_999_999;

/// The variable for a part, or a finding where its type has no place in a key.
pub(super) fn part_variable(part: &VariablePart, ty: &Type, alone: bool, out: &mut Diagnostics) -> Option<Variable> {
    if ty.is_unknown() {
        return None;
    }
    let made = match part.function {
        Some(function) => with_function(function, ty),
        None if alone => key_domain(ty).map(|domain| (Form::Whole, domain)),
        None => key_domain(ty).map(|domain| (Form::of(&domain), domain)),
    };
    let Some((form, domain)) = made.filter(|(form, domain)| form.fits_domain(domain)) else {
        out.push(misfit(part, ty));
        return None;
    };
    Some(Variable {
        name: part.path.text.clone(),
        form,
        domain,
    })
}

/// The variable for an attribute that is a key by itself.
pub(super) fn attribute_variable(name: &str, ty: &Type) -> Option<Variable> {
    let domain = key_domain(ty)?;
    Form::Whole.fits_domain(&domain).then(|| Variable {
        name: name.to_owned(),
        form: Form::Whole,
        domain,
    })
}

fn with_function(function: PartFunction, ty: &Type) -> Option<(Form, Domain)> {
    let of = key_domain(ty);
    let form = match function {
        PartFunction::Lower => Form::Lower,
        PartFunction::Upper => Form::Upper,
        PartFunction::Day => Form::Day,
        PartFunction::Month => Form::Month,
        PartFunction::Year => Form::Year,
        PartFunction::Ordered => Form::Ordered,
        PartFunction::Plain => Form::Plain,
        PartFunction::Raw => Form::Raw,
        PartFunction::Rank => Form::rank_form(of.as_ref()?)?,
        PartFunction::Desc => Form::of(of.as_ref()?).descending_form(),
        PartFunction::Geohash(precision) => {
            return matches!(ty, Type::Geo(_)).then_some((Form::Fixed, Domain::Geohash { precision }));
        }
    };
    Some((form, of?))
}

/// The values of a type, as far as they can stand in a key.
pub(crate) fn key_domain(ty: &Type) -> Option<Domain> {
    Some(match ty {
        Type::Text(limits) => Domain::Text(text_domain(limits)),
        Type::Enum(words) => Domain::OneOf(words.members.clone()),
        Type::Date => Domain::Date,
        Type::Time | Type::Now => Domain::Time,
        Type::Month => Domain::Month,
        Type::Ulid => Domain::Ulid,
        Type::Ksuid => Domain::Ksuid,
        Type::Uuid => Domain::Uuid,
        Type::Bool => Domain::Bool,
        Type::Seconds => Domain::integer_range(Some(0), Some(SECONDS_MAX)),
        Type::Millis => Domain::integer_range(Some(0), Some(MILLIS_MAX)),
        Type::Version => Domain::integer_range(Some(0), None),
        Type::Int(limits) => Domain::Number(number_range(limits, Some(0))),
        Type::Number(limits) => Domain::Number(number_range(limits, limits.decimals)),
        Type::Bytes(limits) => {
            let (min_bytes, max_bytes) = lengths(limits);
            Domain::Binary { min_bytes, max_bytes }
        }
        Type::OrWords(value, words) => {
            let words = Domain::OneOf(words.to_vec());
            Domain::Either(vec![key_domain(value)?, words])
        }
        _ => return None,
    })
}

fn text_domain(limits: &TextLimits) -> TextDomain {
    let (min_chars, max_chars) = lengths(&limits.length);
    TextDomain {
        pattern: limits.pattern.clone(),
        min_chars,
        max_chars,
    }
}

fn lengths(limits: &LengthLimits) -> (u32, Option<u32>) {
    let narrow = |length: u64| u32::try_from(length).unwrap_or(u32::MAX);
    (limits.min.map_or(0, narrow), limits.max.map(narrow))
}

fn number_range(limits: &NumberLimits, decimals: Option<u8>) -> NumberRange {
    let only = limits.only.as_deref();
    let bound = |side: Option<Number>, of_only: fn(&[Number]) -> Option<Number>| side.or_else(|| of_only(only?));
    NumberRange {
        min: bound(limits.min, |only| only.iter().min().copied()),
        max: bound(limits.max, |only| only.iter().max().copied()),
        decimals,
    }
}

fn misfit(part: &VariablePart, ty: &Type) -> Diagnostic {
    let message = match part.function {
        Some(_) => format!("`{}` does not fit {}", part.whole.text, with_article(&ty.to_string())),
        None => format!(
            "`{}` is {}, which cannot stand in a key",
            part.path.text,
            with_article(&ty.to_string())
        ),
    };
    let help = match (part.function, ty) {
        (Some(PartFunction::Day | PartFunction::Month | PartFunction::Year), Type::Seconds | Type::Millis) => {
            "in keys, `day`, `month` and `year` take a `date` or a `time`: declare the attribute as `time`"
        }
        (Some(PartFunction::Rank), _) => "`rank` takes an enum",
        (Some(PartFunction::Desc), _) => {
            "`desc` takes a number with an upper limit, a date, a time, a time-ordered id, or seconds"
        }
        (Some(PartFunction::Plain), _) => "`plain` takes a number",
        (Some(PartFunction::Geohash(_)), _) => "`geohash` takes a `geo`",
        (Some(_), _) => "`lower`, `upper`, `ordered` and `raw` take a string",
        (None, Type::Geo(_)) => "use `geohash(…, 5)` of it",
        (None, _) => "keys are made of strings, numbers, dates, times, ids, enums and bools",
    };
    Diagnostic::new(&rules::BAD_TEMPLATE, part.whole.span, message).help(help)
}
