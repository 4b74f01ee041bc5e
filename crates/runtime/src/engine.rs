//! A model on a store: what embedding programs, the service and the command line call.

mod arguments;
mod asked;
mod binding;
mod count;
mod figures;
mod groups;
mod prepared;
mod preview;
mod read_call;
mod row_at_once;
mod shared_request;
mod tally;
mod watched;
mod with_each_row;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use singlet_item::Value;
use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_plan::Bounds;
use singlet_plan::read::ReadPlan;
use singlet_plan::write::{WritePlan, plan_write};
use singlet_store::{Consumed, Store};

pub use preview::{Preview, Previewed, range_text};
pub use watched::{Watched, WatchedRows, unwatchable};

use self::prepared::Prepared;
use self::read_call::ReadCall;
use crate::budget::{Memory, ReadBudget, Turns};
use crate::cursor::Sealer;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Caller, Setting};
use crate::searched::SearchIndex;

/// A model, opened on a store. Plans are made once.
#[derive(Debug)]
pub struct Engine {
    model: Arc<Model>,
    store: Arc<dyn Store>,
    reads: Arc<BTreeMap<String, Prepared>>,
    write_plans: Arc<BTreeMap<String, WritePlan>>,
    setting: Arc<Setting>,
    sealer: Sealer,
    turns: Turns,
    /// What has the words of rows, once something follows them.
    search: OnceLock<Arc<dyn SearchIndex>>,
    /// The store by which its changes are followed, where it serves on another one.
    followed_on: Option<Arc<dyn Store>>,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The arguments, as their types store them.
    pub args: Attributes,
    /// Who calls.
    pub caller: Caller,
    /// Rows in a page.
    pub limit: Option<usize>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// The instant, in epoch milliseconds.
    pub now: i64,
}

/// What is answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A row as a map, rows as a list, counts, or groups.
    pub value: Option<Value>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// What it consumed.
    pub consumed: Consumed,
}

