//! What a process does with the changes of its tables beside answering requests: writes that run after changes and by the clock, webhooks,
//! tallies, copies that are mended, lakes, words, and how long changes are kept.
//!
//! # Terms
//!
//! - *Alone*: one process has the table, so that asking costs nothing and nobody has to be waited for. *Shared*: several do, and one at a
//!   time has the lease of each of these.
//! - What cannot be done now is said once in the log, waited for, and tried again: nothing here ends a process.
//!
//! # What it is not
//!
//! How a page of changes is followed, once for each change, is `singlet-changes`, `singlet-lake` and `singlet-search`. Here is when.

mod alone;
mod deliveries;
mod lake;
mod noticed;
mod pace;
pub mod retention;
mod search;
mod systems;
mod tallies;
mod ticks;
mod triggers;

pub use alone::follow_alone;
pub use lake::say_step;
pub use noticed::Noticed;
pub use pace::{AWAY_PAUSE_MAX, HEAD_PAUSE_SHARED, now_millis, stream_late_millis};
pub use search::{WordsPlace, search_rows_once};
pub use systems::{Following, WebhookSenders, enter_table, follow_service};
pub use tallies::tally_once;
pub use triggers::start_triggers;
