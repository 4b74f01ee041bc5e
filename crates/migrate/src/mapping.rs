//! From a row of the old model to one of the new.

use std::collections::BTreeMap;

use singlet_face::{Lack, TypeFace};
use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::evaluate_as;
use singlet_model::expression::Expr;
use singlet_model::model::{Attribute, Entity, Stored};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Scope, row, values};

use crate::row_refusal::RowRefusal;

/// Two models, and what of the one has become what of the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelMap<'m> {
    pub old: &'m Model,
    pub new: &'m Model,
}

impl<'m> ModelMap<'m> {
    /// What an entity of the old model has become; none where it is gone.
    pub fn counterpart_of(&self, old: &Entity) -> Option<&'m Entity> {
        let was = |entity: &&Entity| entity.was.as_ref().is_some_and(|was| was.text == old.name);
        let renamed = self.new.entities.iter().find(was);
        renamed.or_else(|| self.new.entity_named(&old.name))
    }

    /// What keeps rows from being changed in this table at all.
    pub fn mapping_hindrances(&self) -> Vec<String> {
        let (old, new) = (&self.old.table, &self.new.table);
        let mut found = Vec::new();
        if old.name != new.name {
            found.push(format!(
                "the table is `{}`, and the new model's is `{}`",
                old.name, new.name
            ));
        }
        if self.old.name != self.new.name {
            found.push(format!(
                "the system is `{}`, and the new model's is `{}`",
                self.old.name, self.new.name
            ));
        }
        if old.type_attribute.is_some() && new.type_attribute.is_none() {
            found.push("rows would no longer say what they are, and could be taken for others".to_owned());
        }
        for entity in &self.old.entities {
            let Some(is) = self.counterpart_of(entity) else {
                continue;
            };
            if entity.mirror.is_some() != is.mirror.is_some() {
                found.push(format!(
                    "`{}` is a mirror in one of the models and not in the other",
                    is.name
                ));
            }
            if entity.role != is.role {
                found.push(format!(
                    "`{}` holds the records of requests in one of the models alone",
                    is.name
                ));
            }
            if entity.history.is_some() != is.history.is_some() {
                found.push(format!("`{}` has versions in one of the models alone", is.name));
            }
        }
        found
    }

    /// The row that a row of the old model becomes.
    pub fn mapped_row(
        &self,
        (old, new): (&Entity, &Entity),
        item: &Item,
        was: &Attributes,
        scope: Scope<'_>,
    ) -> Result<Attributes, RowRefusal> {
        let mut made = Attributes::new();
        let own = new.attributes.iter();
        let own: Vec<&Attribute> = own.filter(|one| one.alias.is_none() && one.is.is_none()).collect();
        for attribute in &own {
            match self.carried(old, attribute, item, was)? {
                Carried::Value(value) => {
                    made.insert(attribute.name.clone(), value);
                }
                Carried::Nothing => {}
            }
        }
        // A formula may build on what another one fills.
        for _ in 0..=own.len() {
            let mut has_grown = false;
            for attribute in own.iter().filter(|attribute| is_filled(old, attribute)) {
                if made.contains_key(&attribute.name) {
                    continue;
                }
                let whole = row::complete_row(new, made.clone(), scope)?;
                let Some(value) = filling(attribute, &whole, scope)? else {
                    continue;
                };
                made.insert(attribute.name.clone(), value);
                has_grown = true;
            }
            if !has_grown {
                break;
            }
        }
        Ok(made)
    }

    /// What a row has that the old model wrote.
    fn carried(
        &self,
        old: &Entity,
        attribute: &Attribute,
        item: &Item,
        was: &Attributes,
    ) -> Result<Carried, RowRefusal> {
        let source = source_of(old, attribute);
        let value = match source {
            Some(source) => was.get(&source.name).cloned(),
            // Rows of a model between the two may have it, though the old one does not know it.
            None => self.unknown_to_old(old, attribute, item),
        };
        let Some(mut value) = value else {
            return Ok(Carried::Nothing);
        };
        rename_members(&mut value, &attribute.ty);
        let is_other = source.is_some_and(|source| {
            let (old, new) = (TypeFace::of(&source.ty), TypeFace::of(&attribute.ty));
            is_other_meaning(&old, &new)
        });
        let misfit = match values::as_stored(&value, &attribute.ty) {
            Ok(_) if !is_other => return Ok(Carried::Value(value)),
            Ok(_) => "its value has another meaning in the new model".to_owned(),
            Err(invalid) => invalid.to_string(),
        };
        match (source, &attribute.fill) {
            (_, Some(_)) | (None, _) => Ok(Carried::Nothing),
            (Some(_), None) => Err(RowRefusal::Misfit {
                attribute: attribute.name.clone(),
                misfit,
            }),
        }
    }

    fn unknown_to_old(&self, old: &Entity, attribute: &Attribute, item: &Item) -> Option<Value> {
        let name = stored_name(attribute)?;
        if singlet_runtime::load::is_known(self.old, old, name) {
            return None;
        }
        let value = item.get(name).filter(|value| !value.is_null())?;
        values::as_stored(value, &attribute.ty).is_ok().then(|| value.clone())
    }

    /// The first attribute that a row of the new model has and this one lacks.
    pub fn missing_value(&self, new: &Entity, row: &Attributes) -> Option<String> {
        let needed = new.attributes.iter();
        let mut needed = needed.filter(|one| !one.optional && one.alias.is_none() && one.is.is_none());
        let lacks = needed.find(|attribute| !row.contains_key(&attribute.name))?;
        Some(lacks.name.clone())
    }

    /// The names of an old item that become something else or nothing, so that they are not kept as they are.
    pub fn accounted_names(&self, old: &Entity, new: &Entity) -> Vec<String> {
        let table = &self.old.table;
        let keys = table
            .key
            .iter()
            .chain(table.indexes.iter().flat_map(|index| index.key()));
        let mut names: Vec<String> = keys.map(|key| key.name.clone()).collect();
        names.extend(table.type_attribute.clone());
        names.extend(table.ttl.clone());
        for attribute in old.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
            let has_become = new.attributes.iter().any(|one| {
                let source = source_of(old, one);
                source.is_some_and(|source| source.name == attribute.name)
            });
            if has_become || attribute.is.is_some() {
                names.extend(stored_name(attribute).map(str::to_owned));
            }
        }
        names
    }
}

