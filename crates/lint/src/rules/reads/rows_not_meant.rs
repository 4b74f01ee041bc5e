use singlet_plan::by_hand::ByHand;
use singlet_plan::trial::Extra;

use crate::context::with_values;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A condition by hand reads rows that are not meant, and no filter drops them.
    ///
    /// A bound is missing or runs the wrong way, a prefix ends inside a value, the partition is another argument's, the filter is
    /// missing or says something else than the meaning: the rows come back among the answer, and whoever asked takes them for
    /// theirs.
    ///
    /// ```yaml
    /// where: user_id == caller.id && due < today && status != "done"
    /// using: {index: GSI1, key: {GSI1PK: "USER#{caller.id}", GSI1SK: {"<": "DUE#{today}#"}}}     # and those that are done
    /// ```
    ///
    /// The condition is tried: requests and rows are drawn near one another, and the message shows a row that is read, that the
    /// filter keeps, and of which a part of the meaning is not true. What `allow` says of a row counts for lists; whoever gets one row
    /// may ask that after reading it.
    ///
    /// Way out: put the rest of the meaning into `filter`, give the range both its ends, end the prefix with the delimiter; or
    /// leave `using` out.
    "R021" "rows-not-meant" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (by_hand, trial) in context.condition_trials() {
        if let Some(extra) = &trial.extra {
            report(by_hand, extra, findings);
        }
    }
}

fn report(by_hand: &ByHand<'_>, extra: &Extra, findings: &mut Findings<'_>) {
    let sent = with_values("with", &extra.request);
    let row = with_values("a row with", &extra.row);
    let kept = match by_hand.using.filter {
        Some(_) => "reads and keeps",
        None => "reads",
    };
    let message = format!(
        "{sent}, `{}` {kept} {row}, of which `{}` is not true",
        by_hand.read.name, extra.untrue
    );
    let help = match by_hand.using.filter {
        Some(_) => format!("add `{}` to the filter, narrow the key, or leave `using` out", extra.untrue),
        None => format!("add `filter: {}`, narrow the key, or leave `using` out", extra.untrue),
    };
    let span = by_hand.using.filter.as_ref().map_or(by_hand.using.span, |filter| filter.span);
    findings.push(findings.at(span, &by_hand.read.name, message).help(help));
}
