//! Where the endpoint is and how it is spoken to.

use crate::DynamoDbStore;
use aws_config::environment::region::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, ConnectorBuilder};
use singlet_store::{Result, StoreError};
use std::time::Duration;

/// The region that requests are signed for where an endpoint is given and nothing says a region.
const ENDPOINT_REGION: &str = "us-east-1";

/// How to reach DynamoDB, or what speaks its protocol.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The region; with none, what environment, profile or instance say.
    pub region: Option<String>,
    /// Another endpoint than the region's own.
    pub endpoint_url: Option<String>,
    /// The profile of the AWS configuration files; with none, what the environment says.
    pub profile: Option<String>,
    /// Who asks.
    pub credentials: Credentials,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long one attempt may take.
    pub attempt_timeout: Duration,
    /// How long a request may take with all its attempts.
    pub operation_timeout: Duration,
    /// How often a request is sent at most.
    pub attempts_max: u32,
}

/// Who asks.
#[derive(Clone)]
pub enum Credentials {
    /// Whoever the usual chain finds: environment, profile, web identity, container, instance.
    Chain,
    /// These; an endpoint on one's own machine takes any.
    Static {
        /// The public part.
        access_key_id: String,
        /// The secret part.
        secret_access_key: String,
    },
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret stays out of logs.
        match self {
            Self::Chain => f.write_str("Chain"),
            Self::Static { access_key_id, .. } => f.debug_tuple("Static").field(access_key_id).finish(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            region: None,
            endpoint_url: None,
            profile: None,
            credentials: Credentials::Chain,
            connect_timeout: Duration::from_secs(2),
            attempt_timeout: Duration::from_secs(5),
            operation_timeout: Duration::from_secs(20),
            attempts_max: 4,
        }
    }
}

impl Settings {
    /// An endpoint on one's own machine, which takes any credentials.
    pub fn local_endpoint(endpoint_url: impl Into<String>) -> Self {
        Self {
            region: Some(ENDPOINT_REGION.to_owned()),
            endpoint_url: Some(endpoint_url.into()),
            credentials: Credentials::Static {
                access_key_id: "local".to_owned(),
                secret_access_key: "local".to_owned(),
            },
            ..Self::default()
        }
    }
}

pub(crate) async fn connect_client(settings: &Settings) -> Result<DynamoDbStore> {
    let config = sdk_config(settings).await;
    let Some(region) = config.region() else {
        return Err(StoreError::bad_request(
            "no region is set, nor does the environment say one",
        ));
    };
    let once = aws_sdk_dynamodb::config::Builder::from(&config).retry_config(RetryConfig::disabled());
    Ok(DynamoDbStore {
        place: settings.endpoint_url.clone().unwrap_or_else(|| region.to_string()),
        client: aws_sdk_dynamodb::Client::new(&config),
        once: aws_sdk_dynamodb::Client::from_conf(once.build()),
        streams: aws_sdk_dynamodbstreams::Client::new(&config),
        iterators: Default::default(),
    })
}

async fn sdk_config(settings: &Settings) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(settings.connect_timeout)
        .operation_attempt_timeout(settings.attempt_timeout)
        .operation_timeout(settings.operation_timeout)
        .build();
    let loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .http_client(https_client())
        .retry_config(RetryConfig::adaptive().with_max_attempts(settings.attempts_max))
        .timeout_config(timeouts);
    let loader = with_credentials(with_place(loader, settings), &settings.credentials);
    loader.load().await
}

/// As the SDK makes its own, the environment's proxies with it, but for who does the cryptography.
fn https_client() -> SharedHttpClient {
    Builder::new().build_with_connector_fn(|settings, components| {
        let provider = tls::Provider::Rustls(CryptoMode::Ring);
        let mut connector = ConnectorBuilder::default().tls_provider(provider);
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(|components| components.sleep_impl()));
        connector.set_proxy_config(Some(ProxyConfig::from_env()));
        connector.build()
    })
}

fn with_place(mut loader: ConfigLoader, settings: &Settings) -> ConfigLoader {
    if let Some(profile) = &settings.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(url) = &settings.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    match (&settings.region, &settings.endpoint_url) {
        (Some(region), _) => loader.region(Region::new(region.clone())),
        // Asking the instance would wait for an answer that never comes on a developer's machine.
        (None, Some(_)) => {
            let environment = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new());
            loader.region(environment.or_else(ENDPOINT_REGION))
        }
        (None, None) => loader,
    }
}

fn with_credentials(loader: ConfigLoader, credentials: &Credentials) -> ConfigLoader {
    match credentials {
        Credentials::Chain => loader,
        Credentials::Static {
            access_key_id,
            secret_access_key,
        } => loader.credentials_provider(aws_credential_types::Credentials::new(
            access_key_id,
            secret_access_key,
            None,
            None,
            "settings",
        )),
    }
}
