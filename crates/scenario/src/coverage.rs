//! What of a model the scenarios reach: its operations, the statuses of its OpenAPI document, its refusals, its roles.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::Value as Json;
use singlet_http::openapi::{self, Deployed};
use singlet_http::query::QueryParameters;
use singlet_http::routing::Routes;
use singlet_model::{Diagnostic, Model};

use crate::client::{ClientRequest, Reply};
use crate::file::{ScenarioCaller, Unreachable};
use crate::rules;

/// Statuses that the service gives alike on every route: one route shows them.
const OF_THE_SERVICE: [u16; 4] = [413, 415, 422, 429];

/// Statuses that need a slow client or a store that fails: no call by itself brings them about.
const OUT_OF_REACH: [u16; 2] = [408, 503];

/// Something of the model that a scenario can reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A read or a write that succeeds.
    Operation(String),
    /// A status of a route.
    Status {
        /// `GET /items`, or `any route`.
        route: String,
        /// The status.
        status: u16,
    },
    /// A refusal of a route, by the model's name for it.
    Refusal {
        /// `POST /items`.
        route: String,
        /// Its name.
        name: String,
    },
    /// A role of an API key.
    Role(String),
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Operation(name) => write!(out, "operation `{name}`"),
            Target::Status { route, status } => write!(out, "status {status} of `{route}`"),
            Target::Refusal { route, name } => write!(out, "refusal `{name}` of `{route}`"),
            Target::Role(name) => write!(out, "role `{name}`"),
        }
    }
}

/// What there is to reach, and what was reached.
#[derive(Debug)]
pub struct Coverage {
    routes: Routes,
    document: Json,
    /// What a service that only reads says of itself: scenarios may ask it too.
    read_only: Json,
    own_problems: String,
    wanted: BTreeSet<Target>,
    seen: BTreeSet<Target>,
    excused: BTreeSet<Target>,
}

impl Coverage {
    /// What there is to reach in a model.
    pub fn of(model: &Model) -> Self {
        let routes = Routes::of(model);
        let deployed = Deployed::as_modelled(model);
        let mut coverage = Coverage {
            document: openapi::openapi_document(model, &routes, deployed),
            read_only: openapi::openapi_document(
                model,
                &routes,
                Deployed {
                    read_only: true,
                    ..deployed
                },
            ),
            routes,
            own_problems: format!("urn:problem-type:{}:", model.name),
            wanted: BTreeSet::new(),
            seen: BTreeSet::new(),
            excused: BTreeSet::new(),
        };
        coverage.wanted = coverage.targets(model);
        coverage
    }

    fn targets(&self, model: &Model) -> BTreeSet<Target> {
        let mut all = BTreeSet::new();
        // Every read is reached where the model has it; that it is answered alike alone is not for scenarios to show.
        for place in self.routes.route_paths().iter().filter(|place| !place.is_own_address) {
            for (method, endpoints) in &place.methods {
                all.extend(
                    endpoints
                        .iter()
                        .map(|endpoint| Target::Operation(endpoint.name.clone())),
                );
                let route = format!("{method} {}", place.path);
                let responses = responses(&self.document, &place.path, method);
                for (status, response) in responses.and_then(Json::as_object).into_iter().flatten() {
                    let Ok(status) = status.parse() else { continue };
                    let refusals = self.refusals(response);
                    all.extend(refusals.into_iter().map(|name| Target::Refusal {
                        route: route.clone(),
                        name,
                    }));
                    all.extend(status_target(&route, status));
                }
            }
        }
        all.extend(model.callers.roles.iter().map(|role| Target::Role(role.clone())));
        all
    }

    /// The model's own problems of a response.
    fn refusals(&self, response: &Json) -> Vec<String> {
        let own = |of: &Json| of.as_str()?.strip_prefix(&self.own_problems).map(str::to_owned);
        problem_types(&self.document, response).iter().filter_map(own).collect()
    }

