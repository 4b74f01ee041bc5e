//! How far each shard of a stream is read, as one text that outlives the process.
//!
//! A stream is cut into shards that open and close; a shard's changes come after those of its parent. The position in
//! a stream is therefore a list: which shards are read, and how far each.

use aws_sdk_dynamodbstreams::types::Shard;
use singlet_store::{Result, StoreError};

/// How far the shards of one stream are read, in the order they are visited next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) shards: Vec<ShardProgress>,
}

/// How far one shard is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShardProgress {
    pub(crate) shard: String,
    pub(crate) place: Place,
    /// Where the endpoint stands between that place and the next change. It forgets iterators after a quarter of an
    /// hour; then reading goes on from the place.
    pub(crate) iterator: Option<String>,
}

/// A place in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before its first change.
    Start,
    /// After the change of this number.
    After(String),
    /// After the newest change there was, whose number is not known: only an iterator leads there.
    Latest,
    /// At its end.
    End,
}

impl Progress {
    /// Reads what [`to_text`](Self::to_text) wrote.
    pub(crate) fn from_text(text: &str) -> Result<Self> {
        let shards = text.split('\n').filter(|line| !line.is_empty()).map(|line| {
            let mut parts = line.splitn(3, ' ');
            let (shard, place) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let place = match place {
                "start" => Place::Start,
                "latest" => Place::Latest,
                "end" => Place::End,
                sequence if sequence.starts_with(|first: char| first.is_ascii_digit()) => {
                    Place::After(sequence.to_owned())
                }
                _ => {
                    return Err(StoreError::bad_request(
                        "the position in the stream was not given by this store",
                    ));
                }
            };
            Ok(ShardProgress {
                shard: shard.to_owned(),
                place,
                iterator: parts.next().map(str::to_owned),
            })
        });
        Ok(Self {
            shards: shards.collect::<Result<_>>()?,
        })
    }

    /// One line per shard.
    pub(crate) fn to_text(&self) -> String {
        let line = |progress: &ShardProgress| {
            let place = match &progress.place {
                Place::Start => "start",
                Place::After(sequence) => sequence,
                Place::Latest => "latest",
                Place::End => "end",
            };
            match &progress.iterator {
                Some(iterator) => format!("{} {place} {iterator}\n", progress.shard),
                None => format!("{} {place}\n", progress.shard),
            }
        };
        self.shards.iter().map(line).collect()
    }

    /// Forgets shards that are gone, and adds those whose parent is read to its end, or gone.
    pub(crate) fn follow(&mut self, shards: &[Shard]) {
        let listed = |id: &str| shards.iter().any(|shard| shard.shard_id() == Some(id));
        self.shards.retain(|progress| listed(&progress.shard));
        for shard in shards {
            let Some(id) = shard.shard_id() else { continue };
            let parent = shard.parent_shard_id().filter(|parent| listed(parent));
            if self.place(id).is_none() && parent.is_none_or(|parent| self.place(parent) == Some(&Place::End)) {
                self.shards.push(ShardProgress {
                    shard: id.to_owned(),
                    place: Place::Start,
                    iterator: None,
                });
            }
        }
    }

    fn place(&self, shard: &str) -> Option<&Place> {
        self.shards
            .iter()
            .find(|progress| progress.shard == shard)
            .map(|progress| &progress.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(id: &str, parent: Option<&str>) -> Shard {
        Shard::builder()
            .shard_id(id)
            .set_parent_shard_id(parent.map(str::to_owned))
            .build()
    }

    fn progress(places: &[(&str, Place)]) -> Progress {
        let shards = places.iter().map(|(shard, place)| ShardProgress {
            shard: (*shard).to_owned(),
            place: place.clone(),
            iterator: None,
        });
        Progress {
            shards: shards.collect(),
        }
    }

    #[test]
    fn a_position_outlives_its_text() {
        let mut all = progress(&[
            ("a", Place::Start),
            ("b", Place::After("123".to_owned())),
            ("c", Place::Latest),
            ("d", Place::End),
        ]);
        all.shards[2].iterator = Some("arn|1|with spaces ".to_owned());
        assert_eq!(Progress::from_text(&all.to_text()).unwrap(), all);
        assert_eq!(Progress::from_text("").unwrap(), Progress::default());
        assert!(Progress::from_text("nonsense").unwrap_err().is_bad_request());
    }

    #[test]
    fn a_child_waits_for_its_parent() {
        let shards = [shard("child", Some("parent")), shard("parent", Some("forgotten"))];
        let mut reading = Progress::default();
        reading.follow(&shards);
        assert_eq!(reading, progress(&[("parent", Place::Start)]));
        let mut ended = progress(&[("parent", Place::End), ("gone", Place::End)]);
        ended.follow(&shards);
        assert_eq!(ended, progress(&[("parent", Place::End), ("child", Place::Start)]));
    }
}
