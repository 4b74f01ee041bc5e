//! Rows through `load`: a file that keeps what creates keep is in the table whole, and of one with a single mistake nothing is.

use std::sync::Arc;

use fastrand::Rng;
use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::evaluate_as;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Attribute, Entity};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::load::MisfitKind;
use singlet_runtime::{Attributes, Bounds, Caller, Engine, Setting, load, table};
use singlet_store::Store;
use singlet_values as values;

use super::finding::given_rows;
use super::hints::Hints;
use super::subject::value_text;
use super::table::{Focus, Judge, ProbeTable, TableDraw};
use super::worker::seeded_rng;
use crate::VerifyError;
use crate::writes::{dump, world};

/// Seals cursors, of which there are none.
const CURSOR_KEY: [u8; 32] = [7; 32];

/// How often what a create fills in is left out of a line, of a hundred.
const LEFT_OUT_PERCENT: u8 = 40;

/// What came of files.
#[derive(Clone, Debug, Default)]
pub struct LoadTally {
    /// Files that were taken.
    pub taken: usize,
    /// Rows of them.
    pub rows: usize,
    /// Attributes that were filled in.
    pub filled: usize,
    /// Files that were refused, by the mistake that was made.
    pub refused: std::collections::BTreeMap<&'static str, usize>,
}

/// One mistake in a file that is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    Missing,
    SameKey,
    Taken,
    WrongValue,
    UnknownAttribute,
}

const MISTAKES: [Mistake; 5] = [
    Mistake::Missing,
    Mistake::SameKey,
    Mistake::Taken,
    Mistake::WrongValue,
    Mistake::UnknownAttribute,
];

impl Mistake {
    fn word(self) -> &'static str {
        match self {
            Mistake::Missing => "missing",
            Mistake::SameKey => "same key",
            Mistake::Taken => "taken",
            Mistake::WrongValue => "wrong value",
            Mistake::UnknownAttribute => "unknown attribute",
        }
    }

    /// What may be said of it: a second row with a key has its unique values too.
    fn is_told_by(self, kind: MisfitKind) -> bool {
        match self {
            Mistake::Missing => matches!(kind, MisfitKind::Missing | MisfitKind::NoKey),
            Mistake::SameKey => matches!(kind, MisfitKind::SameKey | MisfitKind::Taken),
            Mistake::Taken => matches!(kind, MisfitKind::Taken | MisfitKind::SameKey),
            Mistake::WrongValue => kind == MisfitKind::WrongValue,
            Mistake::UnknownAttribute => kind == MisfitKind::UnknownAttribute,
        }
    }
}

/// Draws files for a model, loads each into a table of its own, and looks at what is there.
///
/// # Errors
///
/// A file that is not loaded as it must be, with what is wrong.
pub async fn try_loads(
    model: &Arc<Model>,
    settings: &Attributes,
    store: &(dyn Fn() -> Arc<dyn Store> + Sync),
    (seed, files): (u64, u64),
) -> Result<LoadTally, VerifyError> {
    let setting = Setting::of(model, settings.clone());
    let hints = Hints::of_model(model);
    let judge = Judge {
        model,
        setting: &setting,
        hints: &hints,
        write_costs: &None,
    };
    let focus = Focus {
        entities: model.entities.iter().map(|entity| entity.id).collect(),
        ..Focus::default()
    };
    let mut tally = LoadTally::default();
    for file in 0..files {
        let rng = seeded_rng(seed, "load", file);
        let draw = TableDraw::new(&judge, &hints, rng, &focus);
        let (mut rng, mut table) = (draw.values.rng, draw.table);
        // Rows that exclude one another, which no draw looks at, need a rule of their own.
        table
            .rows
            .retain(|(id, _)| model.entity(*id).is_some_and(|entity| entity.excludes.is_none()));
        let left_out = leave_out(&judge, &mut table, &mut rng);
        let lines = lines_of(model, &table, &left_out);
        let engine = opened(model, settings, store(), &mut rng).await?;
        let wrong = |error: VerifyError| {
            error.reworded(|what| format!("file {file} of seed {seed}: {what}\n{}", lines.join("\n")))
        };
        loaded_whole(&judge, &engine, &table, &lines).await.map_err(wrong)?;
        tally.taken += 1;
        tally.rows += table.rows.len();
        tally.filled += left_out.len();
        let Some(mistake) = rng.choice(MISTAKES) else { continue };
        let Some(lines) = mistaken(model, &table, lines.clone(), mistake, &mut rng) else {
            continue;
        };
        let engine = opened(model, settings, store(), &mut rng).await?;
        let wrong = |error: VerifyError| {
            error.reworded(|what| format!("file {file} of seed {seed}: {what}\n{}", lines.join("\n")))
        };
        loaded_nothing(&engine, &lines, table.now, mistake)
            .await
            .map_err(wrong)?;
        *tally.refused.entry(mistake.word()).or_default() += 1;
    }
    Ok(tally)
}

