//! The service, with both models and without a log.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use singlet_http::auth::{ApiKeys, JwtKeys, JwtSettings, Secret};
use singlet_http::{Server, Service, Settings, System, SystemSettings};
use singlet_runtime::Store;
use singlet_store_embedded::EmbeddedStore;

use super::data::engines;
use super::operations::SECRET;
use crate::error::{Failure, Outcome};

/// Serves the data of a folder.
pub async fn start(folder: &Path) -> Outcome<SocketAddr> {
    start_on(Arc::new(EmbeddedStore::open(folder)?)).await
}

/// Serves the data of a folder of the engine of before.
pub async fn start_before(folder: &Path) -> Outcome<SocketAddr> {
    start_on(Arc::new(singlet_store_before::EmbeddedStore::open(folder)?)).await
}

async fn start_on(store: Arc<dyn Store>) -> Outcome<SocketAddr> {
    let secret = Secret::new(SECRET)?;
    let systems = engines(&store)?.into_iter().map(|(name, engine)| {
        let settings = SystemSettings {
            prefix: format!("/{name}"),
            jwt_keys: JwtKeys::Secret(secret.clone()),
            jwt: JwtSettings { issuer: None },
            api_keys: ApiKeys::default(),
            read_only: false,
            // One caller sends everything here.
            rate: Some(None),
            is_proxied: false,
            sample: None,
        };
        System::new(Arc::new(engine), settings)
    });
    let service = Service::new(systems.collect(), Settings::default());
    let server = Server::bind("127.0.0.1:0", None).await?;
    let address = server.bound_address().ok_or_else(|| Failure("no address".to_owned()))?;
    tokio::spawn(async move { server.run(service, std::future::pending()).await });
    Ok(address)
}
