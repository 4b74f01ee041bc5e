//! What a store answers.

use crate::{BatchGetTable, BatchWrite, Consumed};
use serde::{Deserialize, Serialize};
use singlet_item::Item;
use std::collections::BTreeMap;

/// The item of a get, if it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetAnswer {
    /// The item, projected.
    pub item: Option<Item>,
    /// What it consumed.
    pub consumed: Consumed,
}

/// The items of a batch of gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchGetAnswer {
    /// The items that are there, by table, in no order.
    pub items: BTreeMap<String, Vec<Item>>,
    /// What was not read, to be asked again.
    pub unprocessed: Vec<BatchGetTable>,
    /// What it consumed.
    pub consumed: Consumed,
}

/// One page of a query or a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAnswer {
    /// The items that passed the filter. Empty when only a count was asked.
    pub items: Vec<Item>,
    /// How many passed the filter.
    pub count: usize,
    /// How many were evaluated.
    pub scanned: usize,
    /// Where the next page starts. With none, there is no more; with one, there may or may not be.
    pub last_key: Option<Item>,
    /// What it consumed.
    pub consumed: Consumed,
}

/// The items of a transactional read, in the order asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactGetAnswer {
    /// One entry per get.
    pub items: Vec<Option<Item>>,
    /// What it consumed.
    pub consumed: Consumed,
}

/// What came of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteAnswer {
    /// What was asked to be returned, if there is any.
    pub attributes: Option<Item>,
    /// What it consumed.
    pub consumed: Consumed,
}

/// What came of a batch of writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchWriteAnswer {
    /// What was not written, to be asked again.
    pub unprocessed: Vec<BatchWrite>,
    /// What it consumed.
    pub consumed: Consumed,
}
