//! An archive that is there.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::checksum::Sum;
use crate::error::{ArchiveError, ArchiveProblem};
use crate::items::ArchivedItems;
use crate::manifest::{
    DATA_FOLDER, DYNAMODB_JSON, DataFile, EXPORTS_FOLDER, FILES_FILE, FULL_EXPORT, SUM_ENDINGS, SUMMARY_FILE,
    SummaryRead,
};

/// How much a manifest may hold: a table of a million partitions has a line of 200 bytes for each.
const MANIFEST_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// How many archives a folder may have.
const ARCHIVES_MAX: usize = 10_000;

/// An archive that is there, whose manifests are sound.
#[derive(Clone, Debug)]
pub struct Archive {
    folder: PathBuf,
    table: Option<String>,
    item_count: u64,
    files: Vec<DataFile>,
    fingerprint: String,
}

/// The archives of a folder: it is one, or has them as an export does, under `AWSDynamoDB`.
///
/// # Errors
///
/// Where there is none, or one of them is not whole.
pub fn archives_in(folder: &Path) -> Result<Vec<Archive>, ArchiveError> {
    if !folder.is_dir() {
        let problem = if folder.exists() {
            ArchiveProblem::NoArchive
        } else {
            ArchiveProblem::Missing
        };
        return Err(ArchiveError::new(folder, problem));
    }
    // One that was not written to its end has these at least.
    let is_archive = |folder: &Path| {
        [SUMMARY_FILE, FILES_FILE, DATA_FOLDER]
            .iter()
            .any(|name| folder.join(name).exists())
    };
    if is_archive(folder) {
        return Ok(vec![Archive::read(folder)?]);
    }
    let exports = match folder.file_name().is_some_and(|name| name == EXPORTS_FOLDER) {
        true => folder.to_owned(),
        false => folder.join(EXPORTS_FOLDER),
    };
    if !exports.is_dir() {
        return Err(ArchiveError::new(folder, ArchiveProblem::NoArchive));
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(&exports).map_err(|error| ArchiveError::io(&exports, error))? {
        let path = entry.map_err(|error| ArchiveError::io(&exports, error))?.path();
        if path.is_dir() {
            folders.push(path);
        }
        if folders.len() > ARCHIVES_MAX {
            let many = format!("there are more than {ARCHIVES_MAX} exports in it: name the folder of one");
            return Err(ArchiveError::new(&exports, ArchiveProblem::Shape(many)));
        }
    }
    folders.sort();
    match folders.is_empty() {
        true => Err(ArchiveError::new(folder, ArchiveProblem::NoArchive)),
        false => folders.iter().map(|folder| Archive::read(folder)).collect(),
    }
}

impl Archive {
    fn read(folder: &Path) -> Result<Self, ArchiveError> {
        let path = folder.join(SUMMARY_FILE);
        if !path.exists() {
            return Err(ArchiveError::new(folder, ArchiveProblem::Unfinished));
        }
        let (text, summary_sum) = manifest(&path)?;
        let summary: SummaryRead = serde_json::from_str(&text)
            .map_err(|error| ArchiveError::new(&path, ArchiveProblem::Shape(error.to_string())))?;
        if summary.output_format != DYNAMODB_JSON {
            return Err(ArchiveError::new(&path, ArchiveProblem::Format(summary.output_format)));
        }
        if summary.export_type.as_deref().is_some_and(|kind| kind != FULL_EXPORT) {
            return Err(ArchiveError::new(&path, ArchiveProblem::Incremental));
        }
        let path = folder.join(FILES_FILE);
        let (text, files_sum) = manifest(&path)?;
        let files = data_files(&path, &text)?;
        let said: u64 = files.iter().map(|file| file.item_count).fold(0, u64::saturating_add);
        if said != summary.item_count {
            return Err(ArchiveError::new(
                &path,
                ArchiveProblem::Count(summary.item_count, said),
            ));
        }
        Ok(Archive {
            folder: folder.to_owned(),
            table: summary.table_arn.as_deref().and_then(table_of_arn),
            item_count: summary.item_count,
            files,
            fingerprint: format!("{}{}", summary_sum.hex(), files_sum.hex()),
        })
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of the table, where the summary says it.
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// How many items it says to have.
    pub fn item_count(&self) -> u64 {
        self.item_count
    }

    /// Tells it from every other archive: the sums of its manifests, which have those of its files.
    pub fn archive_fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Its items, file by file. Each file is read whole before its first item is given, and held against its sum.
    pub fn items(&self) -> ArchivedItems<'_> {
        ArchivedItems::new(self.folder.join(DATA_FOLDER), &self.files)
    }
}

/// The text of a manifest, which has the sum that lies beside it.
fn manifest(path: &Path) -> Result<(String, Sum), ArchiveError> {
    let failed = |error| ArchiveError::io(path, error);
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MANIFEST_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MANIFEST_BYTES_MAX {
        return Err(ArchiveError::new(
            path,
            ArchiveProblem::Shape("it is larger than any manifest".to_owned()),
        ));
    }
    let own = Sum::of(&bytes);
    let endings = SUM_ENDINGS.map(|ending| path.with_extension(ending));
    let [first, _] = &endings;
    let beside = endings.iter().find(|beside| beside.exists()).unwrap_or(first);
    let said = fs::read_to_string(beside).map_err(|error| ArchiveError::io(beside, error))?;
    if said.trim() != own.text() {
        return Err(ArchiveError::new(
            path,
            ArchiveProblem::Checksum(said.trim().to_owned(), own.text()),
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, own)),
        Err(_) => Err(ArchiveError::new(
            path,
            ArchiveProblem::Shape("it is not UTF-8".to_owned()),
        )),
    }
}

fn data_files(path: &Path, text: &str) -> Result<Vec<DataFile>, ArchiveError> {
    let mut names = BTreeSet::new();
    let mut files = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |reason: String| ArchiveError::at_line(path, number, ArchiveProblem::Shape(reason));
        let file: DataFile = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let Some(name) = file.name() else {
            return Err(wrong(format!(
                "`{}` is no file in a folder `{DATA_FOLDER}`",
                file.data_file_s3_key
            )));
        };
        if !names.insert(name.to_owned()) {
            return Err(wrong(format!("`{name}` is named twice")));
        }
        files.push(file);
    }
    Ok(files)
}

/// The table's name in `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME`.
fn table_of_arn(arn: &str) -> Option<String> {
    let (_, name) = arn.rsplit_once("table/")?;
    let name = name.split('/').next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_owned())
}
