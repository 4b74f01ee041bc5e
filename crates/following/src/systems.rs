//! The systems of a service, each followed until another model takes its place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use singlet_changes::{FollowError, PostWebhook, Ticker, TriggerFollower, TriggerObserver, forget_unneeded};
use singlet_face::Company;
use singlet_http::Service;
use singlet_lake::LakePlace;
use singlet_runtime::{Engine, RuntimeError};
use singlet_search::SearchFollower;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::deliveries::{say_addresses, send_for_ever};
use crate::lake::lake_for_ever;
use crate::noticed::Noticed;
use crate::pace::now_millis;
use crate::search::{self, WordsPlace, search_for_ever};
use crate::tallies::tally_for_ever;
use crate::ticks::tick_for_ever;
use crate::triggers::{follow_for_ever, repair_for_ever};

/// How often it is looked whether a model was taken up.
const SYSTEMS_PAUSE: Duration = Duration::from_millis(500);

/// How long the lease may take to be given back at the end.
pub(crate) const END_TIME_MAX: Duration = Duration::from_secs(2);

/// The following of a service's systems.
pub struct Following {
    ending: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Following {
    /// Ends it: what runs is left where it is, and the lease given back.
    pub async fn end(self) {
        // Nobody listens where it ended by itself.
        let _ = self.ending.send(true);
        let _ = tokio::time::timeout(END_TIME_MAX, self.task).await;
    }
}

/// One system whose changes are followed: by which engine, and how it is told to end.
struct FollowedSystem {
    engine: Arc<Engine>,
    ending: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Makes sure that the table knows where following its changes and its clocks begins, where the model has anything run by itself.
///
/// # Errors
///
/// Where the store fails, or the table has no stream that can be followed.
pub async fn enter_table(engine: &Arc<Engine>) -> Result<(), FollowError> {
    let unheard: Arc<dyn TriggerObserver> = Arc::new(Noticed::new("", None));
    // On a table that is held they are entered, and do not begin. Where another model follows for now they begin after it.
    let unless_held = |started: Result<(), FollowError>| match started {
        Err(FollowError::Held(_)) => Ok(()),
        Err(FollowError::Store(error) | FollowError::Runtime(RuntimeError::Store(error)))
            if error.is_unavailable() && error.told_publicly().is_some() =>
        {
            Ok(())
        }
        started => started,
    };
    unless_held(Ticker::start_all(engine, &unheard, now_millis()).await.map(drop))?;
    if engine.model().followed_changes().next().is_none() {
        return Ok(());
    }
    unless_held(
        TriggerFollower::start(Arc::clone(engine), unheard, now_millis())
            .await
            .map(drop),
    )
}

/// Says who sends the webhooks of a system; none where deliveries wait.
pub type WebhookSenders = Box<dyn Fn(&Engine) -> Option<Arc<dyn PostWebhook>> + Send + Sync>;

/// Follows the changes of every system of a service, from now on. Searches wait for their index as soon as this has returned.
pub async fn follow_service(
    service: Arc<Service>,
    company: Company,
    senders: WebhookSenders,
    lake: Option<LakePlace>,
    search: WordsPlace,
) -> Following {
    let (ending, mut end) = watch::channel(false);
    let mut followed = FollowedService {
        service,
        company,
        senders,
        lake,
        search,
        running: BTreeMap::new(),
    };
    // Before this returns, so that a request that comes now finds the index it must wait for.
    followed.take_up().await;
    let task = tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = end.changed() => break,
                () = tokio::time::sleep(SYSTEMS_PAUSE) => followed.take_up().await,
            }
        }
        for known in followed.running.values() {
            let _ = known.ending.send(true);
        }
        for known in followed.running.into_values() {
            let _ = known.task.await;
        }
    });
    Following { ending, task }
}

/// A service, and how each of its systems is followed.
struct FollowedService {
    service: Arc<Service>,
    company: Company,
    senders: WebhookSenders,
    lake: Option<LakePlace>,
    search: WordsPlace,
    running: BTreeMap<String, FollowedSystem>,
}

