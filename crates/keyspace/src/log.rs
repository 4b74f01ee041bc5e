//! The log: segments of frames, each of which holds a group of commits.
//!
//! A segment begins with a head: magic, format, the first commit that it may hold, a salt and a checksum. A frame is a
//! head (magic, length, first commit, number of commits, checksum of the rest, checksum of the head) and its commits, each a
//! number of changes. All numbers are little-endian.
//!
//! **Invariant:** a frame is written only after the one before it is durable. So a frame that is not whole is the last
//! one, torn by a loss of power, unless a whole one follows: then what was durable is damaged.
//!
//! The salt goes into every checksum. Bytes that only look like a frame, be it in a value or in blocks of a file
//! that was removed, are none.

use crate::disk::{self, Disk, DiskFile, SyncPoint};
use crate::error::is_full;
use crate::layers::WorkChanges;
use crate::limits::{FRAME_BUFFER_BYTES_MAX, ROOM_PROBE_BYTES};
use crate::{Error, Result};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

pub(crate) const SEGMENT_MAGIC: u64 = u64::from_le_bytes(*b"SGLTLOG1");
pub(crate) const SEGMENT_HEAD_BYTES: usize = 8 + 8 + 8 + 4;
pub(crate) const FRAME_MAGIC: u32 = u32::from_le_bytes(*b"frm!");
pub(crate) const FRAME_HEAD_BYTES: usize = 4 + 4 + 8 + 4 + 4 + 4;
/// How a change in a frame begins.
pub(crate) const DELETE: u8 = 0;
pub(crate) const PUT: u8 = 1;

const PREFIX: &str = "log.";

/// The segment that is written to.
pub(crate) struct Log {
    name: String,
    file: Arc<dyn DiskFile>,
    salt: u64,
    end: u64,
    frame: GroupFrame,
}

/// The commits of a group, as they are written.
#[derive(Default)]
struct GroupFrame {
    first: u64,
    commits: u32,
    /// Begins with room for the head.
    bytes: Vec<u8>,
}

impl Log {
    /// Makes the segment whose first commit is `first`.
    pub(crate) fn create_segment(disk: &dyn Disk, first: u64) -> Result<Self> {
        let failed = |error| Error::io(&disk.name(), "cannot begin a new segment of the log", &error);
        // Another for each segment: frames of a file that was removed, whose blocks this one has now, must not look like its own.
        let salt = std::hash::RandomState::new().build_hasher().finish();
        let name = segment_name(first);
        let created = disk::create_whole(disk, &name, &segment_head(first, salt), SyncPoint::LogCreated);
        // What was not finished would be in the way of the next attempt.
        let created = created.inspect_err(|_| drop(disk.remove(&disk::unfinished_name(&name))));
        let file = created.map_err(failed)?;
        // Before anything in it is answered: a segment without a durable name is gone after a loss of power.
        disk.sync_entries(SyncPoint::LogEntry).map_err(failed)?;
        Ok(Self::at(name, file, salt, SEGMENT_HEAD_BYTES as u64))
    }

    /// Goes on with a segment that ends at `end`.
    pub(crate) fn at(name: String, file: Arc<dyn DiskFile>, salt: u64, end: u64) -> Self {
        Self {
            name,
            file,
            salt,
            end,
            frame: GroupFrame::default(),
        }
    }

    /// How many bytes the segment has.
    pub(crate) fn bytes(&self) -> u64 {
        self.end
    }

    /// How many bytes wait for [`Log::append_frame`].
    pub(crate) fn frame_bytes(&self) -> usize {
        self.frame.bytes.len()
    }

    /// Adds a commit to the frame that is written next.
    pub(crate) fn add_commit(&mut self, number: u64, changes: &WorkChanges) {
        let frame = &mut self.frame;
        // The first commit of a frame says where it begins; those after it follow without gaps.
        if frame.commits == 0 {
            frame.first = number;
            frame.bytes.clear();
            frame.bytes.resize(FRAME_HEAD_BYTES, 0);
        }
        frame.commits += 1;
        let put_length = |bytes: &mut Vec<u8>, length: usize| {
            // Lengths are bounded by the limits of a draft, far below.
            bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        };
        put_length(&mut frame.bytes, changes.len());
        // A length before each run of bytes, so that no byte in a value can end it.
        for (key, value) in changes {
            frame.bytes.push(if value.is_some() { PUT } else { DELETE });
            put_length(&mut frame.bytes, key.len());
            frame.bytes.extend_from_slice(key);
            if let Some(value) = value {
                put_length(&mut frame.bytes, value.len());
                frame.bytes.extend_from_slice(value);
            }
        }
    }

