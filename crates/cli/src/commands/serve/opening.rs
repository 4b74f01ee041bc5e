//! A model opened where the data is.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use singlet_http::auth::Secret;
use singlet_migrate::{DeployOptions, Deployer, IndexBuilder, ProcessTimes, TableMember, before_indexes, behind_gate};
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, MigrationPhase, OpenError, RuntimeError, TableState, TableUse};
use singlet_store::{Store, StreamView};

use crate::place::Place;
use crate::private_file;
use crate::store::{load_text, not_opened, open_table, open_table_before_indexes};

/// How long it may take at the end to be known no more.
const LEAVING_MAX: Duration = Duration::from_secs(2);

/// What a table is opened for, and with what it is filled where it is new.
pub struct Wanted<'a> {
    pub used_for: TableUse,
    /// Whether indexes that the model adds may be made meanwhile: nothing of an earlier model is still at work.
    pub makes_indexes: bool,
    pub sample: Option<&'a str>,
    /// Those that have to be known no more when the process ends.
    pub members: &'a Members,
}

/// The tables that this process shares with others, as one that takes part in what goes on with each.
#[derive(Debug, Default)]
pub struct Members(Mutex<Vec<Arc<TableMember>>>);

impl Members {
    fn add(&self, member: Arc<TableMember>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(member);
    }

    /// Has nobody wait for this process any more; nothing that it serves is let through from then on.
    pub async fn leave_all(&self) {
        let members = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for member in members {
            // Who cannot say so is waited for.
            let _ = tokio::time::timeout(LEAVING_MAX, member.leave()).await;
        }
    }
}

/// Opens a model on a store. Its table must be as the model needs it, and know it; where it is missing it is made and, if there
/// are rows for it, filled. A filling that broke off is taken up.
pub async fn open_engine(
    place: &Place,
    store: &Arc<dyn Store>,
    model: Model,
    settings: Attributes,
    secret: &Secret,
    wanted: Wanted<'_>,
) -> Result<Engine, String> {
    let name = model.name.clone();
    let table = model.table.name.clone();
    let tables = store.list_tables().await;
    let tables = tables.map_err(|error| format!("table `{table}` of `{name}`: {error}"))?;
    let missing = !tables.contains(&table);
    let filling = match missing && !place.makes_tables() {
        true => None,
        // Said before the table is made, so that one which was made and not filled is known.
        false => Filling::of(place, &table, missing && wanted.sample.is_some())?,
    };
    let cursor_key = secret.cursor_key(&name);
    let engine = Engine::open(Arc::new(model), Arc::clone(store), settings, cursor_key);
    // Whoever joins a bridge that is under way finds there what the table is to become.
    let is_shared = matches!(place, Place::DynamoDb { .. }) && wanted.used_for == TableUse::Writing;
    if is_shared && is_bridged(&engine).await {
        return join(engine, wanted.members)
            .await
            .map_err(|error| not_opened(place, &error.0, TableUse::Writing, error.1));
    }
    let (state, pending) = match place {
        // Nobody else has the folder, so that what the model adds can be made while it is served.
        Place::Folder(_)
            if wanted.makes_indexes && wanted.used_for == TableUse::Writing && takes_indexes(&engine).await =>
        {
            open_table_before_indexes(place, &engine).await?
        }
        _ => {
            let makes = place.makes_tables();
            let state = open_table(place, place.company(), &engine, wanted.used_for, makes).await?;
            (state, Vec::new())
        }
    };
    match state {
        TableState::Adopted(rows) => {
            tracing::info!(system = name, rows, "the table was adopted: its rows fit the model")
        }
        TableState::Unknown => tracing::warn!(
            system = name,
            "the table does not record its model, so another model could not be told apart from it: `--adopt` records it"
        ),
        TableState::Made | TableState::Known => {}
    }
    if matches!(place, Place::DynamoDb { .. }) {
        tell_of_table(place, &engine).await;
    }
    if let (Some(rows), Some(filling)) = (wanted.sample, filling) {
        load_text(&engine, rows, filling.instant)
            .await
            .map_err(|reason| format!("the rows of `{name}`: {reason}"))?;
        filling.end()?;
    }
    if is_shared {
        return join(engine, wanted.members)
            .await
            .map_err(|error| not_opened(place, &error.0, TableUse::Writing, error.1));
    }
    let gated = behind_gate(engine).await;
    let gated = gated.map_err(|error| format!("table `{table}` of `{name}`: {error}"))?;
    if pending.is_empty() {
        return Ok(gated);
    }
    let (engine, builder) = before_indexes(gated, &pending);
    tokio::spawn(build_indexes(builder, name, pending.join(", ")));
    Ok(engine)
}

