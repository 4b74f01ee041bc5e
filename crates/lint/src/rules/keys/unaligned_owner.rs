use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Entity, Read, Selection, SelectionKind};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A list is of the caller's own rows, but no partition key has the owner.
    ///
    /// `allow: owner == caller.id` on a `find` makes the rows of others invisible. Where no key, of the table, an index or a
    /// mirror, has the owner in its partition, the rows of all owners are read and paid for and most are dropped, and the
    /// isolation of one owner from another rests on a filter instead of on the key.
    ///
    /// ```yaml
    /// key: {PK: "PROJECT#{projectId}", SK: "TASK#{taskId}"}
    /// find: Task
    /// where: projectId == args.projectId
    /// allow: ownerId == caller.id
    /// ```
    ///
    /// Way out: an index, or a key, with the owner in its partition (`OWNER#{ownerId}`). Where the rows of others are few, it
    /// is fine as it is.
    "K014" "unaligned-owner" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        if let Some(selection) = &read.selection {
            look_at(context, findings, read, (selection, &read.allow));
        }
        for part in &read.with {
            if let Some(allow) = &part.allow {
                look_at(context, findings, read, (&part.selection, allow));
            }
        }
    }
}

fn look_at(context: &Context<'_>, findings: &mut Findings<'_>, read: &Read, (selection, allow): (&Selection, &Expr)) {
    let enumerated = matches!(selection.kind, SelectionKind::Find | SelectionKind::Count);
    let entity = selection.entity().and_then(|entity| context.model.entity(entity));
    let Some(entity) = entity.filter(|_| enumerated) else {
        return;
    };
    for conjunct in allow.conjuncts() {
        let Some(owner) = owner(conjunct).filter(|owner| !is_in_partition(context, entity, owner)) else {
            continue;
        };
        let message = format!(
            "`{}` lists `{}` rows whose `{owner}` is the caller, and no partition key has `{owner}`",
            read.name, entity.name
        );
        findings.push(
            findings
                .at(conjunct.span, read.name.clone(), message)
                .note(entity.span, format!("the keys of `{}`", entity.name))
                .help(format!(
                    "add an index with `{owner}` in its partition key, if others have many rows"
                )),
        );
    }
}

/// The attribute that a condition compares with something of the caller.
fn owner(condition: &Expr) -> Option<&str> {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &condition.kind else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Attribute(name), ExprKind::Caller(_)) | (ExprKind::Caller(_), ExprKind::Attribute(name)) => {
            Some(name)
        }
        _ => None,
    }
}

fn is_in_partition(context: &Context<'_>, entity: &Entity, attribute: &str) -> bool {
    let paths = context.entity_paths(entity.id);
    let mut parts = paths
        .iter()
        .flat_map(|path| path.partition_templates())
        .flat_map(|key| &key.parts);
    parts.any(|part| part.root_attribute() == attribute)
}
