//! Writes that run after changes, while a process serves or only follows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_changes::{FollowError, Lease, RunEnd, TriggerFollower, TriggerObserver, forget_unneeded};
use singlet_face::Company;
use singlet_http::Service;
use singlet_runtime::{Engine, RuntimeError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::store::now;

/// How long it is waited at the head of a stream of this process's own, where asking costs nothing.
const HEAD_PAUSE_ALONE: Duration = Duration::from_millis(25);

/// The same in DynamoDB, where each question is paid for, and a shard takes five a second.
const HEAD_PAUSE_SHARED: Duration = Duration::from_millis(250);

/// How often it is looked whether another process has given the lease back.
const LEASE_PAUSE: Duration = Duration::from_secs(5);

/// How often it is looked what operators ask for of parked changes.
const ORDERS_PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked for timers that are due.
const TIMERS_PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked whether a model was taken up.
const SYSTEMS_PAUSE: Duration = Duration::from_millis(500);

/// The longest wait after the store failed.
const AWAY_PAUSE_MAX: Duration = Duration::from_secs(16);

/// How long the lease may take to be given back at the end.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// What happens while changes of a system are followed, into log and figures.
pub struct Noticed {
    system: String,
    service: Option<Arc<Service>>,
}

impl Noticed {
    /// Of a system; without a service there are no figures.
    pub fn new(system: &str, service: Option<Arc<Service>>) -> Self {
        Noticed {
            system: system.to_owned(),
            service,
        }
    }

    fn followed(&self, lag_seconds: i64, parked: usize) {
        if let Some(service) = &self.service {
            service.metrics().followed(&self.system, lag_seconds, parked);
        }
    }
}

impl TriggerObserver for Noticed {
    fn ran(&self, write: &str, change: &str, ended: &RunEnd) {
        let system = self.system.as_str();
        let outcome = match ended {
            RunEnd::Done => {
                tracing::info!(system, write, change, "ran after a change");
                "done"
            }
            RunEnd::DoneBefore => return,
            RunEnd::Refused(refused) => {
                tracing::info!(system, write, change, refused = refused.name, "refused after a change");
                "refused"
            }
            RunEnd::Parked(reason) => {
                tracing::warn!(system, write, change, "a change is parked: {reason}");
                "parked"
            }
        };
        if let Some(service) = &self.service {
            service.metrics().ran(system, write, outcome);
        }
    }

    fn waits(&self, write: &str, error: &RuntimeError) {
        tracing::warn!(system = self.system, write, %error, "what runs after a change waits");
    }
}

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

/// Makes sure that the table knows where following its changes begins, where the model has anything run after them.
///
/// # Errors
///
/// Where the store fails, or the table has no stream that can be followed.
pub async fn enter(engine: &Arc<Engine>) -> Result<(), FollowError> {
    if engine.model().triggers().next().is_none() {
        return Ok(());
    }
    let unheard: Arc<dyn TriggerObserver> = Arc::new(Noticed::new("", None));
    TriggerFollower::start(Arc::clone(engine), unheard, now()).await?;
    Ok(())
}

/// Follows the changes of every system of a service, from now on.
pub fn start(service: Arc<Service>, company: Company) -> Following {
    let (ending, ended) = watch::channel(false);
    let task = tokio::spawn(async move {
        let mut running: BTreeMap<String, FollowedSystem> = BTreeMap::new();
        let mut end = ended;
        loop {
            // The systems are asked each time: another model may have been taken up.
            for system in service.systems() {
                let is_same = |engine: &Arc<Engine>| Arc::ptr_eq(engine, &system.engine);
                if running.get(&system.prefix).is_some_and(|known| is_same(&known.engine)) {
                    continue;
                }
                if let Some(known) = running.remove(&system.prefix) {
                    let _ = known.ending.send(true);
                    let _ = known.task.await;
                }
                let (ending, ended) = watch::channel(false);
                let noticed = Arc::new(Noticed::new(&system.name, Some(Arc::clone(&service))));
                let task = tokio::spawn(follow_system(Arc::clone(&system.engine), noticed, company, ended));
                let engine = Arc::clone(&system.engine);
                running.insert(system.prefix.clone(), FollowedSystem { engine, ending, task });
            }
            tokio::select! {
                _ = end.changed() => break,
                () = tokio::time::sleep(SYSTEMS_PAUSE) => {}
            }
        }
        for known in running.values() {
            let _ = known.ending.send(true);
        }
        for known in running.into_values() {
            let _ = known.task.await;
        }
    });
    Following { ending, task }
}

/// Follows the changes of one system until it is told to end.
async fn follow_system(engine: Arc<Engine>, noticed: Arc<Noticed>, company: Company, mut ended: watch::Receiver<bool>) {
    if let Err(error) = forget_unneeded(&engine).await {
        tracing::warn!(system = noticed.system, %error, "it cannot be looked whether anything follows");
    }
    if engine.model().triggers().next().is_none() {
        return;
    }
    let mut lease = None;
    tokio::select! {
        _ = ended.changed() => {}
        () = follow_for_ever(&engine, &noticed, company, &mut lease) => {}
    }
    if let Some(lease) = &mut lease
        && let Err(error) = lease.give_back(now()).await
    {
        tracing::debug!(%error, "the lease ends by itself");
    }
}

/// Whatever is dropped half-way here is as if the process had ended there: it comes again.
async fn follow_for_ever(engine: &Arc<Engine>, noticed: &Arc<Noticed>, company: Company, lease: &mut Option<Lease>) {
    let mut failures = 0_u32;
    loop {
        match follow_while_held(engine, noticed, company, lease, &mut failures).await {
            Ok(()) => tokio::time::sleep(LEASE_PAUSE).await,
            // Another process is further; where it goes on is read anew.
            Err(FollowError::Overtaken) => tokio::time::sleep(HEAD_PAUSE_SHARED).await,
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(system = noticed.system, %error, "changes cannot be followed for now");
                }
                failures = failures.saturating_add(1);
                let pause = HEAD_PAUSE_SHARED.saturating_mul(1 << failures.min(10));
                tokio::time::sleep(pause.min(AWAY_PAUSE_MAX)).await;
            }
        }
    }
}

