//! What was called otherwise before: the `was:` of the new model, and the new face in the old one's words.

use std::collections::BTreeMap;

use singlet_face::{AttributeFace, ChoiceFace, EntityFace, Face, TypeFace};
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, Stored};
use singlet_model::types::Type;

/// Something that has another name now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Renamed {
    /// An entity: the new name, the old one.
    Entity(String, String),
    /// An attribute of an entity, both by the names under which they are stored.
    Attribute(String, String, String),
    /// A member of the enum that an attribute has: entity, attribute, new, old.
    Member(String, String, String, String),
    /// A guard of an entity.
    Guard(String, String, String),
}

/// What was renamed, and the new face as if nothing had been.
pub(crate) struct Aligned {
    /// The new face by old names.
    pub face: Face,
    /// What was renamed, of things that the old face has.
    pub renamed: Vec<Renamed>,
    /// The new names of entities, by the old ones.
    pub entities: BTreeMap<String, String>,
}

/// Under which name an attribute is stored.
pub(crate) fn stored_name(attribute: &Attribute) -> &str {
    match &attribute.stored {
        Stored::As(name) => name,
        Stored::Own | Stored::No => &attribute.name,
    }
}

/// Takes the renames of the new model out of its face. What the old face does not have was not renamed.
pub(crate) fn align_names(wrote: &Face, new: &Face, old_model: Option<&Model>, model: &Model) -> Aligned {
    let mut face = new.clone();
    let mut renamed = Vec::new();
    let mut entities = BTreeMap::new();
    for entity in &model.entities {
        let was = entity.was.as_ref().map(|was| was.text.as_str());
        let was = was.filter(|was| wrote.entities.contains_key(*was) && !wrote.entities.contains_key(&entity.name));
        if let Some(was) = was {
            renamed.push(Renamed::Entity(entity.name.clone(), was.to_owned()));
            entities.insert(was.to_owned(), entity.name.clone());
        }
    }
    for entity in &model.entities {
        let known_as = entities.iter().find(|(_, name)| **name == entity.name);
        let old_name = known_as.map_or(entity.name.as_str(), |(was, _)| was.as_str());
        let Some(wrote) = wrote.entities.get(old_name) else {
            continue;
        };
        let Some(mut own) = face.entities.remove(&entity.name) else {
            continue;
        };
        let old_entity = old_model.and_then(|model| model.entity_named(old_name));
        align_entity(model, entity, (wrote, old_entity), &mut own, &mut renamed);
        face.entities.insert(old_name.to_owned(), own);
    }
    for (was, is) in &entities {
        for entity in face.entities.values_mut() {
            if entity.mirrors.as_deref() == Some(is) {
                entity.mirrors = Some(was.clone());
            }
            for attribute in entity.attributes.values_mut() {
                attribute.copies = attribute.copies.as_ref().map(|text| word_replaced(text, is, was));
            }
        }
    }
    Aligned {
        face,
        renamed,
        entities,
    }
}

fn align_entity(
    model: &Model,
    entity: &Entity,
    (wrote, old_entity): (&EntityFace, Option<&Entity>),
    own: &mut EntityFace,
    renamed: &mut Vec<Renamed>,
) {
    let source = model.source_of(entity);
    let mut pairs: Vec<(String, String)> = Vec::new();
    for attribute in &entity.attributes {
        // A mirror's attributes are its source's, which says what they were.
        let said = source.attribute(&attribute.name).unwrap_or(attribute);
        // What has the same name is the same, though it is stored under another.
        let was = said
            .was
            .as_ref()
            .map_or(attribute.name.as_str(), |was| was.text.as_str());
        let old = old_entity.and_then(|entity| entity.attribute(was));
        let was = old.map_or(was, stored_name);
        let is = stored_name(attribute);
        if was != is && wrote.attributes.contains_key(was) && !wrote.attributes.contains_key(is) {
            pairs.push((is.to_owned(), was.to_owned()));
        }
    }
    for attribute in &entity.attributes {
        let stored = stored_name(attribute);
        let mut members = Vec::new();
        member_renames(&attribute.ty, &mut members);
        let was = pairs.iter().find(|(is, _)| is == stored);
        let was = was.map_or(stored, |(_, was)| was.as_str());
        let old_type = wrote.attributes.get(was).map(|attribute| &attribute.ty);
        members.retain(|(_, was)| old_type.is_some_and(|ty| has_member(ty, was)));
        members.retain(|(is, _)| old_type.is_some_and(|ty| !has_member(ty, is)));
        if let Some(face) = own.attributes.get_mut(stored) {
            members
                .iter()
                .for_each(|(is, was)| rename_member(&mut face.ty, is, was));
        }
        for (is, was) in &members {
            // Where a rank is in the key, the word itself is not.
            rename_in_keys(own, |text| rank_member_replaced(text, stored, is, was));
            let renaming = Renamed::Member(entity.name.clone(), stored.to_owned(), is.clone(), was.clone());
            renamed.push(renaming);
        }
    }
    for (is, was) in pairs {
        rename_attribute(own, &is, &was);
        renamed.push(Renamed::Attribute(entity.name.clone(), is, was));
    }
    for guard in &entity.unique {
        let was = guard.was.as_ref().map(|was| was.text.as_str());
        let was = was.filter(|was| wrote.unique.contains_key(*was) && !wrote.unique.contains_key(&guard.name));
        let Some(was) = was else { continue };
        if let Some(value) = own.unique.remove(&guard.name) {
            own.unique.insert(was.to_owned(), value);
            let renaming = Renamed::Guard(entity.name.clone(), guard.name.clone(), was.to_owned());
            renamed.push(renaming);
        }
    }
}

