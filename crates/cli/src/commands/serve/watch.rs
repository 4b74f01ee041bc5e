//! Models that change while they are served.

use std::time::{Duration, SystemTime};

use singlet_http::Service;

use super::Deployment;
use super::sources::Source;

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// Takes up every change that checks clean and fits the live table; says why one is not taken. Never ends.
pub async fn follow(sources: &[Source], deployment: &Deployment, service: &Service) {
    let mut seen: Vec<Option<SystemTime>> = sources.iter().map(Source::modified).collect();
    let names: Vec<String> = service.systems().iter().map(|system| system.name.clone()).collect();
    loop {
        tokio::time::sleep(INTERVAL).await;
        for ((source, seen), name) in sources.iter().zip(&mut seen).zip(&names) {
            let now = source.modified();
            if now == *seen {
                continue;
            }
            *seen = now;
            let shown = source.path().map(|path| path.display().to_string()).unwrap_or_default();
            match reload(source, name, deployment).await {
                Ok(system) => {
                    tracing::info!(model = shown, "the changed model is served");
                    service.replace(system);
                }
                Err(reason) => tracing::error!(model = shown, "the old model is kept: {reason}"),
            }
        }
    }
}

async fn reload(source: &Source, name: &str, deployment: &Deployment) -> Result<singlet_http::System, String> {
    let model = source.checked()?;
    if model.name != name {
        return Err(format!(
            "`{name}` is now called `{}`, which needs a new start",
            model.name
        ));
    }
    deployment.system(source, model).await
}
