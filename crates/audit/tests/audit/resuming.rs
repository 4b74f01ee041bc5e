//! An audit that stopped halfway goes on where it was, and finds what one that did not stop finds.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use singlet_audit::{
    AuditError, AuditKeeper, AuditOptions, AuditProgress, AuditReport, RepairMode, audit_table, estimate_audit,
};
use singlet_runtime::{Engine, ItemChange};

use super::place;
use super::support::{NOW, audited, items_of, put_item, sampled};

/// Keeps progress, and fails after some images, as a process does that is killed.
#[derive(Default)]
struct Dying {
    progress: Mutex<Option<String>>,
    images: Mutex<Vec<ItemChange>>,
    lives: AtomicU64,
}

impl AuditKeeper for Dying {
    fn keep_progress(&self, progress: &AuditProgress) -> io::Result<()> {
        *self.progress.lock().unwrap() = Some(serde_json::to_string(progress).unwrap());
        Ok(())
    }

    fn keep_images(&self, changes: &[ItemChange]) -> io::Result<()> {
        self.images.lock().unwrap().extend_from_slice(changes);
        match self.lives.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(io::Error::other("killed")),
            _ => Ok(()),
        }
    }
}

async fn damaged() -> Engine {
    let engine = sampled("todo", place::store().await).await;
    for item in items_of(&engine)
        .await
        .iter()
        .filter(|item| item.contains_key("GSI1SK"))
    {
        let mut item = item.clone();
        item.remove("GSI1SK");
        put_item(&engine, &item).await;
    }
    engine
}

fn options(repair: RepairMode) -> AuditOptions {
    AuditOptions {
        page_items_max: 10,
        segments: 3,
        repair,
        ..AuditOptions::default()
    }
}

/// Killed at many places, and run again each time: everything is mended once, and told once or, where it was killed between
/// the image and the change, kept twice.
#[tokio::test]
async fn a_repair_that_is_killed_goes_on() {
    let engine = damaged().await;
    let whole = audited(&engine).await;
    assert!(whole.damage_count() > 100, "{}", whole.text());
    let (mut kills, mut images) = (0, Vec::new());
    for lives in 0.. {
        let dying = Dying {
            lives: AtomicU64::new(lives),
            ..Dying::default()
        };
        let ended = audit_table(&engine, "", &options(RepairMode::Mend), None, &dying, &|| NOW).await;
        images.extend(dying.images.into_inner().unwrap());
        match ended {
            Ok(report) => {
                assert_eq!(
                    report.mended.iter().map(|one| one.count).sum::<u64>(),
                    report.damage_count()
                );
                break;
            }
            Err(AuditError::Keep(_)) => kills += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(kills > 5, "{kills}");
    assert!(images.len() as u64 >= whole.damage_count());
    let after = audited(&engine).await;
    assert!(after.sound, "{}", after.text());
    println!("{kills} kills");
}

/// What was kept at any time is a whole progress: an audit that begins there ends with the same report.
#[tokio::test]
async fn an_audit_goes_on_from_kept_progress() {
    let engine = damaged().await;
    let whole = run(&engine, None).await.unwrap();
    let begun = r#"{"start": null, "is_done": false}"#;
    let dying = Dying::default();
    audit_table(&engine, "m", &options(RepairMode::Nothing), None, &dying, &|| NOW)
        .await
        .unwrap();
    let last: AuditProgress = serde_json::from_str(&dying.progress.into_inner().unwrap().unwrap()).unwrap();
    // One that is at its end reads nothing more.
    let again = run(&engine, Some(last.clone())).await.unwrap();
    assert_eq!(
        (again.items, again.damage_count(), again.read_units),
        (last.report.items, last.report.damage_count(), last.report.read_units)
    );
    // A segment of it anew: what that has is counted once more, and no more.
    let mut json = serde_json::to_value(&last).unwrap();
    json["segments"][0] = serde_json::from_str(begun).unwrap();
    let part = run(&engine, Some(serde_json::from_value(json).unwrap())).await.unwrap();
    assert!(
        part.items > whole.items && part.items < 2 * whole.items,
        "{}",
        part.text()
    );
    // Progress of something else is refused.
    let json = serde_json::to_value(&last).unwrap();
    for (name, value) in [
        ("table", "other".into()),
        ("model", "other".into()),
        ("form", serde_json::json!(9)),
    ] {
        let mut strange = json.clone();
        strange[name] = value;
        let ended = run(&engine, Some(serde_json::from_value(strange).unwrap())).await;
        assert!(matches!(ended, Err(AuditError::Progress(_))), "{name}");
    }
}

async fn run(engine: &Engine, before: Option<AuditProgress>) -> Result<AuditReport, AuditError> {
    audit_table(
        engine,
        "m",
        &options(RepairMode::Nothing),
        before,
        &Dying::default(),
        &|| NOW,
    )
    .await
}

/// Whatever the size of pages and the number of segments.
#[tokio::test]
async fn pages_and_segments_change_nothing() {
    let engine = damaged().await;
    let whole = audited(&engine).await;
    for (segments, page_items_max) in [(1, 1), (1, 2), (1, 1_000), (2, 7), (64, 3)] {
        let options = AuditOptions {
            segments,
            page_items_max,
            ..AuditOptions::default()
        };
        let report = audit_table(&engine, "", &options, None, &Dying::default(), &|| NOW)
            .await
            .unwrap();
        assert_eq!(
            (report.items, report.rows, report.damage_count()),
            (whole.items, whole.rows, whole.damage_count()),
            "{segments} segments, {page_items_max} items"
        );
    }
    let estimate = estimate_audit(&engine).await.unwrap();
    assert!(
        estimate.units_max() >= whole.read_units || whole.damage_count() > 0,
        "{estimate:?}"
    );
}

/// What is said first is what it takes at most, on a sound table.
#[tokio::test]
async fn the_estimate_holds_on_sound_tables() {
    for system in super::support::SYSTEMS {
        let engine = sampled(system, place::store().await).await;
        let estimate = estimate_audit(&engine).await.unwrap();
        let report = audited(&engine).await;
        assert_eq!(estimate.items, report.items, "{system}");
        assert!(
            report.read_units <= estimate.units_max() * 1.1 + 5.0 && report.read_units >= estimate.scan_units,
            "{system}: {} of {estimate:?}",
            report.read_units
        );
        println!(
            "{system}: {} read units, at most {}",
            report.read_units,
            estimate.units_max()
        );
    }
}
