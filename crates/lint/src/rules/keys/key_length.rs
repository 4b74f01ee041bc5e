use std::collections::HashSet;

use singlet_item::key::Template;
use singlet_item::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Entity, KeyPart, KeyTemplate};
use singlet_model::types::EntityId;
use singlet_plan::access::AccessPath;

use crate::context::grouped_thousands;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A key can be longer than DynamoDB takes.
    ///
    /// A partition key has at most 2,048 bytes and a sort key 1,024. A longer one is refused when the row is written, as an
    /// error that no rule of the model announced. A character takes up to 4 bytes, so `string 1..300` may take 1,200. A
    /// string without an upper limit in a key is reported once, where it first stands in one.
    ///
    /// ```yaml
    /// path: string 1..500
    /// key: {PK: "SITE#{siteId}", SK: "PAGE#{path}"}       # up to 2,005 bytes
    /// ```
    ///
    /// What the request itself gives (`caller.id`, `request.key`) cannot be limited in a model and is not reported.
    ///
    /// Way out: give the attribute an upper limit, or a pattern of plain characters (`string /[a-z0-9-]{1,500}/` takes a byte
    /// for each); or put its hash or an id into the key.
    "K011" "key-length" Warning
}

/// The bytes that a character takes at most.
const CHARACTER_BYTES_MAX: u64 = 4;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut reported = HashSet::new();
    for (path, key, sort) in context.key_templates() {
        let (limit, which) = match sort {
            true => (SORT_KEY_BYTES_MAX, "sort key"),
            false => (PARTITION_KEY_BYTES_MAX, "partition key"),
        };
        match key.template.max_bytes() {
            Some(bytes) if bytes > limit => report_long(context, findings, &path, key, (bytes, limit, which)),
            Some(_) => {}
            None => {
                let fits = |part| {
                    let made = context.made_length(path.entity, part).and_then(|made| made.max);
                    made.is_some_and(|chars| chars.saturating_mul(CHARACTER_BYTES_MAX) <= limit as u64)
                };
                let open = key.parts.iter().filter(|part| is_open(key, part) && !fits(part));
                for part in open {
                    let origin = origin(context, path.entity, part);
                    if origin.is_some_and(|(entity, attribute)| {
                        !is_of_request(attribute) && reported.insert((entity, attribute.name.as_str()))
                    }) {
                        report_open(context, findings, &path, (part, key), (limit, which));
                    }
                }
            }
        }
    }
}

fn report_long(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    path: &AccessPath<'_>,
    key: &KeyTemplate,
    (bytes, limit, which): (usize, usize, &str),
) {
    let message = format!(
        "the {which} `{}` of `{}` can have {} bytes, and DynamoDB takes {}",
        key.text,
        path.entity.name,
        grouped_thousands(bytes as u64),
        grouped_thousands(limit as u64),
    );
    findings.push(findings.at(key.span, context.path_subject(path), message).help(
        "lower the limits of its strings (a character takes up to 4 bytes), or put a hash or an id into the key",
    ));
}

fn report_open(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    path: &AccessPath<'_>,
    (part, key): (&KeyPart, &KeyTemplate),
    (limit, which): (usize, &str),
) {
    let message = format!(
        "`{}` has no upper limit, so the {which} `{}` of `{}` can exceed the {} bytes that DynamoDB takes",
        part.path,
        key.text,
        path.entity.name,
        grouped_thousands(limit as u64),
    );
    findings.push(findings.at(part.span, context.path_subject(path), message).help(format!(
        "give it an upper limit, such as `{}: string 1..100`",
        part.path
    )));
}

fn is_open(key: &KeyTemplate, part: &KeyPart) -> bool {
    let variable = key.template.parts().get(part.position).cloned();
    let alone = variable.and_then(|variable| Template::new(vec![variable], key.template.delimiter()).ok());
    alone.is_some_and(|alone| alone.max_bytes().is_none())
}

/// How many references from attribute to attribute are followed.
const REFERENCES_MAX: usize = 16;

/// The attribute that says the type: where one is declared as another's, that other.
fn origin<'a>(context: &Context<'a>, entity: &'a Entity, part: &KeyPart) -> Option<(EntityId, &'a Attribute)> {
    let mut found = (context.model.source_of(entity).id, context.attribute(entity, part)?);
    for _ in 0..REFERENCES_MAX {
        let next = found.1.reference.as_ref().and_then(|(entity, name)| {
            let attribute = context.model.entity(*entity)?.attribute(name)?;
            Some((*entity, attribute))
        });
        match next {
            Some(next) => found = next,
            None => break,
        }
    }
    Some(found)
}

fn is_of_request(attribute: &Attribute) -> bool {
    let computed = attribute.is.as_ref().or(attribute.default.as_ref());
    computed.is_some_and(|expr| expr.any(|part| matches!(part.kind, ExprKind::Caller(_) | ExprKind::Word(_))))
}
