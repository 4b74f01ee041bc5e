//! Files of rows that models allow, and files with one mistake, through `load`: of made-up models and of the five systems.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use std::path::Path;
use std::sync::Arc;

use singlet_model::{Model, Source};
use singlet_verify::generate;
use singlet_verify::probe::{LoadTally, try_loads, usual_settings};
use singlet_verify::run::rng_of;
use support::{memory, setting};

/// Made-up models, and files of each.
const MODELS: u64 = 25;
const FILES: u64 = 8;

/// Files of each system.
const SYSTEM_FILES: u64 = 20;

async fn tried(model: &Arc<Model>, files: u64, all: &mut LoadTally) {
    let seed = setting("SINGLET_SEED", 1);
    let settings = usual_settings(model);
    let tally = try_loads(model, &settings, &memory, (seed, files)).await;
    let tally = tally.unwrap_or_else(|what| panic!("{}: {what}", model.name));
    all.taken += tally.taken;
    all.rows += tally.rows;
    all.filled += tally.filled;
    for (word, count) in tally.refused {
        *all.refused.entry(word).or_default() += count;
    }
}

#[tokio::test]
async fn files_of_made_up_models_are_loaded_whole_or_not_at_all() {
    let mut all = LoadTally::default();
    for at in 0..setting("SINGLET_MODELS", MODELS) {
        let text = generate::writes::generate_writes(&mut rng_of(setting("SINGLET_SEED", 1), at)).text();
        let loaded = singlet_model::load_source(&Source::new("made", text.as_str()));
        // A write that is none takes nothing from the rows.
        if let Some(model) = loaded.model.filter(|_| !loaded.diagnostics.has_errors()) {
            tried(&Arc::new(model), FILES, &mut all).await;
        }
    }
    println!("{all:?}");
    assert!(all.taken > 40 && all.rows > 400 && all.filled > 40, "{all:?}");
    assert_eq!(all.refused.len(), 5, "a mistake is never made: {all:?}");
}

#[tokio::test]
async fn files_of_the_five_systems_are_loaded_whole_or_not_at_all() {
    let mut all = LoadTally::default();
    for system in ["todo", "booking", "country", "ecobid", "wardrobe"] {
        let path = format!("../../systems/{system}/model.yaml");
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let model = singlet_model::load_source(&Source::new(system, text)).model.unwrap();
        tried(&Arc::new(model), SYSTEM_FILES, &mut all).await;
    }
    println!("{all:?}");
    assert!(all.taken == 5 * SYSTEM_FILES as usize && all.filled > 0, "{all:?}");
}