/// A table without rows, written in batches of any size.
async fn opened(
    model: &Arc<Model>,
    settings: &Attributes,
    store: Arc<dyn Store>,
    rng: &mut Rng,
) -> Result<Engine, VerifyError> {
    let created = store.create_table(&table::table_spec(model)).await;
    created?;
    let bounds = match rng.bool() {
        true => Bounds::USUAL,
        false => Bounds::USUAL.with_steps(|name, usual| {
            if name == "batch_write_items" {
                rng.usize(1..=4)
            } else {
                usual
            }
        }),
    };
    Ok(Engine::open(Arc::clone(model), store, settings.clone(), CURSOR_KEY).bounded(bounds))
}

/// Leaves out of some rows what a create fills in by itself, and puts into the table what that is. Which attributes were left out,
/// by the row's place.
fn leave_out(judge: &Judge<'_>, table: &mut ProbeTable, rng: &mut Rng) -> Vec<(usize, String)> {
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let mut left_out = Vec::new();
    for at in 0..table.rows.len() {
        let Some((id, row)) = table.rows.get(at).cloned() else {
            break;
        };
        let Some(entity) = judge.model.entity(id).filter(|entity| entity.history.is_none()) else {
            continue;
        };
        for attribute in entity
            .attributes
            .iter()
            .filter(|attribute| is_filled_in(entity, attribute))
        {
            if rng.u8(..100) >= LEFT_OUT_PERCENT || is_copied(judge.model, id, &attribute.name) {
                continue;
            }
            let scope = judge.scope(table.now, &nothing, &nobody);
            let given = attribute.default.as_ref();
            let value = given.and_then(|given| evaluate_as(given, &attribute.ty, &scope.with_row(&row)).ok().flatten());
            let Some(value) = value else { continue };
            let mut filled = table.clone();
            if let Some((_, row)) = filled.rows.get_mut(at) {
                row.insert(attribute.name.clone(), value);
                match world::compute_row(entity, row.clone(), scope) {
                    Ok(computed) => *row = computed,
                    Err(_) => continue,
                }
            }
            // Another row may have the value that is filled in.
            if judge.allows_table(&filled) {
                *table = filled;
                left_out.push((at, attribute.name.clone()));
            }
        }
    }
    left_out
}

/// Whether rows that are drawn already say again what an attribute is.
fn is_copied(model: &Model, id: EntityId, name: &str) -> bool {
    let attributes = model.entities.iter().flat_map(|entity| &entity.attributes);
    let mut copies = attributes.filter_map(|attribute| attribute.copy.as_ref());
    copies.any(|copy| copy.entity == id && copy.attribute == name)
}

/// Whether an attribute has a default that is always the same, and no part in what the row is known by.
fn is_filled_in(entity: &Entity, attribute: &Attribute) -> bool {
    let is_plain = attribute.default.as_ref().is_some_and(|default| {
        let mut plain = true;
        default.walk(&mut |part| {
            plain &= matches!(part.kind, ExprKind::Literal(_) | ExprKind::Negate(_));
        });
        plain
    });
    let held = entity.states.iter().flat_map(|states| &states.holding);
    let is_held = held.flat_map(|(_, held)| held).any(|(name, _)| *name == attribute.name);
    is_plain && !is_held && !entity.is_key_attribute(&attribute.name)
}

fn lines_of(model: &Model, table: &ProbeTable, left_out: &[(usize, String)]) -> Vec<String> {
    let rows = given_rows(model, table).into_iter().enumerate();
    let lines = rows.map(|(at, (entity, mut row))| {
        row.retain(|name, _| !left_out.iter().any(|(place, known)| *place == at && known == name));
        line_of(&entity, row)
    });
    lines.collect()
}

fn line_of(entity: &str, row: Attributes) -> String {
    format!("{{\"{entity}\": {}}}", value_text(&Value::M(row)))
}

/// Every row is there, and every item is what its row is kept as.
async fn loaded_whole(
    judge: &Judge<'_>,
    engine: &Engine,
    table: &ProbeTable,
    lines: &[String],
) -> Result<(), VerifyError> {
    let loaded = load::load_text(engine, &lines.join("\n"), table.now).await;
    let loaded = loaded.map_err(|error| VerifyError::Differs(format!("it is refused: {error}")))?;
    if loaded.rows != table.rows.len() as u64 {
        return Err(VerifyError::Differs(format!(
            "{} of {} rows are loaded",
            loaded.rows,
            table.rows.len()
        )));
    }
    let failed = |error: singlet_runtime::RuntimeError| VerifyError::failed("the table cannot be read", error);
    let mut items = dump::table_items(engine.model(), engine.store())
        .await
        .map_err(failed)?;
    // Rows that something follows are marked as loaded.
    items.iter_mut().for_each(|item| _ = item.remove(load::BY));
    let mut there: Vec<Attributes> = items.iter().map(|item| item.clone().into_iter().collect()).collect();
    for item in judge
        .items(table)
        .ok_or_else(|| VerifyError::Failed("a row that was drawn has no key".to_owned()))?
    {
        let item: Attributes = item.into_iter().collect();
        match there.iter().position(|known| *known == item) {
            Some(at) => {
                there.swap_remove(at);
            }
            // Versions of one thing share the guard of its identity.
            None if items.iter().any(|known| known.iter().eq(item.iter())) => {}
            None => {
                return Err(VerifyError::Differs(format!(
                    "there is no {}",
                    value_text(&Value::M(item))
                )));
            }
        }
    }
    match there.first() {
        Some(item) => Err(VerifyError::Differs(format!(
            "there is {}",
            value_text(&Value::M(item.clone()))
        ))),
        None => Ok(()),
    }
}

