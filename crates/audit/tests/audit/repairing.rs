//! A repair mends what it says, and nothing else; what items were before is kept, and can be put back.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_audit::RepairMode;
use singlet_item::Item;
use singlet_runtime::ItemChange;
use singlet_runtime::load::{LoadOptions, TextRows, load_rows};

use super::damages::{Damage, PLANTED};
use super::place;
use super::support::{
    NOW, SYSTEMS, audited, delete_item, items_of, key_of, put_item, repaired, sampled, sampled_briefly,
};
use super::writers::Writers;

fn by_key(engine: &singlet_runtime::Engine, items: Vec<Item>) -> BTreeMap<Item, Item> {
    let model = engine.model();
    items.into_iter().map(|item| (key_of(model, &item), item)).collect()
}

/// Of every damage that can be mended: afterwards the table is what it was before the damage, item for item. Of every other:
/// afterwards it is as it was damaged.
#[tokio::test]
async fn what_is_certain_is_mended_and_nothing_else() {
    let (mut mended, mut left, mut wrong) = (0, 0, Vec::new());
    for system in SYSTEMS {
        let engine = sampled_briefly(system, place::store().await).await;
        let sound = by_key(&engine, items_of(&engine).await);
        let of_system = PLANTED.iter().filter(|planted| planted.system == system);
        for planted in of_system.step_by(place::every()) {
            let what = format!("{system}: `{}` {}", planted.kind.name(), planted.attribute);
            let damage = sound.values().find_map(planted.plant).unwrap();
            match &damage {
                Damage::Put(item) => put_item(&engine, item).await,
                Damage::Delete(item) => delete_item(&engine, item).await,
            }
            let damaged = by_key(&engine, items_of(&engine).await);
            let (shown, kept) = repaired(&engine, RepairMode::Show).await;
            assert!(
                kept.is_empty() && by_key(&engine, items_of(&engine).await) == damaged,
                "{what}"
            );
            let (report, changes) = repaired(&engine, RepairMode::Mend).await;
            // What one mend lays open, such as the place of a guard of nobody, another may fill.
            let is_kept = |one: &&singlet_audit::MendCount| !report.mended.contains(one);
            assert_eq!(shown.mended.iter().find(is_kept), None, "{what}");
            let after = by_key(&engine, items_of(&engine).await);
            // Only what is told was changed, and it was what is told.
            let mut expected = damaged.clone();
            for ItemChange { before, after } in &changes {
                let key = key_of(engine.model(), before.as_ref().or(after.as_ref()).unwrap());
                assert_eq!(expected.get(&key), before.as_ref(), "{what}");
                match after {
                    Some(item) => drop(expected.insert(key, item.clone())),
                    None => drop(expected.remove(&key)),
                }
            }
            assert!(after == expected, "{what}: something else was changed");
            let is_mended = report.mended.iter().any(|one| one.kind == planted.kind.name());
            if is_mended {
                mended += 1;
                let again = audited(&engine).await;
                if again.count_of(planted.kind) > 0 {
                    wrong.push(format!("{what} is still there:\n{}", again.text()));
                }
                if matches!(damage, Damage::Put(_)) || again.sound {
                    let is_as_before = after == sound || again.sound;
                    assert!(is_as_before, "{what}: {}", again.text());
                }
            } else {
                left += 1;
                let why = report.not_mended.iter().find(|one| one.kind == planted.kind.name());
                let is_said = why.is_some_and(|one| one.why.as_ref().is_some_and(|why| !why.is_empty()));
                // Another mend may have come first and left nothing of it.
                let is_gone = report.count_of(planted.kind) == 0 && audited(&engine).await.sound;
                if !is_said && !is_gone {
                    wrong.push(format!("{what}: neither mended nor said why not\n{}", report.text()));
                }
            }
            // And back, by the lines that were kept.
            put_back(&engine, &changes).await;
            assert!(
                by_key(&engine, items_of(&engine).await) == damaged,
                "{what} is not put back"
            );
            for key in damaged.keys().chain(sound.keys()) {
                match sound.get(key) {
                    Some(item) if damaged.get(key) != Some(item) => put_item(&engine, item).await,
                    Some(_) => {}
                    None => delete_item(&engine, key).await,
                }
            }
            assert!(by_key(&engine, items_of(&engine).await) == sound, "{what}");
        }
    }
    println!("{mended} damages mended, {left} left with a reason");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mended >= 20 / place::every(), "{mended}");
}

