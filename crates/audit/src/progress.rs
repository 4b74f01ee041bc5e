//! How far an audit is, so that another process can go on.

use serde::{Deserialize, Serialize};
use singlet_item::Item;

use crate::report::AuditReport;

/// The form of what is kept; one of another is refused.
const FORM: u32 = 1;

/// How far an audit is: where each segment goes on, and what was found before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditProgress {
    form: u32,
    system: String,
    table: String,
    /// What the model was: another one finds something else.
    model: String,
    pub(crate) segments: Vec<SegmentProgress>,
    /// What was found so far.
    pub report: AuditReport,
}

/// How far one segment is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentProgress {
    /// Behind which item it goes on; from the beginning, where there is none.
    pub start: Option<Item>,
    /// Whether it is at its end.
    pub is_done: bool,
}

impl AuditProgress {
    pub(crate) fn begin((system, table, model): (&str, &str, &str), segments: u32, shown_max: usize) -> Self {
        AuditProgress {
            form: FORM,
            system: system.to_owned(),
            table: table.to_owned(),
            model: model.to_owned(),
            segments: (0..segments.max(1)).map(|_| SegmentProgress::default()).collect(),
            report: AuditReport::new(system, table, shown_max),
        }
    }

    /// Why an audit cannot go on from here.
    pub(crate) fn strange_to(&self, (system, table, model): (&str, &str, &str)) -> Option<String> {
        if self.form != FORM {
            return Some("it was kept by another version of Singlet".to_owned());
        }
        if (self.system.as_str(), self.table.as_str()) != (system, table) {
            return Some(format!("it is of `{}` on table `{}`", self.system, self.table));
        }
        (self.model != model).then(|| "it is of another version of the model".to_owned())
    }

    /// Whether every segment is at its end.
    pub fn is_done(&self) -> bool {
        self.segments.iter().all(|segment| segment.is_done)
    }
}
