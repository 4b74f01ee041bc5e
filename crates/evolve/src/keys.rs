//! Whether a key that a model had and one that it has can be equal.

use singlet_face::{ChoiceFace, Face};
use singlet_item::key::{Template, Verdict, decide_collision};
use singlet_model::Model;
use singlet_model::model::Entity;

/// How many pairs of templates are looked at before keys count as such that can meet.
const PAIRS_MAX: usize = 2_000;

/// Whether keys of an entity of the new model can be those of rows that the old model wrote: of the entities that are named, or of any.
/// What is not proved counts as possible.
pub(crate) fn can_meet_old_keys(
    new: (&Face, &Model, &str),
    old: (&Face, Option<&Model>),
    of_old: impl Fn(&str) -> bool,
) -> bool {
    let (new_face, new_model, name) = new;
    let (old_face, old_model) = old;
    if let (Some(old_model), Some(entity)) = (old_model, new_model.entity_named(name)) {
        let before = old_model.entities.iter().filter(|entity| of_old(&entity.name));
        return can_meet((new_model, entity), (old_model, before));
    }
    let Some(entity) = new_face.entities.get(name) else {
        return true;
    };
    let before = old_face.entities.iter().filter(|(name, _)| of_old(name));
    let mut before = before.flat_map(|(_, entity)| &entity.key);
    before.any(|old| entity.key.iter().any(|new| !are_apart(&old_face.table_key, old, new)))
}

fn can_meet<'m>((model, entity): (&Model, &Entity), (old, before): (&Model, impl Iterator<Item = &'m Entity>)) -> bool {
    let own = templates(model, entity);
    let mut pairs = 0;
    for other in before.flat_map(|entity| templates(old, entity)) {
        for own in &own {
            pairs += 1;
            let is_proved = pairs <= PAIRS_MAX && matches!(decide_collision(own, &other), Verdict::Never);
            if !is_proved {
                return true;
            }
        }
    }
    false
}

/// The templates of each choice of an entity's key, in the order of the table's key.
fn templates(model: &Model, entity: &Entity) -> Vec<Vec<Template>> {
    let of_choice = |choice: &singlet_model::model::KeyChoice| {
        let keys = model.table.key.iter();
        keys.filter_map(|key| Some(choice.attribute_template(&key.name)?.template.clone()))
            .collect()
    };
    entity.key.iter().map(of_choice).collect()
}

/// Whether two keys are told apart by the text with which an attribute of them begins.
fn are_apart(table_key: &[String], one: &ChoiceFace, other: &ChoiceFace) -> bool {
    table_key
        .iter()
        .any(|name| match (one.keys.get(name), other.keys.get(name)) {
            (Some(one), Some(other)) => {
                let (one, other) = (first_text(one), first_text(other));
                !one.starts_with(&other) && !other.starts_with(&one)
            }
            _ => false,
        })
}

/// The text before the first part of an encoder; a brace of the text itself ends it too.
fn first_text(encoder: &str) -> String {
    encoder.split('{').next().unwrap_or_default().to_owned()
}
