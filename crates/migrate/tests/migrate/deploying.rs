//! A table becomes what a model declares, whatever it was, and whoever was killed on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use singlet_face::Company;
use singlet_migrate::{DeployError, DeployOptions, DeployPlan, Deployer};
use singlet_runtime::{Engine, table};
use singlet_store::{Result, Store, StoreError, StoreLayer, TableChange, TableUpkeep};

use super::place;
use super::support::{NOW, Table, open_to_write};

/// A model with this much about its table.
fn model(table: &str) -> String {
    format!(
        "singlet: 1\nname: shelf\ntable: {{name: TABLE, key: {{partition: PK, sort: SK}}, type: kind{table}}}\n\
         entities:\n  Book:\n    attributes: {{id: string 1..9, title: string 1..9}}\n    key: {{PK: \"BOOK#{{id}}\", SK: \"BOOK\"}}\n"
    )
}

const ONE_INDEX: &str = ", indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}";
const TWO_INDEXES: &str =
    ", indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}, GSI2: {partition: GSI2PK, project: keys}}";

fn deployer(engine: &Engine, options: DeployOptions) -> Deployer<'_> {
    Deployer::new((engine, Company::Shared), options, &|| NOW)
}

async fn planned(engine: &Engine) -> DeployPlan {
    deployer(engine, DeployOptions::default()).deploy_plan().await.unwrap()
}

async fn deployed(engine: &Engine, options: DeployOptions) -> std::result::Result<usize, DeployError> {
    deployer(engine, options).run(&|_| {}).await
}

fn dropping(name: &str) -> DeployOptions {
    DeployOptions {
        drop_indexes: vec![name.to_owned()],
        ..DeployOptions::default()
    }
}

/// The table has what the model declares.
async fn assert_as_declared(engine: &Engine) {
    let wanted = table::table_spec(engine.model());
    let live = engine.store().describe_table(&wanted.name).await.unwrap().spec;
    for index in &wanted.indexes {
        assert!(live.indexes.contains(index), "{live:?}");
    }
    assert_eq!(live.ttl, wanted.ttl);
    assert!(planned(engine).await.is_done());
}

#[tokio::test]
async fn a_missing_table_is_made_and_knows_its_model() {
    let table = Table::named(place::store().await);
    let engine = table.engine(&model(ONE_INDEX));
    let plan = planned(&engine).await;
    assert!(!plan.is_there);
    assert_eq!(plan.steps, [format!("make table `{}` with index `GSI1`", table.name)]);
    assert_eq!(deployed(&engine, DeployOptions::default()).await.unwrap(), 1);
    assert_as_declared(&engine).await;
    open_to_write(&engine).await.unwrap();
    assert_eq!(engine.table_control().await.unwrap().unwrap().faces().len(), 1);
    assert_eq!(deployed(&engine, DeployOptions::default()).await.unwrap(), 0);
}

/// Somebody made the table and was killed before it knew its model.
#[tokio::test]
async fn an_empty_table_comes_to_know_its_model() {
    let table = Table::named(place::store().await);
    let engine = table.engine(&model(""));
    table
        .store
        .create_table(&table::table_spec(engine.model()))
        .await
        .unwrap();
    deployed(&engine, DeployOptions::default()).await.unwrap();
    assert!(engine.table_control().await.unwrap().is_some());
}

#[tokio::test]
async fn expiry_and_units_follow_the_model() {
    let table = Table::named(place::store().await);
    let paid = ", ttl: ends, billing: {read: 7, write: 8, indexes: {GSI1: {read: 3, write: 4}}}, indexes: {GSI1: {partition: GSI1PK}}";
    let (old, new) = (
        table.engine(&model(", indexes: {GSI1: {partition: GSI1PK}}")),
        table.engine(&model(paid)),
    );
    deployed(&old, DeployOptions::default()).await.unwrap();
    let plan = planned(&new).await;
    let steps = [
        "provision 7 read and 8 write units a second",
        "provision 3 read and 4 write units a second for index `GSI1`",
        "expire items by `ends`",
    ];
    assert_eq!(plan.steps, steps);
    assert_eq!(deployed(&new, DeployOptions::default()).await.unwrap(), 3);
    assert_as_declared(&new).await;
    let live = table.store.describe_table(&table.name).await.unwrap().spec;
    assert_eq!(live.billing, table::table_spec(new.model()).billing);
    // What the model does not say stays as it is, and expiry that it does not have ends.
    let plan = planned(&old).await;
    assert_eq!(plan.steps, ["expire no items"]);
    assert!(plan.left[0].contains("provisioned units"), "{plan:?}");
    table.remove().await;
}

#[tokio::test]
async fn an_index_goes_only_where_that_is_asked_for() {
    let table = Table::named(place::store().await);
    let (two, one) = (table.engine(&model(TWO_INDEXES)), table.engine(&model(ONE_INDEX)));
    deployed(&two, DeployOptions::default()).await.unwrap();
    let plan = planned(&one).await;
    assert!(plan.is_done(), "{plan:?}");
    assert!(plan.left[0].contains("`--drop-index GSI2`"), "{plan:?}");
    assert_eq!(deployed(&one, DeployOptions::default()).await.unwrap(), 0);
    assert_eq!(deployed(&one, dropping("GSI2")).await.unwrap(), 1);
    // Once more, and an index that is as the model has it: nothing.
    assert_eq!(deployed(&one, dropping("GSI2")).await.unwrap(), 0);
    assert_eq!(deployed(&one, dropping("GSI1")).await.unwrap(), 0);
    let live = table.store.describe_table(&table.name).await.unwrap().spec;
    assert_eq!(live.indexes.len(), 1);
}