impl FollowedService {
    /// Follows the systems as they are now: another model may have been taken up.
    async fn take_up(&mut self) {
        for system in self.service.systems() {
            // The same engine and not an equal one: whatever was taken up anew is followed anew.
            let is_same = |engine: &Arc<Engine>| Arc::ptr_eq(engine, &system.engine);
            if self
                .running
                .get(&system.prefix)
                .is_some_and(|known| is_same(&known.engine))
            {
                continue;
            }
            if let Some(known) = self.running.remove(&system.prefix) {
                let _ = known.ending.send(true);
                // Waited for: two who follow one system under one name would overtake each other.
                let _ = known.task.await;
            }
            let (ending, ended) = watch::channel(false);
            let noticed = Arc::new(Noticed::new(&system.name, Some(Arc::clone(&self.service))));
            let followed = FollowedEngine {
                engine: system.engine.follower(),
                served: Arc::clone(&system.engine),
                noticed,
                company: self.company,
                sent_by: (self.senders)(&system.engine),
                lake: self.lake.clone(),
                words: search::begin_search((&system.name, &system.engine), self.company, &self.search),
            };
            let task = tokio::spawn(follow_system(followed, ended));
            let engine = Arc::clone(&system.engine);
            self.running
                .insert(system.prefix.clone(), FollowedSystem { engine, ending, task });
        }
    }
}

/// A system, and how it is followed.
pub(crate) struct FollowedEngine {
    /// By which changes are followed.
    pub engine: Arc<Engine>,
    /// By which it is served: its searches find what it serves.
    pub served: Arc<Engine>,
    pub noticed: Arc<Noticed>,
    pub company: Company,
    /// Who sends its webhooks; none where deliveries wait.
    pub sent_by: Option<Arc<dyn PostWebhook>>,
    /// The place of the lakes that changes are brought into.
    pub lake: Option<LakePlace>,
    /// Who follows the words of its rows.
    pub words: Option<SearchFollower>,
}

/// Follows the changes of one system until it is told to end.
pub(crate) async fn follow_system(followed: FollowedEngine, mut ended: watch::Receiver<bool>) {
    let FollowedEngine {
        engine,
        served,
        noticed,
        company,
        sent_by,
        lake,
        words,
    } = followed;
    say_addresses(&engine);
    match forget_unneeded(&engine).await {
        Ok(0) => {}
        Ok(deliveries) => tracing::warn!(
            system = noticed.system,
            deliveries,
            "removed deliveries of webhooks that the model no longer has"
        ),
        Err(error) => {
            tracing::warn!(system = noticed.system, %error, "cannot tell whether anything follows this table");
        }
    }
    if let Ok(Some(held)) = engine.held_table().await {
        let held = FollowError::Held(held);
        tracing::warn!(system = noticed.system, "{held}: `singlet changes MODEL release`");
    }
    let mut leases = (None, None, None, None);
    tokio::select! {
        // What runs is dropped where it waits: nothing that was not noted counts as done.
        _ = ended.changed() => {}
        // A long run by the clock must not hold up what runs after changes, nor the other way round.
        _ = async {
            tokio::join!(
                follow_for_ever(&engine, &noticed, company, &mut leases.0),
                tick_for_ever(&engine, &noticed, company, &mut leases.1),
                send_for_ever(&engine, &noticed, company, &mut leases.2, sent_by),
                tally_for_ever(&engine, &noticed, company, &mut leases.3),
                repair_for_ever(&engine, &noticed, company),
                lake_for_ever(&engine, company, lake),
                search_for_ever(&served, &noticed, company, words),
            )
        } => {}
    }
    for lease in [leases.0, leases.1, leases.2, leases.3].iter_mut().flatten() {
        // At the end in any case, or another process would wait for the lease to run out.
        if let Err(error) = lease.give_back(now_millis()).await {
            tracing::debug!(%error, "the lease ends by itself");
        }
    }
}