impl Engine {
    /// Opens a model that has no errors.
    pub fn open(model: Arc<Model>, store: Arc<dyn Store>, settings: Attributes, cursor_key: [u8; 32]) -> Self {
        let write_plans = model
            .writes
            .iter()
            .map(|write| (write.name.clone(), plan_write(&model, write)))
            .collect();
        Engine {
            setting: Arc::new(Setting::of(&model, settings)),
            sealer: Sealer::new(cursor_key),
            turns: Turns::of_this_machine(),
            search: OnceLock::new(),
            reads: Arc::new(prepared::prepared_reads(&model)),
            write_plans: Arc::new(write_plans),
            model,
            store,
            followed_on: None,
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Seals bytes, as cursors are sealed, for what other bytes name. Those begin with what tells them from a cursor's: a word in a list.
    ///
    /// # Errors
    ///
    /// Where they cannot be sealed.
    pub fn seal_bytes(&self, bytes: &[u8], belongs: &[u8]) -> Result<String, RuntimeError> {
        self.sealer.seal_bytes(bytes, belongs)
    }

    /// Opens what [`Engine::seal_bytes`] sealed.
    ///
    /// # Errors
    ///
    /// Where it is forged, or was sealed for something else.
    pub fn open_bytes(&self, text: &str, belongs: &[u8]) -> Result<Vec<u8>, RuntimeError> {
        self.sealer.open_bytes(text, belongs)
    }

    /// Zone and settings.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// What one request may ask for.
    pub fn bounds(&self) -> &Bounds {
        &self.setting.bounds
    }

    /// Gives the engine other bounds; none of them is below 1.
    #[must_use]
    pub fn bounded(mut self, bounds: Bounds) -> Self {
        Arc::make_mut(&mut self.setting).bounds = bounds;
        self
    }

    /// An engine of this model, with these plans, on another store, such as a layer in front of its own.
    #[must_use]
    pub fn on_store(&self, store: Arc<dyn Store>) -> Self {
        Engine {
            model: Arc::clone(&self.model),
            store,
            reads: Arc::clone(&self.reads),
            write_plans: Arc::clone(&self.write_plans),
            setting: Arc::clone(&self.setting),
            sealer: self.sealer.clone(),
            // Shared and not new: two engines of one process must not read more at once than one may.
            turns: self.turns.clone(),
            search: self.search.clone(),
            // It says by which store an engine is followed, which this one is.
            followed_on: None,
        }
    }

    /// Has its changes be followed on another store than it serves on: while two models share a table only one of them follows.
    #[must_use]
    pub fn followed_on(mut self, store: Arc<dyn Store>) -> Self {
        self.followed_on = Some(store);
        self
    }

    /// The store by which its changes are followed, where it serves on another one.
    pub fn following_store(&self) -> Option<&Arc<dyn Store>> {
        self.followed_on.as_ref()
    }

    /// The engine by which its changes are followed.
    pub fn follower(self: &Arc<Self>) -> Arc<Self> {
        match &self.followed_on {
            Some(store) => Arc::new(self.on_store(Arc::clone(store))),
            None => Arc::clone(self),
        }
    }

    /// Lets the engine take its turns with other engines, so that they share one bound.
    #[must_use]
    pub fn taking_turns(mut self, turns: Turns) -> Self {
        self.turns = turns;
        self
    }

    /// The turns that its long reads take.
    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Has searches answered by an index; the first that is given stays.
    pub fn search_by(&self, index: Arc<dyn SearchIndex>) {
        let _ = self.search.set(index);
    }

    /// The plan of a read.
    pub fn plan(&self, name: &str) -> Option<&ReadPlan> {
        self.reads.get(name).map(|prepared| &prepared.forward.plan)
    }

    /// Changes the plans of reads, in the model's order, before anything is asked: so a mistake is planted that tests must find.
    pub fn change_plans(&mut self, change: &mut dyn FnMut(&mut ReadPlan)) {
        // Nobody shares the plans of an engine that nothing was asked of.
        let Some(reads) = Arc::get_mut(&mut self.reads) else {
            return;
        };
        for read in &self.model.reads {
            if let Some(prepared) = reads.get_mut(&read.name) {
                change(&mut prepared.forward.plan);
            }
        }
    }

    /// The plan of a write.
    pub fn write_plan(&self, name: &str) -> Option<&WritePlan> {
        self.write_plans.get(name)
    }

    /// What the `allow` of a read says of caller and request, before anything is read.
    pub(crate) fn allowed_callers(&self, name: &str) -> &[Expr] {
        let prepared = self.reads.get(name);
        prepared.map_or(&[], |prepared| &prepared.admission.of_the_caller)
    }

    /// Answers a read.
    ///
    /// # Errors
    ///
    /// Where the request is wrong or not allowed, nothing is there, or the store fails for good.
    pub async fn read(&self, name: &str, request: &Request) -> Result<Answer, RuntimeError> {
        match self.read_at_once(name, request) {
            Some(answered) => answered,
            None => self.read_within(name, request, None).await,
        }
    }

    /// Answers a read whose rows have a bound in memory. Whoever can take an answer at once asks [`Engine::read_at_once`] first.
    ///
    /// # Errors
    ///
    /// As [`Engine::read`], and where there is no room for the rows.
    pub async fn read_within(
        &self,
        name: &str,
        request: &Request,
        memory: Option<Arc<dyn Memory>>,
    ) -> Result<Answer, RuntimeError> {
        // What waits is boxed: a read has room for the largest of its parts, and is moved with it.
        let (answer, _) = Box::pin(self.read_for(name, request, memory, None)).await?;
        Ok(answer)
    }

    /// Answers a read, and to somebody who watches it when time is the next to change one of its rows.
    async fn read_for(
        &self,
        name: &str,
        request: &Request,
        memory: Option<Arc<dyn Memory>>,
        watched: Option<&Watched>,
    ) -> Result<(Answer, Option<i64>), RuntimeError> {
        let Some(prepared) = self.reads.get(name) else {
            return Err(RuntimeError::Request(format!("there is no read `{name}`")));
        };
        let mut asked = self.asked(prepared, name, request)?;
        let cursor = asked.cursor.take();
        let belongs = asked.belongs(name, &request.caller);
        let mut call = ReadCall::new(self, &asked, request, ReadBudget::new(&self.turns, memory));
        call.watched = watched;
        let answer = call.answer(cursor, &belongs).await?;
        let answer = Answer {
            consumed: call.consumed,
            ..answer
        };
        Ok((answer, call.next_instant))
    }
}
