//! Keys, entries in indexes, guards, and what else an entity stores beside its attributes.

use std::collections::BTreeSet;

use singlet_face::{ChoiceFace, EntityFace, key_attributes, shown_choices};

use super::{NOTHING, Said, Sides};
use crate::keys::can_meet_old_keys;
use crate::names::{Renamed, mentions_word};
use crate::{DataClass, Way};

/// What of an entity has other values than before, though its text is the same.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Attributes, by their stored names.
    pub attributes: BTreeSet<String>,
    /// Settings.
    pub settings: BTreeSet<String>,
    /// Days are counted in another zone.
    pub zone: bool,
}

impl Moved {
    fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.settings.is_empty() && !self.zone
    }

    /// Whether a formula has another value.
    fn changes_formula(&self, text: &str) -> bool {
        let by_name = |names: &BTreeSet<String>| names.iter().any(|name| mentions_word(text, name));
        let dated = ["day", "month", "year", "time", "today"];
        by_name(&self.attributes)
            || by_name(&self.settings)
            || (self.zone && dated.iter().any(|word| mentions_word(text, word)))
    }

    fn changes_key(&self, choice: &ChoiceFace) -> bool {
        let mut encoders = choice.keys.values();
        let by_part = encoders.any(|encoder| {
            let named = key_attributes(encoder);
            let dated = ["{day(", "{month(", "{year(", "(day(", "(month(", "(year("];
            named.iter().any(|name| self.attributes.contains(*name))
                || (self.zone && dated.iter().any(|text| encoder.contains(text)))
        });
        by_part || choice.when.as_ref().is_some_and(|when| self.changes_formula(when))
    }
}

