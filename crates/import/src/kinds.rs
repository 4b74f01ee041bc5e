//! Which items are rows of one entity.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::key::Delimiter;
use singlet_item::{Item, Value};
use singlet_store::TableSpec;

use crate::templates::{is_generic, is_identifier, is_upper_label, plain_word};

/// Characters that keys are written with, the usual first.
const DELIMITERS: [char; 7] = ['#', '|', ':', '/', '~', '^', ';'];
/// What share of the keys has the delimiter, in percent, where nothing else has more.
const DELIMITED_PERCENT_MIN: usize = 20;
/// The most kinds that an attribute tells apart.
const TYPES_MAX: usize = 64;
/// What ElectroDB, OneTable and dynamodb-toolbox call the attribute that names an entity: its values tell kinds apart whatever their keys look like.
const LIBRARY_TYPES: [&str; 3] = ["__edb_e__", "_type", "_et"];
/// The most words that label keys of one attribute.
const LABELS_MAX: usize = 32;
/// The most kinds that are proposed.
const KINDS_MAX: usize = 64;
/// What share of the items with one type have keys of one shape, in percent.
const SHAPED_PERCENT_MIN: usize = 90;

/// Items of one entity, as far as can be told.
#[derive(Clone, Debug)]
pub(crate) struct Kind<'a> {
    /// Its name.
    pub name: String,
    /// Its items.
    pub items: Vec<&'a Item>,
}

/// All items, by what they are.
#[derive(Debug)]
pub(crate) struct Kinds<'a> {
    pub delimiter: Delimiter,
    /// The attribute that names the entity of an item.
    pub type_attribute: Option<String>,
    /// The kinds, those with most items first.
    pub kinds: Vec<Kind<'a>>,
    /// Items that are no rows: those that Singlet keeps for itself.
    pub own: usize,
    /// Items of further kinds.
    pub rest: Vec<&'a Item>,
}

pub(crate) fn kinds_of<'a>(spec: &TableSpec, items: &'a [Item]) -> Option<Kinds<'a>> {
    let rows: Vec<&Item> = items.iter().filter(|item| !is_own(spec, item)).collect();
    let delimiter = delimiter_of(spec, &rows)?;
    let shapes = shapes_of(spec, &rows, delimiter);
    let type_attribute = type_attribute(spec, &rows, &shapes);
    let mut groups: BTreeMap<Vec<String>, Vec<&Item>> = BTreeMap::new();
    for (item, shape) in rows.iter().zip(&shapes) {
        let told = type_attribute
            .as_ref()
            .and_then(|name| item.get(name))
            .and_then(Value::as_str);
        let group = told.map_or_else(|| shape.clone(), |told| vec![told.to_owned()]);
        groups.entry(group).or_default().push(item);
    }
    if type_attribute.is_none() {
        groups = without_values(spec, delimiter, groups);
    }
    let mut groups: Vec<(Vec<String>, Vec<&Item>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, items)| std::cmp::Reverse(items.len()));
    let rest = groups.split_off(groups.len().min(KINDS_MAX));
    let mut names = BTreeSet::new();
    let kinds = groups.into_iter().map(|(group, items)| Kind {
        name: match &type_attribute {
            Some(_) => group.into_iter().next().unwrap_or_default(),
            None => unlike(&mut names, &name_of(&group)),
        },
        items,
    });
    Some(Kinds {
        delimiter: Delimiter::new(delimiter)?,
        kinds: kinds.collect(),
        own: items.len() - rows.len(),
        rest: rest.into_iter().flat_map(|(_, items)| items).collect(),
        type_attribute,
    })
}

/// Guards, records, the control row: their keys begin with `$` and end so, and so do names of what they hold.
fn is_own(spec: &TableSpec, item: &Item) -> bool {
    let partition = spec.key.partition.first().and_then(|key| item.get(&key.name));
    let begins = match partition {
        Some(Value::S(text)) => text.starts_with('$'),
        Some(Value::B(bytes)) => bytes.starts_with(b"$"),
        _ => false,
    };
    begins && item.keys().any(|name| name.starts_with('$'))
}

