//! How values become the text of keys: forms, escapes, order and length.

pub(crate) mod bounds;
pub(crate) mod character_map;
pub(crate) mod delimiter;
pub(crate) mod encode;
pub(crate) mod form;
pub(crate) mod kept;
pub(crate) mod order;
pub(crate) mod resolved_form;
