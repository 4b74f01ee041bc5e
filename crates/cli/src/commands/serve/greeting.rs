//! What `serve` says when it is ready.

use std::net::SocketAddr;

use serde_json::{Map, Value as Json};
use singlet_http::auth::{JwtKeys, LocalToken};
use singlet_http::{Surfaces, System};

use super::first_call::{admitted_read, first_rows};
use super::{Deployment, bundled};
use crate::place::Place;
use crate::store::now_millis;

/// How long the tokens shown are good.
const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// Where it is served, and what is shown there.
pub(crate) struct Addresses {
    pub own: Option<SocketAddr>,
    pub operators: Option<SocketAddr>,
    pub over_tls: bool,
    /// What the service's own address shows beside operations.
    pub surfaces: Surfaces,
}

impl Addresses {
    /// An address as a browser has it.
    pub(crate) fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.over_tls { "https" } else { "http" };
        format!("{scheme}://{address}")
    }
}

/// What is served, where, where the data is, and a call for each system that works as it stands.
pub(crate) async fn service_greeting(addresses: &Addresses, systems: &[System], deployment: &Deployment) -> String {
    // Credentials are shown only where nobody else can use them.
    let is_local = addresses.own.is_some_and(|address| address.ip().is_loopback())
        && !matches!(deployment.place, Place::DynamoDb { .. });
    let root = addresses.own.map(|address| addresses.url(address)).unwrap_or_default();
    let operators = addresses.operators.map(|address| addresses.url(address));
    let count = if systems.len() == 1 {
        "1 system".to_owned()
    } else {
        format!("{} systems", systems.len())
    };
    let mut text = format!("{count} at {root}\ndata {}\n", deployment.place.shown());
    if deployment.read_only {
        text.push_str("writes are refused\n");
    }
    if let Some(operators) = &operators {
        text.push_str(&format!("for operators at {operators}\n"));
    }
    let described = Some(&root).filter(|_| addresses.surfaces.docs).or(operators.as_ref());
    for system in systems {
        let base = format!("{root}{}", system.prefix);
        text.push_str(&format!("\n{} at {base}", system.name));
        if let Some(at) = described {
            text.push_str(&format!(", described at {at}{}/docs", system.prefix));
        }
        text.push('\n');
        if is_local && let Some(call) = call(system, &base, deployment).await {
            text.push_str(&format!("  {call}\n"));
        }
    }
    text.push('\n');
    text
}

/// A call that works as it stands, where credentials can be made here.
async fn call(system: &System, base: &str, deployment: &Deployment) -> Option<String> {
    let known = bundled::bundled_system(&system.name);
    let callers = &system.model().callers;
    let (path, claims) = match known {
        Some(known) => (known.path.to_owned(), of_bundled(known)),
        None => {
            let rows = first_rows(&system.engine).await;
            let shown = admitted_read(system.model(), &rows)?;
            (shown.path.to_owned(), shown.token)
        }
    };
    let credentials = match &callers.api_key_header {
        Some(header) => {
            if !deployment.takes_local_keys(system.model()) {
                return None;
            }
            let role = known.and_then(|known| known.caller.first()).map(|(_, role)| *role);
            let role = role.or_else(|| claims.get("role").and_then(Json::as_str))?;
            format!(
                "-H '{header}: {}' ",
                deployment.secret.local_api_key(&system.name, role)
            )
        }
        None if callers.claims.is_empty() => String::new(),
        None => {
            // Where others issue tokens, one signed here is refused.
            let JwtKeys::Secret(secret) = &deployment.jwt_keys else {
                return None;
            };
            let token = LocalToken {
                audience: callers.audience.clone(),
                issuer: deployment.jwt.issuer.clone(),
                claims,
                expires: now_millis() / 1000 + TOKEN_SECONDS,
            };
            format!("-H 'Authorization: Bearer {}' ", token.sign_token(secret).ok()?)
        }
    };
    Some(format!("curl {credentials}'{base}{path}'"))
}

fn of_bundled(known: &bundled::Bundled) -> Map<String, Json> {
    let caller = known.caller.iter();
    caller
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect()
}
