use singlet_model::model::Billing;

use crate::prices;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// The free units are counted on, but the table is billed on demand.
    ///
    /// The free tier of 25 read and 25 write units a second is for provisioned tables. On demand, the first request is paid
    /// for; only the first 25 GB of storage are free either way.
    ///
    /// ```yaml
    /// billing: on_demand
    /// claim: {free_tier: true}
    /// ```
    ///
    /// Way out: `billing: {read: 25, write: 25}`, if throttling above that is acceptable; or take the price of on demand into
    /// account, which is small for small traffic.
    "C005" "free-tier-on-demand" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    let Some(span) = table.claims.free_tier else { return };
    if table.billing != Billing::OnDemand {
        return;
    }
    let Some(free) = prices::built_in_prices().map(|prices| prices.free) else { return };
    let message = format!(
        "the free tier is claimed, but the table is billed on demand: the {} free units are for provisioned tables",
        free.provisioned_read_units
    );
    let mut finding = findings.at(span, "table", message);
    if let Some(billing) = table.spans.billing {
        finding = finding.note(billing, "billed on demand");
    }
    findings.push(finding.help(format!(
        "say `billing: {{read: {}, write: {}}}`, or drop the claim",
        free.provisioned_read_units, free.provisioned_write_units
    )));
}