    /// Takes note of an answer. Says so where the OpenAPI document does not know it.
    pub(crate) fn see_answer(&mut self, call: &ClientRequest, reply: &Reply, by: &ScenarioCaller) -> Option<String> {
        let (path, query) = call.target.split_once('?').unwrap_or((&call.target, ""));
        let method = Method::from_bytes(call.method.as_bytes()).ok()?;
        let found = self.routes.find_route(path, &method)?;
        let endpoints = found.place.method_endpoints(&method)?;
        let route = format!("{method} {}", found.place.path);
        let status = reply.status;
        let problem = reply.problem_type();
        let is_known = |document: &Json| {
            let response = responses(document, &found.place.path, &method).and_then(|all| all.get(status.to_string()));
            let types = response.map(|response| problem_types(document, response));
            let fits =
                |problem: &String| types.is_some_and(|types| types.iter().any(|known| known == problem.as_str()));
            types.is_some() && problem.as_ref().is_none_or(fits)
        };
        if !is_known(&self.document) && !is_known(&self.read_only) {
            let named = problem.map(|problem| format!(" `{problem}`")).unwrap_or_default();
            return Some(format!(
                "`{route}` answers {status}{named}, which its OpenAPI document does not know"
            ));
        }
        if status < 300 {
            let chosen = QueryParameters::parse(query).ok()?.choose_endpoint(endpoints).ok()?;
            self.seen.insert(Target::Operation(chosen.name.clone()));
            if let ScenarioCaller::ApiKey(role) = by {
                self.seen.insert(Target::Role(role.clone()));
            }
        }
        let own = problem
            .as_ref()
            .and_then(|problem| problem.strip_prefix(&self.own_problems));
        if let Some(name) = own.map(str::to_owned) {
            let route = route.clone();
            self.seen.insert(Target::Refusal { route, name });
        }
        self.seen.extend(status_target(&route, status));
        None
    }

    /// Takes out what no scenario can reach. Says where that is not so.
    pub(crate) fn excuse_unreachable(&mut self, unreachable: &[Unreachable]) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for entry in unreachable {
            let meant = |target: &&Target| is_meant(entry, target);
            let all: Vec<&Target> = self.wanted.iter().filter(meant).collect();
            let reached = all.iter().find(|target| self.seen.contains(**target));
            let message = match (all.is_empty(), reached) {
                (true, _) => "the model has nothing of this kind to reach".to_owned(),
                (false, Some(reached)) => format!("the {reached} is reached"),
                (false, None) => {
                    let all: Vec<Target> = all.into_iter().cloned().collect();
                    self.excused.extend(all);
                    continue;
                }
            };
            findings.push(Diagnostic::new(&rules::UNREACHABLE, entry.span, message));
        }
        findings
    }

    /// What no scenario reached, but for what is said to be out of reach.
    pub fn missing_targets(&self) -> impl Iterator<Item = &Target> {
        let wanted = self.wanted.difference(&self.seen);
        wanted.filter(|target| !self.excused.contains(*target))
    }

    /// How many targets of a kind were reached, and how many there are that can be.
    pub fn target_counts(&self, kind: impl Fn(&Target) -> bool) -> (usize, usize) {
        let there = self
            .wanted
            .iter()
            .filter(|target| kind(target) && !self.excused.contains(*target));
        let there: Vec<&Target> = there.collect();
        let reached = there.iter().filter(|target| self.seen.contains(**target)).count();
        (reached, there.len())
    }

    /// How many targets are said to be out of reach.
    pub fn excused_count(&self) -> usize {
        self.excused.len()
    }
}

fn responses<'d>(document: &'d Json, path: &str, method: &Method) -> Option<&'d Json> {
    let method = method.as_str().to_lowercase();
    document.get("paths")?.get(path)?.get(method)?.get("responses")
}

/// The problems that a response may have, also where it is kept among the components.
fn problem_types<'d>(document: &'d Json, response: &'d Json) -> &'d [Json] {
    let reference = response.get("$ref").and_then(Json::as_str);
    let response = match reference.and_then(|of| of.strip_prefix('#')) {
        Some(pointer) => document.pointer(pointer).unwrap_or(response),
        None => response,
    };
    let types = response.pointer("/content/application~1problem+json/schema/allOf/1/properties/type/enum");
    types.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What a status of a route is to be reached as. A 409 is there for its refusals: alone it is a race between requests.
fn status_target(route: &str, status: u16) -> Option<Target> {
    if OUT_OF_REACH.contains(&status) || status == 409 {
        return None;
    }
    let route = match OF_THE_SERVICE.contains(&status) {
        true => "any route",
        false => route,
    };
    Some(Target::Status {
        route: route.to_owned(),
        status,
    })
}

fn is_meant(entry: &Unreachable, target: &Target) -> bool {
    let fits = |route: &str| entry.at.as_ref().is_none_or(|pattern| matches(pattern, route));
    match target {
        Target::Status { route, status } => entry.status == Some(*status) && fits(route),
        Target::Refusal { route, name } => {
            entry.refusal.as_ref().is_some_and(|known| matches(known, name)) && fits(route)
        }
        Target::Operation(_) | Target::Role(_) => false,
    }
}

/// Whether a text is what a pattern says, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(head) else {
        return false;
    };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.filter_map(|at| text.get(at..)).any(|tail| matches(rest, tail))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("*_exists", "task_exists"));
        assert!(matches("GET *", "GET /items/{id}"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("*_exists", "exists_not"));
        assert!(!matches("GET /items", "GET /items/{id}"));
    }
}
