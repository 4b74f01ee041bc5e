//! How large items can be, from the limits of their attributes.

use std::collections::HashMap;

use singlet_item::Number;
use singlet_item::key::{Delimiter, Domain, Form, Part, Pattern, Template, TextDomain, Variable};
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, IndexId, KeyChoice, KeyTemplate, Projection, Stored};
use singlet_model::types::{LengthLimits, NumberLimits, ObjectType, TextLimits, Type};

/// The largest item that limits allow.
#[derive(Debug)]
pub struct SizeBound<'a> {
    /// The bytes of all that is limited: keys, names, and attributes with limits.
    pub bytes: u64,
    /// Whether everything is limited, so that no item is larger.
    pub complete: bool,
    /// The attributes that are limited, with their bytes, the largest first.
    pub attributes: Vec<(&'a Attribute, u64)>,
}

/// The bytes that DynamoDB takes for any number.
const NUMBER_BYTES_MAX: u64 = 22;
/// The bytes of an instant in epoch seconds or milliseconds.
const INSTANT_BYTES_MAX: u64 = 8;
/// A list or map takes these, and one more for each element.
const CONTAINER_BYTES: u64 = 3;
/// The bytes that a character takes at most.
const CHARACTER_BYTES_MAX: u64 = 4;

/// How large the items of each entity can be, in the order of the model.
pub fn size_bounds(model: &Model) -> Vec<SizeBound<'_>> {
    let mut patterns = Patterns::new();
    model
        .entities
        .iter()
        .map(|entity| bound(model, entity, &mut patterns))
        .collect()
}

/// The most bytes of the texts of each pattern: the same ones stand in many entities, and each takes an automaton.
type Patterns = HashMap<String, Option<u64>>;

fn bound<'a>(model: &'a Model, entity: &'a Entity, patterns: &mut Patterns) -> SizeBound<'a> {
    let stored = entity.attributes.iter().filter(|attribute| is_stored(attribute));
    let mut complete = true;
    let mut attributes = Vec::new();
    for attribute in stored {
        match largest(&attribute.ty, patterns) {
            Some(bytes) => attributes.push((attribute, bytes.saturating_add(name_bytes(attribute)))),
            None => complete = false,
        }
    }
    let keys = key_bytes(entity);
    complete &= keys.is_some();
    attributes.sort_by(|(_, one), (_, two)| two.cmp(one));
    let own = attributes
        .iter()
        .fold(0_u64, |all, (_, bytes)| all.saturating_add(*bytes));
    let bytes = own
        .saturating_add(keys.unwrap_or(0))
        .saturating_add(overhead(model, entity));
    SizeBound {
        bytes,
        complete,
        attributes,
    }
}

fn is_stored(attribute: &Attribute) -> bool {
    attribute.alias.is_none() && attribute.stored != Stored::No
}

fn name_bytes(attribute: &Attribute) -> u64 {
    attribute.stored_name().unwrap_or(&attribute.name).len() as u64
}

/// The most bytes of an entity's entry in an index: its keys, and what the index projects. Nothing where a part has no limit.
pub(crate) fn entry_bytes_max(model: &Model, entity: &Entity, index: IndexId, whole: &SizeBound<'_>) -> Option<u64> {
    let names = match &model.index(index)?.projection {
        Projection::All => return whole.complete.then_some(whole.bytes),
        Projection::Keys => &[][..],
        Projection::Include(names) => names.as_slice(),
    };
    let own = |_: &str| false;
    let keys = longest(&entity.key, &own)?.checked_add(longest(entity.index_entry(index)?.key_choices(), &own)?)?;
    let carried = entity.attributes.iter().filter(|attribute| {
        is_stored(attribute) && names.iter().any(|name| attribute.stored_name() == Some(name.as_str()))
    });
    carried.into_iter().try_fold(keys, |all, attribute| {
        let (_, bytes) = whole
            .attributes
            .iter()
            .find(|(known, _)| known.name == attribute.name)?;
        all.checked_add(*bytes)
    })
}

/// The keys that templates write beside the attributes; for keys by condition, those of the longest choice.
fn key_bytes(entity: &Entity) -> Option<u64> {
    let own = |name: &str| entity.attribute(name).is_some_and(is_stored);
    let indexes = entity.index.iter().map(|entry| longest(entry.key_choices(), &own));
    let indexes = indexes.sum::<Option<u64>>()?;
    Some(longest(&entity.key, &own)?.saturating_add(indexes))
}

fn longest(choices: &[KeyChoice], own: &dyn Fn(&str) -> bool) -> Option<u64> {
    let bytes = |keys: &[KeyTemplate]| {
        let written = keys.iter().filter(|key| !own(&key.attribute));
        written
            .map(|key| Some((key.template.max_bytes()? + key.attribute.len()) as u64))
            .sum::<Option<u64>>()
    };
    let all = choices
        .iter()
        .map(|choice| bytes(&choice.keys))
        .collect::<Option<Vec<u64>>>()?;
    Some(all.into_iter().max().unwrap_or(0))
}

