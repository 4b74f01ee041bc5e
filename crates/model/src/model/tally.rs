//! Tallies: counts and sums that are kept as rows change.

use crate::expression::Expr;
use crate::source::Span;
use crate::types::EntityId;

/// Which tally of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TallyId(pub u32);

/// A count of rows, by groups, with sums beside it.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// Whose rows are counted.
    pub entity: EntityId,
    /// What makes the groups, in order.
    pub by: Vec<TallyGroup>,
    /// Sums beside the count.
    pub sums: Vec<(String, Expr)>,
    /// Which rows; all, if there is none.
    pub filter: Option<Expr>,
    /// What was written, with the zone in which days are told: where that is another, the figures are another's.
    pub definition: String,
}

/// What makes groups of rows: an attribute, or what is computed of a row alone.
#[derive(Clone, Debug)]
pub struct TallyGroup {
    /// As it was written.
    pub text: String,
    /// What it is of a row.
    pub expr: Expr,
}

/// How a selection is answered by a tally.
#[derive(Clone, Debug)]
pub struct TallyUse {
    /// The tally.
    pub tally: TallyId,
    /// What `where` says of groups: which of the tally's `by`, and the value that it must have.
    pub fixed: Vec<(usize, Expr)>,
    /// The groups that are told, as the tally has them; the others are fixed.
    pub by: Vec<Expr>,
}
