//! How far each shard of a stream is read, as one text that outlives the process.
//!
//! A stream is cut into shards that open and close; a shard's changes come after those of its parent. The position in
//! a stream is therefore a list: which shards are known, how far each is read, and when that was.
//!
//! Nothing is forgotten in silence: a shard that was not read to its end stays in the list until it is, or until the endpoint says
//! that it is gone. Then the position is lost.

use singlet_store::{ErrorKind, Result, StoreError};

/// How the text is written today.
const VERSION: &str = "2";

/// How old the last reading of a shard may be. Changes are kept for 24 hours; whoever comes later cannot know what went.
pub(crate) const READ_SECONDS_MAX: i64 = 23 * 60 * 60;

/// How long a shard that was read to its end is remembered. It is listed for as long as its changes are kept.
const ENDED_SECONDS_MAX: i64 = 25 * 60 * 60;

/// A shard, as the endpoint lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    /// Whether no change is added any more. There may be some to read all the same.
    pub(crate) is_closed: bool,
}

/// How far the shards of one stream are read, in the order they are visited next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamProgress {
    /// The stream's name. A stream that is turned off and on again is another one.
    pub(crate) stream: String,
    /// When the shards were last listed, in seconds since 1970: what is new since has no older changes.
    pub(crate) listed_at: i64,
    /// When it began, in seconds since 1970, where that was in the middle of shards: they have changes from before.
    pub(crate) began_at: Option<i64>,
    pub(crate) shards: Vec<ShardProgress>,
}

/// How far one shard is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShardProgress {
    pub(crate) shard: String,
    pub(crate) parent: Option<String>,
    pub(crate) place: ShardPlace,
    /// When it was last read, in seconds since 1970; before that, an instant at which it was not there yet.
    pub(crate) read_at: i64,
}

/// A place in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShardPlace {
    /// Before its first change, if it is still there: nobody has listed it, and a shard that is listed comes after it.
    Perhaps,
    /// Before its first change.
    Start,
    /// After the change of this number.
    After(String),
    /// At its end.
    End,
}

impl ShardPlace {
    pub(crate) fn text(&self) -> &str {
        match self {
            ShardPlace::Perhaps => "perhaps",
            ShardPlace::Start => "start",
            ShardPlace::After(sequence) => sequence,
            ShardPlace::End => "end",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "perhaps" => Some(ShardPlace::Perhaps),
            "start" => Some(ShardPlace::Start),
            "end" => Some(ShardPlace::End),
            number if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(ShardPlace::After(number.to_owned()))
            }
            _ => None,
        }
    }
}

/// A position from which changes are missing.
pub(crate) fn lost_position(why: impl Into<String>) -> StoreError {
    StoreError::new(ErrorKind::PositionLost, why)
}

impl StreamProgress {
    /// Before everything that is kept.
    pub(crate) fn at_start(stream: &str, now: i64) -> Self {
        Self {
            stream: stream.to_owned(),
            listed_at: now,
            began_at: None,
            shards: Vec::new(),
        }
    }

