use crate::{Context, Findings, design_rule};

design_rule! {
    /// A condition by hand could not be compared with the meaning, or not wholly.
    ///
    /// Conditions are compared by trying them: requests and rows are drawn, and what is read is held against what is meant. Where
    /// nothing can be drawn, or only for some of the optional arguments, silence would pass for a proof.
    ///
    /// ```yaml
    /// args: {from: date?}
    /// where: user_id == caller.id && due >= args.from
    /// using: {index: GSI1, key: {GSI1PK: "USER#{caller.id}", GSI1SK: {">=": "DUE#{args.from}"}}}     # and without `from`?
    /// ```
    ///
    /// Way out: make a read of its own for each way of asking (`combinations:` says which there are); write plain values of the
    /// request into the template; or leave `using` out.
    "R022" "not-compared" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (by_hand, trial) in context.condition_trials() {
        // What meets no key is said by its own rule, and nothing is left to compare.
        let Some(reason) = trial.undecided.as_ref().filter(|_| !super::never_matches::speaks_of(context, by_hand)) else {
            continue;
        };
        let message = format!("the condition of `{}` is not compared with its meaning: {reason}", by_hand.read.name);
        let help = "say it in values that the request has, make a read for each way of asking, or leave `using` out";
        findings.push(findings.at(by_hand.using.span, &by_hand.read.name, message).help(help));
    }
}
