//! How unique values stand in the keys of guards.
//!
//! Keys are seen where rows are not: in the logs of who runs the store, in its figures of busy keys, in streams that carry keys
//! alone. What is unique is often personal, such as an e-mail address. So a table that begins empty has a key of its own, and its
//! guards hold the HMAC-SHA-256 of values in place of the values. Tables of before have values as they are, and keep them so: in
//! one table a value has one form, or two rows could share it.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::cursor::random_key;
use crate::digest::hex_text;
use crate::error::RuntimeError;

/// How unique values stand in the keys of guards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum GuardForm {
    /// As they are.
    #[default]
    Plain,
    /// As what stands for them under the table's key.
    Hashed(GuardKey),
}

/// The key of a table's guards. It is in the table, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct GuardKey([u8; GuardKey::BYTES]);

impl fmt::Debug for GuardKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("GuardKey")
    }
}

impl GuardForm {
    /// How a unique value of an entity stands in its guard's key.
    pub fn value_text(&self, entity: &str, guard: &str, value: String) -> Result<String, RuntimeError> {
        match self {
            GuardForm::Plain => Ok(value),
            GuardForm::Hashed(key) => key.hashed(&[entity, guard, &value]),
        }
    }
}

impl GuardKey {
    pub const BYTES: usize = 32;

    /// A key that no other table has.
    pub fn random_key() -> Self {
        GuardKey(random_key())
    }

    /// The key of some bytes; none where they are not as many as a key has.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(GuardKey)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What stands for the key itself: who knows it knows nothing of the key, but tells another key from it.
    pub fn key_fingerprint(&self) -> Result<String, RuntimeError> {
        self.hashed(&["fingerprint"])
    }

    /// What stands for some texts, in hexadecimal; texts do not run into one another.
    fn hashed(&self, texts: &[&str]) -> Result<String, RuntimeError> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        let mut mac = mac.map_err(|_| RuntimeError::Internal("a guard's key has no length".to_owned()))?;
        for text in texts {
            // The length of each before it, so that no two lists of texts are one.
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text.as_bytes());
        }
        Ok(hex_text(&mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn what_stands_for_a_value_hangs_on_the_key_and_on_every_part() {
        let form = |byte| GuardForm::Hashed(GuardKey([byte; GuardKey::BYTES]));
        let text = |form: &GuardForm, entity: &str, guard: &str, value: &str| {
            form.value_text(entity, guard, value.to_owned()).unwrap()
        };
        let one = text(&form(1), "User", "email", "ada@x.org");
        assert_eq!(one, text(&form(1), "User", "email", "ada@x.org"));
        assert_eq!(one.len(), 64);
        let others = [
            text(&form(2), "User", "email", "ada@x.org"),
            text(&form(1), "Users", "email", "ada@x.org"),
            text(&form(1), "User", "e", "mailada@x.org"),
            text(&form(1), "User", "email", "ada@x.or"),
        ];
        assert!(others.iter().all(|other| *other != one), "{others:?}");
        assert_eq!(text(&GuardForm::Plain, "User", "email", "ada@x.org"), "ada@x.org");
    }

    /// The first case of RFC 4231, so that another program can make the same of a key: the text's length stands before it.
    #[test]
    fn it_is_the_hmac_that_others_know() {
        let mut mac = Hmac::<Sha256>::new_from_slice(&[0x0b; 20]).unwrap();
        mac.update(b"Hi There");
        let wanted = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex_text(&mac.finalize().into_bytes()), wanted);
    }

    #[test]
    fn a_key_is_as_long_as_a_key_and_is_never_shown() {
        for length in [0, 1, GuardKey::BYTES - 1, GuardKey::BYTES + 1] {
            assert_eq!(GuardKey::from_bytes(&vec![7; length]), None);
        }
        let key = GuardKey::from_bytes(&[7; GuardKey::BYTES]).unwrap();
        assert_eq!(format!("{:?}", GuardForm::Hashed(key)), "Hashed(GuardKey)");
        assert_ne!(GuardKey::random_key(), GuardKey::random_key());
    }
}
