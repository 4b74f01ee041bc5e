//! Changes for people.

use singlet_changes::{Change, ChangeKind, Gap, Misfit, SnapshotRow, at_text};
use singlet_item::Value;
use singlet_runtime::Attributes;
use singlet_values::json_text;

/// What a follower never saw.
pub(super) fn gap_text(name: &str, gap: &Gap) -> String {
    format!(
        "`{name}` never saw changes between {} and {}: they were gone before it came",
        at_text(gap.from_seconds),
        at_text(gap.to_seconds)
    )
}

/// A change in one line, with what differs.
pub(super) fn change_text(change: &Change) -> String {
    let head = format!(
        "{} {} {} {}",
        change.at_text(),
        change.kind.word(),
        change.entity,
        json_text::json_of(&Value::M(change.key.clone()))
    );
    let row = |row: &Option<Attributes>| {
        row.as_ref()
            .map(|row| format!("{head} {}", json_text::json_of(&Value::M(row.clone()))))
    };
    let shown = match change.kind {
        ChangeKind::Created => row(&change.after),
        ChangeKind::Deleted | ChangeKind::Expired => row(&change.before),
        ChangeKind::Updated => match (&change.before, &change.after) {
            (Some(before), Some(after)) => Some(format!("{head} {}", differences(change, before, after))),
            (before, after) => row(if after.is_some() { after } else { before }),
        },
    };
    shown.unwrap_or(head)
}

/// Each attribute that differs, before and after.
fn differences(change: &Change, before: &Attributes, after: &Attributes) -> String {
    let value = |row: &Attributes, name: &str| row.get(name).map_or_else(|| "absent".to_owned(), json_text::json_of);
    let all = change.differing_attributes().into_iter();
    let all: Vec<String> = all
        .map(|name| format!("{name}: {} -> {}", value(before, name), value(after, name)))
        .collect();
    all.join(", ")
}

/// A misfit in one line.
pub(super) fn misfit_text(misfit: &Misfit) -> String {
    format!("misfit {misfit}")
}

/// A row as it is, in one line.
pub(super) fn row_text(row: &SnapshotRow) -> String {
    match row {
        SnapshotRow::Row { entity, key, row } => format!(
            "snapshot {entity} {} {}",
            json_text::json_of(&Value::M(key.clone())),
            json_text::json_of(&Value::M(row.clone()))
        ),
        SnapshotRow::Misfit { entity, reason, item } => {
            format!(
                "misfit `{entity}` {}: {reason}",
                json_text::json_of(&Value::M(item.clone()))
            )
        }
    }
}
