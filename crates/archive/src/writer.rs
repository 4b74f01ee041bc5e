//! Writes an archive.
//!
//! The summary comes last, under its name only when all else is on the disk: whoever is killed before leaves what nobody takes for a whole table.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use singlet_item::{Item, item_size_bytes};

use crate::checksum::{Sum, SummingWriter};
use crate::error::{ArchiveError, ArchiveProblem};
use crate::manifest::{
    DATA_FOLDER, DYNAMODB_JSON, DataFile, EXPORTS_FOLDER, FILES_FILE, SUM_ENDINGS, SUMMARY_FILE, SummaryWritten,
    VERSION,
};

/// How much a data file holds before the next is begun, before it is compressed.
const DATA_FILE_BYTES: u64 = 128 * 1024 * 1024;

/// The length of a data file's name, as DynamoDB has it.
const NAME_CHARS: usize = 26;

/// An archive that is being written.
pub struct ArchiveWriter {
    folder: PathBuf,
    id: String,
    table: String,
    began_at: i64,
    file_bytes: u64,
    open: Option<OpenFile>,
    files: Vec<DataFile>,
    items: u64,
    item_bytes: u64,
}

/// An archive that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenArchive {
    /// Where it lies.
    pub folder: PathBuf,
    /// How many items it has.
    pub items: u64,
    /// Their bytes, as DynamoDB counts them.
    pub item_bytes: u64,
}

struct OpenFile {
    name: String,
    path: PathBuf,
    to: GzEncoder<SummingWriter<BufWriter<File>>>,
    items: u64,
    bytes: u64,
}

/// A line of a data file.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "Item")]
    item: &'a Item,
}

