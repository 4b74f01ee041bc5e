//! How what is asked for is answered: the planner's word, which the service runs by. No rule has an opinion of its own.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use singlet_model::model::{IndexId, Read, Selection};
use singlet_model::types::EntityId;
use singlet_plan::access::{self, AccessPath};
use singlet_plan::meaning;
use singlet_plan::read::{Combination, PartPlan, Query, SelectionPlan, Why, plan_reversed, plan_selection};

use crate::Context;
use crate::context::Asked;

/// How rows are found with some of the optional arguments sent.
pub struct Answer<'c> {
    /// The optional arguments that are sent.
    pub sent: Vec<String>,
    /// Whether the order is turned round.
    pub reversed: bool,
    /// How.
    pub plan: Cow<'c, SelectionPlan>,
}

impl Answer<'_> {
    /// The reasons for which no path answers; none where one does.
    pub fn missing_reasons(&self) -> Option<impl Iterator<Item = &Why>> {
        let reasons = self.plan.others.iter().map(|lost| &lost.why);
        self.plan.is_unanswered().then_some(reasons)
    }
}

/// What is asked for, and the paths that answer it: those of its plans, and those that would answer as well.
pub struct Answered<'a> {
    /// What is asked for.
    pub asked: Asked<'a>,
    /// The paths, each once.
    pub paths: Vec<AccessPath<'a>>,
}

impl<'a> Context<'a> {
    /// All that is asked for, each with the paths that answer it under some combination of optional arguments.
    pub fn answered_asks(&self) -> &[Answered<'a>] {
        self.answered.get_or_init(|| {
            let answered = |asked: Asked<'a>| Answered {
                paths: self.answering(&asked),
                asked,
            };
            self.asked_rows().into_iter().map(answered).collect()
        })
    }

    fn answering(&self, asked: &Asked<'a>) -> Vec<AccessPath<'a>> {
        let mut known: HashSet<Place> = HashSet::new();
        for answer in self.answers_of(asked) {
            known.extend(answering_places(&answer.plan));
        }
        let mut paths = self.entity_paths(asked.entity.id);
        paths.retain(|path| known.contains(&self.place_of(path)));
        paths
    }

    /// The path that a query takes; none where it scans.
    pub fn path_of(&self, query: &Query) -> Option<AccessPath<'a>> {
        let entity = self.model.entity(query.entity).filter(|_| !query.scan)?;
        let mut paths = access::own_paths(self.model, entity).into_iter();
        paths.find(|path| self.place_of(path) == (query.entity, query.index, query.choice))
    }

    fn place_of(&self, path: &AccessPath<'_>) -> Place {
        (path.entity.id, path.index_in(self.model), path.choice_at)
    }

    /// How what is asked for is answered, with each combination of optional arguments that callers may send, and with the order
    /// turned round where they may ask for that.
    pub fn answers_of(&self, asked: &Asked<'a>) -> Vec<Answer<'_>> {
        let Some(read) = asked.read else {
            let plan = plan_selection(self.model, asked.selection, None, None, &|_| true);
            let answer = |plan| Answer {
                sent: Vec::new(),
                reversed: false,
                plan: Cow::Owned(plan),
            };
            return plan.into_iter().map(answer).collect();
        };
        let planned = self.read_plan(read).combinations.iter();
        let forward = planned.filter_map(|combination| {
            Some(Answer {
                sent: combination.sent.clone(),
                reversed: false,
                plan: Cow::Borrowed(&part_of(read, asked.selection, combination)?.plan),
            })
        });
        let mut all: Vec<Answer<'_>> = forward.collect();
        let own = read
            .selection
            .as_ref()
            .is_some_and(|own| std::ptr::eq(own, asked.selection));
        if own && read.reverse.is_some() {
            let (_, plan) = plan_reversed(self.model, read);
            let own = |combination: Combination| {
                let part = combination.parts.into_iter().find(|part| part.name.is_none())?;
                Some(Answer {
                    sent: combination.sent,
                    reversed: true,
                    plan: Cow::Owned(Arc::unwrap_or_clone(part.plan)),
                })
            };
            all.extend(plan.combinations.into_iter().filter_map(own));
        }
        all
    }
}

/// A path by its entity, its index, and which of the entity's templates it has there.
type Place = (EntityId, Option<IndexId>, usize);

/// The paths that a plan takes, and those that would answer as well.
fn answering_places(plan: &SelectionPlan) -> impl Iterator<Item = Place> {
    let queries = plan.queries.iter().chain(&plan.covers).filter(|query| !query.scan);
    let others = plan.others.iter().filter(|lost| lost.answers());
    let taken = queries.map(|query| (query.entity, query.index, query.choice));
    taken.chain(others.map(|lost| (lost.entity, lost.index, lost.choice)))
}

fn part_of<'c>(read: &Read, selection: &Selection, combination: &'c Combination) -> Option<&'c PartPlan> {
    let with = read.with.iter().find(|part| std::ptr::eq(&part.selection, selection));
    let name = with.map(|part| part.name.as_str());
    combination.parts.iter().find(|part| part.name.as_deref() == name)
}

/// Which combination of optional arguments is meant: ` without a`, ` with a, but without b`; nothing where there is only one.
pub(crate) fn in_combination(asked: &Asked<'_>, answer: &Answer<'_>) -> String {
    let optional: Vec<&str> = asked.read.into_iter().flat_map(meaning::optional_arguments).collect();
    let named = |names: &[&str]| format!("`{}`", names.join("`, `"));
    let (sent, left): (Vec<&str>, Vec<&str>) = optional
        .into_iter()
        .partition(|name| answer.sent.iter().any(|sent| sent == name));
    let backwards = if answer.reversed { " in reverse" } else { "" };
    let which = match (sent.as_slice(), left.as_slice()) {
        ([], []) => String::new(),
        ([], left) => format!(" without {}", named(left)),
        (sent, []) => format!(" with {}", named(sent)),
        (sent, left) => format!(" with {}, but without {}", named(sent), named(left)),
    };
    format!("{which}{backwards}")
}

/// How many paths a message lists.
const LISTED_MAX: usize = 4;

/// Why each path does not answer, in a line.
pub fn refusal_reasons(asked: &Asked<'_>, plan: &SelectionPlan) -> String {
    let mut texts: Vec<String> = Vec::new();
    for lost in &plan.others {
        let path = match lost.path.strip_prefix("the table") {
            Some("") => format!("`{}`", asked.entity.name),
            Some(mirror) => mirror.trim_start_matches(" of ").to_owned(),
            None => lost.path.clone(),
        };
        let text = match &lost.why {
            Why::Open(part) => format!("{path} needs `{part}`"),
            Why::Order(order) => format!("{path} is not ordered by `{order}`"),
            Why::Sparse(part) => format!("{path} lacks rows without `{part}`"),
            Why::Conditional => format!("{path} has only rows of a condition that the meaning does not imply"),
            why => format!("{path}: {why}"),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let more = texts.len().saturating_sub(LISTED_MAX);
    texts.truncate(LISTED_MAX);
    match more {
        0 => texts.join(", "),
        more => format!("{} and {more} more", texts.join(", ")),
    }
}
