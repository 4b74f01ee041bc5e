//! Models that change while they are served.

use std::time::Duration;

use singlet_http::Service;

use super::Deployment;
use super::sources::Source;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// Takes up every change that checks clean and fits the live table; says why one is not taken. Never ends.
///
/// What a file says is compared, not when it was written: an editor writes in several steps, and a file system's clock may
/// not tell the last of them from the first. `seen` is what was there when the models were loaded.
pub(crate) async fn follow_sources(
    sources: &[Source],
    mut seen: Vec<Option<Vec<u8>>>,
    deployment: &Deployment,
    service: &Service,
) {
    let names: Vec<String> = service.systems().iter().map(|system| system.name.clone()).collect();
    loop {
        tokio::time::sleep(INTERVAL).await;
        for ((source, seen), name) in sources.iter().zip(&mut seen).zip(&names) {
            // A file that is away for a moment is one that is being replaced.
            let Some(now) = source.bytes() else { continue };
            if seen.as_ref() == Some(&now) {
                continue;
            }
            *seen = Some(now);
            let shown = source.path().map(|path| path.display().to_string()).unwrap_or_default();
            match reload(source, name, deployment).await {
                Ok(system) => {
                    tracing::info!(model = shown, "the changed model is served");
                    service.replace_system(system);
                }
                Err(reason) => tracing::error!(model = shown, "the old model is kept: {reason}"),
            }
        }
    }
}

async fn reload(source: &Source, name: &str, deployment: &Deployment) -> Result<singlet_http::System, String> {
    let model = source.checked_model()?;
    if model.name != name {
        return Err(format!(
            "`{name}` is now called `{}`, which needs a new start",
            model.name
        ));
    }
    deployment.system(source, model, false).await
}
