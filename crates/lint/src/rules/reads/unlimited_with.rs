use singlet_model::model::SelectionKind;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A list that comes with a row has no limit.
    ///
    /// An answer pages one list. Any other list that comes `with` it is read whole, on every request, however long it grew; past
    /// 10,000 rows the request is refused.
    ///
    /// ```yaml
    /// get: Item
    /// with:
    ///   reservations: {find: Reservation, where: itemId == row.itemId}
    /// ```
    ///
    /// Way out: `limit: 20` on the list; or `pages: reservations` on the read, which pages it.
    "R010" "unlimited-with" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let lists = read
            .with
            .iter()
            .filter(|part| part.selection.kind == SelectionKind::Find);
        let unlimited =
            lists.filter(|part| part.selection.limit.is_none() && read.pages.as_deref() != Some(&part.name));
        for part in unlimited {
            let message = format!("`{}` is read whole with every `{}`", part.name, read.name);
            let help = format!("add `limit` to it, or `pages: {}` to the read", part.name);
            findings.push(findings.at(part.span, &read.name, message).help(help));
        }
    }
}
