//! The access patterns: what each means, and how it is answered.

use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Order, ParamValue, Read, Route, Selection, SelectionKind};
use singlet_plan::cost::Sizes;
use singlet_plan::read::{PlanRow, plan_read, plan_rows};

use crate::escape::{escape_markdown, inline_code};
use crate::table::{MarkdownTable, cell_lines};
use crate::text;

/// The access-pattern table: a row for each combination of optional arguments.
pub(crate) fn access_patterns(model: &Model) -> String {
    let sizes = Sizes::of(model);
    let mut table = MarkdownTable::new([
        "Read",
        "What it means",
        "Answered by",
        "Filter",
        "Order",
        "Read units",
        "Who may",
    ]);
    for read in &model.reads {
        let plan = plan_read(model, read);
        let requests = plan_rows(model, &plan);
        for (number, combination) in plan.combinations.iter().enumerate() {
            let own = requests.iter().filter(|row| row.sent == combination.sent.as_slice());
            let own: Vec<&PlanRow<'_>> = own.collect();
            table.row(row(model, read, &own, &sizes, (&combination.sent, number == 0)));
        }
    }
    table.text()
}

fn row(
    model: &Model,
    read: &Read,
    requests: &[&PlanRow<'_>],
    sizes: &Sizes<'_>,
    (sent, first): (&[String], bool),
) -> Vec<String> {
    let answered = requests.iter().map(|row| named(&row.label(), &answered_by(row)));
    let filtered = requests.iter().filter(|row| !row.filter.is_empty());
    let filters = filtered.map(|row| named(&row.label(), &inline_code(&row.filter)));
    let costs = requests
        .iter()
        .map(|row| named(&row.label(), &escape_markdown(&row.cost.shown(sizes))));
    let arguments = with_arguments(sent);
    if !first {
        let blank = String::new;
        return vec![
            arguments,
            blank(),
            cell_lines(answered),
            cell_lines(filters),
            blank(),
            cell_lines(costs),
            blank(),
        ];
    }
    let route = read
        .http
        .as_ref()
        .map(|http| inline_code(&route_text(http)))
        .unwrap_or_default();
    let own = read.selection.iter().map(|selection| ("", selection));
    let with = read.with.iter().map(|part| (part.name.as_str(), &part.selection));
    let ordered = own.chain(with).filter(|(_, selection)| !selection.order.is_empty());
    let orders = ordered.map(|(part, selection)| named(part, &inline_code(&order(&selection.order))));
    vec![
        cell_lines([format!("**{}**", escape_markdown(&read.name)), route, arguments]),
        meaning(model, read),
        cell_lines(answered),
        cell_lines(filters),
        cell_lines(orders),
        cell_lines(costs),
        allow_text(model, &read.allow),
    ]
}

fn with_arguments(sent: &[String]) -> String {
    match sent.is_empty() {
        true => String::new(),
        false => {
            let names: Vec<String> = sent.iter().map(|name| inline_code(name)).collect();
            format!("with {}", names.join(", "))
        }
    }
}

fn named(part: &str, text: &str) -> String {
    match part {
        "" => text.to_owned(),
        part => format!("*{}*: {text}", escape_markdown(part)),
    }
}

/// Which call, where, by which key.
fn answered_by(row: &PlanRow<'_>) -> String {
    let place = if row.cost.index.is_some() {
        inline_code(&row.place)
    } else {
        row.place.clone()
    };
    let key = if row.key.is_empty() {
        String::new()
    } else {
        inline_code(&row.key)
    };
    let mut text = format!("{} {place} {key}", row.cost.call.word());
    if row.descending {
        text.push_str(" descending");
    }
    for other in &row.or {
        text.push_str(&format!(" or {}", inline_code(other)));
    }
    text
}

/// What a read gives, in words, and the condition that says which.
fn meaning(model: &Model, read: &Read) -> String {
    let mut all = Vec::new();
    if let Some(each) = &read.each {
        let list = inline_code(&text::expression_text(model, &each.list));
        all.push(format!(
            "for each {} of {list}, at most {}:",
            escape_markdown(&each.name),
            each.at_most
        ));
    }
    all.extend(read.selection.iter().map(|selection| selected(model, selection)));
    for part in &read.with {
        all.push(format!(
            "*{}*: {}",
            escape_markdown(&part.name),
            selected(model, &part.selection)
        ));
    }
    if read.all_versions {
        all.push("all versions".to_owned());
    }
    if let Some(at) = &read.at {
        all.push(format!("as of {}", inline_code(&text::expression_text(model, at))));
    }
    if read.consistent.is_some() {
        all.push("strongly consistent".to_owned());
    }
    if let Some((why, _)) = &read.scan {
        all.push(format!("reads the whole table: {}", escape_markdown(why)));
    }
    cell_lines(all)
}

fn selected(model: &Model, selection: &Selection) -> String {
    let names: Vec<&str> = selection.entities.iter().map(|id| model.catalog.name(*id)).collect();
    let what = escape_markdown(&names.join(" or "));
    let mut words = match selection.kind {
        SelectionKind::Get { optional: false } => format!("the {what}"),
        SelectionKind::Get { optional: true } => format!("the {what}, if there is one"),
        SelectionKind::Find => format!("every {what}"),
        SelectionKind::Count => match selection.tally.as_ref().and_then(|kept| model.tally(kept.tally)) {
            Some(tally) => format!("what the tally {} keeps: how many {what}", inline_code(&tally.name)),
            None => format!("how many {what}"),
        },
    };
    if !selection.by.is_empty() {
        words.push_str(&format!(" by {}", escape_markdown(&selection.by.join(", "))));
    }
    if let Some(filter) = &selection.filter {
        words.push_str(&format!(
            " where {}",
            inline_code(&text::expression_text(model, filter))
        ));
    }
    if let Some(matching) = &selection.matching {
        let text = inline_code(&text::expression_text(model, &matching.text));
        let names = escape_markdown(&matching.attributes.join(", "));
        let forms = matching
            .language
            .map(|language| format!(" in any form that {language} has"));
        let forms = forms.unwrap_or_default();
        words.push_str(&format!(
            " with all words of {text}{forms} in {names}, the best match first"
        ));
    }
    if let Some(limit) = selection.limit {
        words.push_str(&format!(", at most {limit}"));
    }
    words
}

fn order(order: &[Order]) -> String {
    let parts: Vec<String> = order
        .iter()
        .map(|order| format!("{}{}", if order.descending { "-" } else { "" }, order.path))
        .collect();
    parts.join(", ")
}

/// A route as the model writes it.
pub fn route_text(route: &Route) -> String {
    let query: Vec<String> = route
        .query
        .iter()
        .map(|(name, value)| match value {
            ParamValue::Arg(arg) if arg == name => name.clone(),
            ParamValue::Arg(arg) => format!("{name}={{{arg}}}"),
            ParamValue::Fixed(text) => format!("{name}={text}"),
        })
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{} {}{mark}{}", route.method, route.path, query.join("&"))
}

/// Who may, as the model says it.
pub(crate) fn allow_text(model: &Model, allow: &Expr) -> String {
    inline_code(&text::expression_text(model, allow))
}
