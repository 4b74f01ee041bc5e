//! How far followers are behind what happened.

use std::fmt;
use std::sync::Arc;

use crate::followers::{FollowError, Followers, SEARCH_FOLLOWERS};
use crate::reader::ChangeReader;

/// How many changes are counted for the lag of a follower.
const LAG_CHANGES_MAX: usize = 10_000;

/// What a follower has before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    /// So many changes; none where it is at the head.
    Changes(usize),
    /// At least so many.
    AtLeast(usize),
    /// What comes next is no longer kept.
    Lost,
}

impl fmt::Display for Lag {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lag::Changes(0) => out.write_str("at the head"),
            Lag::Changes(1) => out.write_str("1 change behind"),
            Lag::Changes(changes) => write!(out, "{changes} changes behind"),
            Lag::AtLeast(changes) => write!(out, "at least {changes} changes behind"),
            Lag::Lost => out.write_str("what comes next is no longer kept"),
        }
    }
}

impl Followers {
    /// What a follower has before it; nothing, where there is none of that name.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the follower's row cannot be read.
    pub async fn follower_lag(&self, name: &str) -> Result<Option<Lag>, FollowError> {
        let Some(noted) = self.noted_of(name).await? else {
            return Ok(None);
        };
        let mut reader = ChangeReader::new(Arc::clone(self.model()), Arc::clone(self.source()), noted.position);
        let mut changes = 0;
        while !reader.is_at_head() {
            changes += match reader.next_page().await {
                Err(error) if error.is_position_lost() => return Ok(Some(Lag::Lost)),
                page => page?.told.len(),
            };
            if changes >= LAG_CHANGES_MAX {
                return Ok(Some(Lag::AtLeast(changes)));
            }
        }
        Ok(Some(Lag::Changes(changes)))
    }

    /// Has all go on from the head, which they have come to: what lies between what they noted and there tells them nothing. An index of words
    /// goes on where it is: it is one process's, and reads by that one's model from its first moment to its last.
    ///
    /// # Errors
    ///
    /// Where one has noted something meanwhile or is behind ([`FollowError::Overtaken`]), unless it may miss what it is behind and has that
    /// noted as a gap; or where the store fails.
    pub async fn all_to_head(&self, may_miss: &(dyn Fn(&str) -> bool + Sync), now: i64) -> Result<(), FollowError> {
        let names = self.names().await?.into_iter();
        for name in names.filter(|name| !name.starts_with(SEARCH_FOLLOWERS)) {
            let Some(noted) = self.noted_of(&name).await? else {
                continue;
            };
            let position = noted.position.clone();
            let mut reader = ChangeReader::new(Arc::clone(self.model()), Arc::clone(self.source()), position);
            let mut has_missed = false;
            // To the head before anything is moved: what lies before it must be known to tell nothing.
            while !reader.is_at_head() {
                has_missed |= !reader.next_page().await?.told.is_empty();
            }
            match has_missed {
                // Noted and not passed over in silence, though it may be missed.
                true if may_miss(&name) => drop(self.note_gap(&name, &noted, reader.position(), now).await?),
                true => return Err(FollowError::Overtaken),
                false => drop(self.note_position(&name, &noted, reader.position(), now).await?),
            }
        }
        Ok(())
    }

    /// All who are not at the head, each with what it has before it.
    ///
    /// # Errors
    ///
    /// As [`Followers::follower_lag`].
    pub async fn followers_behind(&self) -> Result<Vec<(String, Lag)>, FollowError> {
        let mut behind = Vec::new();
        for name in self.names().await? {
            match self.follower_lag(&name).await? {
                None | Some(Lag::Changes(0)) => {}
                Some(lag) => behind.push((name, lag)),
            }
        }
        Ok(behind)
    }
}
