//! An entity for a kind, before it is held against the items.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::Value;
use singlet_item::key::Delimiter;
use singlet_model::Source;
use singlet_store::{IndexSpec, KeyType, TableSpec};

use crate::attributes::{TypeText, type_of};
use crate::kinds::Kind;
use crate::templates::{Column, Columns, DraftPart, KeySource, PartForm, is_identifier, plain_word};

/// How much is tried of a kind; each holds less than the one before, and fits more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// Everything.
    Whole,
    /// Only types that DynamoDB itself has.
    SimpleTypes,
    /// And keys of indexes as attributes.
    OwnIndexKeys,
    /// And keys of the table as attributes.
    OwnKeys,
}

pub(crate) const EFFORTS: [Effort; 4] = [
    Effort::Whole,
    Effort::SimpleTypes,
    Effort::OwnIndexKeys,
    Effort::OwnKeys,
];

/// Key attributes, each with the text of its template.
type Templates = Vec<(String, String)>;

/// An attribute of a drafted entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftAttribute {
    pub ty: TypeText,
    pub optional: bool,
    /// Whether it stands in the key alone.
    pub key_only: bool,
    /// Its name in items, where the language has another use for that.
    pub stored: Option<String>,
}

/// A drafted entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftEntity {
    pub name: String,
    pub attributes: BTreeMap<String, DraftAttribute>,
    /// Key attributes with their templates; those that are attributes themselves are not among them.
    pub keys: Templates,
    /// Indexes with the same; one without templates has keys that are attributes.
    pub indexes: Vec<(String, Templates)>,
}

/// What is known of the table while its kinds are drafted.
pub(crate) struct Drafting<'s> {
    pub spec: &'s TableSpec,
    pub delimiter: Delimiter,
    pub type_attribute: Option<&'s str>,
}

