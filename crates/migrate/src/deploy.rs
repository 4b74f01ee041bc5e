//! The table itself becomes what a model declares. No row is changed.
//!
//! **Invariant: each step follows from the table as it is.** What is done next is found anew after each step, so that whoever was
//! killed, or was not alone, goes on from wherever the table is.
//!
//! **Invariant: nothing goes unasked.** An index that the model does not have stays, and so do a stream, its records and recovery. An
//! index that must be made anew, and a stream that must begin anew, wait until somebody says so.

use std::fmt;

use serde::Serialize;
use singlet_face::Company;
use singlet_model::Model;
use singlet_runtime::load::is_of_singlet;
use singlet_runtime::{Engine, Migration, OpenError, Relocation, RuntimeError, TableOpening, TableUse, table};
use singlet_store::{Billing, IndexKind, IndexSpec, ScanRequest, TableChange, TableSpec, TableUpkeep};

use crate::table_steps::{TableStep, is_other, table_hindrances, wait_for_table};

/// What CloudFormation calls the tag with a stack's name.
const STACK_TAG: &str = "aws:cloudformation:stack-name";

/// The most steps that a table takes: more than all its indexes removed, made and given units.
const STEPS_MAX: usize = 200;

/// More than Singlet keeps for itself in a table that nobody has used.
const KEPT_ITEMS_MAX: u32 = 16;

/// What may go.
#[derive(Clone, Debug, Default)]
pub struct DeployOptions {
    /// Indexes that are removed, unless they are as the model has them.
    pub drop_indexes: Vec<String>,
    /// Whether a stream that carries something else ends in favour of another one.
    pub replaces_stream: bool,
}

/// What has to be done to a table.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployPlan {
    /// Its name.
    pub table: String,
    /// Whether it is there.
    pub is_there: bool,
    /// The CloudFormation stack that it belongs to: then nothing is done to it here.
    pub stack: Option<String>,
    /// What is done, in order.
    pub steps: Vec<String>,
    /// What cannot be done, or not without being asked for.
    pub hindrances: Vec<String>,
    /// What the table has and the model does not say, which is left alone.
    pub left: Vec<String>,
}

impl DeployPlan {
    /// What has to be done where no table is there yet.
    pub fn of_missing(model: &Model) -> Self {
        let wanted = table::table_spec(model);
        let indexes: Vec<String> = wanted.indexes.iter().map(|index| format!("`{}`", index.name)).collect();
        let with = match indexes.as_slice() {
            [] => String::new(),
            [one] => format!(" with index {one}"),
            all => format!(" with indexes {}", all.join(", ")),
        };
        let mut steps = vec![format!("make table `{}`{with}", wanted.name)];
        if model.table.recovery {
            let step = TableStep::Change(TableChange::Recovery(true));
            steps.push(format!("{}, where the store has it", step.words()));
        }
        DeployPlan {
            table: wanted.name,
            steps,
            ..DeployPlan::default()
        }
    }

    /// Whether the table is as the model declares it.
    pub fn is_done(&self) -> bool {
        self.steps.is_empty() && self.hindrances.is_empty()
    }
}

/// Why a table did not become what a model declares.
#[derive(Debug)]
pub enum DeployError {
    /// It cannot, or not unasked: why not.
    Hindered(Vec<String>),
    /// It belongs to a CloudFormation stack, by this name.
    Managed(String),
    /// Its rows are being changed from one model to another.
    Migrating(Migration),
    /// It is carried to another store, or was.
    Relocated(Relocation),
    /// It was still another after as many steps as it can take: somebody else changes it.
    NotStill,
    /// The store failed, or refused.
    Failed(RuntimeError),
}

