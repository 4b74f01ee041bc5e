//! `singlet changes`.

mod parked;
mod rebuild;
mod release;
mod repair;
mod schedule;
mod show;
mod tail;
mod webhooks;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use singlet_changes::{
    ChangeSource, FollowError, Followers, Lag as FollowerLag, ParkedChange, ParkedChanges, TRIGGERS_FOLLOWER, at_text,
};
use singlet_model::Model;
use singlet_runtime::Engine;
use singlet_store::Store;

use self::show::gap_text;
use self::tail::Tail;
use crate::place::Place;
use crate::served_store::ServedStore;
use crate::store::StoreArgs;
use crate::table::counted_thing;
use crate::{exit, model};

/// Show what happened to the rows of a model's table.
///
/// The table needs a stream; with `stream: both_images`, rows are shown before and after. While a service has the folder open, the
/// command asks the service.
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
    Schedule(schedule::ShowSchedule),
    Forget(Forget),
    Acknowledge(Acknowledge),
    Parked(parked::Parked),
    Retry(parked::Retry),
    Discard(parked::Discard),
    Deliveries(webhooks::ShowDeliveries),
    Resume(webhooks::Resume),
    Rebuild(rebuild::Rebuild),
    Repair(repair::Repair),
    Release(release::Release),
}

/// Show how far every follower has come.
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

/// Where changes are read from, and whether any can come meanwhile.
pub(super) struct Opened {
    pub(super) model: Arc<Model>,
    pub(super) source: Arc<dyn ChangeSource>,
    pub(super) is_still: bool,
    /// Whether the store is somewhere else, and may be away for a while.
    pub(super) is_remote: bool,
    /// The model on its store, where this process has it open.
    engine: Option<Arc<Engine>>,
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
        let loaded = model::load_model(&self.model)?;
        if let Action::Release(release) = self.action {
            return release.run(&self.store, loaded).await;
        }
        let opened = open_changes(&self.store, loaded)
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        match self.action {
            Action::Tail(tail) => tail.run(opened).await,
            Action::Lag(_) => lag(&opened).await,
            Action::Schedule(schedule) => schedule.run(&opened).await,
            Action::Forget(forget) => {
                let done = opened.followers().forget_follower(&forget.name).await;
                done.map_err(|error| failed(&opened.model, &error))?;
                Ok(super::print_text(&format!("{}: forgotten\n", forget.name)))
            }
            Action::Parked(parked) => parked.run(&opened).await,
            Action::Retry(retry) => retry.run(&opened).await,
            Action::Discard(discard) => discard.run(&opened).await,
            Action::Deliveries(deliveries) => deliveries.run(&opened).await,
            Action::Resume(resume) => resume.run(&opened).await,
            Action::Rebuild(rebuild) => rebuild.run(&opened).await,
            Action::Repair(repair) => repair.run(&opened).await,
            // It asks for no changes, and was done before.
            Action::Release(_) => Ok(ExitCode::from(exit::CLEAN)),
            Action::Acknowledge(acknowledge) => {
                let done = opened.followers().acknowledge_gaps(&acknowledge.name).await;
                let gaps = done.map_err(|error| failed(&opened.model, &error))?;
                Ok(super::print_text(&format!(
                    "{}: {} acknowledged\n",
                    acknowledge.name,
                    counted_thing(gaps, "gap")
                )))
            }
        }
    }
}

/// Opens where changes are read from: the store, or the service that has its folder open.
pub(super) async fn open_changes(store: &StoreArgs, model: Model) -> Result<Opened, String> {
    let place = store.store_place()?;
    if place == Place::Memory {
        return Err("a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`".to_owned());
    }
    if let Place::Folder(folder) = &place
        && let Some(served) = ServedStore::connect_served(folder).await?
    {
        let store: Arc<dyn Store> = Arc::new(served);
        return Ok(Opened {
            model: Arc::new(model),
            source: Arc::new(store),
            is_still: false,
            is_remote: false,
            engine: None,
        });
    }
    let engine = Arc::new(store.open_as_it_is(model).await?);
    Ok(Opened {
        model: Arc::clone(engine.model()),
        source: Arc::new(Arc::clone(engine.store())),
        is_still: matches!(place, Place::Folder(_)),
        is_remote: matches!(place, Place::DynamoDb { .. }),
        engine: Some(engine),
    })
}

/// How far each follower is: when that was noted, and how many changes it has before it.
async fn lag(opened: &Opened) -> Result<ExitCode, ExitCode> {
    let followers = opened.followers();
    let failed = |error: FollowError| failed(&opened.model, &error);
    let mut code = ExitCode::from(exit::CLEAN);
    for name in followers.names().await.map_err(failed)? {
        let Some(noted) = followers.noted_of(&name).await.map_err(failed)? else {
            continue;
        };
        let mut line = format!("{name} noted {}", at_text(noted.at_seconds));
        let lag = followers.follower_lag(&name).await.map_err(failed)?;
        if let Some(lag) = lag {
            line.push_str(&format!(", {lag}"));
        }
        if lag == Some(FollowerLag::Lost) {
            code = ExitCode::from(exit::FINDINGS);
        }
        if name == TRIGGERS_FOLLOWER {
            line.push_str(&kept_text(
                &ParkedChanges::new(opened.followers())
                    .list_parked()
                    .await
                    .map_err(failed)?,
            ));
        }
        line.push('\n');
        for gap in &noted.gaps {
            line.push_str(&format!("  {}\n", gap_text(&name, gap)));
            code = ExitCode::from(exit::FINDINGS);
        }
        super::print_text(&line);
    }
    Ok(code)
}

/// How many changes are kept for writes that were not done.
fn kept_text(kept: &[ParkedChange]) -> String {
    let retried = kept.iter().filter(|one| one.next_try().is_some()).count();
    let mut text = String::new();
    if kept.len() > retried {
        text.push_str(&format!(", {} parked", counted_thing(kept.len() - retried, "change")));
    }
    if retried > 0 {
        text.push_str(&format!(", {} tried again later", counted_thing(retried, "change")));
    }
    text
}

fn failed(model: &Model, error: &FollowError) -> ExitCode {
    let table = &model.table.name;
    let FollowError::Store(error) = error else {
        return model::fail_command(&format!("changes of `{table}`: {error}"));
    };
    if error.is_position_lost() {
        let code = model::fail_command(&format!(
            "changes of `{table}` from this position on are no longer kept"
        ));
        eprintln!("help: `--from start` shows those that are");
        return code;
    }
    let code = model::fail_command(&format!("changes of `{table}`: {error}"));
    if error.is_not_found() && model.table.stream.is_none() {
        eprintln!("help: say `stream: both_images` under `table` of the model, and have the table made with it");
    }
    code
}
