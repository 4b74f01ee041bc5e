//! An entity for a kind, before it is held against the items.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::Value;
use singlet_item::key::Delimiter;
use singlet_model::Source;
use singlet_store::{IndexSpec, KeyAttribute, KeyType, TableSpec};

use crate::attributes::{TypeText, enum_members, is_one_value, type_of};
use crate::kinds::Kind;
use crate::part_forms::{PartForm, folded_name};
use crate::templates::{Column, Columns, DraftPart, KeySource, is_identifier, plain_word};

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
    /// What it is computed of.
    pub is: Option<String>,
}

/// What the templates of a kind say of its attributes.
#[derive(Default)]
struct PartNotes {
    /// The digits of numbers.
    padded: BTreeMap<String, usize>,
    /// The members of enums, by rank.
    ranked: BTreeMap<String, Vec<String>>,
    /// What stands in keys in lower case, delimiters as they are.
    folded: BTreeSet<String>,
}

impl PartNotes {
    fn note(&mut self, parts: &[DraftPart]) {
        for part in parts {
            match part {
                DraftPart::Attribute(name, PartForm::Padded(width) | PartForm::PaddedDesc(width)) => {
                    self.padded.insert(name.clone(), *width);
                }
                DraftPart::Attribute(name, PartForm::RawLower) => {
                    self.folded.insert(name.clone());
                }
                DraftPart::Ranked(name, members) => {
                    self.ranked.insert(name.clone(), members.clone());
                }
                DraftPart::Attribute(..) | DraftPart::Text(_) | DraftPart::Unknown(..) => {}
            }
        }
    }
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
        // Keys that look like attributes may stand in other keys, as the instant of an index does.
        let like_attributes = key_columns
            .iter()
            .filter(|(name, column)| self.is_like_attribute(name, column));
        columns.extend(like_attributes.map(|(name, column)| ((*name).to_owned(), column.clone())));
        let mut drafted = DraftedKeys::default();
        let mut key_only: BTreeMap<String, Vec<Option<Value>>> = BTreeMap::new();
        for key in self.spec.key.attributes() {
            let column = key_columns.get(key.name.as_str());
            columns.remove(&key.name);
            let parts = column
                .filter(|_| key.key_type == KeyType::String && effort < Effort::OwnKeys)
                .filter(|_| !drafted.referred.contains(&key.name))
                .and_then(|column| {
                    Some((
                        column,
                        self.source(&columns, &words).key_template(&texts(column), true)?,
                    ))
                })
                .filter(|(column, parts)| is_better_than_own(column, parts))
                .map(|(_, parts)| named(parts, &key.name, &columns, &mut key_only));
            if parts.is_none() {
                columns.extend(column.map(|column| (key.name.clone(), column.clone())));
            }
            drafted.take(&key.name, parts);
        }
        entity.keys = drafted.templates.clone();
        let kept: Vec<(&String, Column<'_>)> = key_only
            .iter()
            .map(|(name, values)| (name, values.iter().map(Option::as_ref).collect()))
            .collect();
        columns.extend(kept.into_iter().map(|(name, column)| (name.clone(), column)));
        for index in &self.spec.indexes {
            for key in self.own_keys(index) {
                self.index_key((key, &key_columns), (&mut columns, &words), effort, &mut drafted);
            }
            let is_there =
                |key: &&KeyAttribute| columns.contains_key(&key.name) || drafted.template(&key.name).is_some();
            if self.own_keys(index).any(|key| is_there(&key)) {
                let templates = self.own_keys(index).filter_map(|key| drafted.template(&key.name));
                entity.indexes.push((index.name.clone(), templates.cloned().collect()));
            }
        }
        let notes = drafted.notes;
        for (name, column) in &columns {
            // What stands in a key alone has a name of our own, which does not tell whether it tells of a person.
            let is_key_only = key_only.contains_key(name);
            let mut attribute = attribute((name, is_key_only), column, effort, &notes);
            // What expires rows is an instant, whatever else its numbers could be.
            if self.spec.ttl.as_ref() == Some(stored.get(name).unwrap_or(name)) {
                attribute.ty = TypeText::plain_type("seconds");
            }
            attribute.stored = stored.get(name).cloned();
            entity.attributes.insert(name.clone(), attribute);
        }
        for name in &notes.folded {
            let folded = folded_attribute(name, entity.attributes.get(name).is_some_and(|own| own.optional));
            entity.attributes.entry(folded_name(name)).or_insert(folded);
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

    /// The key attributes of an index that are not the table's.
    fn own_keys<'s>(&'s self, index: &'s IndexSpec) -> impl Iterator<Item = &'s KeyAttribute> {
        let is_of_table = |name: &str| self.spec.key.attributes().any(|key| key.name == name);
        index.key.attributes().filter(move |key| !is_of_table(&key.name))
    }

    /// A key attribute of an index becomes a template, or stays an attribute; neither, where no item has it.
    fn index_key<'a>(
        &self,
        (key, key_columns): (&KeyAttribute, &BTreeMap<&str, Column<'a>>),
        (columns, words): (&mut Columns<'a>, &[String]),
        effort: Effort,
        drafted: &mut DraftedKeys,
    ) {
        if drafted.is_taken(&key.name) {
            return;
        }
        columns.remove(&key.name);
        let column = key_columns.get(key.name.as_str());
        let Some(column) = column.filter(|column| column.iter().any(Option::is_some)) else {
            return;
        };
        let parts = (key.key_type == KeyType::String && effort < Effort::OwnIndexKeys)
            .then(|| self.source(columns, words).key_template(&texts(column), false))
            .flatten()
            .filter(|_| !drafted.referred.contains(&key.name))
            .filter(|parts| is_always_there(parts, columns, column));
        if parts.is_none() {
            columns.insert(key.name.clone(), column.clone());
        }
        drafted.take(&key.name, parts);
    }

    /// Whether a key is an attribute that is read by itself, by its name and its values.
    fn is_like_attribute(&self, name: &str, column: &Column<'_>) -> bool {
        let plain = plain_word(name);
        let is_made = ["pk", "sk", "hash", "range", "key"]
            .iter()
            .any(|end| plain.ends_with(end));
        let mut values = column.iter().flatten().filter_map(|value| value.as_str());
        !is_made && !values.any(|text| text.contains(self.delimiter.character()))
    }
}

/// The keys of a kind, as far as they were looked at.
#[derive(Default)]
struct DraftedKeys {
    templates: Templates,
    /// Keys that are attributes.
    own: BTreeSet<String>,
    /// Attributes that templates have in them.
    referred: BTreeSet<String>,
    notes: PartNotes,
}

impl DraftedKeys {
    fn take(&mut self, name: &str, parts: Option<Vec<DraftPart>>) {
        let Some(parts) = parts else {
            self.own.insert(name.to_owned());
            return;
        };
        self.notes.note(&parts);
        self.referred
            .extend(parts.iter().filter_map(DraftPart::attribute).cloned());
        self.templates.push((name.to_owned(), template_text(&parts)));
    }

    fn is_taken(&self, name: &str) -> bool {
        self.own.contains(name) || self.template(name).is_some()
    }

    fn template(&self, name: &str) -> Option<&(String, String)> {
        self.templates.iter().find(|(known, _)| known == name)
    }
}

/// Whether a template says more of a key than that it is an attribute. One without a word or an attribute does not, nor does what takes an
/// instant apart at its colons.
fn is_better_than_own(column: &Column<'_>, parts: &[DraftPart]) -> bool {
    let is_word = |text: &str| text.chars().any(char::is_alphanumeric);
    let says = |part: &DraftPart| matches!(part, DraftPart::Text(text) if is_word(text));
    let values: Vec<&Value> = column.iter().flatten().copied().collect();
    let has_attribute = parts.iter().any(|part| part.attribute().is_some());
    has_attribute || parts.iter().any(says) && !is_one_value(&values)
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
    let names: Vec<&String> = parts.iter().filter_map(DraftPart::attribute).collect();
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
        let (values, form) = match part {
            DraftPart::Text(text) => {
                label = text.clone();
                found.push(DraftPart::Text(text));
                continue;
            }
            DraftPart::Attribute(..) | DraftPart::Ranked(..) => {
                label.clear();
                found.push(part);
                continue;
            }
            DraftPart::Unknown(values, form) => (values, form),
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
        found.push(DraftPart::Attribute(name, form));
        label.clear();
    }
    found
}

fn template_text(parts: &[DraftPart]) -> String {
    let texts = parts.iter().map(|part| match part {
        DraftPart::Text(text) => text.clone(),
        DraftPart::Attribute(name, form) => form.shown(name),
        DraftPart::Ranked(name, _) => PartForm::Rank.shown(name),
        DraftPart::Unknown(..) => String::new(),
    });
    texts.collect()
}

fn attribute((name, key_only): (&str, bool), column: &Column<'_>, effort: Effort, notes: &PartNotes) -> DraftAttribute {
    let simple = effort >= Effort::SimpleTypes;
    let values: Vec<&Value> = column.iter().flatten().copied().collect();
    let digits = notes.padded.get(name).map(|width| "9".repeat(*width));
    DraftAttribute {
        ty: match (digits, notes.ranked.get(name)) {
            (Some(digits), _) => TypeText::Plain(format!("int 0..{digits}")),
            (None, Some(members)) => TypeText::Enum(members.clone()),
            (None, None) => {
                let members = (!simple && !key_only).then(|| enum_members(name, &values)).flatten();
                members.map_or_else(|| type_of(&values, simple), TypeText::Enum)
            }
        },
        optional: values.len() < column.len(),
        key_only,
        stored: None,
        is: None,
    }
}

/// An attribute that is another one in lower case.
fn folded_attribute(name: &str, optional: bool) -> DraftAttribute {
    DraftAttribute {
        ty: TypeText::plain_type("string"),
        optional,
        key_only: true,
        stored: None,
        is: Some(format!("lower({name})")),
    }
}
