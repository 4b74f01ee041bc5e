use singlet_cost::expected_read_units;
use singlet_model::model::Read;
use singlet_model::types::EntityId;
use singlet_plan::cost::{RequestCost, Worked};
use singlet_plan::read::Combination;

use crate::context::unit_figure;
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
    /// Reported is a budget that breaks whatever comes, because the least that the plan can cost is above it; or one that breaks
    /// as expected: estimates say how many rows there are and how large they are (`items`, `per`, `bytes`, `shares`), and with
    /// those the page costs more, rows that the filter drops included. Where estimates have only `bytes`, a page full of rows of that size is
    /// held against it. What breaks only at worst is [`over-budget-at-worst`](over-budget-at-worst.md). `singlet plan` shows the numbers.
    ///
    /// Way out: read less (a smaller `page` or `limit`, an index that binds more of the meaning, a narrower projection); drop
    /// `consistent`; or raise the budget.
    "C008" "over-budget" Error
}

/// What a read costs with one combination of its optional arguments, beside its budget.
pub(crate) struct Figures {
    /// At least.
    pub least: f64,
    /// As the estimates say, where they say it of all rows.
    pub expected: Option<f64>,
    /// With the largest rows that limits allow, where that is known.
    pub worst: Option<f64>,
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let Some((budget, span)) = read.budget else { continue };
        let plan = context.read_plan(read);
        let dearest = plan.combinations.iter().filter_map(|combination| {
            let (cost, how) = exceeded_budget(budget, &budget_figures(context, read, combination))?;
            Some((combination, cost, how))
        });
        let dearest = dearest.max_by(|(_, one, _), (_, other, _)| one.total_cmp(other));
        if let Some((combination, cost, how)) = dearest {
            let formulas: Vec<String> = combination.requests.iter().map(RequestCost::formula_text).collect();
            let message = format!(
                "`{}` has a budget of {budget} read units, and {how} {cost}: {}",
                read.name,
                formulas.join(" + ")
            );
            findings.push(findings.at(span, &read.name, message).help("read less, or raise the budget"));
        }
    }
}

/// What the first page of a read costs.
pub(crate) fn budget_figures(context: &Context<'_>, read: &Read, combination: &Combination) -> Figures {
    let worked = Worked::sum_requests(&combination.requests, context.row_sizes());
    let expected = match is_estimated(context, combination) {
        true => Some(expected_read_units(context.model, read, combination)),
        false => worked.usual.map(unit_figure),
    };
    Figures {
        least: unit_figure(worked.least),
        expected,
        worst: worked.most.map(unit_figure),
    }
}

/// Whether estimates say how many rows there are and how large they are, of every entity that is read.
fn is_estimated(context: &Context<'_>, combination: &Combination) -> bool {
    let model = context.model;
    let is_said = |id: &EntityId| {
        let source = model.entity(*id).map(|entity| model.source_of(entity));
        let estimate = source.and_then(|source| model.estimate_of(&source.name));
        estimate.is_some_and(|estimate| estimate.items.is_some() && estimate.bytes.is_some())
    };
    let mut entities = combination.requests.iter().flat_map(|request| &request.entities);
    entities.all(is_said)
}

/// What a read costs, if that is certainly, or as expected, more than its budget.
pub(crate) fn exceeded_budget(budget: f64, figures: &Figures) -> Option<(f64, &'static str)> {
    let least = Some((figures.least, "costs at least"));
    let expected = figures.expected.map(|expected| (expected, "is expected to cost"));
    least.into_iter().chain(expected).find(|(cost, _)| *cost > budget)
}
