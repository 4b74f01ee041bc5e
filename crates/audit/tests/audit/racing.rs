//! Tables that are written to while they are audited: what is only on its way is not reported.

use std::sync::Arc;

use singlet_audit::{AuditOptions, KeepNothing, audit_table};
use singlet_changes::{TriggerFollower, Unobserved};
use singlet_runtime::Engine;

use super::place;
use super::support::{NOW, SYSTEMS, delete_item, items_of, sampled};
use super::writers::Writers;

/// How often each table is audited while writers are at work.
fn rounds() -> usize {
    let wanted = std::env::var("SINGLET_AUDITS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(2)
}

fn options() -> AuditOptions {
    AuditOptions {
        // Much happens between two pages.
        page_items_max: 100,
        shown_max: 100,
        ..AuditOptions::default()
    }
}

/// Has copies follow their sources, as a service does.
fn follow(engine: &Arc<Engine>) -> tokio::task::JoinHandle<()> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move {
        let mut follower = TriggerFollower::start(engine, Arc::new(Unobserved), NOW).await.unwrap();
        loop {
            follower.follow_page(&|| NOW).await.unwrap();
            tokio::task::yield_now().await;
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_reported_falsely_while_rows_are_written() {
    for system in SYSTEMS {
        // Only copies take a follower here, and a stream.
        let store = match system {
            "wardrobe" => place::streamed_store().await,
            _ => place::store().await,
        };
        let engine = Arc::new(sampled(system, store).await);
        let following = (system == "wardrobe").then(|| follow(&engine));
        let writers = Writers::start(system, &engine, 6);
        let (mut items, mut unsettled) = (0, 0);
        for round in 0..rounds() {
            let before = writers.done();
            let report = audit_table(&engine, "", &options(), None, &KeepNothing, &|| NOW)
                .await
                .unwrap();
            assert!(report.sound, "{system}, round {round}: {}", report.text());
            assert!(writers.done() > before, "{system}: nobody wrote meanwhile");
            items += report.items;
            unsettled += report.unsettled;
        }
        let writes = writers.end().await;
        println!("{system}: {items} items looked at during {writes} writes, {unsettled} unsettled");
        if let Some(following) = following {
            following.abort();
        }
    }
}

/// And yet what is wrong is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn damage_is_found_while_rows_are_written() {
    let engine = Arc::new(sampled("todo", place::store().await).await);
    let guard = items_of(&engine).await;
    let guard = guard.into_iter().find(|item| item.contains_key("$of")).unwrap();
    let writers = Writers::start("todo", &engine, 4);
    delete_item(&engine, &guard).await;
    let report = audit_table(&engine, "", &options(), None, &KeepNothing, &|| NOW)
        .await
        .unwrap();
    writers.end().await;
    let found = report.findings.iter().filter(|counted| counted.is_damage);
    let found: Vec<_> = found.map(|counted| (counted.kind.as_str(), counted.count)).collect();
    assert_eq!(found, [("guard-missing", 1)], "{}", report.text());
}
