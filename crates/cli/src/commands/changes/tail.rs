//! `singlet changes MODEL tail`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use singlet_changes::{CLOCKS_DIFFER_SECONDS, ChangePage, ChangeReader, FollowError, Follower, SnapshotReader, Told};
use singlet_store::StreamPosition;

use super::show::{change_text, gap_text, misfit_text, row_text};
use super::{Opened, failed};
use crate::commands::serve::signal;
use crate::store::now_millis;
use crate::{exit, model};

/// How long it is waited at the head of a stream; DynamoDB allows five reads of a shard a second.
const HEAD_PAUSE: Duration = Duration::from_millis(250);

/// How often that is doubled where the store is busy or away: up to 16 seconds.
const AWAY_DOUBLINGS_MAX: u32 = 6;

/// Print changes as they happen: created, updated, deleted, expired.
///
/// It goes on until it is asked to end, and then says the position at which the next one goes on. In a folder that no service has
/// open nothing can happen meanwhile: there it ends with the last change.
#[derive(Args)]
pub(super) struct Tail {
    /// `now`, `start` for the oldest change that is kept, or a position that was said before [default: now]
    #[arg(long, value_name = "POSITION", conflicts_with = "follower")]
    from: Option<String>,
    /// Follow under a name: the table keeps how far that is, and the next one under the same name goes on there. What was printed
    /// is noted afterwards, so that changes may come again after a crash, and none is left out. A new follower begins now.
    #[arg(long, value_name = "NAME")]
    follower: Option<String>,
    /// First show every row as it is. Rows and changes overlap: what is shown last of a row is what it is.
    #[arg(long, conflicts_with_all = ["follower", "from"])]
    snapshot: bool,
    /// End with the last change instead of waiting for others.
    #[arg(long)]
    once: bool,
    /// Show changes of this entity only; may be repeated.
    #[arg(long = "entity", value_name = "ENTITY")]
    entities: Vec<String>,
    /// How changes are shown.
    #[arg(long, value_enum, default_value_t = ChangeFormat::Text)]
    format: ChangeFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ChangeFormat {
    /// For people: a line each, with what differs.
    Text,
    /// A JSON object a line: `id`, `entity`, `kind`, `key`, `before`, `after`, `at`.
    Json,
}

/// What a tail reads: from a position, or under a name.
enum Tailed {
    From(Box<ChangeReader>),
    Under(Box<Follower>),
}

impl Tailed {
    async fn next_page(&mut self) -> Result<ChangePage, FollowError> {
        match self {
            Tailed::From(reader) => Ok(reader.next_page().await?),
            Tailed::Under(follower) => follower.next_page(now_millis() / 1_000).await,
        }
    }

    /// Notes that what was told is out.
    async fn note(&mut self) -> Result<(), FollowError> {
        match self {
            Tailed::From(_) => Ok(()),
            Tailed::Under(follower) => follower.note_progress(now_millis() / 1_000).await,
        }
    }

    fn is_at_head(&self) -> bool {
        match self {
            Tailed::From(reader) => reader.is_at_head(),
            Tailed::Under(follower) => follower.is_at_head(),
        }
    }

    fn has_passed(&self, seconds: i64) -> bool {
        match self {
            Tailed::From(reader) => reader.has_passed(seconds),
            Tailed::Under(follower) => follower.has_passed(seconds),
        }
    }

