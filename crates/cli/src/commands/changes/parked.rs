//! `singlet changes MODEL parked`, `retry` and `discard`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use singlet_changes::{ParkedChange, ParkedChanges, ParkedOrder, Ticker, TriggerObserver, WebhookOrder, at_text};
use singlet_face::Company;
use singlet_following::{Noticed, start_triggers};

use super::webhooks::{order_of_webhook, webhook_named};
use super::{Opened, failed};
use crate::commands::print_text;
use crate::exit;
use crate::store::now_millis;
use crate::table::counted_thing;

/// How long a service is given for what is asked of it.
pub(super) const SERVICE_TIME_MAX: Duration = Duration::from_secs(30);

/// How many parked changes are named where another was meant.
const CHANGES_NAMED_MAX: usize = 5;

/// How often it is looked whether it has done it.
pub(super) const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// Show changes after which a write cannot be done.
///
/// Each has the write, the id of the change, and why. Later changes of its row wait behind it, for that write. What was refused for now
/// has when it is tried again. The exit code is 1 where any waits for somebody.
#[derive(Args)]
pub(super) struct Parked {
    /// A JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Run writes after parked changes again.
///
/// What is done is no longer parked; what still cannot be done stays, and the exit code is 1.
#[derive(Args)]
pub(super) struct Retry {
    /// Only those of this write or webhook, or this change; all unless said.
    of: Option<String>,
}

/// Leave parked changes out for good: their writes do not run.
///
/// Of a webhook also the deliveries that failed, and those that wait for an address that is gone or not given.
#[derive(Args)]
pub(super) struct Discard {
    /// Those of this write or webhook, or this change.
    of: String,
}

impl Parked {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        let listed = list(opened).await?;
        let shown: String = match self.json {
            true => listed.iter().map(|one| one.to_json() + "\n").collect(),
            false => listed.iter().map(parked_text).collect(),
        };
        print_text(&shown);
        Ok(code_of(&listed))
    }
}

impl Retry {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        order(opened, ParkedOrder::Retry, self.of.as_deref()).await
    }
}

impl Discard {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        if let Some(webhook) = webhook_named(opened, &self.of) {
            order_of_webhook(opened, webhook, WebhookOrder::Discard).await?;
        }
        order(opened, ParkedOrder::Discard, Some(&self.of)).await
    }
}

async fn list(opened: &Opened) -> Result<Vec<ParkedChange>, ExitCode> {
    let parked = ParkedChanges::new(opened.followers());
    parked
        .list_parked()
        .await
        .map_err(|error| failed(&opened.model, &error))
}

/// A parked change in one line.
fn parked_text(one: &ParkedChange) -> String {
    let cause = match one.is_tick() {
        true => one.change.clone(),
        false => format!("after {} of {}", one.change, one.entity),
    };
    let next = one.next_try().map(|at| format!("; tried again {}", at_text(at)));
    let at = at_text(one.at_seconds);
    format!(
        "{at} {} {cause}: {}{}\n",
        one.write,
        one.reason,
        next.unwrap_or_default()
    )
}

/// What is tried again by itself needs nobody.
fn code_of(left: &[ParkedChange]) -> ExitCode {
    ExitCode::from(match left.iter().all(|one| one.next_try().is_some()) {
        true => exit::CLEAN,
        false => exit::FINDINGS,
    })
}

/// Asks for it; does it, where this process has the store open, and else waits for the one that has.
async fn order(opened: &Opened, order: ParkedOrder, of: Option<&str>) -> Result<ExitCode, ExitCode> {
    let parked = ParkedChanges::new(opened.followers());
    let asked = parked.order_parked(order, of).await;
    let asked = asked.map_err(|error| failed(&opened.model, &error))?;
    if let Some(of) = of.filter(|of| asked == 0 && !runs_after_changes(opened, of)) {
        return Err(unknown(opened, of).await?);
    }
    if let Some(engine) = opened.engine.as_ref().filter(|_| asked > 0) {
        let noticed = Arc::new(Noticed::new(&opened.model.name, None));
        let done = async {
            let observer: Arc<dyn TriggerObserver> = noticed;
            for mut ticker in Ticker::start_all(engine, &observer, now_millis()).await? {
                ticker.follow_orders().await?;
            }
            if engine.model().followed_changes().next().is_none() {
                return Ok(());
            }
            let company = match opened.is_remote {
                true => Company::Shared,
                false => Company::Alone,
            };
            let mut follower = start_triggers(engine, observer, company).await?;
            follower.follow_orders(&now_millis).await.map(|_| ())
        };
        done.await.map_err(|error| failed(&opened.model, &error))?;
    }
    let begun = Instant::now();
    let meant = |one: &ParkedChange| of.is_none_or(|of| one.write == of || one.change == of);
    let left = loop {
        let left: Vec<ParkedChange> = list(opened).await?.into_iter().filter(meant).collect();
        let is_open = left.iter().any(|one| one.order.is_some());
        if !is_open || begun.elapsed() >= SERVICE_TIME_MAX {
            break left;
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    };
    let open = left.iter().filter(|one| one.order.is_some()).count();
    let ended = asked.saturating_sub(left.len());
    let mut text = match order {
        ParkedOrder::Retry => format!("{} no longer parked", counted_thing(ended, "change")),
        ParkedOrder::Discard => format!("{} left out for good", counted_thing(ended, "change")),
    };
    if left.len() > open {
        text.push_str(&format!(
            ", {} still cannot be done",
            counted_thing(left.len() - open, "change")
        ));
    }
    if open > 0 {
        text.push_str(&format!(", {} waits for who follows", counted_thing(open, "change")));
    }
    print_text(&(text + "\n"));
    Ok(code_of(&left))
}

fn runs_after_changes(opened: &Opened, name: &str) -> bool {
    let mut writes = opened.model.writes.iter();
    writes.any(|write| write.name == name && write.after.is_some()) || webhook_named(opened, name).is_some()
}

/// What is said of a name that is neither a write's nor a parked change's: which there are.
async fn unknown(opened: &Opened, of: &str) -> Result<ExitCode, ExitCode> {
    let names = |names: Vec<&str>| format!("`{}`", names.join("`, `"));
    let after = opened.model.writes.iter().filter(|write| write.after.is_some());
    let webhooks = opened.model.webhooks.iter().map(|webhook| webhook.name.as_str());
    let writes: Vec<&str> = after.map(|write| write.name.as_str()).chain(webhooks).collect();
    let listed = list(opened).await?;
    let mut changes: Vec<&str> = listed.iter().map(|one| one.change.as_str()).collect();
    changes.dedup();
    eprintln!("error: `{of}` is neither a write that runs after changes, nor a webhook, nor a change that is parked");
    match writes.is_empty() {
        true => eprintln!("help: nothing of this model runs after changes"),
        false => eprintln!("help: there are {}", names(writes)),
    }
    if !changes.is_empty() {
        let more = changes.len().saturating_sub(CHANGES_NAMED_MAX);
        changes.truncate(CHANGES_NAMED_MAX);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        eprintln!("help: the changes are {}{more}", names(changes));
    }
    Ok(ExitCode::from(exit::FINDINGS))
}
