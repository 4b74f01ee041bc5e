//! All that differs, and what of it a team may not want.

use singlet_cost::Comparison;
use singlet_model::{Source, Span};

use crate::contract::ContractChange;
use crate::migration::MigrationCost;
use crate::{DataClass, RowChange, Way, whole_way};

/// The files that are compared.
#[derive(Clone, Copy, Debug)]
pub struct FileNames<'s> {
    /// The model of before; none, where a table is.
    pub old: Option<&'s Source>,
    /// The model that comes.
    pub new: &'s Source,
    /// What stands for the old one in words: its file, or the table.
    pub old_name: &'s str,
}

impl FileNames<'_> {
    /// Where a change stands, old place first.
    pub(crate) fn change_places(&self, change: &RowChange) -> Vec<String> {
        let place = |source: &Source, span: Span| {
            let position = source.position_at(span.start);
            format!("{}:{}:{}", source.name(), position.line, position.column)
        };
        let old = self.old.zip(change.before).map(|(source, span)| place(source, span));
        let new = change.after.map(|span| place(self.new, span));
        old.into_iter().chain(new).collect()
    }
}

/// All that differs between two models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeDiff {
    /// In what is stored.
    pub rows: Vec<RowChange>,
    /// In what clients and followers are promised; none, where only the table is known.
    pub contract: Option<Vec<ContractChange>>,
    /// What operations cost more or less by the month; none, where nothing is estimated.
    pub cost: Option<Comparison>,
    /// What it takes to change the rows.
    pub migration: Option<MigrationCost>,
    /// Why both models cannot run at once, though each change by itself would let them; nothing where only the table is known.
    pub hindrances: Vec<String>,
}

/// What a team may not want of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deny {
    /// Something that clients or followers lose.
    Breaking,
    /// A change for which writes stop, or the table is another.
    Still,
    /// Something stored that belongs to no model any more.
    Drop,
    /// Something that stored rows may break.
    Promises,
    /// Something of which the model does not say what rows get.
    Unfilled,
}

impl Deny {
    /// All of them.
    pub const ALL: [Deny; 5] = [Deny::Breaking, Deny::Still, Deny::Drop, Deny::Promises, Deny::Unfilled];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Deny::Breaking => "breaking",
            Deny::Still => "still",
            Deny::Drop => "drop",
            Deny::Promises => "promises",
            Deny::Unfilled => "unfilled",
        }
    }
}

impl WholeDiff {
    /// The way of the whole: the most careful of its parts, or a more careful one where a bridge does not carry all of them.
    pub fn careful_way(&self) -> Way {
        match whole_way(&self.rows) {
            Way::Bridge if !self.hindrances.is_empty() => Way::Still,
            way => way,
        }
    }

    /// How many changes are of a kind that is not wanted.
    pub fn denied_count(&self, deny: Deny) -> usize {
        let count = |test: &dyn Fn(&RowChange) -> bool| self.rows.iter().filter(|change| test(change)).count();
        match deny {
            Deny::Breaking => {
                let contract = self.contract.iter().flatten();
                contract.filter(|change| change.breaking).count()
            }
            Deny::Still => count(&|change| change.way >= Way::Still).max(self.no_bridge().len()),
            Deny::Drop => count(&|change| change.data == DataClass::Drop),
            Deny::Promises => count(&|change| change.promise.is_some()),
            Deny::Unfilled => count(&|change| change.lacks.is_some()),
        }
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.contract.as_ref().is_none_or(Vec::is_empty)
    }

    /// Why there is no bridge where every change would have one.
    pub(crate) fn no_bridge(&self) -> &[String] {
        match whole_way(&self.rows) {
            Way::Bridge => &self.hindrances,
            _ => &[],
        }
    }

    /// The whole in a sentence.
    pub(crate) fn summary_sentence(&self) -> String {
        let breaking = self.denied_count(Deny::Breaking);
        let stored = match self.rows.len() {
            0 => "nothing differs in what is stored".to_owned(),
            1 => format!("1 change in what is stored, {}", self.way_words()),
            count => format!("{count} changes in what is stored, {}", self.way_words()),
        };
        let contract = match (&self.contract, breaking) {
            (None, _) => String::new(),
            (Some(changes), _) if changes.is_empty() => "; nothing that clients notice".to_owned(),
            (Some(_), 0) => "; nothing that clients lose".to_owned(),
            (Some(_), 1) => "; 1 thing that clients lose".to_owned(),
            (Some(_), count) => format!("; {count} things that clients lose"),
        };
        format!("{stored}{contract}")
    }
}

impl WholeDiff {
    fn way_words(&self) -> &'static str {
        match self.no_bridge().is_empty() {
            true => way_words(self.careful_way()),
            false => "still: a bridge does not carry all of them",
        }
    }
}

fn way_words(way: Way) -> &'static str {
    match way {
        Way::Free => "free: old and new run side by side on the rows as they are",
        Way::Bridge => "by bridge: old and new can run while rows are made ready for both",
        Way::Still => "still: writes stop while rows are changed",
        Way::NewTable => "into a new table",
    }
}

/// Seconds in words.
pub(crate) fn duration_words(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{} s", seconds.ceil()),
        seconds if seconds < 5_400.0 => format!("{} min", (seconds / 60.0).ceil()),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