fn delimiter_of(spec: &TableSpec, rows: &[&Item]) -> Option<char> {
    let keys: Vec<&str> = rows
        .iter()
        .flat_map(|item| spec.key.attributes().filter_map(|key| item.get(&key.name)?.as_str()))
        .collect();
    let usual = DELIMITERS.first().copied()?;
    let is_often = |count: usize| count > 0 && count * 100 >= keys.len() * DELIMITED_PERCENT_MIN;
    // The first of equals.
    let most_of = |count: &dyn Fn(char) -> usize| {
        let counted = DELIMITERS.iter().rev().map(|character| (count(*character), *character));
        counted
            .max_by_key(|(count, _)| *count)
            .filter(|(count, _)| is_often(*count))
    };
    // What comes after a word says more than what stands anywhere: values have colons and dashes, too.
    let labelled = |character: char| keys.iter().filter(|key| is_labelled(key, character)).count();
    let having = |character: char| keys.iter().filter(|key| key.contains(character)).count();
    let found = most_of(&labelled);
    let found = found.or_else(|| is_often(having(usual)).then_some((0, usual)));
    let found = found.or_else(|| most_of(&having));
    Some(found.map_or(usual, |(_, character)| character))
}

/// Whether a key begins with a word before a character.
fn is_labelled(key: &str, character: char) -> bool {
    let label = key.split_once(character).map_or("", |(label, _)| label);
    !label.is_empty() && is_plain_label(label)
}

fn is_plain_label(token: &str) -> bool {
    token
        .chars()
        .all(|letter| letter.is_ascii_alphabetic() || matches!(letter, '_' | '-' | '$'))
}

/// What is the same in the keys of all items of a kind: the words that label them. Words that are too many to label kinds are values.
fn shapes_of(spec: &TableSpec, rows: &[&Item], delimiter: char) -> Vec<Vec<String>> {
    let mut shapes: Vec<Vec<String>> = vec![Vec::new(); rows.len()];
    for key in spec.key.attributes() {
        // All keys of a table have one type: only texts differ in shape.
        let texts = rows.iter().map(|item| item.get(&key.name).and_then(Value::as_str));
        let of_key: Vec<String> = texts
            .map(|text| text.map_or_else(String::new, |text| text_shape(text, delimiter)))
            .collect();
        let distinct: BTreeSet<&String> = of_key.iter().collect();
        let is_told = distinct.len() <= LABELS_MAX;
        for (shape, own) in shapes.iter_mut().zip(of_key) {
            shape.push(if is_told { own } else { String::new() });
        }
    }
    shapes
}

fn text_shape(text: &str, delimiter: char) -> String {
    let tokens: Vec<&str> = text.split(delimiter).collect();
    let mut shape = String::new();
    for (at, token) in tokens.iter().enumerate().filter(|(at, _)| at % 2 == 0) {
        let leads = at == 0 && tokens.len() > 1 && !token.is_empty() && is_plain_label(token);
        let is_label = is_upper_label(token) && is_plain_label(token) || is_generic(token) || leads;
        // After a value another may stand, and only capitals are told from it.
        if !is_label {
            break;
        }
        shape.push_str(token);
        shape.push(delimiter);
    }
    shape
}

/// Items by the words that label their keys.
type Shaped<'a> = BTreeMap<Vec<String>, Vec<&'a Item>>;

/// Puts items together whose keys differ in one word and that have the same attributes: the word is a value of theirs, as the slot of a day or
/// the name of a user, if an attribute says the same or if it is not written as labels are.
fn without_values<'a>(spec: &TableSpec, delimiter: char, mut groups: Shaped<'a>) -> Shaped<'a> {
    for key in 0..spec.key.attributes().count() {
        let widest = groups
            .keys()
            .filter_map(|shape| Some(shape.get(key)?.split(delimiter).count()))
            .max();
        for at in 0..widest.unwrap_or(0) {
            let mut families: BTreeMap<(Vec<String>, BTreeSet<String>), Shaped<'a>> = BTreeMap::new();
            for (shape, items) in groups {
                let cut = shape.get(key).and_then(|shape| without_word(shape, at, delimiter));
                let mut family = shape.clone();
                if let (Some(cut), Some(place)) = (cut, family.get_mut(key)) {
                    *place = cut;
                }
                let names = usual_names(&items);
                families.entry((family, names)).or_default().insert(shape, items);
            }
            groups = BTreeMap::new();
            for ((family, names), members) in families {
                match is_of_values(&members, &names, (key, at), delimiter) {
                    true => {
                        let items = members.into_values().flatten();
                        groups.entry(family).or_default().extend(items);
                    }
                    false => groups.extend(members),
                }
            }
        }
    }
    groups
}

/// A shape as it is before one of its words, if it has that.
fn without_word(shape: &str, at: usize, delimiter: char) -> Option<String> {
    let words: Vec<&str> = shape.split_terminator(delimiter).collect();
    let before = words.get(..at).filter(|_| at < words.len())?;
    Some(before.iter().map(|word| format!("{word}{delimiter}")).collect())
}

