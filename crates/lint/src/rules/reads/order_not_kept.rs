use singlet_item::key::Order as KeyOrder;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, KeyPart, KeyTemplate, Order};
use singlet_model::types::Type;
use singlet_plan::access::AccessPath;
use singlet_plan::by_hand::ByHand;
use singlet_plan::facts::Facts;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A condition by hand does not give the order that the read asks for.
    ///
    /// A query returns rows by the bytes of the sort key, forwards or backwards, and nothing else sorts them: with a limit or
    /// a page, the first rows are the wrong rows. Words sort by their letters (`high`, `low`, `medium`, `urgent`), a number
    /// without padding by its digits, and what stands behind an id sorts only among rows of that id.
    ///
    /// ```yaml
    /// index:
    ///   GSI3: {GSI3PK: "USER#{user_id}", GSI3SK: "PRIORITY#{priority}#{task_id}"}
    /// …
    /// order: priority
    /// using: {index: GSI3, key: {GSI3PK: "USER#{caller.id}", GSI3SK: {begins_with: "PRIORITY#"}}}
    /// ```
    ///
    /// Way out: let the sort key begin with what the rows are ordered by, in a form that sorts: `{rank(priority)}`,
    /// `{ordered(name)}`, a number with an upper limit; say `descending: true` for the reverse.
    "R003" "order-not-kept" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let kept_one_way = |by_hand: &&ByHand<'_>| by_hand.missed.is_none() && by_hand.read.reverse.is_none();
    for by_hand in context.by_hand().iter().filter(kept_one_way) {
        let facts = by_hand.meaning_facts();
        let broken = by_hand.met.iter().find_map(|path| first_broken(by_hand, path, &facts));
        if let Some((order, why)) = broken {
            let message = format!("rows do not come by `{}`: {why}", order.path);
            let help = "begin the sort key with it in a form that sorts, or read all rows and sort them";
            findings.push(findings.at(order.span, &by_hand.read.name, message).help(help));
        }
    }
}

/// The first attribute of the order that the keys of a path do not give, and why.
fn first_broken<'a>(by_hand: &ByHand<'a>, path: &AccessPath<'a>, facts: &Facts<'a>) -> Option<(&'a Order, String)> {
    let mut parts = path
        .sort_templates()
        .iter()
        .flat_map(|key| key.parts.iter().map(move |part| (key, part)))
        .peekable();
    for (at, order) in by_hand.selection.order.iter().enumerate() {
        if facts.fixes_attribute(&order.path) {
            continue;
        }
        let same = |part: &KeyPart| facts.own_name(&part.path) == facts.own_name(&order.path);
        while parts
            .next_if(|(_, part)| facts.fixes_attribute(part.root_attribute()) || (same(part) && is_coarse(part)))
            .is_some()
        {}
        let Some((key, part)) = parts.next() else {
            // Ties of what was matched so far are all that is left; with nothing matched the key has no order at all.
            return (at == 0).then(|| (order, format!("the keys in {} do not hold it", by_hand.place_name())));
        };
        if !same(part) {
            let follows = is_time_of_creation(path.entity, part, order) && at + 1 == by_hand.selection.order.len();
            let right = by_hand.using.descending == order.descending;
            return match (follows, right) {
                (true, true) => None,
                (true, false) => Some((order, backwards(by_hand))),
                (false, _) => Some((order, format!("`{}` comes first in `{}`", part.path, key.text))),
            };
        }
        if let Some(why) = unsorted(by_hand, key, part, order) {
            return Some((order, why));
        }
    }
    None
}

fn unsorted(by_hand: &ByHand<'_>, key: &KeyTemplate, part: &KeyPart, order: &Order) -> Option<String> {
    let descends = match key.template.order_after(part.position) {
        KeyOrder::Ascending => by_hand.using.descending,
        KeyOrder::Descending => !by_hand.using.descending,
        KeyOrder::Coarse => return Some(format!("`{}` tells its values only roughly apart", key.text)),
        KeyOrder::Unordered => return Some(why_unordered(key, part)),
    };
    (descends != order.descending).then(|| backwards(by_hand))
}

fn why_unordered(key: &KeyTemplate, part: &KeyPart) -> String {
    match (&part.ty, part.ty.enum_members()) {
        (_, Some(members)) => {
            let mut sorted: Vec<&str> = members.iter().map(String::as_str).collect();
            sorted.sort_unstable();
            format!("in `{}` its words sort {}", key.text, sorted.join(", "))
        }
        (Type::Int(_) | Type::Number(_) | Type::Version, _) => {
            format!("in `{}` a number sorts by its digits", key.text)
        }
        (Type::Text(_), _) => format!("in `{}` text that more text follows does not sort exactly", key.text),
        _ => format!("`{}` does not sort by it", key.text),
    }
}

fn backwards(by_hand: &ByHand<'_>) -> String {
    match by_hand.using.descending {
        true => "`descending` turns the keys the other way".to_owned(),
        false => "the keys run the other way, and `descending` is not said".to_owned(),
    }
}

/// `day(at)` before `at` keeps the order by `at`.
fn is_coarse(part: &KeyPart) -> bool {
    use singlet_model::model::PartFunction::{Day, Month, Year};
    matches!(part.function, Some(Day | Month | Year))
}

/// An id that is made with the row, and sorts by time, comes in the order of the row's time of creation.
fn is_time_of_creation(entity: &Entity, part: &KeyPart, order: &Order) -> bool {
    let id = entity.attribute(&part.path).and_then(|id| id.default.as_ref());
    let made = id.is_some_and(|default| default.is_generated()) && matches!(part.ty, Type::Ulid | Type::Ksuid);
    let time = entity.attribute(&order.path).and_then(|time| time.default.as_ref());
    made && part.function.is_none() && time.is_some_and(|default| default.kind == ExprKind::Now)
}
