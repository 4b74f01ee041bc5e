//! Which operation a path, a method and a query ask for.

use axum::http::Method;
use percent_encoding::percent_decode_str;
use singlet_model::Model;
use singlet_model::model::{Argument, ParamValue, Route};

/// The routes of a model.
#[derive(Debug, Default)]
pub struct Routes {
    places: Vec<RoutePath>,
}

/// One path, with what it answers by method.
#[derive(Debug)]
pub struct RoutePath {
    /// The path as the model writes it.
    pub path: String,
    segments: Vec<RouteSegment>,
    /// The operations of each method; several reads may share one.
    pub methods: Vec<(Method, Vec<RouteEndpoint>)>,
    /// Whether the model does not name it: it is of one read alone, beside where the model has it.
    pub is_own_address: bool,
}

/// The first part of the addresses that reads have for themselves: `/reads/overdueTasks`.
const OWN_ADDRESSES: &str = "reads";

#[derive(Clone, Debug, PartialEq, Eq)]
enum RouteSegment {
    Text(String),
    Variable(String),
}

/// One operation at its route.
#[derive(Debug)]
pub struct RouteEndpoint {
    /// Its name.
    pub name: String,
    /// Whether it writes.
    pub is_write: bool,
    /// Its place among the reads or writes of the model.
    pub position: usize,
    /// The arguments in the path.
    pub path: Vec<Argument>,
    /// The parameters of the query.
    pub query: Vec<QueryParameter>,
    /// The arguments in the body.
    pub body: Vec<Argument>,
}

/// A parameter of the query.
#[derive(Debug)]
pub struct QueryParameter {
    /// Its name in the query.
    pub name: String,
    /// What it is.
    pub value: QueryValue,
}

/// What a parameter of the query is.
#[derive(Debug)]
pub enum QueryValue {
    /// An argument.
    Argument(Argument),
    /// A text that must match.
    Fixed(String),
}

impl QueryParameter {
    /// Whether the endpoint is only meant where it is sent.
    pub fn is_needed(&self) -> bool {
        match &self.value {
            QueryValue::Argument(arg) => !arg.optional && arg.default.is_none(),
            QueryValue::Fixed(_) => true,
        }
    }
}

/// What a path leads to.
#[derive(Debug)]
pub struct FoundRoute<'a> {
    /// The place.
    pub place: &'a RoutePath,
    /// The values of its variables, decoded, in order.
    pub variables: Vec<(&'a str, String)>,
}

impl Routes {
    /// The routes of a model, the most particular paths first.
    pub fn of(model: &Model) -> Self {
        let mut routes = Routes::default();
        for (position, read) in model.reads.iter().enumerate() {
            if let Some(route) = &read.http {
                routes.add(
                    route,
                    RouteEndpoint::new(&read.name, false, position, route, &read.args),
                );
            }
        }
        for (position, write) in model.writes.iter().enumerate() {
            if let Some(route) = &write.http {
                routes.add(
                    route,
                    RouteEndpoint::new(&write.name, true, position, route, &write.args),
                );
            }
        }
        routes.add_own_addresses(model);
        // Text before variables, from the left: `/tasks/counts` is no task.
        let rank = |place: &RoutePath| -> Vec<bool> {
            let variable = |segment: &RouteSegment| matches!(segment, RouteSegment::Variable(_));
            place.segments.iter().map(variable).collect()
        };
        routes.places.sort_by_key(rank);
        routes
    }

    /// An address for each read by itself, for those who want one operation at one address. Where a path of the model leads to, it leads
    /// as before.
    fn add_own_addresses(&mut self, model: &Model) {
        let mut own = Vec::new();
        for (position, read) in model.reads.iter().enumerate() {
            let asked = [OWN_ADDRESSES, read.name.as_str()];
            let Some(endpoint) = read
                .http
                .as_ref()
                .and_then(|route| RouteEndpoint::alone(&read.name, position, route, &read.args))
            else {
                continue;
            };
            if self.places.iter().all(|place| !place.fits(&asked)) {
                own.push(RoutePath {
                    path: format!("/{OWN_ADDRESSES}/{}", read.name),
                    segments: asked.map(|text| RouteSegment::Text(text.to_owned())).to_vec(),
                    methods: vec![(Method::GET, vec![endpoint])],
                    is_own_address: true,
                });
            }
        }
        self.places.extend(own);
    }

    fn add(&mut self, route: &Route, endpoint: RouteEndpoint) {
        let segments = segments_of(&route.path);
        let method = Method::from_bytes(route.method.as_bytes()).unwrap_or(Method::GET);
        let known = self.places.iter_mut().find(|place| place.segments == segments);
        let place = match known {
            Some(place) => place,
            None => {
                self.places.push(RoutePath {
                    path: route.path.clone(),
                    segments,
                    methods: Vec::new(),
                    is_own_address: false,
                });
                let Some(place) = self.places.last_mut() else { return };
                place
            }
        };
        match place.methods.iter_mut().find(|(known, _)| *known == method) {
            Some((_, endpoints)) => endpoints.push(endpoint),
            None => place.methods.push((method, vec![endpoint])),
        }
    }

