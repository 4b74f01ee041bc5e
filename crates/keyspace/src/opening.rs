//! Opening a folder: what makes it a space, which base counts, and what the log adds to it.

use crate::base::{self, Base};
use crate::bytes::{Key, Value};
use crate::disk::{self, Disk, SyncPoint};
use crate::layers::Layers;
use crate::log::{self, Log, SEGMENT_HEAD_BYTES};
use crate::replay::ReplayedSegment;
use crate::shared::Stopped;
use crate::{Error, Options, Result};

/// The file that says what the folder is. It is made last, so where it is missing nothing was ever answered.
pub(crate) const FORMAT_FILE: &str = "keyspace";
const FORMAT_TEXT: &str = "singlet keyspace ";
const FORMAT: u32 = 1;

/// The base of a new space. A copy has another, so that one that was not finished is not taken for an empty space.
const FIRST_GENERATION: u64 = 0;
const COPIED_GENERATION: u64 = 1;

/// A space as it was found in a folder.
pub(crate) struct OpenedSpace {
    pub(crate) layers: Layers,
    pub(crate) log: Log,
}

/// Opens the space in a folder, or makes an empty one where there is none.
pub(crate) fn open_space(disk: &dyn Disk, options: &Options, stopped: &Stopped) -> Result<OpenedSpace> {
    let names = names(disk)?;
    if names.iter().any(|name| name == FORMAT_FILE) {
        // A process that was killed may have given files their names without waiting for the disk. From here on commits rely on
        // these names, and so does whoever removes what they replace.
        disk.sync_entries(SyncPoint::LogEntry)
            .map_err(|error| failed(disk, &error))?;
    } else {
        // Without the format file nothing was ever answered, so that what is left of a first attempt may go.
        remove_unused(disk, &names)?;
        create(disk, FIRST_GENERATION, std::iter::empty(), 0)?;
    }
    check_format(disk)?;
    // After the format is known to be ours: in a folder of a newer version, files may mean something else.
    remove_unfinished(disk)?;
    let base = open_base(disk, options, stopped)?;
    let number = base.number;
    let mut layers = Layers {
        number,
        base: Some(base.into()),
        ..Layers::default()
    };
    // After the base, whose number says where the log goes on.
    let log = read_log(disk, &mut layers)?;
    Ok(OpenedSpace { layers, log })
}

/// Makes a space with `rows`, in their order, as of commit `number`, in a folder without one.
pub(crate) fn copy_space(disk: &dyn Disk, rows: impl Iterator<Item = Result<(Key, Value)>>, number: u64) -> Result<()> {
    // Also a part of a space: a copy over it would mix rows of both.
    if names(disk)?.iter().any(|name| is_ours(name)) {
        let folder = disk.name();
        return Err(Error::refused(format!(
            "`{folder}` holds a key space, or a part of one, already"
        )));
    }
    create(disk, COPIED_GENERATION, rows, number)
}

fn create(
    disk: &dyn Disk,
    generation: u64,
    rows: impl Iterator<Item = Result<(Key, Value)>>,
    number: u64,
) -> Result<()> {
    Base::create_base(disk, generation, rows, number)?;
    Log::create_segment(disk, number + 1)?;
    let text = format!("{FORMAT_TEXT}{FORMAT}\n");
    // Last: a folder in which it is missing was never used, whatever else lies in it.
    disk::create_whole(disk, FORMAT_FILE, text.as_bytes(), SyncPoint::FormatCreated)
        .and_then(|_| disk.sync_entries(SyncPoint::FormatEntry))
        .map_err(|error| failed(disk, &error))
}

fn check_format(disk: &dyn Disk) -> Result<()> {
    let file = disk
        .open(FORMAT_FILE)
        .map_err(|error| Error::opening(&disk.name(), FORMAT_FILE, &error))?;
    let bytes = disk::read_all(&*file).map_err(|error| failed(disk, &error))?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let format = text
        .strip_prefix(FORMAT_TEXT)
        .and_then(|rest| rest.trim_end().parse().ok());
    match format {
        Some(FORMAT) => Ok(()),
        // Refused before anything is removed or written: a newer version may keep in other files what is missing here.
        Some(format) if format > FORMAT => Err(Error::newer(&disk.name(), format, FORMAT)),
        _ => Err(Error::damaged(format!(
            "`{FORMAT_FILE}` in `{}` does not say what the folder is",
            disk.name()
        ))),
    }
}

/// Removes what is left of a new space that was not finished. Anything that may hold rows is refused.
fn remove_unused(disk: &dyn Disk, names: &[String]) -> Result<()> {
    let segment = log::segment_name(1);
    let expected = [
        base::base_name(FIRST_GENERATION),
        segment.clone(),
        FORMAT_FILE.to_owned(),
    ];
    let expects = |name: &String| {
        expected
            .iter()
            .any(|whole| name == whole || *name == disk::unfinished_name(whole))
    };
    let ours: Vec<&String> = names.iter().filter(|name| is_ours(name)).collect();
    for name in &ours {
        // A log with more than its head may hold commits that somebody was answered.
        if !expects(name) || (**name == segment && segment_bytes(disk, name)? > SEGMENT_HEAD_BYTES as u64) {
            let folder = disk.name();
            return Err(Error::damaged(format!(
                "`{folder}` holds `{name}` without `{FORMAT_FILE}`: an unfinished copy, or a part of a key space"
            )));
        }
    }
    for name in ours {
        disk.remove(name).map_err(|error| failed(disk, &error))?;
    }
    Ok(())
}

