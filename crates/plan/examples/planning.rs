//! Loads models and plans all their reads and writes, for profilers: what planning takes is what this takes beyond `--load`.
//!
//! ```sh
//! cargo build --profile long -p singlet-plan --example planning
//! for stage in --load --plan; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null target/long/examples/planning $stage systems/*/model.yaml
//! done
//! ```

#![allow(clippy::panic, reason = "a program for developers")]

use std::hint::black_box;

use singlet_model::Source;
use singlet_plan::read::plan_read;
use singlet_plan::write::plan_write;

fn main() {
    let mut words = std::env::args().skip(1);
    let is_planned = match words.next().as_deref() {
        Some("--load") => false,
        Some("--plan") => true,
        stage => panic!("{stage:?} is neither --load nor --plan"),
    };
    for path in words {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let Some(model) = singlet_model::load_source(&Source::new(path.as_str(), text)).model else {
            panic!("{path} is no model");
        };
        if is_planned {
            for read in &model.reads {
                black_box(plan_read(&model, read));
            }
            for write in &model.writes {
                black_box(plan_write(&model, write));
            }
        }
    }
}
