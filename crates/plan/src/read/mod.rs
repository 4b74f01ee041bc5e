//! From a selection's meaning to the queries that answer it.
//!
//! A plan is an inert value: which rows are asked for, by expressions over the request, and what is left to be filtered. The
//! planner tries every [access path](crate::access), keeps those that answer the meaning exactly, and takes the cheapest; the
//! others stay in the plan with the reason for which they lost.

mod candidate;
mod cases;
mod chances;
mod choose;
mod ends;
mod entry_size;
mod expected;
mod implied;
mod layout;
mod neighbours;
mod one_row;
mod order;
mod reach;
mod search;
mod shares;
mod show;
mod sort;
mod strangers;
mod taken_apart;
mod thin;
mod together;
mod why;

pub use candidate::{AskedWord, PartValues, Query};
pub use choose::{
    Combination, Lost, PartPlan, ReadPlan, SelectionPlan, plan_condition, plan_read, plan_reversed, plan_selection,
};
pub use ends::{Ends, KeyEnd, after};
pub use entry_size::carried_share;
pub(crate) use entry_size::entry_bytes_expected;
pub use expected::{
    Expected, LIST_ELEMENTS_USUAL, RANGE_DAYS_USUAL, ROW_BYTES_USUAL, ROWS_SHARING_USUAL, ROWS_USUAL,
    SHARE_OF_A_CONDITION, elements_expected,
};
pub use layout::{Held, Layout, ToldBy};
pub use neighbours::{Neighbour, Neighbours};
pub use one_row::{OneRow, may_find_several, one_row};
pub use reach::{CIRCLE_LATITUDE_DEGREES_MAX, Factor, FactorKind, Reach};
pub use search::{SearchCircle, SearchPlan, search_places, search_terms};
pub use shares::{share_of_condition, values_expected, values_of_expression};
pub use show::{PlanRow, condition, describe, plan_rows, plan_text, priced_plan_text};
pub use sort::{End, EndPoint, SortBound};
pub(crate) use strangers::reads_strangers;
pub use together::{Apart, Together};
pub use why::Why;

use singlet_model::expression::Expr;
use singlet_model::model::{Entity, Read};

/// The conditions that history adds to a read's meaning.
pub(crate) fn history_conditions(entity: &Entity, read: &Read) -> Vec<Expr> {
    implied::history(entity, Some(read))
}
