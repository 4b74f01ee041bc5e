//! Transactions that were done, by their tokens, so that none is done twice.
//!
//! The engine remembers them too, but goes through all that it knows at each and writes out every request to compare it. Here the
//! oldest come first, and of a request a number is kept.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use singlet_store::{ErrorKind, Result, StoreError, TransactWriteRequest};

/// How long one is known: as long as DynamoDB promises.
const KNOWN_FOR: Duration = Duration::from_secs(10 * 60);

/// The tokens of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    requests: HashMap<Arc<str>, u64>,
    /// The oldest first.
    since: VecDeque<(Instant, Arc<str>)>,
}

/// A transaction that carries a token.
#[derive(Debug)]
pub(crate) struct Once {
    token: Arc<str>,
    request: u64,
}

impl Once {
    pub(crate) fn of(request: &TransactWriteRequest) -> Option<Self> {
        let token = request.token.as_deref()?;
        let mut hasher = DefaultHasher::new();
        request.actions.hash(&mut hasher);
        Some(Self {
            token: token.into(),
            request: hasher.finish(),
        })
    }
}

impl Tokens {
    /// Runs a transaction, unless it was done before: then nothing comes back. One that failed was not done.
    pub(crate) fn run<T>(
        &self,
        once: Option<Once>,
        now: Instant,
        call: impl FnOnce() -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(once) = once else {
            return call().map(Some);
        };
        // Held while it runs, so that the same one beside it waits and finds it done; the engine runs one at a time anyway.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.forget(now);
        match known.requests.get(&once.token) {
            Some(request) if *request == once.request => return Ok(None),
            Some(_) => {
                let message = "the token belongs to another transaction of the last ten minutes";
                return Err(StoreError::new(ErrorKind::TokenReused, message));
            }
            None => {}
        }
        let answer = call()?;
        known.requests.insert(Arc::clone(&once.token), once.request);
        known.since.push_back((now, once.token));
        Ok(Some(answer))
    }
}

impl Known {
    fn forget(&mut self, now: Instant) {
        while let Some((since, token)) = self.since.front()
            && now.saturating_duration_since(*since) >= KNOWN_FOR
        {
            self.requests.remove(token);
            self.since.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use singlet_store::{PutRequest, TransactWrite};

    fn once(token: &str, table: &str) -> Option<Once> {
        let put = PutRequest {
            table: table.to_owned(),
            ..PutRequest::default()
        };
        Once::of(&TransactWriteRequest {
            actions: vec![TransactWrite::Put(put)],
            token: Some(token.to_owned()),
        })
    }

    #[test]
    fn one_that_was_done_is_known_for_ten_minutes() {
        let (tokens, start) = (Tokens::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        let failed = tokens.run(once("a", "things"), start, || {
            Err::<(), _>(StoreError::unavailable("no"))
        });
        assert!(failed.unwrap_err().is_unavailable());
        assert_eq!(tokens.run(once("a", "things"), start, || Ok(1)).unwrap(), Some(1));
        assert_eq!(tokens.run(once("a", "things"), later(599), || Ok(2)).unwrap(), None);
        assert_eq!(tokens.run(once("b", "things"), later(599), || Ok(3)).unwrap(), Some(3));
        let other = tokens.run(once("a", "others"), later(599), || Ok(4));
        assert!(other.unwrap_err().is_token_reused());
        assert_eq!(tokens.run(once("a", "others"), later(600), || Ok(5)).unwrap(), Some(5));
        assert_eq!(tokens.run(once("b", "things"), later(600), || Ok(6)).unwrap(), None);
        assert_eq!(tokens.0.lock().unwrap().since.len(), 2);
        assert_eq!(tokens.run(None, later(600), || Ok(7)).unwrap(), Some(7));
    }
}
