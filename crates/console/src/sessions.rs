//! Who is in: links that work once, and the sessions that they begin. Nothing of it is kept anywhere but here, and here only as hashes.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// How long a sign-in link works.
pub const LINK_TIME_MAX: Duration = Duration::from_secs(10 * 60);

/// How long a session lasts in which nothing is asked.
pub const IDLE_TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// How many links may wait to be used; the oldest goes first.
const LINKS_MAX: usize = 8;

/// How many sessions there may be at once; the one that was idle longest goes first.
const SESSIONS_MAX: usize = 32;

/// How long it takes until another link may be asked for in the browser.
const LINK_PAUSE: Duration = Duration::from_secs(5);

type Hash = [u8; 32];

/// The links that wait to be used, and the sessions that go on.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    links: Vec<(Hash, Instant)>,
    sessions: Vec<Session>,
    begun: u64,
    last_asked: Option<Instant>,
}

#[derive(Debug)]
struct Session {
    hash: Hash,
    number: u64,
    seen: Instant,
}

impl Sessions {
    fn known(&self, now: Instant) -> std::sync::MutexGuard<'_, Known> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .links
            .retain(|(_, made)| now.saturating_duration_since(*made) < LINK_TIME_MAX);
        known
            .sessions
            .retain(|session| now.saturating_duration_since(session.seen) < IDLE_TIME_MAX);
        known
    }

    /// The token of a new link.
    pub fn new_link(&self, now: Instant) -> Option<String> {
        let token = random_token()?;
        let mut known = self.known(now);
        if known.links.len() >= LINKS_MAX {
            known.links.remove(0);
        }
        known.links.push((hash_of(&token), now));
        Some(token)
    }

    /// Whether a browser may have another link said in the terminal: not again and again.
    pub(crate) fn may_ask(&self, now: Instant) -> bool {
        let mut known = self.known(now);
        let may = known
            .last_asked
            .is_none_or(|last| now.saturating_duration_since(last) >= LINK_PAUSE);
        if may {
            known.last_asked = Some(now);
        }
        may
    }

    /// The token of the session that a link begins; none where it is no link, was used, or is too old.
    pub fn begin(&self, link: &str, now: Instant) -> Option<(String, u64)> {
        let token = random_token()?;
        let hash = hash_of(link);
        let mut known = self.known(now);
        let at = known.links.iter().position(|(known, _)| *known == hash)?;
        known.links.remove(at);
        if known.sessions.len() >= SESSIONS_MAX {
            known.sessions.sort_by_key(|session| session.seen);
            known.sessions.remove(0);
        }
        known.begun += 1;
        let number = known.begun;
        known.sessions.push(Session {
            hash: hash_of(&token),
            number,
            seen: now,
        });
        Some((token, number))
    }

    /// The number of a session, by which the log names it; none where it is none. It goes on from now.
    pub fn session_number(&self, token: &str, now: Instant) -> Option<u64> {
        let hash = hash_of(token);
        let mut known = self.known(now);
        let session = known.sessions.iter_mut().find(|session| session.hash == hash)?;
        session.seen = now;
        Some(session.number)
    }

    /// Ends a session.
    pub fn end(&self, token: &str, now: Instant) {
        let hash = hash_of(token);
        self.known(now).sessions.retain(|session| session.hash != hash);
    }
}

/// Only hashes are compared, so that the time it takes says nothing of what was right.
fn hash_of(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

fn random_token() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_for_ten_minutes() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let link = sessions.new_link(now).unwrap();
        let almost = now + LINK_TIME_MAX - Duration::from_millis(1);
        assert!(sessions.begin("", now).is_none());
        assert!(sessions.begin(&link[1..], now).is_none());
        assert!(sessions.begin(&link, almost).is_some());
        assert!(sessions.begin(&link, almost).is_none(), "it was used");
        let late = sessions.new_link(now).unwrap();
        assert!(sessions.begin(&late, now + LINK_TIME_MAX).is_none(), "it is too old");
    }

    #[test]
    fn a_session_ends_after_an_idle_hour_and_when_told() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let begin = |at| sessions.begin(&sessions.new_link(at).unwrap(), at).unwrap().0;
        let token = begin(now);
        let almost = now + IDLE_TIME_MAX - Duration::from_millis(1);
        assert_eq!(sessions.session_number(&token, almost), Some(1));
        assert_eq!(
            sessions.session_number(&token, almost + IDLE_TIME_MAX - Duration::from_millis(1)),
            Some(1)
        );
        assert_eq!(sessions.session_number(&token, almost + IDLE_TIME_MAX * 2), None);
        let token = begin(now);
        sessions.end(&token, now);
        assert_eq!(sessions.session_number(&token, now), None);
        assert_eq!(sessions.session_number("", now), None);
    }

    #[test]
    fn links_and_sessions_have_bounds() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let links: Vec<String> = (0..=LINKS_MAX).map(|_| sessions.new_link(now).unwrap()).collect();
        assert!(sessions.begin(&links[0], now).is_none(), "the oldest is gone");
        assert!(sessions.begin(&links[1], now).is_some());
        let tokens: Vec<String> = (0..=SESSIONS_MAX)
            .map(|_| sessions.begin(&sessions.new_link(now).unwrap(), now).unwrap().0)
            .collect();
        let alive = tokens
            .iter()
            .filter(|token| sessions.session_number(token, now).is_some())
            .count();
        assert_eq!(alive, SESSIONS_MAX);
    }

    #[test]
    fn links_are_not_asked_for_again_and_again() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        assert!(sessions.may_ask(now));
        assert!(!sessions.may_ask(now + LINK_PAUSE - Duration::from_millis(1)));
        assert!(sessions.may_ask(now + LINK_PAUSE));
    }
}
