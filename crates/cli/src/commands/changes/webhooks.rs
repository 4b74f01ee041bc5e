//! `singlet changes MODEL deliveries` and `resume`.

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use singlet_changes::{Deliveries, Delivery, WebhookOrder, WebhookState, at_text};
use singlet_item::{Number, Value};
use singlet_model::model::Webhook;
use singlet_values::json_text;

use super::parked::{LOOK_PAUSE, SERVICE_TIME_MAX};
use super::{Opened, failed};
use crate::commands::print_text;
use crate::store::now_millis;
use crate::table::counted_thing;
use crate::{exit, model};

/// How many deliveries of a webhook are shown.
const DELIVERIES_SHOWN_MAX: usize = 1_000;

/// Show what webhooks have not delivered yet, or could not.
///
/// Each webhook has a line, and each of its deliveries one below: its id, how often it was tried, when it is tried next, and why it was
/// not taken. The exit code is 1 where one failed for good, or an address is gone.
#[derive(Args)]
pub(super) struct ShowDeliveries {
    /// A JSON object a line, for each delivery.
    #[arg(long)]
    json: bool,
}

/// Send a webhook again to an address that said it is gone, and try what failed from the beginning.
#[derive(Args)]
pub(super) struct Resume {
    /// The webhook.
    webhook: String,
}

impl ShowDeliveries {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        let deliveries = Deliveries::new(opened.followers());
        let mut code = exit::CLEAN;
        for webhook in &opened.model.webhooks {
            let state = deliveries.webhook_state(&webhook.name).await;
            let state = state.map_err(|error| failed(&opened.model, &error))?;
            let listed = deliveries
                .list_deliveries(&webhook.name, DELIVERIES_SHOWN_MAX + 1)
                .await;
            let listed = listed.map_err(|error| failed(&opened.model, &error))?;
            if state.gone.is_some() || listed.iter().any(|delivery| delivery.due.is_none()) {
                code = exit::FINDINGS;
            }
            let shown = listed.iter().take(DELIVERIES_SHOWN_MAX);
            let mut text = String::new();
            match self.json {
                true => text.extend(shown.map(|delivery| json_line(webhook, delivery))),
                false => {
                    text.push_str(&summary(webhook, &state, &listed));
                    text.extend(shown.map(line));
                }
            }
            print_text(&text);
        }
        Ok(ExitCode::from(code))
    }
}

fn summary(webhook: &Webhook, state: &WebhookState, listed: &[Delivery]) -> String {
    let failed = listed.iter().filter(|delivery| delivery.due.is_none()).count();
    let least = if listed.len() > DELIVERIES_SHOWN_MAX {
        "at least "
    } else {
        ""
    };
    let mut text = format!("{}: {least}{} waiting", webhook.name, listed.len() - failed);
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if let Some(address) = &state.gone {
        let since = state.gone_at.map(|at| format!(" since {}", instant_text(at)));
        text.push_str(&format!(", `{address}` is gone{}", since.unwrap_or_default()));
    }
    match (&state.address, state.is_known()) {
        (Some(_), _) | (None, false) => {}
        (None, true) => text.push_str(", it has no address"),
    }
    text.push('\n');
    text
}

fn line(delivery: &Delivery) -> String {
    let next = match delivery.due {
        Some(due) => format!("due {}", instant_text(due)),
        None => "failed".to_owned(),
    };
    let tried = match delivery.attempts {
        0 => String::new(),
        attempts => format!(", {} failed", counted_thing(attempts as usize, "attempt")),
    };
    let reason = delivery.reason.as_ref().map(|reason| format!(": {reason}"));
    format!("  {} {next}{tried}{}\n", delivery.id, reason.unwrap_or_default())
}

fn json_line(webhook: &Webhook, delivery: &Delivery) -> String {
    let text = |text: &str| Value::S(text.to_owned());
    let mut fields = vec![
        ("webhook", text(&webhook.name)),
        ("id", text(&delivery.id)),
        ("change", text(&delivery.change)),
        ("made", Value::S(instant_text(delivery.made))),
        ("attempts", Value::N(Number::from(i64::from(delivery.attempts)))),
        ("body", text(&delivery.body)),
    ];
    fields.extend(delivery.due.map(|due| ("due", Value::S(instant_text(due)))));
    fields.extend(delivery.reason.as_ref().map(|reason| ("reason", text(reason))));
    let mut out = Vec::new();
    json_text::write_object(&mut out, fields.iter().map(|(name, value)| (*name, value)));
    String::from_utf8(out).unwrap_or_default() + "\n"
}

fn instant_text(millis: i64) -> String {
    at_text(millis.div_euclid(1_000))
}

impl Resume {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        let Some(webhook) = webhook_named(opened, &self.webhook) else {
            let code = model::fail_command(&format!("`{}` has no webhook `{}`", opened.model.name, self.webhook));
            let known: Vec<&str> = opened.model.webhooks.iter().map(|one| one.name.as_str()).collect();
            if !known.is_empty() {
                eprintln!("help: the webhooks are `{}`", known.join("`, `"));
            }
            return Err(code);
        };
        order_of_webhook(opened, webhook, WebhookOrder::Resume).await?;
        Ok(print_text(&format!("{}: resumed\n", webhook.name)))
    }
}

pub(super) fn webhook_named<'o>(opened: &'o Opened, name: &str) -> Option<&'o Webhook> {
    opened.model.webhooks.iter().find(|webhook| webhook.name == name)
}

/// Asks for something of a webhook; does it, where this process has the store open, and else waits for the one that has.
pub(super) async fn order_of_webhook(opened: &Opened, webhook: &Webhook, order: WebhookOrder) -> Result<(), ExitCode> {
    let deliveries = Deliveries::new(opened.followers());
    let ordered = async {
        deliveries.order_webhook(&webhook.name, order).await?;
        match &opened.engine {
            Some(engine) => deliveries.follow_orders(engine, webhook, now_millis()).await,
            None => Ok(()),
        }
    };
    ordered.await.map_err(|error| failed(&opened.model, &error))?;
    let begun = Instant::now();
    loop {
        let state = deliveries.webhook_state(&webhook.name).await;
        let state = state.map_err(|error| failed(&opened.model, &error))?;
        if state.order.is_none() {
            return Ok(());
        }
        if begun.elapsed() >= SERVICE_TIME_MAX {
            return Err(model::fail_command(&format!(
                "`{}` waits for who sends it",
                webhook.name
            )));
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}
