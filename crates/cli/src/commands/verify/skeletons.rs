//! Scenarios to be completed, one for each target that none reaches: the call is there, with values that fit, and what must come back;
//! the rows that lead to it are the reader's to add.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use singlet_model::Model;
use singlet_model::model::{Argument, ParamValue, Route};
use singlet_model::types::Type;
use singlet_scenario::{Outcome, Target};
use singlet_values as values;
use singlet_verify::probe;

/// The status of a refusal that says none.
const REFUSED: u16 = 409;

/// A file of scenarios, valid as it is.
pub(super) fn skeleton_text(model: &Model, outcome: &Outcome) -> String {
    let mut names: BTreeMap<String, Json> = BTreeMap::new();
    let mut scenarios = String::new();
    for target in outcome.coverage.missing_targets() {
        let Some(step) = step(model, target, &mut names) else {
            continue;
        };
        let name = Json::from(target.to_string());
        scenarios.push_str(&format!("  - name: {name}\n{step}"));
    }
    let mut text = "# What no scenario reaches yet. Add the rows under `given`, and what else must come back.\n\
                    now: 2026-03-10T09:00:00Z\n"
        .to_owned();
    if !names.is_empty() {
        text.push_str("\nnames:\n");
        for (name, value) in names {
            text.push_str(&format!("  {name}: {value}\n"));
        }
    }
    text.push_str("\ngiven: []\n\nscenarios:\n");
    text + &scenarios
}

/// An operation that has a route.
struct Endpoint<'m> {
    route: &'m Route,
    args: &'m [Argument],
    writes: bool,
}

fn endpoints(model: &Model) -> impl Iterator<Item = (&str, Endpoint<'_>)> {
    let reads = model.reads.iter().filter_map(|read| {
        let route = read.http.as_ref()?;
        Some((
            read.name.as_str(),
            Endpoint {
                route,
                args: &read.args,
                writes: false,
            },
        ))
    });
    let writes = model.writes.iter().filter_map(|write| {
        let route = write.http.as_ref()?;
        Some((
            write.name.as_str(),
            Endpoint {
                route,
                args: &write.args,
                writes: true,
            },
        ))
    });
    reads.chain(writes)
}

fn step(model: &Model, target: &Target, names: &mut BTreeMap<String, Json>) -> Option<String> {
    let at = |wanted: &str| {
        let fits = |endpoint: &Endpoint<'_>| format!("{} {}", endpoint.route.method, endpoint.route.path) == wanted;
        let any = wanted == "any route";
        endpoints(model)
            .map(|(_, endpoint)| endpoint)
            .find(|endpoint| any || fits(endpoint))
    };
    let (endpoint, then, status) = match target {
        Target::Operation(name) => {
            let (_, endpoint) = endpoints(model).find(|(known, _)| known == name)?;
            let status = endpoint.route.status.unwrap_or(200);
            (endpoint, status.to_string(), status)
        }
        Target::Status { route, status } => (at(route)?, status.to_string(), *status),
        Target::Refusal { route, name } => (at(route)?, format!("{REFUSED} {name}"), REFUSED),
        Target::Role(_) => {
            let (_, endpoint) = endpoints(model).next()?;
            (endpoint, "200".to_owned(), 200)
        }
    };
    let mut text = format!("    by: {}\n", caller(model, target, status));
    text.push_str(&format!("    when: {}\n", Json::from(call(&endpoint, names))));
    if endpoint.writes {
        let body = body(&endpoint);
        if !body.is_empty() {
            text.push_str(&format!("    send: {}\n", Json::Object(body)));
        }
    }
    text.push_str(&format!("    then: {then}\n\n"));
    Some(text)
}

/// Somebody who may; nobody where that is what is shown.
fn caller(model: &Model, target: &Target, status: u16) -> String {
    let callers = &model.callers;
    match target {
        _ if status == 401 => "nobody".to_owned(),
        Target::Role(role) => role.clone(),
        _ if callers.api_key_header.is_some() => callers.roles.last().cloned().unwrap_or_else(|| "nobody".to_owned()),
        _ if callers.claims.is_empty() => "nobody".to_owned(),
        _ => {
            let claims = callers.claims.iter().map(|claim| {
                let said = match &claim.ty {
                    Type::List(..) => Json::from(vec!["ada"]),
                    _ => Json::from("ada"),
                };
                (claim.name.clone(), said)
            });
            Json::Object(claims.collect()).to_string()
        }
    }
}

/// The call, with a name for each value of its path and query.
fn call(endpoint: &Endpoint<'_>, names: &mut BTreeMap<String, Json>) -> String {
    let route = endpoint.route;
    let mut target = format!("{} {}", route.method, route.path);
    let mut named = |name: &str| {
        let arg = endpoint.args.iter().find(|arg| arg.name == name);
        let value = arg.and_then(|arg| example(&arg.ty)).unwrap_or_else(|| Json::from("a"));
        names.entry(name.to_owned()).or_insert(value);
    };
    route.path_variables.iter().for_each(|name| named(name));
    let mut separator = '?';
    for (parameter, value) in &route.query {
        let shown = match value {
            ParamValue::Fixed(text) => text.clone(),
            ParamValue::Arg(name) => {
                let optional = endpoint.args.iter().any(|arg| arg.name == *name && arg.optional);
                if optional {
                    continue;
                }
                named(name);
                format!("{{{name}}}")
            }
        };
        target.push_str(&format!("{separator}{parameter}={shown}"));
        separator = '&';
    }
    target
}

/// The arguments that must be sent and are not in the path.
fn body(endpoint: &Endpoint<'_>) -> Map<String, Json> {
    let needed = endpoint.args.iter().filter(|arg| {
        let in_path = endpoint.route.path_variables.contains(&arg.name);
        !in_path && !arg.optional && arg.default.is_none()
    });
    needed
        .filter_map(|arg| Some((arg.name.clone(), example(&arg.ty)?)))
        .collect()
}

fn example(ty: &singlet_model::types::Type) -> Option<Json> {
    probe::example_value(ty).map(|value| values::to_json(&value))
}
