//! A condition by hand, as a query answers it: stored keys, what is asked of them, and whether they meet.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::Value;
use singlet_item::key::{Part, Template, Variable};
use singlet_model::Model;
use singlet_model::evaluate::geo;
use singlet_model::evaluate::holds_condition;
use singlet_model::model::{Comparison, Entity, KeyChoice, KeyTemplate, PartFunction, Using};

use super::pool::Pool;
use super::request::{Request, Scope};
use super::row::{Row, value_at};
use crate::alignment::{Given, Pair, align_templates};

/// The templates of a comparison.
pub(super) fn comparison_templates(comparison: &Comparison) -> Vec<&KeyTemplate> {
    match comparison {
        Comparison::Equal(one)
        | Comparison::Less(one)
        | Comparison::LessOrEqual(one)
        | Comparison::Greater(one)
        | Comparison::GreaterOrEqual(one)
        | Comparison::BeginsWith(one) => vec![one],
        Comparison::Between(low, high) => vec![low, high],
    }
}

/// The places where the rows of an entity stand that a condition looks through: the entity's own, and its mirrors'.
pub(super) struct Places<'a> {
    pub each: Vec<(&'a Entity, &'a [KeyChoice])>,
}

impl<'a> Places<'a> {
    pub(super) fn of(model: &'a Model, entity: &'a Entity, using: &Using) -> Self {
        let entities = std::iter::once(entity).chain(model.mirrors_of(entity.id));
        let choices = |entity: &'a Entity| match using.index {
            None => Some(entity.key.as_slice()),
            Some(index) => Some(entity.index_entry(index)?.key_choices()),
        };
        let each = entities.filter_map(|entity| Some((entity, choices(entity)?)));
        Places {
            each: each.filter(|(_, choices)| !choices.is_empty()).collect(),
        }
    }

    /// The items that a row has in the table or the index.
    pub(super) fn items(&self, row: &Row, request: &Request, pool: &Pool) -> Vec<Item<'a>> {
        self.each
            .iter()
            .filter_map(|(entity, choices)| item(entity, choices, row, request, pool))
            .collect()
    }
}

/// The key of a row in the table or an index.
pub(super) struct Item<'a> {
    pub entity: &'a Entity,
    pub choice: &'a KeyChoice,
    pub keys: BTreeMap<&'a str, Value>,
}

fn item<'a>(
    entity: &'a Entity,
    choices: &'a [KeyChoice],
    row: &Row,
    request: &Request,
    pool: &Pool,
) -> Option<Item<'a>> {
    let scope = Scope {
        request,
        row: Some(row),
        zone: pool.zone(),
    };
    let taken = |choice: &&KeyChoice| {
        choice
            .when
            .as_ref()
            .is_none_or(|when| holds_condition(when, &scope).unwrap_or(false))
    };
    let choice = choices.iter().find(taken)?;
    let mut keys = BTreeMap::new();
    for key in &choice.keys {
        keys.insert(
            key.attribute.as_str(),
            encoded_key(key, &|path| value_at(row, path).cloned())?,
        );
    }
    Some(Item { entity, choice, keys })
}

/// A key; none where a value is absent or has no place in it.
pub(super) fn encoded_key(key: &KeyTemplate, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    key.template.encode_key(|path| hashed(key, path, lookup)).ok().flatten()
}

fn hashed(key: &KeyTemplate, path: &str, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    let value = lookup(path)?;
    let precision = key.parts.iter().find_map(|part| match part.function {
        Some(PartFunction::Geohash(precision)) if part.path == path => Some(precision),
        _ => None,
    });
    match precision {
        Some(precision) => Some(Value::S(geo::Place::from_value(&value)?.geohash(precision))),
        None => Some(value),
    }
}

/// What a condition asks of each key attribute, in one request.
pub(super) struct Asked<'a> {
    pub each: Vec<AskedKey<'a>>,
    request: &'a Request,
    pool: &'a Pool,
}