    /// Before everything that happens from now on. Where in an open shard that is, no number says: so it is the start of every
    /// open one.
    pub(crate) fn at_open_shards(stream: &str, now: i64, shards: &[Shard]) -> Self {
        let progress = |shard: &Shard| ShardProgress {
            shard: shard.id.clone(),
            parent: shard.parent.clone(),
            place: match shard.is_closed {
                // Closed before it began: all of it was before.
                true => ShardPlace::End,
                false => ShardPlace::Start,
            },
            read_at: now,
        };
        let mut known: Vec<ShardProgress> = shards.iter().map(progress).collect();
        let parents = shards.iter().filter_map(|shard| shard.parent.as_ref());
        for parent in parents.filter(|parent| shards.iter().all(|shard| shard.id != **parent)) {
            // It has a child, so that it is closed, listed or not.
            known.push(ShardProgress {
                shard: parent.clone(),
                parent: None,
                place: ShardPlace::End,
                read_at: now,
            });
        }
        Self {
            shards: known,
            began_at: Some(now),
            ..Self::at_start(stream, now)
        }
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    pub(crate) fn from_text(text: &str) -> Result<Self> {
        let foreign = || StoreError::bad_request("the position in the stream was not given by this store");
        let mut lines = text.split('\n').filter(|line| !line.is_empty());
        let head: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let &[VERSION, stream, listed_at, ref began_at @ ..] = head.as_slice() else {
            return Err(foreign());
        };
        // Positions that were written before this was known do not have it.
        let began_at = match began_at {
            [] => None,
            [began_at] => Some(began_at.parse().map_err(|_| foreign())?),
            _ => return Err(foreign()),
        };
        let shards = lines.map(|line| {
            let parts: Vec<&str> = line.split(' ').collect();
            let &[shard, parent, place, read_at] = parts.as_slice() else {
                return Err(foreign());
            };
            Ok(ShardProgress {
                shard: shard.to_owned(),
                parent: Some(parent.to_owned()).filter(|parent| parent != "-"),
                place: ShardPlace::parse(place).ok_or_else(foreign)?,
                read_at: read_at.parse().map_err(|_| foreign())?,
            })
        });
        Ok(Self {
            stream: stream.to_owned(),
            listed_at: listed_at.parse().map_err(|_| foreign())?,
            began_at,
            shards: shards.collect::<Result<_>>()?,
        })
    }

    /// One line for the stream, and one per shard.
    pub(crate) fn to_text(&self) -> String {
        let line = |shard: &ShardProgress| {
            let parent = shard.parent.as_deref().unwrap_or("-");
            format!("{} {parent} {} {}\n", shard.shard, shard.place.text(), shard.read_at)
        };
        let began_at = self.began_at.map(|began| format!(" {began}")).unwrap_or_default();
        let head = format!("{VERSION} {} {}{began_at}\n", self.stream, self.listed_at);
        std::iter::once(head).chain(self.shards.iter().map(line)).collect()
    }

    /// Refuses a position of another stream, or one that is so old that changes may have gone unread.
    pub(crate) fn is_kept(&self, stream: &str, now: i64) -> Result<()> {
        if self.stream != stream {
            return Err(lost_position(
                "the position is of another stream: it was turned off and on again",
            ));
        }
        let unread = self.shards.iter().filter(|shard| shard.place != ShardPlace::End);
        let oldest = unread.map(|shard| shard.read_at).chain([self.listed_at]).min();
        // An hour before they are gone: what is read later may have lost its oldest.
        match oldest.is_some_and(|oldest| now.saturating_sub(oldest) >= READ_SECONDS_MAX) {
            true => Err(lost_position(
                "the stream was last read at this position more than 23 hours ago, and changes are kept for 24",
            )),
            false => Ok(()),
        }
    }

    /// Whether the shards are to be listed: after a while, where one was read to its end since, and where none is left to read.
    pub(crate) fn is_to_be_listed(&self, now: i64, every_seconds: i64) -> bool {
        let has_ended = |shard: &ShardProgress| shard.place == ShardPlace::End && shard.read_at >= self.listed_at;
        // A clock that was set back does not keep anybody from looking.
        !(0..every_seconds).contains(&now.saturating_sub(self.listed_at))
            || self.shards.iter().any(has_ended)
            || !self.shards.iter().any(|shard| self.is_due(shard))
    }

    /// Takes up the shards that are listed. A listing may leave a shard out and have it again later: so one that is not read to
    /// its end stays, listed or not; one that is stays for as long as it could be listed; and the parent of a new one is asked for
    /// though it is not listed.
    pub(crate) fn follow_listed(&mut self, listed: &[Shard], now: i64) {
        let is_listed = |id: &str| listed.iter().any(|shard| shard.id == id);
        self.shards.retain(|shard| {
            // A list may be behind: a shard that is forgotten too early and listed again would be read twice.
            let may_come_back = now.saturating_sub(shard.read_at) < ENDED_SECONDS_MAX;
            shard.place != ShardPlace::End || may_come_back || is_listed(&shard.shard)
        });
        for shard in listed {
            if self.place(&shard.id).is_some() {
                continue;
            }
            if let Some(parent) = shard.parent.as_ref().filter(|parent| !is_listed(parent))
                // Neither listed nor known: it may have changes that come before those of its child.
                && self.place(parent).is_none()
            {
                self.add(parent, None, ShardPlace::Perhaps);
            }
            self.add(&shard.id, shard.parent.clone(), ShardPlace::Start);
        }
        self.listed_at = now;
    }

    fn add(&mut self, shard: &str, parent: Option<String>, place: ShardPlace) {
        self.shards.push(ShardProgress {
            shard: shard.to_owned(),
            parent,
            place,
            read_at: self.listed_at,
        });
    }

    /// Whether a shard may be read: its parent is read to its end, or was before anything is known.
    pub(crate) fn is_due(&self, shard: &ShardProgress) -> bool {
        let parent = shard.parent.as_deref().and_then(|parent| self.place(parent));
        // After its parent, whose changes came before.
        shard.place != ShardPlace::End && parent.is_none_or(|place| *place == ShardPlace::End)
    }

    fn place(&self, shard: &str) -> Option<&ShardPlace> {
        self.shards
            .iter()
            .find(|progress| progress.shard == shard)
            .map(|progress| &progress.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_outlives_its_text() {
        let shard = |shard: &str, parent: Option<&str>, place| ShardProgress {
            shard: shard.to_owned(),
            parent: parent.map(str::to_owned),
            place,
            read_at: 1_794_830_400,
        };
        let all = StreamProgress {
            shards: vec![
                shard("a", None, ShardPlace::Start),
                shard("z", None, ShardPlace::Perhaps),
                shard("b", Some("a"), ShardPlace::After("123".to_owned())),
                shard("c", Some("b"), ShardPlace::End),
            ],
            ..StreamProgress::at_start("arn:aws:dynamodb:eu:1:table/t/stream/2026-11-17T00:00:00.000", 7)
        };
        assert_eq!(StreamProgress::from_text(&all.to_text()).unwrap(), all);
        let begun = StreamProgress {
            began_at: Some(6),
            ..all
        };
        assert_eq!(StreamProgress::from_text(&begun.to_text()).unwrap(), begun);
        for foreign in [
            "",
            "nonsense",
            "2 arn",
            "3 arn 7\n",
            "2 arn 7 x\n",
            "2 arn 7 6 5\n",
            "2 arn 7\na - start\n",
            "2 arn 7\na - 12x 7\n",
            "a start\n",
            "000000000000000000010000000000",
        ] {
            assert!(
                StreamProgress::from_text(foreign).unwrap_err().is_bad_request(),
                "{foreign}"
            );
        }
    }
}
