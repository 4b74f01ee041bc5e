//! `singlet changes`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use singlet_changes::{
    Change, ChangeKind, ChangePage, ChangeReader, ChangeSource, FollowError, Follower, Followers, Gap, Misfit, Told,
    at_text,
};
use singlet_item::Value;
use singlet_model::Model;
use singlet_runtime::Attributes;
use singlet_runtime::values::json_text;
use singlet_store::{StoreError, StreamPosition};

use super::serve::signal;
use crate::folder_changes::{FolderChanges, FolderRead, Position};
use crate::operator::told_by_service;
use crate::place::Place;
use crate::store::{StoreArgs, now};
use crate::table::counted;
use crate::{exit, model};

/// How long it is waited at the head of a stream; DynamoDB allows five reads of a shard a second.
const HEAD_PAUSE: Duration = Duration::from_millis(250);

/// How many changes are counted for the lag of a follower.
const LAG_CHANGES_MAX: usize = 10_000;

/// Show what happened to the rows of a model's table.
///
/// The table needs a stream; `stream: both_images` has rows before and after. While a service runs on a folder, it is the service
/// that is asked.
#[derive(Args)]
pub struct Changes {
    /// The model file.
    model: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Tail(Tail),
    Lag(Lag),
    Forget(Forget),
    Acknowledge(Acknowledge),
}

