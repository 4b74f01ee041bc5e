//! A stream as DynamoDB has them, in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use async_trait::async_trait;
use singlet_item::Item;
use singlet_store::{Result, StoreError, StreamEvent, StreamRecord};

use super::ShardCalls;
use crate::shards::{Shard, ShardPlace};

/// A stream.
pub(super) struct FakeStream(Mutex<FakeStreamState>);

#[derive(Default)]
struct FakeStreamState {
    shards: BTreeMap<String, FakeShard>,
    hidden: BTreeSet<String>,
    throttled: BTreeSet<String>,
    /// Where iterators stand: shard, and how many slots are behind them.
    iterators: HashMap<String, (String, usize)>,
    numbers: u64,
    page_shards: usize,
    /// How often it was listed, and how often read.
    calls: (usize, usize),
}

#[derive(Default)]
struct FakeShard {
    parent: Option<String>,
    is_closed: bool,
    /// A slot without a record is a stretch in which nothing happened.
    slots: Vec<Option<StreamRecord>>,
    trimmed_slots: usize,
}

impl FakeStream {
    pub(super) fn with_shards(shards: &[(&str, Option<&str>)]) -> Self {
        let shard = |(id, parent): &(&str, Option<&str>)| {
            let shard = FakeShard {
                parent: parent.map(str::to_owned),
                ..FakeShard::default()
            };
            ((*id).to_owned(), shard)
        };
        FakeStream(Mutex::new(FakeStreamState {
            shards: shards.iter().map(shard).collect(),
            page_shards: 100,
            ..FakeStreamState::default()
        }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, FakeStreamState> {
        self.0.lock().unwrap()
    }

    /// The number that a record was made with.
    pub(super) fn number(record: &StreamRecord) -> u64 {
        record.sequence.parse().unwrap()
    }

    /// Whether records of a shard and of those that come from it are in the order they were made.
    pub(super) fn keeps_lines(records: &[StreamRecord]) -> bool {
        let line = |record: &StreamRecord| record.key["shard"].as_str().unwrap().to_owned();
        records.iter().enumerate().all(|(at, record)| {
            let later = &records[at..];
            // The names of shards begin with those that they come from.
            later.iter().all(|later| {
                let related = line(later).starts_with(&line(record)) || line(record).starts_with(&line(later));
                !related || Self::number(later) >= Self::number(record)
            })
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.state().numbers
    }

    pub(super) fn open_shards(&self) -> Vec<String> {
        let state = self.state();
        let open = state.shards.iter().filter(|(_, shard)| !shard.is_closed);
        open.map(|(id, _)| id.clone()).collect()
    }

    /// A change.
    pub(super) fn put(&self, shard: &str) {
        let mut state = self.state();
        state.numbers += 1;
        let number = state.numbers;
        let record = StreamRecord {
            sequence: number.to_string(),
            event: StreamEvent::Insert,
            key: Item::from([("shard".to_owned(), shard.into())]),
            old: None,
            new: None,
            at_seconds: 0,
            expired: false,
        };
        state.shards.get_mut(shard).unwrap().slots.push(Some(record));
    }

    /// A change that another store told, in the shard of its item: items stay in the line of shards that come from one another.
    pub(super) fn put_told(&self, record: StreamRecord) {
        let mut hash = DefaultHasher::new();
        format!("{:?}", record.key).hash(&mut hash);
        let mut bits = hash.finish();
        let mut state = self.state();
        let mut parent: Option<String> = None;
        loop {
            let children: Vec<String> = state
                .shards
                .iter()
                .filter(|(_, shard)| {
                    shard.parent.as_ref().filter(|id| state.shards.contains_key(*id)) == parent.as_ref()
                })
                .map(|(id, _)| id.clone())
                .collect();
            let at = usize::try_from(bits % 7).unwrap() % children.len();
            bits = bits.rotate_right(3);
            let shard = state.shards.get_mut(&children[at]).unwrap();
            if !shard.is_closed {
                shard.slots.push(Some(record));
                return;
            }
            parent = Some(children[at].clone());
        }
    }

    pub(super) fn leave_gap(&self, shard: &str) {
        self.state().shards.get_mut(shard).unwrap().slots.push(None);
    }

    /// Closes a shard; others come after it.
    pub(super) fn roll(&self, shard: &str, children: &[&str]) {
        let mut state = self.state();
        state.shards.get_mut(shard).unwrap().is_closed = true;
        for child in children {
            let new = FakeShard {
                parent: Some(shard.to_owned()),
                ..FakeShard::default()
            };
            state.shards.insert((*child).to_owned(), new);
        }
    }

    /// Removes the oldest slots.
    pub(super) fn trim(&self, shard: &str, slots: usize) {
        self.state().shards.get_mut(shard).unwrap().trimmed_slots = slots;
    }

    /// Removes all but the newest slots.
    pub(super) fn trim_to_last(&self, shard: &str, slots: usize) {
        let mut state = self.state();
        let shard = state.shards.get_mut(shard).unwrap();
        shard.trimmed_slots = shard.slots.len().saturating_sub(slots);
    }

    pub(super) fn remove(&self, shard: &str) {
        let mut state = self.state();
        state.shards.remove(shard);
        state.iterators.retain(|_, (of, _)| of != shard);
    }

    /// Leaves a shard out of listings.
    pub(super) fn hide(&self, shard: &str) {
        self.state().hidden.insert(shard.to_owned());
    }

    pub(super) fn show_all(&self) {
        self.state().hidden.clear();
    }

    pub(super) fn throttle(&self, shards: &[&str]) {
        self.state().throttled = shards.iter().map(|shard| (*shard).to_owned()).collect();
    }

    pub(super) fn age_iterators(&self) {
        self.state().iterators.clear();
    }

    /// How often shards were listed, and how often one was read, since this was last asked.
    pub(super) fn take_calls(&self) -> (usize, usize) {
        std::mem::take(&mut self.state().calls)
    }

    pub(super) fn list_by(&self, shards: usize) {
        self.state().page_shards = shards;
    }
}

impl FakeStreamState {
    fn iterator_at(&mut self, shard: &str, slot: usize) -> String {
        let name = format!("{shard}@{slot}");
        self.iterators.insert(name.clone(), (shard.to_owned(), slot));
        name
    }
}

#[async_trait]
impl ShardCalls for FakeStream {
    async fn list_shards(&self, _: &str, after: Option<String>) -> Result<(Vec<Shard>, Option<String>)> {
        let mut state = self.state();
        state.calls.0 += 1;
        let listed = state.shards.iter().filter(|(id, _)| !state.hidden.contains(*id));
        let mut listed = listed.filter(|(id, _)| after.as_ref().is_none_or(|after| *id > after));
        let page = listed.by_ref().take(state.page_shards).map(|(id, shard)| Shard {
            id: id.clone(),
            parent: shard.parent.clone(),
            is_closed: shard.is_closed,
        });
        let page: Vec<Shard> = page.collect();
        let last = page.last().map(|shard| shard.id.clone());
        let has_more = listed.next().is_some();
        Ok((page, last.filter(|_| has_more)))
    }

    async fn open_iterator(&self, _: &str, shard: &str, place: &ShardPlace) -> Result<String> {
        let mut state = self.state();
        let gone = || StoreError::from_protocol("ResourceNotFoundException", "no such shard");
        let found = state.shards.get(shard).ok_or_else(gone)?;
        let slot = match place {
            ShardPlace::Perhaps | ShardPlace::Start | ShardPlace::End => found.trimmed_slots,
            ShardPlace::After(sequence) => {
                let is_it = |slot: &Option<StreamRecord>| slot.as_ref().is_some_and(|slot| slot.sequence == *sequence);
                let slot = found.slots.iter().position(is_it).map(|at| at + 1).unwrap();
                if slot < found.trimmed_slots {
                    return Err(StoreError::from_protocol("TrimmedDataAccessException", "trimmed"));
                }
                slot
            }
        };
        Ok(state.iterator_at(shard, slot))
    }

    async fn read_iterator(&self, iterator: &str, limit: usize) -> Result<(Vec<StreamRecord>, Option<String>)> {
        let mut state = self.state();
        state.calls.1 += 1;
        let aged = || StoreError::from_protocol("ExpiredIteratorException", "aged");
        let (shard, slot) = state.iterators.get(iterator).cloned().ok_or_else(aged)?;
        if state.throttled.contains(&shard) {
            let message = "The request rate is too high";
            return Err(StoreError::from_protocol(
                "ProvisionedThroughputExceededException",
                message,
            ));
        }
        let found = &state.shards[&shard];
        if slot < found.trimmed_slots {
            return Err(StoreError::from_protocol("TrimmedDataAccessException", "trimmed"));
        }
        // A page ends before a stretch without records, and such a stretch is a page of its own.
        let slots = &found.slots[slot..];
        let (records, passed): (Vec<StreamRecord>, usize) = match slots.first() {
            Some(None) => (Vec::new(), 1),
            _ => {
                let records: Vec<_> = slots.iter().map_while(Clone::clone).take(limit).collect();
                let passed = records.len();
                (records, passed)
            }
        };
        let is_over = found.is_closed && slot + passed == found.slots.len();
        let next = (!is_over).then(|| state.iterator_at(&shard, slot + passed));
        Ok((records, next))
    }
}
