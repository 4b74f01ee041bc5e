//! The least units that the keys of a table allow for a read, found by listing every way to answer it.
//!
//! It shares no code with the planner. It knows which items there are and what their keys are made of, looks at the meaning in its
//! own way ([`said`]), and counts what each way would read, item by item, by the rules of capacity ([`ways`]).
//! A way is a query of the table or of an index, once for each combination of values of some first parts of its key, with at most one range
//! behind them; with a get of each row, where an index has too little of it; or a scan, where the read allows one. A meaning with
//! alternatives is also taken apart, and answered by the cheapest way for each.
//!
//! What an answer takes at least, with all that comes with it, is told from the rows that the oracle says are meant ([`answers`]): whatever a
//! read may be, those are read. There a key condition is not looked at, so that the least may lie below what one can reach.
//!
//! What a write takes at least is told from the items before and after it ([`writes`]).
//!
//! What a way reads is taken from the items that are there. So the least may lie a little below what any request can reach, where a range
//! of keys is wider than the items in it. Of several ranges each is read until it alone could fill the page; rows that are merged may fill
//! it sooner, and the plan then takes less.

pub mod answers;
pub mod draw;
pub mod run;
mod said;
pub mod ways;
pub mod writes;

pub use ways::{Asked, Table, Way};
