use singlet_cost::{Operation, PlaceLoad, capacity_needed, expected_operations, figure_text};
use singlet_model::model::Billing;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// By the estimates, the table or an index gets more units than it is provisioned with.
    ///
    /// What is over the provisioned units of a table or an index is throttled, beyond what it saved up in the last five minutes. A
    /// write that an index has no units for is throttled on the table too. Compared is the rate of each operation, or its `peak`
    /// where that is estimated, times the units of a run at this place.
    ///
    /// ```yaml
    /// billing: {read: 25, write: 25}
    /// estimates:
    ///   Item: {bytes: 2000}
    ///   createItem: 20/s                    # of two units each: 40
    /// ```
    ///
    /// It needs `estimates`: an operation without a rate is not counted.
    ///
    /// Way out: provision what `singlet capacity` says, bill on demand, or correct the estimate.
    "C011" "too-few-units" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    let is_rated = model.estimates.iter().any(|estimate| estimate.rate.is_some());
    if model.table.billing == Billing::OnDemand || !is_rated {
        return;
    }
    // A peak that nobody said is none.
    let operations = expected_operations(model).into_iter().map(|operation| {
        let said = model.estimate_of(&operation.name).and_then(|estimate| estimate.peak);
        let rate = operation.rate.unwrap_or(0.0);
        Operation {
            peak: said.map_or(rate, |peak| peak.per_second()),
            ..operation
        }
    });
    let operations: Vec<Operation> = operations.collect();
    for place in capacity_needed(model, &operations, 1.0).places {
        report(context, findings, &place);
    }
}

fn report(context: &Context<'_>, findings: &mut Findings<'_>, place: &PlaceLoad) {
    let Some(declared) = place.declared else { return };
    let table = &context.model.table;
    let index = table.indexes.iter().find(|index| index.name == place.place);
    let (what, subject, span) = match index {
        Some(index) => (format!("index `{}`", index.name), format!("table.{}", index.name), index.span),
        None => ("the table".to_owned(), "table".to_owned(), table.spans.billing.unwrap_or(table.span)),
    };
    let sides = [
        ("read", place.peak.read, declared.read, place.provision.read),
        ("write", place.peak.write, declared.write, place.provision.write),
    ];
    for (kind, needed, declared, provision) in sides {
        if needed <= declared as f64 {
            continue;
        }
        let message = format!(
            "by the estimates {what} gets {} {kind} units a second, and is provisioned with {declared}",
            figure_text(needed)
        );
        let help = format!("provision {provision}, or correct the estimates; `singlet capacity` shows what takes them");
        findings.push(findings.at(span, &subject, message).help(help));
    }
}
