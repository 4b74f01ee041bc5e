//! Two models of one table, served at once.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
use singlet_http::System;
use singlet_migrate::{Bridge, BridgeGoal, BridgeSide, MigrateError, MigrateOptions};
use singlet_model::Model;
use singlet_runtime::Engine;

use super::Deployment;
use crate::commands::migrate::bridge_refusal;
use crate::model::{self, fail_command};
use crate::place::Place;

/// What follows the name of a system whose model is not alone yet.
const NEXT: &str = ".next";

/// Which model is left in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Toward {
    /// Both serve until somebody says otherwise.
    Both,
    /// The new one.
    New,
    /// The old one: the bridge is given up.
    Old,
}

impl Toward {
    pub(crate) fn bridge_goal(self) -> BridgeGoal {
        match self {
            Toward::Both => BridgeGoal::Both,
            Toward::New => BridgeGoal::NewAlone,
            Toward::Old => BridgeGoal::OldAlone,
        }
    }
}

/// The systems of both models on one table; what is to be done to its rows goes on while they serve.
pub(super) async fn serve_both(
    deployment: &Deployment,
    models: Vec<Model>,
    (old, accepts_errors): (&Path, bool),
    toward: Toward,
) -> Result<Vec<System>, ExitCode> {
    if !matches!(deployment.place, Place::Folder(_)) {
        return Err(fail_command(
            "one process serves two models at once only from a folder, which it has for itself\nhelp: in DynamoDB each process serves one: `singlet migrate NEW.yaml --bridge --yes` makes rows ready while \
             services of the old model run, and then `singlet serve NEW.yaml` joins them",
        ));
    }
    let Ok([new]) = <[Model; 1]>::try_from(models) else {
        return Err(fail_command(
            "`--also` is for one model: the one that takes the other's place",
        ));
    };
    let old = model::load_sound(old, accepts_errors)?;
    let name = new.name.clone();
    let table = new.table.name.clone();
    if old.table.name != table {
        let other = &old.table.name;
        return Err(fail_command(&format!(
            "`--also` is the model that wrote the rows of table `{table}`, and this one is of table `{other}`"
        )));
    }
    let engine = |model: Model| deployment.raw_engine(model).map_err(|reason| fail_command(&reason));
    let options = MigrateOptions::default();
    let opened = Bridge::open(engine(old)?, engine(new)?, options, crate::store::now_millis).await;
    let bridge = Arc::new(opened.map_err(|error| bridge_refusal(&table, &error))?);
    let (at, next) = (format!("/{name}"), format!("/{name}{NEXT}"));
    let places: &[(BridgeSide, &str)] = match toward {
        Toward::Both => &[(BridgeSide::Old, &at), (BridgeSide::New, &next)],
        Toward::New => &[(BridgeSide::New, &at), (BridgeSide::New, &next)],
        Toward::Old => &[(BridgeSide::Old, &at)],
    };
    let mut systems = Vec::new();
    for (at_place, (side, prefix)) in places.iter().enumerate() {
        let gated = bridge.served(*side).await;
        let gated = gated.map_err(|error| bridge_refusal(&table, &error))?;
        // One of them follows changes where both are the new model's.
        let is_first = !places.iter().take(at_place).any(|(other, _)| other == side);
        let gated = if is_first {
            gated
        } else {
            bridge.unfollowed(*side, gated)
        };
        let system = deployment.system_of(gated, (*prefix).to_owned(), None);
        let mut system = system.map_err(|reason| fail_command(&reason))?;
        if *prefix == next {
            system.name = format!("{name}{NEXT}");
        }
        systems.push(system);
    }
    // What cannot begin is said before anything is served.
    begin(&bridge, toward, &table).await?;
    tokio::spawn(build(bridge, toward, name));
    Ok(systems)
}

/// The systems that are of the new model.
pub(super) fn names_of_new(mut names: Vec<String>, toward: Toward) -> Vec<String> {
    names.retain(|name| match toward {
        Toward::Both => name.ends_with(NEXT),
        Toward::New => true,
        Toward::Old => false,
    });
    names
}

async fn begin(bridge: &Bridge, toward: Toward, table: &str) -> Result<(), ExitCode> {
    if toward == Toward::Old || bridge.phase().await.is_ok_and(|phase| phase.is_some()) {
        return Ok(());
    }
    let plan = bridge.plan().await.map_err(|error| bridge_refusal(table, &error))?;
    match plan.misfits {
        0 => Ok(()),
        count => Err(bridge_refusal(
            table,
            &MigrateError::Unbridged(count, plan.first_misfits),
        )),
    }
}

/// Goes to where the bridge leads; where that fails, both models serve on as far as they do.
async fn build(bridge: Arc<Bridge>, toward: Toward, system: String) {
    tracing::info!(system, toward = ?toward, "preparing rows for both models while serving");
    match bridge.reach(toward.bridge_goal(), &|_| {}).await {
        Ok(consumed) => {
            let units = consumed.total_units();
            let writes = units.write.get();
            match toward {
                Toward::Both => tracing::info!(system, writes, "both models serve: `--toward new` ends the old one"),
                Toward::New => tracing::info!(system, writes, "the new model alone is left: serve it without `--also`"),
                Toward::Old => tracing::info!(system, writes, "the old model alone is left, as it was"),
            }
        }
        Err(error) => tracing::error!(system, %error, "the next start goes on from here"),
    }
}

impl Deployment {
    /// A model on the store as it is.
    fn raw_engine(&self, model: Model) -> Result<Engine, String> {
        let own = self.settings.iter().filter(|(system, ..)| *system == model.name);
        let given: Vec<(String, String)> = own.map(|(_, name, value)| (name.clone(), value.clone())).collect();
        let settings = crate::store::parse_settings(&model, &given)?;
        let cursor_key = self.secret.cursor_key(&model.name);
        Ok(Engine::open(
            Arc::new(model),
            Arc::clone(&self.store),
            settings,
            cursor_key,
        ))
    }
}
