//! Reading the log again: every whole frame, and whether what follows is torn or damaged.

use crate::layers::Layers;
use crate::log::{
    DELETE, FRAME_HEAD_BYTES, FRAME_MAGIC, PUT, SEGMENT_HEAD_BYTES, SEGMENT_MAGIC, frame_checksum, segment_name,
};
use crate::{Error, Result};
use std::sync::Arc;

/// A segment that was read into memory.
pub(crate) struct ReplayedSegment {
    name: String,
    bytes: Vec<u8>,
    salt: u64,
}

/// A frame whose checksums are right.
struct ReplayedFrame<'s> {
    first: u64,
    commits: u32,
    body: &'s [u8],
    end: usize,
}

/// Numbers and runs of bytes from the front of a slice.
struct FrameReader<'s>(&'s [u8]);

impl ReplayedSegment {
    /// Takes the bytes of the segment that begins with commit `first`.
    pub(crate) fn new(first: u64, bytes: Vec<u8>) -> Result<Self> {
        let name = segment_name(first);
        let head = |bytes: &[u8]| {
            let summed = bytes.get(..SEGMENT_HEAD_BYTES - 4)?;
            let mut reader = FrameReader(bytes);
            let (magic, number, salt) = (reader.u64()?, reader.u64()?, reader.u64()?);
            (magic == SEGMENT_MAGIC && number == first && reader.u32()? == frame_checksum(salt, summed)).then_some(salt)
        };
        match head(&bytes) {
            Some(salt) => Ok(Self { name, bytes, salt }),
            None => Err(Error::damaged(format!(
                "the head of `{name}` is not what was written there"
            ))),
        }
    }

    pub(crate) fn salt(&self) -> u64 {
        self.salt
    }

    /// Adds all commits after that of `layers`, and answers where the last whole frame ends.
    ///
    /// What follows it may be torn only in the segment that was written to last.
    pub(crate) fn apply_commits(&self, layers: &mut Layers, last: bool) -> Result<u64> {
        let mut at = SEGMENT_HEAD_BYTES;
        while let Some(frame) = self.frame(at) {
            self.apply_frame(&frame, at, layers)?;
            at = frame.end;
        }
        let torn = at < self.bytes.len();
        // A whole frame behind it was durable after it, so that this one was too, and is damaged.
        if torn && (!last || self.whole_frame_after(at)) {
            return Err(self.damaged(at));
        }
        Ok(at as u64)
    }

    fn apply_frame(&self, frame: &ReplayedFrame<'_>, at: usize, layers: &mut Layers) -> Result<()> {
        let mut body = FrameReader(frame.body);
        for number in (frame.first..).take(frame.commits as usize) {
            let next = layers.number + 1;
            // Commits have no gaps: what is missing was answered to somebody.
            if number > next {
                let name = &self.name;
                return Err(Error::damaged(format!(
                    "`{name}` goes on with commit {number}, and {next} is missing"
                )));
            }
            let changes = body.u32().ok_or_else(|| self.damaged(at))?;
            for _ in 0..changes {
                let (key, value) = body.change().ok_or_else(|| self.damaged(at))?;
                // Those that the base has already are read but not done again: a later one may have changed the same key.
                if number == next {
                    layers.change_key(key.into(), value.map(Arc::from));
                }
            }
            layers.number = layers.number.max(number);
        }
        Ok(())
    }

    fn frame(&self, at: usize) -> Option<ReplayedFrame<'_>> {
        let bytes = self.bytes.get(at..)?;
        let summed = bytes.get(..FRAME_HEAD_BYTES - 4)?;
        let mut reader = FrameReader(bytes);
        if reader.u32()? != FRAME_MAGIC {
            return None;
        }
        let (length, first, commits) = (reader.u32()? as usize, reader.u64()?, reader.u32()?);
        let body_sum = reader.u32()?;
        // Before the length is used, which may be any number.
        if reader.u32()? != frame_checksum(self.salt, summed) {
            return None;
        }
        let body = reader.take(length)?;
        let whole = body_sum == frame_checksum(self.salt, body);
        whole.then_some(ReplayedFrame {
            first,
            commits,
            body,
            end: at + FRAME_HEAD_BYTES + length,
        })
    }

    fn whole_frame_after(&self, at: usize) -> bool {
        // Byte by byte, for nobody knows where a frame begins behind one that is not whole.
        (at + 1..self.bytes.len()).any(|at| self.frame(at).is_some())
    }

    fn damaged(&self, at: usize) -> Error {
        Error::damaged(format!(
            "`{}` is not what was written there, from byte {at} on",
            self.name
        ))
    }
}

impl<'s> FrameReader<'s> {
    fn take(&mut self, length: usize) -> Option<&'s [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn change(&mut self) -> Option<(&'s [u8], Option<&'s [u8]>)> {
        let [kind] = self.array()?;
        let key_bytes = self.u32()? as usize;
        let key = self.take(key_bytes)?;
        match kind {
            PUT => {
                let value_bytes = self.u32()? as usize;
                Some((key, Some(self.take(value_bytes)?)))
            }
            DELETE => Some((key, None)),
            _ => None,
        }
    }
}