impl fmt::Display for DeployError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeployError::Hindered(whys) => out.write_str(&whys.join("; ")),
            DeployError::Managed(stack) => write!(out, "it belongs to the CloudFormation stack `{stack}`"),
            DeployError::Migrating(migration) => {
                write!(out, "it is being migrated, in the phase `{}`", migration.phase.word())
            }
            DeployError::Relocated(relocation) => relocation.fmt(out),
            DeployError::NotStill => out.write_str("something else changes it at the same time"),
            DeployError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for DeployError {}

impl<E: Into<RuntimeError>> From<E> for DeployError {
    fn from(error: E) -> Self {
        DeployError::Failed(error.into())
    }
}

/// A model, and the table that it declares.
pub struct Deployer<'e> {
    engine: &'e Engine,
    company: Company,
    options: DeployOptions,
    clock: &'e (dyn Fn() -> i64 + Sync),
}

impl fmt::Debug for Deployer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Deployer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The table as it is.
struct Live {
    spec: TableSpec,
    upkeep: TableUpkeep,
}

impl<'e> Deployer<'e> {
    /// Of a model on its store. The clock gives epoch milliseconds.
    pub fn new(
        (engine, company): (&'e Engine, Company),
        options: DeployOptions,
        clock: &'e (dyn Fn() -> i64 + Sync),
    ) -> Self {
        Deployer {
            engine,
            company,
            options,
            clock,
        }
    }

    /// What has to be done. Nothing is changed.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn deploy_plan(&self) -> Result<DeployPlan, DeployError> {
        let Some(live) = self.live().await? else {
            return Ok(DeployPlan::of_missing(self.engine.model()));
        };
        let (steps, hindrances) = self.steps(&live);
        Ok(DeployPlan {
            table: self.wanted().name,
            is_there: true,
            stack: live.upkeep.tags.get(STACK_TAG).cloned(),
            steps: steps.iter().map(TableStep::words).collect(),
            hindrances,
            left: self.left_alone(&live),
        })
    }

