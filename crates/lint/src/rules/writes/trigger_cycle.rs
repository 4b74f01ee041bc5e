use singlet_plan::write::trigger_cycles;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// Writes run after one another in a circle.
    ///
    /// What a write that runs after a change does is a change too, and may have others run. Where they come back to where they began,
    /// one change may set off runs for ever; each of them costs. What such a write finds to do may end the circle (`when`, `require`,
    /// a state that only goes forward), but nobody has shown that it does. While it runs, a row after whose changes a write has run
    /// more than a hundred times in a minute is parked.
    ///
    /// ```yaml
    /// touch:
    ///   after: {update: Task}
    ///   let: {task: Task(row.id)}
    ///   do: [{update: task, add: {touched: 1}}]      # an update of a task
    /// ```
    ///
    /// It looks at which rows and attributes steps write, not at conditions.
    ///
    /// Way out: run it after one attribute that it does not write (`update: Task.status`), or after `enter` of a state that it leaves.
    /// Where something ends the circle, accept the finding with that reason.
    "W027" "trigger-cycle" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for cycle in trigger_cycles(context.model) {
        let Some((first, others)) = cycle.split_first() else { continue };
        let way = cycle.iter().chain([first]).map(|write| format!("`{}`", write.name));
        let way = way.collect::<Vec<_>>().join(" → ");
        let message = match others.is_empty() {
            true => format!("`{}` runs after what it does itself: {way}", first.name),
            false => format!("writes run after one another in a circle: {way}"),
        };
        let help = "name an attribute or a state that it does not write itself, or accept the finding and say what ends it";
        let span = first.after.as_ref().map_or(first.span, |after| after.span);
        findings.push(findings.at(span, &first.name, message).help(help));
    }
}
