//! Who follows for all: a row that says which process, and until when.
//!
//! The lease saves work; nothing rests on it, nor on a clock. What runs after a change is recorded in its own transaction, and a
//! position is noted on condition of the last one, so that two who both believe to hold it do no harm.

use singlet_item::Value;

use crate::followers::{FollowError, Followers, number_of, number_value, turn_of};

/// What the row is called in keys.
const KIND: &str = "lease";
const HOLDER: &str = "$holder";
const UNTIL: &str = "$until";

/// How long a lease is held without a word. Whoever ends gives it back; after a crash others wait for so long.
pub const LEASE_MILLIS: i64 = 30_000;

/// How long before its end it is renewed.
const RENEW_MILLIS: i64 = 20_000;

/// A process's part in a lease.
pub struct Lease {
    followers: Followers,
    name: &'static str,
    /// Until when it is this process's, as far as it knows.
    until: Option<i64>,
}

impl Lease {
    /// Of a name, not held yet.
    pub(crate) fn new(followers: Followers, name: &'static str) -> Self {
        Lease {
            followers,
            name,
            until: None,
        }
    }

    /// Takes or renews it; whether it is this process's.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn hold_lease(&mut self, now: i64) -> Result<bool, FollowError> {
        if self
            .until
            // A clock that was set back would otherwise hold it for as long as it was set back.
            .is_some_and(|until| until - now > RENEW_MILLIS && until - now <= LEASE_MILLIS)
        {
            return Ok(true);
        }
        self.write(now, now.saturating_add(LEASE_MILLIS)).await
    }

    /// Gives it back, where it is this process's.
    ///
    /// # Errors
    ///
    /// Where the store fails; then it ends by itself.
    pub async fn give_back(&mut self, now: i64) -> Result<(), FollowError> {
        if self.until.is_some() {
            self.write(now, now).await?;
        }
        self.until = None;
        Ok(())
    }

    async fn write(&mut self, now: i64, until: i64) -> Result<bool, FollowError> {
        let mut row = self.followers.row(KIND, &[self.name])?;
        let there = self.followers.get(&row).await?;
        let holder = there.as_ref().and_then(|item| item.get(HOLDER)).and_then(Value::as_str);
        let is_other = holder.is_some_and(|holder| holder != self.followers.run());
        let held_until = there.as_ref().and_then(|item| number_of(item.get(UNTIL)));
        // A clock that is far ahead must not keep everybody out for long.
        let is_held = held_until.is_some_and(|until| until > now && until - now <= 2 * LEASE_MILLIS);
        if is_other && is_held {
            self.until = None;
            return Ok(false);
        }
        // On condition of what was read, so that of two who find it free one takes it.
        let turn = there.as_ref().map(turn_of).transpose()?;
        row.insert(HOLDER.to_owned(), Value::S(self.followers.run().to_owned()));
        row.insert(UNTIL.to_owned(), number_value(until));
        let is_ours = self.followers.put_item(row, turn).await?.is_some();
        // Only once it is written: what this process believes is what the row says.
        self.until = is_ours.then_some(until);
        Ok(is_ours)
    }
}