async fn is_bridged(engine: &Engine) -> bool {
    let phase = engine.migration_phase().await;
    phase.is_ok_and(|phase| phase.is_some_and(MigrationPhase::is_bridge))
}

/// Takes part in whatever goes on with a table that others share.
async fn join(engine: Engine, members: &Members) -> Result<Engine, (Engine, OpenError)> {
    let own = engine.on_store(Arc::clone(engine.store()));
    let joined = TableMember::join(engine, ProcessTimes::default(), crate::store::now_millis).await;
    let (member, served) = match joined {
        Ok(joined) => joined,
        Err(error) => return Err((own, error)),
    };
    match member.look().await {
        Ok(_) => {
            let member = Arc::new(member);
            members.add(Arc::clone(&member));
            tokio::spawn(member.keep_looking());
            Ok(served)
        }
        // It may be served, and closes while the table is on a bridge.
        Err(RuntimeError::Store(error)) if error.is_denied() && !is_bridged(&own).await => {
            tracing::warn!(
                system = own.model().name,
                %error,
                "this process may not write its own row to the table, so it answers 503 while a second model is being introduced: `singlet export MODEL --to iam` prints the permissions it needs"
            );
            let kept = own.on_store(Arc::clone(own.store()));
            behind_gate(own).await.map_err(|error| (kept, error))
        }
        Err(error) => Err((own, OpenError::Failed(error))),
    }
}

/// Whether followers would not take the keys of a new index for changes of rows.
async fn takes_indexes(engine: &Engine) -> bool {
    let has_versions = engine.model().entities.iter().any(|entity| entity.history.is_some());
    match engine.store().describe_table(&engine.model().table.name).await {
        Ok(described) => match described.spec.stream {
            None => true,
            Some(view) => view == StreamView::Both && !has_versions,
        },
        Err(_) => false,
    }
}

/// Makes indexes beside a service; where that fails, the service goes on without them.
async fn build_indexes(builder: IndexBuilder, system: String, indexes: String) {
    tracing::info!(
        system,
        indexes,
        "building indexes while serving; reads that need them wait"
    );
    match builder.build_indexes(&crate::store::now_millis).await {
        Ok(built) => tracing::info!(system, indexes, rows = built.rows, "the indexes are whole"),
        Err(error) => tracing::error!(
            system,
            indexes,
            %error,
            "the indexes could not be made, and reads by them are not answered: the next start tries again, `singlet migrate` does it while nothing is served"
        ),
    }
}

/// Says in the log what the model declares about its table that keeps nobody from serving: recovery, billing. A service may lack the
/// right to ask; then nothing is said.
async fn tell_of_table(place: &Place, engine: &Engine) {
    let deployer = Deployer::new(
        (engine, place.company()),
        DeployOptions::default(),
        &crate::store::now_millis,
    );
    match deployer.deploy_plan().await {
        Ok(plan) if plan.is_done() => {}
        Ok(plan) => tracing::warn!(
            system = engine.model().name,
            table = plan.table,
            missing = plan.steps.join("; "),
            "the table is not all that the model declares: `singlet deploy` brings it there"
        ),
        Err(error) => {
            tracing::debug!(system = engine.model().name, %error, "cannot tell whether the table is all that the model declares")
        }
    }
}

/// That a new table is being filled. A file beside the data says so until it is done: who finds it fills the table once more,
/// as of the same instant, so that every row is put in its own place again.
struct Filling {
    file: Option<PathBuf>,
    instant: i64,
}

impl Filling {
    /// The one that was begun and did not end, or a new one where the table is new.
    fn of(place: &Place, table: &str, is_new: bool) -> Result<Option<Self>, String> {
        let instant = crate::store::now_millis();
        let Some(folder) = place.folder() else {
            return Ok(is_new.then_some(Filling { file: None, instant }));
        };
        let file = folder.join(format!("{table}.filling"));
        let failed = |error: std::io::Error| format!("`{}`: {error}", file.display());
        let begun = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let instant = match begun {
            // Where the file itself was cut, nothing was put yet.
            Some(text) if text.ends_with('\n') => text.trim().parse().unwrap_or(instant),
            None if !is_new => return Ok(None),
            _ => {
                writeln!(private_file::create_private(&file).map_err(failed)?, "{instant}").map_err(failed)?;
                instant
            }
        };
        Ok(Some(Filling {
            file: Some(file),
            instant,
        }))
    }

    fn end(self) -> Result<(), String> {
        match self.file {
            Some(file) => std::fs::remove_file(&file).map_err(|error| format!("`{}`: {error}", file.display())),
            None => Ok(()),
        }
    }
}