    /// Fails where the segment is no longer the one that was written to.
    pub(crate) fn check(&self, disk: &dyn Disk) -> Result<()> {
        disk::check_file(disk, &self.name, &*self.file, self.end)
    }

    /// Writes a frame without commits, which says nothing: whether there is room again, and more than a few bytes of it.
    pub(crate) fn append_nothing(&mut self, disk: &dyn Disk) -> Result<()> {
        self.frame.first = 0;
        self.frame.bytes.clear();
        self.frame.bytes.resize(FRAME_HEAD_BYTES + ROOM_PROBE_BYTES, 0);
        self.append_frame(disk)
    }

    /// Writes the frame and makes it durable. Where that fails, the frame is gone.
    pub(crate) fn append_frame(&mut self, disk: &dyn Disk) -> Result<()> {
        let appended = self.write_frame(disk);
        // Also where it failed: its commits were refused, and must not go out with the next group.
        self.drop_frame();
        appended
    }

    /// Forgets the frame: nothing of it was answered.
    pub(crate) fn drop_frame(&mut self) {
        self.frame.commits = 0;
        self.frame.bytes.clear();
        self.frame.bytes.shrink_to(FRAME_BUFFER_BYTES_MAX);
    }

    fn write_frame(&mut self, disk: &dyn Disk) -> Result<()> {
        let what = "cannot write the log";
        let Some((head, body)) = self.frame.bytes.split_at_mut_checked(FRAME_HEAD_BYTES) else {
            return Ok(());
        };
        let bytes = u32::try_from(body.len()).map_err(|error| Error::failed(format!("{what}: {error}")))?;
        head.copy_from_slice(&frame_head(
            self.salt,
            bytes,
            self.frame.first,
            self.frame.commits,
            // Of the body by itself: the head has a sum of its own, so that the length is known to be right before the body is.
            frame_checksum(self.salt, body),
        ));
        if let Err(error) = self.file.write_at(self.end, &self.frame.bytes) {
            // What was written of it is cut off, so that nothing of it is kept; else nobody knows what is there.
            return Err(match is_full(&error) && self.file.set_len(self.end).is_ok() {
                true => Error::io(&disk.name(), what, &error),
                false => Error::failed(format!("{what} in `{}`: {error}", disk.name())),
            });
        }
        // A sync that failed leaves open what is on the disk, and a second one may succeed without having written: no more is
        // tried.
        if let Err(error) = self.file.sync(SyncPoint::LogAppended) {
            return Err(Error::failed(format!("{what} in `{}`: {error}", disk.name())));
        }
        // Only now: a frame that was not made durable is written over by the next one.
        self.end += self.frame.bytes.len() as u64;
        Ok(())
    }
}

pub(crate) fn segment_name(first: u64) -> String {
    format!("{PREFIX}{first:016x}")
}

/// The first commits of all segments in a folder, in order.
pub(crate) fn log_segments(names: &[String]) -> Vec<u64> {
    let first = |name: &String| {
        let digits = name.strip_prefix(PREFIX)?;
        let first = u64::from_str_radix(digits, 16).ok()?;
        // Only names as they are written here.
        (segment_name(first) == *name).then_some(first)
    };
    let mut segments: Vec<u64> = names.iter().filter_map(first).collect();
    segments.sort_unstable();
    segments
}

fn segment_head(first: u64, salt: u64) -> Vec<u8> {
    let mut head = Vec::with_capacity(SEGMENT_HEAD_BYTES);
    head.extend_from_slice(&SEGMENT_MAGIC.to_le_bytes());
    head.extend_from_slice(&first.to_le_bytes());
    head.extend_from_slice(&salt.to_le_bytes());
    head.extend_from_slice(&frame_checksum(salt, &head).to_le_bytes());
    head
}

fn frame_head(salt: u64, bytes: u32, first: u64, commits: u32, body: u32) -> [u8; FRAME_HEAD_BYTES] {
    let mut head = Vec::with_capacity(FRAME_HEAD_BYTES);
    head.extend_from_slice(&FRAME_MAGIC.to_le_bytes());
    head.extend_from_slice(&bytes.to_le_bytes());
    head.extend_from_slice(&first.to_le_bytes());
    head.extend_from_slice(&commits.to_le_bytes());
    head.extend_from_slice(&body.to_le_bytes());
    head.extend_from_slice(&frame_checksum(salt, &head).to_le_bytes());
    head.try_into().unwrap_or([0; FRAME_HEAD_BYTES])
}

pub(crate) fn frame_checksum(salt: u64, bytes: &[u8]) -> u32 {
    // The salt first, so that it goes into every sum.
    crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), bytes)
}
