//! For programs.

use serde_json::{Value as Json, json};

use crate::shown::{Deny, FileNames, WholeDiff};

/// All that differs, as JSON.
pub fn diff_json(diff: &WholeDiff, files: FileNames<'_>) -> Json {
    let rows = diff.rows.iter().map(|change| {
        let place = |source: Option<&singlet_model::Source>, span: Option<singlet_model::Span>| {
            let (source, span) = (source?, span?);
            let position = source.position_at(span.start);
            Some(json!({"file": source.name(), "line": position.line, "column": position.column}))
        };
        json!({
            "entity": change.entity,
            "part": change.part,
            "was": change.was,
            "is": change.is,
            "so": change.so,
            "data": change.data,
            "way": change.way,
            "promise": change.promise,
            "needs": change.lacks,
            "help": change.help,
            "before": place(files.old, change.before),
            "after": place(Some(files.new), change.after),
        })
    });
    let counts = Deny::ALL
        .iter()
        .map(|deny| (deny.word().to_owned(), json!(diff.denied_count(*deny))));
    json!({
        "old": files.old_name,
        "new": files.new.name(),
        "way": diff.careful_way(),
        "noBridge": diff.no_bridge(),
        "counts": counts.collect::<serde_json::Map<_, _>>(),
        "rows": rows.collect::<Vec<_>>(),
        "contract": diff.contract,
        "migration": diff.migration,
        "cost": diff.cost,
    })
}
