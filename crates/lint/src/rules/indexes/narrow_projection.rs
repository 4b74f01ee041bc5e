use std::collections::HashSet;

use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Index, KeyPart, Projection, Return, SelectionKind};
use singlet_plan::by_hand::ByHand;

use crate::context::listed_names;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An index does not carry what the read by hand returns or filters by.
    ///
    /// A query of a global index sees its entries and nothing else. Attributes that are not projected are missing from the
    /// answer, and a filter on one is decided as if the row did not have it.
    ///
    /// ```yaml
    /// byStatus: {partition: status, sort: id, project: keys}
    /// …
    /// find: Order                     # all attributes
    /// using: {index: byStatus, key: {status: "{args.status}"}}
    /// ```
    ///
    /// Way out: `project: [total, …]` on the index; or `return` only what it carries; or leave `using` out, and the rows are
    /// got from the table by the keys that the index gives.
    "I005" "narrow-projection" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        let Some(index) = by_hand
            .index
            .filter(|index| !index.local && index.projection != Projection::All)
        else {
            continue;
        };
        let carried = carried(context, by_hand, index);
        let missing: Vec<&str> = needed(by_hand)
            .into_iter()
            .filter(|name| !carried.contains(name))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let names = listed_names(missing.iter().copied());
        let message = format!(
            "index `{}` does not carry {names}, which `{}` needs",
            index.name, by_hand.read.name
        );
        let help = format!("project it in `{}`, return less, or leave `using` out", index.name);
        findings.push(findings.at(by_hand.using.span, &by_hand.read.name, message).help(help));
    }
}

/// The attributes that entries of an index hold: projected, or readable from a key.
fn carried<'a>(context: &Context<'a>, by_hand: &ByHand<'a>, index: &Index) -> HashSet<&'a str> {
    let mut stored: HashSet<&str> = context.model.table.key.iter().map(|key| key.name.as_str()).collect();
    stored.extend(index.key().map(|key| key.name.as_str()));
    if let Projection::Include(names) = &index.projection {
        stored.extend(names.iter().map(String::as_str));
    }
    let entity = by_hand.entity;
    let projected = entity
        .attributes
        .iter()
        .filter(|attribute| stored.contains(attribute.name.as_str()) || attribute.stored_name().is_some_and(|name| stored.contains(name)));
    let in_index = by_hand.met.iter().flat_map(|path| &path.choice.keys);
    let keys = in_index.chain(entity.key_templates());
    let readable = keys
        .flat_map(|key| &key.parts)
        .filter(|part| is_readable(part))
        .map(|part| part.path.as_str());
    projected
        .map(|attribute| attribute.name.as_str())
        .chain(readable)
        .collect()
}

/// Whether the attribute can be read back from the key.
fn is_readable(part: &KeyPart) -> bool {
    use singlet_model::model::PartFunction::{Desc, Ordered, Plain, Rank, Raw};
    matches!(part.function, None | Some(Desc | Ordered | Plain | Rank | Raw))
}

fn needed<'a>(by_hand: &ByHand<'a>) -> Vec<&'a str> {
    let mut names: Vec<&'a str> = by_hand.using.filter.iter().flat_map(Expr::attributes).collect();
    names.extend(answered(by_hand));
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    let alias = |name: &str| {
        by_hand
            .entity
            .attribute(name)
            .is_some_and(|attribute| attribute.alias.is_some())
    };
    names.retain(|name| !alias(name));
    names
}

fn answered<'a>(by_hand: &ByHand<'a>) -> Vec<&'a str> {
    let selection = by_hand.selection;
    if selection.kind == SelectionKind::Count {
        let sums = selection.sums.iter().flat_map(|(_, sum)| sum.attributes());
        return selection.by.iter().map(String::as_str).chain(sums).collect();
    }
    let exprs: Vec<&'a Expr> = match &by_hand.read.returns {
        Return::Usual => return all(by_hand.entity),
        Return::Nothing => Vec::new(),
        Return::Value(expr) => vec![expr],
        Return::Fields(fields) => fields.iter().map(|(_, expr)| expr).collect(),
    };
    let whole = exprs
        .iter()
        .any(|expr| expr.any(|part| matches!(part.kind, ExprKind::Row | ExprKind::Word(_))));
    match whole {
        true => all(by_hand.entity),
        false => exprs.into_iter().flat_map(Expr::attributes).collect(),
    }
}

fn all(entity: &Entity) -> Vec<&str> {
    entity
        .attributes
        .iter()
        .map(|attribute| attribute.name.as_str())
        .collect()
}
