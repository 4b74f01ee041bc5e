//! Transactions that were done, by their tokens, so that none is done twice: in the same commit as the transaction itself.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};

use singlet_keyspace::{Direction, Draft};
use singlet_store::{ErrorKind, Result, StoreError, TransactWriteRequest};

use crate::codec::damaged_data;
use crate::layout::{self, Area, Span};
use crate::view::{View, from_space};

/// How long one is known: as long as DynamoDB promises.
const KNOWN_MILLIS: u64 = 10 * 60 * 1000;

/// How many old ones each new one takes with it, so that they never pile up.
const FORGOTTEN_AT_ONCE_MAX: usize = 4;

/// When the oldest token that may still be there was used, in milliseconds since 1970.
///
/// Tokens that were forgotten lie in memory as deleted until that is in the base: each transaction would walk over all of them to
/// find the next. It is what a walk met first, not what it deleted last, so that it holds though the commit be refused.
#[derive(Debug, Default)]
pub(crate) struct OldestToken(AtomicU64);

impl OldestToken {
    fn millis(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn met(&self, at_millis: u64) {
        self.0.store(at_millis, Ordering::Relaxed);
    }

    /// The clock may have been set back.
    fn used_at(&self, at_millis: u64) {
        self.0.fetch_min(at_millis, Ordering::Relaxed);
    }
}

/// A transaction that carries a token.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    token: String,
    /// What tells the request apart. Another build of the program may count otherwise; the token is then refused, not done twice.
    request: u64,
}

impl Once {
    pub(crate) fn of(request: &TransactWriteRequest) -> Option<Self> {
        let token = request.token.clone()?;
        let mut hasher = DefaultHasher::new();
        request.actions.hash(&mut hasher);
        Some(Self {
            token,
            request: hasher.finish(),
        })
    }

    /// Whether it was done before.
    pub(crate) fn is_done(&self, view: &impl View, now_millis: u64) -> Result<bool> {
        let Some(bytes) = view.value(&self.key())? else {
            return Ok(false);
        };
        let (request, at) = read_token(&bytes).ok_or_else(|| damaged_data("a token"))?;
        // Also where its row is still there: when old ones are removed is chance.
        if now_millis.saturating_sub(at) >= KNOWN_MILLIS {
            return Ok(false);
        }
        // Not done and not answered: two requests with one token are a mistake of the caller.
        if request != self.request {
            let message = "the token belongs to another transaction of the last ten minutes";
            return Err(StoreError::new(ErrorKind::TokenReused, message));
        }
        Ok(true)
    }

    /// Knows it as done, and forgets some that are old.
    pub(crate) fn mark_done(&self, draft: &mut Draft<'_>, oldest: &OldestToken, now_millis: u64) -> Result<()> {
        // Before the walk: a clock that was set back has tokens before the place where it would begin.
        oldest.used_at(now_millis);
        forget(draft, oldest, now_millis)?;
        let mut value = self.request.to_be_bytes().to_vec();
        value.extend_from_slice(&now_millis.to_be_bytes());
        // In the draft of the transaction: a token that is known means that it was done.
        draft.put_row(self.key(), value).map_err(from_space)?;
        draft
            .put_row(time_key(now_millis, self.token.as_bytes()), [].as_slice())
            .map_err(from_space)
    }

    fn key(&self) -> Vec<u8> {
        layout::named_key(Area::Tokens, &self.token)
    }
}

pub(crate) fn read_token(bytes: &[u8]) -> Option<(u64, u64)> {
    let (request, at) = bytes.split_at_checked(8)?;
    Some((
        u64::from_be_bytes(request.try_into().ok()?),
        u64::from_be_bytes(at.try_into().ok()?),
    ))
}

pub(crate) fn time_key(at_millis: u64, token: &[u8]) -> Vec<u8> {
    let mut key = vec![Area::TokenTimes as u8];
    key.extend_from_slice(&at_millis.to_be_bytes());
    key.extend_from_slice(token);
    key
}

