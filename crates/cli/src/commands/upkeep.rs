//! `singlet backup` and `singlet compact`: what keeps a folder of data for years.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::operator::{Asked, done_in};
use crate::{exit, model};

/// Write a copy of the data in a folder to another folder, as of one moment.
///
/// A service that has the folder open goes on serving: it makes the copy itself. The copy holds all tables with their indexes and
/// changes; the secret of the service is not in it.
#[derive(Args)]
pub(crate) struct Backup {
    /// The folder of the data.
    data: PathBuf,
    /// Where the copy goes: a folder without data.
    to: PathBuf,
}

/// Free the disk space that deleted and replaced rows still take up in a folder.
///
/// A service that has the folder open goes on serving: it does it itself. As much room as the data takes is needed meanwhile.
#[derive(Args)]
pub(crate) struct Compact {
    /// The folder of the data.
    data: PathBuf,
}

impl Backup {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        copy_folder(&self.data, &self.to)
    }
}

impl Compact {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let before = bytes_in(&self.data);
        let done = super::block_on(async {
            let done = done_in(&self.data, &Asked::Compact).await;
            done.map(|()| ExitCode::from(exit::CLEAN))
                .map_err(|reason| model::fail_command(&reason))
        });
        if done.is_ok() {
            let (before, after) = (megabytes(before), megabytes(bytes_in(&self.data)));
            super::print_text(&format!(
                "{}: {before} MB before, {after} MB now\n",
                self.data.display()
            ));
        }
        done.unwrap_or_else(|code| code)
    }
}

/// Copies all of the data of a folder to one without data.
pub(super) fn copy_folder(from: &Path, to: &Path) -> ExitCode {
    let done = super::block_on(async {
        // A service that makes the copy has another folder to work in.
        let absolute =
            std::path::absolute(to).map_err(|error| model::fail_command(&format!("`{}`: {error}", to.display())))?;
        let done = done_in(from, &Asked::Backup(absolute)).await;
        done.map_err(|reason| model::fail_command(&reason))?;
        let written = format!("{}: {} MB written\n", to.display(), megabytes(bytes_in(to)));
        Ok(super::print_text(&written))
    });
    done.unwrap_or_else(|code| code)
}

/// How much the files of a folder take; what cannot be asked is not counted.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files.filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}

/// With one digit behind the point.
fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1_000_000.0)
}