/// Follows for as long as this process has the lease; a folder has one process, and needs none.
async fn follow_while_held(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let observer: Arc<dyn TriggerObserver> = noticed.clone();
    let mut follower = TriggerFollower::start(Arc::clone(engine), observer, now()).await?;
    let shared = company == Company::Shared;
    let lease = lease.get_or_insert_with(|| follower.lease());
    follower.fire_due(now()).await?;
    let (mut looked, mut fired) = (Instant::now(), Instant::now());
    loop {
        if shared && !lease.hold(now()).await? {
            return Ok(());
        }
        let page = follower.follow_page(&now).await?;
        if fired.elapsed() >= TIMERS_PAUSE {
            follower.fire_due(now()).await?;
            fired = Instant::now();
        }
        *failures = 0;
        let parked = follower.parked().len();
        if parked > 0 && looked.elapsed() >= ORDERS_PAUSE {
            follower.follow_orders(&now).await?;
            looked = Instant::now();
        }
        let lag = page.newest_at.map_or(0, |newest| (now() / 1_000 - newest).max(0));
        noticed.followed(lag, parked);
        if page.records == 0 {
            let pause = if shared { HEAD_PAUSE_SHARED } else { HEAD_PAUSE_ALONE };
            tokio::time::sleep(pause).await;
        }
    }
}

/// Follows one system until it is asked to end, or, once, up to what there was when it began.
pub async fn follow_alone(
    engine: Arc<Engine>,
    company: Company,
    once: bool,
    end: impl Future<Output = ()>,
) -> Result<usize, FollowError> {
    let noticed = Arc::new(Noticed::new(&engine.model().name, None));
    if !once {
        let (ending, ended) = watch::channel(false);
        let task = tokio::spawn(follow_system(engine, noticed, company, ended));
        end.await;
        let _ = ending.send(true);
        let _ = tokio::time::timeout(END_TIME_MAX, task).await;
        return Ok(0);
    }
    let observer: Arc<dyn TriggerObserver> = noticed;
    let mut follower = TriggerFollower::start(engine, observer, now()).await?;
    let begun = now() / 1_000;
    follower.fire_due(now()).await?;
    while !follower.is_at_head() && !follower.has_passed(begun + 1) {
        follower.follow_page(&now).await?;
    }
    Ok(follower.parked().len())
}
