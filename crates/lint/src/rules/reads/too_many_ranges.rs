use singlet_plan::bounds::Bounds;
use singlet_plan::read::{CIRCLE_LATITUDE_DEGREES_MAX, Factor, FactorKind, Query};

use crate::answers;
use crate::context::{Asked, counted_thing};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A request may ask for more item collections than are read at once.
    ///
    /// Each element of a list, each day of a range and each cell of a circle that stands in a key is a query of its own. One
    /// selection makes 200 at most. How many a request makes must follow from the model, or some request would be refused that its
    /// arguments allow: from the limit of a list, from two ends that are a known number of days apart, from the greatest distance.
    ///
    /// ```yaml
    /// key: {PK: "DAY#{day}", SK: "{sensor}"}
    /// …
    /// readings:
    ///   args: {from: date, to: date}
    ///   where: day >= args.from && day <= args.to               # ten years are 3,653 queries
    /// ```
    ///
    /// Values that stand in several parts of a key count once. Circles are counted up to 70° of latitude: toward the poles cells
    /// get so narrow that no number covers a circle everywhere, and a request there may be refused.
    ///
    /// Way out: a limit on the list (`list(ulid) 1..100`); another end that limits the days, whatever is sent
    /// (`&& day <= args.from + days(92)`), or a number of days in place of the end; a coarser geohash, or a limit on the distance;
    /// `each` with `at_most`; or a key with what is fixed in the partition and what is ranged over in the sort key.
    "R018" "too-many-ranges" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked_rows() {
        let answers = context.answers_of(&asked);
        let Some((answer, query)) = answers.iter().find_map(|answer| Some((answer, answer.plan.excess()?))) else {
            continue;
        };
        let which = answers::in_combination(&asked, answer);
        let finding = findings.at(asked.selection.span, asked.name, message(&asked, &which, query));
        findings.push(finding.help(help(query)));
    }
}

fn message(asked: &Asked<'_>, which: &str, query: &Query) -> String {
    let ranges_max = Bounds::USUAL.ranges_max;
    let name = asked.name;
    match query.reach.most {
        None => {
            let open: Vec<String> = query.reach.factors.iter().map(unlimited).collect();
            let open = open.join(", and ");
            format!("`{name}`{which} may ask for any number of item collections, of at most {ranges_max}: {open}")
        }
        Some(most) => {
            let factors: Vec<String> = query.reach.factors.iter().map(limited).collect();
            let many = match most {
                u64::MAX => "far too many item collections".to_owned(),
                most => counted_thing(most, "item collection"),
            };
            format!("`{name}`{which} may ask for {many}, of at most {ranges_max}: {}", factors.join(" × "))
        }
    }
}

fn unlimited(factor: &Factor) -> String {
    match factor.kind {
        FactorKind::List => format!("nothing limits the elements of `{}`", factor.of),
        FactorKind::Days => format!("nothing limits how far apart the ends of `{}` are ({})", factor.path, factor.of),
        FactorKind::Cells => format!("nothing limits the distance `{}`", factor.of),
        FactorKind::Values => format!("nothing limits `{}`", factor.path),
    }
}

fn limited(factor: &Factor) -> String {
    let most = factor.most.unwrap_or(u64::MAX);
    match factor.kind {
        FactorKind::List => format!("{most} of `{}`", factor.of),
        FactorKind::Days => format!("{most} for `{}` ({})", factor.path, factor.of),
        FactorKind::Cells => format!(
            "{most} cells of `{}` for a distance of up to `{}`, at {CIRCLE_LATITUDE_DEGREES_MAX}° of latitude",
            factor.path, factor.of
        ),
        FactorKind::Values => format!("{most} of `{}`", factor.path),
    }
}

fn help(query: &Query) -> String {
    let widest = query.reach.factors.iter().max_by_key(|factor| factor.most.unwrap_or(u64::MAX));
    let Some(widest) = widest else { return String::new() };
    match widest.kind {
        FactorKind::List => format!("limit how many elements `{}` may have, such as `1..100` after its type", widest.of),
        FactorKind::Days => "add an end that lies a limited time after the other (`… <= args.from + days(92)`), or take a list with \
             a limit; or answer day by day, with `each` and `at_most`"
            .to_owned(),
        FactorKind::Cells => "limit the distance, or use a geohash of fewer characters".to_owned(),
        FactorKind::Values => "let the meaning fix one of them".to_owned(),
    }
}
