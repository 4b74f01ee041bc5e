//! Writes that run after changes, or by the clock, and webhooks, while a process serves or only follows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use singlet_changes::{
    FollowError, Lease, PostWebhook, RunEnd, SendEnd, TallyFollower, Ticker, TriggerFollower, TriggerObserver,
    WebhookObserver, WebhookSender, entities_with_kept_copies, forget_unneeded, repair_as_asked,
};
use singlet_face::Company;
use singlet_http::Service;
use singlet_lake::LakePlace;
use singlet_runtime::{Engine, RuntimeError};
use singlet_search::SearchFollower;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::lake_following::lake_for_ever;
use crate::search_following::{self, SearchPlace, search_for_ever};
use crate::store::now;
use crate::webhooks::WebhookDeployment;

/// How long it is waited at the head of a stream of this process's own, where asking costs nothing.
const HEAD_PAUSE_ALONE: Duration = Duration::from_millis(25);

/// The same in DynamoDB, where each question is paid for, and a shard takes five a second.
pub(crate) const HEAD_PAUSE_SHARED: Duration = Duration::from_millis(250);

/// How often it is looked whether another process has given the lease back.
pub(crate) const LEASE_PAUSE: Duration = Duration::from_secs(5);

/// How often it is looked what operators ask for of parked changes.
const ORDERS_PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked whether the figures of a tally are to be counted anew, where that costs nothing.
const FIGURES_PAUSE_ALONE: Duration = Duration::from_secs(1);

/// The same in DynamoDB.
const FIGURES_PAUSE_SHARED: Duration = Duration::from_secs(15);

/// How late the stream of DynamoDB may be after a scan.
const STREAM_LATE_MILLIS: i64 = 10_000;

/// How often it is looked for timers that are due.
const TIMERS_PAUSE: Duration = Duration::from_secs(1);

/// How often the clock is looked at for ticks; it may jump.
const TICKS_PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked for deliveries that are due, where there were none.
const DELIVERIES_PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked whether a model was taken up.
const SYSTEMS_PAUSE: Duration = Duration::from_millis(500);

/// The longest wait after the store failed.
pub(crate) const AWAY_PAUSE_MAX: Duration = Duration::from_secs(16);

/// How long the lease may take to be given back at the end.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// What happens while changes of a system are followed, into log and figures.
pub(crate) struct Noticed {
    system: String,
    service: Option<Arc<Service>>,
}

impl Noticed {
    /// Of a system; without a service there are no figures.
    pub(crate) fn new(system: &str, service: Option<Arc<Service>>) -> Self {
        Noticed {
            system: system.to_owned(),
            service,
        }
    }

    fn followed(&self, lag_seconds: i64, parked: usize, retried: usize) {
        if let Some(service) = &self.service {
            service.metrics().followed(&self.system, lag_seconds, parked, retried);
        }
    }
}

impl Noticed {
    /// Says how far words are followed: the newest change that a page had.
    pub(crate) fn searched(&self, newest_at: Option<i64>) {
        if let Some(service) = &self.service {
            service.metrics().searched(&self.system, lag_of(newest_at));
        }
    }

    fn tallied(&self, lag_seconds: i64, groups: usize) {
        if let Some(service) = &self.service {
            service.metrics().tallied(&self.system, lag_seconds, groups);
        }
    }
}

impl TriggerObserver for Noticed {
    fn ran(&self, write: &str, change: &str, ended: &RunEnd) {
        let system = self.system.as_str();
        let outcome = match ended {
            RunEnd::Done => {
                tracing::info!(system, write, change, "ran by itself");
                "done"
            }
            RunEnd::DoneBefore => return,
            RunEnd::Refused(refused) => {
                tracing::info!(
                    system,
                    write,
                    change,
                    refused = refused.name,
                    "refused what ran by itself"
                );
                "refused"
            }
            RunEnd::Later(refused) => {
                let refused = refused.name.as_str();
                tracing::info!(system, write, change, refused, "refused for now what ran by itself");
                "later"
            }
            RunEnd::Parked(reason) => {
                tracing::warn!(system, write, change, "it is parked: {reason}");
                "parked"
            }
        };
        if let Some(service) = &self.service {
            service.metrics().ran(system, write, outcome);
        }
    }

