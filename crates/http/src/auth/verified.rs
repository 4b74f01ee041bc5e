//! Tokens that were verified a moment ago: who sends many requests with one token is verified once a minute, not for each.
//!
//! A token is known by its whole text, and counts for what it was verified to say. It counts no longer than it says itself, and
//! not after the keys have changed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use singlet_runtime::Caller;

use super::jwt::PublicKey;

/// For how long a token is taken as verified.
const VERIFIED_SECONDS_MAX: u64 = 60;

/// How many tokens are remembered.
const TOKENS_MAX: usize = 10_000;

/// The longest token that is remembered, in bytes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The keys that tokens were verified with; none for those that never change.
pub(super) type Keys = Option<Arc<Vec<PublicKey>>>;

/// Tokens that were verified a moment ago.
#[derive(Default)]
pub(super) struct Verified {
    known: RwLock<VerifiedTokens>,
}

#[derive(Default)]
struct VerifiedTokens {
    keys: Keys,
    /// The caller of each token, and the second at which it has to be verified again.
    callers: HashMap<Box<str>, (Caller, u64)>,
}

impl std::fmt::Debug for Verified {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Tokens are secrets.
        out.write_str("Verified")
    }
}

impl Verified {
    /// The caller of a token that these keys verified a moment ago.
    pub(super) fn caller(&self, token: &str, keys: &Keys) -> Option<Caller> {
        self.caller_at(token, keys, now())
    }

    /// Remembers the caller of a token that these keys verified, until `end` at most.
    pub(super) fn remember(&self, token: &str, keys: Keys, caller: &Caller, end: u64) {
        self.remember_at(token, keys, caller, end, now());
    }

    fn caller_at(&self, token: &str, keys: &Keys, now: u64) -> Option<Caller> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (caller, until) = known.callers.get(token)?;
        // By the very set of keys: when it is exchanged everything is verified anew.
        (now < *until && same(&known.keys, keys)).then(|| caller.clone())
    }

    fn remember_at(&self, token: &str, keys: Keys, caller: &Caller, end: u64, now: u64) {
        // No longer than the token itself is good.
        let until = end.min(now + VERIFIED_SECONDS_MAX);
        if until <= now || token.len() > TOKEN_BYTES_MAX {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if !same(&known.keys, &keys) {
            known.callers.clear();
            known.keys = keys;
        }
        if known.callers.len() >= TOKENS_MAX {
            known.callers.retain(|_, (_, until)| *until > now);
        }
        // A crowd that cannot be remembered is verified for each request.
        if known.callers.len() < TOKENS_MAX {
            known.callers.insert(token.into(), (caller.clone(), until));
        }
    }
}

/// Whether two are the same set, not only equal ones: a new set is looked at anew.
fn same(one: &Keys, other: &Keys) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_for_a_minute_or_to_its_end() {
        let verified = Verified::default();
        verified.remember_at("long", None, &Caller::with_id("ada"), 10_000, 100);
        verified.remember_at("short", None, &Caller::with_id("linus"), 130, 100);
        let caller = |token, now| verified.caller_at(token, &None, now);
        assert_eq!(caller("long", 159), Some(Caller::with_id("ada")));
        assert_eq!(caller("long", 160), None);
        assert_eq!(caller("short", 129), Some(Caller::with_id("linus")));
        assert_eq!(caller("short", 130), None);
        assert_eq!(caller("lon", 100), None);
    }

    #[test]
    fn a_token_whose_time_is_over_is_not_remembered() {
        let verified = Verified::default();
        verified.remember_at("token", None, &Caller::with_id("ada"), 100, 100);
        assert_eq!(verified.caller_at("token", &None, 99), None);
    }

    #[test]
    fn other_keys_verify_anew() {
        let verified = Verified::default();
        let (old, new) = (Some(Arc::new(Vec::new())), Some(Arc::new(Vec::new())));
        verified.remember_at("a", old.clone(), &Caller::with_id("ada"), 10_000, 100);
        assert!(verified.caller_at("a", &old, 101).is_some());
        assert_eq!(verified.caller_at("a", &new, 101), None);
        verified.remember_at("b", new.clone(), &Caller::with_id("ada"), 10_000, 101);
        // A request that began before the change may end after it.
        assert_eq!(verified.caller_at("a", &new, 102), None);
        assert_eq!(verified.caller_at("a", &old, 102), None);
    }

    #[test]
    fn only_so_many_are_remembered() {
        let verified = Verified::default();
        for at in 0..TOKENS_MAX + 5 {
            verified.remember_at(&format!("token {at}"), None, &Caller::anonymous(), 10_000, 100);
        }
        assert_eq!(verified.known.read().unwrap().callers.len(), TOKENS_MAX);
        verified.remember_at("late", None, &Caller::anonymous(), 10_000, 200);
        assert_eq!(verified.known.read().unwrap().callers.len(), 1);
    }
}
