//! Copies that rows of before lack: they come from their sources, wherever these lie by now.

use std::collections::BTreeSet;

use singlet_item::{Item, Value};
use singlet_model::evaluate::evaluate_as;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Entity};
use singlet_runtime::load::entity_of_item;
use singlet_runtime::{Attributes, primary_key, row};

use crate::error::{MigrateError, RowMisfit};
use crate::images::{Models, OldKind, RowImages};
use crate::mapping::source_of;
use crate::migrator::Working;
use crate::stamp::{is_stamped, unstamped_item};
use crate::step::Actual;

/// A copy that a row lacks.
pub(crate) struct LackedCopy<'m> {
    attribute: &'m Attribute,
    /// What is copied.
    from: &'m str,
    /// The entity of the source in the old model and in the new.
    source: (&'m Entity, &'m Entity),
    /// Where the source lies: as the new model has it, and as the old one had.
    places: Vec<Item>,
}

impl<'e> Models<'e> {
    /// The copies of the new model that a row of the old one does not have.
    pub fn lacked_copies(&self, item: &Item, now: i64) -> Vec<LackedCopy<'e>> {
        let OldKind::Row(old, new) = self.old_kind(item) else {
            return Vec::new();
        };
        let is_lacked = |attribute: &&Attribute| attribute.copy.is_some() && source_of(old, attribute).is_none();
        let mut lacked = new.attributes.iter().filter(is_lacked).peekable();
        if lacked.peek().is_none() {
            return Vec::new();
        }
        let scope = self.image_scope(self.new, now);
        let Ok(was) = row::decode_as_stored(old, item) else {
            return Vec::new();
        };
        let Ok(is) = self.map.mapped_row((old, new), item, &was, scope) else {
            return Vec::new();
        };
        let lacked = lacked.filter_map(|attribute| {
            let copy = attribute.copy.as_deref()?;
            let source = self
                .map
                .new
                .entity(copy.entity)
                .filter(|source| source.history.is_none())?;
            let was_source = self.old_of(source)?;
            let ExprKind::Entity { key, .. } = &copy.source.kind else {
                return None;
            };
            let (mut known, mut known_old) = (Attributes::new(), Attributes::new());
            for (name, expr) in key {
                let part = source.attribute(name)?;
                let value = evaluate_as(expr, &part.ty, &scope.with_row(&is)).ok()??;
                if let Some(was) = source_of(was_source, part) {
                    known_old.insert(was.name.clone(), value.clone());
                }
                known.insert(name.clone(), value);
            }
            let places = [primary_key(source, &known), primary_key(was_source, &known_old)];
            Some(LackedCopy {
                attribute,
                from: &copy.attribute,
                source: (was_source, source),
                places: places.into_iter().filter_map(|place| place.ok().flatten()).collect(),
            })
        });
        lacked.collect()
    }

    /// What an entity of the new model was.
    fn old_of(&self, new: &Entity) -> Option<&'e Entity> {
        let mut all = self.map.old.entities.iter();
        all.find(|old| self.map.counterpart_of(old).is_some_and(|is| is.id == new.id))
    }

    fn copied_value(&self, lacked: &LackedCopy<'_>, actual: &Actual, now: i64) -> Option<Value> {
        let (old, new) = lacked.source;
        let found = lacked.places.iter().filter_map(|place| actual.get(place)?.as_ref());
        let mut rows = found.filter_map(|item| match is_stamped(item) {
            true => {
                let item = unstamped_item(item);
                let entity = entity_of_item(self.map.new, &item)?;
                (entity.id == new.id)
                    .then(|| row::decode_as_stored(new, &item).ok())
                    .flatten()
            }
            false => {
                let entity = entity_of_item(self.map.old, item)?;
                let was = (entity.id == old.id)
                    .then(|| row::decode_as_stored(old, item).ok())
                    .flatten()?;
                let scope = self.image_scope(self.new, now);
                self.map.mapped_row((old, new), item, &was, scope).ok()
            }
        });
        rows.find_map(|row| row.get(lacked.from).cloned())
    }
}

impl Working<'_> {
    /// The images of some items, each with the copies that it lacks; for each item its own outcome.
    pub async fn images_of_all(
        &self,
        items: &[Item],
        now: i64,
    ) -> Result<Vec<Result<Option<RowImages>, RowMisfit>>, MigrateError> {
        let lacked: Vec<Vec<LackedCopy<'_>>> = items.iter().map(|item| self.models.lacked_copies(item, now)).collect();
        let places: BTreeSet<Item> = lacked.iter().flatten().flat_map(|copy| copy.places.clone()).collect();
        let actual = self.read_keys(&places.into_iter().collect::<Vec<_>>()).await?;
        let images = items.iter().zip(&lacked).map(|(item, lacked)| {
            let copies = lacked.iter().filter_map(|copy| {
                let value = self.models.copied_value(copy, &actual, now)?;
                Some((copy.attribute.name.clone(), value))
            });
            self.models.images_of(item, &copies.collect(), now)
        });
        Ok(images.collect())
    }
}
