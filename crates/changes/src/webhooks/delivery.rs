//! One delivery: what is told once of a change, and how far that is.

use singlet_item::{Item, Value};
use singlet_model::model::{WEBHOOK_BODY_BYTES_MAX, Webhook};
use singlet_runtime::{ChangedRow, Engine, RuntimeError};
use singlet_values::json_text;

use crate::change::{ChangeId, at_text};
use crate::followers::{number_of, number_value};

const ID: &str = "$id";
const CHANGE: &str = "$change";
const BODY: &str = "$body";
const ATTEMPTS: &str = "$attempts";
const MADE: &str = "$made";
const DUE: &str = "$due";
const REASON: &str = "$reason";

/// How the sort key of a delivery begins that is still to be made, and of one that failed. The state of a webhook comes before both.
pub(super) const DUE_SORT: &str = "due ";
pub(super) const FAILED_SORT: &str = "failed ";

/// The longest reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 200;

/// What is told of a change, and how far that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The `webhook-id`: of webhook and change, the same at every attempt.
    pub id: String,
    /// The change.
    pub change: String,
    /// The body, as it is sent.
    pub body: String,
    /// How many attempts failed.
    pub attempts: u32,
    /// When it was written, in epoch milliseconds.
    pub made: i64,
    /// When it is tried next; none where it failed for good.
    pub due: Option<i64>,
    /// Why the last attempt failed.
    pub reason: Option<String>,
}

impl Delivery {
    /// What a webhook tells of a change, due at once.
    pub(super) fn of_change(
        engine: &Engine,
        webhook: &Webhook,
        change: &ChangedRow,
        at_seconds: i64,
        now: i64,
    ) -> Result<Self, RuntimeError> {
        let text = |text: &str| Value::S(text.to_owned());
        let fields = [
            ("type", text(&webhook.name)),
            ("timestamp", Value::S(at_text(at_seconds))),
            ("data", Value::M(engine.webhook_data(webhook, change)?)),
        ];
        let mut body = Vec::new();
        json_text::write_object(&mut body, fields.iter().map(|(name, value)| (*name, value)));
        if body.len() > WEBHOOK_BODY_BYTES_MAX {
            return Err(RuntimeError::Request(format!(
                "the body has {} bytes, and what is told has at most {WEBHOOK_BODY_BYTES_MAX}",
                body.len()
            )));
        }
        let body = String::from_utf8(body).map_err(|_| RuntimeError::Internal("a body is no text".to_owned()))?;
        Ok(Delivery {
            id: message_id(&engine.model().name, &webhook.name, &change.id),
            change: change.id.clone(),
            body,
            attempts: 0,
            made: now,
            due: Some(now),
            reason: None,
        })
    }

    /// The same after an attempt that failed: due later, or never.
    pub(super) fn failed(&self, reason: &str, due: Option<i64>) -> Self {
        Delivery {
            attempts: self.attempts.saturating_add(1),
            due,
            reason: Some(reason.chars().take(REASON_CHARS_MAX).collect()),
            ..self.clone()
        }
    }

    /// The same from the beginning.
    pub(super) fn begun_again(&self, now: i64) -> Self {
        Delivery {
            attempts: 0,
            due: Some(now),
            reason: None,
            ..self.clone()
        }
    }

    /// The sort key: in the order of instants.
    pub(super) fn sort(&self) -> String {
        match self.due {
            Some(due) => format!("{DUE_SORT}{due:015} {}", self.id),
            None => format!("{FAILED_SORT}{:015} {}", self.made, self.id),
        }
    }

    pub(super) fn put_into(&self, item: &mut Item) {
        let texts = [(ID, &self.id), (CHANGE, &self.change), (BODY, &self.body)];
        item.extend(texts.map(|(name, text)| (name.to_owned(), Value::S(text.clone()))));
        let reason = self.reason.iter().filter(|reason| !reason.is_empty());
        item.extend(reason.map(|reason| (REASON.to_owned(), Value::S(reason.clone()))));
        let numbers = [(ATTEMPTS, i64::from(self.attempts)), (MADE, self.made)];
        item.extend(numbers.map(|(name, of)| (name.to_owned(), number_value(of))));
        item.extend(self.due.map(|due| (DUE.to_owned(), number_value(due))));
    }

    /// A delivery as it is stored; none where another version of Singlet wrote something else there.
    pub(super) fn of_item(item: &Item) -> Option<Self> {
        let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Delivery {
            id: text(ID)?,
            change: text(CHANGE)?,
            body: text(BODY)?,
            attempts: u32::try_from(number_of(item.get(ATTEMPTS))?).ok()?,
            made: number_of(item.get(MADE))?,
            due: number_of(item.get(DUE)),
            reason: text(REASON),
        })
    }
}

/// The id under which a change is told, of letters, digits and `_` alone: it is a part of what is signed, between full stops. Two webhooks,
/// of one model or of several, may have one receiver.
fn message_id(model: &str, webhook: &str, change: &str) -> String {
    let named = [("model", model), ("webhook", webhook), ("change", change)];
    let named = named.map(|(name, text)| (name.to_owned(), Value::S(text.to_owned())));
    let hash = ChangeId::of_record("msg", &Item::from_iter(named));
    format!("msg_{}", hash.item_mark())
}