impl Sides<'_> {
    pub(super) fn entity(&mut self, name: &str, old: &EntityFace, new: &EntityFace) {
        let mut moved = Moved {
            settings: self.changed_settings(name, old, new),
            zone: old.zone != new.zone && old.zone.is_some() && new.zone.is_some(),
            ..Moved::default()
        };
        if moved.zone {
            let said = |zone: &Option<String>| {
                zone.as_ref()
                    .map_or_else(|| NOTHING.to_owned(), |zone| format!("`{zone}`"))
            };
            let said = Said {
                part: "`zone`".to_owned(),
                was: said(&old.zone),
                is: said(&new.zone),
                so: "days of rows of before were counted in the other zone",
            };
            self.add_change(name, said, DataClass::Fill, Way::Still);
        }
        let shown = self.shown_name(name).to_owned();
        for renamed in self.renamed {
            if let Renamed::Member(entity, attribute, ..) = renamed
                && *entity == shown
            {
                // A rank in a key is the same though the word is another.
                moved.attributes.insert(attribute.clone());
            }
        }
        self.attributes(name, (old, new), &mut moved);
        self.follow_formulas(new, &mut moved);
        self.key(name, old, new, &moved);
        self.entries(name, old, new, &moved);
        self.guards(name, old, new, &moved);
        self.ends(name, old, new);
    }

    fn changed_settings(&mut self, name: &str, old: &EntityFace, new: &EntityFace) -> BTreeSet<String> {
        let mut changed = BTreeSet::new();
        for (setting, value) in &new.settings {
            let Some(known) = old.settings.get(setting).filter(|known| *known != value) else {
                continue;
            };
            changed.insert(setting.clone());
            let said = Said {
                part: format!("setting `{setting}`"),
                was: known.clone(),
                is: value.clone(),
                so: "rows of before were stored by the other value",
            };
            self.add_change(name, said, DataClass::Fill, Way::Still);
        }
        changed
    }

    /// What is computed of something that has another value has another value itself.
    fn follow_formulas(&self, new: &EntityFace, moved: &mut Moved) {
        if moved.is_empty() {
            return;
        }
        // One may build on another, so that all are looked at as often as there are some.
        for _ in 0..new.attributes.len() {
            for (name, attribute) in &new.attributes {
                let computed = [&attribute.is, &attribute.derived];
                let is_moved = computed.into_iter().flatten().any(|text| moved.changes_formula(text));
                if is_moved {
                    moved.attributes.insert(name.clone());
                }
            }
        }
    }

    fn key(&mut self, name: &str, old: &EntityFace, new: &EntityFace, moved: &Moved) {
        let is_other = old.key != new.key;
        let is_moved = new.key.iter().any(|choice| changes_key(self, name, choice, moved));
        if !is_other && !is_moved {
            return;
        }
        let shown = self.shown_name(name).to_owned();
        let every_old = (self.old, self.old_model);
        let can_meet = can_meet_old_keys((self.new_as_named, self.new_model, &shown), every_old, |_| true);
        let is_recoded = self.old.delimiter != self.new.delimiter || self.old.encoders != self.new.encoders;
        // Two versions that write other values of one attribute cannot both be right in one row.
        let way = match is_moved || can_meet || is_recoded {
            true => Way::Still,
            false => Way::Bridge,
        };
        let so = match (is_other, can_meet) {
            (false, _) => "its text is the same, but a value in it is another: rows of before are under other keys",
            (true, true) => "rows of before are under other keys, and an old key can be equal to a new one",
            (true, false) => "rows of before are under other keys",
        };
        let said = Said {
            part: "the key".to_owned(),
            was: shown_choices(&old.key),
            is: shown_choices(&new.key),
            so,
        };
        let added = self.add_change(name, said, DataClass::Rekey, way);
        if is_other && can_meet && !is_moved {
            added.help = Some("a key that begins with another text can be changed while both models run".to_owned());
        }
    }

    fn entries(&mut self, name: &str, old: &EntityFace, new: &EntityFace, moved: &Moved) {
        let is_told_apart = self.old.type_attribute.is_some() && self.new.type_attribute.is_some();
        for (index, choices) in &new.indexes {
            let known = old.indexes.get(index);
            let is_moved = choices.iter().any(|choice| changes_key(self, name, choice, moved));
            let so = match known {
                None => "rows of before are not in it",
                Some(known) if known != choices => "rows of before are elsewhere in it",
                Some(_) if is_moved => {
                    "its text is the same, but a value in it is another: rows of before are elsewhere in it"
                }
                Some(_) => continue,
            };
            let said = Said {
                part: format!("index `{index}`"),
                was: known.map_or_else(|| NOTHING.to_owned(), |known| shown_choices(known)),
                is: shown_choices(choices),
                so,
            };
            let is_new = known.is_none();
            let way = match is_new && is_told_apart && !is_moved {
                true => Way::Bridge,
                false => Way::Still,
            };
            let added = self.add_change(name, said, DataClass::Index, way);
            if !is_new {
                let help = "under another index with attributes of its own, both models can run meanwhile";
                added.help = Some(help.to_owned());
            }
        }
        for (index, choices) in &old.indexes {
            if new.indexes.contains_key(index) {
                continue;
            }
            let so = match is_told_apart {
                true => "rows of before stay in it; a process of the old model needs those of others there too",
                false => "rows of before are in it, and could be taken for those of another entity",
            };
            let said = Said {
                part: format!("index `{index}`"),
                was: shown_choices(choices),
                is: NOTHING.to_owned(),
                so,
            };
            let way = if is_told_apart { Way::Bridge } else { Way::Still };
            self.add_change(name, said, DataClass::Drop, way);
        }
    }

    fn guards(&mut self, name: &str, old: &EntityFace, new: &EntityFace, moved: &Moved) {
        for (guard, value) in &new.unique {
            let known = old.unique.get(guard);
            let (data, way, so) = match known {
                None => (DataClass::Fill, Way::Bridge, "rows of before have no such guard"),
                Some(known) if known != value => (DataClass::Rekey, Way::Still, "guards of before hold other values"),
                Some(_) if moved.changes_formula(value) => (
                    DataClass::Rekey,
                    Way::Still,
                    "its text is the same, but its value is another: guards of before hold other values",
                ),
                Some(_) => continue,
            };
            let said = Said {
                part: format!("unique `{guard}`"),
                was: known.map_or_else(|| NOTHING.to_owned(), |known| format!("`{known}`")),
                is: format!("`{value}`"),
                so,
            };
            let is_new = known.is_none();
            let added = self.add_change(name, said, data, way);
            added.promise = Some(format!("no two rows may have the same `{value}`"));
            if !is_new {
                added.help = Some("a guard of another name can be filled while both models run".to_owned());
            }
        }
        for (guard, value) in &old.unique {
            if new.unique.contains_key(guard) {
                continue;
            }
            let said = Said {
                part: format!("unique `{guard}`"),
                was: format!("`{value}`"),
                is: NOTHING.to_owned(),
                so: "a process of the old model still counts on it; its guards stay behind",
            };
            self.add_change(name, said, DataClass::Drop, Way::Bridge);
        }
    }

    /// Expiry, versions, mirrors, records.
    fn ends(&mut self, name: &str, old: &EntityFace, new: &EntityFace) {
        let said_text = |text: &Option<String>| {
            text.as_ref()
                .map_or_else(|| NOTHING.to_owned(), |text| format!("`{text}`"))
        };
        let listed = |names: &Option<Vec<String>>| match names {
            Some(names) => format!("`{}`", names.join("`, `")),
            None => NOTHING.to_owned(),
        };
        let role = |is: bool| if is { "idempotency" } else { NOTHING }.to_owned();
        let shown_source = |source: &Option<String>| source.as_ref().map(|source| self.shown_name(source).to_owned());
        let (old_source, new_source) = (shown_source(&old.mirrors), shown_source(&new.mirrors));
        let facts = [
            (
                "`expires`",
                said_text(&old.expires),
                said_text(&new.expires),
                "rows of before end when it was said then",
                DataClass::Fill,
            ),
            (
                "`history`",
                listed(&old.history),
                listed(&new.history),
                "rows of before are no such versions",
                DataClass::Reshape,
            ),
            (
                "`mirrors`",
                said_text(&old_source),
                said_text(&new_source),
                "rows of before are kept with another entity, or by themselves",
                DataClass::Reshape,
            ),
            (
                "`role`",
                role(old.is_record),
                role(new.is_record),
                "rows of before are not what they would be taken for",
                DataClass::Reshape,
            ),
        ];
        for (part, was, is, so, data) in facts {
            if was != is {
                let said = Said {
                    part: part.to_owned(),
                    was,
                    is,
                    so,
                };
                self.add_change(name, said, data, Way::Still);
            }
        }
    }
}

