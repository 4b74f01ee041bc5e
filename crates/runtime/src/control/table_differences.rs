//! The live table beside the one that a model needs.

use singlet_store::{IndexSpec, KeySchema, TableSpec};

/// What differs, a sentence each. What the model does not use, such as a further index, is left alone.
pub(crate) fn table_differences(wanted: &TableSpec, live: &TableSpec) -> Vec<String> {
    let mut found = Vec::new();
    if wanted.key != live.key {
        found.push(format!("its key is {}, not {}", key(&live.key), key(&wanted.key)));
    }
    for index in &wanted.indexes {
        match live.indexes.iter().find(|known| known.name == index.name) {
            None => found.push(format!("it has no index `{}`", index.name)),
            Some(known) => found.extend(index_differences(index, known)),
        }
    }
    if wanted.ttl != live.ttl {
        found.push(format!(
            "its TTL attribute is {}, not {}",
            named(live.ttl.as_deref()),
            named(wanted.ttl.as_deref())
        ));
    }
    if let Some(stream) = wanted.stream.filter(|stream| live.stream != Some(*stream)) {
        let live = live
            .stream
            .map_or_else(|| "none".to_owned(), |stream| format!("{stream:?}"));
        found.push(format!(
            "its stream carries {}, not {}",
            live.to_lowercase(),
            format!("{stream:?}").to_lowercase()
        ));
    }
    found
}

fn index_differences(wanted: &IndexSpec, live: &IndexSpec) -> Vec<String> {
    let mut found = Vec::new();
    let name = &wanted.name;
    if wanted.key != live.key {
        found.push(format!(
            "the key of index `{name}` is {}, not {}",
            key(&live.key),
            key(&wanted.key)
        ));
    }
    if wanted.kind != live.kind {
        found.push(format!("index `{name}` is {:?}, not {:?}", live.kind, wanted.kind).to_lowercase());
    }
    if wanted.projection != live.projection {
        found.push(format!("index `{name}` projects other attributes than the model says"));
    }
    found
}

fn key(schema: &KeySchema) -> String {
    let attributes = schema
        .attributes()
        .map(|attribute| format!("`{}` ({:?})", attribute.name, attribute.key_type));
    attributes.collect::<Vec<_>>().join(", ")
}

fn named(attribute: Option<&str>) -> String {
    attribute.map_or_else(|| "none".to_owned(), |name| format!("`{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use singlet_store::{IndexKind, IndexProjection, KeyType};

    fn table() -> TableSpec {
        let mut table = TableSpec::new(
            "t",
            KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String),
        );
        table.indexes.push(IndexSpec {
            name: "GSI1".to_owned(),
            kind: IndexKind::Global,
            key: KeySchema::partition("GSI1PK", KeyType::String),
            projection: IndexProjection::All,
            units: None,
        });
        table
    }

    #[test]
    fn a_table_as_wanted_differs_in_nothing_though_it_has_more() {
        let mut live = table();
        live.indexes.push(IndexSpec {
            name: "GSI2".to_owned(),
            ..live.indexes[0].clone()
        });
        assert_eq!(table_differences(&table(), &live), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_said() {
        let mut live = table();
        live.key = KeySchema::partition("PK", KeyType::Number);
        live.indexes[0].projection = IndexProjection::KeysOnly;
        live.ttl = Some("expires".to_owned());
        let found = table_differences(&table(), &live);
        assert_eq!(found.len(), 3, "{found:?}");
        live.indexes.clear();
        assert!(table_differences(&table(), &live).contains(&"it has no index `GSI1`".to_owned()));
    }
}