impl ArchiveWriter {
    /// Begins the archive of a table in a folder, which is made where it is not there. The instant is in epoch milliseconds.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    pub fn begin(folder: &Path, table: &str, now: i64) -> Result<Self, ArchiveError> {
        let digits: String = std::iter::repeat_with(|| fastrand::digit(16)).take(8).collect();
        let id = format!("{now:014}-{digits}");
        let own = folder.join(EXPORTS_FOLDER).join(&id);
        if own.exists() {
            return Err(ArchiveError::new(&own, ArchiveProblem::There));
        }
        let data = own.join(DATA_FOLDER);
        create_folder(&data).map_err(|error| ArchiveError::io(&data, error))?;
        write_file(&own.join("_started"), b"")?;
        Ok(ArchiveWriter {
            folder: own,
            id,
            table: table.to_owned(),
            began_at: now,
            file_bytes: DATA_FILE_BYTES,
            open: None,
            files: Vec::new(),
            items: 0,
            item_bytes: 0,
        })
    }

    /// The same with data files of another size.
    #[must_use]
    pub fn with_file_bytes(self, file_bytes: u64) -> Self {
        ArchiveWriter { file_bytes, ..self }
    }

    /// Writes an item.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    pub fn put_item(&mut self, item: &Item) -> Result<(), ArchiveError> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.next_file()?,
        };
        let mut line = serde_json::to_vec(&Line { item })
            .map_err(|error| ArchiveError::new(&open.path, ArchiveProblem::Shape(error.to_string())))?;
        line.push(b'\n');
        open.to
            .write_all(&line)
            .map_err(|error| ArchiveError::io(&open.path, error))?;
        open.items += 1;
        open.bytes += line.len() as u64;
        self.items += 1;
        self.item_bytes += item_size_bytes(item) as u64;
        match open.bytes >= self.file_bytes {
            true => self.end_file(open),
            false => {
                self.open = Some(open);
                Ok(())
            }
        }
    }

    /// Writes the manifests.
    ///
    /// # Errors
    ///
    /// Where they cannot be written; then there is no archive.
    pub fn finish(mut self, now: i64) -> Result<WrittenArchive, ArchiveError> {
        let open = match self.open.take() {
            Some(open) => Some(open),
            // A table without items has a file without any.
            None if self.files.is_empty() => Some(self.next_file()?),
            None => None,
        };
        if let Some(open) = open {
            self.end_file(open)?;
        }
        let files = self.folder.join(FILES_FILE);
        let mut text = Vec::new();
        for file in &self.files {
            serde_json::to_writer(&mut text, file)
                .map_err(|error| ArchiveError::new(&files, ArchiveProblem::Shape(error.to_string())))?;
            text.push(b'\n');
        }
        write_with_sum(&files, &text)?;
        let path = self.folder.join(SUMMARY_FILE);
        let text = serde_json::to_vec(&self.summary(now))
            .map_err(|error| ArchiveError::new(&path, ArchiveProblem::Shape(error.to_string())))?;
        write_with_sum(&path, &text)?;
        Ok(WrittenArchive {
            folder: self.folder,
            items: self.items,
            item_bytes: self.item_bytes,
        })
    }

    fn summary(&self, now: i64) -> SummaryWritten {
        let arn = format!("arn:aws:dynamodb:local:000000000000:table/{}", self.table);
        let began = instant(self.began_at);
        SummaryWritten {
            version: VERSION,
            export_arn: format!("{arn}/export/{}", self.id),
            start_time: began.clone(),
            end_time: instant(now),
            table_arn: arn,
            table_id: table_id(),
            export_time: began,
            s3_bucket: "local",
            s3_prefix: None,
            s3_sse_algorithm: None,
            s3_sse_kms_key_id: None,
            manifest_files_s3_key: format!("{EXPORTS_FOLDER}/{}/{FILES_FILE}", self.id),
            billed_size_bytes: self.item_bytes,
            item_count: self.items,
            output_format: DYNAMODB_JSON,
        }
    }

    fn next_file(&self) -> Result<OpenFile, ArchiveError> {
        let letters: String = std::iter::repeat_with(|| fastrand::digit(32))
            .take(NAME_CHARS)
            .collect();
        let name = format!("{letters}.json.gz");
        let path = self.folder.join(DATA_FOLDER).join(&name);
        let file = private_file(&path)?;
        Ok(OpenFile {
            name,
            path,
            to: GzEncoder::new(SummingWriter::new(BufWriter::new(file)), Compression::default()),
            items: 0,
            bytes: 0,
        })
    }

    fn end_file(&mut self, open: OpenFile) -> Result<(), ArchiveError> {
        let OpenFile {
            name, path, to, items, ..
        } = open;
        let failed = |error| ArchiveError::io(&path, error);
        let (written, sum) = to.finish().map_err(failed)?.finish();
        let file = written.into_inner().map_err(|error| failed(error.into_error()))?;
        // Before a manifest names it.
        file.sync_all().map_err(failed)?;
        self.files.push(DataFile {
            item_count: items,
            md5_checksum: sum.text(),
            etag: sum.etag(),
            data_file_s3_key: format!("{EXPORTS_FOLDER}/{}/{DATA_FOLDER}/{name}", self.id),
        });
        Ok(())
    }
}

/// First the sum, then the manifest, which has its name only once it is on the disk.
fn write_with_sum(path: &Path, text: &[u8]) -> Result<(), ArchiveError> {
    let [ending, _] = SUM_ENDINGS;
    write_file(&path.with_extension(ending), Sum::of(text).text().as_bytes())?;
    let begun = path.with_extension("json.begun");
    write_file(&begun, text)?;
    fs::rename(&begun, path).map_err(|error| ArchiveError::io(path, error))?;
    sync_folder(path.parent())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ArchiveError> {
    let failed = |error| ArchiveError::io(path, error);
    let mut file = private_file(path)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// A file for its owner alone.
fn private_file(path: &Path) -> Result<File, ArchiveError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| ArchiveError::io(path, error))
}

fn create_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// What a rename did is on the disk when its folder is.
fn sync_folder(folder: Option<&Path>) -> Result<(), ArchiveError> {
    match folder {
        #[cfg(unix)]
        Some(folder) => File::open(folder)
            .and_then(|opened| opened.sync_all())
            .map_err(|error| ArchiveError::io(folder, error)),
        _ => Ok(()),
    }
}

/// As DynamoDB spells an instant.
fn instant(millis: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{at:.3}")
}

/// Which table it was is known to nobody: the id only has the form of one.
fn table_id() -> String {
    let digits = |count: usize| -> String { std::iter::repeat_with(|| fastrand::digit(16)).take(count).collect() };
    [8, 4, 4, 4, 12].map(digits).join("-")
}
