//! The busiest partition of each key, and when it throttles.

use serde::Serialize;
use singlet_item::limits::{PARTITION_READ_UNITS_PER_SECOND_MAX, PARTITION_WRITE_UNITS_PER_SECOND_MAX};
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Attribute, Entity, KeyPart, PartFunction};
use singlet_model::types::Type;
use singlet_plan::access::{AccessPath, own_paths};
use singlet_plan::read::values_expected;

use crate::capacity::{UnitsRate, place_of};
use crate::operations::{Operation, OperationKind, Part};

/// The share of the requests for a key that may be throttled before its rate counts as too high.
pub const THROTTLED_SHARE: f64 = 0.01;

/// The load of the busiest partition of one key, at the peak.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyLoad {
    /// `table`, or the index's name.
    pub place: String,
    /// The partition key as a model writes it.
    pub key: String,
    /// The entities that have it.
    pub entities: Vec<String>,
    /// The largest share of an operation's units that one partition gets.
    pub share: f64,
    /// Where the share comes from.
    pub why: ShareSource,
    /// Units a second of the busiest partition, at the peak.
    pub busiest: UnitsRate,
    /// How many times the peak brings the busiest partition to its limit; nothing where it gets nothing.
    pub limit_at: Option<f64>,
    /// How many times the peak throttles 1 in 100 requests for the key.
    pub throttles_at: Option<f64>,
}

/// Where the share of the busiest key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ShareSource {
    /// `top_share` says it.
    Said,
    /// There is one key only, or the one of the present day.
    OneKey,
    /// All keys are taken as equally busy.
    Even,
}

/// Partitions that get the same share of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlikePartitions {
    /// The share that each gets.
    pub share: f64,
    /// How many there are.
    pub count: f64,
}

/// The rate at which a share of all requests is throttled, for good: what is over the limit of a partition is refused. Each request
/// takes so many units. None where no rate does it.
pub fn throttling_rate(partitions: &[AlikePartitions], units: f64, limit: f64, throttled: f64) -> Option<f64> {
    let mut busiest: Vec<AlikePartitions> = partitions
        .iter()
        .copied()
        .filter(|alike| alike.share > 0.0 && alike.count > 0.0)
        .collect();
    busiest.sort_unstable_by(|one, other| other.share.total_cmp(&one.share));
    // With the n busiest over their limits, rate × units × (their shares) − n × limit is refused.
    let (mut share, mut count) = (0.0, 0.0);
    for (at, alike) in busiest.iter().enumerate() {
        share += alike.share * alike.count;
        count += alike.count;
        if share <= throttled || units <= 0.0 {
            continue;
        }
        let rate = count * limit / (units * (share - throttled));
        let next = busiest.get(at + 1).map_or(0.0, |next| next.share);
        if rate * next * units <= limit {
            return Some(rate);
        }
    }
    None
}

struct Group {
    shape: String,
    load: KeyLoad,
    all: UnitsRate,
    keys: f64,
}

pub(crate) fn key_loads(model: &Model, operations: &[Operation], factor: f64) -> Vec<KeyLoad> {
    let mut groups: Vec<Group> = Vec::new();
    for operation in operations {
        for part in &operation.parts {
            let entity = part.entity.and_then(|entity| model.entity(entity));
            let Some(entity) = entity else { continue };
            let paths = own_paths(model, entity);
            let mut paths = paths.iter().filter(|path| path.index_in(model) == part.index);
            if let Some(path) = paths.next() {
                let place = place_of(model, part.index).and_then(|index| model.index(index));
                let place = place.map_or("table", |index| index.name.as_str());
                add_load(model, &mut groups, (operation, part, factor), (place, path));
            }
        }
    }
    let mut loads: Vec<KeyLoad> = groups.into_iter().map(finished).collect();
    let at = |load: &KeyLoad| load.limit_at.unwrap_or(f64::MAX);
    loads.sort_by(|one, other| at(one).total_cmp(&at(other)).then_with(|| one.key.cmp(&other.key)));
    loads
}

