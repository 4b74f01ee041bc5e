//! How often rows are read and written, from the estimates: what is certain, and what is the most.

use std::collections::HashMap;

use singlet_item::capacity::{Consistency, WriteMode, get_units, write_units};
use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, PAGE_SIZE_BYTES_MAX};
use singlet_model::Model;
use singlet_model::model::{Entity, Estimate, Read, Selection, SelectionKind, StepKind, Write};
use singlet_model::types::EntityId;
use singlet_plan::write::write_turns;

use crate::Context;

/// Units a second: at least, and at most where every operation has an estimate.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What the estimates make certain.
    pub least: f64,
    /// The most that it can be; nothing where an operation has no estimate.
    pub most: Option<f64>,
}

impl Default for Load {
    fn default() -> Self {
        Load {
            least: 0.0,
            most: Some(0.0),
        }
    }
}

impl Load {
    fn add(&mut self, least: Option<f64>, most: Option<f64>) {
        self.least += least.unwrap_or(0.0);
        self.most = self.most.zip(most).map(|(all, more)| all + more);
    }

    /// Whether even one partition would carry all of it with ease: a tenth of what it serves.
    fn is_far_below(&self, units_max: u64) -> bool {
        self.most.is_some_and(|most| most * 10.0 <= units_max as f64)
    }
}

