//! Which requests a plan sends, and how often each.

use singlet_item::capacity::Consistency;
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind, Literal};
use singlet_model::model::{Entity, LetValue, Read, Selection, SelectionKind, TallyUse};
use singlet_model::types::Type;

use super::{Call, Origin, RequestCost};
use crate::bounds::Bounds;
use crate::read::{
    Neighbours, OneRow, PartPlan, PartValues, Query, SelectionPlan, Together, one_row, plan_selection, reads_strangers,
};
use crate::values::Values;

/// What follows a list.
const EACH_ROW: &str = "each row";

/// How often a request is sent for one answer, before any reading on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// For each of what; empty where it is sent once.
    pub each: Vec<String>,
    /// At least.
    pub least: u64,
    /// At most, where that is known.
    pub most: Option<u64>,
    /// Whether not all of them may be needed: one is sent after the other, until a page is full.
    pub least_suffices: bool,
}

impl Times {
    /// Sent once.
    pub fn sent_once() -> Self {
        Times {
            each: Vec::new(),
            least: 1,
            most: Some(1),
            least_suffices: false,
        }
    }

    fn and(mut self, (each, least, most): (Option<String>, u64, Option<u64>)) -> Self {
        self.each.extend(each);
        self.least = self.least.saturating_mul(least);
        self.most = self.most.zip(most).map(|(one, other)| one.saturating_mul(other));
        self
    }
}

/// How many rows a request asks for so that as many are kept as are wanted: a filter drops rows that count toward a limit, so that some more are
/// read at once. Where estimates say which part of the rows it keeps, not more than that takes; a little is added, for it is an
/// estimate. Where they do not, no more than may be read for nothing for a unit (`spare_rows`): what is kept of those says how many are needed.
pub fn rows_asked(bounds: &Bounds, wanted: u64, filtered: bool, kept_share: Option<f64>, spare_rows: u64) -> u64 {
    if !filtered {
        return wanted;
    }
    let usual = wanted.saturating_mul(2).max(bounds.filtered_rows_min as u64);
    let usual = match kept_share {
        Some(_) => usual,
        None => usual.min(wanted.saturating_add(spare_rows)),
    };
    let needed = |share: f64| {
        let rows = (wanted as f64 / share * (1.0 + ROWS_ASKED_MARGIN)).ceil();
        // What is past all numbers is the usual.
        (rows < usual as f64).then_some(rows as u64)
    };
    kept_share.and_then(needed).unwrap_or(usual).max(wanted)
}

/// The part by which more rows are asked for than estimates say are needed.
const ROWS_ASKED_MARGIN: f64 = 0.1;
/// How many times as many rows are asked for as what was kept so far says are needed: the next are not the same.
pub const ROWS_MORE_EACH_ROUND: f64 = 1.25;

/// The requests of a read with one combination of arguments: what `let` reads, then its parts.
pub fn counted_requests(
    model: &Model,
    read: &Read,
    parts: &[PartPlan],
    neighbours: Option<&Neighbours>,
) -> Vec<RequestCost> {
    let counting = Counting { model, read };
    let mut all = counting.lets();
    all.extend(neighbours.and_then(|neighbours| counting.side_by_side(parts, neighbours)));
    for (at, part) in parts.iter().enumerate() {
        let read_already = neighbours.is_some_and(|neighbours| neighbours.holds(at));
        if let Some(selection) = selection_of(read, part).filter(|_| !read_already) {
            let origin = |query| Origin::Query { part: at, query };
            all.extend(counting.selection(part.name.as_deref(), selection, &part.plan, &origin));
        }
    }
    all
}

/// The one request of a read that is a transaction.
pub(crate) fn transaction_request(parts: &[PartPlan], together: &Together) -> Vec<RequestCost> {
    let named = |at: usize| parts.get(at).and_then(|part| part.name.clone());
    let fanned = together.parts.iter().flat_map(|part| fan_out(&part.query));
    vec![RequestCost {
        origin: Origin::Together,
        parts: together.parts.iter().filter_map(|part| named(part.part)).collect(),
        call: Call::TransactGet,
        index: None,
        entities: together.parts.iter().map(|part| part.query.entity).collect(),
        consistency: Consistency::Transactional,
        times: Times {
            each: fanned.filter_map(|(each, ..)| each).collect(),
            least: together.items.0,
            most: Some(together.items.1),
            least_suffices: false,
        },
        rows: Some(1),
        rows_there: None,
        reads_on: false,
        asked_words: Vec::new(),
    }]
}

