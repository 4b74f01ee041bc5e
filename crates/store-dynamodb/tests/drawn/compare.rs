//! Whether two stores answered the same, but for what DynamoDB Local is known to do otherwise than DynamoDB.

use singlet_item::{Item, Value};
use singlet_store::{BatchWrite, Cancellation, ErrorKind, IndexKind, IndexSpec, StoreError, TableSpec};

use crate::answers::{Answer, Page, Seen};
use crate::requests::Request;

/// Compares what our store answered with what DynamoDB Local did.
pub fn compare(spec: &TableSpec, request: &Request, theirs: &Seen, ours: &Seen) -> Result<(), String> {
    let differ = |what: &str| Err(format!("{what}\ntheirs {theirs:?}\nours   {ours:?}"));
    match (&theirs.answer, &ours.answer) {
        (Ok(their), Ok(our)) if their != our && !same_but_for_ties(spec, request, their, our) => {
            differ("answers differ")
        }
        (Ok(_), Err(_)) => differ("only ours refuses"),
        (Err(_), Ok(_)) => differ("only theirs refuses"),
        (Err(their), Err(our)) if !judged_the_same(their, our) => differ("refusals differ"),
        (Ok(_), Ok(_)) if !same_capacity(spec, request, theirs, ours) => differ("capacity differs"),
        _ => Ok(()),
    }
}

/// Whether lists of an index differ only in the order of entries that have the same key there, which DynamoDB does not define.
fn same_but_for_ties(spec: &TableSpec, request: &Request, theirs: &Answer, ours: &Answer) -> bool {
    let (Request::Query(request), Answer::Pages(theirs), Answer::Pages(ours)) = (request, theirs, ours) else {
        return false;
    };
    let Some(index) = spec
        .indexes
        .iter()
        .find(|index| request.index.as_ref() == Some(&index.name))
    else {
        return false;
    };
    let all = |pages: &[Page]| -> Vec<Item> { pages.iter().flat_map(|page| page.items.clone()).collect() };
    let sums = |pages: &[Page]| -> (usize, usize) {
        let scanned = pages.iter().map(|page| page.scanned).sum();
        (pages.iter().map(|page| page.count).sum(), scanned)
    };
    let order = |items: &[Item]| -> Vec<Option<Value>> {
        let sort = index.key.sort.first();
        items
            .iter()
            .map(|item| sort.and_then(|sort| item.get(&sort.name).cloned()))
            .collect()
    };
    let (mut theirs_all, mut ours_all) = (all(theirs), all(ours));
    let same_order = order(&theirs_all) == order(&ours_all);
    theirs_all.sort();
    ours_all.sort();
    same_order && theirs_all == ours_all && sums(theirs) == sums(ours)
}

/// Whether capacity is the same, but for what DynamoDB Local counts otherwise than DynamoDB. Those with the name of a
/// [`Difference`](singlet_store::conformance::Difference) have a case of the conformance suite, which asserts what is right.
fn same_capacity(spec: &TableSpec, request: &Request, theirs: &Seen, ours: &Seen) -> bool {
    let table = spec.name.as_str();
    let (their, our) = (theirs.consumed.table(table), ours.consumed.table(table));
    let (their_writes, our_writes) = (their.write.get(), our.write.get());
    match request {
        // `AbsentItemInABatchIsFree`.
        Request::BatchGet(request) => {
            let (Ok(Answer::Items(found)), [asked]) = (&ours.answer, request.tables.as_slice()) else {
                return false;
            };
            let absent = asked.keys.len() - found.len();
            let least = if asked.consistent { 2 } else { 1 };
            their.read.half_count() + absent as u64 * least == our.read.half_count()
        }
        // `IndexScansCountWholeItems`; and where a page ends, up to which its bytes are summed, is each store's own.
        Request::Scan(request) if request.index.is_some() || request.limit.is_some() || request.segment.is_some() => {
            true
        }
        // `ConditionCheckRoundsAsARead`, `DeletingNothingInATransactionCostsOne` (or nothing, where it is not alone),
        // `TransactionDoublesIndexWrites`.
        Request::TransactWrite(_) => {
            let is_doubled = |index: &IndexSpec| {
                let (their, our) = (
                    theirs.consumed.index_units(table, &index.name),
                    ours.consumed.index_units(table, &index.name),
                );
                their.write.get() <= 2 * our.write.get() || has_part_of_key(index)
            };
            their_writes <= our_writes && spec.indexes.iter().all(is_doubled)
        }
        // A delete of nothing in a batch costs it two units. In DynamoDB it costs one.
        Request::BatchWrite(request) => {
            let deletes = request
                .writes
                .iter()
                .filter(|write| matches!(write, BatchWrite::Delete { .. }));
            (our_writes..=our_writes + deletes.count() as u64).contains(&their_writes)
                && same_index_writes(spec, theirs, ours)
        }
        Request::Put(_) | Request::Update(_) | Request::Delete(_) => {
            their == our && same_index_writes(spec, theirs, ours)
        }
        // It counts a read of the table for some queries of a local index that holds all that is asked for.
        Request::Query(request) if request.index.as_deref() == Some("by-h") => {
            let of_index = |seen: &Seen| seen.consumed.index_units(table, "by-h");
            of_index(theirs) == of_index(ours) && their.read >= our.read
        }
        Request::Get(_) | Request::TransactGet(_) | Request::Query(_) | Request::Scan(_) => {
            theirs.consumed == ours.consumed
        }
    }
}

