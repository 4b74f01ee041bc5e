use singlet_model::model::SelectionKind;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A limit counts rows before the filter.
    ///
    /// DynamoDB stops after `Limit` rows and filters those. A page of 20 may hold three rows or none while matching rows
    /// wait behind it; with a limit of one, a row that exists is not found.
    ///
    /// ```yaml
    /// using:
    ///   key: {PK: "USER#{caller.id}", SK: {begins_with: "ITEM#"}}
    ///   filter: Category == args.category
    ///   limit: 20
    /// ```
    ///
    /// Way out: say `page: 20` on the read, which reads on until the page is full; or put what is filtered by into a key.
    "R004" "short-pages" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        let (Some((limit, span)), Some(_)) = (by_hand.using.limit, &by_hand.using.filter) else {
            continue;
        };
        let rows = if limit == 1 { "row" } else { "rows" };
        let effect = match by_hand.selection.kind {
            SelectionKind::Get { .. } => "the row is not found where it is not the first",
            _ => "a page may be short or empty though more rows match",
        };
        let message = format!("the limit of {limit} {rows} counts before the filter: {effect}");
        let help = "leave the limit to `page` on the read, which reads on, or put what is filtered by into a key";
        findings.push(findings.at(span, &by_hand.read.name, message).help(help));
    }
}