fn add_load(
    model: &Model,
    groups: &mut Vec<Group>,
    (operation, part, factor): (&Operation, &Part, f64),
    (place, path): (&str, &AccessPath<'_>),
) {
    let key: Vec<&str> = path.partition_templates().iter().map(|key| key.text.as_str()).collect();
    let key = key.join(" + ");
    let shape = shape_of(&key);
    let is_write = operation.kind != OperationKind::Read;
    let (share, why) = busiest_share(model, path, operation.top_share, is_write);
    let found = groups
        .iter()
        .position(|group| group.load.place == place && group.shape == shape);
    let at = found.unwrap_or_else(|| {
        groups.push(Group {
            shape,
            load: KeyLoad {
                place: place.to_owned(),
                key,
                entities: Vec::new(),
                share: 0.0,
                why,
                busiest: UnitsRate::default(),
                limit_at: None,
                throttles_at: None,
            },
            all: UnitsRate::default(),
            keys: 1.0,
        });
        groups.len() - 1
    });
    let Some(group) = groups.get_mut(at) else { return };
    let (read, write) = (
        part.read * operation.peak_at(factor),
        part.write * operation.peak_at(factor),
    );
    if !group.load.entities.contains(&path.entity.name) {
        group.load.entities.push(path.entity.name.clone());
    }
    if share > group.load.share {
        (group.load.share, group.load.why) = (share, why);
    }
    group.keys = group.keys.max(keys_of(model, path));
    group.load.busiest.read += read * share;
    group.load.busiest.write += write * share;
    group.all.read += read;
    group.all.write += write;
}

fn finished(group: Group) -> KeyLoad {
    let (all, keys, mut load) = (group.all, group.keys, group.load);
    let limits = [
        (load.busiest.read, all.read, PARTITION_READ_UNITS_PER_SECOND_MAX as f64),
        (
            load.busiest.write,
            all.write,
            PARTITION_WRITE_UNITS_PER_SECOND_MAX as f64,
        ),
    ];
    let loaded = || limits.iter().filter(|(busiest, ..)| *busiest > 0.0);
    load.limit_at = loaded().map(|(busiest, _, limit)| limit / busiest).reduce(f64::min);
    // Beside the busiest key all others are taken as alike.
    load.throttles_at = loaded()
        .filter_map(|(busiest, all, limit)| {
            let (share, others) = (busiest / all, keys - 1.0);
            let rest = if others > 0.0 {
                (1.0 - share).max(0.0) / others
            } else {
                0.0
            };
            let busiest = AlikePartitions { share, count: 1.0 };
            let others = AlikePartitions {
                share: rest,
                count: others,
            };
            throttling_rate(&[busiest, others], *all, *limit, THROTTLED_SHARE)
        })
        .reduce(f64::min);
    load
}

/// A template without the names of its parts: what is filled from different attributes may be the same key.
fn shape_of(key: &str) -> String {
    let mut shape = String::new();
    let mut inside = false;
    for character in key.chars() {
        match character {
            '{' => inside = true,
            '}' => {
                inside = false;
                shape.push_str("{}");
            }
            _ if !inside => shape.push(character),
            _ => {}
        }
    }
    shape
}

/// The share of the busiest key: as estimated of the operation or the entity, else by how many keys there are.
pub fn busiest_share(model: &Model, path: &AccessPath<'_>, said: Option<f64>, is_write: bool) -> (f64, ShareSource) {
    let of = |entity: &Entity| model.estimate_of(&entity.name)?.top_share;
    let said = said
        .or_else(|| of(path.entity))
        .or_else(|| of(model.source_of(path.entity)));
    let mut parts = path.partition_templates().iter().flat_map(|key| &key.parts).peekable();
    if parts.peek().is_none() {
        return (1.0, ShareSource::OneKey);
    }
    let source = model.source_of(path.entity);
    let of_clock = path
        .partition_templates()
        .iter()
        .flat_map(|key| &key.parts)
        .all(|part| is_of_clock(source, part));
    if is_write && of_clock {
        return (1.0, ShareSource::OneKey);
    }
    let keys = keys_of(model, path);
    let has_shares = |part: &KeyPart| {
        let estimate = model.estimate_of(&source.name);
        estimate.is_some_and(|estimate| estimate.shares.iter().any(|shares| shares.attribute == part.path))
    };
    match said {
        // Fewer keys than the share says cannot be.
        Some(said) => (said.max(1.0 / keys).min(1.0), ShareSource::Said),
        None if parts.any(has_shares) => (1.0 / keys, ShareSource::Said),
        None if keys <= 1.0 => (1.0, ShareSource::OneKey),
        None => (1.0 / keys, ShareSource::Even),
    }
}

/// How many partitions a key is expected to have.
fn keys_of(model: &Model, path: &AccessPath<'_>) -> f64 {
    let source = model.source_of(path.entity);
    let mut seen: Vec<&str> = Vec::new();
    let mut keys = 1.0;
    for part in path.partition_templates().iter().flat_map(|key| &key.parts) {
        if !seen.contains(&part.path.as_str()) {
            seen.push(&part.path);
            keys *= values_expected(model, source, part);
        }
    }
    keys
}

/// Whether new rows take a part of a key from the clock: all that are written in one day have the same.
fn is_of_clock(entity: &Entity, part: &KeyPart) -> bool {
    let by_day = matches!(
        (part.function, &part.ty),
        (Some(PartFunction::Day | PartFunction::Month | PartFunction::Year), _) | (None, Type::Date | Type::Month)
    );
    let clock = |expr: &Expr| expr.any(|part| matches!(part.kind, ExprKind::Now | ExprKind::Today));
    let own = |attribute: &Attribute| [&attribute.default, &attribute.always].into_iter().flatten().any(clock);
    by_day && entity.attribute(part.root_attribute()).is_some_and(own)
}
