//! Who follows the changes of a table, and how far each is.
//!
//! A follower's position is a row of the table itself, of the kind that no entity has: so it is there wherever the table is, on
//! every store, and is written on condition of what was read. One more row has the names of all.
//!
//! The rows are items of the table, and so on its stream: a follower that noted every page would follow its own notes for ever. A
//! page without changes is therefore noted only now and then.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_runtime::{Engine, HeldTable, RuntimeError, kept_row};
use singlet_store::{PutRequest, StoreError, StreamPosition};

use crate::source::{ChangeSource, KeptPut, TURN};

/// What follower rows are called in keys.
const KIND: &str = "follower";
/// What the row with all names is called.
const NAMES_KIND: &str = "followers";
/// What the row with the key of values is called.
const SECRET_KIND: &str = "lakekey";

const NAMES: &str = "$names";
const POSITION: &str = "$position";
const NOTED_AT: &str = "$at";
const GAPS: &str = "$gaps";
const RUN: &str = "$run";
const SECRET: &str = "$key";

/// How many bytes the key of values has.
const SECRET_BYTES: usize = 32;

/// The most followers of a table.
pub const FOLLOWERS_MAX: usize = 32;
/// The longest name of a follower, in characters.
pub const NAME_CHARS_MAX: usize = 64;
/// How the names of lakes begin. They read all rows anew where they cannot go on.
pub const LAKE_FOLLOWERS: &str = "lake-";

/// How names of followers begin that bring words into an index of their own process.
pub const SEARCH_FOLLOWERS: &str = "search-";
/// How many gaps of a follower are kept; later ones make the last longer.
pub const GAPS_MAX: usize = 16;
/// How often a row is tried to be written that others write too.
const TRIES_MAX: usize = 16;

/// The followers of a model's table.
#[derive(Clone)]
pub struct Followers {
    model: Arc<Model>,
    source: Arc<dyn ChangeSource>,
    /// Drawn, so that a note whose answer was lost is known again.
    run: String,
}

/// How far a follower is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// After all that it has done.
    pub position: StreamPosition,
    /// When that was noted, in seconds since 1970.
    pub at_seconds: i64,
    /// What it never saw, until that is acknowledged.
    pub gaps: Vec<Gap>,
    /// Raised with every note: of two who note, one is told.
    turn: u64,
    /// Who noted it.
    run: String,
}

/// Changes that were gone before a follower came to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it last noted that it had seen all, in seconds since 1970.
    pub from_seconds: i64,
    /// When it found that others were gone.
    pub to_seconds: i64,
}

/// Why a follower cannot go on.
#[derive(Debug)]
pub enum FollowError {
    /// Another process follows under the same name, and is further.
    Overtaken,
    /// The name is none, or there are too many followers: what is wrong.
    Refused(String),
    /// The table was restored, and nothing runs by itself on it until it is released.
    Held(HeldTable),
    /// The store failed.
    Store(StoreError),
    /// A row is not as it should be.
    Runtime(RuntimeError),
}

