//! Pass 1: the table and its indexes; and at the end acceptances.

use std::collections::HashMap;

use singlet_item::limits::INDEX_KEY_ATTRIBUTES_MAX;

use super::numbers;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::entries::Entries;
use crate::grammar::listed_words;
use crate::model::{
    Accepted, Billing, Index, IndexId, KeyAttribute, KeyType, Projection, ProvisionedUnits, Table, TableClaims,
    TableSpans,
};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;

/// The names of indexes, for look-ups.
pub(super) type IndexNames = HashMap<String, IndexId>;

pub(super) fn resolve_table(node: Option<&Node>, out: &mut Diagnostics) -> (Table, IndexNames) {
    let empty = Node::Map(Entries::default(), Span::default());
    let node = node.filter(|node| node.is_map()).unwrap_or(&empty);
    let key_node = node.get("key");
    let key: Vec<KeyAttribute> = ["partition", "sort"]
        .into_iter()
        .filter_map(|side| key_node?.get(side))
        .flat_map(key_attributes)
        .collect();
    let mut table = Table {
        name: word_field(node, "name").unwrap_or_default(),
        span: node.get("name").unwrap_or(node).span(),
        delimiter: delimiter(node.get("delimiter"), out),
        indexes: Vec::new(),
        type_attribute: word_field(node, "type").filter(|name| name != "none"),
        ttl: word_field(node, "ttl").filter(|name| name != "none"),
        stream: stream(node.get("stream")),
        stream_readers: text_list(node.get("stream").and_then(|stream| stream.get("readers"))),
        billing: billing(node.get("billing")),
        recovery: word_field(node, "recovery").as_deref() == Some("point_in_time"),
        claims: table_claims(node.get("claim"), out),
        spans: table_spans(node),
        key,
    };
    let mut by_name = IndexNames::new();
    for entry in node.get("indexes").map_or(&[][..], Node::entries) {
        by_name.insert(entry.key.text.clone(), IndexId(table.indexes.len() as u32));
        let index = index(entry, &table.key, out);
        table.indexes.push(index);
    }
    provision_indexes(node.get("billing"), &mut table, &by_name, out);
    (table, by_name)
}

fn table_spans(node: &Node) -> TableSpans {
    let field = |name: &str| node.entry(name).map(|entry| entry.key.span.to(entry.value.span()));
    TableSpans {
        type_attribute: field("type"),
        ttl: field("ttl"),
        stream: field("stream"),
        billing: field("billing"),
        recovery: field("recovery"),
    }
}

fn delimiter(node: Option<&Node>, out: &mut Diagnostics) -> char {
    let Some(text) = node.and_then(Node::text) else {
        return '#';
    };
    let mut chars = text.text.chars();
    match (chars.next(), chars.next()) {
        (Some(char), None) if char.is_ascii_punctuation() && char != '{' && char != '}' => char,
        _ => {
            let message = format!("`{}` cannot be the delimiter", text.text);
            out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, text.span, message)
                    .help("it is one ASCII punctuation character, such as `#`, `|` or `/`"),
            );
            '#'
        }
    }
}

fn stream(node: Option<&Node>) -> Option<String> {
    let node = node?;
    let view = node.str().or_else(|| node.get("images")?.str())?;
    (view != "none").then(|| view.to_owned())
}

fn billing(node: Option<&Node>) -> Billing {
    let units = |side: &str| node?.get(side)?.str()?.parse().ok();
    match (units("read"), units("write")) {
        (Some(read), Some(write)) => Billing::Provisioned { read, write },
        _ => Billing::OnDemand,
    }
}

/// The units of indexes, as the table's billing has them.
fn provision_indexes(billing: Option<&Node>, table: &mut Table, by_name: &IndexNames, out: &mut Diagnostics) {
    let entries = billing.and_then(|billing| billing.get("indexes"));
    for entry in entries.map_or(&[][..], Node::entries) {
        let Some(id) = find_index(&entry.key, by_name, table, out) else {
            continue;
        };
        let units = |side: &str| whole_field(&entry.value, side);
        let (Some(read), Some(write)) = (units("read"), units("write")) else {
            continue;
        };
        let Some(index) = table.indexes.get_mut(id.0 as usize) else {
            continue;
        };
        let wrong = match (index.local, read == 0 || write == 0) {
            (true, _) => Some((
                &rules::WRONG_SHAPE,
                format!("the local index `{}` has no units of its own", index.name),
                "a local index takes from the units of its table: leave it out",
            )),
            (false, true) => Some((
                &rules::BAD_BOUNDS,
                format!("the index `{}` has at least 1 provisioned unit of each", index.name),
                "write `{read: 1, write: 1}`, or more",
            )),
            (false, false) => None,
        };
        if let Some((rule, message, help)) = wrong {
            out.push(Diagnostic::new(rule, entry.key.span, message).help(help));
        }
        index.units = Some(ProvisionedUnits { read, write });
    }
}

fn table_claims(node: Option<&Node>, out: &mut Diagnostics) -> TableClaims {
    let mut price = |name: &str| {
        let text = node?.get(name)?.text()?;
        numbers::read_price(text, out);
        Some((text.text.clone(), text.span))
    };
    let (read_price, write_price) = (price("read_price"), price("write_price"));
    let mut bounds = |name: &str| {
        let text = node?.get(name)?.text()?;
        Some((numbers::read_bounds(text, out)?, text.span))
    };
    TableClaims {
        free_tier: node.and_then(|node| flag_span(node, "free_tier")),
        read_price,
        write_price,
        month_price: bounds("month_price"),
        read_units: bounds("read_units"),
        write_units: bounds("write_units"),
        storage_gb: bounds("storage_gb"),
    }
}

