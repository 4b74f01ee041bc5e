//! Clients that are written from a model.

mod typescript;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use singlet_model::Model;

use crate::openapi::{self, ClientOperation};
use crate::routing::{Endpoint, Routes};

/// A client in TypeScript, without dependencies: one function a read and a write.
pub fn typescript_client(model: &Model) -> String {
    let routes = Routes::of(model);
    let described = openapi::client_operations(model, &routes);
    typescript::client_text(model, &described)
}

/// What a client is written from: every operation by itself, and the shapes that they share.
#[derive(Debug)]
pub(crate) struct ClientDocument {
    pub operations: Vec<ClientOperation>,
    pub schemas: Json,
    pub responses: Json,
}

/// Where each operation is asked for: a read at an address of its own, where it has one.
pub(crate) fn endpoints(routes: &Routes) -> Vec<(String, String, &Endpoint)> {
    let mut all: BTreeMap<(bool, usize), (String, String, &Endpoint)> = BTreeMap::new();
    for place in routes.places() {
        for (method, endpoints) in &place.methods {
            for endpoint in endpoints {
                let at = (endpoint.is_write, endpoint.position);
                let here = (method.to_string(), place.path.clone(), endpoint);
                if place.is_own_address || !all.contains_key(&at) {
                    all.insert(at, here);
                }
            }
        }
    }
    all.into_values().collect()
}
