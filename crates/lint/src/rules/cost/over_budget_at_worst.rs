use super::over_budget::{exceeded_budget, budget_figures};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A read keeps its budget as expected, and not at worst.
    ///
    /// The worst that the first page of a read can cost follows from limits: as many rows as a page has, each as large as its
    /// attributes allow, for each value that a list may have. Estimates say what is usual; a caller with long texts, or one who sends the
    /// longest list, pays more.
    ///
    /// ```yaml
    /// tasks:
    ///   find: Task                              # text: string 1..500, estimated at 800 bytes a row
    ///   page: 20
    ///   budget: 2 read units                    # expected 2, at worst 5.5
    /// ```
    ///
    /// Where nothing limits a row or a list, or a filter may drop any number of rows, there is no worst figure, and nothing is said.
    /// A budget that breaks as expected is [`over-budget`](over-budget.md).
    ///
    /// Way out: a smaller `page`, tighter limits on what rows hold and on lists of arguments; a budget for the worst; or accept it with the reason.
    "C012" "over-budget-at-worst" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let Some((budget, span)) = read.budget else { continue };
        let all = context.read_plan(read).combinations.iter();
        let figures: Vec<_> = all.map(|combination| budget_figures(context, read, combination)).collect();
        if figures.iter().any(|figures| exceeded_budget(budget, figures).is_some()) {
            continue;
        }
        let worst = figures
            .iter()
            .filter_map(|figures| Some((figures.worst?, figures.expected)))
            .filter(|(worst, _)| *worst > budget)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        if let Some((worst, expected)) = worst {
            let kept = match expected {
                Some(expected) => format!("keeps it as expected ({expected})"),
                None => "keeps it at the least".to_owned(),
            };
            let message = format!(
                "`{}` has a budget of {budget} read units, {kept}, and costs {worst} at worst",
                read.name
            );
            let help = "limit what a page or its rows can hold, or raise the budget";
            findings.push(findings.at(span, &read.name, message).help(help));
        }
    }
}
