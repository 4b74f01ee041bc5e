use singlet_model::model::{Let, LetValue, Selection, SelectionKind};
use singlet_plan::read::{OneRow, one_row, plan_selection};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// More than one row may fit where one is expected.
    ///
    /// A `get` means one row. Where nothing keeps a second one from fitting (its condition gives half of a key, or a value that no
    /// `unique` guards), the request is refused as soon as there are two: `several_rows`, 409.
    ///
    /// ```yaml
    /// key: {PK: "USER#{userId}", SK: "NOTE#{noteId}"}
    /// …
    /// get: Note
    /// where: userId == caller.id
    /// ```
    ///
    /// Way out: give the whole key; guard the value with `unique`; say by `order` which row is meant, and the first is taken; or
    /// `find` with a `limit`.
    "R016" "several-rows" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    for read in model.reads.iter().filter(|read| read.using.is_none()) {
        let plan = context.read_plan(read);
        let parts = plan.combinations.iter().flat_map(|combination| &combination.parts);
        let mut reported: Vec<Option<&str>> = Vec::new();
        for part in parts {
            let name = part.name.as_deref();
            let selection = match name {
                None => read.selection.as_ref(),
                Some(name) => read.with.iter().find(|with| with.name == name).map(|with| &with.selection),
            };
            let Some(selection) = selection.filter(|own| is_get(own) && !reported.contains(&name)) else {
                continue;
            };
            if one_row(model, selection, &part.plan) == OneRow::Unproven && !part.plan.queries.is_empty() {
                reported.push(name);
                report(context, findings, &read.name, selection);
            }
        }
        lets(context, findings, &read.name, &read.lets);
    }
    for write in &model.writes {
        lets(context, findings, &write.name, &write.lets);
    }
}

fn lets(context: &Context<'_>, findings: &mut Findings<'_>, subject: &str, lets: &[Let]) {
    for bound in lets {
        let LetValue::Read(selection) = &bound.value else { continue };
        let plan = plan_selection(context.model, selection, None, None, &|_| true);
        let Some(plan) = plan.filter(|plan| is_get(selection) && !plan.queries.is_empty()) else {
            continue;
        };
        if one_row(context.model, selection, &plan) == OneRow::Unproven {
            report(context, findings, subject, selection);
        }
    }
}

fn report(context: &Context<'_>, findings: &mut Findings<'_>, subject: &str, selection: &Selection) {
    let entity = selection.entity().and_then(|entity| context.model.entity(entity));
    let entity = entity.map_or("", |entity| entity.name.as_str());
    let message = format!("nothing keeps a second `{entity}` from fitting where `{subject}` expects one: two are refused");
    let help = "give the whole key, guard the value with `unique`, or say by `order` which row is meant";
    findings.push(findings.at(selection.span, subject, message).help(help));
}

fn is_get(selection: &Selection) -> bool {
    matches!(selection.kind, SelectionKind::Get { .. })
}
