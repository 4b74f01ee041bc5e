//! What in a table speaks of its own stream, and says nothing of the stream of another table with the same rows: how far followers
//! are, which process follows, and figures that are true as of such a position.

use singlet_item::{Item, Value};
use singlet_model::Model;

use crate::source::TURN;

/// The kinds of such rows: those of [`crate::followers`], [`crate::lease`] and [`crate::tallies`].
const KINDS: [&str; 5] = ["follower", "followers", "lease", "tally", "tallies"];

/// What such rows have and others that are kept do not, where a key is a number and says nothing.
const ATTRIBUTES: [&str; 6] = ["$position", "$holder", "$live", "$building", "$definition", "$group"];

/// Whether an item speaks of the stream of its table.
pub fn is_of_following(model: &Model, item: &Item) -> bool {
    if let Some(name) = &model.table.type_attribute {
        let kind = item.get(name).and_then(Value::as_str);
        return kind
            .and_then(|kind| kind.strip_prefix('$'))
            .is_some_and(|kind| KINDS.contains(&kind));
    }
    let partition = model.table.key.first().and_then(|key| item.get(&key.name));
    match partition {
        Some(Value::S(text)) => is_key_of_kind(model, text),
        Some(Value::B(bytes)) => std::str::from_utf8(bytes).is_ok_and(|text| is_key_of_kind(model, text)),
        _ => {
            let is_kept = item.contains_key(TURN) || item.contains_key("$group");
            is_kept && ATTRIBUTES.iter().any(|name| item.contains_key(*name))
        }
    }
}

fn is_key_of_kind(model: &Model, text: &str) -> bool {
    let kind = text
        .strip_prefix('$')
        .and_then(|text| text.split(model.table.delimiter).next());
    kind.is_some_and(|kind| KINDS.contains(&kind))
}
