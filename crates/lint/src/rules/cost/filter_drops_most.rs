use singlet_cost::figure_text;
use singlet_plan::read::Query;
use singlet_plan::show::show_expression;

use crate::answers::in_combination;
use crate::context::enumerated_names;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A filter throws most of what is read away.
    ///
    /// A filter is applied after rows are read and billed. Where few rows of a partition are meant, a page reads on through all the
    /// others until it is full:
    ///
    /// ```yaml
    /// heldTickets:
    ///   find: Ticket                                                    # byAgent: {AP: "A#{agent}", AS: "{due}#{id}"}
    ///   where: agent == args.agent && state == "held"                   # shares: {state: {held: 0.02, …}}
    /// ```
    ///
    /// reads fifty tickets for each that it keeps. `singlet plan --why` shows what other ways would take; this is the cheapest that there is.
    ///
    /// Reported is what estimates say (`per` and `shares` of every attribute that the filter is about): fewer than one row in five
    /// is kept, and what is read for nothing costs more than two units a page. Without such estimates nothing is said. A read that is a `scan`
    /// has said why.
    ///
    /// Way out: an index whose key has what is filtered by (`AS: "{state}#{due}#{id}"`), or one that holds only the rows that are meant (`when:
    /// state == "held"`); or accept it with the reason.
    "C013" "filter-drops-most" Warning
}

/// Of so many rows that are read one is kept: more are too many.
const ROWS_FOR_ONE_MAX: f64 = 5.0;
/// What rows that are dropped may cost a page, in half units.
const DROPPED_HALF_UNITS_MAX: f64 = 4.0;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked_rows() {
        let answers = context.answers_of(&asked);
        let mut worst: Option<(f64, String)> = None;
        for answer in &answers {
            for query in answer.plan.queries.iter().filter(|query| !query.scan) {
                let Some(for_one) = rows_for_one(query) else { continue };
                if worst.as_ref().is_none_or(|(known, _)| for_one > *known) {
                    worst = Some((for_one, message(asked.name, &in_combination(&asked, answer), query, for_one)));
                }
            }
        }
        if let Some((_, message)) = worst {
            let help = "put what is filtered by into the key of an index, or hold the rows that are meant in one of their own (`when`)";
            findings.push(findings.at(asked.selection.span, asked.name, message).help(help));
        }
    }
}

/// How many rows are read for each that is kept, where estimates say that it is too many.
fn rows_for_one(query: &Query) -> Option<f64> {
    let expected = &query.expected;
    let share = expected.kept_share.filter(|share| *share > 0.0)?;
    let dropped = expected.half_units as f64 * (1.0 - share);
    let for_one = 1.0 / share;
    (for_one > ROWS_FOR_ONE_MAX && dropped > DROPPED_HALF_UNITS_MAX).then_some(for_one)
}

fn message(name: &str, combination: &str, query: &Query, for_one: f64) -> String {
    let filter: Vec<String> = query.rest.iter().map(|part| format!("`{}`", show_expression(part))).collect();
    format!(
        "`{name}`{combination} reads about {} rows for each that {} keeps: about {} rows and {} units a page",
        figure_text(for_one),
        enumerated_names(&filter),
        figure_text(query.expected.rows_read),
        query.expected.units()
    )
}
