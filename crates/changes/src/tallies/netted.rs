//! What changes of rows come to in the groups of tallies.

use std::collections::BTreeMap;

use singlet_item::Item;
use singlet_model::evaluate::EvaluateError;
use singlet_model::model::Tally;
use singlet_runtime::{Attributes, Engine, GroupValues, TallyFigures, group_prefix};

use crate::change::Change;
use crate::decode::{ChangeDecoder, Misfit, fitting_row};
use crate::reader::Told;

/// What a row has in a tally: its group, and what it adds to it.
pub(super) type InTally = Option<(GroupValues, TallyFigures)>;

/// What a page comes to in each group of one tally, by the text of the group's key.
#[derive(Default)]
pub(super) struct Netted {
    groups: BTreeMap<String, (GroupValues, TallyFigures)>,
}

impl Netted {
    /// Takes what a row was, and adds what it became.
    pub fn move_row(&mut self, before: InTally, after: InTally) -> Result<(), EvaluateError> {
        // Taken out and put in: a row that stays in its group with the same figures comes to nothing.
        self.add(before, false)?;
        self.add(after, true)
    }

    fn add(&mut self, row: InTally, is_added: bool) -> Result<(), EvaluateError> {
        let Some((group, figures)) = row else { return Ok(()) };
        // The generation does not matter here: it tells groups of one tally apart.
        let text = group_prefix(0, &group);
        let there = self
            .groups
            .entry(text)
            .or_insert_with(|| (group, TallyFigures::default()));
        there.1.add_figures(&figures, is_added)
    }

    /// The groups in which anything differs.
    pub fn into_groups(self) -> impl Iterator<Item = (GroupValues, TallyFigures)> {
        // A group in which nothing differs needs no write, of which a transaction has few.
        self.groups.into_values().filter(|(_, figures)| !figures.is_nothing())
    }

    /// The same without taking them.
    pub fn len(&self) -> usize {
        self.groups
            .values()
            .filter(|(_, figures)| !figures.is_nothing())
            .count()
    }
}

/// A row before and after, of what was told; the entity's name beside it. A row that does not fit the model is not counted.
pub(super) struct Moved {
    /// What tells the row's item from others.
    pub mark: String,
    pub before: Option<(String, Attributes)>,
    pub after: Option<(String, Attributes)>,
}

impl Moved {
    pub fn of(decoder: &ChangeDecoder, told: &Told) -> Self {
        match told {
            Told::Change(change) => Moved::of_change(change),
            Told::Misfit(misfit) => Moved::of_misfit(decoder, misfit),
        }
    }

    fn of_change(change: &Change) -> Self {
        let row = |row: &Option<Attributes>| row.clone().map(|row| (change.entity.clone(), row));
        Moved {
            mark: change.id.item_mark().to_owned(),
            before: row(&change.before),
            after: row(&change.after),
        }
    }

    fn of_misfit(decoder: &ChangeDecoder, misfit: &Misfit) -> Self {
        let row = |item: &Option<Item>| item.as_ref().and_then(|item| counted_row(decoder, item));
        Moved {
            mark: misfit.id.item_mark().to_owned(),
            before: row(&misfit.record.old),
            after: row(&misfit.record.new),
        }
    }
}

/// The row that an item is, with the name of its entity; nothing, where it is none that fits. Whether it has expired does not
/// matter: it is counted until it is gone.
pub(super) fn counted_row(decoder: &ChangeDecoder, item: &Item) -> Option<(String, Attributes)> {
    let entity = decoder.entity_of(item)?;
    let row = fitting_row(entity, item).ok()?;
    Some((entity.name.clone(), row))
}

/// What a row has in a tally.
pub(super) fn in_tally(
    engine: &Engine,
    tally: &Tally,
    row: Option<&(String, Attributes)>,
) -> Result<InTally, EvaluateError> {
    let entity = engine.model().entity(tally.entity);
    match row.filter(|(name, _)| entity.is_some_and(|entity| entity.name == *name)) {
        Some((_, row)) => engine.tallied_row(tally, row),
        None => Ok(None),
    }
}
