//! Names and numbers that DynamoDB, or a server of HTTP, would refuse later.

use std::collections::HashMap;

use singlet_item::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, KEY_NAME_BYTES_MAX, NAME_CHARS_MAX, NAME_CHARS_MIN, PROJECTED_ATTRIBUTES_MAX,
};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Attribute, Billing, Entity, Index, KeyAttribute, KeyTemplate, Projection, Stored, Table};
use crate::node::Node;
use crate::rules;
use crate::source::Span;
use crate::types::Type;

/// The longest name of a system: it is a folder, a path and an audience.
const SYSTEM_NAME_CHARS_MAX: usize = 64;

/// A system's name is a segment of its path, a folder, and the audience of its tokens.
pub(super) fn check_model_name(node: Option<&Node>, out: &mut Diagnostics) {
    let Some(text) = node.and_then(Node::text) else { return };
    let name = text.text.as_str();
    let spelled = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !spelled || !begins || name.len() > SYSTEM_NAME_CHARS_MAX {
        let message = format!("`{name}` cannot name a system: it is its path, its folder and its audience");
        let help = format!(
            "use letters, digits, `-` and `_`, a letter or digit first, at most {SYSTEM_NAME_CHARS_MAX} characters"
        );
        out.push(Diagnostic::new(&rules::RESERVED_NAME, text.span, message).help(help));
    }
}

/// Checks a table, and what entities store in it.
pub(super) fn check_limits(table: &Table, entities: &[Entity], out: &mut Diagnostics) {
    check_name(("a", "table"), &table.name, table.span, out);
    if let Billing::Provisioned { read, write } = table.billing
        && (read == 0 || write == 0)
    {
        let span = table.spans.billing.unwrap_or(table.span);
        let message = "a table with provisioned units has at least 1 of each";
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, span, message).help("write `billing: {read: 1, write: 1}`"));
    }
    check_key(&table.key, table.span, "the table", out);
    for index in &table.indexes {
        check_index(index, table, out);
    }
    check_projected(table, out);
    for entity in entities.iter().filter(|entity| entity.mirror.is_none()) {
        check_stored_names(entity, table, out);
    }
}

/// Tables and indexes have names of 3 to 255 letters, digits and `_ - .`.
fn check_name((article, what): (&str, &str), name: &str, span: Span, out: &mut Diagnostics) {
    // One that is missing was reported.
    if name.is_empty() {
        return;
    }
    let spelled = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    if (NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(spelled) {
        return;
    }
    let message = format!("`{name}` is no name that DynamoDB takes for {article} {what}");
    let help = format!(
        "the name of {article} {what} has {NAME_CHARS_MIN} to {NAME_CHARS_MAX} letters, digits, `_`, `-` and `.`"
    );
    out.push(Diagnostic::new(&rules::BAD_BOUNDS, span, message).help(help));
}

fn check_index(index: &Index, table: &Table, out: &mut Diagnostics) {
    check_name(("an", "index"), &index.name, index.span, out);
    let key: Vec<KeyAttribute> = index.key().cloned().collect();
    check_key(&key, index.span, &format!("index `{}`", index.name), out);
    if !index.local {
        return;
    }
    let message = match (table.key.len(), index.sort.is_empty()) {
        (2.., false) => return,
        (2.., true) => format!("the local index `{}` has no sort key", index.name),
        _ => format!("the table of the local index `{}` has no sort key", index.name),
    };
    let help = "a local index sorts the rows of a partition otherwise than the table does: name its `sort`";
    out.push(Diagnostic::new(&rules::WRONG_SHAPE, index.span, message).help(help));
}

fn check_key(key: &[KeyAttribute], span: Span, of: &str, out: &mut Diagnostics) {
    for (at, attribute) in key.iter().enumerate() {
        check_attribute_name(&attribute.name, KEY_NAME_BYTES_MAX, attribute.span, out);
        if key.iter().take(at).any(|before| before.name == attribute.name) {
            let message = format!("the key of {of} has `{}` twice", attribute.name);
            let help = "DynamoDB takes an attribute once: name another, or leave `sort` out";
            out.push(Diagnostic::new(&rules::WRONG_SHAPE, span, message).help(help));
        }
    }
}

fn check_attribute_name(name: &str, bytes_max: usize, span: Span, out: &mut Diagnostics) {
    if (1..=bytes_max).contains(&name.len()) {
        return;
    }
    let message = format!("the name of an attribute has {} bytes", name.len());
    let help = format!("DynamoDB takes 1 to {bytes_max} here");
    out.push(Diagnostic::new(&rules::BAD_BOUNDS, span, message).help(help));
}

/// An attribute that two indexes project counts twice.
fn check_projected(table: &Table, out: &mut Diagnostics) {
    let mut count = 0;
    for index in &table.indexes {
        let Projection::Include(names) = &index.projection else {
            continue;
        };
        for name in names {
            check_attribute_name(name, KEY_NAME_BYTES_MAX, index.span, out);
        }
        let before = count;
        count += names.len();
        if before <= PROJECTED_ATTRIBUTES_MAX && count > PROJECTED_ATTRIBUTES_MAX {
            let message = format!("the indexes project {count} attributes by name by now");
            let help = format!("DynamoDB takes {PROJECTED_ATTRIBUTES_MAX} for all indexes of a table: project `all`");
            out.push(Diagnostic::new(&rules::BAD_BOUNDS, index.span, message).help(help));
        }
    }
}

/// Under each name an item holds one value.
fn check_stored_names(entity: &Entity, table: &Table, out: &mut Diagnostics) {
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        let name = match &attribute.stored {
            Stored::Own => attribute.name.as_str(),
            Stored::As(name) => name.as_str(),
            Stored::No => {
                check_stands_in_key(entity, attribute, out);
                continue;
            }
        };
        check_attribute_name(name, ATTRIBUTE_NAME_BYTES_MAX, attribute.span, out);
        let other = match seen.insert(name, &attribute.name) {
            Some(other) => format!("`{other}`"),
            None if table.type_attribute.as_deref() == Some(name) => "the name of the entity".to_owned(),
            None if table.ttl.as_deref() == Some(name) && (entity.expires.is_some() || !is_instant(&attribute.ty)) => {
                "the instant past which the row is removed".to_owned()
            }
            None => continue,
        };
        let message = format!("`{}` and {other} are both stored as `{name}`", attribute.name);
        let help = "store it under another name: `stored: …`";
        out.push(Diagnostic::new(&rules::AMBIGUOUS_NAME, attribute.span, message).help(help));
    }
}

