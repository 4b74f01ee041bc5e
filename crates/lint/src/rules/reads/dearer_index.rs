use singlet_item::ReadUnits;
use singlet_model::model::Read;
use singlet_plan::read::{Combination, SelectionPlan, plan_read};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// The index that a read names is not the cheapest way to its rows.
    ///
    /// `index: GSI1` on a read takes that index, whatever estimates and usual figures say of others. What that costs is told here, beside the
    /// cheapest way:
    ///
    /// ```yaml
    /// agentTickets:
    ///   find: Ticket
    ///   where: agent == args.agent && due <= args.to
    ///   index: byTenant                         # about 17.5 units; `byAgent` takes 2.5
    /// ```
    ///
    /// Way out: remove `index`; correct the estimates, if the other way is not cheaper; or accept it with the reason.
    "R024" "dearer-index" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let Some((index, span)) = read.pinned else { continue };
        let free = Read {
            pinned: None,
            ..read.clone()
        };
        let cheapest = plan_read(context.model, &free);
        let pairs = context.read_plan(read).combinations.iter().zip(&cheapest.combinations);
        let more = pairs.filter_map(|(pinned, free)| {
            let (pinned, free) = (own_plan(pinned)?, own_plan(free)?);
            let (takes, could) = (pinned.expected_cost().0, free.expected_cost().0);
            (pinned.is_answer() && free.is_answer() && takes > could).then_some((takes, could, free))
        });
        let Some((takes, could, free)) = more.max_by_key(|(takes, could, _)| takes - could) else {
            continue;
        };
        let name = context.model.index(index).map_or("", |index| index.name.as_str());
        let other = free.queries.first().and_then(|query| context.path_of(query));
        let other = other.map_or_else(|| "another way".to_owned(), |path| path.name());
        let message = format!(
            "`{}` names index `{name}`, for about {} units a page; {other} takes about {}",
            read.name,
            ReadUnits::from_halves(takes),
            ReadUnits::from_halves(could)
        );
        findings.push(findings.at(span, &read.name, message).help("remove `index`, or correct the estimates"));
    }
}

fn own_plan(combination: &Combination) -> Option<&SelectionPlan> {
    let mut parts = combination.parts.iter();
    parts.find(|part| part.name.is_none()).map(|part| part.plan.as_ref())
}
