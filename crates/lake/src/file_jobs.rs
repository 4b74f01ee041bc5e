//! The data files of a batch, several made at once: each is encoded, compressed and put by itself, and waits for the disk by itself.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;

use crate::actions::{Action, AddFile};
use crate::buckets::{BUCKET_TAG, bucket_of, key_hash, split_bucket};
use crate::cell::{Cell, Column};
use crate::compaction::LEVEL_TAG;
use crate::data_file::RowsFile;
use crate::drafts::{Draft, RowUpdates, bucket_bits, removed_file};
use crate::error::LakeError;
use crate::lake::Lake;
use crate::layout::EntityTables;
use crate::leaves::{FileLeaves, LeafGroup, NOWHERE, bring_rows, open_leaves};
use crate::shred::{LeafValues, shred_row};

/// How many files are made at once at most: each is held in memory until it is put.
const FILES_AT_ONCE_MAX: usize = 4;

/// What a batch makes files of.
pub(crate) enum FileJob<'l> {
    /// Rows that an entity's table of changes gets.
    Changes {
        tables: &'l EntityTables,
        rows: Vec<Vec<Cell>>,
    },
    /// Rows of a bucket that become others.
    Bucket {
        tables: &'l EntityTables,
        bits: String,
        file: Option<&'l AddFile>,
        updates: RowUpdates,
    },
}

/// A row that a bucket will have: one that lies in its file, by its number there, or another.
enum BucketRow {
    There(usize),
    New(Vec<Cell>),
}

impl Lake {
    /// The jobs by which an entity's rows become what they became. Files with fewer bits than some are left alone, and none gets fewer.
    pub(crate) fn bucket_jobs(
        &self,
        entity: &str,
        updates: RowUpdates,
        bits_min: usize,
    ) -> Result<Vec<FileJob<'_>>, LakeError> {
        let (Some(table), Some(tables)) = (self.tables.get(entity), self.entities.get(entity)) else {
            return Ok(Vec::new());
        };
        let mut there: BTreeMap<String, &AddFile> = BTreeMap::new();
        for file in table.files.values() {
            let bits = bucket_bits(table, file)?;
            if bits.len() >= bits_min {
                there.insert(bits.to_owned(), file);
            }
        }
        let mut by_bucket: BTreeMap<String, RowUpdates> = BTreeMap::new();
        for (key, cells) in updates {
            let bits = bucket_of(key_hash(&key), &there, bits_min);
            by_bucket.entry(bits).or_default().insert(key, cells);
        }
        let job = |(bits, updates): (String, RowUpdates)| FileJob::Bucket {
            tables,
            file: there.get(&bits).copied(),
            bits,
            updates,
        };
        Ok(by_bucket.into_iter().map(job).collect())
    }

    /// The job by which an entity's table of changes gets rows.
    pub(crate) fn changes_job(&self, entity: &str, rows: Vec<Vec<Cell>>) -> Option<FileJob<'_>> {
        let tables = self.entities.get(entity).filter(|_| !rows.is_empty())?;
        Some(FileJob::Changes { tables, rows })
    }

    /// Makes files, and adds what the logs of their tables get.
    pub(crate) fn draft_files(
        &self,
        draft: &mut Draft,
        jobs: Vec<FileJob<'_>>,
        now_millis: i64,
    ) -> Result<(), LakeError> {
        let made = side_by_side(jobs, |job| match job {
            FileJob::Changes { tables, rows } => {
                let columns = &tables.changes_columns;
                let added = self.new_file(&tables.changes, columns, rows, (LEVEL_TAG, "0"), now_millis)?;
                Ok((tables.changes.as_str(), vec![Action::Add(added)]))
            }
            FileJob::Bucket {
                tables,
                bits,
                file,
                updates,
            } => {
                let actions = self.rewrite_bucket(tables, (bits, file), updates, now_millis)?;
                Ok((tables.entity.as_str(), actions))
            }
        })?;
        for (table, actions) in made {
            actions.into_iter().for_each(|action| draft.add_action(table, action));
        }
        Ok(())
    }

    /// The file of a bucket written anew, as several where it gets too large. Rows that stay are brought over as they lie.
    fn rewrite_bucket(
        &self,
        tables: &EntityTables,
        (bits, file): (String, Option<&AddFile>),
        updates: RowUpdates,
        now_millis: i64,
    ) -> Result<Vec<Action>, LakeError> {
        let (entity, columns) = (tables.entity.as_str(), tables.current_columns.as_slice());
        let mut actions = Vec::new();
        let mut there = LeafGroup::without_rows(columns);
        if let Some(file) = file {
            for group in self.read_leaves(entity, &file.path, columns)? {
                there.append_group(group?)?;
            }
            // In the same commit as what takes its place: between two of them its rows would be there twice, or not at all.
            actions.push(Action::Remove(removed_file(file, true, now_millis)));
        }
        let split = {
            let keys = keys_of(&there)?;
            let stays = keys.iter().enumerate().filter(|(_, key)| !updates.contains_key(**key));
            let mut rows: Vec<BucketRow> = stays.map(|(number, _)| BucketRow::There(number)).collect();
            rows.extend(updates.into_values().flatten().map(BucketRow::New));
            let hash_of = |row: &BucketRow| {
                let key = match row {
                    BucketRow::There(number) => keys.get(*number).copied(),
                    BucketRow::New(cells) => cells.first().and_then(Cell::as_text),
                };
                key_hash(key.unwrap_or_default())
            };
            split_bucket(bits, rows, self.bucket_rows_max, hash_of)
        };
        // A row that no part takes is left out: it was changed, or is gone.
        let mut places = vec![NOWHERE; there.rows];
        let mut made: Vec<LeafGroup> = split.iter().map(|_| LeafGroup::without_rows(columns)).collect();
        let mut new_rows = Vec::with_capacity(split.len());
        let mut tags = Vec::with_capacity(split.len());
        for (part, (bits, rows)) in split.into_iter().enumerate() {
            tags.push(bits);
            let mut new = Vec::new();
            for row in rows {
                match row {
                    BucketRow::There(number) => places.get_mut(number).into_iter().for_each(|place| *place = part),
                    BucketRow::New(cells) => new.push(cells),
                }
            }
            new_rows.push(new);
        }
        bring_rows(there, &places, &mut made)?;
        for ((mut group, new), bits) in made.into_iter().zip(new_rows).zip(tags) {
            for cells in new {
                shred_row(columns, cells, &mut group.leaves)?;
                group.rows += 1;
            }
            let mut file = RowsFile::begin(columns);
            file.push_group(group)?;
            let count = file.rows;
            let added = self.put_file(entity, (file.finish()?, count), (BUCKET_TAG, &bits), now_millis)?;
            actions.push(Action::Add(added));
        }
        Ok(actions)
    }

    /// The rows of a data file as leaves of the columns that the table has by now.
    pub(crate) fn read_leaves<'c>(
        &self,
        table: &str,
        path: &str,
        columns: &'c [Column],
    ) -> Result<impl Iterator<Item = Result<LeafGroup, LakeError>> + use<'c>, LakeError> {
        let (path, bytes) = self.file_bytes(table, path)?;
        let groups: FileLeaves<'_> =
            open_leaves(columns, bytes).map_err(|error| LakeError::unreadable(&path, error))?;
        Ok(groups.map(move |group| group.map_err(|error| LakeError::unreadable(&path, error))))
    }
}

