//! Changes as they happen, who follows them, and what could not be done after them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use singlet_changes::{ChangeReader, ChangeSource, Followers, ParkedChanges, ParkedOrder, Told, at_text};
use singlet_store::StreamPosition;

use crate::answer::ConsoleError;
use crate::routes::Asking;
use crate::typed_json::typed_map;

/// How long a page of changes is waited for.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// How often it is looked whether there is one.
const LOOK_PAUSE: Duration = Duration::from_millis(250);

/// How many changes are counted for the lag of a follower.
const LAG_CHANGES_MAX: usize = 1_000;

/// How many readers there are at once; the oldest goes first.
const READERS_MAX: usize = 32;

/// How many pages are read for one answer.
const PAGES_MAX: usize = 20;

/// Who reads changes, by a number that their page knows.
#[derive(Default)]
pub(crate) struct Readers(Mutex<(u64, VecDeque<Reading>)>);

type Reading = (u64, u64, String, Arc<tokio::sync::Mutex<ChangeReader>>);

impl std::fmt::Debug for Readers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Readers")
    }
}

impl Readers {
    fn begin(&self, operator: u64, system: &str, reader: ChangeReader) -> u64 {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        readers.0 += 1;
        let number = readers.0;
        if readers.1.len() >= READERS_MAX {
            readers.1.pop_front();
        }
        let reader = Arc::new(tokio::sync::Mutex::new(reader));
        readers.1.push_back((number, operator, system.to_owned(), reader));
        number
    }

    fn find(&self, number: u64, operator: u64, system: &str) -> Option<Arc<tokio::sync::Mutex<ChangeReader>>> {
        let readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = readers.1.iter();
        let found = known.find(|(known, of, on, _)| (*known, *of, on.as_str()) == (number, operator, system));
        found.map(|(.., reader)| Arc::clone(reader))
    }
}

/// Which changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ChangesAsked {
    /// Who reads on; somebody new, if there is none.
    #[serde(default)]
    reader: Option<u64>,
    /// Of somebody new: whether what is kept of before comes first.
    #[serde(default)]
    from_start: bool,
}

fn source_of(asking: &Asking<'_>) -> Result<Arc<dyn ChangeSource>, ConsoleError> {
    match asking.system.model().table.stream {
        Some(_) => Ok(Arc::new(Arc::clone(asking.system.engine.store()))),
        None => Err(ConsoleError::not_there(
            "the table has no stream: say `stream: both_images` under `table` of the model",
        )),
    }
}

/// The next changes, waited for: `{reader, changes}`.
pub(super) async fn changes_page(asking: &Asking<'_>, asked: ChangesAsked) -> Result<Json, ConsoleError> {
    let source = source_of(asking)?;
    let (number, reader) = match asked.reader {
        Some(number) => {
            let found = asking
                .console
                .readers
                .find(number, asking.operator, &asking.system.name);
            (
                number,
                found.ok_or_else(|| ConsoleError::not_there("this reading has ended; begin again"))?,
            )
        }
        None => {
            let position = match asked.from_start {
                true => StreamPosition::Start,
                false => StreamPosition::Latest,
            };
            let mut reader = ChangeReader::new(Arc::clone(asking.system.model()), source, position);
            // From here on: a reader that has not read yet has no place.
            let first = reader.next_page().await?;
            let changes: Vec<Json> = first.told.iter().map(told_json).collect();
            let number = asking
                .console
                .readers
                .begin(asking.operator, &asking.system.name, reader);
            return Ok(json!({"reader": number, "changes": changes}));
        }
    };
    let mut reader = reader.lock().await;
    let started = tokio::time::Instant::now();
    let mut changes = Vec::new();
    for _ in 0..PAGES_MAX.max(usize::try_from(WAIT_MAX.as_millis() / LOOK_PAUSE.as_millis()).unwrap_or(PAGES_MAX)) {
        let page = reader.next_page().await?;
        changes.extend(page.told.iter().map(told_json));
        if !changes.is_empty() || started.elapsed() >= WAIT_MAX {
            break;
        }
        if page.is_empty() {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }
    Ok(json!({"reader": number, "changes": changes}))
}

fn told_json(told: &Told) -> Json {
    match told {
        Told::Change(change) => json!({
            "id": change.id.as_str(),
            "entity": change.entity,
            "kind": change.kind.word(),
            "key": typed_map(&change.key),
            "before": change.before.as_ref().map(typed_map),
            "after": change.after.as_ref().map(typed_map),
            "differing": change.differing_attributes(),
            "at": change.at_text(),
            "by": change.by,
        }),
        Told::Misfit(misfit) => json!({
            "kind": "misfit",
            "text": misfit.to_json(),
        }),
    }
}

/// Who follows, how far they are, and what is parked.
pub(super) async fn followers_view(asking: &Asking<'_>) -> Result<Json, ConsoleError> {
    let source = source_of(asking)?;
    let model = asking.system.model();
    let followers = Followers::new(Arc::clone(model), Arc::clone(&source));
    let mut all = Vec::new();
    for name in followers.names().await? {
        let Some(noted) = followers.noted_of(&name).await? else {
            continue;
        };
        let mut reader = ChangeReader::new(Arc::clone(model), Arc::clone(&source), noted.position.clone());
        let (mut behind, mut is_lost, mut is_all) = (0, false, true);
        while !reader.is_at_head() {
            match reader.next_page().await {
                Ok(page) => behind += page.told.len(),
                Err(error) if error.is_position_lost() => {
                    is_lost = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            if behind >= LAG_CHANGES_MAX {
                is_all = false;
                break;
            }
        }
        all.push(json!({
            "name": name,
            "notedAt": at_text(noted.at_seconds),
            "behind": behind,
            "isAll": is_all,
            "isLost": is_lost,
            "gaps": noted.gaps.len(),
        }));
    }
    let parked = ParkedChanges::new(followers).list_parked().await?;
    let parked = parked.iter().map(|one| {
        json!({
            "write": one.write,
            "change": one.change,
            "entity": one.entity,
            "reason": one.reason,
            "at": at_text(one.at_seconds),
            "nextTry": one.next_try(),
            "isOrdered": one.order.is_some(),
        })
    });
    Ok(json!({"followers": all, "parked": parked.collect::<Vec<_>>()}))
}

/// What is to be done with parked changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderAsked {
    /// `retry` or `discard`.
    order: String,
    /// The change.
    change: String,
}

/// Has a parked change tried again, or left out for good.
pub(super) async fn order_parked(asking: &Asking<'_>, asked: OrderAsked) -> Result<Json, ConsoleError> {
    let order = match asked.order.as_str() {
        "retry" => ParkedOrder::Retry,
        "discard" => ParkedOrder::Discard,
        _ => return Err(ConsoleError::invalid_request("an order is `retry` or `discard`")),
    };
    let source = source_of(asking)?;
    asking.log_action(&asked.order, &asked.change);
    let followers = Followers::new(Arc::clone(asking.system.model()), source);
    let ordered = ParkedChanges::new(followers)
        .order_parked(order, Some(&asked.change))
        .await?;
    Ok(json!({"ordered": ordered}))
}
