//! Transactions that were done, by their tokens, so that none is done twice: in the same commit as the transaction itself.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use singlet_keyspace::{Direction, Draft};
use singlet_store::{ErrorKind, Result, StoreError, TransactWriteRequest};

use crate::codec::damaged;
use crate::layout::{self, Area, Span};
use crate::view::{View, from_space};

/// How long one is known: as long as DynamoDB promises.
const KNOWN_MILLIS: u64 = 10 * 60 * 1000;

/// How many old ones each new one takes with it, so that they never pile up.
const FORGOTTEN_AT_ONCE_MAX: usize = 4;

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
        let (request, at) = read(&bytes).ok_or_else(|| damaged("a token"))?;
        if now_millis.saturating_sub(at) >= KNOWN_MILLIS {
            return Ok(false);
        }
        if request != self.request {
            let message = "the token belongs to another transaction of the last ten minutes";
            return Err(StoreError::new(ErrorKind::TokenReused, message));
        }
        Ok(true)
    }

    /// Knows it as done, and forgets some that are old.
    pub(crate) fn done(&self, draft: &mut Draft<'_>, now_millis: u64) -> Result<()> {
        forget(draft, now_millis)?;
        let mut value = self.request.to_be_bytes().to_vec();
        value.extend_from_slice(&now_millis.to_be_bytes());
        draft.put(self.key(), value).map_err(from_space)?;
        draft
            .put(time_key(now_millis, self.token.as_bytes()), [].as_slice())
            .map_err(from_space)
    }

    fn key(&self) -> Vec<u8> {
        layout::named(Area::Tokens, &self.token)
    }
}

pub(crate) fn read(bytes: &[u8]) -> Option<(u64, u64)> {
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

fn forget(draft: &mut Draft<'_>, now_millis: u64) -> Result<()> {
    let Some(old) = now_millis.checked_sub(KNOWN_MILLIS) else {
        return Ok(());
    };
    let span = Span {
        from: vec![Area::TokenTimes as u8],
        to: Some(time_key(old.saturating_add(1), &[])),
    };
    let rows = draft
        .rows(span.bounds(), Direction::Forward)
        .take(FORGOTTEN_AT_ONCE_MAX);
    let found: Vec<Vec<u8>> = rows
        .map(|row| row.map(|(key, _)| key.to_vec()))
        .collect::<std::result::Result<_, _>>()
        .map_err(from_space)?;
    for key in found {
        let (at, token) = key
            .get(1..)
            .and_then(|rest| rest.split_at_checked(8))
            .ok_or_else(|| damaged("a token"))?;
        let mut own = vec![Area::Tokens as u8];
        own.extend_from_slice(token);
        // Used again since, it is known by its later time.
        let is_this = draft.value(&own)?.is_some_and(|value| value.get(8..) == Some(at));
        if is_this {
            draft.delete(own).map_err(from_space)?;
        }
        draft.delete(key.as_slice()).map_err(from_space)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::view::NotDone;
    use singlet_keyspace::Keyspace;
    use singlet_store::{PutRequest, TransactWrite};

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

    async fn done(space: &Keyspace, once: Once, now: u64) {
        let work = move |draft: &mut Draft<'_>| Ok::<_, NotDone>(once.done(draft, now)?);
        space.commit(work).await.unwrap();
    }

    #[tokio::test]
    async fn one_that_was_done_is_known_for_ten_minutes_and_then_forgotten() {
        let (space, start) = (Keyspace::in_memory(), 1_000_000);
        let known = |name, table, now| once(name, table).is_done(&space.snapshot(), now);
        assert!(!known("a", "things", start).unwrap());
        done(&space, once("a", "things"), start).await;
        assert!(known("a", "things", start + KNOWN_MILLIS - 1).unwrap());
        assert!(
            known("a", "others", start + KNOWN_MILLIS - 1)
                .unwrap_err()
                .is_token_reused()
        );
        assert!(!known("a", "others", start + KNOWN_MILLIS).unwrap());
        done(&space, once("a", "others"), start + KNOWN_MILLIS).await;
        assert!(known("a", "others", start + KNOWN_MILLIS + 1).unwrap());
        for number in 0..20 {
            done(
                &space,
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
}
