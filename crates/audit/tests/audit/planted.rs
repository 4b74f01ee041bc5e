//! Every kind of damage is reported with its key, and nothing before.

use std::collections::BTreeSet;

use singlet_item::{Item, Value};
use singlet_values::to_json;

use super::damages::{Damage, PLANTED};
use super::place;
use super::support::{SYSTEMS, audited, delete_item, items_of, key_of, put_item, sampled, sampled_briefly};

/// Sample rows, which a load holds to what a create is held to, are sound.
#[tokio::test]
async fn sample_rows_of_all_five_systems_are_sound() {
    for system in SYSTEMS {
        let engine = sampled(system, place::store().await).await;
        let report = audited(&engine).await;
        assert!(report.sound && report.unsettled == 0, "{system}: {}", report.text());
        assert!(report.rows > 200, "{system}: {}", report.text());
    }
}

#[tokio::test]
async fn every_planted_damage_is_reported_with_its_key() {
    let kinds: BTreeSet<_> = PLANTED.iter().map(|planted| planted.kind).collect();
    println!("{} damages of {} kinds", PLANTED.len(), kinds.len());
    let mut missed = Vec::new();
    for system in SYSTEMS {
        let engine = sampled_briefly(system, place::store().await).await;
        let items = items_of(&engine).await;
        let model = engine.model();
        let of_system = PLANTED.iter().filter(|planted| planted.system == system);
        for planted in of_system.step_by(place::every()) {
            let what = format!("{system}: `{}` {}", planted.kind.name(), planted.attribute);
            let Some(damage) = items.iter().find_map(planted.plant) else {
                missed.push(format!("{what}: nothing is fit for it"));
                continue;
            };
            let key = match &damage {
                Damage::Put(item) | Damage::Delete(item) => key_of(model, item),
            };
            let before = items.iter().find(|item| key_of(model, item) == key);
            match &damage {
                Damage::Put(item) => put_item(&engine, item).await,
                Damage::Delete(item) => delete_item(&engine, item).await,
            }
            let report = audited(&engine).await;
            let wanted = to_json(&Value::M(key.clone()));
            let found = report
                .findings
                .iter()
                .filter(|counted| counted.kind == planted.kind.name());
            let named = found.clone().filter(|counted| {
                let attribute = counted.attribute.as_deref().unwrap_or_default();
                planted.attribute.is_empty() || attribute == planted.attribute
            });
            let located = named
                .flat_map(|counted| &counted.examples)
                .filter(|example| example.key == wanted || example.beside.as_ref() == Some(&wanted));
            let is_silent = planted.kind.is_damage() && report.sound;
            if located.count() == 0 || is_silent {
                missed.push(format!("{what} at {wanted}:\n{}", report.text()));
            }
            match before {
                Some(item) => put_item(&engine, item).await,
                None => delete_item(&engine, &key).await,
            }
        }
        let after = audited(&engine).await;
        assert!(after.sound, "{system}: {}", after.text());
        assert!(items_of(&engine).await == items, "{system} is not as it was");
    }
    assert!(missed.is_empty(), "{} missed\n{}", missed.len(), missed.join("\n"));
}

/// What Singlet keeps for itself is no stranger.
#[tokio::test]
async fn rows_of_singlet_itself_are_not_reported() {
    let engine = sampled("wardrobe", place::store().await).await;
    for kind in ["$request", "$change", "$progress", "$tally", "$follower"] {
        let names = [
            ("PK", format!("{kind}#x")),
            ("SK", "$".to_owned()),
            ("EntityType", kind.to_owned()),
        ];
        let item: Item = names
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::S(value)))
            .collect();
        put_item(&engine, &item).await;
    }
    let report = audited(&engine).await;
    assert!(report.sound && report.findings.is_empty(), "{}", report.text());
}
