//! Which attributes tell of a person: those that the model names, and what is made of them.
//!
//! What is computed from a personal value, copies it, or is declared with its type tells as much. `personal: false` says that one does not.

use super::Resolver;
use super::table::word_field;
use crate::model::{Attribute, Entity, Personal};
use crate::types::EntityId;

/// What the model says of an attribute.
#[derive(Clone, Copy)]
enum PersonalMark {
    Nothing,
    /// That it is not.
    Not,
    How(Personal),
}

impl Resolver<'_> {
    /// Finds how every attribute stands beside its table.
    pub(super) fn personal_attributes(&self, entities: &mut [Entity]) {
        let said: Vec<Vec<PersonalMark>> = entities.iter().map(|entity| self.said_of(entity)).collect();
        for (entity, said) in entities.iter_mut().zip(&said) {
            for (attribute, said) in entity.attributes.iter_mut().zip(said) {
                if let PersonalMark::How(personal) = said {
                    attribute.personal = Some(*personal);
                }
            }
        }
        // Each round but the last makes an attribute stricter, which each can become three times at most.
        while spread(entities, &said) {}
    }

    fn said_of(&self, entity: &Entity) -> Vec<PersonalMark> {
        let node = self.entity_nodes.get(entity.name.as_str()).map(|entry| &entry.value);
        let declared = node.and_then(|node| node.get("attributes"));
        let said = |attribute: &Attribute| {
            let node = declared.and_then(|declared| declared.get(&attribute.name));
            match node.and_then(|node| word_field(node, "personal")).as_deref() {
                None => PersonalMark::Nothing,
                Some("false") => PersonalMark::Not,
                Some(word) => PersonalMark::How(Personal::from_word(word).unwrap_or(Personal::Hashed)),
            }
        };
        entity.attributes.iter().map(said).collect()
    }
}

/// One round of what follows from what; whether anything did.
fn spread(entities: &mut [Entity], said: &[Vec<PersonalMark>]) -> bool {
    let mut found: Vec<(usize, usize, Personal)> = Vec::new();
    for (at, entity) in entities.iter().enumerate() {
        for (place, attribute) in entity.attributes.iter().enumerate() {
            let said = said.get(at).and_then(|said| said.get(place));
            let inherited = inherited(entities, entity, attribute);
            if let (Some(PersonalMark::Nothing), Some(personal)) = (said, inherited)
                && attribute.personal.is_none_or(|known| known < personal)
            {
                found.push((at, place, personal));
            }
        }
    }
    for (at, place, personal) in &found {
        let attribute = entities
            .get_mut(*at)
            .and_then(|entity| entity.attributes.get_mut(*place));
        if let Some(attribute) = attribute {
            attribute.personal = Some(*personal);
        }
    }
    !found.is_empty()
}

/// The strictest of what an attribute is made of.
fn inherited(entities: &[Entity], entity: &Entity, attribute: &Attribute) -> Option<Personal> {
    let of = |id: EntityId, name: &str| entities.get(id.0 as usize)?.attribute(name)?.personal;
    let copied = attribute
        .copy
        .as_ref()
        .and_then(|copy| of(copy.entity, &copy.attribute));
    let declared = attribute.reference.as_ref().and_then(|(id, name)| of(*id, name));
    let mirrored = entity.mirror.as_ref().and_then(|mirror| of(mirror.of, &attribute.name));
    let expressions = [&attribute.is, &attribute.always, &attribute.default];
    let made_of = entity.attributes.iter().filter(|other| {
        let mentions = |expr: &&crate::expression::Expr| expr.mentions_attribute(&other.name);
        other.name != attribute.name && expressions.into_iter().flatten().any(|expr| mentions(&expr))
    });
    let computed = made_of.filter_map(|other| other.personal).max();
    [copied, declared, mirrored, computed].into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use crate::Source;
    use crate::model::Personal;

    const MODEL: &str = r#"
singlet: 1
name: people
table: {name: people, key: {partition: PK, sort: SK}, type: kind}
types:
  Home: {object: {street: string}}
entities:
  Person:
    attributes:
      id: string 1..20
      email: {type: string 1..99, personal: true}
      name: {type: string 1..99, personal: readable}
      notes: {type: string? 1..99, personal: omitted}
      shown: {is: lower(name)}
      both: {is: 'name + email'}
      twice: {is: upper(shown)}
      known: {is: 'notes == absent', personal: false}
      size: int 0..300
    key: {PK: "PERSON#{id}", SK: "PERSON"}
  Letter:
    attributes:
      letterId: string 1..20
      to: Person.id
      address: Person.email
      called: {copy: "Person(to).both", kept: frozen}
    key: {PK: "LETTER#{letterId}", SK: "LETTER"}
"#;

    #[test]
    fn what_is_made_of_what_tells_of_a_person_tells_it_too() {
        let loaded = crate::load_source(&Source::new("model.yaml", MODEL.to_owned()));
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let model = loaded.model.unwrap();
        let personal = |entity: &str, name: &str| model.entity_named(entity).unwrap().attribute(name).unwrap().personal;
        assert_eq!(personal("Person", "email"), Some(Personal::Hashed));
        assert_eq!(personal("Person", "notes"), Some(Personal::Omitted));
        for readable in ["name", "shown", "twice"] {
            assert_eq!(personal("Person", readable), Some(Personal::Readable), "{readable}");
        }
        assert_eq!(
            personal("Person", "both"),
            Some(Personal::Hashed),
            "the stricter of the two"
        );
        for plain in ["id", "size", "known"] {
            assert_eq!(personal("Person", plain), None, "{plain}");
        }
        assert_eq!(personal("Letter", "to"), None);
        assert_eq!(personal("Letter", "address"), Some(Personal::Hashed));
        assert_eq!(personal("Letter", "called"), Some(Personal::Hashed));
    }

    #[test]
    fn a_field_is_not_personal_by_itself_and_other_words_are_none() {
        let found = |from: &str, to: &str| {
            let loaded = crate::load_source(&Source::new("model.yaml", MODEL.replace(from, to)));
            let found: Vec<String> = loaded.diagnostics.iter().map(|found| found.message.clone()).collect();
            found.join("\n")
        };
        let field = found("{street: string}", "{street: {type: string, personal: true}}");
        assert!(field.contains("a field that is personal by itself"), "{field}");
        let word = found("personal: omitted", "personal: hidden");
        assert!(word.contains("hidden"), "{word}");
    }
}
