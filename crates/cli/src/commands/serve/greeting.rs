//! What `serve` says when it is ready.

use std::collections::BTreeMap;

use singlet_http::auth::{JwtKeys, LocalToken};
use singlet_http::{Server, System};
use singlet_model::model::SelectionKind;

use super::{Deployment, bundled};
use crate::place::Place;
use crate::store::now;

/// How long the tokens shown are good.
const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// What is served, where, where the data is, and a call for each system that works as it stands.
pub fn text(server: &Server, tls: bool, systems: &[System], deployment: &Deployment) -> String {
    let scheme = if tls { "https" } else { "http" };
    let address = server.address().map(|address| address.to_string()).unwrap_or_default();
    // Credentials are shown only where nobody else can use them.
    let is_local = server.address().is_some_and(|address| address.ip().is_loopback())
        && !matches!(deployment.place, Place::DynamoDb { .. });
    let root = format!("{scheme}://{address}");
    let count = if systems.len() == 1 {
        "1 system".to_owned()
    } else {
        format!("{} systems", systems.len())
    };
    let mut text = format!("{count} at {root}\ndata {}\n", deployment.place.shown());
    if deployment.read_only {
        text.push_str("writes are refused\n");
    }
    for system in systems {
        let base = format!("{root}{}", system.prefix);
        text.push_str(&format!("\n{} at {base}, described at {base}/docs\n", system.name));
        if let Some(call) = call(system, &base, deployment).filter(|_| is_local) {
            text.push_str(&format!("  {call}\n"));
        }
    }
    text.push('\n');
    text
}

/// A call that works as it stands, where credentials can be made here.
fn call(system: &System, base: &str, deployment: &Deployment) -> Option<String> {
    let known = bundled::named(&system.name);
    let path = match known {
        Some(known) => known.path.to_owned(),
        None => plain_path(system)?,
    };
    let callers = &system.model().callers;
    let credentials = match &callers.api_key_header {
        Some(header) => {
            if !deployment.takes_local_keys(system.model()) {
                return None;
            }
            let role = known.and_then(|known| known.caller.first()).map(|(_, role)| *role);
            let role = role.or(callers.roles.first().map(String::as_str))?;
            format!(
                "-H '{header}: {}' ",
                deployment.secret.local_api_key(&system.name, role)
            )
        }
        None if callers.claims.is_empty() => String::new(),
        None => {
            if matches!(deployment.jwt_keys, JwtKeys::Public(_)) {
                return None;
            }
            let claims: BTreeMap<String, String> = match known {
                Some(known) => known
                    .caller
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                None => BTreeMap::from([("sub".to_owned(), "me".to_owned())]),
            };
            let token = LocalToken {
                audience: callers.audience.clone(),
                issuer: deployment.jwt.issuer.clone(),
                claims,
                expires: now() / 1000 + TOKEN_SECONDS,
            };
            format!("-H 'Authorization: Bearer {}' ", token.sign(&deployment.secret).ok()?)
        }
    };
    Some(format!("curl {credentials}'{base}{path}'"))
}

/// The path of the first list that needs nothing but a caller.
fn plain_path(system: &System) -> Option<String> {
    let reads = system.model().reads.iter();
    let mut plain = reads.filter(|read| {
        let list = read
            .selection
            .as_ref()
            .is_some_and(|own| own.kind == SelectionKind::Find);
        list && read.args.iter().all(|arg| arg.optional)
    });
    plain.find_map(|read| {
        read.http
            .as_ref()
            .filter(|route| route.query.is_empty())
            .map(|route| route.path.clone())
    })
}
