//! What differs between two faces, and what that means for the rows.

mod attribute;
mod entity;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use singlet_face::{Company, Face, face_differences};
use singlet_model::Model;

use crate::keys::can_meet_old_keys;
use crate::names::{Aligned, Renamed, align_names};
use crate::{DataClass, RowChange, Way};

pub(crate) const NOTHING: &str = "nothing";

/// Two faces that are compared.
pub(crate) struct Sides<'f> {
    pub old: &'f Face,
    /// The new face by the names that the old one has.
    pub new: &'f Face,
    pub old_model: Option<&'f Model>,
    pub new_model: &'f Model,
    /// The new face as it is.
    pub new_as_named: &'f Face,
    /// The new names of entities, by the old ones.
    pub entities: &'f BTreeMap<String, String>,
    /// What has another name.
    pub renamed: &'f [Renamed],
    pub found: Vec<RowChange>,
}

/// Every difference in what is stored.
pub(crate) fn row_changes(old: &Face, new: &Face, old_model: Option<&Model>, new_model: &Model) -> Vec<RowChange> {
    let Aligned {
        face,
        renamed,
        entities,
    } = align_names(old, new, old_model, new_model);
    let mut sides = Sides {
        old,
        new: &face,
        old_model,
        new_model,
        new_as_named: new,
        entities: &entities,
        renamed: &renamed,
        found: Vec::new(),
    };
    sides.renames();
    sides.table();
    for (name, entity) in &face.entities {
        match old.entities.get(name) {
            Some(known) => sides.entity(name, known, entity),
            None => sides.new_entity(name),
        }
    }
    for name in old.entities.keys().filter(|name| !face.entities.contains_key(*name)) {
        sides.gone_entity(name);
    }
    sides.nothing_is_missed();
    sides.found
}

/// What a change says, without what is added later.
pub(crate) struct Said<'a> {
    pub part: String,
    pub was: String,
    pub is: String,
    pub so: &'a str,
}

/// A change of which nothing more need be said.
pub(crate) fn row_change(entity: Option<&str>, said: Said<'_>, data: DataClass, way: Way) -> RowChange {
    RowChange {
        entity: entity.map(str::to_owned),
        part: said.part,
        was: said.was,
        is: said.is,
        so: said.so.to_owned(),
        data,
        way,
        promise: None,
        lacks: None,
        help: None,
        before: None,
        after: None,
    }
}