/// What is asked of one key attribute.
pub(super) struct AskedKey<'a> {
    pub attribute: &'a str,
    pub comparison: &'a Comparison,
    pub texts: Vec<Value>,
}

impl AskedKey<'_> {
    /// The comparison as people read it: `begins with E#`.
    pub(super) fn shown(&self) -> String {
        let text = |at: usize| self.texts.get(at).map(super::shown).unwrap_or_default();
        match self.comparison {
            Comparison::Equal(_) => format!("= {}", text(0)),
            Comparison::Less(_) => format!("< {}", text(0)),
            Comparison::LessOrEqual(_) => format!("<= {}", text(0)),
            Comparison::Greater(_) => format!("> {}", text(0)),
            Comparison::GreaterOrEqual(_) => format!(">= {}", text(0)),
            Comparison::BeginsWith(_) => format!("begins_with {}", text(0)),
            Comparison::Between(..) => format!("between {} and {}", text(0), text(1)),
        }
    }
}

impl<'a> Asked<'a> {
    /// None where the request has no value for a part.
    pub(super) fn of(using: &'a Using, request: &'a Request, pool: &'a Pool) -> Option<Self> {
        let lookup = |path: &str| request.value_at(path, pool.zone());
        let asked = |key: &'a singlet_model::model::UsingKey| {
            let texts = comparison_templates(&key.comparison)
                .into_iter()
                .map(|template| encoded_key(template, &lookup));
            Some(AskedKey {
                attribute: &key.attribute,
                comparison: &key.comparison,
                texts: texts.collect::<Option<Vec<Value>>>()?,
            })
        };
        let each = using.key.iter().map(asked).collect::<Option<Vec<AskedKey<'a>>>>()?;
        Some(Asked { each, request, pool })
    }

    /// The first key attribute whose comparison an item does not meet.
    pub(super) fn unmet(&self, item: &Item<'_>, varied: &Varied) -> Option<(&AskedKey<'a>, Value)> {
        self.each.iter().find_map(|asked| {
            let stored = match varied.as_asked(self, asked, item) {
                Some(text) => Value::S(text),
                None => item.keys.get(asked.attribute)?.clone(),
            };
            (!meets(asked.comparison, &stored, &asked.texts)).then_some((asked, stored))
        })
    }

    /// The variables of stored keys for which the condition gives a value.
    fn given_places(&self, item: &Item<'_>) -> Vec<GivenPlace> {
        let each = self
            .each
            .iter()
            .flat_map(|key| self.given_places_of(key, item).unwrap_or_default());
        each.collect()
    }

    fn given_places_of(&self, key: &AskedKey<'_>, item: &Item<'_>) -> Option<Vec<GivenPlace>> {
        // A range holds many values at once; only what stands before it can differ from query to query.
        let (Comparison::Equal(given) | Comparison::BeginsWith(given)) = key.comparison else {
            return None;
        };
        let stored = item.choice.attribute_template(key.attribute)?;
        let aligned = align_templates(&stored.template, &given.template)?;
        let place = |pair: &Pair<'_>| {
            let part = stored.parts.iter().find(|part| part.position == pair.position)?;
            let computed = item
                .entity
                .attribute(part.root_attribute())
                .and_then(|attribute| attribute.is.as_ref());
            Some(GivenPlace {
                place: (key.attribute.to_owned(), pair.position),
                text: part_text(stored, pair.position, item)?,
                given: self.given_text(pair.given, &given.template),
                is_computed: computed.is_some(),
                is_cell: matches!(part.function, Some(PartFunction::Geohash(_)))
                    || computed.is_some_and(|is| crate::show::show_expression(is).starts_with("geohash(")),
            })
        };
        Some(aligned.pairs.iter().filter_map(place).collect())
    }

    /// What the condition gives for a variable of the stored key.
    fn given_text(&self, given: Given<'_>, template: &Template) -> Option<String> {
        match given {
            Given::Text(text) => Some(text.to_owned()),
            Given::Variable(variable) => {
                let value = self.request.value_at(&variable.name, self.pool.zone())?;
                variable.encode_value(&value, template.delimiter()).ok()
            }
        }
    }
}

