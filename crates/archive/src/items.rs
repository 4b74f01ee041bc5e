//! The items of an archive, one after the other.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::slice;

use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use singlet_item::{Item, Value};

use crate::checksum::Sum;
use crate::error::{ArchiveError, ArchiveProblem};
use crate::manifest::DataFile;

/// The longest line: an item of 400 KB whose every byte is an empty text of a list takes nine times as much.
pub const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// An item, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedItem {
    /// The item.
    pub item: Item,
    /// Which of the data files, in the order of the manifest.
    pub file: usize,
    /// The line, from one.
    pub line: u64,
}

/// The items of an archive. After an error there are no more.
pub struct ArchivedItems<'a> {
    folder: PathBuf,
    files: slice::Iter<'a, DataFile>,
    begun: usize,
    open: Option<OpenFile>,
}

struct OpenFile {
    path: PathBuf,
    said: u64,
    read: u64,
    line: u64,
    lines: Box<dyn BufRead + Send>,
}

impl<'a> ArchivedItems<'a> {
    pub(crate) fn new(folder: PathBuf, files: &'a [DataFile]) -> Self {
        ArchivedItems {
            folder,
            files: files.iter(),
            begun: 0,
            open: None,
        }
    }

    /// The data file from which the last item came.
    pub fn path(&self) -> &Path {
        self.open.as_ref().map_or(&self.folder, |open| &open.path)
    }

    fn next_item(&mut self) -> Result<Option<ArchivedItem>, ArchiveError> {
        loop {
            if let Some(open) = &mut self.open {
                if let Some(item) = open.next_item()? {
                    return Ok(Some(ArchivedItem {
                        item,
                        file: self.begun.saturating_sub(1),
                        line: open.line,
                    }));
                }
                if open.read != open.said {
                    return Err(ArchiveError::new(
                        &open.path,
                        ArchiveProblem::Count(open.said, open.read),
                    ));
                }
            }
            let Some(file) = self.files.next() else {
                return Ok(None);
            };
            self.begun += 1;
            self.open = Some(OpenFile::checked(&self.folder, file)?);
        }
    }
}

impl Iterator for ArchivedItems<'_> {
    type Item = Result<ArchivedItem, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_item();
        if next.is_err() {
            self.files = slice::Iter::default();
            self.open = None;
        }
        next.transpose()
    }
}

impl OpenFile {
    /// A data file that has the sum which the manifest says.
    fn checked(folder: &Path, file: &DataFile) -> Result<Self, ArchiveError> {
        // The manifest was refused where a key has no name.
        let path = folder.join(file.name().unwrap_or_default());
        let failed = |error| ArchiveError::io(&path, error);
        let mut opened = File::open(&path).map_err(failed)?;
        // Of the file that is then read, and not of its name: another may take its place meanwhile.
        let own = Sum::of_rest(&mut opened).map_err(failed)?.text();
        if own != file.md5_checksum {
            return Err(ArchiveError::new(
                &path,
                ArchiveProblem::Checksum(file.md5_checksum.clone(), own),
            ));
        }
        let length = opened.stream_position().map_err(failed)?;
        opened.rewind().map_err(failed)?;
        let read = BufReader::with_capacity(1 << 16, opened);
        let lines: Box<dyn BufRead + Send> = match length {
            // A partition without items may have a file without bytes.
            0 => Box::new(read),
            _ => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(read))),
        };
        Ok(OpenFile {
            path,
            said: file.item_count,
            read: 0,
            line: 0,
            lines,
        })
    }

    fn next_item(&mut self) -> Result<Option<Item>, ArchiveError> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            // One byte more than a line may have: that it is too long is seen without holding it.
            let read = (&mut self.lines).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut bytes);
            let wrong = |line: u64, problem| ArchiveError::at_line(&self.path, line, problem);
            let read = read.map_err(|error| wrong(self.line + 1, ArchiveProblem::Compressed(error)))?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if bytes.len() as u64 > LINE_BYTES_MAX {
                return Err(wrong(self.line, ArchiveProblem::TooLong));
            }
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let line: Line = serde_json::from_slice(&bytes)
                .map_err(|error| wrong(self.line, ArchiveProblem::Shape(error.to_string())))?;
            self.read += 1;
            return Ok(Some(line.item.0));
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "Item")]
    item: Attributes,
}

/// The attributes of an item, none of which is named twice.
struct Attributes(Item);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AttributesVisitor)
    }
}

struct AttributesVisitor;

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Attributes;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the attributes of an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
        let mut item = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if item.contains_key(&name) {
                return Err(A::Error::custom(format!("the item has `{name}` twice")));
            }
            item.insert(name, value);
        }
        Ok(Attributes(item))
    }
}
