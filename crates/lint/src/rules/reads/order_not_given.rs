use singlet_model::model::Selection;
use singlet_plan::read::{PartPlan, Why};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// No key gives the order that the read asks for.
    ///
    /// A query returns rows by the bytes of the sort key. Rows in another order would have to be read all of them and sorted: a
    /// page of them would be the wrong page. Text that more text follows does not sort exactly (`home office#` comes before
    /// `home#`), nor does a number without an upper limit, nor an enum by its rank.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "GENRE#{genre}", GSI1SK: "TITLE#{title}#{isbn}"}
    /// …
    /// where: genre == args.genre
    /// order: title
    /// ```
    ///
    /// Way out: let a sort key begin with what the rows are ordered by, in a form that sorts: `{ordered(title)}`,
    /// `{rank(priority)}`, a number with an upper limit; or leave the order out.
    "R015" "order-not-given" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in context.model.reads.iter().filter(|read| read.using.is_none()) {
        let plan = context.plan(read);
        let parts = plan.combinations.iter().flat_map(|combination| &combination.parts);
        let Some((part, path)) = parts.filter_map(|part| Some((part, unordered(part)?))).next() else {
            continue;
        };
        let selection: Option<&Selection> = match &part.name {
            None => read.selection.as_ref(),
            Some(name) => read.with.iter().find(|with| with.name == *name).map(|with| &with.selection),
        };
        let order = selection.and_then(|own| own.order.iter().find(|order| order.path == path));
        let span = order.map_or(read.span, |order| order.span);
        let message = format!("no key gives the order by `{path}` to what `{}` finds", read.name);
        let help = "begin a sort key with it in a form that sorts, or leave the order out; `singlet plan --why` shows every path";
        findings.push(findings.at(span, &read.name, message).help(help));
    }
}

/// What a selection without a plan is ordered by, where a path would find its rows.
fn unordered(part: &PartPlan) -> Option<&str> {
    let mut reasons = part.plan.others.iter().filter(|_| part.plan.queries.is_empty());
    reasons.find_map(|(_, why)| match why {
        Why::Order(path) => Some(path.as_str()),
        _ => None,
    })
}
