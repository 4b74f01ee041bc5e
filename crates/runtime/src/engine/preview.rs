//! What a request would ask of the store, without asking it.

use singlet_model::evaluate::evaluate;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::SelectionKind;
use singlet_plan::cost::{Origin, RequestCost};
use singlet_plan::read::{Combination, PartValues, Query};
use singlet_plan::values::Values;
use singlet_store::{KeyRange, SortRange};

use super::read_call::sent_combination;
use super::{Engine, Request, arguments};
use crate::error::RuntimeError;
use crate::keys;
use crate::scope::{Attributes, Scope};
use crate::values::json_text;

/// One kind of request, with the values of a call.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Which of the plan's requests.
    pub at: usize,
    /// What it costs, with the number of ranges and rows that this call asks for where that is known.
    pub cost: RequestCost,
    /// The index's name; the table, if there is none.
    pub index: Option<String>,
    /// The ranges that are asked for, a request for each and page.
    pub ranges: Vec<KeyRange>,
    /// What must be read before the keys are known: the name of a `let`, or `row`.
    pub waits_for: Option<String>,
}

/// A call of a read, before anything is read.
#[derive(Clone, Debug)]
pub struct Previewed<'a> {
    /// The plan for the arguments that are sent.
    pub combination: &'a Combination,
    /// What is asked, in the order of the combination's requests.
    pub requests: Vec<Preview>,
}

impl Engine {
    /// What a call would ask of the store.
    ///
    /// # Errors
    ///
    /// Where the arguments are not those of the read.
    pub fn preview(&self, name: &str, request: &Request) -> Result<Previewed<'_>, RuntimeError> {
        let Some(prepared) = self.reads.get(name) else {
            return Err(RuntimeError::Request(format!("there is no read `{name}`")));
        };
        let nothing = Attributes::new();
        let scope = Scope {
            setting: &self.setting,
            now: request.now,
            args: &nothing,
            caller: &request.caller,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let read = &prepared.forward.read;
        let sent = arguments::checked_arguments(read, &request.args)?;
        let args = arguments::with_defaults(read, sent, scope)?;
        let scope = Scope { args: &args, ..scope };
        let planned = prepared.directed(scope)?;
        let combination = sent_combination(&planned.read, &planned.plan, &args)?;
        let mut scopes = vec![nothing.clone()];
        if let Some(each) = &read.each {
            let elements = evaluate(&each.list, &scope)?;
            let elements = elements.as_ref().and_then(|list| list.as_list()).unwrap_or_default();
            scopes = elements
                .iter()
                .map(|element| Attributes::from([(each.name.clone(), element.clone())]))
                .collect();
        }
        let mut requests = Vec::new();
        for (at, cost) in combination.requests.iter().enumerate() {
            let mut preview = Preview {
                at,
                cost: cost.clone(),
                index: None,
                ranges: Vec::new(),
                waits_for: None,
            };
            for query in self.queries(combination, &cost.origin, scope) {
                let index = query.index.and_then(|index| self.model.index(index));
                preview.index = index.map(|index| index.name.clone());
                preview.waits_for = preview.waits_for.or_else(|| waits_for(query, read.each.is_some()));
                // Its key hangs on a row that nobody has read: any ranges that were said would be invented.
                if preview.waits_for.is_some() {
                    continue;
                }
                for bound in &scopes {
                    let scope = Scope { bound, ..scope };
                    let ranges = keys::query_ranges(&self.model, query, scope)?;
                    preview.ranges.extend(ranges.into_iter().map(|range| range.keys));
                }
            }
            if matches!(cost.origin, Origin::Query { .. }) && preview.waits_for.is_none() {
                let ranges = preview.ranges.len() as u64;
                let elements_most = read.each.as_ref().map_or(1, |each| each.at_most);
                preview.cost = cost.with_ranges(ranges, (scopes.len() as u64, elements_most));
            }
            let is_list = read
                .selection
                .as_ref()
                .is_some_and(|selection| selection.kind == SelectionKind::Find);
            let is_paged = is_list && cost.parts.is_empty() && read.pages.is_none();
            if let Some(limit) = request.limit.filter(|_| is_paged) {
                preview.cost = preview.cost.for_rows(limit as u64);
            }
            requests.push(preview);
        }
        Ok(Previewed { combination, requests })
    }