/// How many ranges the values of a query's key make, at least and at most.
pub(crate) fn fan_out_items(query: &Query) -> (u64, Option<u64>) {
    let times = fan_out(query).into_iter().fold(Times::sent_once(), Times::and);
    (times.least, times.most)
}

/// The selection of a part.
pub(crate) fn selection_of<'a>(read: &'a Read, part: &PartPlan) -> Option<&'a Selection> {
    match &part.name {
        None => read.selection.as_ref(),
        Some(name) => read
            .with
            .iter()
            .find(|with| with.name == *name)
            .map(|with| &with.selection),
    }
}

struct Counting<'a> {
    model: &'a Model,
    read: &'a Read,
}

impl Counting<'_> {
    /// Rows that `let` names are read first, strongly: they decide who may.
    fn lets(&self) -> Vec<RequestCost> {
        let mut all = Vec::new();
        for bound in &self.read.lets {
            match &bound.value {
                LetValue::Value(expr) => {
                    if let ExprKind::Entity { entity, .. } = &expr.kind {
                        all.push(RequestCost {
                            origin: Origin::Let(bound.name.clone()),
                            parts: vec![bound.name.clone()],
                            call: Call::Get,
                            index: None,
                            entities: vec![*entity],
                            consistency: Consistency::Strong,
                            times: Times::sent_once(),
                            rows: Some(1),
                            rows_there: None,
                            reads_on: false,
                            asked_words: Vec::new(),
                        });
                    }
                }
                LetValue::Read(selection) => {
                    if let Some(plan) = plan_selection(self.model, selection, None, None, &|_| true) {
                        let origin = |_| Origin::Let(bound.name.clone());
                        all.extend(self.selection(Some(&bound.name), selection, &plan, &origin));
                    }
                }
            }
        }
        all
    }

    fn selection(
        &self,
        name: Option<&str>,
        selection: &Selection,
        plan: &SelectionPlan,
        origin: &dyn Fn(usize) -> Origin,
    ) -> Vec<RequestCost> {
        let each = self.read.each.as_ref().filter(|_| name.is_none());
        // What `let` names is read once, before there are rows.
        let comes_with_rows = |name: &str| self.read.with.iter().any(|part| part.name == name);
        let parent = self
            .read
            .selection
            .as_ref()
            .filter(|_| name.is_some_and(comes_with_rows));
        let mut outer = Times::sent_once();
        if let Some(each) = each {
            outer = outer.and((Some(format!("each {}", each.name)), 0, Some(each.at_most)));
        }
        if let Some(parent) = parent.filter(|parent| parent.kind == SelectionKind::Find) {
            outer = outer.and((Some(EACH_ROW.to_owned()), 0, Some(self.page_rows(parent.limit))));
        }
        if let Some(kept) = &selection.tally {
            return self.tally(name, kept, &outer);
        }
        if plan.search.is_some() {
            return vec![self.found(name, selection, outer, origin(0))];
        }
        let mut all = Vec::new();
        for (at, query) in plan.queries.iter().enumerate() {
            let cost = RequestCost {
                origin: origin(at),
                ..self.query(name, selection, plan, query, outer.clone())
            };
            let follow = query.follow.then(|| RequestCost {
                origin: match &cost.origin {
                    Origin::Query { part, .. } => Origin::Rows { part: *part },
                    other => other.clone(),
                },
                call: Call::BatchGet,
                index: None,
                entities: selection.entity().into_iter().collect(),
                consistency: self.consistency(selection, None),
                times: cost.times.clone().and((Some(EACH_ROW.to_owned()), 0, cost.rows)),
                rows: Some(1),
                ..cost.clone()
            });
            all.push(cost);
            all.extend(follow);
        }
        all
    }

    /// The rows of a page, by the keys that an index of words gives: what it does not know of them may drop some.
    fn found(&self, name: Option<&str>, selection: &Selection, outer: Times, origin: Origin) -> RequestCost {
        RequestCost {
            origin: match origin {
                Origin::Query { part, .. } => Origin::Found { part },
                other => other,
            },
            parts: name.into_iter().map(str::to_owned).collect(),
            call: Call::BatchGet,
            index: None,
            entities: selection.entity().into_iter().collect(),
            consistency: Consistency::Eventual,
            times: outer.and((Some(EACH_ROW.to_owned()), 0, Some(self.page_rows(selection.limit)))),
            rows: Some(1),
            rows_there: None,
            reads_on: true,
            asked_words: Vec::new(),
        }
    }

    /// Which figures count, and then those that are asked for.
    fn tally(&self, name: Option<&str>, kept: &TallyUse, outer: &Times) -> Vec<RequestCost> {
        let tally = kept.tally;
        let group = |at: usize| self.model.tally(tally).and_then(|tally| tally.by.get(at));
        let fixed = kept.fixed.iter().filter_map(|(at, value)| {
            let group = group(*at)?;
            Some(format!("{} == {}", group.text, crate::show::show_expression(value)))
        });
        let head = RequestCost {
            origin: Origin::TallyHead { tally },
            parts: name.into_iter().map(str::to_owned).collect(),
            call: Call::Get,
            index: None,
            entities: Vec::new(),
            consistency: Consistency::Eventual,
            times: outer.clone(),
            rows: Some(1),
            rows_there: None,
            reads_on: false,
            asked_words: Vec::new(),
        };
        let figures = RequestCost {
            origin: Origin::TallyFigures {
                tally,
                fixed: fixed.collect::<Vec<_>>().join(" && "),
            },
            call: Call::Query,
            rows: None,
            ..head.clone()
        };
        vec![head, figures]
    }

    fn query(
        &self,
        name: Option<&str>,
        selection: &Selection,
        plan: &SelectionPlan,
        query: &Query,
        outer: Times,
    ) -> RequestCost {
        let mut times = fan_out(query).into_iter().fold(outer.clone(), Times::and);
        // Several rows by their keys come in batches, whatever it is that names several.
        let is_got = query.is_got_by_keys();
        let rows = match selection.kind {
            _ if is_got => Some(1),
            // A second row is looked for, to be refused.
            SelectionKind::Get { .. } if one_row(self.model, selection, plan) == OneRow::Unproven => Some(2),
            _ => self.rows(name, selection, query),
        };
        if query.in_sequence && self.rows(name, selection, query).is_some() {
            // One range is read after the other, and the first may suffice.
            times.least = outer.least;
            times.least_suffices = true;
        }
        RequestCost {
            origin: Origin::Neighbours,
            parts: name.into_iter().map(str::to_owned).collect(),
            call: match is_got {
                true if times.most == Some(1) => Call::Get,
                true => Call::BatchGet,
                false if query.scan => Call::Scan,
                false => Call::Query,
            },
            index: query.index,
            entities: match query.scan {
                true => self.model.entities.iter().map(|entity| entity.id).collect(),
                false => vec![query.entity],
            },
            consistency: self.consistency(selection, query.index),
            times,
            rows,
            rows_there: self
                .rows_there(query)
                .zip(outer.most)
                .and_then(|(rows, times)| rows.checked_mul(times)),
            reads_on: self.may_drop(query) && !is_got,
            asked_words: query.asked_words.clone(),
        }
    }

    /// One query for several selections.
    fn side_by_side(&self, parts: &[PartPlan], neighbours: &Neighbours) -> Option<RequestCost> {
        let mut all = Vec::new();
        for neighbour in &neighbours.parts {
            let part = parts.get(neighbour.part)?;
            let selection = selection_of(self.read, part)?;
            all.push(self.query(
                part.name.as_deref(),
                selection,
                &part.plan,
                &neighbour.query,
                Times::sent_once(),
            ));
        }
        let first = all.first()?.clone();
        Some(RequestCost {
            parts: all.iter().flat_map(|cost| cost.parts.clone()).collect(),
            call: Call::Query,
            entities: all.iter().flat_map(|cost| cost.entities.clone()).collect(),
            rows: all.iter().map(|cost| cost.rows).sum(),
            rows_there: all.iter().map(|cost| cost.rows_there).sum(),
            reads_on: all.iter().any(|cost| cost.reads_on),
            ..first
        })
    }

    fn consistency(&self, selection: &Selection, index: Option<singlet_model::model::IndexId>) -> Consistency {
        let strong = selection.consistent || self.read.consistent.is_some();
        match strong && index.is_none() {
            true => Consistency::Strong,
            false => Consistency::Eventual,
        }
    }

    /// How many rows one request asks for.
    fn rows(&self, name: Option<&str>, selection: &Selection, query: &Query) -> Option<u64> {
        let asked = |wanted: u64| {
            let expected = &query.expected;
            let filtered = query.drops_rows();
            rows_asked(
                &Bounds::USUAL,
                wanted,
                filtered,
                expected.kept_share,
                expected.spare_rows,
            )
        };
        let pages = match name {
            None => self.read.each.is_none(),
            Some(name) => self.read.pages.as_deref() == Some(name),
        };
        match selection.kind {
            // One row is mostly the first.
            SelectionKind::Get { .. } => Some(1),
            SelectionKind::Find if pages => Some(asked(self.page_rows(selection.limit))),
            // Rows beside a row are read whole, or to their limit.
            SelectionKind::Find if name.is_some() => Some(asked(selection.limit?)),
            SelectionKind::Find | SelectionKind::Count => None,
        }
    }

    fn page_rows(&self, limit: Option<u64>) -> u64 {
        let page = self.read.page.unwrap_or(Bounds::USUAL.page_rows_usual as u64);
        limit.map_or(page, |limit| limit.min(page))
    }

    /// How many rows there are of those that a query may read, where estimates say: no more than share a value that its key has.
    fn rows_there(&self, query: &Query) -> Option<u64> {
        let estimate = |entity: &Entity| self.model.estimate_of(&self.model.source_of(entity).name);
        if query.scan {
            return self.model.entities.iter().map(|entity| estimate(entity)?.items).sum();
        }
        let estimate = estimate(self.model.entity(query.entity)?)?;
        let has_one = |part: &&PartValues| part.exact && part.is_one() && part.function.is_none();
        let sharing = query.key_parts().filter(has_one).filter_map(|part| {
            let mut per = estimate.per.iter();
            per.find(|(name, _)| *name == part.path).map(|(_, rows)| *rows)
        });
        sharing.chain(estimate.items).min()
    }

    /// Whether a row that was read may not be one of the answer.
    fn may_drop(&self, query: &Query) -> bool {
        let entity = self.model.entity(query.entity);
        let expires = entity.is_some_and(|entity| self.model.source_of(entity).expires.is_some());
        // A scan also meets rows that the model keeps for itself.
        query.drops_rows()
            || expires
            || query.scan
            || query.reads_past_ends(self.model)
            || reads_strangers(self.model, query)
    }
}