/// The keys of rows of a table of what is, which are its first column.
fn keys_of(group: &LeafGroup) -> Result<Vec<&str>, LakeError> {
    let Some(LeafValues::Bytes(keys)) = group.leaves.first().map(|leaf| &leaf.values) else {
        return Err(LakeError::Shape);
    };
    let keys = keys.iter().map(|key| std::str::from_utf8(key.data()));
    let keys: Vec<&str> = keys.collect::<Result<_, _>>().map_err(|_| LakeError::Shape)?;
    match keys.len() == group.rows {
        true => Ok(keys),
        false => Err(LakeError::Shape),
    }
}

/// Does work on several threads, as many as there are processors; what came of it, in the order of the jobs. After a failure nothing more is begun.
fn side_by_side<J: Send, D: Send>(
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<D, LakeError> + Sync,
) -> Result<Vec<D>, LakeError> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(FILES_AT_ONCE_MAX).min(jobs.len());
    if threads <= 1 {
        return jobs.into_iter().map(work).collect();
    }
    let waiting = Mutex::new(jobs.into_iter().enumerate());
    let next = || waiting.lock().map_or(None, |mut waiting| waiting.next());
    let work_on = || {
        let mut done = Vec::new();
        while let Some((number, job)) = next() {
            match work(job) {
                Ok(came) => done.push((number, came)),
                Err(error) => {
                    while next().is_some() {}
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work_on)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .map(|done| done.map_err(|_| LakeError::Ended)?)
            .collect::<Result<Vec<_>, _>>()
    });
    let mut done: Vec<(usize, D)> = done?.into_iter().flatten().collect();
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, came)| came).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_came_of_jobs_is_in_their_order() {
        for count in [0, 1, 2, 3, 50] {
            let came = side_by_side((0..count).collect(), |job: usize| {
                // The first take longest.
                std::thread::sleep(std::time::Duration::from_micros(200 / (job as u64 + 1)));
                Ok(job * 2)
            });
            assert_eq!(came.unwrap(), (0..count).map(|job| job * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn after_a_failure_nothing_more_is_begun() {
        let begun = AtomicUsize::new(0);
        let came = side_by_side((0..1_000).collect(), |job: usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_micros(100));
            match job {
                3 => Err(LakeError::Shape),
                _ => Ok(job),
            }
        });
        assert!(matches!(came, Err(LakeError::Shape)));
        assert!(begun.load(Ordering::Relaxed) < 900);
    }
}