    fn waits(&self, write: &str, error: &RuntimeError) {
        tracing::warn!(system = self.system, write, %error, "what runs by itself waits");
    }

    fn unfired(&self, entity: &str, error: &RuntimeError) {
        tracing::warn!(system = self.system, entity, %error, "what time does to a row cannot be stored");
    }
}

impl WebhookObserver for Noticed {
    fn sent(&self, webhook: &str, id: &str, end: &SendEnd) {
        let system = self.system.as_str();
        let outcome = match end {
            SendEnd::Delivered => {
                tracing::info!(system, webhook, id, "delivered");
                "delivered"
            }
            SendEnd::Later(reason) => {
                tracing::warn!(system, webhook, id, reason, "not delivered, and tried again later");
                "later"
            }
            SendEnd::Failed(reason) => {
                tracing::error!(system, webhook, id, reason, "not delivered, and not tried again");
                "failed"
            }
            SendEnd::Gone => {
                tracing::error!(
                    system,
                    webhook,
                    id,
                    "the receiver is gone: nothing is sent there until it is resumed"
                );
                "gone"
            }
        };
        if let Some(service) = &self.service {
            service.metrics().delivered(system, webhook, outcome);
        }
    }
}

/// The following of a service's systems.
pub(crate) struct Following {
    ending: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Following {
    /// Ends it: what runs is left where it is, and the lease given back.
    pub(crate) async fn end(self) {
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
pub(crate) async fn enter(engine: &Arc<Engine>) -> Result<(), FollowError> {
    let unheard: Arc<dyn TriggerObserver> = Arc::new(Noticed::new("", None));
    // On a table that is held they are entered, and do not begin.
    let unless_held = |started: Result<(), FollowError>| match started {
        Err(FollowError::Held(_)) => Ok(()),
        started => started,
    };
    unless_held(Ticker::start_all(engine, &unheard, now()).await.map(drop))?;
    if engine.model().followed_changes().next().is_none() {
        return Ok(());
    }
    unless_held(
        TriggerFollower::start(Arc::clone(engine), unheard, now())
            .await
            .map(drop),
    )
}

/// Follows the changes of every system of a service, from now on. Searches wait for their index as soon as this has returned.
pub(crate) async fn start(
    service: Arc<Service>,
    company: Company,
    webhooks: Arc<WebhookDeployment>,
    lake: Option<LakePlace>,
    search: SearchPlace,
) -> Following {
    let (ending, mut end) = watch::channel(false);
    let mut followed = FollowedService {
        service,
        company,
        webhooks,
        lake,
        search,
        running: BTreeMap::new(),
    };
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
    webhooks: Arc<WebhookDeployment>,
    lake: Option<LakePlace>,
    search: SearchPlace,
    running: BTreeMap<String, FollowedSystem>,
}

impl FollowedService {
    /// Follows the systems as they are now: another model may have been taken up.
    async fn take_up(&mut self) {
        for system in self.service.systems() {
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
                let _ = known.task.await;
            }
            let (ending, ended) = watch::channel(false);
            let noticed = Arc::new(Noticed::new(&system.name, Some(Arc::clone(&self.service))));
            let sent_by = self.webhooks.client(&system.engine).unwrap_or_else(|reason| {
                tracing::error!(system = system.name, reason, "deliveries wait");
                None
            });
            let followed = FollowedEngine {
                engine: Arc::clone(&system.engine),
                noticed,
                company: self.company,
                sent_by: sent_by.map(|client| client as Arc<dyn PostWebhook>),
                lake: self.lake.clone(),
                words: search_following::begin(&system.engine, self.company, &self.search),
            };
            let task = tokio::spawn(follow_system(followed, ended));
            let engine = Arc::clone(&system.engine);
            self.running
                .insert(system.prefix.clone(), FollowedSystem { engine, ending, task });
        }
    }
}

/// A system, and how it is followed.
struct FollowedEngine {
    engine: Arc<Engine>,
    noticed: Arc<Noticed>,
    company: Company,
    /// Who sends its webhooks; none where deliveries wait.
    sent_by: Option<Arc<dyn PostWebhook>>,
    /// The place of the lakes that changes are brought into.
    lake: Option<LakePlace>,
    /// Who follows the words of its rows.
    words: Option<SearchFollower>,
}

/// Follows the changes of one system until it is told to end.
async fn follow_system(followed: FollowedEngine, mut ended: watch::Receiver<bool>) {
    let FollowedEngine {
        engine,
        noticed,
        company,
        sent_by,
        lake,
        words,
    } = followed;
    WebhookDeployment::say_addresses(&engine);
    match forget_unneeded(&engine).await {
        Ok(0) => {}
        Ok(deliveries) => tracing::warn!(
            system = noticed.system,
            deliveries,
            "the model no longer has the webhooks of these deliveries: they are removed"
        ),
        Err(error) => {
            tracing::warn!(system = noticed.system, %error, "it cannot be looked whether anything follows");
        }
    }
    if let Ok(Some(held)) = engine.held_table().await {
        let held = FollowError::Held(held);
        tracing::warn!(system = noticed.system, "{held}: `singlet changes MODEL release`");
    }
    let mut leases = (None, None, None, None);
    tokio::select! {
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
                search_for_ever(&engine, &noticed, company, words),
            )
        } => {}
    }
    for lease in [leases.0, leases.1, leases.2, leases.3].iter_mut().flatten() {
        if let Err(error) = lease.give_back(now()).await {
            tracing::debug!(%error, "the lease ends by itself");
        }
    }
}