/// Whether a key has another value though its text is the same. The rank of a member that has another name is not another.
fn changes_key(sides: &Sides<'_>, name: &str, choice: &ChoiceFace, moved: &Moved) -> bool {
    let shown = sides.shown_name(name);
    let renamed_only = |attribute: &String| {
        let by_member = |renamed: &Renamed| matches!(renamed, Renamed::Member(entity, of, ..) if entity == shown && of == attribute);
        sides.renamed.iter().any(by_member) && is_ranked_only(choice, attribute)
    };
    let left = Moved {
        attributes: moved
            .attributes
            .iter()
            .filter(|attribute| !renamed_only(attribute))
            .cloned()
            .collect(),
        settings: moved.settings.clone(),
        zone: moved.zone,
    };
    left.changes_key(choice)
}

/// Whether an attribute stands in a key by its rank, and nowhere else there.
fn is_ranked_only(choice: &ChoiceFace, attribute: &str) -> bool {
    let in_condition = choice.when.as_ref().is_some_and(|when| mentions_word(when, attribute));
    let ranked = format!("rank({attribute})");
    let by_value = choice.keys.values().any(|encoder| {
        let count = key_attributes(encoder)
            .iter()
            .filter(|name| **name == attribute)
            .count();
        count > encoder.matches(&ranked).count()
    });
    !in_condition && !by_value
}