fn forget(draft: &mut Draft<'_>, oldest: &OldestToken, now_millis: u64) -> Result<()> {
    let Some(old) = now_millis.checked_sub(KNOWN_MILLIS) else {
        return Ok(());
    };
    let span = Span {
        from: time_key(oldest.millis(), &[]),
        to: Some(time_key(old.saturating_add(1), &[])),
    };
    let rows = draft
        .rows(span.bounds(), Direction::Forward)
        .take(FORGOTTEN_AT_ONCE_MAX);
    let found: Vec<Vec<u8>> = rows
        .map(|row| row.map(|(key, _)| key.to_vec()))
        .collect::<std::result::Result<_, _>>()
        .map_err(from_space)?;
    for (place, key) in found.iter().enumerate() {
        let (at, token) = time_and_token(key).ok_or_else(|| damaged_data("a token"))?;
        if place == 0 {
            oldest.met(u64::from_be_bytes(*at));
        }
        let mut own = vec![Area::Tokens as u8];
        own.extend_from_slice(token);
        // Used again since, it is known by its later time.
        let is_this = draft
            .value(&own)?
            .is_some_and(|value| value.get(8..) == Some(at.as_slice()));
        if is_this {
            draft.delete_row(own).map_err(from_space)?;
        }
        draft.delete_row(key.as_slice()).map_err(from_space)?;
    }
    Ok(())
}

fn time_and_token(key: &[u8]) -> Option<(&[u8; 8], &[u8])> {
    key.get(1..)?.split_first_chunk::<8>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::view::NotDone;
    use singlet_keyspace::Keyspace;
    use singlet_store::{PutRequest, TransactWrite};
    use std::sync::Arc;

    fn once(token: &str, table: &str) -> Once {
        let put = PutRequest {
            table: table.to_owned(),
            ..PutRequest::default()
        };
        Once::of(&TransactWriteRequest {
            actions: vec![TransactWrite::Put(put)],
            token: Some(token.to_owned()),
        })
        .unwrap()
    }

    async fn done(space: &Keyspace, oldest: &Arc<OldestToken>, once: Once, now: u64) {
        let oldest = Arc::clone(oldest);
        let work = move |draft: &mut Draft<'_>| Ok::<_, NotDone>(once.mark_done(draft, &oldest, now)?);
        space.commit(work).await.unwrap();
    }

    #[tokio::test]
    async fn one_that_was_done_is_known_for_ten_minutes_and_then_forgotten() {
        let (space, start) = (Keyspace::in_memory(), 1_000_000);
        let oldest = Arc::default();
        let known = |name, table, now| once(name, table).is_done(&space.snapshot(), now);
        assert!(!known("a", "things", start).unwrap());
        done(&space, &oldest, once("a", "things"), start).await;
        assert!(known("a", "things", start + KNOWN_MILLIS - 1).unwrap());
        assert!(
            known("a", "others", start + KNOWN_MILLIS - 1)
                .unwrap_err()
                .is_token_reused()
        );
        assert!(!known("a", "others", start + KNOWN_MILLIS).unwrap());
        done(&space, &oldest, once("a", "others"), start + KNOWN_MILLIS).await;
        assert!(known("a", "others", start + KNOWN_MILLIS + 1).unwrap());
        for number in 0..20 {
            done(
                &space,
                &oldest,
                once(&format!("b{number}"), "things"),
                start + 2 * KNOWN_MILLIS + number,
            )
            .await;
        }
        let all = space
            .snapshot()
            .range(layout::all_of(Area::Tokens).bounds(), Direction::Forward)
            .count();
        assert_eq!(all, 20);
        let times = space
            .snapshot()
            .range(layout::all_of(Area::TokenTimes).bounds(), Direction::Forward)
            .count();
        assert_eq!(times, 20);
    }
    #[tokio::test]
    async fn a_clock_that_is_set_back_and_a_refused_transaction_leave_no_token_behind() {
        let (space, start) = (Keyspace::in_memory(), 10 * KNOWN_MILLIS);
        let oldest = Arc::default();
        done(&space, &oldest, once("first", "things"), start).await;
        done(&space, &oldest, once("later", "things"), start + 2 * KNOWN_MILLIS).await;
        done(&space, &oldest, once("back", "things"), start - 2 * KNOWN_MILLIS).await;
        let (within, refused) = (Arc::clone(&oldest), once("refused", "things"));
        let work = move |draft: &mut Draft<'_>| {
            refused.mark_done(draft, &within, start + 4 * KNOWN_MILLIS)?;
            Err::<(), _>(NotDone(StoreError::unavailable("on purpose")))
        };
        assert!(space.commit(work).await.is_err());
        done(&space, &oldest, once("last", "things"), start + 4 * KNOWN_MILLIS).await;
        let left: Vec<Vec<u8>> = space
            .snapshot()
            .range(layout::all_of(Area::Tokens).bounds(), Direction::Forward)
            .map(|row| row.unwrap().0.to_vec())
            .collect();
        assert_eq!(left, [once("last", "things").key()]);
    }
}