/// Whether the word in which some shapes differ is a value of their items, which have these attributes.
fn is_of_values(members: &Shaped<'_>, names: &BTreeSet<String>, (key, at): (usize, usize), delimiter: char) -> bool {
    let word = |shape: &[String]| shape.get(key)?.split(delimiter).nth(at).map(str::to_owned);
    let is_written_so = |word: String| !word.is_empty() && !is_upper_label(&word) && !is_generic(&word);
    if members.len() < 2 {
        return false;
    }
    if members.keys().all(|shape| word(shape).is_some_and(is_written_so)) {
        return true;
    }
    names.iter().any(|name| {
        members.iter().all(|(shape, items)| {
            let word = word(shape);
            let same = items
                .iter()
                .filter(|item| item.get(name).and_then(Value::as_str) == word.as_deref());
            same.count() * 100 >= items.len() * SHAPED_PERCENT_MIN
        })
    })
}

/// The attributes that most items have.
fn usual_names(items: &[&Item]) -> BTreeSet<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for name in items.iter().flat_map(|item| item.keys()) {
        *counts.entry(name).or_default() += 1;
    }
    let usual = counts.into_iter().filter(|(_, count)| count * 2 > items.len());
    usual.map(|(name, _)| name.clone()).collect()
}

/// The attribute that all rows have and that tells their kinds apart, as their keys do.
fn type_attribute(spec: &TableSpec, rows: &[&Item], shapes: &[Vec<String>]) -> Option<String> {
    let first = rows.first()?;
    let is_key = |name: &str| spec.key_attributes().iter().any(|key| key.name == name);
    let is_named_so = |name: &str| {
        let plain = plain_word(name);
        ["type", "kind", "entity", "typename", "edbe", "et"]
            .iter()
            .any(|word| plain == *word)
            || [
                "entitytype",
                "itemtype",
                "recordtype",
                "rowtype",
                "objecttype",
                "entityname",
                "doctype",
            ]
            .contains(&plain.as_str())
    };
    let distinct_shapes: BTreeSet<&Vec<String>> = shapes.iter().collect();
    let names = first.keys().filter(|name| !is_key(name) && is_named_so(name));
    let mut found: Vec<&String> = names
        .filter(|name| {
            let mut kinds: BTreeMap<&str, BTreeMap<&Vec<String>, usize>> = BTreeMap::new();
            for (item, shape) in rows.iter().zip(shapes) {
                let Some(told) = item
                    .get(*name)
                    .and_then(Value::as_str)
                    .filter(|told| is_entity_name(told))
                else {
                    return false;
                };
                *kinds.entry(told).or_default().entry(shape).or_default() += 1;
                if kinds.len() > TYPES_MAX {
                    return false;
                }
            }
            let is_shaped = |shapes: &BTreeMap<&Vec<String>, usize>| {
                let all: usize = shapes.values().sum();
                shapes.values().max().copied().unwrap_or(0) * 100 >= all * SHAPED_PERCENT_MIN
            };
            let is_of_library = LIBRARY_TYPES.contains(&name.as_str());
            is_of_library || (kinds.len() <= distinct_shapes.len() && kinds.values().all(is_shaped))
        })
        .collect();
    found.sort_by_key(|name| name.len());
    found.last().map(|name| (*name).clone())
}

fn is_entity_name(text: &str) -> bool {
    is_identifier(text) && text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.len() <= 64
}

/// A name of the words that label a kind's keys.
fn name_of(shape: &[String]) -> String {
    let labels = shape.iter().map(|shape| {
        let words = shape.split(|letter: char| !letter.is_ascii_alphabetic());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    let labels: Vec<Vec<String>> = labels.collect();
    let of_sort = labels
        .get(1)
        .and_then(|labels| labels.iter().rev().find(|label| !is_generic(label)));
    let of_partition = labels.first().and_then(|labels| labels.last());
    let label = of_sort.or(of_partition).map_or("Item", String::as_str);
    let mut letters = label.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first
        .into_iter()
        .chain(letters.map(|letter| letter.to_ascii_lowercase()))
        .collect()
}

fn unlike(known: &mut BTreeSet<String>, name: &str) -> String {
    let numbered = (2_usize..).map(|number| format!("{name}{number}"));
    let mut free = std::iter::once(name.to_owned()).chain(numbered);
    let found = free.find(|name| !known.contains(name)).unwrap_or_default();
    known.insert(found.clone());
    found
}
