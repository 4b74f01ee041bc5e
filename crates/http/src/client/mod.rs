//! Clients that are written from a model.

mod typescript;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use singlet_model::Model;

use crate::openapi::{self, ClientOperation};
use crate::routing::{RouteEndpoint, Routes};

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
pub(crate) fn client_endpoints(routes: &Routes) -> Vec<(String, String, &RouteEndpoint)> {
    let mut all: BTreeMap<(bool, usize), (String, String, &RouteEndpoint)> = BTreeMap::new();
    for place in routes.route_paths() {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a model calls like something of the client's own, or of the language, does not hide it.
    #[test]
    fn names_that_are_taken_have_a_stroke_after_them() {
        let text = "singlet: 1\nname: odd-one\ntable: {name: odd, key: {partition: PK, sort: SK}, type: kind}\n\
            types: {Answer: {enum: [\"it's\", '`a`${b} \"c\"']}}\n\
            entities:\n  Page: {attributes: {id: string 1..9, said: Answer}, key: {PK: \"P#{id}\", SK: \"P\"}}\n\
            reads:\n  constructor: {get: Page, where: id == args.id, allow: true, http: \"GET /pages/{id}\"}\n  \
            then: {find: Page, where: id in args.ids, args: {ids: 'list(Page.id) 1..5'}, allow: true, http: GET /pages?ids}\n";
        let loaded = singlet_model::load_source(&singlet_model::Source::new("odd", text));
        let client = typescript_client(&loaded.model.unwrap());
        for part in [
            "export class OddOneClient {",
            "export type Page_ = { readonly id: PageId; readonly said: Answer_ };",
            "export type Answer_ = (\"it's\" | \"`a`${b} \\\"c\\\"\");",
            "  constructor_(args: { readonly id: PageId }, options: CallOptions = {}): Promise<Answer<Page_, ConstructorRefusal>> {",
            "  then_(args: { readonly ids: ReadonlyArray<PageId> }, options: PageOptions = {}): Listed<Page_, ThenRefusal> {",
        ] {
            assert!(client.contains(part), "{part}\n{client}");
        }
    }
}
