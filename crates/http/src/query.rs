//! The query of a request: which of several reads it asks for, and its arguments.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use singlet_item::Value;
use singlet_model::diagnostic::nearest_word;
use singlet_model::model::{Read, SelectionKind};
use singlet_runtime::Attributes;

use axum::http::StatusCode;

use crate::input::argument_from_text;
use crate::problem::{FieldError, FieldErrors, Problem, RequestPlace};
use crate::routing::{QueryParameter, QueryValue, RouteEndpoint};

/// The query, decoded.
#[derive(Debug, Default)]
pub struct QueryParameters {
    sent: Vec<(String, String)>,
}

/// What every paged read takes beside its own parameters.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageParameters {
    /// Rows in a page.
    pub limit: Option<usize>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// Whether the plan is wanted in place of the answer.
    pub explain: bool,
    /// The ticket by which a list is watched, or what asks for one.
    pub ticket: Option<String>,
}

/// The name under which a ticket is sent.
pub(crate) const TICKET: &str = "ticket";

/// The most parameters of a query: no operation has as many.
const PARAMETERS_MAX: usize = 200;

/// Names that mean the same for every read, unless the read has a parameter of that name.
const COMMON: [&str; 4] = ["limit", "cursor", "explain", TICKET];

impl QueryParameters {
    /// Decodes a query.
    ///
    /// # Errors
    ///
    /// Where a parameter is not text or is sent twice, or there are too many.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut query = QueryParameters::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                let place = RequestPlace::Query(decode(name).unwrap_or_else(|| "?".to_owned()));
                return Err(Problem::invalid_input(FieldErrors::only_error(FieldError::new(
                    place,
                    "this is not UTF-8",
                ))));
            };
            if query.get(&name).is_some() {
                let error = FieldError::new(RequestPlace::Query(name), "this is sent more than once");
                return Err(Problem::invalid_input(FieldErrors::only_error(error)));
            }
            if query.sent.len() == PARAMETERS_MAX {
                let detail = format!("a query has at most {PARAMETERS_MAX} parameters");
                return Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_input", detail));
            }
            query.sent.push((name, value));
        }
        Ok(query)
    }

    /// What was sent, by name, in its order.
    pub(crate) fn sent_parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sent.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The ticket that was sent; none where a read of the path has a parameter of that name.
    pub(crate) fn sent_ticket(&self, endpoints: &[RouteEndpoint]) -> Option<&str> {
        let is_own = endpoints.iter().any(|endpoint| has(endpoint, TICKET));
        self.get(TICKET).filter(|_| !is_own)
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.sent.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The operation that is meant, the most particular one that fits.
    ///
    /// # Errors
    ///
    /// Where none fits, with those that there are.
    pub fn choose_endpoint<'a>(&self, endpoints: &'a [RouteEndpoint]) -> Result<&'a RouteEndpoint, Problem> {
        let fitting = endpoints.iter().filter(|endpoint| self.fits(endpoint));
        let needs = |endpoint: &&RouteEndpoint| endpoint.query.iter().filter(|known| known.is_needed()).count();
        if let Some(found) = fitting.max_by_key(needs) {
            return Ok(found);
        }
        match endpoints {
            [only] => Err(Problem::invalid_input(self.misfits(only))),
            several => Err(self.no_such_combination(several)),
        }
    }

    fn fits(&self, endpoint: &RouteEndpoint) -> bool {
        let satisfied = |parameter: &QueryParameter| match (&parameter.value, self.get(&parameter.name)) {
            (QueryValue::Fixed(wanted), sent) => sent == Some(wanted.as_str()),
            (QueryValue::Argument(_), sent) => sent.is_some() || !parameter.is_needed(),
        };
        endpoint.query.iter().all(satisfied) && self.own().all(|name| has(endpoint, name))
    }

    /// The names that belong to the read rather than to every read.
    fn own(&self) -> impl Iterator<Item = &str> {
        let names = self.sent.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !COMMON.contains(name))
    }

    fn misfits(&self, endpoint: &RouteEndpoint) -> FieldErrors {
        let known = || endpoint.query.iter().map(|parameter| parameter.name.as_str());
        let mut errors: FieldErrors = self
            .own()
            .filter(|name| !has(endpoint, name))
            .map(|name| unknown(name, known()))
            .collect();
        for parameter in &endpoint.query {
            let place = || RequestPlace::Query(parameter.name.clone());
            match (&parameter.value, self.get(&parameter.name)) {
                (QueryValue::Fixed(wanted), sent) if sent != Some(wanted.as_str()) => {
                    errors.push(FieldError::new(place(), format!("this must be `{wanted}`")));
                }
                (QueryValue::Argument(_), None) if parameter.is_needed() => {
                    errors.push(FieldError::new(place(), "this is missing"));
                }
                _ => {}
            }
        }
        errors
    }

    fn no_such_combination(&self, endpoints: &[RouteEndpoint]) -> Problem {
        let mut known: Vec<&str> = endpoints
            .iter()
            .flat_map(|endpoint| &endpoint.query)
            .map(|parameter| parameter.name.as_str())
            .collect();
        known.sort_unstable();
        known.dedup();
        let strangers = self.own().filter(|name| !known.contains(name));
        let errors = strangers.map(|name| unknown(name, known.iter().copied())).collect();
        let combinations: Vec<String> = endpoints.iter().map(RouteEndpoint::query_combination).collect();
        let shown: Vec<String> = combinations
            .iter()
            .map(|text| match text.is_empty() {
                true => "none".to_owned(),
                false => format!("`{text}`"),
            })
            .collect();
        let detail = format!(
            "these parameters are not taken together; there are {}",
            shown.join(", ")
        );
        Problem {
            errors: Box::new(errors),
            ..Problem::new(StatusCode::BAD_REQUEST, "unknown_combination", detail)
        }
        .with_member(
            "combinations",
            Value::L(combinations.into_iter().map(Value::S).collect()),
        )
    }

    /// The arguments that the query holds; what is wrong with it is added to `errors`.
    pub fn query_arguments(&self, endpoint: &RouteEndpoint, args: &mut Attributes, errors: &mut FieldErrors) {
        for parameter in &endpoint.query {
            let QueryValue::Argument(arg) = &parameter.value else {
                continue;
            };
            let Some(text) = self.get(&parameter.name) else {
                continue;
            };
            match argument_from_text(text, &arg.ty) {
                Ok(value) => drop(args.insert(arg.name.clone(), value)),
                Err(invalid) => {
                    errors.push(FieldError::new(
                        RequestPlace::Query(parameter.name.clone()),
                        invalid.to_string(),
                    ));
                }
            }
        }
    }

    /// Limit (of at most `rows_max` rows), cursor, explain and ticket, where the read has no parameter of such a name.
    pub fn page(
        &self,
        endpoint: &RouteEndpoint,
        pages: bool,
        rows_max: usize,
        errors: &mut FieldErrors,
    ) -> PageParameters {
        let mut page = PageParameters::default();
        for name in COMMON.into_iter().filter(|name| !has(endpoint, name)) {
            let Some(text) = self.get(name) else { continue };
            match name {
                "explain" if !endpoint.is_write => page.explain = text != "false",
                "limit" if pages => match text.parse() {
                    Ok(limit) if (1..=rows_max).contains(&limit) => page.limit = Some(limit),
                    _ => errors.push(FieldError::new(
                        RequestPlace::Query(name.to_owned()),
                        format!("this must be a whole number from 1 to {rows_max}"),
                    )),
                },
                TICKET if !endpoint.is_write => page.ticket = Some(text.to_owned()),
                "cursor" if pages => page.cursor = Some(text.to_owned()),
                _ => errors.push(unknown(name, std::iter::empty())),
            }
        }
        page
    }

    /// The query without its ticket.
    pub(crate) fn without_ticket(&self) -> QueryParameters {
        let kept = self.sent.iter().filter(|(name, _)| name != TICKET);
        QueryParameters {
            sent: kept.cloned().collect(),
        }
    }

    /// The query with another cursor, encoded.
    pub(crate) fn with_cursor(&self, cursor: &str) -> String {
        let kept = self.sent.iter().filter(|(name, _)| name != "cursor");
        let pairs = kept
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain([("cursor", cursor)]);
        let encoded = pairs.map(|(name, value)| format!("{}={}", encode(name), encode(value)));
        encoded.collect::<Vec<_>>().join("&")
    }
}

/// Whether a read answers in pages.
pub(crate) fn answers_pages(read: &Read) -> bool {
    let rows = read
        .selection
        .as_ref()
        .is_some_and(|own| own.kind == SelectionKind::Find);
    read.each.is_none() && (read.pages.is_some() || rows)
}

fn has(endpoint: &RouteEndpoint, name: &str) -> bool {
    endpoint.query.iter().any(|parameter| parameter.name == name)
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> FieldError {
    let hint = nearest_word(name, known)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    FieldError::new(
        RequestPlace::Query(name.to_owned()),
        format!("there is no such parameter{hint}"),
    )
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

fn encode(text: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, KEPT).to_string()
}