    /// Where another goes on; one that follows under a name knows by itself.
    fn position(&self) -> Option<&StreamPosition> {
        match self {
            Tailed::From(reader) => Some(reader.position()),
            Tailed::Under(_) => None,
        }
    }
}

fn at_seconds(told: &Told) -> i64 {
    match told {
        Told::Change(change) => change.at_seconds,
        Told::Misfit(misfit) => misfit.record.at_seconds,
    }
}

fn write_out(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Why a page is not out.
enum NotTold {
    /// It cannot be written.
    Written(std::io::Error),
    /// It cannot be read, or that it is out cannot be noted.
    Followed(FollowError),
}

/// Whether it may go on later: a store elsewhere comes back, a service that ended does not.
fn is_temporary(error: &FollowError, is_remote: bool) -> bool {
    match error {
        FollowError::Store(error) => error.is_throttled() || error.is_conflict() || error.is_unavailable() && is_remote,
        _ => false,
    }
}

impl Tail {
    /// Runs the command.
    pub(super) async fn run(self, opened: Opened) -> Result<ExitCode, ExitCode> {
        if let Some(unknown) = self
            .entities
            .iter()
            .find(|name| opened.model.entity_named(name).is_none())
        {
            let reason = format!("`{}` has no entity `{unknown}`", opened.model.name);
            return Err(model::fail_command(&reason));
        }
        let end = signal::end_signal().map_err(|reason| model::fail_command(&reason))?;
        let mut tailed = match &self.follower {
            None => {
                let from = position(self.from.as_deref().unwrap_or("now"));
                let reader = ChangeReader::new(Arc::clone(&opened.model), Arc::clone(&opened.source), from);
                Tailed::From(Box::new(reader))
            }
            Some(name) => {
                let follower = Follower::start(opened.followers(), name, now_millis() / 1_000).await;
                let follower = follower.map_err(|error| failed(&opened.model, &error))?;
                for gap in &follower.noted_progress().gaps {
                    eprintln!("{}", gap_text(name, gap));
                }
                let follower = match self.snapshot {
                    true => follower.with_earlier(),
                    false => follower,
                };
                Tailed::Under(Box::new(follower))
            }
        };
        if self.snapshot {
            // The position is taken first: what changes while rows are read comes after them.
            let begun = tailed.next_page().await;
            begun.map_err(|error| failed(&opened.model, &error))?;
            self.tell_rows(&opened).await?;
        }
        // Elsewhere a position for now is some hours earlier; whoever asks for now is not shown what was before.
        let is_from_now = self.follower.is_none() && !self.snapshot && self.from.as_deref().unwrap_or("now") == "now";
        let differ = if opened.is_remote { CLOCKS_DIFFER_SECONDS } else { 0 };
        let begun = now_millis() / 1_000;
        let since = match opened.is_remote && is_from_now {
            true => begun - differ,
            false => i64::MIN,
        };
        let is_once = self.once || opened.is_still;
        let (mut has_read, mut failures) = (false, 0);
        let mut ended = std::pin::pin!(end);
        let code = loop {
            let page = tokio::select! {
                () = &mut ended => break ExitCode::from(exit::CLEAN),
                page = tailed.next_page() => page,
            };
            let told = match page {
                Ok(page) => self.tell(&page, since, &mut tailed).await.map(|()| page.is_empty()),
                Err(error) => Err(NotTold::Followed(error)),
            };
            let pause = match told {
                Ok(is_empty) => {
                    (has_read, failures) = (true, 0);
                    let is_past = tailed.is_at_head() || tailed.has_passed(begun + differ);
                    if is_once && (is_past || is_empty && opened.is_still) {
                        break ExitCode::from(exit::CLEAN);
                    }
                    // A page may be empty though others follow; who reads to the end does not wait between them.
                    match is_empty && !is_once {
                        true => HEAD_PAUSE,
                        false => continue,
                    }
                }
                // Whoever read the output has enough, as `head` has: what it did not take is not noted.
                Err(NotTold::Written(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                    break ExitCode::from(exit::CLEAN);
                }
                Err(NotTold::Written(error)) => {
                    break model::fail_command(&format!("standard output cannot be written: {error}"));
                }
                Err(NotTold::Followed(error)) if has_read && is_temporary(&error, opened.is_remote) => {
                    if failures == 0 {
                        eprintln!("waiting: {error}");
                    }
                    failures += 1;
                    HEAD_PAUSE.saturating_mul(1 << failures.min(AWAY_DOUBLINGS_MAX))
                }
                Err(NotTold::Followed(error)) => break failed(&opened.model, &error),
            };
            tokio::select! {
                () = &mut ended => break ExitCode::from(exit::CLEAN),
                () = tokio::time::sleep(pause) => {}
            }
        };
        if let Some(StreamPosition::After(position)) = tailed.position()
            && has_read
        {
            eprintln!("position: {}", one_line(position));
        }
        Ok(code)
    }

    /// Prints every row as it is.
    async fn tell_rows(&self, opened: &Opened) -> Result<(), ExitCode> {
        let mut rows = SnapshotReader::new(Arc::clone(&opened.model), Arc::clone(&opened.source));
        loop {
            let page = rows.next_page(now_millis()).await;
            let Some(page) = page.map_err(|error| failed(&opened.model, &error.into()))? else {
                return Ok(());
            };
            let page = page.iter().filter(|row| self.is_asked_for(row.entity()));
            let shown: String = page
                .map(|row| match self.format {
                    ChangeFormat::Json => row.to_json() + "\n",
                    ChangeFormat::Text => row_text(row) + "\n",
                })
                .collect();
            write_out(&shown).map_err(|error| match error.kind() {
                std::io::ErrorKind::BrokenPipe => ExitCode::from(exit::CLEAN),
                _ => model::fail_command(&format!("standard output cannot be written: {error}")),
            })?;
        }
    }

    fn is_asked_for(&self, entity: &str) -> bool {
        self.entities.is_empty() || self.entities.iter().any(|known| known == entity)
    }

    /// Prints a page, and notes that it is out.
    async fn tell(&self, page: &ChangePage, since: i64, tailed: &mut Tailed) -> Result<(), NotTold> {
        let told = page.told.iter().filter(|told| at_seconds(told) >= since);
        let shown: String = told.filter_map(|told| self.shown(told)).collect();
        write_out(&shown).map_err(NotTold::Written)?;
        tailed.note().await.map_err(NotTold::Followed)
    }

    fn shown(&self, told: &Told) -> Option<String> {
        let entity = match told {
            Told::Change(change) => &change.entity,
            Told::Misfit(misfit) => &misfit.entity,
        };
        if !self.is_asked_for(entity) {
            return None;
        }
        let line = match (told, self.format) {
            (Told::Change(change), ChangeFormat::Json) => change.to_json(),
            (Told::Misfit(misfit), ChangeFormat::Json) => misfit.to_json(),
            (Told::Change(change), ChangeFormat::Text) => change_text(change),
            (Told::Misfit(misfit), ChangeFormat::Text) => misfit_text(misfit),
        };
        Some(line + "\n")
    }
}

/// Where to begin. A position of DynamoDB has a line for each shard, and an argument has one.
fn position(text: &str) -> StreamPosition {
    match text {
        "now" => StreamPosition::Latest,
        "start" => StreamPosition::Start,
        other => StreamPosition::After(other.replace(LINE_MARK, "\n")),
    }
}

/// What stands for the end of a line in a position that is shown.
const LINE_MARK: &str = ";";

fn one_line(position: &str) -> String {
    position.replace('\n', LINE_MARK)
}
