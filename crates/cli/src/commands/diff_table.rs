//! A live table beside the one that a model needs, as changes.

use singlet_evolve::{DataClass, RowChange, Way};
use singlet_store::{IndexKind, IndexProjection, IndexSpec, KeySchema, TableSpec};

/// What must be done to a table that is there. What the model does not use, such as a further index, is left alone.
pub(crate) fn live_table_changes(wanted: &TableSpec, live: &TableSpec) -> Vec<RowChange> {
    let mut found = Vec::new();
    if wanted.key != live.key {
        let said = ("the table's key", key(&live.key), key(&wanted.key));
        let so = "the key of a table cannot be changed";
        found.push(change(said, so, DataClass::Rekey, Way::NewTable));
    }
    for index in &wanted.indexes {
        let part = format!("index `{}`", index.name);
        let known = live.indexes.iter().find(|known| known.name == index.name);
        let is_local = index.kind == IndexKind::Local || known.is_some_and(|known| known.kind == IndexKind::Local);
        let (was, is) = (known.map_or_else(|| "nothing".to_owned(), described), described(index));
        if was == is {
            continue;
        }
        let (so, way) = match (is_local, known) {
            (true, _) => ("a local index can only be made with its table", Way::NewTable),
            (false, None) => (
                "DynamoDB makes one index at a time, while the table is used",
                Way::Bridge,
            ),
            (false, Some(_)) => ("an index cannot be changed: it is removed and made anew", Way::Still),
        };
        found.push(change((&part, was, is), so, DataClass::Index, way));
    }
    let named = |ttl: &Option<String>| {
        ttl.as_ref()
            .map_or_else(|| "nothing".to_owned(), |name| format!("`{name}`"))
    };
    if wanted.ttl != live.ttl {
        let said = ("the TTL attribute", named(&live.ttl), named(&wanted.ttl));
        let so = "DynamoDB would not remove rows that have ended";
        found.push(change(said, so, DataClass::Nothing, Way::Still));
    }
    if wanted.stream.is_some() && wanted.stream != live.stream {
        let shown = |stream: String| stream.to_lowercase();
        let was = live
            .stream
            .map_or_else(|| "nothing".to_owned(), |stream| shown(format!("{stream:?}")));
        let is = wanted
            .stream
            .map_or_else(String::new, |stream| shown(format!("{stream:?}")));
        let so = "another view is another stream: whatever follows it begins with a snapshot";
        found.push(change(("the stream", was, is), so, DataClass::Nothing, Way::Free));
    }
    found
}

fn change((part, was, is): (&str, String, String), so: &str, data: DataClass, way: Way) -> RowChange {
    RowChange {
        entity: None,
        part: part.to_owned(),
        was,
        is,
        so: so.to_owned(),
        data,
        way,
        promise: None,
        lacks: None,
        help: None,
        before: None,
        after: None,
    }
}

fn key(schema: &KeySchema) -> String {
    let attributes = schema.attributes().map(|attribute| {
        format!(
            "`{}` ({})",
            attribute.name,
            format!("{:?}", attribute.key_type).to_lowercase()
        )
    });
    attributes.collect::<Vec<_>>().join(", ")
}

fn described(index: &IndexSpec) -> String {
    let carried = match &index.projection {
        IndexProjection::All => "everything".to_owned(),
        IndexProjection::KeysOnly => "keys".to_owned(),
        IndexProjection::Include(names) => {
            let mut names = names.clone();
            names.sort();
            format!("keys, {}", names.join(", "))
        }
    };
    let local = if index.kind == IndexKind::Local { "local, " } else { "" };
    format!("{local}{}, with {carried}", key(&index.key))
}
