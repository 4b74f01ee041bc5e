//! The secret of a deployment, and what is derived from it.

use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

use crate::SetupError;

/// The shortest secret that is taken, in bytes.
pub(crate) const SECRET_BYTES_MIN: usize = 16;

/// Signs local tokens; seals cursors; makes local API keys. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

impl Secret {
    /// A secret that was given.
    ///
    /// # Errors
    ///
    /// Where it is too short to be one.
    pub fn new(text: &str) -> Result<Self, SetupError> {
        let text = text.trim();
        if text.len() < SECRET_BYTES_MIN {
            return Err(SetupError::ShortSecret);
        }
        Ok(Secret(text.as_bytes().to_vec()))
    }

    /// A new one, as text that [`Secret::new`] takes.
    ///
    /// # Errors
    ///
    /// Where the machine has no randomness to give.
    pub fn random_text() -> Result<String, SetupError> {
        let mut bytes = [0_u8; 32];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| SetupError::NoRandomness)?;
        Ok(hex_digits(&bytes))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key that seals the cursors of a system.
    pub fn cursor_key(&self, system: &str) -> [u8; 32] {
        self.derived(&format!("cursor {system}"))
    }

    /// An API key for local use, the same as long as the secret is.
    pub fn local_api_key(&self, system: &str, role: &str) -> String {
        let bytes = self.derived(&format!("api key {system} {role}"));
        format!("{system}_{role}_{}", hex_digits(bytes.get(..16).unwrap_or_default()))
    }

    fn derived(&self, purpose: &str) -> [u8; 32] {
        // Each purpose has a key of its own: what is known of one says nothing of another.
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, purpose.as_bytes());
        tag.as_ref().first_chunk::<32>().copied().unwrap_or_default()
    }
}

/// The SHA-256 of a text.
pub fn text_sha256(text: &str) -> [u8; 32] {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().first_chunk::<32>().copied().unwrap_or_default()
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex_digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
