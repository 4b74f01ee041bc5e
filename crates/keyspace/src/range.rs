//! Rows of a state in the order of their keys, merged from its layers.
//!
//! **Invariant: of a key the newest layer decides.** Whoever takes a row takes it from all layers beneath, too: an older value, or a row
//! that was deleted since, would otherwise come after it as a row of its own.

use crate::base::BaseRange;
use crate::bytes::{Key, Value};
use crate::layers::Known;
use crate::{Error, Result};
use imbl::ordmap::RangedIter;
use imbl::shared_ptr::DefaultSharedPtr;
use std::cmp::Ordering;
use std::collections::btree_map;
use std::ops::Bound;
use std::sync::Arc;

/// The order in which a range answers its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The smallest key first.
    Forward,
    /// The greatest key first.
    Backward,
}

pub(crate) type Bounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// Rows of a state in the order of their keys, found as they are asked for. After an error it ends.
#[must_use]
pub struct Range<'a> {
    direction: Direction,
    /// The newest first.
    layers: Vec<Layer<'a>>,
    begun: bool,
    /// Why it could not begin.
    failed: Option<Error>,
}

struct Layer<'a> {
    rows: LayerRows<'a>,
    /// Its next row, which is not answered yet.
    head: Option<Row>,
}

/// A key, and its value unless it is deleted there.
type Row = (Key, Option<Value>);

/// Where rows of one layer come from.
pub(crate) enum LayerRows<'a> {
    Memory(RangedIter<'a, Arc<[u8]>, Known, DefaultSharedPtr>),
    Base(BaseRange),
    Draft(btree_map::Range<'a, Arc<[u8]>, Known>),
}

/// Whether nothing can lie within bounds, which some maps refuse with a panic.
pub(crate) fn is_empty((from, to): Bounds<'_>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        // Equal and both included is one key; otherwise equal bounds hold nothing.
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
    }
}

impl<'a> Range<'a> {
    pub(crate) fn new(direction: Direction, sources: impl IntoIterator<Item = LayerRows<'a>>) -> Self {
        let layers = sources.into_iter().map(|rows| Layer { rows, head: None }).collect();
        Self {
            direction,
            layers,
            begun: false,
            failed: None,
        }
    }

    pub(crate) fn failed(error: Error) -> Self {
        Self {
            failed: Some(error),
            ..Self::empty()
        }
    }

    pub(crate) fn empty() -> Self {
        Self::new(Direction::Forward, [])
    }

    fn advance(&mut self) -> Result<Option<Row>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        // Not in `new`: a layer may fail to be read, and a range that is never asked reads nothing.
        if !self.begun {
            self.begun = true;
            for layer in &mut self.layers {
                layer.head = layer.rows.next_row(self.direction)?;
            }
        }
        let Some(first) = self.first_layer() else {
            return Ok(None);
        };
        let Some(row) = self.take_head(first)? else {
            return Ok(None);
        };
        // Older layers do not decide about a key that a newer one knows.
        // Only those behind it: a newer one with the same key would have been first.
        for index in first + 1..self.layers.len() {
            let same = self
                .layers
                .get(index)
                .and_then(|layer| layer.head.as_ref())
                .is_some_and(|head| *head.0 == *row.0);
            if same {
                // Passed over now, or the older value would come as a row of its own.
                self.take_head(index)?;
            }
        }
        Ok(Some(row))
    }

    /// The layer whose next row comes first, the newest of several with the same key.
    fn first_layer(&self) -> Option<usize> {
        let mut first: Option<(usize, &[u8])> = None;
        for (index, layer) in self.layers.iter().enumerate() {
            let Some((key, _)) = &layer.head else { continue };
            let before = first.is_none_or(|(_, least)| match self.direction {
                Direction::Forward => key.as_ref().cmp(least) == Ordering::Less,
                // Strictly before, so that of equal keys the newest layer's stays.
                Direction::Backward => key.as_ref().cmp(least) == Ordering::Greater,
            });
            if before {
                first = Some((index, key));
            }
        }
        first.map(|(index, _)| index)
    }

    fn take_head(&mut self, index: usize) -> Result<Option<Row>> {
        let Some(layer) = self.layers.get_mut(index) else {
            return Ok(None);
        };
        let next = layer.rows.next_row(self.direction)?;
        Ok(std::mem::replace(&mut layer.head, next))
    }
}

impl Iterator for Range<'_> {
    type Item = Result<(Key, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.advance() {
                Ok(Some((key, Some(value)))) => return Some(Ok((key, value))),
                // A deletion is no row, but it had to be taken to hide those beneath.
                Ok(Some((_, None))) => {}
                Ok(None) => return None,
                Err(error) => {
                    // After an error nothing more comes: rows behind the place that could not be read would look like all there
                    // are.
                    self.layers.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl std::iter::FusedIterator for Range<'_> {}

impl LayerRows<'_> {
    fn next_row(&mut self, direction: Direction) -> Result<Option<Row>> {
        let row = match (self, direction) {
            (Self::Memory(rows), Direction::Forward) => rows.next(),
            (Self::Memory(rows), Direction::Backward) => rows.next_back(),
            (Self::Draft(rows), Direction::Forward) => rows.next(),
            (Self::Draft(rows), Direction::Backward) => rows.next_back(),
            (Self::Base(rows), direction) => {
                let row = rows.next_row(direction)?;
                return Ok(row.map(|(key, value)| (key, Some(value))));
            }
        };
        Ok(row.map(|(key, value)| (Key::from(key), value.as_ref().map(Value::from))))
    }
}
