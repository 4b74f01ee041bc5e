//! Counts that the store makes itself: no row crosses the wire. It saves no capacity, which is counted on what is read.

use futures_util::{StreamExt, TryStreamExt};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::model::{Entity, Index, Projection};
use singlet_store::{Condition, Consumed, Path, QueryRequest, Select};

use crate::error::RuntimeError;
use crate::find::Reading;
use crate::keys;
use crate::lower;
use crate::retry;

/// How many rows there are, if the store can tell: one query, whose filter says all of the meaning. Counting ends past `most`.
pub(super) async fn count_by_store(reading: &Reading<'_>, most: u64) -> Result<Option<(u64, Consumed)>, RuntimeError> {
    // Two queries may have the same row, which a number does not show.
    let ([query], []) = (reading.plan.queries.as_slice(), reading.plan.covers.as_slice()) else {
        return Ok(None);
    };
    let split = lower::split_residue(reading.model, query, reading.scope)?;
    let entity = reading.model.entity(query.entity);
    // What only the process decides, or an expiry that the index does not carry, would be counted wrongly.
    let is_told = split.residue.is_empty() && !split.may_give_expired;
    let Some(entity) = entity.filter(|_| is_told && !query.follow && !query.scan) else {
        return Ok(None);
    };
    if split.empty {
        return Ok(Some((0, Consumed::default())));
    }
    let ranges = keys::query_ranges(reading.model, query, reading.scope)?;
    // A count has no rows that could be looked at once more.
    if ranges.iter().any(|range| !range.exact || !range.except.is_empty()) {
        return Ok(None);
    }
    let index = query.index.and_then(|index| reading.model.index(index));
    // Only the process tells such rows apart.
    if query.is_mixed {
        return Ok(None);
    }
    // An index that does not have the word for the kind of a row has no rows of other kinds in these ranges, or they would be mixed.
    let tells_kind = |index: &Index| match &index.projection {
        Projection::All => true,
        Projection::Keys => false,
        Projection::Include(names) => reading
            .model
            .table
            .type_attribute
            .iter()
            .all(|name| names.contains(name)),
    };
    let of_kind = is_of(reading.model, entity).filter(|_| index.is_none_or(tells_kind));
    let filter = [split.filter, of_kind];
    let filter = filter.into_iter().flatten().reduce(Condition::and);
    let counting = ranges.into_iter().map(|range| {
        let mut request = QueryRequest::new(reading.model.table.name.clone(), range.keys);
        request.index = index.map(|index| index.name.clone());
        request.filter = filter.clone();
        request.select = Select::Count;
        // DynamoDB refuses a strong read of an index.
        request.consistent = reading.consistent && index.is_none();
        count_pages(reading, request, most)
    });
    let counts = futures_util::stream::iter(counting).buffer_unordered(reading.bounds().calls_at_once);
    let counts: Vec<(u64, Consumed)> = counts.try_collect().await?;
    let mut all = (0_u64, Consumed::default());
    for (count, consumed) in &counts {
        all.0 = all.0.saturating_add(*count);
        all.1 += consumed;
    }
    Ok(Some(all))
}

async fn count_pages(
    reading: &Reading<'_>,
    mut request: QueryRequest,
    most: u64,
) -> Result<(u64, Consumed), RuntimeError> {
    let mut count = 0_u64;
    let mut consumed = Consumed::default();
    for _ in 0..reading.bounds().rounds_max {
        reading.budget.check_time(reading.name, reading.bounds())?;
        let turn = reading.budget.next_turn(reading.bounds()).await;
        let page = retry::with_retries(reading.bounds(), || reading.store.query(&request)).await?;
        drop(turn);
        reading.budget.take_page(&page)?;
        reading.budget.check_rows(reading.name, reading.bounds())?;
        // What passed the filter, and not what was looked at.
        count = count.saturating_add(page.count as u64);
        consumed += &page.consumed;
        request.start = page.last_key;
        // Enough to refuse it: what lies behind makes no difference.
        if request.start.is_none() || count > most {
            return Ok((count, consumed));
        }
    }
    Err(reading.reads_on_and_on())
}

/// Several entities may share an item collection: those of another kind do not count.
fn is_of(model: &Model, entity: &Entity) -> Option<Condition> {
    let name = Path::attribute(model.table.type_attribute.as_ref()?);
    let same = Condition::equal(name.clone(), Value::S(entity.name.clone()));
    // An item without a type may be a row, as it is wherever kinds are told apart.
    Some(Condition::not_exists(name).or(same))
}
