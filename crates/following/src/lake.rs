//! Changes that are brought into lakes.

use std::sync::Arc;

use singlet_changes::ChangeSource;
use singlet_face::Company;
use singlet_lake::{LakeFollower, LakePlace, LakeStep};
use singlet_runtime::Engine;

use crate::pace::{HEAD_PAUSE_SHARED, LEASE_PAUSE, away_pause, now_millis, stream_late_millis};

/// Brings the changes of a system into its lake.
pub(crate) async fn lake_for_ever(engine: &Arc<Engine>, company: Company, place: Option<LakePlace>) {
    let Some(place) = place else { return };
    let model = engine.model();
    let files = match place.of_system(&model.name).open_files() {
        Ok(files) => files,
        Err(error) => {
            tracing::error!(system = model.name, %error, "cannot write changes to the lake");
            return;
        }
    };
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(engine.store()));
    let mut lake = LakeFollower::new(files, Arc::clone(model), source, stream_late_millis(company));
    let mut failures = 0_u32;
    loop {
        let pause = match lake.follow_page(&now_millis).await {
            Ok(step) => {
                failures = 0;
                say_step(&model.name, &step);
                if step.records > 0 {
                    continue;
                }
                HEAD_PAUSE_SHARED
            }
            // Another process brings them there; what it did is read anew.
            Err(error) if error.is_overtaken() => LEASE_PAUSE,
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(system = model.name, %error, "cannot write changes to the lake for now");
                }
                failures = failures.saturating_add(1);
                away_pause(failures)
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Says in the log what a step brought.
pub fn say_step(system: &str, step: &LakeStep) {
    let (changes, misfits) = (step.appended.changes, step.appended.misfits);
    if step.is_snapshot {
        tracing::info!(system, rows = changes, "the lake has every row");
    } else if changes > 0 {
        tracing::debug!(system, changes, "wrote changes to the lake");
    }
    if misfits > 0 {
        tracing::warn!(
            system,
            misfits,
            "rows that do not fit the model went to `_misfits` in the lake"
        );
    }
}