    /// Does it, one step after the other, each waited for; how many there were.
    ///
    /// # Errors
    ///
    /// Where it cannot be done unasked or here, or the store fails: the same call goes on once the reason is gone.
    pub async fn run(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<usize, DeployError> {
        let (store, table) = (&**self.engine.store(), self.wanted().name);
        for done in 0..STEPS_MAX {
            let Some(live) = self.live().await? else {
                tell(&format!("make table `{table}`"));
                self.make_table().await?;
                continue;
            };
            if let Some(stack) = live.upkeep.tags.get(STACK_TAG) {
                return Err(DeployError::Managed(stack.clone()));
            }
            wait_for_table(store, &table).await?;
            // Read again: what was under way has made it another.
            let Some(live) = self.live().await? else { continue };
            let (steps, hindrances) = self.steps(&live);
            if !hindrances.is_empty() {
                return Err(DeployError::Hindered(hindrances));
            }
            self.check_still().await?;
            let Some(step) = steps.first() else {
                self.have_empty_known(&table).await?;
                return Ok(done);
            };
            tell(&step.words());
            step.take(store, &table).await?;
        }
        Err(DeployError::NotStill)
    }

    fn wanted(&self) -> TableSpec {
        table::table_spec(self.engine.model())
    }

    async fn live(&self) -> Result<Option<Live>, DeployError> {
        let (store, name) = (self.engine.store(), &self.engine.model().table.name);
        let spec = match store.describe_table(name).await {
            Err(error) if error.is_not_found() => return Ok(None),
            described => described?.spec,
        };
        let upkeep = store.describe_upkeep(name).await?;
        Ok(Some(Live { spec, upkeep }))
    }

    /// A table that is being migrated is not changed here.
    async fn check_still(&self) -> Result<(), DeployError> {
        let control = self.engine.table_control().await.map_err(open_failed)?;
        if let Some(relocation) = control.as_ref().and_then(|control| control.current_relocation()) {
            return Err(DeployError::Relocated(relocation.clone()));
        }
        match control.and_then(|control| control.current_migration().cloned()) {
            Some(migration) => Err(DeployError::Migrating(migration)),
            None => Ok(()),
        }
    }

    /// A new table, which knows the model from the beginning.
    async fn make_table(&self) -> Result<(), DeployError> {
        self.open(TableUse::Writing, true).await
    }

    /// A table without rows comes to know the model: who made it may have been killed in between.
    async fn have_empty_known(&self, table: &str) -> Result<(), DeployError> {
        if self.engine.table_control().await.map_err(open_failed)?.is_some() {
            return Ok(());
        }
        let request = ScanRequest {
            table: table.to_owned(),
            consistent: true,
            limit: Some(KEPT_ITEMS_MAX),
            ..ScanRequest::default()
        };
        let page = self.engine.store().scan(&request).await?;
        let is_kept = |item| is_of_singlet(self.engine.model(), item);
        match page.last_key.is_none() && page.items.iter().all(is_kept) {
            true => self.open(TableUse::Adopting, false).await,
            false => Ok(()),
        }
    }

    async fn open(&self, used_for: TableUse, makes_tables: bool) -> Result<(), DeployError> {
        let opening = TableOpening {
            makes_tables,
            company: self.company,
            used_for,
            now: (self.clock)(),
        };
        self.engine.open_table(&opening).await.map(drop).map_err(open_failed)
    }

    /// What leads from the table as it is to what the model declares, and what keeps it from that.
    fn steps(&self, live: &Live) -> (Vec<TableStep>, Vec<String>) {
        let (wanted, model) = (self.wanted(), self.engine.model());
        let mut between = live.spec.clone();
        let mut steps = Vec::new();
        let mut add = |between: &mut TableSpec, step: TableStep| {
            step.apply(between);
            steps.push(step);
        };
        let is_paid_as_said = model.table.spans.billing.is_some();
        if is_paid_as_said && between.billing != wanted.billing {
            add(&mut between, TableStep::Change(TableChange::Billing(wanted.billing)));
        }
        for name in self.removed_indexes(&wanted, &live.spec) {
            add(&mut between, TableStep::Change(TableChange::RemoveIndex(name)));
        }
        let mut hindrances = table_hindrances(&wanted, &between);
        hindrances.extend(indexes_to_renew(&wanted, &between));
        if hindrances.is_empty() {
            for index in new_indexes(&wanted, &between) {
                add(&mut between, TableStep::Change(TableChange::AddIndex(index)));
            }
        }
        if is_paid_as_said {
            for change in unit_changes(&wanted, &between) {
                add(&mut between, TableStep::Change(change));
            }
        }
        if between.ttl != wanted.ttl {
            // No attribute takes another's place: expiry ends, and begins anew.
            if between.ttl.is_some() && wanted.ttl.is_some() {
                add(&mut between, TableStep::Ttl(None));
            }
            add(&mut between, TableStep::Ttl(wanted.ttl.clone()));
        }
        match (wanted.stream, between.stream) {
            (Some(view), None) => add(&mut between, TableStep::Change(TableChange::Stream(Some(view)))),
            (Some(view), Some(live)) if view != live && self.options.replaces_stream => {
                add(&mut between, TableStep::Change(TableChange::Stream(None)));
                add(&mut between, TableStep::Change(TableChange::Stream(Some(view))));
            }
            (Some(view), Some(live)) if view != live => hindrances.push(format!(
                "the stream carries {}, not {}: another one takes its place with `--replace-stream`, and who follows begins anew",
                format!("{live:?}").to_lowercase(),
                format!("{view:?}").to_lowercase()
            )),
            _ => {}
        }
        if model.table.recovery && live.upkeep.recovery == Some(false) {
            add(&mut between, TableStep::Change(TableChange::Recovery(true)));
        }
        (steps, hindrances)
    }

    /// Of the indexes that may go, those that are there and not as wanted.
    fn removed_indexes(&self, wanted: &TableSpec, live: &TableSpec) -> Vec<String> {
        let is_asked = |known: &&IndexSpec| self.options.drop_indexes.contains(&known.name);
        let global = live.indexes.iter().filter(|known| known.kind == IndexKind::Global);
        let gone = global.filter(is_asked).filter(|known| {
            let index = wanted.indexes.iter().find(|index| index.name == known.name);
            index.is_none_or(|index| is_other(index, known))
        });
        gone.map(|known| known.name.clone()).collect()
    }

    /// What the table has that the model does not say.
    fn left_alone(&self, live: &Live) -> Vec<String> {
        let (wanted, model) = (self.wanted(), self.engine.model());
        let mut left = Vec::new();
        for known in &live.spec.indexes {
            let is_kept = !self.options.drop_indexes.contains(&known.name);
            if is_kept && !wanted.indexes.iter().any(|index| index.name == known.name) {
                left.push(format!(
                    "index `{}` is not in the model: `--drop-index {}` removes it",
                    known.name, known.name
                ));
            }
        }
        if wanted.stream.is_none() && live.spec.stream.is_some() {
            left.push("it has a stream, and the model says none".to_owned());
        }
        match (model.table.recovery, live.upkeep.recovery) {
            (false, Some(true)) => {
                left.push("it can be recovered to any instant, and the model does not ask for that".to_owned());
            }
            (true, None) => left.push("the store has no point-in-time recovery".to_owned()),
            _ => {}
        }
        if model.table.spans.billing.is_none() && live.spec.billing != Billing::OnDemand {
            left.push("it has provisioned units, and the model does not say how it is paid".to_owned());
        }
        left
    }
}

/// Indexes of the model that the table has otherwise: DynamoDB changes none.
fn indexes_to_renew(wanted: &TableSpec, live: &TableSpec) -> Vec<String> {
    let global = wanted.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    let other = global.filter(|index| {
        let known = live.indexes.iter().find(|known| known.name == index.name);
        known.is_some_and(|known| known.kind == IndexKind::Global && is_other(index, known))
    });
    let said = other.map(|index| {
        format!(
            "index `{}` has other attributes than the model says, and none can be changed: `--drop-index {}` removes it and makes it anew, and reads \
             by it fail meanwhile",
            index.name, index.name
        )
    });
    said.collect()
}

fn new_indexes(wanted: &TableSpec, live: &TableSpec) -> Vec<IndexSpec> {
    let is_new = |index: &&IndexSpec| !live.indexes.iter().any(|known| known.name == index.name);
    wanted.indexes.iter().filter(is_new).cloned().collect()
}

/// The units of indexes that are others than the model says.
fn unit_changes(wanted: &TableSpec, live: &TableSpec) -> Vec<TableChange> {
    let mut changes = Vec::new();
    for index in wanted.indexes.iter().filter(|index| index.kind == IndexKind::Global) {
        let known = live.indexes.iter().find(|known| known.name == index.name);
        let billing = index.index_billing(wanted.billing);
        if known.is_none_or(|known| known.index_billing(live.billing) == billing) {
            continue;
        }
        if let Billing::Provisioned {
            read_units,
            write_units,
        } = billing
        {
            let units = singlet_store::IndexUnits {
                read_units,
                write_units,
            };
            changes.push(TableChange::IndexUnits(index.name.clone(), units));
        }
    }
    changes
}

fn open_failed(error: OpenError) -> DeployError {
    match error {
        OpenError::Failed(error) => DeployError::Failed(error),
        OpenError::Migrating(migration) => DeployError::Migrating(migration),
        OpenError::Relocated(relocation) => DeployError::Relocated(relocation),
        OpenError::NoTable => DeployError::NotStill,
        other @ (OpenError::Table(_) | OpenError::Model(_) | OpenError::Rows(..)) => {
            DeployError::Hindered(vec![other.to_string()])
        }
    }
}