/// The attributes that the table asks for: the entity's name, and the expiry.
fn overhead(model: &Model, entity: &Entity) -> u64 {
    let kind = model
        .table
        .type_attribute
        .as_ref()
        .map_or(0, |name| name.len() + entity.name.len());
    let expiry = entity
        .expires
        .as_ref()
        .and(model.table.ttl.as_ref())
        .map_or(0, String::len);
    (kind as u64)
        + if expiry > 0 {
            expiry as u64 + INSTANT_BYTES_MAX
        } else {
            0
        }
}

/// The most bytes of a value of a type, by its limits; none where it has none.
pub fn value_bytes_max(ty: &Type) -> Option<u64> {
    largest(ty, &mut Patterns::new())
}

fn largest(ty: &Type, patterns: &mut Patterns) -> Option<u64> {
    match ty {
        Type::Text(limits) => text_bytes(limits, patterns),
        Type::Int(limits) => Some(number_bytes(limits, true)),
        Type::Number(limits) => Some(number_bytes(limits, false)),
        Type::Version | Type::Duration => Some(NUMBER_BYTES_MAX),
        Type::Seconds | Type::Millis => Some(INSTANT_BYTES_MAX),
        Type::Bool => Some(1),
        Type::Bytes(limits) => limits.max,
        Type::Month => Some(7),
        Type::Date => Some(10),
        Type::Time | Type::Now => Some(24),
        Type::Ulid => Some(26),
        Type::Ksuid => Some(27),
        Type::Uuid => Some(36),
        Type::Enum(words) => words.members.iter().map(|word| word.len() as u64).max(),
        Type::Geo(None) => Some(CONTAINER_BYTES + 2 * (1 + 3 + NUMBER_BYTES_MAX)),
        Type::Geo(Some(object)) | Type::Object(object) => object_bytes(object, patterns),
        Type::List(element, limits) => elements_bytes(element, limits, 1, patterns)?.checked_add(CONTAINER_BYTES),
        Type::Set(element, limits) => elements_bytes(element, limits, 0, patterns),
        Type::OrWords(value, words) => {
            let longest = words.iter().map(|word| word.len() as u64).max();
            Some(largest(value, patterns)?.max(longest.unwrap_or(0)))
        }
        Type::Map(..) | Type::Json | Type::Row(_) | Type::Group(..) | Type::Absent | Type::Unknown => None,
    }
}

/// Two digits take a byte, and all of them and a sign one more each.
fn number_bytes(limits: &NumberLimits, is_whole: bool) -> u64 {
    if let Some(largest) = limits
        .only
        .iter()
        .flat_map(|only| only.iter())
        .map(|number| number.size_bytes())
        .max()
    {
        return largest as u64;
    }
    let whole = |limit: Option<Number>| limit.filter(|_| is_whole).and_then(|limit| limit.to_i64());
    let (Some(min), Some(max)) = (whole(limits.min), whole(limits.max)) else {
        return NUMBER_BYTES_MAX;
    };
    let largest = min.unsigned_abs().max(max.unsigned_abs());
    let digits = largest.checked_ilog10().map_or(1, |power| u64::from(power) + 1);
    (1 + digits.div_ceil(2) + u64::from(min < 0)).min(NUMBER_BYTES_MAX)
}

fn text_bytes(limits: &TextLimits, patterns: &mut Patterns) -> Option<u64> {
    let by_length = limits.length.max.map(|max| max.saturating_mul(CHARACTER_BYTES_MAX));
    let pattern = limits.pattern.as_ref();
    let by_pattern = pattern.and_then(|pattern| {
        *patterns
            .entry(pattern.as_str().to_owned())
            .or_insert_with(|| pattern_bytes(pattern))
    });
    by_length.into_iter().chain(by_pattern).min()
}

/// The key's automata know how long the texts of a pattern are.
fn pattern_bytes(pattern: &Pattern) -> Option<u64> {
    let domain = Domain::Text(TextDomain {
        pattern: Some(pattern.clone()),
        ..TextDomain::default()
    });
    let variable = Part::Variable(Variable::new("value", Form::Raw, domain));
    let template = Template::new(vec![variable], Delimiter::default()).ok()?;
    template.max_bytes().map(|bytes| bytes as u64)
}

fn object_bytes(object: &ObjectType, patterns: &mut Patterns) -> Option<u64> {
    object.fields.iter().try_fold(CONTAINER_BYTES, |all, field| {
        all.checked_add(1 + field.name.len() as u64)?
            .checked_add(largest(&field.ty, patterns)?)
    })
}

fn elements_bytes(element: &Type, limits: &LengthLimits, overhead: u64, patterns: &mut Patterns) -> Option<u64> {
    limits
        .max?
        .checked_mul(largest(element, patterns)?.checked_add(overhead)?)
}
