//! Attributes: values, types, and how they come to be there.

use singlet_face::{AttributeFace, EntityFace, Lack, TypeFace};
use singlet_model::expression::Expr;
use singlet_model::model::Attribute;
use singlet_model::types::Type;

use super::entity::Moved;
use super::{NOTHING, Said, Sides};
use crate::names::stored_name;
use crate::{DataClass, Way};

const REWRITTEN: &str = "a process that does not know it writes whole rows, and would drop it";

impl Sides<'_> {
    pub(super) fn attributes(&mut self, name: &str, (old, new): (&EntityFace, &EntityFace), moved: &mut Moved) {
        let in_keys = {
            let mut names = old.key_attributes();
            names.extend(new.key_attributes());
            names
        };
        for (stored, is) in &new.attributes {
            match old.attributes.get(stored) {
                Some(was) => {
                    let is_in_key = in_keys.contains(stored.as_str());
                    if self.attribute((name, stored, is_in_key), was, is) {
                        moved.attributes.insert(stored.clone());
                    }
                }
                None => self.new_attribute(name, stored, is, old),
            }
        }
        for (stored, was) in &old.attributes {
            if !new.attributes.contains_key(stored) {
                self.gone_attribute(name, stored, was, new);
            }
        }
    }

    /// Compares what is stored under one name; whether the value of a row is another than before.
    fn attribute(
        &mut self,
        (entity, stored, is_in_key): (&str, &str, bool),
        was: &AttributeFace,
        is: &AttributeFace,
    ) -> bool {
        let shown = self.shown_attribute(entity, stored).to_owned();
        let of_type = self.type_change(entity, (&shown, is_in_key), was, is);
        self.presence(entity, &shown, was, is);
        if was.in_key_only != is.in_key_only {
            let place = |only: bool| {
                if only {
                    "only in the key"
                } else {
                    "an attribute of its own"
                }
                .to_owned()
            };
            let said = Said {
                part: format!("where `{shown}` is stored"),
                was: place(was.in_key_only),
                is: place(is.in_key_only),
                so: match is.in_key_only {
                    true => {
                        "rows of before have it in both places; a process of the old model looks for it beside the key"
                    }
                    false => "rows of before have it in the key alone",
                },
            };
            let data = if is.in_key_only {
                DataClass::Drop
            } else {
                DataClass::Fill
            };
            self.add_change(entity, said, data, Way::Bridge);
        }
        let is_computed = self.formula((entity, &shown), "is computed from", (&was.is, &is.is));
        let is_copied = self.formula((entity, &shown), "copies", (&was.copies, &is.copies));
        let mut is_derived = false;
        if let (Some(old), Some(new)) = (&was.derived, &is.derived)
            && old != new
        {
            is_derived = true;
            let said = Said {
                part: format!("what `{shown}` is by default"),
                was: format!("`{old}`"),
                is: format!("`{new}`"),
                so: "rows of before are where it put them, and a row that is there could be made again",
            };
            self.add_change(entity, said, DataClass::Fill, Way::Still);
        }
        of_type || is_computed || is_copied || is_derived
    }

    /// Whether the type is another kind of value.
    fn type_change(
        &mut self,
        entity: &str,
        (shown, is_in_key): (&str, bool),
        was: &AttributeFace,
        is: &AttributeFace,
    ) -> bool {
        if was.ty == is.ty {
            return false;
        }
        let gone = gone_members(&was.ty, &is.ty);
        let forwards = is.ty.lack_of(&was.ty);
        let backwards = was.ty.lack_of(&is.ty);
        let (so, data, way) = match (forwards, backwards) {
            (Some(Lack::Kind), _) if !gone.is_empty() => (
                "rows of before may have a member that is gone",
                DataClass::Nothing,
                Way::Bridge,
            ),
            (Some(Lack::Kind), _) => (
                "rows of before have values that this type does not",
                DataClass::Reshape,
                Way::Still,
            ),
            (Some(Lack::Limits), _) => (
                "rows of before may have values outside of it",
                DataClass::Nothing,
                Way::Bridge,
            ),
            (None, Some(Lack::Kind)) => (
                "rows of before fit, but a process of the old model does not know every value that this one may write",
                DataClass::Nothing,
                Way::Bridge,
            ),
            (None, Some(Lack::Limits)) if is_in_key && matches!(was.ty, TypeFace::Number(_)) => (
                "rows of before fit, but a process of the old model does not look for keys of the values that are new",
                DataClass::Nothing,
                Way::Bridge,
            ),
            (None, _) => (
                "rows of before fit, and old processes show what is new",
                DataClass::Nothing,
                Way::Free,
            ),
        };
        let said = Said {
            part: format!("attribute `{shown}`"),
            was: was.ty.words(),
            is: is.ty.words(),
            so,
        };
        let is_reshaped = data == DataClass::Reshape;
        let has_fill = self
            .fill_of(entity, shown)
            .is_some_and(|attribute| attribute.fill.is_some());
        let added = self.add_change(entity, said, data, way);
        if !gone.is_empty() {
            added.promise = Some(format!("no row may have `{shown}` = `{}`", gone.join("` or `")));
        } else if forwards == Some(Lack::Limits) {
            added.promise = Some(format!("`{shown}` of every row must be {}", is.ty.words()));
        } else if is_reshaped {
            added.lacks = (!has_fill).then(|| format!("`fill:` on `{shown}`: the value of rows of before"));
            added.help = Some("under another stored name both models can run meanwhile".to_owned());
        }
        is_reshaped
    }

    fn presence(&mut self, entity: &str, shown: &str, was: &AttributeFace, is: &AttributeFace) {
        if was.optional == is.optional {
            return;
        }
        let (so, data) = match (is.optional, self.is_filled(entity, shown)) {
            (true, _) => (
                "a process of the old model cannot read a row without it",
                DataClass::Nothing,
            ),
            (false, true) => (
                "rows of before that lack it get the value of its formula",
                DataClass::Fill,
            ),
            (false, false) => ("rows of before may lack it", DataClass::Nothing),
        };
        let said = Said {
            part: format!("attribute `{shown}`"),
            was: if was.optional { "optional" } else { "required" }.to_owned(),
            is: if is.optional { "optional" } else { "required" }.to_owned(),
            so,
        };
        let is_open = !is.optional && data == DataClass::Nothing;
        let added = self.add_change(entity, said, data, Way::Bridge);
        if is_open {
            added.promise = Some(format!("every row must have `{shown}`"));
            added.help = Some("`fill:` gives rows that lack it a value".to_owned());
        }
    }

    /// Compares what a value is made of; whether it is another.
    fn formula(
        &mut self,
        (entity, shown): (&str, &str),
        what: &str,
        (was, is): (&Option<String>, &Option<String>),
    ) -> bool {
        if was == is {
            return false;
        }
        let text = |text: &Option<String>| {
            text.as_ref()
                .map_or_else(|| NOTHING.to_owned(), |text| format!("`{text}`"))
        };
        let (so, data) = match is {
            Some(_) => ("rows of before have the value that was made then", DataClass::Fill),
            None => (
                "rows of before fit, but a process of the old model counts on the value that it makes",
                DataClass::Nothing,
            ),
        };
        let said = Said {
            part: format!("what `{shown}` {what}"),
            was: text(was),
            is: text(is),
            so,
        };
        let added = self.add_change(entity, said, data, Way::Still);
        if is.is_some() {
            added.help = Some("under another stored name both models can run meanwhile".to_owned());
        }
        is.is_some()
    }

    fn new_attribute(&mut self, entity: &str, stored: &str, is: &AttributeFace, old: &EntityFace) {
        let shown = self.shown_attribute(entity, stored).to_owned();
        let source_had = old
            .mirrors
            .as_ref()
            .and_then(|source| self.old.entities.get(source))
            .is_some_and(|source| source.attributes.contains_key(stored));
        let is_rewritten = old.rewrites || old.mirrors.is_some();
        let is_filled = self.is_filled(entity, &shown);
        let has_fill = self
            .fill_of(entity, &shown)
            .is_some_and(|attribute| attribute.fill.is_some());
        let (so, data, way) = match is {
            // What a record is made of is the request, which is gone.
            AttributeFace { is: Some(_), .. } if old.is_record => (
                "records of before were made without it, and their requests are gone",
                DataClass::Nothing,
                Way::Still,
            ),
            _ if source_had => ("rows of before do not carry it", DataClass::Fill, Way::Bridge),
            AttributeFace { is: Some(_), .. } => (
                "rows of before have no such value, though it can be computed",
                DataClass::Fill,
                Way::Bridge,
            ),
            AttributeFace { copies: Some(_), .. } => ("rows of before have no such copy", DataClass::Fill, Way::Bridge),
            AttributeFace { optional: false, .. } if is_filled => (
                "rows of before have none: they get the value of its formula",
                DataClass::Fill,
                Way::Bridge,
            ),
            AttributeFace { optional: false, .. } => (
                "rows of before have none, it is required, and nothing says what they get",
                DataClass::Fill,
                Way::Still,
            ),
            _ if has_fill => (
                "rows of before have none: they get the value of its formula",
                DataClass::Fill,
                Way::Bridge,
            ),
            _ if is_rewritten => (REWRITTEN, DataClass::Nothing, Way::Bridge),
            _ => ("rows of before have none, and need none", DataClass::Nothing, Way::Free),
        };
        let lacks = data == DataClass::Fill && way == Way::Still;
        let said = Said {
            part: format!("attribute `{shown}`"),
            was: NOTHING.to_owned(),
            is: described(is),
            so,
        };
        let added = self.add_change(entity, said, data, way);
        if lacks {
            added.lacks = Some(format!("`fill:` on `{shown}`: the value of rows of before"));
        }
    }

    fn gone_attribute(&mut self, entity: &str, stored: &str, was: &AttributeFace, new: &EntityFace) {
        let is_rewritten = new.rewrites || new.mirrors.is_some();
        let is_needed = !was.optional || was.is.is_some() || was.copies.is_some();
        let (so, way) = match (is_needed, is_rewritten) {
            (true, _) => (
                "its values stay behind; a process of the old model cannot do without it",
                Way::Bridge,
            ),
            (false, true) => (REWRITTEN, Way::Bridge),
            (false, false) => ("its values stay behind, and nothing reads them", Way::Free),
        };
        let said = Said {
            part: format!("attribute `{stored}`"),
            was: described(was),
            is: NOTHING.to_owned(),
            so,
        };
        self.add_change(entity, said, DataClass::Drop, way);
    }

    /// The attribute of the new model, or of the source that it is carried from.
    fn fill_of(&self, entity: &str, stored: &str) -> Option<&Attribute> {
        let entity = self.new_model.entity_named(self.shown_name(entity))?;
        let source = self.new_model.source_of(entity);
        let is_it = |attribute: &&Attribute| stored_name(attribute) == stored;
        source.attributes.iter().find(is_it)
    }

    /// Whether rows of before can be given a value: by `fill:`, or by a default that is a function of the row.
    fn is_filled(&self, entity: &str, stored: &str) -> bool {
        let Some(attribute) = self.fill_of(entity, stored) else {
            return false;
        };
        let is_of_row = |default: &Expr| default.is_of_row() && !default.is_absent();
        // A row without a version is as it was first written.
        let is_version = attribute.ty == Type::Version;
        is_version || attribute.fill.is_some() || attribute.default.as_ref().is_some_and(is_of_row)
    }
}

fn described(attribute: &AttributeFace) -> String {
    let optional = if attribute.optional { ", optional" } else { "" };
    format!("{}{optional}", attribute.ty.words())
}

/// The members of an enum, or of a list of one, that are gone, where nothing else is wrong with the type.
fn gone_members(was: &TypeFace, is: &TypeFace) -> Vec<String> {
    match (was, is) {
        (TypeFace::Enum(was), TypeFace::Enum(is)) => was.iter().filter(|word| !is.contains(word)).cloned().collect(),
        (TypeFace::Many(what, was, _), TypeFace::Many(same, is, _)) if what == same => gone_members(was, is),
        _ => Vec::new(),
    }
}
