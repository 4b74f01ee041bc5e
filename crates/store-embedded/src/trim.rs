//! Changes that nobody needs any more.

use std::collections::BTreeMap;
use std::time::Duration;

use singlet_keyspace::{Direction, Draft};
use singlet_store::Result;

use crate::catalogue::Table;
use crate::layout::{self, Area};
use crate::stream::{self, Sequence};
use crate::totals::Totals;
use crate::view::{View, from_space};

/// Which changes of streams are kept.
///
/// The oldest go first. A change goes once it is older than `age_min` and every follower of its table has passed it; whatever its
/// followers, it goes when it is older than `age_max` or the changes of its table take more than `bytes_max`. Who then asks
/// for it is told that the position is lost.
#[derive(Clone, Debug)]
pub struct Retention {
    /// How long a change is kept at least, unless there are too many.
    pub age_min: Duration,
    /// How long a change is kept at most.
    pub age_max: Duration,
    /// How many bytes the changes of one table take at most.
    pub bytes_max: u64,
    /// How far the slowest follower of a table has read: what a page gave as `next`. A table without one has no followers.
    pub followers: BTreeMap<String, String>,
}

impl Default for Retention {
    /// A day, as DynamoDB keeps them; a week for followers that are behind; a gigabyte a table.
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            age_min: DAY,
            age_max: DAY * 7,
            bytes_max: 1 << 30,
            followers: BTreeMap::new(),
        }
    }
}

impl Retention {
    /// In memory, where all of it is taken from the process: 64 MB a table.
    pub(crate) fn in_memory() -> Self {
        Self {
            bytes_max: 64 << 20,
            ..Self::default()
        }
    }
}

/// Removes some of the oldest changes of a table that are not kept; how many.
pub(crate) fn trim_changes(
    draft: &mut Draft<'_>,
    table: &Table,
    retention: &Retention,
    now_seconds: i64,
    rows_max: usize,
) -> Result<usize> {
    let follower = retention
        .followers
        .get(&table.spec.name)
        .and_then(|position| Sequence::parse(position));
    let has_follower = retention.followers.contains_key(&table.spec.name);
    let before = |age: Duration| now_seconds.saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
    let (old, too_old) = (before(retention.age_min), before(retention.age_max));
    let mut totals = Totals::of(draft, table)?;
    let (mut gone, mut last) = (Vec::new(), None);
    // What lies before the stream began, too: it was turned off and on again. What was removed lies in memory as removed until
    // it is in the base, and is not walked over again.
    let all = layout::Span::with_prefix(layout::of_table(Area::Changes, table.number));
    // Behind what was removed, which lies in memory as removed until it is in the base.
    let kept = all.after_key(&stream::trimmed_up_to(draft, table)?.key(table));
    for row in draft.rows(kept.bounds(), Direction::Forward).take(rows_max) {
        let (key, value) = row.map_err(from_space)?;
        let Some(sequence) = Sequence::of_key(&key) else { break };
        let at = stream::at_seconds(&value)?;
        // A follower whose position cannot be read has passed nothing.
        let is_passed = !has_follower || follower.is_some_and(|follower| sequence <= follower);
        let goes = (at < old && is_passed) || at < too_old || totals.change_bytes > retention.bytes_max;
        // The oldest first, without gaps: the end of what was removed is one place.
        if !goes {
            break;
        }
        // Counted as it goes, so that no more is removed than the bound asks for.
        totals.change_bytes = totals.change_bytes.saturating_sub((key.len() + value.len()) as u64);
        last = Some(sequence);
        gone.push(key.to_vec());
    }
    let Some(last) = last else {
        return Ok(0);
    };
    let count = gone.len();
    for key in gone {
        draft.delete_row(key).map_err(from_space)?;
    }
    totals.store(draft, table)?;
    let key = layout::of_table(Area::Trimmed, table.number);
    // In the same commit: who comes back behind it must hear that changes are gone.
    draft.put_row(key, last.bytes()).map_err(from_space)?;
    Ok(count)
}