#[tokio::test]
async fn an_index_of_other_attributes_is_made_anew_only_where_that_is_asked_for() {
    let table = Table::named(place::store().await);
    let (old, new) = (
        table.engine(&model(ONE_INDEX)),
        table.engine(&model(", indexes: {GSI1: {partition: GSI1PK}}")),
    );
    deployed(&old, DeployOptions::default()).await.unwrap();
    let plan = planned(&new).await;
    assert!(plan.hindrances[0].contains("`--drop-index GSI1`"), "{plan:?}");
    let error = deployed(&new, DeployOptions::default()).await.unwrap_err();
    assert!(matches!(error, DeployError::Hindered(_)), "{error}");
    assert_eq!(deployed(&new, dropping("GSI1")).await.unwrap(), 2);
    assert_as_declared(&new).await;
}

#[tokio::test]
async fn another_key_is_refused() {
    let table = Table::named(place::store().await);
    let old = table.engine(&model(""));
    let other = table.engine(&model(", ttl: ends").replace("SK", "RANGE"));
    deployed(&old, DeployOptions::default()).await.unwrap();
    let error = deployed(&other, DeployOptions::default()).await.unwrap_err();
    assert!(
        error.to_string().contains("key of a table cannot be changed"),
        "{error}"
    );
    let live = table.store.describe_table(&table.name).await.unwrap().spec;
    assert_eq!(live.ttl, None, "nothing is done where not all can be");
}

/// A store whose tables belong to a stack, or can be recovered.
#[derive(Debug)]
struct Kept {
    store: Arc<dyn Store>,
    upkeep: std::sync::Mutex<TableUpkeep>,
}

#[async_trait]
impl StoreLayer for Kept {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn describe_upkeep(&self, _: &str) -> Result<TableUpkeep> {
        Ok(self.upkeep.lock().unwrap().clone())
    }

    async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
        match change {
            TableChange::Recovery(is_on) => {
                self.upkeep.lock().unwrap().recovery = Some(*is_on);
                Ok(())
            }
            change => self.store.update_table(table, change).await,
        }
    }
}

fn kept(engine: &Engine, upkeep: TableUpkeep) -> Engine {
    engine.on_store(Arc::new(Kept {
        store: Arc::clone(engine.store()),
        upkeep: upkeep.into(),
    }))
}

#[tokio::test]
async fn the_table_of_a_stack_is_left_alone() {
    let table = Table::named(place::store().await);
    let old = table.engine(&model(""));
    deployed(&old, DeployOptions::default()).await.unwrap();
    let tag = ("aws:cloudformation:stack-name".to_owned(), "shelves".to_owned());
    let upkeep = TableUpkeep {
        recovery: None,
        tags: [tag].into(),
    };
    let new = kept(&table.engine(&model(ONE_INDEX)), upkeep);
    let plan = planned(&new).await;
    assert_eq!(plan.stack.as_deref(), Some("shelves"));
    assert_eq!(plan.steps, ["make index `GSI1`"]);
    let error = deployed(&new, DeployOptions::default()).await.unwrap_err();
    assert!(matches!(error, DeployError::Managed(_)), "{error}");
    assert!(
        table
            .store
            .describe_table(&table.name)
            .await
            .unwrap()
            .spec
            .indexes
            .is_empty()
    );
}

#[tokio::test]
async fn recovery_is_turned_on_and_never_off() {
    let table = Table::named(place::store().await);
    let (with, without) = (", recovery: point_in_time", "");
    let off = TableUpkeep {
        recovery: Some(false),
        ..TableUpkeep::default()
    };
    let new = kept(&table.engine(&model(with)), off);
    deployed(&new, DeployOptions::default()).await.unwrap();
    let is_on = new.store().describe_upkeep(&table.name).await.unwrap().recovery;
    assert_eq!(is_on, Some(true));
    let old = table.engine(&model(without)).on_store(Arc::clone(new.store()));
    let plan = planned(&old).await;
    assert!(plan.is_done() && plan.left[0].contains("recovered"), "{plan:?}");
}

/// A store that fails at a call, which is done or not.
#[derive(Debug)]
pub struct Failing {
    store: Arc<dyn Store>,
    left: AtomicUsize,
}

impl Failing {
    /// One that lets so many calls through.
    pub fn after(calls: usize, store: &Arc<dyn Store>) -> Self {
        Failing {
            store: Arc::clone(store),
            left: AtomicUsize::new(calls),
        }
    }
}

#[async_trait]
impl StoreLayer for Failing {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn refusal(&self) -> Option<StoreError> {
        let left = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.is_err().then(|| StoreError::bad_request("ended"))
    }
}

/// Ended after any number of calls, the next goes on.
#[tokio::test]
async fn who_is_killed_goes_on() {
    for calls in place::CALLS_UNTIL_KILLED {
        let table = Table::named(place::store().await);
        let (old, new) = (
            table.engine(&model("")),
            table.engine(&model(&format!("{TWO_INDEXES}, ttl: ends"))),
        );
        if calls % 2 == 0 {
            deployed(&old, DeployOptions::default()).await.unwrap();
        }
        let failing = new.on_store(Arc::new(Failing::after(calls, new.store())));
        let _ = deployed(&failing, DeployOptions::default()).await;
        deployed(&new, DeployOptions::default()).await.unwrap();
        assert_as_declared(&new).await;
        assert!(new.table_control().await.unwrap().is_some(), "{calls}");
        table.remove().await;
    }
}