fn meets(comparison: &Comparison, stored: &Value, asked: &[Value]) -> bool {
    let order = |at: usize| asked.get(at).and_then(|asked| compared(stored, asked));
    let first = order(0);
    match comparison {
        Comparison::Equal(_) => first.is_some_and(|order| order.is_eq()),
        Comparison::Less(_) => first.is_some_and(|order| order.is_lt()),
        Comparison::LessOrEqual(_) => first.is_some_and(|order| order.is_le()),
        Comparison::Greater(_) => first.is_some_and(|order| order.is_gt()),
        Comparison::GreaterOrEqual(_) => first.is_some_and(|order| order.is_ge()),
        Comparison::BeginsWith(_) => match (stored, asked.first()) {
            (Value::S(stored), Some(Value::S(asked))) => stored.starts_with(asked.as_str()),
            _ => false,
        },
        Comparison::Between(..) => {
            first.is_some_and(|order| order.is_ge()) && order(1).is_some_and(|order| order.is_le())
        }
    }
}

/// Keys compare by their bytes, numbers by their value; keys of two types never meet.
fn compared(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::S(one), Value::S(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
        (Value::N(one), Value::N(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

/// A key attribute and a place in its template.
type Place = (String, usize);

/// A variable of a stored key for which a condition gives a value.
struct GivenPlace {
    place: Place,
    /// What an item has there.
    text: String,
    /// What the condition gives.
    given: Option<String>,
    /// Whether it is computed: rows are not drawn for each of its values, such as each shard of a hash.
    is_computed: bool,
    /// Whether it is a cell of a place.
    is_cell: bool,
}

/// Where several queries are said to be made: the parts of keys in which they differ.
#[derive(Default)]
pub(super) struct Varied {
    /// Key attributes and places in their templates.
    places: BTreeSet<Place>,
    /// What the rows that are meant have there: a query for each.
    queries: BTreeSet<Vec<(Place, String)>>,
    /// What the condition gives there.
    given: BTreeMap<Place, String>,
    /// Those of them that are computed.
    computed: BTreeSet<Place>,
    /// Whether a place is among them whose cells are counted elsewhere.
    pub has_cells: bool,
}

impl Varied {
    /// The parts in which the rows that are meant differ and that the condition gives one value.
    pub(super) fn among(asked: &Asked<'_>, meant: &[&Vec<Item<'_>>]) -> Self {
        let mut values: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
        let mut each: Vec<BTreeMap<Place, String>> = Vec::new();
        let mut given = BTreeMap::new();
        let mut computed = BTreeSet::new();
        let mut has_cells = false;
        for item in meant.iter().filter_map(|items| items.first()) {
            let mut own = BTreeMap::new();
            for GivenPlace {
                place,
                text,
                given: one,
                is_computed,
                is_cell,
            } in asked.given_places(item)
            {
                has_cells |= is_cell;
                if is_computed {
                    computed.insert(place.clone());
                }
                given.extend(one.map(|one| (place.clone(), one)));
                values.entry(place.clone()).or_default().insert(text.clone());
                own.insert(place, text);
            }
            each.push(own);
        }
        values.retain(|_, texts| texts.len() > 1);
        let places: BTreeSet<Place> = values.into_keys().collect();
        let own = |own: BTreeMap<Place, String>| own.into_iter().filter(|(place, _)| places.contains(place)).collect();
        let queries = each.into_iter().map(own).collect();
        Varied {
            queries,
            places,
            given,
            computed,
            has_cells,
        }
    }

    /// How many queries the rows need that are meant.
    pub(super) fn needed(&self) -> u64 {
        self.queries.len() as u64
    }

    /// The first place where the condition gives what no row that is meant has, so that it is none of the queries.
    pub(super) fn astray<'k>(&self, asked: &'k Asked<'_>) -> Option<&'k AskedKey<'k>> {
        let keys = asked
            .each
            .iter()
            .filter(|key| self.places.iter().any(|(attribute, _)| attribute == key.attribute));
        let has = |(attribute, position): &Place, given: &str| {
            let mut texts = self
                .queries
                .iter()
                .flatten()
                .filter(|((known, at), _)| known == attribute && at == position);
            // A shard that no drawn row fell into is one all the same, where it is written as they are.
            let place = (attribute.clone(), *position);
            let is_like = |text: &str| self.computed.contains(&place) && text.len() == given.len();
            texts.any(|(_, text)| text.starts_with(given) || is_like(text))
        };
        keys.into_iter().find(|key| {
            let mut of_key = self
                .given
                .iter()
                .filter(|((attribute, _), _)| attribute == key.attribute);
            of_key.any(|(place, given)| self.places.contains(place) && !has(place, given))
        })
    }

    /// Whether one of the queries that the meaning needs asks for what an item has where they differ.
    pub(super) fn asks_for(&self, asked: &Asked<'_>, item: &Item<'_>) -> bool {
        if self.places.is_empty() {
            return true;
        }
        let own = asked
            .given_places(item)
            .into_iter()
            .map(|given| (given.place, given.text));
        let own: BTreeMap<Place, String> = own.filter(|(place, _)| self.places.contains(place)).collect();
        self.queries.contains(&own.into_iter().collect::<Vec<_>>())
    }

    /// The stored key as the query for it has it: what queries differ in is as the condition gives it.
    fn as_asked(&self, asked: &Asked<'_>, key: &AskedKey<'_>, item: &Item<'_>) -> Option<String> {
        if !self.places.iter().any(|(attribute, _)| attribute == key.attribute) {
            return None;
        }
        let stored = item.choice.attribute_template(key.attribute)?;
        let given = comparison_templates(key.comparison).into_iter().next()?;
        let aligned = align_templates(&stored.template, &given.template)?;
        let mut text = String::new();
        for (position, part) in stored.template.parts().iter().enumerate() {
            // What a range or a beginning leaves open is as it is stored.
            let replaced = self.places.contains(&(key.attribute.to_owned(), position));
            let pair = aligned.pairs.iter().find(|pair| pair.position == position && replaced);
            match (pair, part) {
                (Some(pair), _) => text.push_str(&asked.given_text(pair.given, &given.template)?),
                (None, Part::Text(literal)) => text.push_str(literal),
                (None, _) => text.push_str(&part_text(stored, position, item)?),
            }
        }
        Some(text)
    }
}

/// The text of one part in the key of a row.
fn part_text(stored: &KeyTemplate, position: usize, item: &Item<'_>) -> Option<String> {
    let Value::S(key) = item.keys.get(stored.attribute.as_str())? else {
        return None;
    };
    // The key is one that the template gave: its parts are found again where the value can be read back, by their order where not.
    let parts = stored.template.parts();
    if parts.len() == 1 {
        return Some(key.clone());
    }
    split(parts, key).and_then(|texts| texts.get(position).cloned())
}

/// Cuts a key at the texts of its template: a delimiter stands in no value.
fn split(parts: &[Part], key: &str) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    let mut rest = key;
    for (at, part) in parts.iter().enumerate() {
        let text = match (part, parts.get(at + 1)) {
            (Part::Text(text), _) => rest.get(..text.len())?,
            (_, Some(Part::Text(next))) => rest.get(..rest.find(next.as_str())?)?,
            (Part::Variable(variable), Some(_)) => rest.get(..fixed_width(variable)?)?,
            _ => rest,
        };
        rest = rest.get(text.len()..)?;
        texts.push(text.to_owned());
    }
    Some(texts)
}

fn fixed_width(variable: &Variable) -> Option<usize> {
    let template = Template::new(
        vec![Part::text("-"), Part::Variable(variable.clone())],
        singlet_item::key::Delimiter::default(),
    )
    .ok()?;
    template
        .max_bytes()
        .filter(|most| *most == template.min_bytes())
        .map(|most| most - 1)
}