/// Print changes as they happen: created, updated, deleted, expired.
///
/// It goes on until it is asked to end, and then says the position at which the next one goes on. In a folder that no service has
/// open nothing can happen meanwhile: there it ends with the last change.
#[derive(Args)]
struct Tail {
    /// `now`, `start` for the oldest change that is kept, or a position that was said before [default: now]
    #[arg(long, value_name = "POSITION", conflicts_with = "follower")]
    from: Option<String>,
    /// Follow under a name: the table keeps how far that is, and the next one under the same name goes on there. What was printed
    /// is noted afterwards, so that changes may come again after a crash, and none is left out. A new follower begins now.
    #[arg(long, value_name = "NAME")]
    follower: Option<String>,
    /// End with the last change instead of waiting for others.
    #[arg(long)]
    once: bool,
    /// Show changes of this entity only; may be repeated.
    #[arg(long = "entity", value_name = "ENTITY")]
    entities: Vec<String>,
    /// How changes are shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Say how far every follower is.
///
/// The exit code is 1 where changes were gone before a follower came to them.
#[derive(Args)]
struct Lag {}

/// Forget a follower: changes are no longer kept for it, and its name is free.
#[derive(Args)]
struct Forget {
    /// The name of the follower.
    name: String,
}

/// Say that it is known which changes a follower never saw.
#[derive(Args)]
struct Acknowledge {
    /// The name of the follower.
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: a line each, with what differs.
    Text,
    /// A JSON object a line: `id`, `entity`, `kind`, `key`, `before`, `after`, `at`.
    Json,
}

/// Where changes are read from, and whether any can come meanwhile.
struct Opened {
    model: Arc<Model>,
    source: Arc<dyn ChangeSource>,
    is_still: bool,
}

impl Opened {
    fn followers(&self) -> Followers {
        Followers::new(Arc::clone(&self.model), Arc::clone(&self.source))
    }
}

impl Changes {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.changes()).unwrap_or_else(|code| code)
    }

    async fn changes(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load(&self.model)?;
        let opened = self.open(loaded).await.map_err(|reason| model::fail(&reason))?;
        match self.action {
            Action::Tail(tail) => tail.run(opened).await,
            Action::Lag(_) => lag(&opened).await,
            Action::Forget(forget) => {
                let done = opened.followers().forget(&forget.name).await;
                done.map_err(|error| failed(&opened.model, &error))?;
                Ok(super::print(&format!("{}: forgotten\n", forget.name)))
            }
            Action::Acknowledge(acknowledge) => {
                let done = opened.followers().acknowledge(&acknowledge.name).await;
                let gaps = done.map_err(|error| failed(&opened.model, &error))?;
                Ok(super::print(&format!(
                    "{}: {} acknowledged\n",
                    acknowledge.name,
                    counted(gaps, "gap")
                )))
            }
        }
    }

    async fn open(&self, model: Model) -> Result<Opened, String> {
        let place = self.store.place()?;
        if place == Place::Memory {
            return Err(
                "a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`".to_owned(),
            );
        }
        if let Place::Folder(folder) = &place {
            let probe = FolderRead::Records {
                table: model.table.name.clone(),
                position: Position::Latest,
                limit: 1,
            };
            if told_by_service(folder, &probe).is_some() {
                return Ok(Opened {
                    model: Arc::new(model),
                    source: Arc::new(FolderChanges::new(folder.clone())),
                    is_still: false,
                });
            }
        }
        let engine = self.store.open_as_it_is(model).await?;
        Ok(Opened {
            model: Arc::clone(engine.model()),
            source: Arc::new(Arc::clone(engine.store())),
            is_still: matches!(place, Place::Folder(_)),
        })
    }
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
            Tailed::Under(follower) => follower.next_page(now() / 1_000).await,
        }
    }

    /// Notes that what was told is out.
    async fn note(&mut self) -> Result<(), FollowError> {
        match self {
            Tailed::From(_) => Ok(()),
            Tailed::Under(follower) => follower.note(now() / 1_000).await,
        }
    }

    fn is_at_head(&self) -> bool {
        match self {
            Tailed::From(reader) => reader.is_at_head(),
            Tailed::Under(follower) => follower.is_at_head(),
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

impl Tail {
    async fn run(self, opened: Opened) -> Result<ExitCode, ExitCode> {
        if let Some(unknown) = self
            .entities
            .iter()
            .find(|name| opened.model.entity_named(name).is_none())
        {
            let reason = format!("`{}` has no entity `{unknown}`", opened.model.name);
            return Err(model::fail(&reason));
        }
        let end = signal::end().map_err(|reason| model::fail(&reason))?;
        let mut tailed = match &self.follower {
            None => {
                let from = position(self.from.as_deref().unwrap_or("now"));
                let reader = ChangeReader::new(Arc::clone(&opened.model), Arc::clone(&opened.source), from);
                Tailed::From(Box::new(reader))
            }
            Some(name) => {
                let follower = Follower::start(opened.followers(), name, now() / 1_000).await;
                let follower = follower.map_err(|error| failed(&opened.model, &error))?;
                for gap in &follower.noted().gaps {
                    eprintln!("{}", gap_text(name, gap));
                }
                Tailed::Under(Box::new(follower))
            }
        };
        let is_once = self.once || opened.is_still;
        let mut has_read = false;
        let mut ended = std::pin::pin!(end);
        let code = loop {
            let page = tokio::select! {
                () = &mut ended => break ExitCode::from(exit::CLEAN),
                page = tailed.next_page() => page,
            };
            let page = match page {
                Ok(page) => page,
                Err(error) => break failed(&opened.model, &error),
            };
            has_read = true;
            let shown: String = page.told.iter().filter_map(|told| self.shown(told)).collect();
            if !shown.is_empty() && super::print(&shown) != ExitCode::from(exit::CLEAN) {
                break ExitCode::from(exit::USAGE);
            }
            if let Err(error) = tailed.note().await {
                break failed(&opened.model, &error);
            }
            let is_empty = page.is_empty();
            if is_once && (tailed.is_at_head() || is_empty && opened.is_still) {
                break ExitCode::from(exit::CLEAN);
            }
            // A page may be empty though others follow; who reads to the end does not wait between them.
            if is_empty && !is_once {
                tokio::select! {
                    () = &mut ended => break ExitCode::from(exit::CLEAN),
                    () = tokio::time::sleep(HEAD_PAUSE) => {}
                }
            }
        };
        if let Some(StreamPosition::After(position)) = tailed.position()
            && has_read
        {
            eprintln!("position: {}", one_line(position));
        }
        Ok(code)
    }

    fn shown(&self, told: &Told) -> Option<String> {
        let entity = match told {
            Told::Change(change) => &change.entity,
            Told::Misfit(misfit) => &misfit.entity,
        };
        if !self.entities.is_empty() && !self.entities.contains(entity) {
            return None;
        }
        let line = match (told, self.format) {
            (Told::Change(change), Format::Json) => change.to_json(),
            (Told::Misfit(misfit), Format::Json) => misfit.to_json(),
            (Told::Change(change), Format::Text) => change_text(change),
            (Told::Misfit(misfit), Format::Text) => misfit_text(misfit),
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

/// How far each follower is: when that was noted, and how many changes it has before it.
async fn lag(opened: &Opened) -> Result<ExitCode, ExitCode> {
    let followers = opened.followers();
    let failed = |error: FollowError| failed(&opened.model, &error);
    let mut code = ExitCode::from(exit::CLEAN);
    for name in followers.names().await.map_err(failed)? {
        let Some(noted) = followers.noted(&name).await.map_err(failed)? else {
            continue;
        };
        let mut line = format!("{name} noted {}", at_text(noted.at_seconds));
        match behind(opened, noted.position.clone()).await {
            Ok((0, _)) => line.push_str(", at the head"),
            Ok((changes, is_all)) => {
                let least = if is_all { "" } else { "at least " };
                line.push_str(&format!(", {least}{} behind", counted(changes, "change")));
            }
            Err(error) if error.is_position_lost() => {
                line.push_str(", what comes next is no longer kept");
                code = ExitCode::from(exit::FINDINGS);
            }
            Err(error) => return Err(failed(error.into())),
        }
        line.push('\n');
        for gap in &noted.gaps {
            line.push_str(&format!("  {}\n", gap_text(&name, gap)));
            code = ExitCode::from(exit::FINDINGS);
        }
        super::print(&line);
    }
    Ok(code)
}

/// How many changes lie after a position, and whether all were counted.
async fn behind(opened: &Opened, position: StreamPosition) -> Result<(usize, bool), StoreError> {
    let mut reader = ChangeReader::new(Arc::clone(&opened.model), Arc::clone(&opened.source), position);
    let mut changes = 0;
    while !reader.is_at_head() {
        changes += reader.next_page().await?.told.len();
        if changes >= LAG_CHANGES_MAX {
            return Ok((changes, false));
        }
    }
    Ok((changes, true))
}

fn gap_text(name: &str, gap: &Gap) -> String {
    format!(
        "`{name}` never saw changes between {} and {}: they were gone before it came",
        at_text(gap.from_seconds),
        at_text(gap.to_seconds)
    )
}

fn failed(model: &Model, error: &FollowError) -> ExitCode {
    let table = &model.table.name;
    let FollowError::Store(error) = error else {
        return model::fail(&format!("changes of `{table}`: {error}"));
    };
    if error.is_position_lost() {
        let code = model::fail(&format!(
            "changes of `{table}` from this position on are no longer kept"
        ));
        eprintln!("help: `--from start` shows those that are");
        return code;
    }
    let code = model::fail(&format!("changes of `{table}`: {error}"));
    if error.is_not_found() && model.table.stream.is_none() {
        eprintln!("help: say `stream: both_images` under `table` of the model, and have the table made with it");
    }
    code
}

fn change_text(change: &Change) -> String {
    let head = format!(
        "{} {} {} {}",
        change.at_text(),
        change.kind.word(),
        change.entity,
        json_text::of(&Value::M(change.key.clone()))
    );
    let row = |row: &Option<Attributes>| {
        row.as_ref()
            .map(|row| format!("{head} {}", json_text::of(&Value::M(row.clone()))))
    };
    let shown = match change.kind {
        ChangeKind::Created => row(&change.after),
        ChangeKind::Deleted | ChangeKind::Expired => row(&change.before),
        ChangeKind::Updated => match (&change.before, &change.after) {
            (Some(before), Some(after)) => Some(format!("{head} {}", differences(change, before, after))),
            (before, after) => row(if after.is_some() { after } else { before }),
        },
    };
    shown.unwrap_or(head)
}

/// Each attribute that differs, before and after.
fn differences(change: &Change, before: &Attributes, after: &Attributes) -> String {
    let value = |row: &Attributes, name: &str| row.get(name).map_or_else(|| "absent".to_owned(), json_text::of);
    let all = change.differing().into_iter();
    let all: Vec<String> = all
        .map(|name| format!("{name}: {} -> {}", value(before, name), value(after, name)))
        .collect();
    all.join(", ")
}

fn misfit_text(misfit: &Misfit) -> String {
    format!("misfit {misfit}")
}