enum Carried {
    Value(Value),
    Nothing,
}

/// The attribute of the old entity that this one was.
pub(crate) fn source_of<'o>(old: &'o Entity, attribute: &Attribute) -> Option<&'o Attribute> {
    let was = attribute.was.as_ref().map(|was| was.text.as_str());
    let renamed = was.and_then(|was| old.attribute(was));
    let source = renamed.or_else(|| old.attribute(&attribute.name));
    source.filter(|source| source.alias.is_none())
}

/// Under which name an attribute stands in the item; none where it stands in keys alone.
pub(crate) fn stored_name(attribute: &Attribute) -> Option<&str> {
    match &attribute.stored {
        Stored::Own => Some(&attribute.name),
        Stored::As(name) => Some(name),
        Stored::No => None,
    }
}

/// Whether rows that lack it get a value. What was optional and is so still may be absent on purpose, though an earlier change
/// filled it.
fn is_filled(old: &Entity, attribute: &Attribute) -> bool {
    match source_of(old, attribute) {
        None => true,
        Some(source) => !attribute.optional || TypeFace::of(&source.ty) != TypeFace::of(&attribute.ty),
    }
}

fn filling(attribute: &Attribute, row: &Attributes, scope: Scope<'_>) -> Result<Option<Value>, RowRefusal> {
    let is_of_row = |default: &&Expr| default.is_of_row() && !default.is_absent();
    let default = attribute.default.as_ref().filter(|_| !attribute.optional);
    let expr = attribute.fill.as_ref().or(default.filter(is_of_row));
    if let Some(expr) = expr {
        let value = evaluate_as(expr, &attribute.ty, &scope.with_row(row));
        return value.map_err(|error| RowRefusal::Fill(attribute.name.clone(), error));
    }
    // A row without a version is as it was first written.
    let is_version = attribute.ty == Type::Version && !attribute.optional;
    Ok(is_version.then(|| Value::N(Number::from(1))))
}

/// Whether a value that both types have means something else.
fn is_other_meaning(old: &TypeFace, new: &TypeFace) -> bool {
    match (old, new) {
        (old, new) if old == new => false,
        (TypeFace::Simple(_), _) | (_, TypeFace::Simple(_)) => new.lack_of(old) == Some(Lack::Kind),
        (TypeFace::Many(_, old, _), TypeFace::Many(_, new, _))
        | (TypeFace::OrWords(old, _), TypeFace::OrWords(new, _)) => is_other_meaning(old, new),
        (TypeFace::Object(old) | TypeFace::Place(old), TypeFace::Object(new) | TypeFace::Place(new)) => {
            let known: BTreeMap<&str, &TypeFace> = old.iter().map(|(name, ty, _)| (name.as_str(), ty)).collect();
            let mut same = new
                .iter()
                .filter_map(|(name, ty, _)| Some((*known.get(name.as_str())?, ty)));
            same.any(|(old, new)| is_other_meaning(old, new))
        }
        _ => false,
    }
}

/// Members of enums by their new names.
fn rename_members(value: &mut Value, ty: &Type) {
    match (value, ty) {
        (Value::S(word), Type::Enum(words)) => {
            let renamed = words.were.iter().find(|(_, was)| was == word);
            if let Some((is, _)) = renamed {
                word.clone_from(is);
            }
        }
        (value, Type::OrWords(inner, _)) => rename_members(value, inner),
        (Value::L(elements), Type::List(element, _) | Type::Set(element, _)) => {
            elements.iter_mut().for_each(|value| rename_members(value, element));
        }
        (Value::Ss(words), Type::Set(element, _) | Type::List(element, _)) => {
            let renamed = words.iter().map(|word| {
                let mut value = Value::S(word.clone());
                rename_members(&mut value, element);
                value.as_str().unwrap_or(word).to_owned()
            });
            *words = renamed.collect();
        }
        (Value::M(entries), Type::Map(element, _)) => {
            entries.values_mut().for_each(|value| rename_members(value, element));
        }
        (Value::M(entries), Type::Object(object) | Type::Geo(Some(object))) => {
            for field in &object.fields {
                if let Some(value) = entries.get_mut(&field.name) {
                    rename_members(value, &field.ty);
                }
            }
        }
        _ => {}
    }
}