/// Removes what a process had not finished when it ended.
fn remove_unfinished(disk: &dyn Disk) -> Result<()> {
    for name in names(disk)? {
        if is_ours(&name) && disk::is_unfinished(&name) {
            disk.remove(&name).map_err(|error| failed(disk, &error))?;
        }
    }
    Ok(())
}

fn segment_bytes(disk: &dyn Disk, name: &str) -> Result<u64> {
    disk.open(name)
        .and_then(|file| file.len())
        .map_err(|error| failed(disk, &error))
}

/// Whether a file belongs to a space, finished or not.
fn is_ours(name: &str) -> bool {
    let whole = [disk::whole_name(name).to_owned()];
    !base::base_generations(&whole).is_empty() || !log::log_segments(&whole).is_empty() || whole[..] == [FORMAT_FILE]
}

/// Opens the newest base and removes those that it has taken the place of.
fn open_base(disk: &dyn Disk, options: &Options, stopped: &Stopped) -> Result<Base> {
    let mut generations = base::base_generations(&names(disk)?);
    // The highest: a base has its name only once it is whole, so that the newest is complete.
    let Some(newest) = generations.pop() else {
        return Err(Error::damaged(format!("`{}` has no base", disk.name())));
    };
    // Before the older ones are removed: if it cannot be opened, they are what is left.
    let base = Base::open(disk, newest, options.cache_bytes, stopped)?;
    for generation in generations {
        disk.remove(&base::base_name(generation))
            .map_err(|error| failed(disk, &error))?;
    }
    Ok(base)
}

/// Holds every page of the newest base against its checksum. What the engine mends by that is written to `disk`.
pub(crate) fn check_base(disk: &dyn Disk, options: &Options) -> Result<()> {
    let names = names(disk)?;
    if !names.iter().any(|name| is_ours(name)) {
        return Err(Error::refused(format!("there is no key space in `{}`", disk.name())));
    }
    if !names.iter().any(|name| name == FORMAT_FILE) {
        return Err(Error::damaged(format!(
            "`{FORMAT_FILE}` is missing in `{}`",
            disk.name()
        )));
    }
    match base::base_generations(&names).pop() {
        Some(newest) => Base::open(disk, newest, options.cache_bytes, &Stopped::default())?.check_pages(),
        None => Err(Error::damaged(format!("`{}` has no base", disk.name()))),
    }
}

/// Adds to `layers` what the log has beyond the base, and goes on with its last segment.
fn read_log(disk: &dyn Disk, layers: &mut Layers) -> Result<Log> {
    let segments = log::log_segments(&names(disk)?);
    // The segment that holds the next commit is the last that begins no later.
    let in_base = segments.partition_point(|first| *first <= layers.number + 1);
    let (old, needed) = segments.split_at(in_base.saturating_sub(1));
    let [.., last] = needed else {
        return Err(Error::damaged(format!("`{}` has no log", disk.name())));
    };
    // A gap: commits that were answered are missing, and those after it must not be shown without them.
    if needed.first().is_some_and(|first| *first > layers.number + 1) {
        let (name, next) = (disk.name(), layers.number + 1);
        return Err(Error::damaged(format!(
            "the log in `{name}` begins after commit {next}, which is missing"
        )));
    }
    let mut log = None;
    for first in needed {
        let name = log::segment_name(*first);
        let file = disk
            .open(&name)
            .map_err(|error| Error::opening(&disk.name(), &name, &error))?;
        let bytes = disk::read_all(&*file).map_err(|error| failed(disk, &error))?;
        let length = bytes.len() as u64;
        let segment = ReplayedSegment::new(*first, bytes)?;
        // Only the last segment may end torn: those before it were whole when the next was begun.
        let end = segment.apply_commits(layers, first == last)?;
        if first == last {
            if end < length {
                // What is torn is cut off, or the next frame would stand behind bytes that are none.
                file.set_len(end).map_err(|error| failed(disk, &error))?;
            }
            // A process that was killed may have written this without waiting for the disk: it is shown from now on.
            file.sync(SyncPoint::LogOpened).map_err(|error| failed(disk, &error))?;
            log = Some(Log::at(name, file, segment.salt(), end));
        }
    }
    // Last, when all that is needed was read.
    for first in old {
        disk.remove(&log::segment_name(*first))
            .map_err(|error| failed(disk, &error))?;
    }
    log.ok_or_else(|| Error::damaged(format!("`{}` has no log", disk.name())))
}

fn names(disk: &dyn Disk) -> Result<Vec<String>> {
    disk.names().map_err(|error| failed(disk, &error))
}

fn failed(disk: &dyn Disk, error: &std::io::Error) -> Error {
    Error::io(&disk.name(), "cannot open the key space", error)
}
