//! What the table says of each tally, and the removal of figures that do not count any more.

use std::collections::BTreeSet;

use singlet_item::{Item, Value};
use singlet_model::model::Tally;
use singlet_runtime::{Engine, TallyHead, group_prefix, tally_head};
use singlet_store::{DeleteRequest, KeyRange, PutRequest, QueryRequest};

use crate::followers::{FollowError, Followers, turn_of};

/// The row with the names of all tallies that are kept.
const NAMES_KIND: &str = "tallies";
const NAMES: &str = "$names";

/// The first generation of a tally is drawn, up to this one.
const FIRST_GENERATION_MAX: i64 = 1 << 40;

/// How many rows are removed at once.
const REMOVED_ROWS: u32 = 100;

/// A tally, and what the table says of it.
#[derive(Clone)]
pub(super) struct KnownTally {
    pub tally: Tally,
    pub head: TallyHead,
    turn: Option<u64>,
}

impl KnownTally {
    /// As the table has it.
    pub async fn read(followers: &Followers, tally: &Tally) -> Result<Self, FollowError> {
        let item = followers.get(&tally_head(followers.model(), &tally.name)?).await?;
        Ok(KnownTally {
            tally: tally.clone(),
            turn: item.as_ref().map(turn_of).transpose()?,
            head: item.as_ref().map(TallyHead::of_item).unwrap_or_default(),
        })
    }

    /// Whether its figures must be built: there are none of the tally as it is now, or somebody asked.
    pub fn needs_building(&self) -> bool {
        // Figures of another definition are right for another question.
        let is_other = self.head.live.is_none() || self.head.definition != self.tally.definition;
        is_other || self.head.is_asked
    }

    /// The generation whose figures are added to.
    pub fn kept_generation(&self) -> Option<i64> {
        self.head.live_for(&self.tally)
    }

    /// A generation that no figures have: also none of a tally of this name that was removed, and that somebody may still believe to keep.
    pub fn next_generation(&self) -> i64 {
        let past = self.head.past.map(|(generation, _)| generation);
        let known = [self.head.live, self.head.building, past].into_iter().flatten().max();
        // Above all that are known, also those that are past: rows of an old one may still be written by who believes to keep it.
        known.map_or_else(|| fastrand::i64(1..FIRST_GENERATION_MAX), |last| last.saturating_add(1))
    }

    /// The write that makes the table say another thing of it, where nobody was faster; and what is known then.
    pub fn write(&self, followers: &Followers, head: TallyHead) -> Result<(PutRequest, KnownTally), FollowError> {
        let mut item = tally_head(followers.model(), &self.tally.name)?;
        head.put_into(&mut item);
        let (put, turn) = followers.kept_put(item, self.turn);
        let known = KnownTally {
            tally: self.tally.clone(),
            head,
            turn: Some(turn),
        };
        Ok((put.put_request(), known))
    }

    /// The same at once.
    pub async fn put_head(&mut self, followers: &Followers, head: TallyHead) -> Result<(), FollowError> {
        let mut item = tally_head(followers.model(), &self.tally.name)?;
        head.put_into(&mut item);
        let turn = followers.put_item(item, self.turn).await?;
        self.turn = Some(turn.ok_or(FollowError::Overtaken)?);
        self.head = head;
        Ok(())
    }
}

/// Asks for the figures of a tally to be built anew by whoever follows.
///
/// # Errors
///
/// Where the store fails.
pub(super) async fn ask_for(followers: &Followers, tally: &Tally) -> Result<(), FollowError> {
    let mut known = KnownTally::read(followers, tally).await?;
    let head = TallyHead {
        is_asked: true,
        ..known.head.clone()
    };
    known.put_head(followers, head).await
}

/// Makes the list of tallies that are kept that of the model. What the model has no more is removed whole: changes are not counted
/// for it, and were it to come back, it would begin with wrong figures.
pub(super) async fn take_over(engine: &Engine, followers: &Followers) -> Result<(), FollowError> {
    let mut row = followers.row(NAMES_KIND, &[])?;
    let there = followers.get(&row).await?;
    let known = match there.as_ref().and_then(|item| item.get(NAMES)) {
        Some(Value::Ss(names)) => names.clone(),
        _ => BTreeSet::new(),
    };
    let wanted: BTreeSet<String> = engine.model().tallies.iter().map(|tally| tally.name.clone()).collect();
    if known == wanted {
        return Ok(());
    }
    for gone in known.difference(&wanted) {
        // Before the list is written: killed here, the next start finds the name still there, and removes again.
        remove_rows(engine, followers, gone, &|_| true).await?;
    }
    if !wanted.is_empty() {
        row.insert(NAMES.to_owned(), Value::Ss(wanted));
    }
    let turn = there.as_ref().map(turn_of).transpose()?;
    let is_ours = followers.put_item(row, turn).await?.is_some();
    is_ours.then_some(()).ok_or(FollowError::Overtaken)
}

/// Removes the figures of a generation.
pub(super) async fn remove_generation(
    engine: &Engine,
    followers: &Followers,
    tally: &str,
    generation: i64,
) -> Result<(), FollowError> {
    let prefix = group_prefix(generation, &[]);
    remove_rows(engine, followers, tally, &|sort| sort.starts_with(&prefix)).await
}

/// Removes the figures of all generations but some: what was begun and not ended.
pub(super) async fn remove_other_generations(
    engine: &Engine,
    followers: &Followers,
    tally: &str,
    kept: &[i64],
) -> Result<(), FollowError> {
    let kept: Vec<String> = kept.iter().map(|generation| group_prefix(*generation, &[])).collect();
    // The head has no generation in its sort key, and stays.
    let is_other = |sort: &str| sort.contains('#') && !kept.iter().any(|prefix| sort.starts_with(prefix));
    remove_rows(engine, followers, tally, &is_other).await
}

/// Removes the rows of a tally of whose sort key something is true.
async fn remove_rows(
    engine: &Engine,
    followers: &Followers,
    tally: &str,
    is_meant: &(dyn Fn(&str) -> bool + Sync),
) -> Result<(), FollowError> {
    let model = engine.model();
    let head = tally_head(model, tally)?;
    let [partition, sort] = model.table.key.as_slice() else {
        return Ok(());
    };
    let Some(value) = head.get(&partition.name) else {
        return Ok(());
    };
    let range = KeyRange::partition(partition.name.clone(), value.clone());
    let mut request = QueryRequest::new(model.table.name.clone(), range);
    request.consistent = true;
    request.limit = Some(REMOVED_ROWS);
    loop {
        let page = engine.store().query(&request).await?;
        for item in &page.items {
            if item.get(&sort.name).and_then(Value::as_str).is_some_and(is_meant) {
                remove_row(engine, followers.key_of(item)).await?;
            }
        }
        request.start = page.last_key;
        if request.start.is_none() {
            return Ok(());
        }
    }
}

async fn remove_row(engine: &Engine, key: Item) -> Result<(), FollowError> {
    let request = DeleteRequest {
        table: engine.model().table.name.clone(),
        key,
        condition: None,
        return_old: false,
    };
    engine.store().delete(&request).await?;
    Ok(())
}
