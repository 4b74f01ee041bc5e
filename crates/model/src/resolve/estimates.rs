//! Estimates: how many rows, how they are spread, how often operations run.

use std::collections::HashSet;

use singlet_item::limits::ITEM_SIZE_BYTES_MAX;

use super::numbers;
use super::table::whole_field;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::grammar::listed_words;
use crate::model::{ABSENT_VALUE, Attribute, Entity, Estimate, Rate, ValueShares};
use crate::node::{Entry, Node};
use crate::rules;
use crate::text::Text;
use crate::types::Type;

pub(super) fn resolve_estimates(
    node: Option<&Node>,
    known: &HashSet<&str>,
    entities: &[Entity],
    out: &mut Diagnostics,
) -> Vec<Estimate> {
    let entries = node.map_or(&[][..], Node::entries);
    let estimated = entries.iter().map(|entry| {
        check_shared(entry, entities, out);
        check_shares(entry, entities, out);
        estimate(entry, known, out)
    });
    estimated.collect()
}

/// What rows share is an attribute of theirs.
fn check_shared(entry: &Entry, entities: &[Entity], out: &mut Diagnostics) {
    let Some(entity) = entities.iter().find(|entity| entity.name == entry.key.text) else {
        return;
    };
    let shared = entry.value.get("per").map_or(&[][..], Node::entries);
    for name in shared.iter().map(|shared| &shared.key) {
        if entity.attribute(&name.text).is_none() {
            report_unknown(entity, name, out);
        }
    }
}

fn report_unknown(entity: &Entity, name: &Text, out: &mut Diagnostics) {
    let message = format!("`{}` has no attribute `{}`", entity.name, name.text);
    let known = entity.attributes.iter().map(|attribute| attribute.name.as_str());
    let mut diagnostic = Diagnostic::new(&rules::UNKNOWN_ATTRIBUTE, name.span, message).did_you_mean(&name.text, known);
    if diagnostic.help.is_none() {
        diagnostic = diagnostic.help("name an attribute whose value rows share");
    }
    out.push(diagnostic);
}

/// Shares are of values that the attribute can have, and together at most the whole.
fn check_shares(entry: &Entry, entities: &[Entity], out: &mut Diagnostics) {
    let shares = entry.value.get("shares").map_or(&[][..], Node::entries);
    let entity = entities.iter().find(|entity| entity.name == entry.key.text);
    for shared in shares {
        let Some(entity) = entity else {
            let message = format!("`shares` is about rows, and `{}` is no entity", entry.key.text);
            let help = "name the entity whose rows they are";
            out.push(Diagnostic::new(&rules::UNKNOWN_SUBJECT, shared.key.span, message).help(help));
            continue;
        };
        let Some(attribute) = entity.attribute(&shared.key.text) else {
            report_unknown(entity, &shared.key, out);
            continue;
        };
        for value in shared.value.entries().iter().map(|value| &value.key) {
            check_value(attribute, value, out);
        }
        let sum: f64 = shared
            .value
            .entries()
            .iter()
            .filter_map(|value| value.value.str()?.parse::<f64>().ok())
            .sum();
        if sum > 1.0 + SHARES_SUM_EXCESS_MAX {
            let message = format!("the shares of `{}` are {sum} together", attribute.name);
            let help = "shares of one attribute are at most 1 together; what is left is spread over the other values";
            out.push(Diagnostic::new(&rules::BAD_BOUNDS, shared.key.span, message).help(help));
        }
    }
}

/// The most rows that can be estimated.
const ITEMS_MAX: u64 = 1_000_000_000_000;

/// How much over 1 shares may be together, as decimals that do not add up exactly are.
const SHARES_SUM_EXCESS_MAX: f64 = 1e-9;