async fn put_back(engine: &singlet_runtime::Engine, changes: &[ItemChange]) {
    let lines = changes.iter().rev().map(|change| {
        let image = serde_json::json!({"$image": {"before": change.before, "after": change.after}});
        format!("{image}\n")
    });
    let text: String = lines.collect();
    let options = LoadOptions {
        as_is: true,
        ..LoadOptions::at(NOW)
    };
    let loaded = load_rows(engine, &TextRows(&text), &options, &mut |_| {})
        .await
        .unwrap();
    assert_eq!((loaded.left_out, loaded.misfits.len()), (0, 0), "{loaded:?}");
}

/// What was changed since is not put back over it.
#[tokio::test]
async fn an_image_is_not_put_back_over_what_came_later() {
    let engine = sampled("wardrobe", place::store().await).await;
    let items = items_of(&engine).await;
    let item = items.iter().find(|item| item.contains_key("GSI1PK")).unwrap();
    let mut broken = item.clone();
    broken.remove("GSI1PK");
    put_item(&engine, &broken).await;
    let (_, changes) = repaired(&engine, RepairMode::Mend).await;
    assert_eq!(changes.len(), 1);
    let mut later = item.clone();
    later.insert("Name".to_owned(), "later".into());
    put_item(&engine, &later).await;
    let image = serde_json::json!({"$image": {"before": changes[0].before, "after": changes[0].after}});
    let text = format!("{image}\n{{\"$image\": 3}}\n{{\"$image\": {{\"before\": null, \"after\": null}}}}\n");
    let options = LoadOptions {
        as_is: true,
        ..LoadOptions::at(NOW)
    };
    let loaded = load_rows(&engine, &TextRows(&text), &options, &mut |_| {})
        .await
        .unwrap();
    assert_eq!((loaded.rows, loaded.left_out), (0, 2), "{loaded:?}");
    assert!(items_of(&engine).await.contains(&later));
}

/// Many damages at once, with writers on the same rows: none is left, and nothing that they wrote is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repairs_race_with_writers() {
    for (system, index_key) in [("todo", "GSI1SK"), ("booking", "GSI1PK"), ("ecobid", "GSI4PK")] {
        let engine = Arc::new(sampled(system, place::store().await).await);
        let writers = Writers::start(system, &engine, 6);
        for _ in 0..3 {
            // Damage on rows of writers and others: a raw put may undo what a writer did just now, so that it is conditional.
            let items = items_of(&engine).await;
            for item in items.iter().filter(|item| item.contains_key(index_key)).step_by(5) {
                damage_if_same(&engine, item, index_key).await;
            }
            let (report, changes) = repaired(&engine, RepairMode::Mend).await;
            for change in &changes {
                let (Some(before), Some(after)) = (&change.before, &change.after) else {
                    panic!("{system}: {change:?}");
                };
                let differing = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
                let names: Vec<&String> = differing.map(|(name, _)| name).collect();
                assert_eq!(names, [index_key], "{system}: {}", report.text());
            }
        }
        let writes = writers.end().await;
        let (report, _) = repaired(&engine, RepairMode::Mend).await;
        let after = audited(&engine).await;
        assert!(after.sound, "{system}: {}", after.text());
        println!(
            "{system}: {writes} writes, {} things left for the last repair",
            report.damage_count()
        );
    }
}

async fn damage_if_same(engine: &singlet_runtime::Engine, item: &Item, name: &str) {
    use singlet_store::{Condition, Path, Update, UpdateRequest};
    let same = item
        .iter()
        .map(|(name, value)| Condition::equal(Path::attribute(name), value.clone()));
    let request = UpdateRequest {
        table: engine.model().table.name.clone(),
        key: key_of(engine.model(), item),
        update: Update::new().remove(Path::attribute(name)),
        condition: Some(Condition::And(same.collect())),
        ..UpdateRequest::default()
    };
    match engine.store().update(&request).await {
        Ok(_) => {}
        Err(error) => assert!(error.is_condition_failed() || error.is_retryable(), "{error}"),
    }
}
