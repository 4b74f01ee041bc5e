//! Where a later page goes on, sealed: a cursor is worth something only to the read, the arguments and the caller it was made
//! for, as long as the read is planned as it was; and it tells nobody what is in a key.
//!
//! **Invariant: a cursor opens for its [`CursorScope`] alone.** The scope is no part of the text but what the seal authenticates, so
//! nothing has to be compared after opening, and nothing can be forgotten there. It has the arguments and the caller's claims, of
//! which keys and `allow` are made, and the plan, for places are told by the number of their range. Which ranges follow from rows
//! that are read first is not in it: that is [`Positions::ranges`], which is compared once they are known.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, AeadInPlace, OsRng, Payload};
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use singlet_item::{Item, Value};

use crate::error::RuntimeError;
use crate::random::random_bytes;
use crate::scope::{Attributes, Caller};
use crate::searched::SearchPlace;

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// The longest cursor that is looked at, in bytes: twice what the places of ranges may take ([`Bounds::cursor_bytes`]), the row
/// that was given last, and what base64 adds.
///
/// [`Bounds::cursor_bytes`]: singlet_plan::Bounds
const CURSOR_BYTES_MAX: usize = 64 * 1024;

/// What a place takes in a cursor beside its names and values.
const PLACE_BYTES: usize = 16;

/// What a cursor holds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// The instant of the first page: all pages are of it.
    pub now: i64,
    /// Where the ranges go on.
    pub positions: Positions,
    /// How many rows were given so far, where the read has a limit over all pages.
    pub given: u64,
}

/// Where the ranges of a selection go on; none where there are no more rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Positions {
    /// Which ranges these are positions in. Ranges may follow from rows that a read looks up first: when such a row changes,
    /// the positions mean nothing any more.
    pub ranges: u64,
    /// One for each range.
    pub each: Vec<RangePosition>,
    /// The last row that was given, where a range is [`RangePosition::Behind`].
    pub passed: Option<Passed>,
    /// Where a search goes on: it has no ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<SearchPlace>,
}

/// The last row that was given, as the merge of ranges has it: by its order, then by the number of its range.
///
/// **Invariant:** all rows before it in that order were given or left out, and none after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// The range that it came from.
    pub range: usize,
    /// What it is ordered by.
    pub order: Vec<Option<Value>>,
}

impl Positions {
    /// Whether the places of all ranges fit into so many bytes. That of one range alone always does: a key is no longer than
    /// DynamoDB lets it be.
    pub fn fit_bytes(&self, bytes_max: usize) -> bool {
        let begun = self
            .each
            .iter()
            .filter(|place| matches!(place, RangePosition::After(_)));
        // One place has to fit, or no page could ever end.
        begun.count() <= 1 || self.each.iter().map(RangePosition::bytes).sum::<usize>() <= bytes_max
    }

    /// Leaves out places until the others fit; never that of the range `last`, from which the last row was given.
    pub fn shorten_to(&mut self, bytes_max: usize, last: usize, order: impl FnOnce() -> Vec<Option<Value>>) {
        if self.fit_bytes(bytes_max) {
            return;
        }
        let mut left = bytes_max;
        // The last row came from this one. Without its place the rows of equal order before it could not be told from those after
        // it.
        let others = self.each.iter_mut().enumerate().filter(|(at, _)| *at != last);
        for (_, place) in others {
            match left.checked_sub(place.bytes()) {
                Some(rest) => left = rest,
                // Not `Start`: what earlier pages gave must be passed over when this range is begun anew.
                None => *place = RangePosition::Behind,
            }
        }
        // Only where a place was left out: otherwise the places say all, and the values of a row stay out of the cursor.
        self.passed = Some(Passed {
            range: last,
            order: order(),
        });
    }
}

/// Where one range goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RangePosition {
    /// From its beginning.
    Start,
    /// After a key.
    After(Item),
    /// It has no more rows.
    Done,
    /// Left out for its length: it is read from its beginning, and rows up to [`Positions::passed`] are passed over.
    Behind,
}

impl RangePosition {
    /// About how long it is in a cursor.
    fn bytes(&self) -> usize {
        match self {
            RangePosition::After(key) => key
                .iter()
                .map(|(name, value)| name.len() + value.size_bytes() + PLACE_BYTES)
                .sum(),
            // They take a few bytes that are bounded by the number of ranges.
            RangePosition::Start | RangePosition::Done | RangePosition::Behind => 0,
        }
    }
}

/// A key that nobody else has.
pub(crate) fn random_key() -> [u8; 32] {
    XChaCha20Poly1305::generate_key(&mut OsRng).into()
}

/// Seals and opens cursors.
#[derive(Clone)]
pub(crate) struct Sealer {
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Sealer")
    }
}

impl Sealer {
    /// A sealer with a key of its own deployment. Servers that share a key take one another's cursors.
    pub fn new(key: [u8; 32]) -> Self {
        Sealer {
            cipher: XChaCha20Poly1305::new(&Key::from(key)),
        }
    }

    /// Seals a cursor for a read, its arguments and its caller.
    ///
    /// # Errors
    ///
    /// Where it cannot be written down.
    pub(crate) fn seal_cursor(&self, cursor: &Cursor, belongs: &CursorScope<'_>) -> Result<String, RuntimeError> {
        let text = serde_json::to_vec(cursor).map_err(|_| RuntimeError::Cursor)?;
        self.seal_bytes(&text, &belongs.bytes()?)
    }

