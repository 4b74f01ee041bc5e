//! What a model consumes and what that costs, from its estimates.
//!
//! [`expected_operations`] says what one run of each read and write takes, place by place, and how often it runs;
//! [`stored_bytes`] what is kept. [`capacity`] makes units a second of it, [`bill`] dollars a month.
//!
//! # Terms
//!
//! - A *place* is the table or a global index: what has units of its own. A local index takes from its table's.
//! - A *part* is what one run consumes at one place, of the rows of one entity.
//! - A month has 30 days of 24 hours, a gigabyte 1024³ bytes.
//!
//! No I/O: prices come as text, reports go as text.

mod bill;
mod capacity;
mod claims;
mod compare;
mod following;
mod measured;
mod operations;
mod partitions;
mod prices;
mod reads;
mod report;
mod sizes;
mod text;
mod writes;

pub use bill::{Bill, FreeBill, MONTH_HOURS, OperationBill, ProvisionedBill, month_bill};
pub use capacity::{Capacity, PlaceLoad, PlaceUnits, UnitsRate, capacity_needed};
pub use claims::ClaimCheck;
pub use compare::{Changed, Comparison, compare_reports};
pub use measured::{Difference, SCRAPES_BYTES_MAX, ScrapeError, measured_operations};
pub use operations::{Growth, MONTH_SECONDS, Operation, OperationKind, Part, expected_operations};
pub use partitions::{AlikePartitions, KeyLoad, ShareSource, THROTTLED_SHARE, busiest_share, throttling_rate};
pub use prices::{
    FreeTier, OnDemandPrices, Prices, PricesError, ProvisionedPrices, StoragePrices, StreamPrices, read_prices,
    region_prices,
};
pub use reads::expected_read_units;
pub use report::{CostReport, capacity_assumptions, cost_report};
pub use sizes::{GB_BYTES, GUARD_BYTES_USUAL, OVERHEAD_BYTES, Storage, row_bytes, row_count, stored_bytes};
pub use text::{capacity_text, comparison_text, cost_text, dollars_text, figure_text};