impl Sides<'_> {
    /// The name that the new model has for an entity of the aligned face.
    pub(crate) fn shown_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.entities.get(name).map_or(name, String::as_str)
    }

    /// The name that the new model has for an attribute, by its stored name in the aligned face.
    pub(crate) fn shown_attribute<'a>(&'a self, entity: &str, stored: &'a str) -> &'a str {
        let shown = self.shown_name(entity);
        let renamed = self.renamed.iter().find_map(|renamed| match renamed {
            Renamed::Attribute(of, is, was) if of == shown && was == stored => Some(is.as_str()),
            _ => None,
        });
        renamed.unwrap_or(stored)
    }

    /// Adds a change of an entity, by its name in the aligned face.
    pub(crate) fn add_change(&mut self, entity: &str, said: Said<'_>, data: DataClass, way: Way) -> &mut RowChange {
        let entity = self.shown_name(entity).to_owned();
        self.push(row_change(Some(&entity), said, data, way))
    }

    pub(crate) fn push(&mut self, added: RowChange) -> &mut RowChange {
        let at = self.found.len();
        self.found.push(added);
        // What was just added is there.
        #[allow(clippy::indexing_slicing, reason = "pushed in the line before")]
        &mut self.found[at]
    }

    fn renames(&mut self) {
        for renamed in self.renamed {
            let added = match renamed {
                Renamed::Entity(is, was) => {
                    let said = Said {
                        part: "the entity's name".to_owned(),
                        was: format!("`{was}`"),
                        is: format!("`{is}`"),
                        so: "rows of before name their kind by the old one, and so do their guards",
                    };
                    row_change(Some(is), said, DataClass::Reshape, Way::Still)
                }
                Renamed::Attribute(entity, is, was) => {
                    let said = Said {
                        part: format!("attribute `{is}`"),
                        was: format!("stored as `{was}`"),
                        is: format!("stored as `{is}`"),
                        so: "rows of before have it under the old name",
                    };
                    let mut made = row_change(Some(entity), said, DataClass::Reshape, Way::Bridge);
                    made.help = Some(format!("with `stored: {was}` nothing stored changes"));
                    made
                }
                Renamed::Member(entity, attribute, is, was) => {
                    let said = Said {
                        part: format!("member `{is}` of attribute `{attribute}`"),
                        was: format!("`{was}`"),
                        is: format!("`{is}`"),
                        so: "rows of before have the old word",
                    };
                    row_change(Some(entity), said, DataClass::Reshape, Way::Still)
                }
                Renamed::Guard(entity, is, was) => {
                    let said = Said {
                        part: format!("unique `{is}`"),
                        was: format!("`{was}`"),
                        is: format!("`{is}`"),
                        so: "guards of before stand under the old name",
                    };
                    row_change(Some(entity), said, DataClass::Rekey, Way::Bridge)
                }
            };
            self.push(added);
        }
    }

    fn new_entity(&mut self, name: &str) {
        let Some(entity) = self.new.entities.get(name) else {
            return;
        };
        let source = entity.mirrors.as_ref();
        if let Some(source) = source.filter(|source| self.old.entities.contains_key(*source)) {
            let said = Said {
                part: "the mirror".to_owned(),
                was: NOTHING.to_owned(),
                is: format!("of `{}`", self.shown_name(source)),
                so: "rows of before have none beside them",
            };
            self.add_change(name, said, DataClass::Fill, Way::Bridge);
            return;
        }
        if entity.is_record {
            let said = Said {
                part: "the records of requests".to_owned(),
                was: "elsewhere".to_owned(),
                is: "here".to_owned(),
                so: "a request of before that is sent again would be done again",
            };
            self.add_change(name, said, DataClass::Rekey, Way::Bridge);
            return;
        }
        let is_told_apart = self.old.type_attribute.is_some();
        let said = Said {
            part: "the entity".to_owned(),
            was: NOTHING.to_owned(),
            is: "there".to_owned(),
            so: match is_told_apart {
                true => "there are no rows of it yet",
                false => {
                    "its rows say nothing of their kind, and a process of the old model could take them for others"
                }
            },
        };
        let way = if is_told_apart { Way::Free } else { Way::Still };
        self.add_change(name, said, DataClass::Nothing, way);
    }

    fn gone_entity(&mut self, name: &str) {
        let Some(entity) = self.old.entities.get(name) else {
            return;
        };
        let is_told_apart = self.new.type_attribute.is_some() && self.old.type_attribute.is_some();
        // Keys that the new model uses as the old one did were told apart before.
        let mut moved = self.new.entities.iter().filter(|(name, entity)| {
            let known = self.old.entities.get(*name);
            known.is_none_or(|known| known.key != entity.key)
        });
        let is_met = moved.any(|(other, _)| {
            let new = (self.new_as_named, self.new_model, self.shown_name(other));
            can_meet_old_keys(new, (self.old, self.old_model), |old| old == name)
        });
        let (so, way) = match (is_told_apart, is_met, entity.mirrors.is_some() || entity.is_record) {
            (false, ..) => (
                "its rows say nothing of their kind, and could be taken for those of another entity",
                Way::Still,
            ),
            (_, true, _) => (
                "its rows stand where those of another entity could come to stand",
                Way::Still,
            ),
            (_, _, true) => (
                "a process of the old model still needs it kept, and its rows stay behind",
                Way::Bridge,
            ),
            (true, false, false) => ("its rows stay behind, and nothing reads them", Way::Free),
        };
        let said = Said {
            part: "the entity".to_owned(),
            was: "there".to_owned(),
            is: "gone".to_owned(),
            so,
        };
        let gone = row_change(Some(name), said, DataClass::Drop, way);
        self.push(gone);
    }

    /// What the rules of opening find and nothing here accounts for is never free.
    fn nothing_is_missed(&mut self) {
        let not_free = self.found.iter().filter(|change| change.way > Way::Free);
        let known: BTreeSet<Option<String>> = not_free.map(|change| change.entity.clone()).collect();
        for missed in face_differences(self.old, self.new, Company::Shared) {
            let shown = missed.entity.as_ref().map(|name| self.shown_name(name).to_owned());
            if known.contains(&shown) || known.contains(&None) {
                continue;
            }
            let said = Said {
                part: missed.part,
                was: missed.was,
                is: missed.is,
                so: &missed.so,
            };
            let added = row_change(shown.as_deref(), said, DataClass::Reshape, Way::Still);
            self.push(added);
        }
    }
}
