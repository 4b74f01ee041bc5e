//! What the model costs at its estimates, and what was consumed since the start.

use serde_json::{Value as Json, json};
use singlet_cost::{cost_report, expected_operations, region_prices, stored_bytes};

use crate::routes::Asking;

/// The region whose prices are shown.
const REGION: &str = "us-east-1";

/// `{report, consumed}`; no report where nothing is estimated.
pub(super) fn cost_view(asking: &Asking<'_>) -> Json {
    let model = asking.system.model();
    let estimated = model.estimates.iter().any(|estimate| estimate.rate.is_some());
    let report = region_prices(REGION).ok().filter(|_| estimated).map(|prices| {
        let operations = expected_operations(model);
        cost_report(model, &operations, &stored_bytes(model), &prices)
    });
    let month = report.as_ref().and_then(|report| report.month_bill());
    json!({
        "report": report,
        "onDemand": month.map(|month| month.on_demand()),
        "provisioned": month.map(|month| month.provisioned_total()),
        "consumed": consumed(&asking.service.metrics().text(), &asking.system.name),
    })
}

/// What each operation of a system consumed, from the figures of the service.
fn consumed(metrics: &str, system: &str) -> Json {
    let mut operations: Vec<(String, [f64; 3])> = Vec::new();
    for line in metrics.lines() {
        let Some((name, rest)) = line.split_once('{') else {
            continue;
        };
        let at = match name {
            "singlet_requests_total" => 0,
            "singlet_read_units_total" => 1,
            "singlet_write_units_total" => 2,
            _ => continue,
        };
        let Some((labels, value)) = rest.rsplit_once("} ") else {
            continue;
        };
        let label = |wanted: &str| {
            let start = format!("{wanted}=\"");
            let (_, rest) = labels.split_once(&start)?;
            rest.split_once('"').map(|(value, _)| value)
        };
        if label("system") != Some(system) {
            continue;
        }
        let Some(operation) = label("operation").filter(|operation| !operation.is_empty()) else {
            continue;
        };
        let value: f64 = value
            .split(' ')
            .next()
            .and_then(|value| value.parse().ok())
            .unwrap_or(0.0);
        let known = match operations.iter_mut().find(|(known, _)| known == operation) {
            Some(known) => known,
            None => {
                operations.push((operation.to_owned(), [0.0; 3]));
                let Some(known) = operations.last_mut() else { continue };
                known
            }
        };
        if let Some(figure) = known.1.get_mut(at) {
            *figure += value;
        }
    }
    operations.sort_by(|one, other| one.0.cmp(&other.0));
    let operations = operations.iter().map(
        |(name, [requests, read, write])| json!({"name": name, "requests": requests, "read": read, "write": write}),
    );
    operations.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_added_up_by_operation() {
        let text = "# HELP singlet_requests Answers\n\
                    singlet_requests_total{system=\"todo\",operation=\"a\",status=\"200\"} 2\n\
                    singlet_requests_total{system=\"todo\",operation=\"a\",status=\"404\"} 1\n\
                    singlet_requests_total{system=\"other\",operation=\"a\",status=\"200\"} 9\n\
                    singlet_read_units_total{system=\"todo\",operation=\"a\"} 1.5\n\
                    singlet_write_units_total{system=\"todo\",operation=\"b\"} 4\n\
                    singlet_requests_total{system=\"\",operation=\"\",status=\"200\"} 7\n";
        let expected = json!([
            {"name": "a", "requests": 3.0, "read": 1.5, "write": 0.0},
            {"name": "b", "requests": 0.0, "read": 0.0, "write": 4.0},
        ]);
        assert_eq!(consumed(text, "todo"), expected);
    }
}