/// How often a query is sent for the values of its key's parts; parts that have one value between them count once.
fn fan_out(query: &Query) -> Vec<(Option<String>, u64, Option<u64>)> {
    let mut seen: Vec<&PartValues> = Vec::new();
    let mut all = Vec::new();
    for part in query.key_parts() {
        if !seen.iter().any(|known| known.follows(part)) {
            seen.push(part);
            all.push(times_of(part));
        }
    }
    all
}

fn times_of(part: &PartValues) -> (Option<String>, u64, Option<u64>) {
    let each = |name: &str| Some(format!("each {name}"));
    match &part.values {
        Values::One(value) | Values::Formed(value) => lapsing(part, value),
        Values::Each(list) | Values::EachFormed(list) => match &list.kind {
            ExprKind::List(elements) => {
                let lapsed: u64 = elements.iter().filter_map(|element| lapses_to(part, element)).sum();
                let count = elements.len() as u64 + lapsed;
                (each(&part.path), count.min(1), Some(count))
            }
            _ => {
                let (least, most) = lengths(&list.ty);
                (each(&part.path), least.min(1), most)
            }
        },
        Values::Days(range) => (each(range.unit.word()), 0, crate::span::units_most(range)),
        Values::Cells { precision, .. } => (each(&format!("cell({precision})")), 1, None),
        Values::All(words) => (each(&part.path), words.len() as u64, Some(words.len() as u64)),
    }
}

/// One value, and the states that time has turned into it.
fn lapsing(part: &PartValues, value: &Expr) -> (Option<String>, u64, Option<u64>) {
    let into = |to: &str| part.lapses.iter().filter(|(_, known)| known == to).count() as u64;
    let most = part.lapses.iter().map(|(_, to)| into(to)).max().unwrap_or(0);
    let (least, most) = lapses_to(part, value).map_or((0, most), |known| (known, known));
    let name = (most > 0).then(|| format!("each {} that is it or lapses to it", part.path));
    (name, 1 + least, Some(1 + most))
}

/// How many states lapse to a word, where it is known before the request.
fn lapses_to(part: &PartValues, value: &Expr) -> Option<u64> {
    match value.as_literal()? {
        Literal::Text(word) => Some(part.lapses.iter().filter(|(_, to)| to == word).count() as u64),
        _ => Some(0),
    }
}

/// How short and how long a list may be. Its elements may all be one.
fn lengths(ty: &Type) -> (u64, Option<u64>) {
    match ty {
        Type::List(_, limits) | Type::Set(_, limits) => (limits.min.unwrap_or(0), limits.max),
        _ => (0, None),
    }
}
