//! What DynamoDB asks for its units, as documents are compared with it: from the one file of prices.

use singlet_cost::{Prices, region_prices};

/// Since when on-demand prices are what they are, and where.
pub(crate) const IN_FORCE: &str = "us-east-1, since November 2024";

/// The prices that are built in.
pub fn built_in_prices() -> Option<Prices> {
    region_prices("us-east-1").ok()
}