fn check_value(attribute: &Attribute, value: &Text, out: &mut Diagnostics) {
    let flags = ["true".to_owned(), "false".to_owned()];
    let members: &[String] = match &attribute.ty {
        Type::Bool => &flags,
        ty => ty.enum_members().unwrap_or_default(),
    };
    let is_absent = value.text == ABSENT_VALUE && attribute.optional;
    if is_absent || members.contains(&value.text) {
        return;
    }
    let message = match members.is_empty() {
        true => format!("values of `{}` have no shares: it is no enum", attribute.name),
        false => format!("`{}` is never `{}`", attribute.name, value.text),
    };
    let known = members.iter().map(String::as_str);
    let absent = attribute.optional.then_some(ABSENT_VALUE);
    let all: Vec<&str> = known.chain(absent).collect();
    let mut diagnostic =
        Diagnostic::new(&rules::BAD_BOUNDS, value.span, message).did_you_mean(&value.text, all.iter().copied());
    if diagnostic.help.is_none() {
        diagnostic = diagnostic.help(match all.is_empty() {
            true => {
                "shares are of members of an enum, of `true` and `false`, and of `absent` where it may be".to_owned()
            }
            false => format!("it is {}", listed_words(&all)),
        });
    }
    out.push(diagnostic);
}

fn estimate(entry: &Entry, known: &HashSet<&str>, out: &mut Diagnostics) -> Estimate {
    if !known.contains(entry.key.text.as_str()) {
        let message = format!("`{}` is no entity, read or write of this model", entry.key.text);
        let mut diagnostic = Diagnostic::new(&rules::UNKNOWN_SUBJECT, entry.key.span, message);
        diagnostic = diagnostic.did_you_mean(&entry.key.text, known.iter().copied());
        if diagnostic.help.is_none() {
            diagnostic = diagnostic.help("name an entity, a read or a write, or remove the estimate");
        }
        out.push(diagnostic);
    }
    let node = &entry.value;
    let rate_text = node.text().or_else(|| node.get("rate")?.text());
    let rate = rate_text.and_then(|text| numbers::read_rate(text, out));
    numbers::number_within(node.get("items"), 0, ITEMS_MAX, out);
    numbers::number_within(node.get("bytes"), 1, ITEM_SIZE_BYTES_MAX as u64, out);
    let per = node.get("per").map_or(&[][..], Node::entries);
    let shares = node.get("shares").map_or(&[][..], Node::entries);
    Estimate {
        subject: entry.key.text.clone(),
        span: entry.key.span,
        items: whole_field(node, "items"),
        per: per
            .iter()
            .filter_map(|entry| Some((entry.key.text.clone(), entry.value.str()?.parse().ok()?)))
            .collect(),
        bytes: whole_field(node, "bytes"),
        top_share: node
            .get("top_share")
            .and_then(Node::text)
            .and_then(|text| numbers::read_share(text, out)),
        rate,
        shares: shares.iter().map(|entry| value_shares(entry, out)).collect(),
        peak: peak(node, rate, out),
    }
}

fn value_shares(entry: &Entry, out: &mut Diagnostics) -> ValueShares {
    let values = entry.value.entries().iter();
    let share = |entry: &Entry, out: &mut Diagnostics| {
        let share = numbers::read_share(entry.value.text()?, out)?;
        Some((entry.key.text.clone(), share))
    };
    ValueShares {
        attribute: entry.key.text.clone(),
        values: values.filter_map(|entry| share(entry, out)).collect(),
    }
}

/// The busiest time is no quieter than the average.
fn peak(node: &Node, rate: Option<Rate>, out: &mut Diagnostics) -> Option<Rate> {
    let text = node.get("peak")?.text()?;
    let peak = numbers::read_rate(text, out)?;
    let below = rate.is_some_and(|rate| peak.per_second() < rate.per_second());
    if below {
        let message = format!("the peak `{}` is below the rate", text.text);
        let help = "`rate` is the average and `peak` the busiest time: write a peak of at least the rate";
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help(help));
        return None;
    }
    Some(peak)
}