impl fmt::Display for FollowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::Overtaken => out.write_str("another process follows under the same name"),
            FollowError::Refused(reason) => out.write_str(reason),
            FollowError::Held(held) => write!(
                out,
                "nothing runs by itself on the table until it is released: it was restored from {}",
                held.from
            ),
            FollowError::Store(error) => error.fmt(out),
            FollowError::Runtime(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for FollowError {}

/// Refuses to begin what runs by itself on a table that is held. Nobody holds one that is open, so that who has begun need not ask again.
pub(crate) async fn check_released(engine: &Engine) -> Result<(), FollowError> {
    match engine.held_table().await? {
        None => Ok(()),
        Some(held) => Err(FollowError::Held(held)),
    }
}

impl From<StoreError> for FollowError {
    fn from(error: StoreError) -> Self {
        FollowError::Store(error)
    }
}

impl From<RuntimeError> for FollowError {
    fn from(error: RuntimeError) -> Self {
        FollowError::Runtime(error)
    }
}

impl Followers {
    /// Of a model's table.
    pub fn new(model: Arc<Model>, source: Arc<dyn ChangeSource>) -> Self {
        Followers {
            model,
            source,
            run: format!("{:016x}", fastrand::u64(..)),
        }
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    pub(crate) fn source(&self) -> &Arc<dyn ChangeSource> {
        &self.source
    }

    /// The names of all, sorted.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn names(&self) -> Result<Vec<String>, FollowError> {
        let (names, _) = self.names_and_turn().await?;
        Ok(names.into_iter().collect())
    }

    /// How far a follower is; nothing, where there is none of that name.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the row cannot be read.
    pub async fn noted_of(&self, name: &str) -> Result<Option<Noted>, FollowError> {
        Ok(self.noted_and_turn(name).await?.0)
    }

    /// Has a follower begin at a position.
    ///
    /// # Errors
    ///
    /// Where it is there already, its name is none, or there are too many.
    pub async fn enter_follower(&self, name: &str, position: StreamPosition, now: i64) -> Result<Noted, FollowError> {
        check_name(name)?;
        self.enter_kept(name, position, now).await
    }

    /// The same for a name that nobody else can choose.
    pub(crate) async fn enter_kept(
        &self,
        name: &str,
        position: StreamPosition,
        now: i64,
    ) -> Result<Noted, FollowError> {
        // First the name: a follower that nobody knows of would find its changes gone.
        self.change_names(|names| {
            names.insert(name.to_owned());
            match names.len() <= FOLLOWERS_MAX {
                true => Ok(()),
                false => Err(FollowError::Refused(format!(
                    "a table has at most {FOLLOWERS_MAX} followers"
                ))),
            }
        })
        .await?;
        let (there, turn) = self.noted_and_turn(name).await?;
        // Read anew: another process may have entered the name since it was looked for.
        if there.is_some() {
            return Err(FollowError::Overtaken);
        }
        self.put(name, turn, Some((&position, &[])), now).await
    }

    /// Notes that all before a position is done. Whoever noted meanwhile is further, and this one is told.
    ///
    /// # Errors
    ///
    /// Where another was faster, or the store fails.
    pub async fn note_position(
        &self,
        name: &str,
        before: &Noted,
        position: &StreamPosition,
        now: i64,
    ) -> Result<Noted, FollowError> {
        let noted = self.put(name, Some(before.turn), Some((position, &before.gaps)), now);
        match noted.await {
            Err(FollowError::Overtaken) => self.noted_alike(name, before, position).await,
            noted => noted,
        }
    }

    /// The note that is there, where it is our own: its answer was lost.
    pub(crate) async fn noted_alike(
        &self,
        name: &str,
        before: &Noted,
        position: &StreamPosition,
    ) -> Result<Noted, FollowError> {
        let there = self.noted_of(name).await?;
        there
            // All three: a note of another process at the same place is not this one's, and neither is an older one.
            .filter(|there| there.position == *position && there.run == self.run && there.turn > before.turn)
            .ok_or(FollowError::Overtaken)
    }

    /// Notes that changes were gone before a follower came to them, and that it begins again elsewhere.
    pub(crate) async fn note_gap(
        &self,
        name: &str,
        before: &Noted,
        position: &StreamPosition,
        now: i64,
    ) -> Result<Noted, FollowError> {
        let mut gaps = before.gaps.clone();
        let gap = Gap {
            from_seconds: before.at_seconds,
            to_seconds: now,
        };
        // One that was found again before anything was noted is the same.
        let is_same = |last: &&mut Gap| last.to_seconds == gap.from_seconds || before.gaps.len() >= GAPS_MAX;
        match gaps.last_mut().filter(is_same) {
            Some(last) => last.to_seconds = now,
            None => gaps.push(gap),
        }
        self.put(name, Some(before.turn), Some((position, &gaps)), now).await
    }

    /// Says that somebody knows of a follower's gaps; how many there were.
    ///
    /// # Errors
    ///
    /// Where there is no such follower, or the store fails.
    pub async fn acknowledge_gaps(&self, name: &str) -> Result<usize, FollowError> {
        for _ in 0..TRIES_MAX {
            let noted = self.noted_of(name).await?.ok_or_else(|| unknown(name))?;
            let kept = Some((&noted.position, &[][..]));
            match self.put(name, Some(noted.turn), kept, noted.at_seconds).await {
                // It noted something meanwhile.
                // Tried again with what was noted: only the gaps are to change.
                Err(FollowError::Overtaken) => {}
                put => return put.map(|_| noted.gaps.len()),
            }
        }
        Err(FollowError::Overtaken)
    }

    /// Forgets a follower: no change is kept for it any more.
    ///
    /// # Errors
    ///
    /// Where there is no such follower, or the store fails.
    pub async fn forget_follower(&self, name: &str) -> Result<(), FollowError> {
        for _ in 0..TRIES_MAX {
            let (there, turn) = self.noted_and_turn(name).await?;
            let known = self.names().await?.iter().any(|known| known == name);
            if there.is_none() && !known {
                return Err(unknown(name));
            }
            // Without a position, so that whoever still follows under the name is told at its next note.
            if let Some(there) = &there {
                match self.put(name, turn, None, there.at_seconds).await {
                    Err(FollowError::Overtaken) => continue,
                    put => drop(put?),
                }
            }
            return self
                .change_names(|names| {
                    names.remove(name);
                    Ok(())
                })
                .await;
        }
        Err(FollowError::Overtaken)
    }

    /// The key under which values are hashed that leave the table and tell of a person. It is drawn once, and stays in the table: who has
    /// the hashes alone cannot try values until one fits.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the row cannot be read.
    pub async fn value_secret(&self) -> Result<Vec<u8>, FollowError> {
        for _ in 0..TRIES_MAX {
            let mut row = self.row(SECRET_KIND, &[])?;
            if let Some(item) = self.get(&row).await? {
                let secret = item.get(SECRET).and_then(Value::as_bytes);
                let secret = secret.filter(|secret| secret.len() == SECRET_BYTES);
                return secret.map(<[u8]>::to_vec).ok_or_else(unreadable_progress);
            }
            let mut drawn = vec![0; SECRET_BYTES];
            getrandom::fill(&mut drawn).map_err(|error| FollowError::Refused(error.to_string()))?;
            row.insert(SECRET.to_owned(), Value::B(drawn));
            // Of two who draw one, both read what the first has put.
            // Only where there is none: a second key would make all that was hashed before unknown.
            self.put_item(row, None).await?;
        }
        Err(FollowError::Overtaken)
    }

    async fn noted_and_turn(&self, name: &str) -> Result<(Option<Noted>, Option<u64>), FollowError> {
        let Some(item) = self.get(&self.row(KIND, &[name])?).await? else {
            return Ok((None, None));
        };
        let turn = turn_of(&item)?;
        let Some(position) = item.get(POSITION) else {
            return Ok((None, Some(turn)));
        };
        let position = position.as_str().ok_or_else(unreadable_progress)?;
        let gaps = match item.get(GAPS) {
            Some(Value::L(gaps)) => gaps
                .iter()
                .map(gap_of)
                .collect::<Option<_>>()
                .ok_or_else(unreadable_progress)?,
            _ => Vec::new(),
        };
        let noted = Noted {
            position: StreamPosition::After(position.to_owned()),
            at_seconds: number_of(item.get(NOTED_AT)).ok_or_else(unreadable_progress)?,
            gaps,
            turn,
            run: item.get(RUN).and_then(Value::as_str).unwrap_or_default().to_owned(),
        };
        Ok((Some(noted), Some(turn)))
    }

    async fn names_and_turn(&self) -> Result<(BTreeSet<String>, Option<u64>), FollowError> {
        let Some(item) = self.get(&self.row(NAMES_KIND, &[])?).await? else {
            return Ok((BTreeSet::new(), None));
        };
        let names = match item.get(NAMES) {
            Some(Value::Ss(names)) => names.clone(),
            _ => BTreeSet::new(),
        };
        Ok((names, Some(turn_of(&item)?)))
    }

    async fn change_names(
        &self,
        change: impl Fn(&mut BTreeSet<String>) -> Result<(), FollowError>,
    ) -> Result<(), FollowError> {
        for _ in 0..TRIES_MAX {
            let (before, turn) = self.names_and_turn().await?;
            let mut names = before.clone();
            change(&mut names)?;
            // Not written where nothing changes: each write is on the stream that all of them follow.
            if names == before {
                return Ok(());
            }
            let mut item = self.row(NAMES_KIND, &[])?;
            if !names.is_empty() {
                item.insert(NAMES.to_owned(), Value::Ss(names));
            }
            if self.put_item(item, turn).await?.is_some() {
                return Ok(());
            }
        }
        Err(FollowError::Overtaken)
    }

    /// The write that notes a position, for a transaction with what was made of the changes before it; and the note.
    pub(crate) fn note_write(
        &self,
        name: &str,
        before: &Noted,
        position: &StreamPosition,
        now: i64,
    ) -> Result<(PutRequest, Noted), FollowError> {
        let item = self.note_item(name, Some((position, &before.gaps)), now)?;
        let (put, turn) = self.kept_put(item, Some(before.turn));
        let noted = Noted {
            position: position.clone(),
            at_seconds: now,
            gaps: before.gaps.clone(),
            turn,
            run: self.run.clone(),
        };
        Ok((put.put_request(), noted))
    }

    async fn put(
        &self,
        name: &str,
        before: Option<u64>,
        noted: Option<(&StreamPosition, &[Gap])>,
        now: i64,
    ) -> Result<Noted, FollowError> {
        let item = self.note_item(name, noted, now)?;
        let turn = self.put_item(item, before).await?;
        let (position, gaps) = noted.unwrap_or((&StreamPosition::Start, &[]));
        Ok(Noted {
            position: position.clone(),
            at_seconds: now,
            gaps: gaps.to_vec(),
            turn: turn.ok_or(FollowError::Overtaken)?,
            run: self.run.clone(),
        })
    }

    /// The row of a follower; without a position it is forgotten.
    fn note_item(&self, name: &str, noted: Option<(&StreamPosition, &[Gap])>, now: i64) -> Result<Item, FollowError> {
        let mut item = self.row(KIND, &[name])?;
        item.insert(NOTED_AT.to_owned(), number_value(now));
        item.insert(RUN.to_owned(), Value::S(self.run.clone()));
        let Some((position, gaps)) = noted else {
            return Ok(item);
        };
        // Only a place can be gone back to; `Start` and `Latest` mean something else each day.
        let StreamPosition::After(text) = position else {
            return Err(FollowError::Refused(
                "a follower is at a place of the stream".to_owned(),
            ));
        };
        item.insert(POSITION.to_owned(), Value::S(text.clone()));
        if !gaps.is_empty() {
            let gap = |gap: &Gap| Value::L([gap.from_seconds, gap.to_seconds].map(number_value).to_vec());
            item.insert(GAPS.to_owned(), Value::L(gaps.iter().map(gap).collect()));
        }
        Ok(item)
    }

    /// One of these rows, empty. Two systems may share a table.
    pub(crate) fn row(&self, kind: &str, parts: &[&str]) -> Result<Item, RuntimeError> {
        let parts: Vec<&str> = std::iter::once(self.model.name.as_str())
            .chain(parts.iter().copied())
            .collect();
        kept_row(&self.model, kind, &parts)
    }

    pub(crate) async fn get(&self, row: &Item) -> Result<Option<Item>, FollowError> {
        Ok(self.source.get_row(&self.model.table.name, &self.key_of(row)).await?)
    }

    /// The key of one of these rows.
    pub(crate) fn key_of(&self, row: &Item) -> Item {
        let names = self.model.table.key.iter().map(|key| &key.name);
        let key = names.filter_map(|name| Some((name.clone(), row.get(name)?.clone())));
        key.collect()
    }

    /// Who this is, among processes.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Puts a row; its turn, or nothing where another was faster.
    pub(crate) async fn put_item(&self, item: Item, before: Option<u64>) -> Result<Option<u64>, FollowError> {
        let (put, turn) = self.kept_put(item, before);
        Ok(self.source.put_row(&put).await?.then_some(turn))
    }

    /// The write of a row over the one that was read, and its turn then.
    pub(crate) fn kept_put(&self, mut item: Item, before: Option<u64>) -> (KeptPut, u64) {
        // Raised with every write of the row: of two who read the same, the condition lets one write.
        let turn = before.map_or(1, |before| before.saturating_add(1));
        item.insert(TURN.to_owned(), number_value(i64::try_from(turn).unwrap_or(i64::MAX)));
        let partition = self.model.table.key.first().map(|key| key.name.clone());
        let put = KeptPut {
            table: self.model.table.name.clone(),
            partition: partition.unwrap_or_default(),
            item,
            turn_before: before,
        };
        (put, turn)
    }
}

fn check_name(name: &str) -> Result<(), FollowError> {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    match !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(is_fine) {
        true => Ok(()),
        false => Err(FollowError::Refused(format!(
            "`{name}` is no name of a follower: it has 1 to {NAME_CHARS_MAX} letters, digits, `-`, `_` or `.`"
        ))),
    }
}

fn unknown(name: &str) -> FollowError {
    FollowError::Refused(format!("there is no follower `{name}`"))
}

pub(crate) fn unreadable_progress() -> FollowError {
    FollowError::Runtime(RuntimeError::Stored(
        "the row of a follower cannot be read: another version of Singlet wrote it".to_owned(),
    ))
}

pub(crate) fn number_value(number: i64) -> Value {
    Value::N(Number::from(number))
}

pub(crate) fn number_of(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_number).and_then(|number| number.to_i64())
}

pub(crate) fn turn_of(item: &Item) -> Result<u64, FollowError> {
    let turn = number_of(item.get(TURN)).and_then(|turn| u64::try_from(turn).ok());
    turn.ok_or_else(unreadable_progress)
}

fn gap_of(value: &Value) -> Option<Gap> {
    let Value::L(ends) = value else { return None };
    Some(Gap {
        from_seconds: number_of(ends.first())?,
        to_seconds: number_of(ends.get(1))?,
    })
}
