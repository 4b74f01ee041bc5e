use singlet_model::model::Entity;
use singlet_model::types::Type;
use singlet_plan::read::Why;

use crate::answers::{self, Answer};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// No key gives the order that the read asks for.
    ///
    /// A query returns rows by the bytes of the sort key. Rows in another order would have to be read all of them and sorted: a
    /// page of them would be the wrong page. Text that more text follows does not sort exactly (`home office#` comes before
    /// `home#`), nor does a number without an upper limit, nor an enum by its rank.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "GENRE#{genre}", GSI1SK: "TITLE#{title}#{isbn}"}
    /// …
    /// where: genre == args.genre
    /// order: title
    /// ```
    ///
    /// Way out: let a sort key begin with what the rows are ordered by, in a form that sorts: `{ordered(title)}`,
    /// `{rank(priority)}`, a number with an upper limit; or leave the order out.
    "R015" "order-not-given" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked_rows() {
        let answers = context.answers_of(&asked);
        let Some((answer, path)) = answers.iter().find_map(|answer| Some((answer, unordered(answer)?))) else {
            continue;
        };
        let order = asked.selection.order.iter().find(|order| order.path == path);
        let span = order.map_or(asked.selection.span, |order| order.span);
        let message = format!(
            "no key gives the order by `{path}` to what `{}` finds{}: {}",
            asked.name,
            answers::in_combination(&asked, answer),
            answers::refusal_reasons(&asked, &answer.plan),
        );
        let help = format!("begin a sort key with {}, or leave the order out", sorting_form(asked.entity, path));
        findings.push(findings.at(span, asked.name, message).help(help));
    }
}

/// The part of a key that sorts as an attribute does.
fn sorting_form(entity: &Entity, path: &str) -> String {
    match entity.attribute(path).map(|attribute| &attribute.ty) {
        Some(Type::Text(_)) => format!("`{{ordered({path})}}`: text that more text follows does not sort by itself"),
        Some(Type::Enum(_)) => format!("`{{rank({path})}}`"),
        Some(ty) if ty.is_number() => format!("`{{{path}}}`, and give `{path}` a range with an upper end so that it sorts"),
        _ => "it in a form that sorts".to_owned(),
    }
}

/// What a selection without a plan is ordered by, where a path would find its rows.
fn unordered<'p>(answer: &'p Answer<'_>) -> Option<&'p str> {
    answer.missing_reasons()?.find_map(|why| match why {
        Why::Order(path) => Some(path.as_str()),
        _ => None,
    })
}