/// The members that had other names, of a type and what it is made of: new, old.
fn member_renames(ty: &Type, found: &mut Vec<(String, String)>) {
    match ty {
        Type::Enum(words) => found.extend(words.were.iter().cloned()),
        Type::List(element, _) | Type::Set(element, _) | Type::Map(element, _) | Type::OrWords(element, _) => {
            member_renames(element, found);
        }
        Type::Object(object) | Type::Geo(Some(object)) => {
            object.fields.iter().for_each(|field| member_renames(&field.ty, found));
        }
        _ => {}
    }
}

fn has_member(ty: &TypeFace, word: &str) -> bool {
    match ty {
        TypeFace::Enum(words) => words.iter().any(|known| known == word),
        TypeFace::Many(_, element, _) | TypeFace::OrWords(element, _) => has_member(element, word),
        TypeFace::Object(fields) | TypeFace::Place(fields) => fields.iter().any(|(_, ty, _)| has_member(ty, word)),
        TypeFace::Text(..) | TypeFace::Number(_) | TypeFace::Simple(_) | TypeFace::Bytes(_) => false,
    }
}

fn rename_member(ty: &mut TypeFace, is: &str, was: &str) {
    match ty {
        TypeFace::Enum(words) => words
            .iter_mut()
            .filter(|word| *word == is)
            .for_each(|word| was.clone_into(word)),
        TypeFace::Many(_, element, _) | TypeFace::OrWords(element, _) => rename_member(element, is, was),
        TypeFace::Object(fields) | TypeFace::Place(fields) => {
            fields.iter_mut().for_each(|(_, ty, _)| rename_member(ty, is, was));
        }
        TypeFace::Text(..) | TypeFace::Number(_) | TypeFace::Simple(_) | TypeFace::Bytes(_) => {}
    }
}

fn rename_attribute(entity: &mut EntityFace, is: &str, was: &str) {
    if let Some(face) = entity.attributes.remove(is) {
        entity.attributes.insert(was.to_owned(), face);
    }
    let word = |text: &String| word_replaced(text, is, was);
    rename_in_keys(entity, |text| encoder_replaced(text, is, was));
    let choices = entity.key.iter_mut().chain(entity.indexes.values_mut().flatten());
    choices.for_each(|choice: &mut ChoiceFace| choice.when = choice.when.as_ref().map(word));
    entity.unique.values_mut().for_each(|value| *value = word(value));
    entity.expires = entity.expires.as_ref().map(word);
    if let Some(names) = &mut entity.history {
        names
            .iter_mut()
            .filter(|name| *name == is)
            .for_each(|name| was.clone_into(name));
    }
    for face in entity.attributes.values_mut() {
        let AttributeFace {
            is: computed,
            copies,
            derived,
            ..
        } = face;
        for text in [computed, copies, derived] {
            *text = text.as_ref().map(word);
        }
    }
}

fn rename_in_keys(entity: &mut EntityFace, replaced: impl Fn(&str) -> String) {
    let choices = entity.key.iter_mut().chain(entity.indexes.values_mut().flatten());
    for encoder in choices.flat_map(|choice| choice.keys.values_mut()) {
        *encoder = replaced(encoder);
    }
}

/// The members in `rank(status) of open done`, with one of them by its old name.
fn rank_member_replaced(encoder: &str, attribute: &str, is: &str, was: &str) -> String {
    match encoder.contains(&format!("rank({attribute}) of ")) {
        true => encoder_replaced(encoder, is, was),
        false => encoder.to_owned(),
    }
}

/// An encoder in whose parts one word is another; what stands between them is text of the key itself.
fn encoder_replaced(encoder: &str, is: &str, was: &str) -> String {
    let mut out = String::new();
    let mut rest = encoder;
    while let Some((text, after)) = rest.split_once('{') {
        out.push_str(text);
        out.push('{');
        if let Some(literal) = after.strip_prefix('{') {
            out.push('{');
            rest = literal;
            continue;
        }
        let (part, behind) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(&word_replaced(part, is, was));
        out.push_str(after.get(part.len()..after.len() - behind.len()).unwrap_or_default());
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// A text in which one word is another, outside of quotes.
pub(crate) fn word_replaced(text: &str, is: &str, was: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let flush = |word: &mut String, out: &mut String, quoted: bool| {
        let known = !quoted && word.as_str() == is;
        out.push_str(if known { was } else { word });
        word.clear();
    };
    for char in text.chars() {
        if char.is_alphanumeric() || char == '_' {
            word.push(char);
            continue;
        }
        flush(&mut word, &mut out, quote.is_some());
        quote = match quote {
            Some(open) if open == char => None,
            None if char == '"' || char == '\'' => Some(char),
            same => same,
        };
        out.push(char);
    }
    flush(&mut word, &mut out, quote.is_some());
    out
}

/// Whether a text of a formula has a word, in quotes or not: what cannot be told apart counts.
pub(crate) fn mentions_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
    words.any(|known| known == word) || text.contains(&format!("\"{word}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_whole_and_not_in_quotes() {
        assert_eq!(
            word_replaced("lower(mail) + mails + \"mail\"", "mail", "email"),
            "lower(email) + mails + \"mail\""
        );
        assert_eq!(
            encoder_replaced("mail#{mail}{{x#{lower(mail)}", "mail", "email"),
            "mail#{email}{{x#{lower(email)}"
        );
        assert!(mentions_word("row[\"State#Date\"] > 1", "State#Date") && !mentions_word("states", "state"));
    }
}
