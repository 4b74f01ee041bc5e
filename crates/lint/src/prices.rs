//! What DynamoDB asks for its units: the one place that knows prices.
//!
//! Source: the price list of Amazon DynamoDB for us-east-1, as of November 2025. On-demand prices were halved on
//! 1 November 2024.

/// Dollars for a million read units, on demand.
pub const READ_MILLION_DOLLARS: &str = "0.125";
/// Dollars for a million write units, on demand.
pub const WRITE_MILLION_DOLLARS: &str = "0.625";
/// The read units and write units a second that are free, of provisioned tables only.
pub const FREE_PROVISIONED_UNITS: u64 = 25;
/// Since when these prices hold, and where.
pub const IN_FORCE: &str = "us-east-1, since November 2024";
