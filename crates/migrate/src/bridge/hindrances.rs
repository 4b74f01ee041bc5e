//! What of a table keeps two models from running at once on it.

use singlet_evolve::STREAM_HINDRANCE;
use singlet_model::Model;
use singlet_runtime::table;
use singlet_store::{IndexKind, TableSpec};

use crate::table_steps::{steps_before, table_hindrances};

/// What else does on a table that others share, whose indexes come late.
pub(crate) fn shared_hindrances(old: &Model, new: &Model, moved: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for model in [old, new] {
        for write in model.writes.iter().filter(|write| write.looks_again) {
            let source = write.after.as_ref().and_then(|trigger| model.entity(trigger.entity));
            if let Some(source) = source.filter(|source| moved(&source.name)) {
                found.push(format!(
                    "copies of `{}` are looked for again a minute after each change, by the key that the old model has",
                    source.name
                ));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Why the table itself does not let them; nothing where it does.
pub(crate) fn live_hindrances(old: &Model, new: &Model, live: &TableSpec) -> Vec<String> {
    let (was, wanted) = (table::table_spec(old), table::table_spec(new));
    let mut found = table_hindrances(&wanted, live);
    if !steps_before(&wanted, live).is_empty() {
        found.push("the table has an index or an expiry that must go before rows are changed".to_owned());
    }
    if live.stream != was.stream {
        found.push(match live.stream {
            Some(_) => STREAM_HINDRANCE.to_owned(),
            None => "the table has no stream, and something follows its changes: `singlet deploy OLD.yaml` makes it"
                .to_owned(),
        });
    }
    for index in wanted.indexes.iter().filter(|index| index.kind == IndexKind::Global) {
        let is_there = |spec: &TableSpec| spec.indexes.iter().any(|known| known.name == index.name);
        if is_there(live) && !is_there(&was) {
            found.push(format!(
                "the table has an index `{0}` which the old model does not know, and which would go with an abort: `singlet deploy OLD.yaml --drop-index {0}` \
                 removes it first",
                index.name
            ));
        }
    }
    found
}