/// Whatever is dropped half-way here is as if the process had ended there: it comes again.
async fn follow_for_ever(engine: &Arc<Engine>, noticed: &Arc<Noticed>, company: Company, lease: &mut Option<Lease>) {
    if engine.model().followed_changes().next().is_none() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        let ended = follow_while_held(engine, noticed, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// The same for the clocks of writes.
async fn tick_for_ever(engine: &Arc<Engine>, noticed: &Arc<Noticed>, company: Company, lease: &mut Option<Lease>) {
    if engine.model().scheduled().next().is_none() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        let ended = tick_while_held(engine, noticed, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// The same for what other systems are told.
async fn send_for_ever(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    sent_by: Option<Arc<dyn PostWebhook>>,
) {
    let Some(sent_by) = sent_by else { return };
    let observer: Arc<dyn WebhookObserver> = noticed.clone();
    let sender = WebhookSender::new(Arc::clone(engine), sent_by, observer);
    let mut failures = 0_u32;
    loop {
        let ended = send_while_held(engine, &sender, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// The same for tallies.
async fn tally_for_ever(engine: &Arc<Engine>, noticed: &Arc<Noticed>, company: Company, lease: &mut Option<Lease>) {
    if engine.model().tallies.is_empty() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        let ended = tally_while_held(engine, noticed, company, lease, &mut failures).await;
        pause_after(ended, noticed, &mut failures).await;
    }
}

/// Mends copies where an operator asks for it. Only a folder has one process that must be asked; elsewhere the command does it itself.
async fn repair_for_ever(engine: &Arc<Engine>, noticed: &Arc<Noticed>, company: Company) {
    if company == Company::Shared || entities_with_kept_copies(engine.model()).next().is_none() {
        return;
    }
    let mut failures = 0_u32;
    loop {
        match repair_as_asked(engine, &now).await {
            Ok(_) => {
                failures = 0;
                tokio::time::sleep(ORDERS_PAUSE).await;
            }
            Err(error) => pause_after(Err(error), noticed, &mut failures).await,
        }
    }
}

/// Sends what is due of all webhooks for as long as this process has the lease, which is renewed while receivers are waited for. A slow
/// receiver holds up its own webhook alone.
async fn send_while_held(
    engine: &Arc<Engine>,
    sender: &WebhookSender,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let lease = lease.get_or_insert_with(|| WebhookSender::lease(engine));
    let shared = company == Company::Shared;
    if shared && !lease.hold(now()).await? {
        return Ok(());
    }
    *failures = 0;
    let one = |webhook| async move {
        loop {
            if sender.send_due(webhook, &now).await? == 0 {
                tokio::time::sleep(DELIVERIES_PAUSE).await;
            }
        }
    };
    let mut sending = Box::pin(try_join_all(engine.model().webhooks.iter().map(one)));
    loop {
        tokio::select! {
            ended = &mut sending => return ended.map(|_: Vec<()>| ()),
            () = tokio::time::sleep(LEASE_PAUSE) => {
                if shared && !lease.hold(now()).await? {
                    return Ok(());
                }
            }
        }
    }
}

/// Keeps tallies for as long as this process has the lease.
async fn tally_while_held(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let shared = company == Company::Shared;
    let lease = lease.get_or_insert_with(|| TallyFollower::lease(engine));
    if shared && !lease.hold(now()).await? {
        return Ok(());
    }
    let mut tallies = TallyFollower::start(Arc::clone(engine), stream_late_millis(company), now()).await?;
    let mut looked = Instant::now();
    let look_pause = if shared {
        FIGURES_PAUSE_SHARED
    } else {
        FIGURES_PAUSE_ALONE
    };
    loop {
        if shared && !lease.hold(now()).await? {
            return Ok(());
        }
        let page = tallies.follow_page(&now).await?;
        *failures = 0;
        noticed.tallied(lag_of(page.newest_at), page.groups);
        if page.built > 0 {
            tracing::info!(
                system = noticed.system,
                tallies = page.built,
                "figures were counted anew"
            );
        }
        if looked.elapsed() >= look_pause {
            tallies.look(now()).await?;
            looked = Instant::now();
        }
        if page.records == 0 && (shared || !tallies.is_building()) {
            let pause = if shared { HEAD_PAUSE_SHARED } else { HEAD_PAUSE_ALONE };
            tokio::time::sleep(pause).await;
        }
    }
}

/// How many seconds ago the newest change of a page happened.
fn lag_of(newest_at: Option<i64>) -> i64 {
    newest_at.map_or(0, |newest| (now() / 1_000 - newest).max(0))
}

/// How late the stream may be after a scan: a process that is alone reads its own.
pub(crate) fn stream_late_millis(company: Company) -> i64 {
    match company {
        Company::Shared => STREAM_LATE_MILLIS,
        Company::Alone => 0,
    }
}

/// Waits after another process has the lease, or the store has failed.
async fn pause_after(ended: Result<(), FollowError>, noticed: &Noticed, failures: &mut u32) {
    match ended {
        Ok(()) => tokio::time::sleep(LEASE_PAUSE).await,
        // It was said at the beginning.
        Err(FollowError::Held(_)) => tokio::time::sleep(LEASE_PAUSE).await,
        // Another process is further; where it goes on is read anew.
        Err(FollowError::Overtaken) => tokio::time::sleep(HEAD_PAUSE_SHARED).await,
        Err(error) => {
            if *failures == 0 {
                tracing::warn!(system = noticed.system, %error, "changes and clocks cannot be followed for now");
            }
            *failures = failures.saturating_add(1);
            let pause = HEAD_PAUSE_SHARED.saturating_mul(1 << (*failures).min(10));
            tokio::time::sleep(pause.min(AWAY_PAUSE_MAX)).await;
        }
    }
}

/// Runs the ticks of all writes for as long as this process has the lease, which is renewed while they run.
async fn tick_while_held(
    engine: &Arc<Engine>,
    noticed: &Arc<Noticed>,
    company: Company,
    lease: &mut Option<Lease>,
    failures: &mut u32,
) -> Result<(), FollowError> {
    let lease = lease.get_or_insert_with(|| Ticker::lease(engine));
    let shared = company == Company::Shared;
    if shared && !lease.hold(now()).await? {
        return Ok(());
    }
    let observer: Arc<dyn TriggerObserver> = noticed.clone();
    let mut tickers = Ticker::start_all(engine, &observer, now()).await?;
    *failures = 0;
    let mut ticking = Box::pin(try_join_all(tickers.iter_mut().map(tick_write)));
    loop {
        tokio::select! {
            ended = &mut ticking => return ended.map(|_| ()),
            () = tokio::time::sleep(LEASE_PAUSE) => {
                if shared && !lease.hold(now()).await? {
                    return Ok(());
                }
            }
        }
    }
}

/// Runs the ticks of one write until the store fails.
async fn tick_write(ticker: &mut Ticker) -> Result<(), FollowError> {
    loop {
        ticker.run_due(now()).await?;
        ticker.follow_orders().await?;
        tokio::time::sleep(TICKS_PAUSE).await;
    }
}

/// One who runs writes after changes. What is shared is DynamoDB, whose indexes may be behind.
pub(crate) async fn start_triggers(
    engine: &Arc<Engine>,
    observer: Arc<dyn TriggerObserver>,
    company: Company,
) -> Result<TriggerFollower, FollowError> {
    let follower = TriggerFollower::start(Arc::clone(engine), observer, now()).await?;
    Ok(match company {
        Company::Shared => follower.with_late_indexes(),
        Company::Alone => follower,
    })
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
    let mut follower = start_triggers(engine, observer, company).await?;
    let shared = company == Company::Shared;
    let lease = lease.get_or_insert_with(|| follower.lease());
    follower.fire_due(now()).await?;
    // Before a page: where no more changes can be parked, none is read until some of them are dealt with.
    follower.follow_orders(&now).await?;
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
        let parked = follower.parked();
        if !parked.is_empty() && looked.elapsed() >= ORDERS_PAUSE {
            follower.follow_orders(&now).await?;
            looked = Instant::now();
        }
        let lag = lag_of(page.newest_at);
        let left = parked.iter().filter(|parked| parked.next_try().is_none()).count();
        noticed.followed(lag, left, parked.len() - left);
        if page.records == 0 {
            let pause = if shared { HEAD_PAUSE_SHARED } else { HEAD_PAUSE_ALONE };
            tokio::time::sleep(pause).await;
        }
    }
}

/// Follows one system until it is asked to end, or, once, up to what there was when it began.
pub(crate) async fn follow_alone(
    engine: Arc<Engine>,
    company: Company,
    sent_by: Option<Arc<dyn PostWebhook>>,
    once: bool,
    end: impl Future<Output = ()>,
) -> Result<usize, FollowError> {
    let noticed = Arc::new(Noticed::new(&engine.model().name, None));
    if !once {
        let (ending, ended) = watch::channel(false);
        let followed = FollowedEngine {
            engine,
            noticed,
            company,
            sent_by,
            lake: None,
            // Who only follows answers nobody.
            words: None,
        };
        let task = tokio::spawn(follow_system(followed, ended));
        end.await;
        let _ = ending.send(true);
        let _ = tokio::time::timeout(END_TIME_MAX, task).await;
        return Ok(0);
    }
    forget_unneeded(&engine).await?;
    let observer: Arc<dyn TriggerObserver> = noticed.clone();
    let mut tickers = Ticker::start_all(&engine, &observer, now()).await?;
    for ticker in &mut tickers {
        ticker.run_due(now()).await?;
    }
    let mut parked = tickers.iter().map(Ticker::parked).sum();
    if engine.model().followed_changes().next().is_some() {
        let mut follower = start_triggers(&engine, observer, company).await?;
        let begun = now() / 1_000;
        follower.fire_due(now()).await?;
        while !follower.is_at_head() && !follower.has_passed(begun + 1) {
            follower.follow_page(&now).await?;
        }
        follower.follow_orders(&now).await?;
        parked = follower.parked().len();
    }
    if let Some(sent_by) = sent_by {
        let sender = WebhookSender::new(Arc::clone(&engine), sent_by, noticed);
        for webhook in &engine.model().webhooks {
            while sender.send_due(webhook, &now).await? > 0 {}
        }
    }
    tally_once(&engine, company).await?;
    Ok(parked)
}

/// Counts what there was when it began, and builds what is to be built.
pub(crate) async fn tally_once(engine: &Arc<Engine>, company: Company) -> Result<(), FollowError> {
    if engine.model().tallies.is_empty() {
        return Ok(());
    }
    let mut tallies = TallyFollower::start(Arc::clone(engine), stream_late_millis(company), now()).await?;
    let begun = now() / 1_000;
    while !tallies.is_at_rest() && !tallies.has_passed(begun + 1) {
        let page = tallies.follow_page(&now).await?;
        if page.records == 0 && company == Company::Shared {
            tokio::time::sleep(HEAD_PAUSE_SHARED).await;
        }
    }
    Ok(())
}
