//! What a write costs, part by part: so that each part can be weighed with the size of its row and put to its table or index.

use singlet_model::model::{Entity, Write};

use super::cost::{Units, times_least};
use super::turns::{Loops, Turn};
use super::written_rows::Row;

/// One term of what a write costs, for small items.
#[derive(Clone, Copy, Debug)]
pub struct WrittenPart<'a> {
    /// Whose row it is, where that is known.
    pub entity: Option<&'a Entity>,
    /// What it is to the entity.
    pub kind: PartKind,
    /// The index whose entry is written; the table, if there is none.
    pub index: Option<&'a str>,
    /// Each time, at least and at most.
    pub units: Units,
    /// Whether it stands under a condition.
    pub conditional: bool,
    /// Whether the step moves the row to another state.
    pub moves: bool,
    /// The loops that it stands in, the outermost first.
    pub loops: Loops<'a>,
    /// How often at least, and at most where that is known, all loops together.
    pub times: (u64, Option<u64>),
}

/// What a part of a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The row of an entity, or a mirror's, or the entry of one in an index.
    Row,
    /// Small rows that the model itself keeps, which make values unique.
    Guards,
    /// A row that is only looked at, in the transaction.
    Looked,
    /// The record of a request, a change or a tick.
    Record,
    /// How far a bulk operation came.
    Progress,
}

pub(super) fn parts_of<'a>(turn: &Turn<'a>, rows: &[Row<'a>], factor: Units) -> Vec<WrittenPart<'a>> {
    let mut parts = Vec::new();
    // Where no row of a mirror is written, no entry of it changes.
    for row in rows.iter().filter(|row| row.rows.1 > 0) {
        let part = WrittenPart {
            entity: Some(row.entity),
            kind: match row.is_guard() {
                true => PartKind::Guards,
                false => PartKind::Row,
            },
            index: None,
            units: (row.rows.0 * factor.0, row.rows.1 * factor.1),
            conditional: turn.conditional,
            moves: turn.step.moves.is_some(),
            loops: turn.loops,
            times: (times_least(turn), turn.most_times()),
        };
        let entries = row.entries.iter().map(|entry| WrittenPart {
            index: Some(entry.index),
            units: entry.units,
            ..part
        });
        let entries: Vec<WrittenPart<'a>> = entries.collect();
        parts.push(part);
        parts.extend(entries);
    }
    parts
}

/// The progress of a bulk operation is written when it begins, with every turn, and removed at the end.
pub(super) fn progress_parts(write: &Write) -> Vec<WrittenPart<'_>> {
    let part = WrittenPart {
        entity: None,
        kind: PartKind::Progress,
        index: None,
        units: (1, 1),
        conditional: false,
        moves: false,
        loops: Loops::default(),
        times: (2, Some(2)),
    };
    let turns = write.steps.iter().map(|step| WrittenPart {
        units: (2, 2),
        conditional: step.when.is_some(),
        loops: Loops::default().and(step.repeat.as_ref().map(|(_, list)| list)),
        times: (1, Some(1)),
        ..part
    });
    std::iter::once(part).chain(turns).collect()
}
