//! How values come back from the text of keys.

pub(crate) mod decode;
pub(crate) mod split;
