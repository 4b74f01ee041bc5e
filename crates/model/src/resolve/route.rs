//! Routes: `GET /tasks/{task_id}?status={status}&sort=due_date -> 200`.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{ParamValue, Route};
use crate::rules;
use crate::text::Text;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Reads a route; what cannot be read is reported.
pub(super) fn parse_route(text: &Text, reads: bool, out: &mut Diagnostics) -> Option<Route> {
    match try_parse(text, reads) {
        Ok(route) => Some(route),
        Err(diagnostic) => {
            out.push(*diagnostic);
            None
        }
    }
}

type Failure = Box<Diagnostic>;

fn try_parse(text: &Text, reads: bool) -> Result<Route, Failure> {
    let source = text.text.as_str();
    let (request, status) = match source.split_once("->") {
        Some((request, status)) => (request.trim_end(), Some(parse_status(text, status)?)),
        None => (source.trim_end(), None),
    };
    let (method, target) = request.split_once(' ').unwrap_or((request, ""));
    check_method(text, method, reads)?;
    let target = target.trim();
    if !target.starts_with('/') {
        let message = format!("the path of a route begins with `/`, not with `{target}`");
        return Err(error(text, target, message, "write `GET /path`"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path_variables = path_variables(text, path)?;
    if !query.is_empty() && !reads {
        let message = "a write takes its arguments from the body, not from the query";
        return Err(error(
            text,
            query,
            message,
            "remove the query: every other argument is in the body",
        ));
    }
    Ok(Route {
        method: method.to_owned(),
        path: path.to_owned(),
        path_variables,
        query: parse_query(text, query)?,
        status,
        span: text.span,
    })
}

fn parse_status(text: &Text, status: &str) -> Result<u16, Failure> {
    let status = status.trim();
    match status.parse::<u16>() {
        Ok(number) if (200..300).contains(&number) => Ok(number),
        _ => {
            let message = format!("`{status}` is no status of success");
            Err(error(text, status, message, "after `->` stands 200, 201, 202 or 204"))
        }
    }
}

fn check_method(text: &Text, method: &str, reads: bool) -> Result<(), Failure> {
    if method.starts_with('/') {
        let method = if reads { "GET" } else { "POST" };
        let message = "a route begins with its method, not with its path";
        return Err(error(
            text,
            &text.text,
            message,
            &format!("write `{method} {}`", text.text),
        ));
    }
    if !METHODS.contains(&method) {
        let message = format!("`{method}` is no method");
        return Err(error(
            text,
            method,
            message,
            "a route begins with GET, POST, PUT, PATCH or DELETE",
        ));
    }
    if reads && method != "GET" {
        let message = format!("a read is asked for with GET, not with {method}");
        return Err(error(text, method, message, "write `GET`, or make it a write"));
    }
    if !reads && method == "GET" {
        let message = "a write cannot answer GET: caches and browsers may send it again";
        return Err(error(text, method, message, "write POST, PUT, PATCH or DELETE"));
    }
    Ok(())
}

fn path_variables(text: &Text, path: &str) -> Result<Vec<String>, Failure> {
    let mut variables: Vec<String> = Vec::new();
    for segment in path.split('/').skip(1) {
        let inner = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match inner {
            Some(name) if is_name(name) && !variables.iter().any(|known| known == name) => {
                variables.push(name.to_owned())
            }
            Some(name) if is_name(name) => {
                let message = format!("the path has `{{{name}}}` twice");
                return Err(error(text, segment, message, "give the second another name"));
            }
            None if segment.starts_with(':') => {
                let message = format!("`{segment}` is text here, not a variable");
                let name = segment.trim_start_matches(':');
                return Err(error(text, segment, message, &format!("write `{{{name}}}`")));
            }
            None if !segment.contains(['{', '}', ' ']) => {}
            _ => {
                let message = format!("`{segment}` is neither text nor one variable");
                return Err(error(
                    text,
                    segment,
                    message,
                    "a segment of a path is text, or `{name}`",
                ));
            }
        }
    }
    Ok(variables)
}

/// The variables that a route which cannot be read seems to have.
pub(super) fn guessed_variables(route: &str) -> Vec<String> {
    let path = route.split('?').next().unwrap_or(route);
    let mut variables: Vec<String> = Vec::new();
    for segment in path.split(['/', ' ']) {
        let braced = segment.strip_prefix('{').map(|rest| rest.trim_end_matches('}'));
        let name = braced.or_else(|| segment.strip_prefix(':')).unwrap_or_default();
        if is_name(name) && !variables.iter().any(|known| known == name) {
            variables.push(name.to_owned());
        }
    }
    variables
}

fn parse_query(text: &Text, query: &str) -> Result<Vec<(String, ParamValue)>, Failure> {
    let mut parameters: Vec<(String, ParamValue)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = match pair.split_once('=') {
            None => (pair, ParamValue::Arg(pair.to_owned())),
            Some((name, value)) => match value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(arg) => (name, ParamValue::Arg(arg.to_owned())),
                None => (name, ParamValue::Fixed(value.to_owned())),
            },
        };
        let valid = is_name(name) && !matches!(&value, ParamValue::Arg(arg) if !is_name(arg));
        if !valid {
            let message = format!("`{pair}` is no query parameter");
            return Err(error(
                text,
                pair,
                message,
                "write `?status`, `?due_from={from}` or `?sort=due_date`",
            ));
        }
        if parameters.iter().any(|(known, _)| known == name) {
            let message = format!("the query has `{name}` twice");
            return Err(error(text, pair, message, "remove one of the two"));
        }
        parameters.push((name.to_owned(), value));
    }
    Ok(parameters)
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|char| char.is_ascii_alphabetic() || char == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// A finding at a part of the route; `part` is a slice of the route's own text.
fn error(text: &Text, part: &str, message: impl Into<String>, help: &str) -> Failure {
    let at = text.text.find(part).filter(|_| !part.is_empty());
    let span = at.map_or(text.span, |at| text.span_of(at, at + part.len()));
    Box::new(Diagnostic::new(&rules::BAD_ROUTE, span, message).help(help))
}
