//! Tallies, made up for a model that is there.

use fastrand::Rng;
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity};
use singlet_model::types::Type;

/// How many tallies a model gets, at most.
const TALLIES_MAX: usize = 4;

/// Tallies of a model, each as it stands under `tallies:`. Not all of them are right.
pub(crate) fn drawn_tallies(model: &Model, rng: &mut Rng) -> Vec<String> {
    let counted = |entity: &&Entity| entity.mirror.is_none() && entity.role.is_none() && entity.history.is_none();
    let entities: Vec<&Entity> = model.entities.iter().filter(counted).collect();
    let mut all = Vec::new();
    for at in 0..rng.usize(..=TALLIES_MAX) {
        if let Some(entity) = rng.choice(entities.iter()) {
            all.push(tally(at, entity, rng));
        }
    }
    all
}

/// What reads of a tally are called, before its name.
pub(crate) const READ_PREFIX: &str = "figures_";

/// A read of all figures of a tally, as it stands under `reads:`.
pub(crate) fn read_of(tally: &str) -> String {
    let name = tally.trim_start().split(':').next().unwrap_or_default();
    format!("  {READ_PREFIX}{name}: {{tally: {name}, allow: true}}\n")
}

fn tally(at: usize, entity: &Entity, rng: &mut Rng) -> String {
    let groups = (0..rng.usize(..3)).filter_map(|_| group(rng.choice(entity.attributes.iter())?));
    let groups: Vec<String> = groups.collect();
    let mut text = format!(
        "  t{at}:\n    count: {}\n    by: [{}]\n",
        entity.name,
        groups.join(", ")
    );
    if rng.bool()
        && let Some(number) = chosen(entity, rng, is_number)
    {
        text.push_str(&format!("    sum: {{s: {}}}\n", number.name));
    }
    if rng.u8(..3) == 0
        && let Some(optional) = chosen(entity, rng, |attribute| attribute.optional)
    {
        let sign = if rng.bool() { "==" } else { "!=" };
        text.push_str(&format!("    where: {} {sign} absent\n", optional.name));
    }
    text
}

fn chosen<'e>(entity: &'e Entity, rng: &mut Rng, fits: impl Fn(&Attribute) -> bool) -> Option<&'e Attribute> {
    let all: Vec<&Attribute> = entity.attributes.iter().filter(|attribute| fits(attribute)).collect();
    rng.choice(all)
}

fn is_number(attribute: &Attribute) -> bool {
    matches!(attribute.ty, Type::Int(_) | Type::Number(_))
}

fn group(attribute: &Attribute) -> Option<String> {
    match attribute.ty {
        Type::Time | Type::Seconds | Type::Millis => Some(format!("day({})", attribute.name)),
        Type::Geo(_) | Type::Json | Type::Object(_) | Type::List(..) | Type::Set(..) | Type::Map(..) => None,
        _ => Some(attribute.name.clone()),
    }
}