/// The load of each entity's rows, its mirrors' included under the entity itself.
#[derive(Default)]
pub(crate) struct Traffic<'a> {
    estimates: HashMap<&'a str, &'a Estimate>,
    /// Write units a second on the table, by the source of the rows.
    writes: HashMap<EntityId, Load>,
    /// Read units a second, by the source of the rows.
    reads: HashMap<EntityId, Load>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn of(context: &Context<'a>) -> Self {
        let model = context.model;
        let estimates = model
            .estimates
            .iter()
            .map(|estimate| (estimate.subject.as_str(), estimate))
            .collect();
        let mut traffic = Traffic {
            estimates,
            writes: HashMap::new(),
            reads: HashMap::new(),
        };
        if !model.estimates.is_empty() {
            model.writes.iter().for_each(|write| traffic.take_write(context, write));
            let reads = context.read_selections();
            reads.for_each(|(read, selection, entity)| traffic.take_read(context, read, selection, entity));
        }
        traffic
    }

    /// The estimate for an entity, a read or a write.
    pub fn estimate_of(&self, subject: &str) -> Option<&'a Estimate> {
        self.estimates.get(subject).copied()
    }

    /// How often a read or a write runs, a second.
    pub fn rate_of(&self, subject: &str) -> Option<f64> {
        Some(self.estimate_of(subject)?.rate?.per_second())
    }

    /// Write units a second on the rows of an entity.
    pub fn write_load(&self, model: &Model, entity: &Entity) -> Load {
        let source = model.source_of(entity);
        let units = self.units_of_a_write(source);
        match self.rate_of(&source.name) {
            Some(rate) => Load {
                least: rate * units,
                most: Some(rate * units),
            },
            None => self.writes.get(&source.id).copied().unwrap_or_default(),
        }
    }

    /// The reads and writes of an entity's rows whose rate is not estimated, so that nothing is known of the most that there can be.
    pub fn unrated_operations(&self, context: &Context<'a>, entity: &Entity) -> Vec<&'a str> {
        let model = context.model;
        let source = model.source_of(entity).id;
        let is_it = |id: Option<EntityId>| {
            id.and_then(|id| model.entity(id))
                .is_some_and(|of| model.source_of(of).id == source)
        };
        let writes = model.writes.iter().filter(|write| {
            let touched = write_turns(model, write);
            self.rate_of(&model.source_of(entity).name).is_none()
                && touched.iter().any(|turn| is_it(turn.step.entity()))
        });
        let reads = context.read_selections().filter(|(_, _, of)| is_it(Some(of.id)));
        let names = writes
            .map(|write| write.name.as_str())
            .chain(reads.map(|(read, ..)| read.name.as_str()));
        let mut unrated: Vec<&str> = Vec::new();
        for name in names.filter(|name| self.rate_of(name).is_none()) {
            if !unrated.contains(&name) {
                unrated.push(name);
            }
        }
        unrated
    }

    /// Whether the estimates show that one partition would carry all reads and writes of an entity with ease.
    pub(crate) fn is_light(&self, model: &Model, entity: &Entity) -> bool {
        let source = model.source_of(entity);
        let reads = self.reads.get(&source.id).copied().unwrap_or_default();
        let estimated = !self.estimates.is_empty();
        // An update that moves an index entry writes twice: half the limit is allowed for.
        let writes = self
            .write_load(model, entity)
            .is_far_below(singlet_item::limits::PARTITION_WRITE_UNITS_PER_SECOND_MAX / 2);
        estimated && writes && reads.is_far_below(singlet_item::limits::PARTITION_READ_UNITS_PER_SECOND_MAX)
    }

    /// The bytes of a usual row, where estimated.
    pub fn bytes(&self, model: &Model, entity: &Entity) -> Option<usize> {
        let own = self.estimate_of(&entity.name).and_then(|estimate| estimate.bytes);
        let source = || self.estimate_of(&model.source_of(entity).name)?.bytes;
        usize::try_from(own.or_else(source)?).ok()
    }

    fn units_of_a_write(&self, entity: &Entity) -> f64 {
        let bytes = self
            .estimate_of(&entity.name)
            .and_then(|estimate| usize::try_from(estimate.bytes?).ok());
        write_units(None, bytes, WriteMode::Single).get() as f64
    }

    fn take_write(&mut self, context: &Context<'a>, write: &'a Write) {
        let rate = self.rate_of(&write.name);
        for turn in write_turns(context.model, write) {
            let Some(entity) = turn.step.entity().and_then(|entity| context.model.entity(entity)) else {
                continue;
            };
            let units = self.units_of_a_write(entity);
            let looks = matches!(turn.step.kind, StepKind::Present(_) | StepKind::Absent(_));
            let least = if looks { 0 } else { turn.least_times() };
            let most_units = self.bytes(context.model, entity).map_or_else(
                || write_units(None, Some(largest_bytes(context, entity)), WriteMode::Transaction).get() as f64,
                |_| 2.0 * units,
            );
            let most = rate
                .zip(turn.most_times())
                .map(|(rate, times)| rate * times as f64 * most_units);
            let load = self.writes.entry(context.model.source_of(entity).id).or_default();
            load.add(rate.map(|rate| rate * least as f64 * units), most);
        }
    }

    fn take_read(&mut self, context: &Context<'a>, read: &'a Read, selection: &'a Selection, entity: &'a Entity) {
        let rate = self.rate_of(&read.name);
        let bytes = self.bytes(context.model, entity);
        let row = bytes.unwrap_or_else(|| largest_bytes(context, entity));
        let rows = rows_max(read, selection).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
        let page = rows
            .map_or(PAGE_SIZE_BYTES_MAX, |rows| rows.saturating_mul(row))
            .min(PAGE_SIZE_BYTES_MAX);
        let units = get_units(page, Consistency::Strong).half_count() as f64 / 2.0;
        let turns = read.each.as_ref().map_or(1, |each| each.at_most);
        let load = self.reads.entry(context.model.source_of(entity).id).or_default();
        load.add(None, rate.map(|rate| rate * units * turns as f64));
    }
}

fn largest_bytes(context: &Context<'_>, entity: &Entity) -> usize {
    let bound = context.size_bound(entity).filter(|bound| bound.complete);
    let bytes = bound.and_then(|bound| usize::try_from(bound.bytes).ok());
    bytes.unwrap_or(ITEM_SIZE_BYTES_MAX).min(ITEM_SIZE_BYTES_MAX)
}

/// The rows that a page of a read evaluates at most, where the read says.
pub fn rows_max(read: &Read, selection: &Selection) -> Option<u64> {
    match selection.kind {
        SelectionKind::Get { .. } => Some(1),
        SelectionKind::Find => selection.limit.or(read.page),
        SelectionKind::Count => None,
    }
}
