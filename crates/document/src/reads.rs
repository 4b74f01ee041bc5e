//! The access patterns: what each means, and how it is answered.

use singlet_model::Model;
use singlet_model::expression::Expr;
use singlet_model::model::{Order, ParamValue, Read, Route, Selection, SelectionKind};
use singlet_plan::read::{Combination, Query, condition, plan_read};
use singlet_plan::show::conjunction;

use crate::escape::{code, markdown};
use crate::table::{Table, lines};
use crate::text;

/// The access-pattern table.
pub fn table(model: &Model) -> String {
    let mut table = Table::new(["Read", "What it means", "Answered by", "Filter", "Order", "Who may"]);
    for read in &model.reads {
        let plan = plan_read(model, read);
        for (number, combination) in plan.combinations.iter().enumerate() {
            table.row(row(model, read, combination, number == 0));
        }
    }
    table.text()
}

fn row(model: &Model, read: &Read, combination: &Combination, first: bool) -> Vec<String> {
    let queries = || {
        let parts = combination.parts.iter();
        parts.flat_map(|part| part.plan.queries.iter().map(move |query| (part.name.as_deref(), query)))
    };
    let answered = queries().map(|(part, query)| named(part, &answered_by(model, query)));
    let filters = queries().filter(|(_, query)| !query.rest.is_empty());
    let filters = filters.map(|(part, query)| named(part, &code(&conjunction(&query.rest))));
    let selections = || {
        let own = read.selection.iter().map(|selection| (None, selection));
        own.chain(read.with.iter().map(|part| (Some(part.name.as_str()), &part.selection)))
    };
    let orders = selections().filter(|(_, selection)| !selection.order.is_empty());
    let orders = orders.map(|(part, selection)| named(part, &code(&order(&selection.order))));
    let sent = &combination.sent;
    let name = match (first, sent.is_empty()) {
        (true, _) => lines([
            format!("**{}**", markdown(&read.name)),
            read.http.as_ref().map(|http| code(&route(http))).unwrap_or_default(),
            with_arguments(sent),
        ]),
        (false, _) => with_arguments(sent),
    };
    let means = if first { meaning(model, read) } else { String::new() };
    let who = if first {
        code(&text::expression(model, &read.allow))
    } else {
        String::new()
    };
    vec![name, means, lines(answered), lines(filters), lines(orders), who]
}

fn with_arguments(sent: &[String]) -> String {
    match sent.is_empty() {
        true => String::new(),
        false => {
            let names: Vec<String> = sent.iter().map(|name| code(name)).collect();
            format!("with {}", names.join(", "))
        }
    }
}

fn named(part: Option<&str>, text: &str) -> String {
    match part {
        Some(name) => format!("*{}*: {text}", markdown(name)),
        None => text.to_owned(),
    }
}

/// Which call, where, by which key.
fn answered_by(model: &Model, query: &Query) -> String {
    let place = match query.index.and_then(|index| model.index(index)) {
        Some(index) => code(&index.name),
        None => "table".to_owned(),
    };
    let call = if query.is_get() { "get" } else { "query" };
    let follow = if query.follow { ", then the whole rows" } else { "" };
    format!("{call} {place} {}{follow}", code(&condition(model, query)))
}

/// What a read gives, in words, and the condition that says which.
fn meaning(model: &Model, read: &Read) -> String {
    let mut all = Vec::new();
    if let Some(each) = &read.each {
        let list = code(&text::expression(model, &each.list));
        all.push(format!(
            "for each {} of {list}, at most {}:",
            markdown(&each.name),
            each.at_most
        ));
    }
    all.extend(read.selection.iter().map(|selection| selected(model, selection)));
    for part in &read.with {
        all.push(format!(
            "*{}*: {}",
            markdown(&part.name),
            selected(model, &part.selection)
        ));
    }
    if read.all_versions {
        all.push("all versions".to_owned());
    }
    if let Some(at) = &read.at {
        all.push(format!("as of {}", code(&text::expression(model, at))));
    }
    if read.consistent.is_some() {
        all.push("strongly consistent".to_owned());
    }
    if let Some((why, _)) = &read.scan {
        all.push(format!("reads the whole table: {}", markdown(why)));
    }
    lines(all)
}

fn selected(model: &Model, selection: &Selection) -> String {
    let names: Vec<&str> = selection.entities.iter().map(|id| model.catalog.name(*id)).collect();
    let what = markdown(&names.join(" or "));
    let mut words = match selection.kind {
        SelectionKind::Get { optional: false } => format!("the {what}"),
        SelectionKind::Get { optional: true } => format!("the {what}, if there is one"),
        SelectionKind::Find => format!("every {what}"),
        SelectionKind::Count => format!("how many {what}"),
    };
    if !selection.by.is_empty() {
        words.push_str(&format!(" by {}", markdown(&selection.by.join(", "))));
    }
    if let Some(filter) = &selection.filter {
        words.push_str(&format!(" where {}", code(&text::expression(model, filter))));
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
pub fn route(route: &Route) -> String {
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
pub fn allowed(model: &Model, allow: &Expr) -> String {
    code(&text::expression(model, allow))
}