    /// Every place.
    pub fn route_paths(&self) -> &[RoutePath] {
        &self.places
    }

    /// The place of a path, preferably one with the method; `None` where there is none, or where the path is not text.
    pub fn find_route(&self, path: &str, method: &Method) -> Option<FoundRoute<'_>> {
        let asked: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let fitting = || self.places.iter().filter(|place| place.fits(&asked));
        let place = fitting()
            .find(|place| place.method_endpoints(method).is_some())
            .or_else(|| fitting().next())?;
        let mut variables = Vec::new();
        for (segment, text) in place.segments.iter().zip(&asked) {
            if let RouteSegment::Variable(name) = segment {
                let text = percent_decode_str(text).decode_utf8().ok()?;
                variables.push((name.as_str(), text.into_owned()));
            }
        }
        Some(FoundRoute { place, variables })
    }
}

impl RoutePath {
    fn fits(&self, asked: &[&str]) -> bool {
        let matches = |(segment, text): (&RouteSegment, &&str)| match segment {
            RouteSegment::Text(wanted) => wanted == text,
            RouteSegment::Variable(_) => !text.is_empty(),
        };
        self.segments.len() == asked.len() && self.segments.iter().zip(asked).all(matches)
    }

    /// The operations of a method.
    pub fn method_endpoints(&self, method: &Method) -> Option<&[RouteEndpoint]> {
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let found = self.methods.iter().find(|(known, _)| known == wanted);
        found.map(|(_, endpoints)| endpoints.as_slice())
    }

    /// The methods, as the `Allow` header lists them.
    pub fn allow_header(&self) -> String {
        let mut names: Vec<&str> = self.methods.iter().map(|(method, _)| method.as_str()).collect();
        if names.contains(&"GET") {
            names.push("HEAD");
        }
        names.push("OPTIONS");
        names.join(", ")
    }
}

impl RouteEndpoint {
    fn new(name: &str, is_write: bool, position: usize, route: &Route, args: &[Argument]) -> Self {
        let arg = |name: &str| args.iter().find(|arg| arg.name == name).cloned();
        let path: Vec<Argument> = route.path_variables.iter().filter_map(|name| arg(name)).collect();
        let query: Vec<QueryParameter> = route
            .query
            .iter()
            .filter_map(|(name, value)| {
                let value = match value {
                    ParamValue::Arg(of) => QueryValue::Argument(arg(of)?),
                    ParamValue::Fixed(text) => QueryValue::Fixed(text.clone()),
                };
                Some(QueryParameter {
                    name: name.clone(),
                    value,
                })
            })
            .collect();
        let elsewhere = |name: &str| {
            let in_query =
                |parameter: &QueryParameter| matches!(&parameter.value, QueryValue::Argument(arg) if arg.name == name);
            route.path_variables.iter().any(|variable| variable == name) || query.iter().any(in_query)
        };
        let body = args
            .iter()
            .filter(|arg| is_write && !elsewhere(&arg.name))
            .cloned()
            .collect();
        RouteEndpoint {
            name: name.to_owned(),
            is_write,
            position,
            path,
            query,
            body,
        }
    }

    /// A read at an address of its own: all arguments are in the query, under the names that they have at the model's address. None where two
    /// would have one name.
    fn alone(name: &str, position: usize, route: &Route, args: &[Argument]) -> Option<Self> {
        let shared = RouteEndpoint::new(name, false, position, route, args);
        let in_path = shared.path.into_iter().map(|arg| QueryParameter {
            name: arg.name.clone(),
            value: QueryValue::Argument(arg),
        });
        let in_query = shared
            .query
            .into_iter()
            .filter(|parameter| matches!(parameter.value, QueryValue::Argument(_)));
        let query: Vec<QueryParameter> = in_path.chain(in_query).collect();
        let is_twice = |at: usize, name: &str| query.iter().skip(at + 1).any(|other| other.name == name);
        let mut names = query.iter().enumerate();
        let clash = names.any(|(at, parameter)| is_twice(at, &parameter.name));
        (!clash).then(|| RouteEndpoint {
            name: name.to_owned(),
            is_write: false,
            position,
            path: Vec::new(),
            query,
            body: Vec::new(),
        })
    }

    /// The parameters of the query as a person would write them: `sort=due_date&due_from={…}`.
    pub fn query_combination(&self) -> String {
        let shown = self.query.iter().map(|parameter| match &parameter.value {
            QueryValue::Fixed(text) => format!("{}={text}", parameter.name),
            QueryValue::Argument(_) if parameter.is_needed() => parameter.name.clone(),
            QueryValue::Argument(_) => format!("[{}]", parameter.name),
        });
        shown.collect::<Vec<_>>().join("&")
    }
}

fn segments_of(path: &str) -> Vec<RouteSegment> {
    let segment = |text: &str| match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        Some(name) => RouteSegment::Variable(name.to_owned()),
        None => RouteSegment::Text(text.to_owned()),
    };
    path.trim_start_matches('/').split('/').map(segment).collect()
}
