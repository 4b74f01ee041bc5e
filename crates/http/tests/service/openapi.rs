//! The OpenAPI documents that are checked in.

use serde_json::Value as Json;
use singlet_http::openapi::{Deployed, openapi_document};
use singlet_http::routing::Routes;

use crate::running::{SHARED, SYSTEMS, folder, model, sample};

/// `SINGLET_UPDATE=1` writes them.
#[test]
fn the_documents_in_the_repository_are_current() {
    for system in SYSTEMS {
        let model = model(system);
        let rows = sample(system);
        let prefix = format!("/{system}");
        let deployed = Deployed {
            prefix: &prefix,
            sample: Some(&rows),
            ..Deployed::as_modelled(&model)
        };
        let text = format!("{:#}\n", openapi_document(&model, &Routes::of(&model), deployed));
        let path = folder(system).join("openapi.json");
        if std::env::var_os("SINGLET_UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == text,
            "systems/{system}/openapi.json is stale: run the tests with SINGLET_UPDATE=1"
        );
        // The service of these tests takes any number of requests.
        let unrated = Deployed {
            is_rated: false,
            ..deployed
        };
        let text = format!("{:#}\n", openapi_document(&model, &Routes::of(&model), unrated));
        let served = SHARED.get(system, "-", "/openapi.json");
        assert_eq!(served.text(), text);
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_a_name_of_its_own() {
    for system in SYSTEMS {
        let document = SHARED.get(system, "-", "/openapi.json").json();
        let mut references = Vec::new();
        collect(&document, &mut references);
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(
                document.pointer(pointer).is_some_and(|found| !found.is_null()),
                "{system}: {reference}"
            );
        }
        let mut names: Vec<&str> = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|item| item.as_object().unwrap().values())
            .map(|operation| operation["operationId"].as_str().unwrap())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{system}");
    }
}

fn collect(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::Object(map) => {
            found.extend(map.get("$ref").and_then(Json::as_str).map(str::to_owned));
            map.values().for_each(|value| collect(value, found));
        }
        Json::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
