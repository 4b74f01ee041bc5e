use std::collections::{HashMap, HashSet};

use singlet_model::types::EntityId;
use singlet_plan::access::AccessPath;

use crate::answers::Answered;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A key is spread over shards, and no read gathers them.
    ///
    /// A shard in a partition key buys writes: ten shards take ten times 1,000 write units a second. The price is that a read
    /// asks each of them. Where the rows are read, but never by this key, nobody pays and nobody gains: the shard only makes
    /// keys longer, and whoever reads by hand finds a tenth of the rows.
    ///
    /// ```yaml
    /// shard: int 0..9 = hash(eventId) % 10
    /// index:
    ///   GSI1: {GSI1PK: "EVENTS#{shard}", GSI1SK: "{at}"}       # and no read of events by time
    /// ```
    ///
    /// A shard is a number of few values whose default is `hash(…)` or `random(…)`. A read gathers it by leaving it open while
    /// it binds the rest of the partition key.
    ///
    /// Way out: a read that uses the key, or a key without the shard.
    "K015" "ungathered-shard" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let sharded: Vec<AccessPath<'_>> = context.own_paths().filter(|path| has_shard(context, path)).collect();
    if sharded.is_empty() {
        return;
    }
    let mut readers: HashMap<EntityId, Vec<&Answered<'_>>> = HashMap::new();
    for answered in context.answered_asks() {
        let source = context.model.source_of(answered.asked.entity).id;
        readers.entry(source).or_default().push(answered);
    }
    let mut reported = HashSet::new();
    for path in sharded {
        let source = context.model.source_of(path.entity).id;
        let Some(readers) = readers.get(&source) else { continue };
        let used = readers.iter().any(|reader| uses(context, reader, &path));
        let Some(key) = path.partition_templates().first().filter(|_| !used) else {
            continue;
        };
        if !reported.insert(key.span) {
            continue;
        }
        let message = format!(
            "`{}` is spread over shards in {}, and no read gathers them",
            path.entity.name,
            path.name()
        );
        findings.push(
            findings
                .at(key.span, context.path_subject(&path), message)
                .help("read by this key and leave the shard open, or take the shard out of it"),
        );
    }
}

fn has_shard(context: &Context<'_>, path: &AccessPath<'_>) -> bool {
    let mut parts = path.partition_templates().iter().flat_map(|key| &key.parts);
    parts.any(|part| context.is_shard(path.entity, part))
}

/// Whether what is asked for can be answered by a path.
fn uses(context: &Context<'_>, answered: &Answered<'_>, path: &AccessPath<'_>) -> bool {
    if let Some(using) = answered.asked.own_read().and_then(|read| read.using.as_ref()) {
        let index = using.index.and_then(|index| context.model.index(index));
        return index.map(|index| &index.name) == path.index.map(|index| &index.name);
    }
    answered.paths.iter().any(|own| std::ptr::eq(own.choice, path.choice))
}
