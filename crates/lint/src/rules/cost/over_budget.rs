use singlet_plan::cost::{RequestCost, Worked};

use crate::context::units;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A read costs more than its budget.
    ///
    /// `budget` is a promise about the first page of a read, in read units: half a unit for each 4 KB that a request reads, a
    /// whole one where it reads strongly, at least one block for each request, and for each index partition that is asked.
    /// What a filter drops is paid for too.
    ///
    /// ```yaml
    /// task:
    ///   get: Task
    ///   consistent: true
    ///   budget: 0.5 read units                  # a strong get costs 1
    /// ```
    ///
    /// Reported is what is certain: the least that the plan can cost is above the budget; or what the estimates say of the
    /// rows (`bytes`), if they say it of all of them. Otherwise nothing is decided here. `singlet plan` shows the numbers.
    ///
    /// Way out: read less (a smaller `page` or `limit`, an index that binds more of the meaning, a narrower projection); drop
    /// `consistent`; or raise the budget.
    "C008" "over-budget" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let Some((budget, span)) = read.budget else { continue };
        let plan = context.plan(read);
        let dearest = plan.combinations.iter().filter_map(|combination| {
            let worked = Worked::sum(&combination.requests, context.sizes());
            exceeded(budget, &worked).map(|(cost, how)| (combination, cost, how))
        });
        let dearest = dearest.max_by(|(_, one, _), (_, other, _)| one.total_cmp(other));
        if let Some((combination, cost, how)) = dearest {
            let formulas: Vec<String> = combination.requests.iter().map(RequestCost::formula).collect();
            let message = format!(
                "`{}` has a budget of {budget} read units, and costs {how} {cost}: {}",
                read.name,
                formulas.join(" + ")
            );
            findings.push(findings.at(span, &read.name, message).help("read less, or raise the budget"));
        }
    }
}

/// What a read costs, if that is certainly, or by the estimates, more than its budget.
fn exceeded(budget: f64, worked: &Worked) -> Option<(f64, &'static str)> {
    let least = Some((units(worked.least), "at least"));
    let usual = worked.usual.map(|usual| (units(usual), "by the estimates"));
    least.into_iter().chain(usual).find(|(cost, _)| *cost > budget)
}
