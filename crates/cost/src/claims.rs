//! What documents say of capacity and price, beside what is true.

use serde::{Deserialize, Serialize};
use singlet_model::Model;
use singlet_model::model::Bounds;

use crate::bill::Bill;
use crate::capacity::{Capacity, UnitsRate};
use crate::operations::Operation;
use crate::text::{dollars_text, figure_text};

/// A claim of a document, and what is true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimCheck {
    /// What it is about: `a month`, `read units a second`, the name of an operation.
    pub about: String,
    /// What the document says.
    pub said: String,
    /// What is true.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}

/// Every claim about units and money that a model repeats.
pub(crate) fn check_claims(model: &Model, operations: &[Operation], load: &Capacity, bill: &Bill) -> Vec<ClaimCheck> {
    let claims = &model.table.claims;
    let mut all = Vec::new();
    if let Some((said, _)) = &claims.month_price {
        let (net, gross) = (bill.as_declared_net(), bill.as_declared());
        // A document rounds to its last digit: zero dollars are less than half a cent.
        let holds = within(said, net, PRICE_TOLERANCE_DOLLARS);
        let found = match dollars_text(net) == dollars_text(gross) {
            true => dollars_text(gross),
            false => format!("{} ({} before the free tier)", dollars_text(net), dollars_text(gross)),
        };
        all.push(check("a month", format!("${said}"), found, holds));
    }
    let total = |of: fn(&crate::PlaceLoad) -> UnitsRate| {
        let units = load.places.iter().map(of);
        units.fold((0.0, 0.0), |all: (f64, f64), units| {
            (all.0 + units.read, all.1 + units.write)
        })
    };
    let (mean, peak) = (total(|place| place.mean), total(|place| place.peak));
    let both = |mean: f64, peak: f64| format!("{} on average, {} at the peak", figure_text(mean), figure_text(peak));
    if let Some((said, _)) = &claims.read_units {
        let holds = within(said, peak.0, 0.0);
        all.push(check(
            "read units a second",
            said.to_string(),
            both(mean.0, peak.0),
            holds,
        ));
    }
    if let Some((said, _)) = &claims.write_units {
        let holds = within(said, peak.1, 0.0);
        all.push(check(
            "write units a second",
            said.to_string(),
            both(mean.1, peak.1),
            holds,
        ));
    }
    if let Some((said, _)) = &claims.storage_gb {
        let holds = within(said, bill.stored_gb, 0.0);
        all.push(check(
            "gigabytes stored",
            said.to_string(),
            figure_text(bill.stored_gb),
            holds,
        ));
    }
    all.extend(operation_claims(model, operations));
    all
}

/// How far off a price may be.
const PRICE_TOLERANCE_DOLLARS: f64 = 0.005;
/// How far off units may be: half of the least that a read costs.
const UNITS_TOLERANCE: f64 = 0.25;

fn operation_claims(model: &Model, operations: &[Operation]) -> Vec<ClaimCheck> {
    let named = |name: &str| operations.iter().find(|operation| operation.name == name);
    let mut all = Vec::new();
    for read in &model.reads {
        if let (Some((said, _)), Some(operation)) = (&read.claim.read, named(&read.name)) {
            let units = operation.read_units();
            let (holds, found) = match operation.parts.is_empty() {
                true => (false, "no key answers it".to_owned()),
                false => (within(said, units, UNITS_TOLERANCE), figure_text(units)),
            };
            all.push(check(&read.name, counted(said, "read"), found, holds));
        }
    }
    for write in &model.writes {
        if let (Some((said, _)), Some(operation)) = (&write.claim.write, named(&write.name)) {
            let units = operation.write_units();
            let holds = within(said, units, UNITS_TOLERANCE);
            all.push(check(&write.name, counted(said, "write"), figure_text(units), holds));
        }
    }
    all
}

/// `1 read unit`, `0.5 to 2 write units`.
fn counted(said: &Bounds, kind: &str) -> String {
    let is_one = said.min == Some(1.0) && said.max == Some(1.0);
    format!("{said} {kind} {}", if is_one { "unit" } else { "units" })
}

fn check(about: &str, said: String, found: String, holds: bool) -> ClaimCheck {
    ClaimCheck {
        about: about.to_owned(),
        said,
        found,
        holds,
    }
}

fn within(bounds: &Bounds, found: f64, tolerance: f64) -> bool {
    bounds.min.is_none_or(|min| found >= min - tolerance) && bounds.max.is_none_or(|max| found <= max + tolerance)
}