impl Drafting<'_> {
    pub(crate) fn draft_entity(&self, kind: &Kind<'_>, effort: Effort) -> DraftEntity {
        let (mut columns, stored) = self.columns(kind);
        let words = self.words(kind, &columns);
        let mut entity = DraftEntity {
            name: kind.name.clone(),
            attributes: BTreeMap::new(),
            keys: Vec::new(),
            indexes: Vec::new(),
        };
        let key_columns = self.key_columns(kind);
        let mut padded: BTreeMap<String, usize> = BTreeMap::new();
        let mut key_only: BTreeMap<String, Vec<Option<Value>>> = BTreeMap::new();
        let mut own: BTreeSet<&str> = BTreeSet::new();
        for key in self.spec.key.attributes() {
            let column = key_columns.get(key.name.as_str());
            let source = self.source(&columns, &words);
            let parts = column
                .filter(|_| key.key_type == KeyType::String && effort < Effort::OwnKeys)
                .and_then(|column| source.key_template(&texts(column), true))
                .filter(|parts| !matches!(parts.as_slice(), [DraftPart::Unknown(_)] | []));
            match parts {
                Some(parts) => {
                    let parts = named(parts, &key.name, &columns, &mut key_only);
                    note_padded(&parts, &mut padded);
                    entity.keys.push((key.name.clone(), template_text(&parts)));
                }
                None => {
                    own.insert(&key.name);
                }
            }
        }
        let kept: Vec<(&String, Column<'_>)> = key_only
            .iter()
            .map(|(name, values)| (name, values.iter().map(Option::as_ref).collect()))
            .collect();
        columns.extend(kept.into_iter().map(|(name, column)| (name.clone(), column)));
        for index in &self.spec.indexes {
            let source = self.source(&columns, &words);
            let drafted = self.index(index, &source, &key_columns, effort, &mut padded);
            let Some((templates, own_keys)) = drafted else { continue };
            own.extend(own_keys);
            entity.indexes.push((index.name.clone(), templates));
        }
        columns.extend(
            key_columns
                .into_iter()
                .filter(|(name, _)| own.contains(name))
                .map(|(name, column)| (name.to_owned(), column)),
        );
        for (name, column) in &columns {
            let mut attribute = attribute(name, column, effort, padded.get(name).copied());
            // What expires rows is an instant, whatever else its numbers could be.
            if self.spec.ttl.as_ref() == Some(stored.get(name).unwrap_or(name)) {
                attribute.ty = TypeText::plain_type("seconds");
            }
            attribute.key_only = key_only.contains_key(name);
            attribute.stored = stored.get(name).cloned();
            entity.attributes.insert(name.clone(), attribute);
        }
        entity
    }

    fn source<'c, 'a>(&self, columns: &'c Columns<'a>, words: &'c [String]) -> KeySource<'c, 'a> {
        KeySource {
            columns,
            delimiter: self.delimiter,
            words,
        }
    }

    /// Every attribute that is no key of the table or an index, and not what names the kind; and those names in items that cannot name
    /// an attribute of a model, by the names that they get instead.
    fn columns<'a>(&self, kind: &Kind<'a>) -> (Columns<'a>, BTreeMap<String, String>) {
        let keys = self.spec.key_attributes();
        let is_apart = |name: &str| {
            keys.iter().any(|key| key.name == name) || self.type_attribute == Some(name) || name.starts_with('$')
        };
        let names: BTreeSet<&String> = kind
            .items
            .iter()
            .flat_map(|item| item.keys())
            .filter(|name| !is_apart(name))
            .collect();
        let mut stored = BTreeMap::new();
        let column = |name: &String| kind.items.iter().map(|item| item.get(name)).collect();
        let columns = names.iter().map(|name| {
            let is_taken = |other: &str| names.iter().any(|name| *name == other) || stored.contains_key(other);
            let free = free_name(name, is_taken);
            if free != **name {
                stored.insert(free.clone(), (*name).clone());
            }
            (free, column(name))
        });
        let columns = columns.collect();
        (columns, stored)
    }

    fn key_columns<'a, 's>(&'s self, kind: &Kind<'a>) -> BTreeMap<&'s str, Column<'a>> {
        let keys = self.spec.key_attributes().into_iter();
        keys.map(|key| {
            (
                key.name.as_str(),
                kind.items.iter().map(|item| item.get(&key.name)).collect(),
            )
        })
        .collect()
    }

    /// Words that may label keys in any letter case.
    fn words(&self, kind: &Kind<'_>, columns: &Columns<'_>) -> Vec<String> {
        let names = columns
            .keys()
            .map(String::as_str)
            .chain([kind.name.as_str(), self.spec.name.as_str()]);
        let plain = names.map(plain_word);
        let plural = plain.clone().map(|word| format!("{word}s"));
        plain.chain(plural).filter(|word| word.len() > 1).collect()
    }

    /// The templates of an index, and its key attributes that are attributes; none where no item is in it.
    fn index<'s>(
        &'s self,
        index: &'s IndexSpec,
        source: &KeySource<'_, '_>,
        key_columns: &BTreeMap<&'s str, Column<'_>>,
        effort: Effort,
        padded: &mut BTreeMap<String, usize>,
    ) -> Option<(Templates, Vec<&'s str>)> {
        let is_of_table = |name: &str| self.spec.key.attributes().any(|key| key.name == name);
        let own_keys = index.key.attributes().filter(|key| !is_of_table(&key.name));
        let (mut templates, mut own) = (Vec::new(), Vec::new());
        for key in own_keys {
            let column = key_columns.get(key.name.as_str())?;
            if column.iter().all(Option::is_none) {
                continue;
            }
            let parts = (key.key_type == KeyType::String && effort < Effort::OwnIndexKeys)
                .then(|| source.key_template(&texts(column), false))
                .flatten()
                .filter(|parts| is_always_there(parts, source.columns, column));
            match parts {
                Some(parts) => {
                    note_padded(&parts, padded);
                    templates.push((key.name.clone(), template_text(&parts)));
                }
                None => own.push(key.name.as_str()),
            }
        }
        (!templates.is_empty() || !own.is_empty()).then_some((templates, own))
    }
}

/// A name as an attribute of a model has it: one that means something in expressions, or is none, becomes another.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if is_attribute_name(name) {
        return name.to_owned();
    }
    let letters = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let letters: String = letters.collect();
    let word = format!("{}_value", letters.trim_matches('_'));
    let word = if is_attribute_name(&word) {
        word
    } else {
        "value".to_owned()
    };
    let numbered = (2_usize..).map(|number| format!("{word}_{number}"));
    let mut names = std::iter::once(word.clone()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// Whether the language takes a name for an attribute.
fn is_attribute_name(name: &str) -> bool {
    let name = serde_json::to_string(name).unwrap_or_default();
    let text = format!(
        "singlet: 1\nname: probe\ntable: {{name: probe, key: {{partition: \"$probe\"}}, type: none}}\nentities:\n  Probe:\n    attributes: {{{name}: json, \
         probe_key: string}}\n    key: {{$probe: \"{{probe_key}}\"}}\n"
    );
    let found = singlet_model::load_source(&Source::new("model.yaml", text)).diagnostics;
    !found.has_errors()
}

fn texts<'a>(column: &Column<'a>) -> Vec<Option<&'a str>> {
    column.iter().map(|value| value.and_then(Value::as_str)).collect()
}

