use singlet_model::model::KeyPart;

use crate::context::listed_names;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An attribute in an index key changes after the row was created.
    ///
    /// An entry cannot move: a change of its key deletes one entry and writes another, so the index takes two writes where
    /// an unchanged key takes one. Readers may see neither entry, or both, for a moment.
    ///
    /// ```yaml
    /// GSI1: {GSI1PK: "USER#{user_id}", GSI1SK: "STATUS#{status}#{task_id}"}     # `status` moves
    /// ```
    ///
    /// It is often what an index is for. Know what it costs: `singlet plan` counts both writes.
    ///
    /// Way out, where it matters: order by what stays (the time of creation), and filter by what changes.
    "I001" "mutable-index-key" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for path in context.own_paths() {
        let Some(index) = path.index else { continue };
        if context.model.source_of(path.entity).history.is_some() {
            continue; // an update writes a new row, with an entry of its own
        }
        let parts = path.choice.keys.iter().flat_map(|key| &key.parts);
        let mut changing: Vec<&KeyPart> = parts.filter(|part| context.changes_attribute(path.entity, part.root_attribute())).collect();
        changing.dedup_by(|one, other| one.path == other.path);
        let Some(first) = changing.first() else { continue };
        let names = listed_names(changing.iter().map(|part| part.path.as_str()));
        let verb = if changing.len() == 1 { "changes" } else { "change" };
        let message = format!("{names} {verb}: each change costs two writes in index `{}`", index.name);
        let help = "leave it out of the key where rows need not be found or ordered by it";
        findings.push(findings.at(first.span, context.path_subject(&path), message).help(help));
    }
}