/// Nothing is written, and the mistake is what is said.
async fn loaded_nothing(engine: &Engine, lines: &[String], now: i64, mistake: Mistake) -> Result<(), VerifyError> {
    let Err(error) = load::load_text(engine, &lines.join("\n"), now).await else {
        return Err(VerifyError::Differs(format!(
            "it is taken in spite of a mistake: {}",
            mistake.word()
        )));
    };
    if !error
        .misfit_lines()
        .iter()
        .any(|misfit| mistake.is_told_by(misfit.kind))
    {
        return Err(VerifyError::Differs(format!(
            "a mistake ({}) is told as: {error}",
            mistake.word()
        )));
    }
    let items = dump::table_items(engine.model(), engine.store()).await;
    match items?.len() {
        0 => Ok(()),
        count => Err(VerifyError::Differs(format!(
            "{count} items are written in spite of a mistake: {}",
            mistake.word()
        ))),
    }
}

/// The lines with one mistake in them; none where the table has no row for it.
fn mistaken(
    model: &Model,
    table: &ProbeTable,
    mut lines: Vec<String>,
    mistake: Mistake,
    rng: &mut Rng,
) -> Option<Vec<String>> {
    let given = given_rows(model, table);
    let fits = |id: EntityId| match (mistake, model.entity(id)) {
        (Mistake::Taken, Some(entity)) => !entity.unique.is_empty() && entity.history.is_none(),
        (Mistake::SameKey, Some(entity)) => entity.history.is_none(),
        (_, entity) => entity.is_some(),
    };
    let rows = table.rows.iter().enumerate();
    let fitting: Vec<usize> = rows.filter(|(_, (id, _))| fits(*id)).map(|(at, _)| at).collect();
    let at = rng.choice(fitting)?;
    let ((id, _), (name, mut row)) = (table.rows.get(at)?, given.get(at)?.clone());
    let entity = model.entity(*id)?;
    match mistake {
        Mistake::Missing => {
            let missing = entity
                .attributes
                .iter()
                .find(|attribute| is_needed(entity, attribute))?;
            row.remove(&missing.name)?;
        }
        Mistake::SameKey => {
            lines.insert(rng.usize(..=lines.len()), lines.get(at)?.clone());
            return Some(lines);
        }
        Mistake::Taken => {
            let other = another_row(model, *id, &row)?;
            lines.insert(rng.usize(..=lines.len()), line_of(&name, other));
            let is_whole = |value: &Expr| value.attributes().iter().all(|name| row.contains_key(*name));
            return Some(lines).filter(|_| entity.unique.iter().any(|guard| is_whole(&guard.value)));
        }
        Mistake::WrongValue => {
            let (name, most) = entity.attributes.iter().find_map(|attribute| match &attribute.ty {
                Type::Int(limits) if row.contains_key(&attribute.name) => Some((&attribute.name, limits.max?)),
                _ => None,
            })?;
            row.insert(name.clone(), Value::N(most.checked_add(Number::from(1)).ok()?));
        }
        Mistake::UnknownAttribute => {
            row.insert("nobody knows this".to_owned(), Value::from(1));
        }
    }
    *lines.get_mut(at)? = line_of(&name, row);
    Some(lines)
}

/// Whether a row must state an attribute.
fn is_needed(entity: &Entity, attribute: &Attribute) -> bool {
    let follows = attribute.is.is_some()
        || attribute.copy.is_some()
        || attribute.alias.is_some()
        || attribute.default.is_some()
        || attribute.always.is_some()
        || attribute.ty == Type::Version;
    let of_states = entity.states.as_ref().is_some_and(|states| {
        let mut held = states.holding.iter().flat_map(|(_, held)| held);
        states.of == attribute.name || held.any(|(name, _)| *name == attribute.name)
    });
    !attribute.optional && !follows && !of_states
}

/// The row with another key, by a text in the key that no unique value is made of.
fn another_row(model: &Model, id: EntityId, row: &Attributes) -> Option<Attributes> {
    let entity = model.entity(id)?;
    let guarded: Vec<&str> = entity
        .unique
        .iter()
        .flat_map(|guard| guard.value.attributes())
        .collect();
    let name = world::key_variables(model, id)
        .iter()
        .find(|name| !guarded.contains(&name.as_str()))?;
    let attribute = entity.attribute(name)?;
    let text = row.get(name)?.as_str()?.to_owned() + "zz";
    let value = values::checked_value(&Value::S(text), &attribute.ty).ok()?;
    let mut other = row.clone();
    other.insert(name.clone(), value);
    Some(other)
}
