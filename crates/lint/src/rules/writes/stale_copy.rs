use singlet_model::model::Kept;
use singlet_plan::write::holder_key;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A copy of a value that changes, and nobody changes the copy.
    ///
    /// An attribute repeats another row's, so that a list needs no second read. When the original is renamed, the copies keep
    /// the old name for ever, and no read can tell.
    ///
    /// ```yaml
    /// ItemName: {copy: "Item(ItemId).Name"}
    /// ```
    ///
    /// Way out: say how it follows. `kept: transaction` where the holder's key follows from the source, `kept: frozen` where the
    /// value of that day is what is wanted. Where neither fits, read the original beside the row: `with`.
    "W009" "stale-copy" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        for attribute in &entity.attributes {
            let Some(copy) = attribute.copy.as_ref() else { continue };
            let Some(source) = context.model.entity(copy.entity) else { continue };
            if !context.changes_attribute(source, &copy.attribute) {
                continue;
            }
            if copy.kept == Kept::Transaction && holder_key(context.model, entity, copy).is_none() {
                let message = format!(
                    "`{}.{}` is to change with `{}.{}`, but nothing of `{}` says which rows hold it",
                    entity.name, attribute.name, source.name, copy.attribute, source.name
                );
                let help = "only holders whose whole key follows from the source change with it: say `kept: frozen`, or read the original under `with`";
                findings.push(findings.at(attribute.span, format!("{}.{}", entity.name, attribute.name), message).help(help));
            }
            if copy.kept != Kept::Unsaid {
                continue;
            }
            let message = format!(
                "`{}.{}` copies `{}.{}`, which changes, and nothing updates the copy",
                entity.name, attribute.name, source.name, copy.attribute
            );
            let help = "say `kept: transaction` where the holder's key follows from the source, or `kept: frozen` for a snapshot on purpose";
            findings.push(findings.at(attribute.span, format!("{}.{}", entity.name, attribute.name), message).help(help));
        }
    }
}
