//! Keys and values, which others may share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A key that a space holds.
pub type Key = Bytes;
/// A value that a space holds.
pub type Value = Bytes;

/// Bytes of a space.
#[derive(Clone)]
pub struct Bytes(Arc<[u8]>);

impl Bytes {
    /// The bytes, which others may share.
    pub fn into_shared(self) -> Arc<[u8]> {
        self.0
    }

    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&Arc<[u8]>> for Bytes {
    fn from(bytes: &Arc<[u8]>) -> Self {
        Self(Arc::clone(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<B: AsRef<[u8]> + ?Sized> PartialEq<B> for Bytes {
    fn eq(&self, other: &B) -> bool {
        **self == *other.as_ref()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}