fn is_instant(ty: &Type) -> bool {
    matches!(ty, Type::Seconds | Type::Millis | Type::Time | Type::Now)
}

/// What is stored only in a key must stand in one from which every row gives it back: else a write takes the value, and nobody
/// sees it again.
fn check_stands_in_key(entity: &Entity, attribute: &Attribute, out: &mut Diagnostics) {
    let Some(why) = why_lost(entity, attribute) else { return };
    let message = format!("`{}` is stored only in keys, and {why}", attribute.name);
    let help = "leave `stored: none` out, or put the attribute into the primary key";
    out.push(Diagnostic::new(&rules::LOST_ATTRIBUTE, attribute.span, message).help(help));
}

/// Why some rows do not give back an attribute that stands only in keys, or a write cannot ask for it there.
fn why_lost(entity: &Entity, attribute: &Attribute) -> Option<String> {
    let name = attribute.name.as_str();
    if entity.key_that_holds(name).is_some() {
        let is_asked_for = attribute.ty == Type::Version
            || entity.states.as_ref().is_some_and(|states| states.of == name)
            || entity.history.as_ref().is_some_and(|history| {
                [Some(&history.until), history.tombstone.as_ref()].contains(&Some(&attribute.name))
            });
        return is_asked_for.then(|| "conditions of writes ask for it".to_owned());
    }
    let indexed = entity.index.iter().flat_map(|entry| entry.key_choices());
    let keys: Vec<&KeyTemplate> = entity
        .key
        .iter()
        .chain(indexed)
        .flat_map(|choice| &choice.keys)
        .collect();
    let gives_back = keys.iter().find(|key| key.gives_back(name));
    let stands = keys
        .iter()
        .flat_map(|key| &key.parts)
        .any(|part| part.root_attribute() == name);
    Some(match (gives_back, stands) {
        (Some(key), _) => match key.optional_part_beside(name) {
            Some(other) => format!("`{}` is not there without `{}`", key.attribute, other.path),
            None => format!("`{}` takes other templates by condition", key.attribute),
        },
        (None, true) => format!("no key of `{}` gives it back", entity.name),
        (None, false) => format!("no key of `{}` has it", entity.name),
    })
}
