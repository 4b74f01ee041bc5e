//! The page at `/`.

use std::sync::Arc;

use axum::response::Response;

use crate::assets;
use crate::routing::RoutePath;
use crate::surfaces::Surfaces;
use crate::system::System;

/// The systems with their entities, routes and links.
pub fn home_page(systems: &[Arc<System>], surfaces: Surfaces, shows_console: bool) -> Response {
    let mut html = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Singlet</title>\n<style>\n",
    );
    html.push_str(include_str!("../assets/home.css"));
    html.push_str("</style>\n</head>\n<body>\n<h1>Systems on this server</h1>\n");
    html.push_str("<p><a href=\"/health\">health</a> · <a href=\"/ready\">ready</a>");
    if surfaces.metrics {
        html.push_str(" · <a href=\"/metrics\">metrics</a>");
    }
    if shows_console {
        html.push_str(" · <a href=\"/console\">console</a>");
    }
    html.push_str("</p>\n");
    for system in systems {
        html.push_str(&section(system, surfaces));
    }
    html.push_str("</body>\n</html>\n");
    assets::page_response(html)
}

fn section(system: &System, surfaces: Surfaces) -> String {
    let (name, prefix) = (escaped(&system.name), escaped(&system.prefix));
    let mut html = format!("<h2>{name}</h2>\n<p>");
    if surfaces.docs {
        html.push_str(&format!(
            "<a href=\"{prefix}/docs\">try it</a> · <a href=\"{prefix}/openapi.json\">openapi.json</a> · "
        ));
    }
    let table = escaped(&system.model().table.name);
    html.push_str(&format!("table <code>{table}</code></p>\n<p>"));
    for entity in &system.model().entities {
        html.push_str(&format!("<span class=\"entity\">{}</span>\n", escaped(&entity.name)));
    }
    html.push_str("</p>\n<table>\n");
    for place in system.routes.route_paths().iter().filter(|place| !place.is_own_address) {
        html.push_str(&rows(&prefix, place));
    }
    html.push_str("</table>\n");
    html
}

fn rows(prefix: &str, place: &RoutePath) -> String {
    let mut html = String::new();
    for (method, endpoints) in &place.methods {
        for endpoint in endpoints {
            let query = match endpoint.query_combination() {
                text if text.is_empty() => text,
                text => format!("?{text}"),
            };
            html.push_str(&format!(
                "<tr><td class=\"method\">{method}</td><td><code>{prefix}{}{}</code></td><td class=\"name\">{}</td></tr>\n",
                escaped(&place.path),
                escaped(&query),
                escaped(&endpoint.name)
            ));
        }
    }
    html
}

/// Text within a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
