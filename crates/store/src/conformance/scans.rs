//! Scans: everything, in pages and in parts.

use super::Context;
use super::context::{item_key, item_with};
use crate::{Condition, Path, ScanRequest, ScanSegment, Select};
use std::collections::BTreeSet;

async fn numbered(context: &Context, count: i64) -> String {
    let table = context.table().await;
    for number in 0..count {
        context
            .put(&table, item_with(&format!("p{number}"), "s", "n", number))
            .await;
    }
    table
}

async fn all(context: &Context, mut request: ScanRequest) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..100 {
        let page = context.store().scan(&request).await.unwrap();
        assert!(request.limit.is_none_or(|limit| page.scanned <= limit as usize));
        found.extend(page.items.iter().map(|item| item["PK"].as_str().unwrap().to_owned()));
        request.start = page.last_key;
        if request.start.is_none() {
            return found;
        }
    }
    panic!("the scan does not end");
}

pub(super) async fn pages_cover_the_table_once(context: &Context) {
    let table = numbered(context, 11).await;
    let request = ScanRequest {
        table,
        limit: Some(3),
        ..ScanRequest::default()
    };
    let found = all(context, request).await;
    assert_eq!(found.len(), 11);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), 11);
}

pub(super) async fn segments_cover_the_table_once(context: &Context) {
    let table = numbered(context, 20).await;
    let mut found = Vec::new();
    for index in 0..3 {
        let request = ScanRequest {
            table: table.clone(),
            segment: Some(ScanSegment { index, total: 3 }),
            ..ScanRequest::default()
        };
        found.extend(all(context, request).await);
    }
    assert_eq!(found.len(), 20);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), 20);
}

pub(super) async fn an_empty_table_has_an_empty_page(context: &Context) {
    let request = ScanRequest {
        table: context.table().await,
        consistent: true,
        ..ScanRequest::default()
    };
    let page = context.store().scan(&request).await.unwrap();
    assert_eq!(
        (page.items.len(), page.count, page.scanned, page.last_key),
        (0, 0, 0, None)
    );
}

pub(super) async fn a_scan_filters_projects_and_counts(context: &Context) {
    let table = numbered(context, 5).await;
    let mut request = ScanRequest {
        table,
        filter: Some(Condition::equal("n", 3_i64)),
        select: Select::Paths([Path::from("PK"), Path::from("SK")].into()),
        ..ScanRequest::default()
    };
    let page = context.store().scan(&request).await.unwrap();
    assert_eq!(page.items, [item_key("p3", "s")]);
    assert_eq!((page.count, page.scanned), (1, 5));
    request.select = Select::Count;
    let page = context.store().scan(&request).await.unwrap();
    assert_eq!((page.items.len(), page.count), (0, 1));
}
