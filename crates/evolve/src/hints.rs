//! Something gone beside something new of the same kind: what may have been renamed, and only `was:` can say.

use singlet_model::Model;

use crate::rows::NOTHING;
use crate::{DataClass, RowChange};

/// How alike, in hundredths of all attributes, two entities must be to be taken for one that was renamed.
const ALIKE_ATTRIBUTES_PERCENT: usize = 60;

/// Adds to what is gone the word that would make it a rename.
pub(crate) fn add_rename_hints(changes: &mut [RowChange], old: Option<&Model>, new: &Model) {
    let named = |part: &str| part.split('`').nth(1).unwrap_or_default().to_owned();
    let mut hints: Vec<(usize, String)> = Vec::new();
    for (at, gone) in changes.iter().enumerate() {
        if gone.data != DataClass::Drop {
            continue;
        }
        if gone.part == "the entity" {
            let like = gone.entity.as_ref().and_then(|name| alike(name, old?, new));
            hints.extend(like.map(|name| (at, was_hint(&name, gone.entity.as_deref().unwrap_or_default()))));
            continue;
        }
        let kind = gone.part.split('`').next().unwrap_or_default();
        if !matches!(kind, "attribute " | "unique ") {
            continue;
        }
        let is_like = |other: &&RowChange| {
            let same_kind = other.entity == gone.entity && other.part.starts_with(kind) && other.was == NOTHING;
            // An attribute that may be absent now can be what was always there, and the other way round.
            let bare = |text: &str| text.trim_end_matches(", optional").to_owned();
            same_kind && bare(&other.is) == bare(&gone.was)
        };
        if let Some(other) = changes.iter().find(is_like) {
            hints.push((at, was_hint(&named(&other.part), &named(&gone.part))));
        }
    }
    for (at, gone) in changes.iter().enumerate() {
        if let (Some(promise), true) = (&gone.promise, gone.so.contains("member that is gone")) {
            let is_added = gone.is != gone.was && promise.contains('`');
            let counts = (gone.was.matches(',').count(), gone.is.matches(',').count());
            if is_added && counts.1 >= counts.0 {
                let help = "if a member has another name now, say so beside the `enum`: `was: {NEW: OLD}`";
                hints.push((at, help.to_owned()));
            }
        }
    }
    for (at, hint) in hints {
        if let Some(change) = changes.get_mut(at) {
            change.help = Some(hint);
        }
    }
}

fn was_hint(new: &str, old: &str) -> String {
    format!("if `{new}` is what `{old}` was, say so: `was: {old}` on `{new}`")
}

/// The new entity that has most attributes of one that is gone.
fn alike(gone: &str, old: &Model, new: &Model) -> Option<String> {
    let gone = old.entity_named(gone)?;
    let is_new = |name: &str| old.entity_named(name).is_none();
    let added = new
        .entities
        .iter()
        .filter(|entity| is_new(&entity.name) && entity.was.is_none());
    let share = |entity: &singlet_model::model::Entity| {
        let both = gone
            .attributes
            .iter()
            .filter(|attribute| entity.attribute(&attribute.name).is_some());
        let all = gone.attributes.len().max(entity.attributes.len()).max(1);
        both.count() * 100 / all
    };
    let best = added.max_by_key(|entity| share(entity))?;
    (share(best) >= ALIKE_ATTRIBUTES_PERCENT).then(|| best.name.clone())
}
