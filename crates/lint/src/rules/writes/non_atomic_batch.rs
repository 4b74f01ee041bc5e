use singlet_model::model::{UsingCall, Write};
use singlet_plan::write::step_actions;

use crate::steps::placed_in;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write is one operation, and its calls can be done in part.
    ///
    /// A write happens whole or not at all, whether or not a document says that it is atomic; only `bulk: true` says otherwise.
    /// A batch succeeds in parts: what was throttled comes back as `UnprocessedItems`, the rest is written. Several single
    /// calls end where the process ends. Either way somebody will read half of it.
    ///
    /// ```yaml
    /// do:
    ///   - create: Item
    ///     using: {call: BatchWriteItem}
    ///   - create: Activity
    ///     using: {call: BatchWriteItem}
    /// ```
    ///
    /// Way out: `TransactWriteItems` for all of it, up to 100 items; without `using`, that is what a write is. `bulk: true`
    /// is for more than that, and is not atomic.
    "W010" "non-atomic-batch" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for write in &context.model.writes {
        let Some((how, at)) = in_parts(context, write) else { continue };
        // A write is one operation, all or nothing, unless it says `bulk`; a claim says it of that too.
        let (said, span) = match (write.claim.atomic, at) {
            (Some(claimed), _) => ("is said to be atomic", claimed),
            (None, Some(using)) if !write.bulk => ("is one operation", using.span),
            (None, _) => continue,
        };
        let message = format!("`{}` {said}, but {how}", write.name);
        let help = "use TransactWriteItems for all of it: up to 100 items, all or nothing";
        let mut finding = findings.at(span, &write.name, message).help(help);
        if let Some(using) = at.filter(|_| write.claim.atomic.is_some()) {
            finding = finding.note(using.span, "this call can be done alone");
        }
        findings.push(finding);
    }
}

/// How the write falls into parts, where it does.
fn in_parts<'a>(context: &Context<'a>, write: &'a Write) -> Option<(String, Option<&'a UsingCall>)> {
    if write.bulk {
        return Some(("`bulk: true` makes it several transactions".to_owned(), None));
    }
    let mut batch: (u64, Option<&UsingCall>) = (0, None);
    let mut single: (u64, Option<&UsingCall>) = (0, None);
    for placed in placed_in(write) {
        let Some(using) = &placed.step.using else { continue };
        let calls = match using.call.as_str() {
            "BatchWriteItem" => &mut batch,
            "PutItem" | "UpdateItem" | "DeleteItem" => &mut single,
            _ => continue,
        };
        let repeated = if placed.is_repeated() { 2 } else { 1 };
        calls.0 += step_actions(context.model, write, placed.step) * repeated;
        calls.1.get_or_insert(using);
    }
    match (batch.0, single.0) {
        (0, 0 | 1) | (1, 0) => None,
        (0, _) => Some(("makes several calls that can fail one by one".to_owned(), single.1)),
        _ => Some(("a BatchWriteItem can succeed in parts".to_owned(), batch.1)),
    }
}
