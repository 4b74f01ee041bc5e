//! The whole answer to what a model costs, as a value: shown as text or JSON, kept, and compared with another.

use serde::{Deserialize, Serialize};
use singlet_model::Model;
use singlet_plan::read::{ROW_BYTES_USUAL, ROWS_SHARING_USUAL, ROWS_USUAL};

use crate::bill::{Bill, STREAM_READS_PER_SECOND, month_bill};
use crate::capacity::{TARGET_UTILISATION, capacity_needed};
use crate::claims::{ClaimCheck, check_claims};
use crate::measured::Difference;
use crate::operations::{Operation, OperationKind, PEAK_USUAL};
use crate::prices::Prices;
use crate::sizes::{Storage, row_count, said_bytes};

/// How many times the estimates a month is shown for.
pub(crate) const FACTORS: [f64; 3] = [1.0, 10.0, 100.0];

/// What a model costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostReport {
    /// The system.
    pub model: String,
    /// The region whose prices they are.
    pub region: String,
    /// Since when the prices hold.
    pub prices_as_of: String,
    /// A month at each of [`FACTORS`].
    pub months: Vec<Bill>,
    /// What the document says.
    pub claims: Vec<ClaimCheck>,
    /// Where what was measured differs from the estimates; empty where nothing was measured.
    #[serde(default)]
    pub differences: Vec<Difference>,
    /// What the figures rest on.
    pub assumptions: Vec<String>,
}

impl CostReport {
    /// The month at the estimates themselves.
    pub fn month_bill(&self) -> Option<&Bill> {
        self.months.first()
    }
}

/// What a model costs with operations and storage as they are estimated, or measured.
pub fn cost_report(model: &Model, operations: &[Operation], stored: &Storage, prices: &Prices) -> CostReport {
    let months: Vec<Bill> = FACTORS
        .iter()
        .map(|factor| month_bill(model, operations, stored, prices, *factor))
        .collect();
    let load = capacity_needed(model, operations, 1.0);
    let claims = months
        .first()
        .map(|month| check_claims(model, operations, &load, month));
    CostReport {
        model: model.name.clone(),
        region: prices.region.clone(),
        prices_as_of: prices.as_of.clone(),
        months,
        claims: claims.unwrap_or_default(),
        differences: Vec::new(),
        assumptions: cost_assumptions(model, operations),
    }
}

/// What figures of capacity rest on.
pub fn capacity_assumptions(model: &Model, operations: &[Operation]) -> Vec<String> {
    let mut all = vec![
        "a unit reads 4 KB, strongly; a unit writes 1 KB; 1 KB = 1024 bytes".to_owned(),
        format!("the peak of an operation is what its estimate says, else {PEAK_USUAL} times its rate; all peaks come at once"),
        format!("what is to be provisioned is used to {:.0} % at the peak", TARGET_UTILISATION * 100.0),
        "requests are the first page of a read, over all combinations of its optional arguments alike".to_owned(),
        "a step under `when` runs half the time; what is refused, and idempotency keys that need not be sent, are not counted".to_owned(),
        "keys of which no `top_share` is said are equally busy".to_owned(),
    ];
    if operations
        .iter()
        .any(|operation| operation.kind == OperationKind::Following)
    {
        all.push(
            "what stands in parentheses is done by whoever follows: one process, whose deliveries are taken at the first attempt, with bodies of up to a kilobyte"
                .to_owned(),
        );
    }
    let asked = operations
        .iter()
        .filter(|operation| operation.kind != OperationKind::Following);
    let unrated: Vec<&str> = asked
        .filter(|operation| operation.rate.is_none())
        .map(|operation| operation.name.as_str())
        .collect();
    if !unrated.is_empty() {
        all.push(format!(
            "no rate is estimated, and nothing counted, for {}",
            unrated.join(", ")
        ));
    }
    let own = || model.entities.iter().filter(|entity| entity.mirror.is_none());
    let unsized_rows = own().filter(|entity| said_bytes(model, entity).is_none());
    let unsized_rows: Vec<&str> = unsized_rows.map(|entity| entity.name.as_str()).collect();
    if !unsized_rows.is_empty() {
        all.push(format!(
            "a row has {ROW_BYTES_USUAL} bytes where no estimate says: {}",
            unsized_rows.join(", ")
        ));
    }
    let uncounted = own().filter(|entity| row_count(model, entity).is_none());
    let uncounted: Vec<&str> = uncounted.map(|entity| entity.name.as_str()).collect();
    if !uncounted.is_empty() {
        all.push(format!(
            "where no estimate says how many rows there are, reads meet {ROWS_USUAL}, {ROWS_SHARING_USUAL} to a value, and storage counts none: {}",
            uncounted.join(", ")
        ));
    }
    all
}

fn cost_assumptions(model: &Model, operations: &[Operation]) -> Vec<String> {
    let mut all = vec![
        "a month has 30 days of 24 hours; 1 GB = 1024³ bytes; dollars, without tax".to_owned(),
        "storage adds 100 bytes to each row and each index entry; recovery and backups are of rows, without the entries of global indexes".to_owned(),
        "the free tier is that of an account with nothing else in the region; on demand no units are free".to_owned(),
    ];
    if model.table.stream.is_some() {
        all.push(format!(
            "each reader asks each shard of the stream {STREAM_READS_PER_SECOND} times a second, as Singlet does for writes that run after changes, tallies and words"
        ));
    }
    all.extend(capacity_assumptions(model, operations));
    all
}
