//! What DynamoDB asks for: one dated file for each region.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The file that is built in.
const US_EAST_1: &str = include_str!("../prices/us-east-1.toml");

/// The prices of a region, in dollars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The region.
    pub region: String,
    /// The day from which on they are known to hold, `YYYY-MM-DD`.
    pub as_of: String,
    /// Of requests.
    pub on_demand: OnDemandPrices,
    /// Of units a second.
    pub provisioned: ProvisionedPrices,
    /// Of what is kept.
    pub storage: StoragePrices,
    /// Of the change stream.
    pub stream: StreamPrices,
    /// What is free each month.
    pub free: FreeTier,
}

/// Prices of requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnDemandPrices {
    /// A million read units.
    pub read_million: f64,
    /// A million write units.
    pub write_million: f64,
}

/// Prices of units a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvisionedPrices {
    /// A read unit a second, for an hour.
    pub read_unit_hour: f64,
    /// A write unit a second, for an hour.
    pub write_unit_hour: f64,
}

/// Prices of what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoragePrices {
    /// A gigabyte of rows and index entries for a month.
    pub gb_month: f64,
    /// Point-in-time recovery of a gigabyte for a month.
    pub recovery_gb_month: f64,
    /// A gigabyte of a backup for a month.
    pub backup_gb_month: f64,
    /// Restoring a gigabyte.
    pub restore_gb: f64,
}

/// Prices of the change stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamPrices {
    /// A hundred thousand reads.
    pub reads_100_000: f64,
}

/// What is free each month, for all tables of the account in the region together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeTier {
    /// Gigabytes kept.
    pub storage_gb: f64,
    /// Read units a second, of provisioned tables only, with all their indexes.
    pub provisioned_read_units: u64,
    /// Write units a second, the same.
    pub provisioned_write_units: u64,
    /// Reads of streams.
    pub stream_reads: u64,
}

/// Why there are no prices.
#[derive(Debug)]
pub enum PricesError {
    /// No file of the region is built in.
    UnknownRegion(String),
    /// The file cannot be read.
    Format(String),
    /// The file is of another region than the one asked for.
    OtherRegion {
        /// The one asked for.
        wanted: String,
        /// That of the file.
        found: String,
    },
    /// A price is below zero, or no number.
    Price,
}

impl fmt::Display for PricesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PricesError::UnknownRegion(region) => write!(
                out,
                "the prices of `{region}` are not known here: give them with `--prices FILE`, of this form:\n\n{US_EAST_1}"
            ),
            PricesError::Format(reason) => write!(
                out,
                "the prices cannot be read: {}\n\nthe form is this:\n\n{US_EAST_1}",
                reason.trim_end()
            ),
            PricesError::OtherRegion { wanted, found } => {
                write!(out, "the prices are those of `{found}`, and `{wanted}` was asked for")
            }
            PricesError::Price => write!(out, "a price is a number of dollars, and not below zero"),
        }
    }
}

impl std::error::Error for PricesError {}

/// The prices of a region that is built in.
pub fn region_prices(region: &str) -> Result<Prices, PricesError> {
    let built_in = read_prices(US_EAST_1)?;
    match region == built_in.region {
        true => Ok(built_in),
        false => Err(PricesError::UnknownRegion(region.to_owned())),
    }
}

/// Prices from the text of a file.
pub fn read_prices(text: &str) -> Result<Prices, PricesError> {
    let prices: Prices = toml::from_str(text).map_err(|error| PricesError::Format(error.to_string()))?;
    let all = [
        prices.on_demand.read_million,
        prices.on_demand.write_million,
        prices.provisioned.read_unit_hour,
        prices.provisioned.write_unit_hour,
        prices.storage.gb_month,
        prices.storage.recovery_gb_month,
        prices.storage.backup_gb_month,
        prices.storage.restore_gb,
        prices.stream.reads_100_000,
        prices.free.storage_gb,
    ];
    match all.iter().all(|price| price.is_finite() && *price >= 0.0) {
        true => Ok(prices),
        false => Err(PricesError::Price),
    }
}
