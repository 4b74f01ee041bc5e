use singlet_model::model::{Billing, ProvisionedUnits};

use crate::prices;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// The free units are counted on, and more are provisioned.
    ///
    /// The 25 read and 25 write units a second that are free are for the table and all its global indexes together, and for all
    /// tables of the account in the region. An index has units of its own: 25 for the table and 5 for each of five indexes are 50.
    ///
    /// ```yaml
    /// billing: {read: 25, write: 25, indexes: {GSI1: {read: 5, write: 5}}}
    /// claim: {free_tier: true}
    /// ```
    ///
    /// Way out: provision no more than 25 of each in all (`singlet capacity` says what the estimates need), or drop the claim.
    "C010" "free-tier-exceeded" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    let Some(span) = table.claims.free_tier else { return };
    let Billing::Provisioned { read, write } = table.billing else {
        return;
    };
    let own = ProvisionedUnits { read, write };
    let global = table.indexes.iter().filter(|index| !index.local);
    let all = global.map(|index| index.units.unwrap_or(own));
    let all = all.fold(own, |all, units| ProvisionedUnits {
        read: all.read.saturating_add(units.read),
        write: all.write.saturating_add(units.write),
    });
    let Some(free) = prices::built_in_prices().map(|prices| prices.free) else { return };
    if all.read <= free.provisioned_read_units && all.write <= free.provisioned_write_units {
        return;
    }
    let message = format!(
        "the free tier is claimed, and the table and its indexes have {} read and {} write units together: {} and {} are free",
        all.read, all.write, free.provisioned_read_units, free.provisioned_write_units
    );
    let mut finding = findings.at(span, "table", message);
    if let Some(billing) = table.spans.billing {
        finding = finding.note(billing, "provisioned here");
    }
    findings.push(finding.help("provision less, or drop the claim; `singlet capacity` says what the estimates need"));
}
