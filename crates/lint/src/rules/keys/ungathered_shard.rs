use std::collections::{HashMap, HashSet};

use singlet_model::model::{LetValue, Read, Selection};
use singlet_model::types::EntityId;
use singlet_plan::access::{AccessPath, Bindings};

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
    let readers = readers(context);
    let mut reported = HashSet::new();
    for path in sharded {
        let source = context.model.source_of(path.entity).id;
        let Some(readers) = readers.get(&source) else { continue };
        let used = readers.iter().any(|reader| uses(context, reader, &path));
        let Some(key) = path.partition().first().filter(|_| !used) else {
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
                .at(key.span, context.subject(&path), message)
                .help("read by this key and leave the shard open, or take the shard out of it"),
        );
    }
}

fn has_shard(context: &Context<'_>, path: &AccessPath<'_>) -> bool {
    let mut parts = path.partition().iter().flat_map(|key| &key.parts);
    parts.any(|part| context.is_shard(path.entity, part))
}

/// Something that reads rows: a selection, and the read that it is of.
struct Reader<'a> {
    selection: &'a Selection,
    read: Option<&'a Read>,
}

/// All that reads rows of each entity: reads, names for rows, and loops over rows.
fn readers<'a>(context: &Context<'a>) -> HashMap<EntityId, Vec<Reader<'a>>> {
    let mut found: HashMap<EntityId, Vec<Reader<'a>>> = HashMap::new();
    let reads = context.selections().map(|(read, selection, _)| (Some(read), selection));
    let lets = context.model.reads.iter().flat_map(|read| &read.lets);
    let lets = lets
        .chain(context.model.writes.iter().flat_map(|write| &write.lets))
        .map(|name| &name.value);
    let loops = context
        .steps()
        .filter_map(|(_, step)| step.repeat.as_ref())
        .map(|(_, list)| list);
    let bound = lets.chain(loops).filter_map(|value| match value {
        LetValue::Read(selection) => Some((None, selection)),
        LetValue::Value(_) => None,
    });
    for (read, selection) in reads.chain(bound) {
        for entity in selection
            .entities
            .iter()
            .filter_map(|entity| context.model.entity(*entity))
        {
            let source = context.model.source_of(entity).id;
            found.entry(source).or_default().push(Reader { selection, read });
        }
    }
    found
}

fn uses<'a>(context: &Context<'a>, reader: &Reader<'a>, path: &AccessPath<'_>) -> bool {
    let using = reader.read.and_then(|read| read.using.as_ref());
    if let Some(using) = using {
        let index = using.index.and_then(|index| context.model.index(index));
        return index.map(|index| &index.name) == path.index.map(|index| &index.name);
    }
    let bindings = match reader.read {
        Some(read) => context.bindings(read, reader.selection),
        None => Bindings::of(reader.selection),
    };
    path.unbound(&bindings).is_none()
}