    /// The queries behind a request; of several covers of one circle the one with the fewest cells.
    fn queries<'p>(&self, combination: &'p Combination, origin: &Origin, scope: Scope<'_>) -> Vec<&'p Query> {
        match origin {
            Origin::Query { part, query } => {
                let plan = combination.parts.get(*part).map(|part| &part.plan);
                let own = plan.and_then(|plan| plan.queries.get(*query));
                let covers = plan.map_or(&[][..], |plan| &plan.covers);
                let all = own.into_iter().chain(covers);
                // A cover with too many cells is none, as when it is read.
                let cells = |query: &&Query| keys::range_count(&self.model, query, scope).unwrap_or(usize::MAX);
                match covers {
                    [] => all.collect(),
                    _ => all.min_by_key(cells).into_iter().collect(),
                }
            }
            Origin::Neighbours => {
                let neighbours = combination.neighbours.iter();
                let parts = neighbours.flat_map(|neighbours| &neighbours.parts);
                parts.map(|neighbour| &neighbour.query).collect()
            }
            Origin::Together => match &combination.together {
                Some(Ok(together)) => together.parts.iter().map(|part| &part.query).collect(),
                _ => Vec::new(),
            },
            Origin::Let(_)
            | Origin::Rows { .. }
            | Origin::Found { .. }
            | Origin::TallyHead { .. }
            | Origin::TallyFigures { .. } => Vec::new(),
        }
    }
}

/// The first name in a query's key that only a row gives.
fn waits_for(query: &Query, each: bool) -> Option<String> {
    let sort = query.sort.iter();
    let ends = sort.clone().flat_map(|sort| sort.low.iter().chain(&sort.high));
    let parts = query.partition.iter().chain(sort.flat_map(|sort| &sort.prefix));
    let values = parts.flat_map(values_of).chain(ends.map(|end| &end.value));
    let mut name = None;
    for value in values {
        value.walk(&mut |part: &Expr| match &part.kind {
            ExprKind::Bound(bound) if !each => name = name.take().or(Some(bound.clone())),
            ExprKind::Row => name = name.take().or(Some("row".to_owned())),
            _ => {}
        });
    }
    name
}

fn values_of(part: &PartValues) -> Vec<&Expr> {
    match &part.values {
        Values::One(value) | Values::Formed(value) | Values::Each(value) | Values::EachFormed(value) => vec![value],
        Values::Days(range) => range.from.iter().chain(&range.to).map(|end| &end.value).collect(),
        Values::Cells { center, km, .. } => vec![center, km],
        Values::All(_) => Vec::new(),
    }
}

/// A range as DynamoDB's documents write it.
pub fn range_text(range: &KeyRange) -> String {
    let shown = json_text::json_of;
    let partition = range.partition.iter();
    let partition = partition.map(|(name, value)| format!("{name} = {}", shown(value)));
    let sort = range.sort.iter().map(|(name, sort)| match sort {
        SortRange::Equal(value) => format!("{name} = {}", shown(value)),
        SortRange::Less(value) => format!("{name} < {}", shown(value)),
        SortRange::LessOrEqual(value) => format!("{name} <= {}", shown(value)),
        SortRange::Greater(value) => format!("{name} > {}", shown(value)),
        SortRange::GreaterOrEqual(value) => format!("{name} >= {}", shown(value)),
        SortRange::Between(low, high) => format!("{name} between {} and {}", shown(low), shown(high)),
        SortRange::BeginsWith(value) => format!("{name} begins_with {}", shown(value)),
    });
    let all: Vec<String> = partition.chain(sort).collect();
    all.join(" and ")
}
