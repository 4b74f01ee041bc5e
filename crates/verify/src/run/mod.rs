//! Runs of made-up cases, by seed: what the tests do with a few, and the long run with many.

pub mod coverage;
pub mod followed;
pub mod parallel;
pub mod ranges;
pub mod reads;
pub mod writes;

use fastrand::Rng;
use singlet_model::{Source, load_source};
use singlet_runtime::Bounds;

/// 2026-11-16T12:00:00.500Z: between two seconds.
pub const NOW: i64 = 1_794_830_400_500;

/// What a seed makes up for one of its models.
pub fn rng_of(seed: u64, model: u64) -> Rng {
    Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(model))
}

/// Bounds as they usually are, or with every step from 1 to 4.
pub(crate) fn bounds_of(rng: &mut Rng) -> Bounds {
    match rng.bool() {
        true => Bounds::USUAL,
        false => Bounds::USUAL.with_steps(|name, _| match name {
            // It is of bytes: the place of one range takes some.
            "cursor_bytes" => rng.usize(200..=2_000),
            _ => rng.usize(1..=4),
        }),
    }
}

/// What is wrong with a model.
fn model_errors(text: &str) -> Vec<String> {
    let loaded = load_source(&Source::new("made", text));
    let errors = loaded.diagnostics.iter();
    let errors = errors.filter(|finding| finding.rule.severity == singlet_model::Severity::Error);
    errors
        .map(|finding| format!("{} {}", finding.rule.code, finding.message))
        .collect()
}
