//! The life of tables.

use super::Context;
use super::context::{item_key, string_index};
use crate::{
    Billing, GetRequest, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeyRange, KeySchema, KeyType, QueryRequest,
    ScanRequest, StreamView, TableChange, TableSpec, TableStatus,
};

pub(super) async fn a_table_lives_from_creation_to_deletion(context: &Context) {
    let table = context.table().await;
    assert!(context.store().list_tables().await.unwrap().contains(&table));
    let description = context.store().describe_table(&table).await.unwrap();
    assert_eq!(description.status, TableStatus::Active);
    assert_eq!(description.item_count, 0);
    context.store().delete_table(&table).await.unwrap();
    assert!(!context.store().list_tables().await.unwrap().contains(&table));
    assert!(context.store().describe_table(&table).await.unwrap_err().is_not_found());
}

pub(super) async fn a_description_equals_what_was_asked_for(context: &Context) {
    let mut spec = TableSpec::new(
        context.table_name(),
        KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::Binary),
    );
    spec.indexes = vec![
        string_index("GSI-all", "A", Some("B"), IndexProjection::All),
        IndexSpec {
            name: "GSI-many".to_owned(),
            kind: IndexKind::Global,
            key: KeySchema::partition("A", KeyType::String)
                .and_partition("N", KeyType::Number)
                .sort("B", KeyType::String)
                .sort("M", KeyType::Number),
            projection: IndexProjection::Include(vec!["X".to_owned(), "Y".to_owned()]),
            units: None,
        },
        IndexSpec {
            name: "LSI-keys".to_owned(),
            kind: IndexKind::Local,
            key: KeySchema::partition("PK", KeyType::String).sort("N", KeyType::Number),
            projection: IndexProjection::KeysOnly,
            units: None,
        },
    ];
    spec.ttl = Some("expires".to_owned());
    spec.stream = Some(StreamView::Both);
    context.create_from(&spec).await;
    let mut description = context.store().describe_table(&spec.name).await.unwrap().spec;
    for index in &mut description.indexes {
        if let IndexProjection::Include(names) = &mut index.projection {
            names.sort_unstable();
        }
    }
    assert_eq!(description, spec);
}

pub(super) async fn provisioned_units_are_described(context: &Context) {
    let mut spec = TableSpec::new(context.table_name(), KeySchema::partition("id", KeyType::Number));
    spec.billing = Billing::Provisioned {
        read_units: 7,
        write_units: 3,
    };
    let own = IndexSpec {
        units: Some(IndexUnits {
            read_units: 2,
            write_units: 1,
        }),
        ..string_index("GSI-own", "B", None, IndexProjection::KeysOnly)
    };
    spec.indexes = vec![string_index("GSI", "A", None, IndexProjection::KeysOnly), own];
    context.create_from(&spec).await;
    assert_eq!(context.store().describe_table(&spec.name).await.unwrap().spec, spec);
}

pub(super) async fn the_units_of_an_index_change_by_themselves(context: &Context) {
    let mut spec = TableSpec::new(context.table_name(), KeySchema::partition("id", KeyType::Number));
    spec.billing = Billing::Provisioned {
        read_units: 7,
        write_units: 3,
    };
    spec.indexes = vec![string_index("GSI", "A", None, IndexProjection::KeysOnly)];
    context.create_from(&spec).await;
    let units = IndexUnits {
        read_units: 4,
        write_units: 5,
    };
    let change = TableChange::IndexUnits("GSI".to_owned(), units);
    context.store().update_table(&spec.name, &change).await.unwrap();
    let described = context.store().describe_table(&spec.name).await.unwrap().spec;
    assert_eq!(described.indexes.first().unwrap().units, Some(units));
    assert_eq!(described.billing, spec.billing);
    let missing = TableChange::IndexUnits("other".to_owned(), units);
    assert!(context.store().update_table(&spec.name, &missing).await.is_err());
}

pub(super) async fn a_table_is_created_once(context: &Context) {
    let table = context.table().await;
    let spec = TableSpec::new(table, KeySchema::partition("PK", KeyType::String));
    assert!(context.store().create_table(&spec).await.unwrap_err().is_in_use());
}

pub(super) async fn what_is_not_there_is_not_found(context: &Context) {
    let table = context.table_name();
    let store = context.store();
    assert!(store.describe_table(&table).await.unwrap_err().is_not_found());
    assert!(store.delete_table(&table).await.unwrap_err().is_not_found());
    assert!(store.update_ttl(&table, Some("at")).await.unwrap_err().is_not_found());
    assert!(
        context
            .try_put(&table, item_key("a", "b"))
            .await
            .unwrap_err()
            .is_not_found()
    );
    let get = GetRequest {
        table: table.clone(),
        key: item_key("a", "b"),
        ..GetRequest::default()
    };
    assert!(store.get(&get).await.unwrap_err().is_not_found());
    let query = QueryRequest::new(&table, KeyRange::partition("PK", "a"));
    assert!(store.query(&query).await.unwrap_err().is_not_found());
    let scan = ScanRequest {
        table,
        ..ScanRequest::default()
    };
    assert!(store.scan(&scan).await.unwrap_err().is_not_found());
}

pub(super) async fn a_missing_index_is_not_found(context: &Context) {
    let table = context.table().await;
    let mut query = QueryRequest::new(&table, KeyRange::partition("PK", "a"));
    query.index = Some("GSI".to_owned());
    assert!(context.store().query(&query).await.unwrap_err().is_not_found());
    let scan = ScanRequest {
        table,
        index: Some("GSI".to_owned()),
        ..ScanRequest::default()
    };
    assert!(context.store().scan(&scan).await.unwrap_err().is_not_found());
}

pub(super) async fn expiry_is_turned_on_and_off(context: &Context) {
    let table = context.table().await;
    let store = context.store();
    let ttl = async || store.describe_table(&table).await.unwrap().spec.ttl;
    assert_eq!(ttl().await, None);
    store.update_ttl(&table, None).await.unwrap();
    store.update_ttl(&table, Some("expires at")).await.unwrap();
    assert_eq!(ttl().await.as_deref(), Some("expires at"));
    store.update_ttl(&table, Some("expires at")).await.unwrap();
    assert!(
        store
            .update_ttl(&table, Some("another"))
            .await
            .unwrap_err()
            .is_bad_request()
    );
    assert_eq!(ttl().await.as_deref(), Some("expires at"));
    store.update_ttl(&table, None).await.unwrap();
    assert_eq!(ttl().await, None);
}
