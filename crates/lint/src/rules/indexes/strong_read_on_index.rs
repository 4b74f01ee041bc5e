use singlet_model::Span;
use singlet_model::model::Index;
use singlet_plan::read::Why;

use crate::context::Asked;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A strong read is asked of a global index.
    ///
    /// A global index follows the table with a delay and has no strong reads: DynamoDB refuses the request. A read right
    /// after a write may miss the row, or see it as it was.
    ///
    /// ```yaml
    /// userByEmail:
    ///   get: User
    ///   where: email == args.email              # only GSI1 has the email
    ///   consistent: true
    /// ```
    ///
    /// Way out: remove `consistent`, and let callers know that the answer may be old; or give the table a row under that key,
    /// by a mirror, which is written in the same transaction and can be read strongly.
    "I006" "strong-read-on-index" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked_rows() {
        let Some(span) = asked_at(&asked) else { continue };
        let Some(index) = only_index(context, &asked) else {
            continue;
        };
        let message = format!(
            "`{}` asks for a strong read of index `{}`, which has none",
            asked.name, index.name
        );
        let help = "remove `consistent`, or mirror the row under that key in the table";
        findings.push(findings.at(span, asked.name, message).help(help));
    }
}

fn asked_at(asked: &Asked<'_>) -> Option<Span> {
    let own = asked.own_read().and_then(|read| read.consistent);
    own.or_else(|| asked.selection.consistent.then_some(asked.selection.span))
}

/// The global index without which the rows are not found.
fn only_index<'a>(context: &Context<'a>, asked: &Asked<'a>) -> Option<&'a Index> {
    if let Some(using) = asked.own_read().and_then(|read| read.using.as_ref()) {
        return context.model.index(using.index?).filter(|index| !index.local);
    }
    let answers = context.answers_of(asked);
    let lost = answers.iter().filter(|answer| answer.plan.is_unanswered());
    let mut lost = lost.flat_map(|answer| &answer.plan.others);
    let eventual = lost.find(|lost| lost.why == Why::Eventual)?;
    context.model.index(eventual.index?)
}
