//! No request may have two meanings.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Argument, ParamValue, Read, Route, Write};
use crate::rules;
use crate::source::Span;

/// Checks all routes of a model.
pub(super) fn check_routes(reads: &[Read], writes: &[Write], out: &mut Diagnostics) {
    let reads = reads
        .iter()
        .filter_map(|read| Some((read.name.as_str(), read.http.as_ref()?, read.args.as_slice())));
    let writes = writes
        .iter()
        .filter_map(|write| Some((write.name.as_str(), write.http.as_ref()?, &[][..])));
    let mut by_path: HashMap<String, Vec<(&str, &Route, Parameters<'_>)>> = HashMap::new();
    for (name, route, args) in reads.chain(writes) {
        let parameters = Parameters::of(route, args);
        let place = format!("{} {}", route.method, anonymous(&route.path));
        let others = by_path.entry(place).or_default();
        let clash = others.iter().find(|(_, _, other)| other.overlaps(&parameters));
        if let Some((other, first, _)) = clash {
            out.push(duplicate(name, other, route.span, first.span));
        }
        others.push((name, route, parameters));
    }
}

fn duplicate(name: &str, other: &str, span: Span, first: Span) -> Diagnostic {
    let message = format!("`{name}` answers the same requests as `{other}`");
    Diagnostic::new(&rules::DUPLICATE_ROUTE, span, message)
        .note(first, format!("the route of `{other}`"))
        .help("change the path or the method, or require a parameter that tells them apart")
        .about(name)
}

/// Which parameters a route needs, which it may have, and the texts that some must match.
struct Parameters<'a> {
    needed: Vec<&'a str>,
    allowed: Vec<&'a str>,
    fixed: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    fn of(route: &'a Route, args: &[Argument]) -> Self {
        let mut parameters = Parameters {
            needed: Vec::new(),
            allowed: Vec::new(),
            fixed: Vec::new(),
        };
        for (name, value) in &route.query {
            let optional = match value {
                ParamValue::Arg(arg) => args.iter().any(|known| known.name == *arg && known.optional),
                ParamValue::Fixed(text) => {
                    parameters.fixed.push((name, text));
                    false
                }
            };
            parameters.allowed.push(name);
            if !optional {
                parameters.needed.push(name);
            }
        }
        parameters
    }

    /// Whether some request fits both: what each needs the other allows, and no fixed texts differ. The most particular
    /// route wins where one needs more than the other, so only routes that need the same are in each other's way.
    fn overlaps(&self, other: &Parameters<'_>) -> bool {
        let needs_fit = |a: &Parameters<'_>, b: &Parameters<'_>| a.needed.iter().all(|name| b.allowed.contains(name));
        let differ = self.fixed.iter().any(|(name, text)| {
            other
                .fixed
                .iter()
                .any(|(other, wanted)| name == other && text != wanted)
        });
        let mut mine = self.needed.clone();
        let mut theirs = other.needed.clone();
        mine.sort_unstable();
        theirs.sort_unstable();
        needs_fit(self, other) && needs_fit(other, self) && !differ && mine == theirs
    }
}

/// A path without the names of its variables.
fn anonymous(path: &str) -> String {
    let segments = path
        .split('/')
        .map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}
