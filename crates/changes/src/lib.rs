//! What happened to the rows of a model, told from the change stream of its table.
//!
//! A store tells that items changed; a [`Change`] says what that means: which entity, whether a row was created, updated, deleted or
//! has expired, and the row before and after, in the model's own names and types.
//!
//! # Terms
//!
//! - A *record* is one change of one item, as the store tells it.
//! - A *change* is what a record means for a row of an entity. Most records are one change; those of mirrors, guards, records of
//!   requests, progress and control rows are none.
//! - A *misfit* is a record of an entity's row that is not as the model has it. It is told with its reason, never dropped.
//!
//! - A *trigger* is a write that runs after a change; what runs them is one follower for all. A *tick* is a time at which a write
//!   runs by the clock.
//! - A *webhook* tells another system of a change; a *delivery* is one thing that is told.
//! - A *tally* is a count of rows that is kept in the table as rows change; its *figures* are those of its groups.
//! - A *follower* reads changes under a name, and notes in the table how far it is. A *gap* is what was gone before it came.
//!
//! # What it is not
//!
//! It promises no order between rows: only the changes of one row come in the order they happened. Who made a change is not
//! known here: what must be known of a caller is written by the write itself.

mod change;
mod decode;
mod follow;
mod followers;
mod lag;
mod lease;
mod of_stream;
mod reader;
mod repair;
mod snapshot;
mod source;
mod tallies;
mod ticks;
mod triggers;
mod versions;
mod webhooks;

pub use change::{Change, ChangeId, ChangeKind, at_text};
pub use decode::{ChangeDecoder, Decoded, Misfit};
pub use follow::{COMMIT_WRITES_MAX, Follower};
pub use followers::{
    FOLLOWERS_MAX, FollowError, Followers, GAPS_MAX, Gap, LAKE_FOLLOWERS, NAME_CHARS_MAX, Noted, SEARCH_FOLLOWERS,
};
pub use lag::Lag;
pub use lease::{LEASE_MILLIS, Lease};
pub use of_stream::is_of_following;
pub use reader::{CLOCKS_DIFFER_SECONDS, ChangePage, ChangeReader, Told};
pub use repair::{Repaired, ask_for_repair, entities_with_kept_copies, repair_answer, repair_as_asked, repair_copies};
pub use snapshot::{SnapshotReader, SnapshotRow};
pub use source::{
    Beside, ChangeSource, ItemsBeside, KeptPut, ScanItems, get_row_in, items_beside_in, put_row_in, scan_items_in,
};
pub use tallies::{
    BUILT_ROWS_MAX, TALLIES_FOLLOWER, TalliesFollowed, TallyFollower, TallyState, ask_for_figures, tally_states,
};
pub use ticks::{NotedSchedule, NotedTicks, Ticker, noted_schedules, noted_ticks};
pub use triggers::{
    Followed, LOOK_AGAIN_MILLIS, PARKED_MAX, ParkedChange, ParkedChanges, ParkedOrder, REFUSED_PAUSES_SECONDS,
    REFUSED_TRIES_MAX, RUNS_PER_MINUTE_MAX, RunEnd, TRIGGERS_FOLLOWER, TriggerFollower, TriggerObserver, Unobserved,
    forget_unneeded,
};
pub use webhooks::{
    ATTEMPTS_MAX, Deliveries, Delivery, PostWebhook, Posted, RETRY_AFTER_MAX_SECONDS, SendEnd, WebhookObserver,
    WebhookOrder, WebhookPost, WebhookSender, WebhookState,
};