fn index(entry: &Entry, table_key: &[KeyAttribute], out: &mut Diagnostics) -> Index {
    let node = &entry.value;
    let local = flag_field(node, "local");
    let side = |name: &str| node.get(name).map(key_attributes).unwrap_or_default();
    let mut partition = side("partition");
    let sort = side("sort");
    match (local, partition.is_empty()) {
        (true, true) => partition = table_key.iter().take(1).cloned().collect(),
        (true, false) => {
            let message = format!("the local index `{}` has a partition key of its own", entry.key.text);
            out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, entry.key.span, message)
                    .help("a local index shares the table's: leave `partition` out, or `local`"),
            );
        }
        (false, true) => {
            let message = format!("the index `{}` has no `partition`", entry.key.text);
            out.push(
                Diagnostic::new(&rules::MISSING_FIELD, entry.key.span, message)
                    .help("name the attribute of its partition key, or say `local: true`"),
            );
        }
        (false, false) => {}
    }
    for attributes in [&partition, &sort] {
        if let Some(fifth) = attributes.get(INDEX_KEY_ATTRIBUTES_MAX) {
            let message = format!(
                "the key of index `{}` has {} attributes on one side",
                entry.key.text,
                attributes.len()
            );
            out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, fifth.span, message)
                    .help(format!("DynamoDB takes up to {INDEX_KEY_ATTRIBUTES_MAX} for the partition and {INDEX_KEY_ATTRIBUTES_MAX} for the sort key")),
            );
        }
    }
    let claims = node.get("claim");
    Index {
        name: entry.key.text.clone(),
        span: entry.key.span,
        partition,
        sort,
        local,
        projection: projection(node.get("project")),
        units: None,
        claims_unique: claims.and_then(|claims| flag_span(claims, "unique")),
        claims_backfilled: claims.and_then(|claims| flag_span(claims, "backfilled")),
    }
}

fn projection(node: Option<&Node>) -> Projection {
    match node {
        Some(Node::List(..)) => Projection::Include(text_list(node)),
        Some(node) if node.str() == Some("keys") => Projection::Keys,
        _ => Projection::All,
    }
}

fn key_attributes(node: &Node) -> Vec<KeyAttribute> {
    match node {
        Node::List(elements, _) => elements.iter().flat_map(key_attributes).collect(),
        Node::Map(..) => {
            let declared = match node.get("type").and_then(Node::str) {
                Some("number") => KeyType::Number,
                Some("bytes") => KeyType::Bytes,
                _ => KeyType::String,
            };
            let name = node.get("name").and_then(Node::text);
            name.map(|name| KeyAttribute {
                name: name.text.clone(),
                declared: Some(declared),
                span: name.span,
            })
            .into_iter()
            .collect()
        }
        Node::Scalar(text) => vec![KeyAttribute {
            name: text.text.clone(),
            declared: None,
            span: text.span,
        }],
    }
}

pub(super) fn accepted_rules(node: Option<&Node>) -> Vec<Accepted> {
    let elements = node.map_or(&[][..], Node::elements);
    elements
        .iter()
        .filter_map(|element| {
            let rule = element.get("rule")?.text()?;
            Some(Accepted {
                rule: rule.text.clone(),
                rule_span: rule.span,
                at: word_field(element, "at")?,
                why: word_field(element, "why")?,
                span: element.span(),
            })
        })
        .collect()
}

/// The index of that name, or a finding.
pub(super) fn find_index(
    text: &crate::text::Text,
    by_name: &IndexNames,
    table: &Table,
    out: &mut Diagnostics,
) -> Option<IndexId> {
    if let Some(index) = by_name.get(&text.text) {
        return Some(*index);
    }
    let known: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
    let message = format!("the table has no index `{}`", text.text);
    let mut diagnostic =
        Diagnostic::new(&rules::UNKNOWN_INDEX, text.span, message).did_you_mean(&text.text, known.iter().copied());
    if diagnostic.help.is_none() && !known.is_empty() {
        diagnostic = diagnostic.help(format!("its indexes are {}", listed_words(&known)));
    }
    out.push(diagnostic);
    None
}

/// The text of a scalar field.
pub(super) fn word_field(node: &Node, field: &str) -> Option<String> {
    node.get(field)?.str().map(str::to_owned)
}

/// The texts of a list, or of one scalar in its place.
pub(super) fn text_list(node: Option<&Node>) -> Vec<String> {
    match node {
        Some(Node::List(elements, _)) => elements
            .iter()
            .filter_map(|element| element.str().map(str::to_owned))
            .collect(),
        Some(Node::Scalar(text)) => vec![text.text.clone()],
        _ => Vec::new(),
    }
}

/// Whether a flag is set.
pub(super) fn flag_field(node: &Node, field: &str) -> bool {
    flag_span(node, field).is_some()
}

/// Where a flag is set.
pub(super) fn flag_span(node: &Node, field: &str) -> Option<Span> {
    let entry = node.entry(field)?;
    (entry.value.str() == Some("true")).then_some(entry.key.span.to(entry.value.span()))
}

/// A whole number field.
pub(super) fn whole_field(node: &Node, field: &str) -> Option<u64> {
    node.get(field)?.str()?.parse().ok()
}
