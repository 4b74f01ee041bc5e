//! Pass 4, at its end: a key attribute and an attribute of the entity that are stored under one name are one value.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::model::{Attribute, Entity, KeyChoice, KeyTemplate};
use crate::rules;

impl Resolver<'_> {
    /// An item has one value under a name: where a template makes another of it than the attribute has, one of the two is lost.
    pub(super) fn key_names(&mut self, entities: &[Entity]) {
        for entity in entities {
            let mut seen = Vec::new();
            let indexed = entity.index.iter().flat_map(|entry| entry.key_choices());
            for key in entity.key.iter().chain(indexed).flat_map(|choice| &choice.keys) {
                if let Some(attribute) = overwritten(entity, key)
                    && !seen.contains(&key.span)
                {
                    seen.push(key.span);
                    self.report_overwritten(entity, attribute, key);
                }
            }
            for entry in &entity.index {
                let choices = entry.key_choices().iter().filter(|choice| choice.when.is_some());
                if let Some(choice) = choices.into_iter().find(|choice| self.is_always_there(entity, choice)) {
                    let index = self.table.indexes.get(entry.index.0 as usize);
                    let index = index.map_or("", |index| index.name.as_str());
                    let message = format!(
                        "every `{}` with these attributes is in index `{index}`, whatever `when` says: they are its own",
                        entity.name
                    );
                    let help = "give the index a key attribute of another name, which only this template fills";
                    let finding = Diagnostic::new(&rules::KEY_OVER_ATTRIBUTE, choice.span, message);
                    self.out
                        .push(finding.help(help).about(format!("{}.{index}", entity.name)));
                }
            }
        }
    }

    fn report_overwritten(&mut self, entity: &Entity, attribute: &Attribute, key: &KeyTemplate) {
        let message = format!(
            "the key attribute `{}` is `{}`, and the attribute `{}` of `{}` is stored under the same name",
            key.attribute, key.text, attribute.name, entity.name
        );
        let help = format!(
            "store the attribute elsewhere: `{}: {{type: …, stored: {}Value}}`, or `stored: none` where the key has it",
            attribute.name, attribute.name
        );
        self.out.push(
            Diagnostic::new(&rules::KEY_OVER_ATTRIBUTE, key.span, message)
                .help(help)
                .about(&entity.name),
        );
    }

    /// Whether rows have all key attributes of an entry whether or not its condition holds.
    fn is_always_there(&self, entity: &Entity, choice: &KeyChoice) -> bool {
        let is_primary = |name: &str| self.table.key.iter().any(|key| key.name == name);
        let is_there =
            |key: &KeyTemplate| is_primary(&key.attribute) || entity.attribute_stored_as(&key.attribute).is_some();
        !choice.keys.is_empty() && choice.keys.iter().all(is_there)
    }
}

/// The attribute that is stored under the name of a key attribute, where the key is not that attribute as it is.
fn overwritten<'e>(entity: &'e Entity, key: &KeyTemplate) -> Option<&'e Attribute> {
    let attribute = entity.attribute_stored_as(&key.attribute)?;
    let is_itself = match key.parts.as_slice() {
        [part] => part.path == attribute.name && part.function.is_none() && key.template.parts().len() == 1,
        _ => false,
    };
    (!is_itself).then_some(attribute)
}