fn same_index_writes(spec: &TableSpec, theirs: &Seen, ours: &Seen) -> bool {
    spec.indexes.iter().all(|index| {
        let of = |seen: &Seen| seen.consumed.index_units(&spec.name, &index.name).write.get();
        of(theirs) == of(ours) || (has_part_of_key(index) && of(theirs) > of(ours))
    })
}

/// Whether an item can have a part of an index's key. DynamoDB Local counts a write of the index then, though the item is not in it.
fn has_part_of_key(index: &IndexSpec) -> bool {
    index.kind == IndexKind::Global && index.key.attributes().count() > 1
}

/// Compares what our store answered with what it did behind the protocol.
pub fn compare_same(ours: &Seen, through: &Seen) -> Result<(), String> {
    let is_same = match (&ours.answer, &through.answer) {
        (Ok(our), Ok(other)) => our == other && ours.consumed == through.consumed,
        (Err(our), Err(other)) => same_refusal(our, other) || (our.is_bad_request() && is_wrong(other)),
        _ => false,
    };
    match is_same {
        true => Ok(()),
        false => Err(format!(
            "the protocol answers otherwise\ndirectly {ours:?}\nthrough  {through:?}"
        )),
    }
}

/// Whether DynamoDB Local refuses the same, but for what it says otherwise than DynamoDB.
fn judged_the_same(theirs: &StoreError, ours: &StoreError) -> bool {
    match (theirs.kind(), ours.kind()) {
        // `WrongActionIsNotNamed`: an update that an item does not allow.
        (ErrorKind::BadRequest | ErrorKind::TooLarge, ErrorKind::Cancelled(reasons)) => reasons.iter().any(is_invalid),
        (ErrorKind::BadRequest | ErrorKind::TooLarge, ErrorKind::BadRequest | ErrorKind::TooLarge) => true,
        // A read that is wrong is refused without reasons.
        (ErrorKind::Cancelled(theirs), ErrorKind::Cancelled(_) | ErrorKind::BadRequest) if theirs.is_empty() => true,
        // It looks at the condition before it sees that an update changes a key.
        (ErrorKind::ConditionFailed { .. }, ErrorKind::BadRequest) => ours.message().contains("is part of the key"),
        _ => same_refusal(theirs, ours),
    }
}

fn same_refusal(one: &StoreError, other: &StoreError) -> bool {
    match (one.kind(), other.kind()) {
        (ErrorKind::Cancelled(one), ErrorKind::Cancelled(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_reason(one, other))
        }
        (one, other) => one == other,
    }
}

/// Whether a request is wrong as it is. Of two things that are wrong either may be said.
fn is_wrong(error: &StoreError) -> bool {
    match error.kind() {
        ErrorKind::BadRequest | ErrorKind::TooLarge => true,
        ErrorKind::Cancelled(reasons) => reasons.iter().any(is_invalid),
        _ => false,
    }
}

fn is_invalid(reason: &Cancellation) -> bool {
    matches!(reason, Cancellation::Invalid(_) | Cancellation::TooLarge)
}

fn same_reason(one: &Cancellation, other: &Cancellation) -> bool {
    match (one, other) {
        (Cancellation::Invalid(_), Cancellation::Invalid(_)) => true,
        (one, other) => one == other,
    }
}
