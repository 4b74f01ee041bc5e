use singlet_item::Number;
use singlet_model::Span;

use crate::prices::{self, IN_FORCE};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A price in the document is not the price in force.
    ///
    /// On-demand units were halved in November 2024: a million read units are $0.125 and a million write units $0.625 in
    /// us-east-1. A decision that rests on the old prices, such as provisioned capacity because on demand is dear, may no
    /// longer hold: provisioned is the cheaper one above about 29 % utilisation.
    ///
    /// ```yaml
    /// claim: {read_price: "0.25", write_price: "1.25"}
    /// ```
    ///
    /// Way out: correct the figure, and look again at what was decided by it. For a region with other prices, accept it and
    /// name the region.
    "C006" "outdated-price" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let claims = &context.model.table.claims;
    let Some(current) = prices::built_in_prices().map(|prices| prices.on_demand) else { return };
    compare(findings, claims.read_price.as_ref(), &current.read_million.to_string(), "read");
    compare(findings, claims.write_price.as_ref(), &current.write_million.to_string(), "write");
}

fn compare(findings: &mut Findings<'_>, claimed: Option<&(String, Span)>, current: &str, kind: &str) {
    let Some((text, span)) = claimed else { return };
    let dollars = text.trim().trim_start_matches('$').trim();
    let (Ok(claimed), Ok(known)) = (dollars.parse::<Number>(), current.parse::<Number>()) else {
        return;
    };
    if claimed != known {
        let message = format!("a million {kind} units are said to cost ${dollars}, and cost ${current} ({IN_FORCE})");
        findings.push(findings.at(*span, "table", message).help(format!(
            "write `{kind}_price: \"{current}\"`, and look again at what was decided by it"
        )));
    }
}
