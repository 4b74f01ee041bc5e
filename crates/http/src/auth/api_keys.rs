//! API keys. Only their hashes are kept, so that a look-up compares hashes and tells nobody how near a guess was.

use std::collections::HashMap;

use singlet_runtime::Caller;

use super::Secret;
use super::secret::text_sha256;
use crate::SetupError;

/// The keys of one system.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys {
    by_hash: HashMap<[u8; 32], ApiKey>,
}

/// Whose key it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The caller's id.
    pub id: String,
    /// The caller's role.
    pub role: String,
}

impl ApiKeys {
    /// Keys for local use: one for each role that the model names.
    pub fn local_keys(secret: &Secret, system: &str, roles: &[String]) -> Self {
        let mut keys = ApiKeys::default();
        for role in roles {
            let of = ApiKey {
                id: format!("local-{role}"),
                role: role.clone(),
            };
            keys.add_key(&secret.local_api_key(system, role), of);
        }
        keys
    }

    /// Adds a key.
    pub fn add_key(&mut self, key: &str, of: ApiKey) {
        self.by_hash.insert(text_sha256(key), of);
    }

    /// Adds a key by its SHA-256 in hexadecimal digits.
    ///
    /// # Errors
    ///
    /// Where that is no SHA-256.
    pub fn add_hash(&mut self, hash: &str, of: ApiKey) -> Result<(), SetupError> {
        if hash.len() != 64 || !hash.is_ascii() {
            return Err(SetupError::ApiKeyHash);
        }
        let mut bytes = [0_u8; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let digits = hash.get(2 * at..2 * at + 2).ok_or(SetupError::ApiKeyHash)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| SetupError::ApiKeyHash)?;
        }
        self.by_hash.insert(bytes, of);
        Ok(())
    }

    /// The caller of a key.
    pub fn key_caller(&self, key: &str) -> Option<Caller> {
        // By its hash: how long the look-up takes tells nothing about how near a guess was.
        let known = self.by_hash.get(&text_sha256(key))?;
        Some(Caller::with_id(known.id.clone()).claim("role", known.role.clone()))
    }
}
