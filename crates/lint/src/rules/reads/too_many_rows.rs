use singlet_model::model::SelectionKind;
use singlet_plan::bounds::Bounds;
use singlet_plan::read::Query;

use crate::answers;
use crate::context::{Asked, counted_thing};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// By the estimates, an answer without pages looks at more rows than one answer may.
    ///
    /// A list is cut into pages, however many rows it goes through. A `count`, a `get` and a list that comes `with` a row have no
    /// cursor: they are read to their end, and past 1,000,000 rows the request is refused. Long before that it is slow, and
    /// costs as much as all the rows that it looks at.
    ///
    /// ```yaml
    /// estimates:
    ///   Vote: {per: {pollId: 2000000}}
    /// …
    /// votes:
    ///   count: Vote
    ///   where: pollId == args.pollId
    /// ```
    ///
    /// Way out: keep the number in a row of its own, which the writes add to; put more of the meaning into the key, so that fewer
    /// rows are looked at; or page a list.
    "R023" "too-many-rows" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let rows_max = Bounds::USUAL.read_rows_max as u64;
    for asked in context.asked_rows().into_iter().filter(has_no_pages) {
        let answers = context.answers_of(&asked);
        let many = answers.iter().find_map(|answer| {
            let queries = answer.plan.queries.iter();
            let rows: Vec<u64> = queries.map(|query| rows_looked_at(context, query)).collect::<Option<_>>()?;
            let rows = rows.into_iter().fold(0, u64::saturating_add);
            (rows > rows_max).then_some((answer, rows))
        });
        let Some((answer, rows)) = many else { continue };
        let name = asked.name;
        let which = answers::in_combination(&asked, answer);
        let rows = counted_thing(rows, "row");
        let message = format!("`{name}`{which} looks at {rows} by the estimates, of at most {rows_max}");
        let help = match asked.selection.kind {
            SelectionKind::Count => "keep the number in a row that the writes add to",
            SelectionKind::Get { .. } => "put what tells the row into its key",
            SelectionKind::Find => "add `limit` to it, or `pages` to the read",
        };
        findings.push(findings.at(asked.selection.span, name, message).help(help));
    }
}

/// Whether it is read to its end: a list of a read's own has pages, and one with a limit ends there.
fn has_no_pages(asked: &Asked<'_>) -> bool {
    match asked.selection.kind {
        SelectionKind::Count | SelectionKind::Get { .. } => true,
        SelectionKind::Find => asked.own_read().is_none() && asked.selection.limit.is_none() && !is_paged(asked),
    }
}

fn is_paged(asked: &Asked<'_>) -> bool {
    let Some(read) = asked.read else { return false };
    let paged = read.with.iter().find(|part| Some(&part.name) == read.pages.as_ref());
    paged.is_some_and(|part| std::ptr::eq(&part.selection, asked.selection))
}

/// How many rows one range of a query has, where an estimate says it of something that the query fixes.
fn rows_looked_at(context: &Context<'_>, query: &Query) -> Option<u64> {
    let entity = context.model.entity(query.entity)?;
    let estimate = context.model.estimate_of(&context.model.source_of(entity).name)?;
    if query.is_get() {
        return Some(1);
    }
    if query.scan {
        return estimate.items;
    }
    let is_fixed = |name: &str| query.partition.iter().any(|part| part.exact && part.path == name);
    let shared = estimate.per.iter().filter(|(name, _)| is_fixed(name));
    shared.map(|(_, rows)| *rows).min()
}
