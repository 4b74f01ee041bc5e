//! Items by their keys.

use std::collections::BTreeSet;

use singlet_item::Item;
use singlet_item::capacity::{Consistency, get_units};
use singlet_item::limits::{BATCH_BYTES_MAX, TRANSACTION_BYTES_MAX};
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchGetTable, Cancellation, Consumed, GetAnswer, GetRequest, ItemLookup, Paths,
    Result, TableConsumed, TransactGetAnswer, TransactGetRequest, Units, WantedItem, render,
};

use crate::catalogue::Catalogue;
use crate::check::{check_key, check_key_values, check_values};
use crate::codec::{RawItem, WantedTest};
use crate::expression;
use crate::select::{Projection, returned_of_wanted};
use crate::view::View;
use crate::words;
use crate::write::Refusal;

pub(crate) fn get_item(catalogue: &Catalogue, view: &impl View, request: &GetRequest) -> Result<GetAnswer> {
    let read = read_one(catalogue, view, &request.table, &request.key, &request.projection)?;
    Ok(GetAnswer {
        consumed: read.consumed(&request.table, consistency(request.consistent)),
        item: read.item,
    })
}

/// [`get_item`] of what lies with who asks.
pub(crate) fn look_up(catalogue: &Catalogue, view: &impl View, lookup: ItemLookup<'_>) -> Result<GetAnswer> {
    expression::check_projection(lookup.projection)?;
    let table = catalogue.table(view, lookup.table)?;
    check_key_values(&table, lookup.key.len(), |name| lookup.key_value(name))?;
    let key = table.item_key_of(|name| lookup.key_value(name));
    let read = read_at(view, &key, lookup.projection, lookup.wanted)?;
    Ok(GetAnswer {
        consumed: read.consumed(lookup.table, consistency(lookup.consistent)),
        item: read.item,
    })
}

/// An item that was read, and how large it is as a whole.
struct Read {
    item: Option<Item>,
    size_bytes: usize,
}

impl Read {
    fn consumed(&self, table: &str, consistency: Consistency) -> Consumed {
        let consumed = TableConsumed {
            table: Units::read(get_units(self.size_bytes, consistency)),
            ..TableConsumed::default()
        };
        Consumed {
            tables: [(table.to_owned(), consumed)].into(),
        }
    }
}

fn read_one(catalogue: &Catalogue, view: &impl View, table: &str, key: &Item, projection: &Paths) -> Result<Read> {
    expression::check_projection(projection)?;
    check_values(key)?;
    let table = catalogue.table(view, table)?;
    check_key(&table, key)?;
    read_at(view, &table.item_key(key), projection, WantedItem::default())
}

fn read_at(view: &impl View, key: &[u8], projection: &Paths, wanted: WantedItem<'_>) -> Result<Read> {
    let Some(bytes) = view.value(key)? else {
        return Ok(Read {
            item: None,
            size_bytes: 0,
        });
    };
    let item = RawItem::new(&bytes)?;
    let projection = Projection::new(projection);
    Ok(Read {
        item: returned_of_wanted(projection.as_ref(), item, WantedTest::of(wanted))?,
        size_bytes: item.size_bytes(),
    })
}

fn consistency(consistent: bool) -> Consistency {
    match consistent {
        true => Consistency::Strong,
        false => Consistency::Eventual,
    }
}

pub(crate) fn batch_get(catalogue: &Catalogue, view: &impl View, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
    render::check_batch_get(request)?;
    let mut answer = BatchGetAnswer::default();
    let mut bytes = 0;
    for asked in &request.tables {
        let mut seen = BTreeSet::new();
        // Refused as DynamoDB does, though it would do no harm here: a program that works here must work there.
        if !asked.keys.iter().all(|key| seen.insert(key)) {
            return Err(words::invalid_request("Provided list of item keys contains duplicates"));
        }
        // A table of which nothing is found is in the answer all the same.
        let mut items = Vec::new();
        let mut left = Vec::new();
        for key in &asked.keys {
            let read = read_one(catalogue, view, &asked.table, key, &asked.projection)?;
            // Sizes of what is returned would be less: DynamoDB counts whole items here too.
            if bytes + read.size_bytes > BATCH_BYTES_MAX {
                left.push(key.clone());
                continue;
            }
            bytes += read.size_bytes;
            answer.consumed += &read.consumed(&asked.table, consistency(asked.consistent));
            items.extend(read.item);
        }
        answer.items.insert(asked.table.clone(), items);
        if !left.is_empty() {
            answer.unprocessed.push(BatchGetTable {
                keys: left,
                ..asked.clone()
            });
        }
    }
    Ok(answer)
}

pub(crate) fn transact_get(
    catalogue: &Catalogue,
    view: &impl View,
    request: &TransactGetRequest,
) -> Result<TransactGetAnswer> {
    render::check_transact_get(request)?;
    let mut answer = TransactGetAnswer::default();
    let (mut seen, mut wrong, mut bytes) = (BTreeSet::new(), Vec::new(), 0);
    for (position, get) in request.gets.iter().enumerate() {
        if !seen.insert((&get.table, &get.key)) {
            return Err(words::invalid_request(
                "Transaction request cannot include multiple operations on one item",
            ));
        }
        let read = match read_one(catalogue, view, &get.table, &get.key, &get.projection) {
            Ok(read) => read,
            // A key that does not fit the table is the fault of its get, an empty one that of the request.
            Err(error) if words::is_of_key(&error) => {
                wrong.push((position, error));
                continue;
            }
            Err(error) => return Err(error),
        };
        bytes += read.size_bytes;
        if bytes > TRANSACTION_BYTES_MAX {
            return Err(words::transaction_too_large());
        }
        answer.consumed += &read.consumed(&get.table, Consistency::Transactional);
        // Of an item that has none of what is asked for there is nothing in the answer.
        answer.items.push(read.item.filter(|item| !item.is_empty()));
    }
    if wrong.is_empty() {
        return Ok(answer);
    }
    let mut reasons = vec![Cancellation::Nothing; request.gets.len()];
    for (position, error) in wrong {
        if let Some(reason) = reasons.get_mut(position) {
            *reason = Refusal::Error(error).into_reason()?;
        }
    }
    Err(words::cancelled_transaction(reasons))
}