    /// Seals bytes for what other bytes name.
    pub(crate) fn seal_bytes(&self, bytes: &[u8], belongs: &[u8]) -> Result<String, RuntimeError> {
        // Random, and so long that it is never drawn twice: a nonce that is used twice with one key gives away both texts.
        let nonce = XNonce::from(random_bytes::<NONCE_BYTES>().ok_or(RuntimeError::Cursor)?);
        // Sealed where it is sent from: the nonce, what is sealed, and the tag that seals it.
        let mut sealed = Vec::with_capacity(NONCE_BYTES + bytes.len() + TAG_BYTES);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(bytes);
        let secret = sealed.get_mut(NONCE_BYTES..).unwrap_or_default();
        // Bound but not written: a scope in the text would have to be compared by whoever opens it.
        let tag = self.cipher.encrypt_in_place_detached(&nonce, belongs, secret);
        sealed.extend_from_slice(&tag.map_err(|_| RuntimeError::Cursor)?);
        Ok(URL_SAFE_NO_PAD.encode(&sealed))
    }

    /// Opens a cursor.
    ///
    /// # Errors
    ///
    /// Where it is forged, cut, or was made for another read, other arguments, another caller or another version of the model.
    pub fn open(&self, text: &str, belongs: &CursorScope<'_>) -> Result<Cursor, RuntimeError> {
        let text = self.open_bytes(text, &belongs.bytes()?)?;
        serde_json::from_slice(&text).map_err(|_| RuntimeError::Cursor)
    }

    /// Opens what was sealed for what other bytes name.
    pub(crate) fn open_bytes(&self, text: &str, belongs: &[u8]) -> Result<Vec<u8>, RuntimeError> {
        // Before it is decoded: anybody may send any text.
        if text.len() > CURSOR_BYTES_MAX {
            return Err(RuntimeError::Cursor);
        }
        // The same answer whatever is wrong with it: which part failed would tell something to whoever forges one.
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| RuntimeError::Cursor)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(RuntimeError::Cursor)?;
        let payload = Payload {
            msg: sealed,
            aad: belongs,
        };
        self.cipher
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| RuntimeError::Cursor)
    }
}

/// What a cursor belongs to: whoever sends it back with anything else of this has sent no cursor.
#[derive(Clone, Copy, Debug)]
pub struct CursorScope<'a> {
    /// The read.
    pub read: &'a str,
    /// How it is planned: a position in one plan means nothing in another.
    pub plan: u64,
    /// Its arguments, as they were sent.
    pub args: &'a Attributes,
    /// Who called.
    pub caller: &'a Caller,
}

impl CursorScope<'_> {
    /// What the seal is bound to: equal bytes for equal requests, for maps are ordered. A request that has no such bytes gets no
    /// cursor: one that is bound to nothing would be good for every request.
    fn bytes(&self) -> Result<Vec<u8>, RuntimeError> {
        // All claims, not only those that the read names: `allow` and keys may look at any of them.
        let claims: Vec<(&String, &Value)> = self.caller.claims.iter().collect();
        let args: Vec<(&String, &Value)> = self.args.iter().collect();
        serde_json::to_vec(&(self.read, self.plan, args, claims, self.caller.authenticated))
            .map_err(|error| RuntimeError::Internal(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        let key = Item::from([("PK".to_owned(), Value::S("USER#ada".to_owned()))]);
        Cursor {
            now: 5,
            positions: Positions {
                ranges: 9,
                each: vec![
                    RangePosition::Start,
                    RangePosition::After(key),
                    RangePosition::Done,
                    RangePosition::Behind,
                ],
                passed: Some(Passed {
                    range: 1,
                    order: vec![None, Some(Value::Bool(true))],
                }),
                searched: None,
            },
            given: 20,
        }
    }

    #[test]
    fn a_cursor_opens_only_for_what_it_was_made_for() {
        let sealer = Sealer::new([7; 32]);
        let args = Attributes::from([("status".to_owned(), Value::S("open".to_owned()))]);
        let (ada, bob) = (Caller::with_id("ada"), Caller::with_id("bob"));
        let belongs = CursorScope {
            read: "tasks",
            plan: 1,
            args: &args,
            caller: &ada,
        };
        let sealed = sealer.seal_cursor(&cursor(), &belongs).unwrap();
        assert_eq!(sealer.open(&sealed, &belongs).unwrap(), cursor());
        let none = Attributes::new();
        for other in [
            CursorScope {
                read: "other",
                ..belongs
            },
            CursorScope { plan: 2, ..belongs },
            CursorScope { args: &none, ..belongs },
            CursorScope {
                caller: &bob,
                ..belongs
            },
        ] {
            assert!(matches!(sealer.open(&sealed, &other), Err(RuntimeError::Cursor)));
        }
        assert!(sealer.open(&sealed[..sealed.len() - 2], &belongs).is_err());
        assert!(sealer.open("", &belongs).is_err());
        assert!(sealer.open("not a cursor", &belongs).is_err());
        assert!(Sealer::new([8; 32]).open(&sealed, &belongs).is_err());
    }
}
