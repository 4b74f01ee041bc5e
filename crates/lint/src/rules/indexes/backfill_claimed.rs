use singlet_model::model::{Entity, Index, IndexId, KeyTemplate};

use crate::context::index_subject;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A new index is said to fill itself with rows that do not have its key.
    ///
    /// DynamoDB fills a new index with the rows that already carry its key attributes. Attributes that only a template makes
    /// are in no older row: each must be written again before it appears, and until then reads of the index are short.
    ///
    /// ```yaml
    /// GSI1:
    ///   partition: GSI1PK
    ///   sort: GSI1SK
    ///   claim: {backfilled: true}
    /// …
    /// GSI1: {GSI1PK: "USER#{userId}#SEASON#{season}", GSI1SK: "{createdAt}"}
    /// ```
    ///
    /// Way out: write the older rows again, and count them; or let the index name attributes that rows already have
    /// (`partition: [userId, season], sort: createdAt`), and DynamoDB does fill it.
    "I015" "backfill-claimed" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (at, index) in context.model.table.indexes.iter().enumerate() {
        let (Some(span), Ok(at)) = (index.claims_backfilled, u32::try_from(at)) else {
            continue;
        };
        let mut entities = context.model.entities.iter();
        let made = entities.find_map(|entity| Some((entity, made_key(context, entity, (IndexId(at), index))?)));
        let Some((entity, key)) = made else { continue };
        let message = format!(
            "older rows of `{}` are not in index `{}`: they have no `{}`, which its template makes",
            entity.name, index.name, key.attribute
        );
        let help = "write the older rows again, or let the index name attributes that they already have";
        findings.push(findings.at(span, index_subject(index), message).help(help));
    }
}

/// A key attribute that only the index's template puts into rows of an entity.
fn made_key<'a>(context: &Context<'_>, entity: &'a Entity, (id, index): (IndexId, &Index)) -> Option<&'a KeyTemplate> {
    let primary = |name: &str| context.model.table.key.iter().any(|key| key.name == name);
    let choices = entity.index_entry(id)?.key_choices();
    let mut keys = choices
        .iter()
        .flat_map(|choice| &choice.keys)
        .filter(|key| index.key().any(|known| known.name == key.attribute));
    keys.find(|key| !primary(&key.attribute) && entity.attribute_stored_as(&key.attribute).is_none())
}
