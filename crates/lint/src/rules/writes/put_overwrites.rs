use singlet_model::model::StepKind;

use crate::steps::placed_steps;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A create replaces whatever row is there.
    ///
    /// `PutItem`, `BatchWriteItem` and a put in `TransactWriteItems` write over an item with the same key and report success, and
    /// `UpdateItem` changes it. Where a client chooses the id, or two requests choose the same, the second silently destroys the
    /// first one's row.
    ///
    /// ```yaml
    /// - create: Item
    ///   take: [itemId, name]
    ///   using: {call: PutItem}
    /// ```
    ///
    /// Way out: put with the condition that there is none (`attribute_not_exists(PK)`), and say `condition: true`. A batch
    /// takes no conditions: use `PutItem` or `TransactWriteItems`. Without `using`, Singlet always sends the condition.
    "W001" "put-overwrites" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed_steps(context.model) {
        let (Some(using), StepKind::Create(entity)) = (&placed.step.using, &placed.step.kind) else {
            continue;
        };
        let batch = using.call == "BatchWriteItem";
        if using.condition || using.call == "DeleteItem" {
            continue;
        }
        let entity = context.model.catalog.name(*entity);
        let message = format!("`{}` creates `{entity}` with {} and no condition, so it writes over a row that is there", placed.owner, using.call);
        let help = match batch {
            true => "use PutItem or TransactWriteItems with `attribute_not_exists`: a batch takes no conditions",
            false => "add the condition `attribute_not_exists`, and say `condition: true`",
        };
        findings.push(findings.at(using.span, placed.owner, message).help(help));
    }
}