/// Whether items that have all parts of a key have the key: else the template would put more of them into the index.
fn is_always_there(parts: &[DraftPart], columns: &Columns<'_>, keys: &Column<'_>) -> bool {
    let names: Vec<&String> = parts
        .iter()
        .filter_map(|part| match part {
            DraftPart::Attribute(name, _) => Some(name),
            DraftPart::Text(_) | DraftPart::Unknown(_) => None,
        })
        .collect();
    let has_all = |at: usize| {
        let mut columns = names.iter().map(|name| columns.get(*name));
        columns.all(|column| column.and_then(|column| column.get(at)).is_some_and(Option::is_some))
    };
    let strays = keys
        .iter()
        .enumerate()
        .filter(|(at, key)| key.is_none() && has_all(*at))
        .count();
    strays == 0
}

fn note_padded(parts: &[DraftPart], padded: &mut BTreeMap<String, usize>) {
    for part in parts {
        if let DraftPart::Attribute(name, PartForm::Padded(width)) = part {
            padded.insert(name.clone(), *width);
        }
    }
}

/// Parts that stand in the key alone become attributes: one that is there already, or a new one, named after the label before it.
fn named(
    parts: Vec<DraftPart>,
    key: &str,
    columns: &Columns<'_>,
    key_only: &mut BTreeMap<String, Vec<Option<Value>>>,
) -> Vec<DraftPart> {
    let mut label = String::new();
    let mut found = Vec::with_capacity(parts.len());
    for part in parts {
        let values = match part {
            DraftPart::Text(text) => {
                label = text.clone();
                found.push(DraftPart::Text(text));
                continue;
            }
            DraftPart::Attribute(..) => {
                label.clear();
                found.push(part);
                continue;
            }
            DraftPart::Unknown(values) => values,
        };
        let values: Vec<Option<Value>> = values.into_iter().map(|value| value.map(Value::S)).collect();
        let known = key_only
            .iter()
            .find(|(_, known)| **known == values)
            .map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let words = label
                .split(|letter: char| !letter.is_ascii_alphanumeric())
                .rfind(|word| !word.is_empty());
            let word = words.map_or_else(
                || format!("{}_part", key.to_lowercase()),
                |word| format!("{}_id", word.to_lowercase()),
            );
            let word = if is_identifier(&word) { word } else { "part".to_owned() };
            let is_free = |name: &String| !columns.contains_key(name) && !key_only.contains_key(name);
            let numbered = (2_usize..).map(|number| format!("{word}_{number}"));
            std::iter::once(word.clone())
                .chain(numbered)
                .find(is_free)
                .unwrap_or_default()
        });
        key_only.insert(name.clone(), values);
        found.push(DraftPart::Attribute(name, PartForm::Plain));
        label.clear();
    }
    found
}

fn template_text(parts: &[DraftPart]) -> String {
    let texts = parts.iter().map(|part| match part {
        DraftPart::Text(text) => text.clone(),
        DraftPart::Attribute(name, form) => match form {
            PartForm::Plain | PartForm::Padded(_) => format!("{{{name}}}"),
            PartForm::Raw => format!("{{raw({name})}}"),
            PartForm::Lower => format!("{{lower({name})}}"),
            PartForm::Upper => format!("{{upper({name})}}"),
            PartForm::Day => format!("{{day({name})}}"),
            PartForm::Month => format!("{{month({name})}}"),
            PartForm::Year => format!("{{year({name})}}"),
        },
        DraftPart::Unknown(_) => String::new(),
    });
    texts.collect()
}

fn attribute(name: &str, column: &Column<'_>, effort: Effort, padded: Option<usize>) -> DraftAttribute {
    let values: Vec<&Value> = column.iter().flatten().copied().collect();
    let digits = padded.map(|width| "9".repeat(width));
    DraftAttribute {
        ty: match digits {
            Some(digits) => TypeText::Plain(format!("int 0..{digits}")),
            None => type_of(name, &values, effort >= Effort::SimpleTypes),
        },
        optional: values.len() < column.len(),
        key_only: false,
        stored: None,
    }
}
