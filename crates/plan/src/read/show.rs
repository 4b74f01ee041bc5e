//! Plans as text.

use singlet_item::Path;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::expression::{ExprKind, Literal};
use singlet_model::model::{Entity, KeyChoice, KeyTemplate, LetValue, PartFunction, SelectionKind, TallyId};

use super::candidate::{PartValues, Query};
use super::choose::{Combination, Lost, PartPlan, ReadPlan, SelectionPlan, plan_selection};
use super::ends::Ends;
use super::expected::{ROW_BYTES_USUAL, ROWS_SHARING_USUAL, ROWS_USUAL};
use super::neighbours::{Neighbour, Neighbours};
use super::sort::{End, EndPoint, SortBound};
use super::why::Why;
use crate::cost::{Origin, RequestCost, Sizes};
use crate::show::{Piece, day_range, show_conjunction, show_expression, template_pieces};
use crate::values::Values;

/// The key condition of a query, as documents write it.
pub fn condition(model: &Model, query: &Query) -> String {
    if query.scan {
        return String::new();
    }
    let Some((choice, partitions)) = choice_of(model, query) else {
        return String::new();
    };
    let mut used = 0;
    let mut conditions: Vec<String> = Vec::new();
    for key in choice.keys.iter().take(partitions) {
        let values = query.partition.get(used..).unwrap_or_default();
        conditions.push(format!("{} = {}", key.attribute, filled(key, values)));
        used += key.parts.len();
    }
    if let Some(sort) = &query.sort {
        conditions.extend(sort_condition(choice.keys.get(partitions..).unwrap_or_default(), sort));
    }
    conditions.join(" and ")
}

/// A query in a line: where, by which key, what is left.
pub fn describe(model: &Model, query: &Query) -> String {
    let place = match query.index.and_then(|index| model.index(index)) {
        Some(index) => index.name.clone(),
        None => "table".to_owned(),
    };
    let mut text = match (query.scan, query.is_get()) {
        (true, _) => format!("scan {place}"),
        (false, true) => format!("get {place} {}", condition(model, query)),
        (false, false) => format!("query {place} {}", condition(model, query)),
    };
    if query.descending {
        text.push_str(" descending");
    }
    if !query.rest.is_empty() {
        text.push_str(&format!(" where {}", show_conjunction(&query.rest)));
    }
    if query.follow {
        text.push_str(", then the rows");
    }
    text
}

/// One request of a plan, in words.
#[derive(Clone, Debug)]
pub struct PlanRow<'p> {
    /// The optional arguments that are sent.
    pub sent: &'p [String],
    /// The index's name, or `table`.
    pub place: String,
    /// The key condition.
    pub key: String,
    /// Whether the rows come backwards.
    pub descending: bool,
    /// What is checked on the rows that were read; empty where the key says all.
    pub filter: String,
    /// The attributes that are asked for; all, if empty.
    pub projection: Vec<&'p str>,
    /// Whether those are the attributes of the row alone.
    pub bare: bool,
    /// Whether those are only what is looked at.
    pub narrowed: bool,
    /// Other queries that answer it too: which is cheaper is known with the request.
    pub or: Vec<String>,
    /// Of a circle: the degrees of latitude, north and south, up to which it is answered.
    pub latitude: Option<f64>,
    /// What it costs.
    pub cost: &'p RequestCost,
}

/// The requests of a plan, in the order in which they are sent.
pub fn plan_rows<'p>(model: &Model, plan: &'p ReadPlan) -> Vec<PlanRow<'p>> {
    let combinations = plan.combinations.iter();
    combinations
        .flat_map(|combination| {
            let requests = combination.requests.iter();
            requests.map(move |cost| row(model, &plan.read, combination, cost))
        })
        .collect()
}

fn row<'p>(model: &Model, read: &str, combination: &'p Combination, cost: &'p RequestCost) -> PlanRow<'p> {
    let place = cost.index.and_then(|index| model.index(index));
    let mut row = PlanRow {
        sent: &combination.sent,
        place: place.map_or_else(|| "table".to_owned(), |index| index.name.clone()),
        key: String::new(),
        descending: false,
        filter: String::new(),
        projection: Vec::new(),
        bare: false,
        narrowed: false,
        or: Vec::new(),
        latitude: None,
        cost,
    };
    match &cost.origin {
        Origin::Let(name) => row.key = let_text(model, read, name),
        Origin::Rows { .. } => row.key = "the key of each row".to_owned(),
        Origin::Query { part, query } => {
            let part = combination.parts.get(*part);
            let plan = part.map(|part| &part.plan);
            if let Some((plan, query)) = plan.and_then(|plan| Some((plan, plan.queries.get(*query)?))) {
                row.key = condition(model, query);
                row.descending = query.descending;
                row.filter = show_conjunction(&query.rest);
                // Of what is only counted nothing is asked for.
                let bare = plan.queries.len() == 1 && query.reads_one_range() && query.takes_all();
                let names = query.projection(!bare).filter(|_| !is_counted(model, read, part));
                row.bare = bare;
                row.narrowed = query.layout.is_narrowed;
                row.projection = names
                    .into_iter()
                    .flat_map(|names| names.iter().map(Path::name))
                    .collect();
                row.latitude = plan.latitude();
                row.or = plan.covers.iter().map(|cover| describe(model, cover)).collect();
            }
        }
        Origin::Found { part } => {
            row.key = "the keys that the index of words gives".to_owned();
            let search = combination.parts.get(*part).and_then(|part| part.plan.search.as_ref());
            if let Some(search) = search {
                let terms = search
                    .terms
                    .iter()
                    .map(|(name, value)| format!("{name} == {}", show_expression(value)));
                let circles = search.circles.iter().map(|circle| show_expression(&circle.whole));
                let terms: Vec<String> = terms.chain(circles).collect();
                if !terms.is_empty() {
                    row.key = format!("{} for {}", row.key, terms.join(" && "));
                }
                row.filter = show_conjunction(&search.rest);
            }
        }
        Origin::TallyHead { tally } => row.key = format!("which figures of `{}` count", tally_name(model, *tally)),
        Origin::TallyFigures { tally, fixed } => {
            row.key = format!("the figures of `{}`", tally_name(model, *tally));
            row.filter.clone_from(fixed);
        }
        Origin::Together => {
            if let Some(Ok(together)) = &combination.together {
                let keys = together.parts.iter().map(|part| condition(model, &part.query));
                row.key = keys.collect::<Vec<_>>().join("; ");
                row.filter = part_filters(combination, &together.parts);
            }
        }
        Origin::Neighbours => {
            if let Some(neighbours) = &combination.neighbours {
                row.key = neighbours_text(model, neighbours);
                row.descending = neighbours.descending;
                row.filter = part_filters(combination, &neighbours.parts);
            }
        }
    }
    row
}

fn tally_name(model: &Model, tally: TallyId) -> &str {
    model.tally(tally).map_or("", |tally| &tally.name)
}

/// Whether a part of a read is how many rows there are, and nothing of them.
fn is_counted(model: &Model, read: &str, part: Option<&PartPlan>) -> bool {
    let read = model.reads.iter().find(|known| known.name == read);
    let selection = read.zip(part).and_then(|(read, part)| match &part.name {
        Some(name) => read
            .with
            .iter()
            .find(|with| with.name == *name)
            .map(|with| &with.selection),
        None => read.selection.as_ref(),
    });
    selection.is_some_and(|selection| selection.kind == SelectionKind::Count && selection.by.is_empty())
}

fn let_text(model: &Model, read: &str, name: &str) -> String {
    let read = model.reads.iter().find(|known| known.name == read);
    let bound = read.and_then(|read| read.lets.iter().find(|bound| bound.name == name));
    match bound.map(|bound| &bound.value) {
        Some(LetValue::Value(expr)) => match &expr.kind {
            ExprKind::Entity { entity, key } => {
                let values: Vec<String> = key.iter().map(|(_, value)| show_expression(value)).collect();
                let entity = model.entity(*entity).map_or("", |entity| &entity.name);
                format!("{entity}({})", values.join(", "))
            }
            _ => show_expression(expr),
        },
        Some(LetValue::Read(selection)) => {
            let plan = plan_selection(model, selection, None, None, &|_| true);
            let query = plan.as_ref().and_then(|plan| plan.queries.first());
            query.map(|query| condition(model, query)).unwrap_or_default()
        }
        None => String::new(),
    }
}

/// The collection, and which part of it each selection reads: `PK = "A#{x}" and SK from BID# or METADATA`.
fn neighbours_text(model: &Model, neighbours: &Neighbours) -> String {
    let mut partition = String::new();
    let mut sorts = Vec::new();
    for neighbour in &neighbours.parts {
        if let Some((choice, partitions)) = choice_of(model, &neighbour.query) {
            let keys = choice.keys.get(..partitions).unwrap_or_default();
            let filled: Vec<String> = keys
                .iter()
                .map(|key| format!("{} = {}", key.attribute, filled(key, &neighbour.query.partition)))
                .collect();
            partition = filled.join(" and ");
            if let Some(sort) = &neighbour.query.sort {
                sorts.extend(sort_condition(choice.keys.get(partitions..).unwrap_or_default(), sort));
            }
        }
    }
    format!("{partition} and ({})", sorts.join(" or "))
}

fn part_filters(combination: &Combination, parts: &[Neighbour]) -> String {
    let filters = parts.iter().filter(|neighbour| !neighbour.query.rest.is_empty());
    let texts: Vec<String> = filters
        .map(|neighbour| {
            let part = combination
                .parts
                .get(neighbour.part)
                .and_then(|part| part.name.as_ref());
            let name = part.map(|name| format!("{name}: ")).unwrap_or_default();
            format!("{name}{}", show_conjunction(&neighbour.query.rest))
        })
        .collect();
    texts.join("; ")
}

/// A whole plan, a line for each request; with the reasons for which the other paths lost, if wanted.
pub fn plan_text(model: &Model, plan: &ReadPlan, why: bool) -> String {
    text_of(model, plan, None, why)
}

/// The same with what each request costs.
pub fn priced_plan_text(model: &Model, plan: &ReadPlan, sizes: &Sizes<'_>, why: bool) -> String {
    text_of(model, plan, Some(sizes), why)
}

fn text_of(model: &Model, plan: &ReadPlan, sizes: Option<&Sizes<'_>>, why: bool) -> String {
    let mut text = format!("{}\n", plan.read);
    for combination in &plan.combinations {
        if !combination.sent.is_empty() {
            text.push_str(&format!("  with {}\n", combination.sent.join(", ")));
        }
        for cost in &combination.requests {
            text.push_str(&row(model, &plan.read, combination, cost).text(sizes));
        }
        if why && !combination.apart.is_empty() {
            text.push_str("    what that page does not reach, and later pages:\n");
            for cost in &combination.apart {
                text.push_str(&row(model, &plan.read, combination, cost).text(sizes));
            }
        }
        if let Some(Err(apart)) = &combination.together {
            text.push_str(&format!("    no transaction answers it: {apart}\n"));
        }
        for part in &combination.parts {
            let label = part.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
            text.push_str(&others_text(&part.plan, &label, why));
            if why {
                text.push_str(&assumed_text(model, &part.plan, &label));
            }
        }
    }
    text
}

impl PlanRow<'_> {
    /// For which parts of the answer; empty for the read itself.
    pub fn label(&self) -> String {
        match (&self.cost.origin, self.cost.parts.as_slice()) {
            (_, []) => String::new(),
            (Origin::Neighbours | Origin::Together, parts) => format!("with {}", parts.join(", ")),
            (_, parts) => parts.join(", "),
        }
    }

    fn text(&self, sizes: Option<&Sizes<'_>>) -> String {
        let label = Some(self.label()).filter(|label| !label.is_empty());
        let label = label.map(|label| format!("{label}: ")).unwrap_or_default();
        let asked = format!("{} {} {}", self.cost.call.word(), self.place, self.key);
        let mut text = format!("    {label}{}", asked.trim_end());
        if self.descending {
            text.push_str(" descending");
        }
        if !self.filter.is_empty() {
            text.push_str(&format!(" where {}", self.filter));
        }
        for or in &self.or {
            text.push_str(&format!("\n    {label}or {or}"));
        }
        match sizes {
            Some(sizes) => format!("{text}\n      {}; {}\n", self.cost.shown(sizes), self.promise()),
            None => format!("{text}\n"),
        }
    }

    /// What it promises, and what it leaves out.
    pub fn promise(&self) -> String {
        let left_out = match (self.projection.is_empty(), self.bare) {
            (true, _) => "",
            (false, _) if self.narrowed => "; only what is looked at",
            (false, true) => "; without keys",
            (false, false) => "; without the keys of other indexes",
        };
        let latitude = self.latitude.map(|degrees| format!("; up to {degrees}° of latitude"));
        format!(
            "{}{left_out}{}",
            self.cost.promise_words(),
            latitude.unwrap_or_default()
        )
    }
}

fn others_text(plan: &SelectionPlan, label: &str, why: bool) -> String {
    let mut text = String::new();
    if plan.is_unanswered() {
        text.push_str(&format!("    {label}no key answers it\n"));
    }
    if why || plan.is_unanswered() {
        for lost in &plan.others {
            text.push_str(&format!("      {label}not {}: {}\n", lost.path, lost.why));
        }
    }
    text
}

/// What the figures by which ways were compared rest on, where no estimate says it; nothing where none were.
fn assumed_text(model: &Model, plan: &SelectionPlan, label: &str) -> String {
    let compared = |lost: &Lost| matches!(lost.why, Why::Dearer(_) | Why::Pinned(_));
    let entity = plan.queries.first().and_then(|query| model.entity(query.entity));
    let Some(entity) = entity.filter(|_| plan.others.iter().any(compared)) else {
        return String::new();
    };
    let source = model.source_of(entity);
    let estimate = model.estimate_of(&source.name);
    let usual = [
        (estimate.is_none_or(|said| said.items.is_none()), ROWS_USUAL, "rows"),
        (
            estimate.is_none_or(|said| said.bytes.is_none()),
            ROW_BYTES_USUAL,
            "bytes each",
        ),
        (
            estimate.is_none_or(|said| said.per.is_empty()),
            ROWS_SHARING_USUAL,
            "to a value",
        ),
    ];
    let usual = usual.iter().filter(|(is_usual, ..)| *is_usual);
    let usual: Vec<String> = usual
        .map(|(_, figure, what)| format!("{} {what}", grouped(*figure)))
        .collect();
    match usual.is_empty() {
        true => String::new(),
        false => format!(
            "      {label}no estimate of `{}` says otherwise: {}\n",
            source.name,
            usual.join(", ")
        ),
    }
}

/// `100,000`.
fn grouped(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    match digits.len().checked_sub(3).filter(|at| *at > 0) {
        Some(at) => digits
            .split_at_checked(at)
            .map_or_else(String::new, |(thousands, rest)| format!("{thousands},{rest}")),
        None => digits,
    }
}

fn choice_of<'a>(model: &'a Model, query: &Query) -> Option<(&'a KeyChoice, usize)> {
    let entity: &Entity = model.entity(query.entity)?;
    match query.index {
        None => Some((entity.key.get(query.choice)?, 1)),
        Some(id) => {
            let entry = entity.index_entry(id)?;
            Some((entry.key_choices().get(query.choice)?, model.index(id)?.partition.len()))
        }
    }
}

/// A template with its values.
pub(super) fn filled(key: &KeyTemplate, values: &[PartValues]) -> String {
    let text: String = template_pieces(key)
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Part(at) => values.get(*at).map_or_else(|| "…".to_owned(), part_text),
        })
        .collect();
    format!("\"{text}\"")
}

fn part_text(part: &PartValues) -> String {
    let text = value_text(part);
    match part.lapses.is_empty() || matches!(part.values, Values::All(_)) {
        true => text,
        // A value that is written out stands as it is, without braces to say it in.
        false => match text.strip_suffix('}') {
            Some(text) => format!("{text} and what lapses to it}}"),
            None => format!("{{{text} and what lapses to it}}"),
        },
    }
}

/// What stands in the key: text that is written out as it is, anything else in braces, with the function that is applied to it.
fn value_text(part: &PartValues) -> String {
    let made = |value: &str| match function_word(part.function) {
        Some(word) => format!("{word}({value})"),
        None => value.to_owned(),
    };
    match &part.values {
        Values::One(value) => match (value.as_literal(), part.function) {
            (Some(Literal::Text(text)), None) => text.clone(),
            (Some(Literal::Number(number)), None) => number.to_string(),
            _ => format!("{{{}}}", made(&show_expression(value))),
        },
        Values::Formed(value) => match value.as_literal() {
            Some(Literal::Text(text)) => text.clone(),
            _ => format!("{{{}}}", show_expression(value)),
        },
        Values::Each(list) => format!("{{{}}}", made(&format!("each of {}", show_expression(list)))),
        Values::EachFormed(list) => format!("{{each of {}}}", show_expression(list)),
        Values::Days(range) => format!("{{{}}}", day_range(range)),
        Values::Cells { center, km, precision } => {
            format!(
                "{{each cell({precision}) near {}, {}}}",
                show_expression(center),
                show_expression(km)
            )
        }
        Values::All(words) => match words.as_slice() {
            [word] => word.clone(),
            _ => format!("{{each of {}}}", words.join("|")),
        },
    }
}

/// The function that makes a part of a value, where the value does not stand as it is.
fn function_word(function: Option<PartFunction>) -> Option<&'static str> {
    Some(match function? {
        PartFunction::Lower => "lower",
        PartFunction::Upper => "upper",
        PartFunction::Day => "day",
        PartFunction::Month => "month",
        PartFunction::Year => "year",
        PartFunction::Desc => "desc",
        PartFunction::Rank => "rank",
        PartFunction::Geohash(_) => "geohash",
        PartFunction::Ordered | PartFunction::Plain | PartFunction::Raw => return None,
    })
}

/// The conditions on the sort key's attributes: equalities as far as they are whole, then at most one range.
fn sort_condition(keys: &[KeyTemplate], sort: &SortBound) -> Vec<String> {
    let mut conditions = Vec::new();
    let mut bound = sort.prefix.as_slice();
    for key in keys {
        let whole = bound.len() >= key.parts.len();
        if !(whole && (sort.whole || bound.len() > key.parts.len() || keys.len() > 1)) {
            conditions.extend(range_condition(key, bound, sort));
            break;
        }
        conditions.push(format!("{} = {}", key.attribute, filled(key, bound)));
        bound = bound.get(key.parts.len()..).unwrap_or_default();
    }
    conditions
}

/// The least and the greatest key that are asked for.
fn range_condition(key: &KeyTemplate, bound: &[PartValues], sort: &SortBound) -> Option<String> {
    let prefix = prefix_text(key, bound);
    let attribute = &key.attribute;
    if sort.low.is_none() && sort.high.is_none() {
        return (!prefix.is_empty()).then(|| format!("{attribute} begins_with \"{prefix}\""));
    }
    if let Some(low) = sort.low.as_ref().filter(|low| low.point == EndPoint::Beginning) {
        return Some(format!(
            "{attribute} begins_with \"{prefix}{{{}}}\"",
            show_expression(&low.value)
        ));
    }
    let after = after_part(key, bound.len());
    let ends = Ends {
        prefix,
        follower: match after {
            Some(Piece::Text(text)) => text.to_owned(),
            _ => String::new(),
        },
        last: after.is_none(),
        whole: false,
    };
    let function = key.parts.get(bound.len()).and_then(|part| part.function);
    let made = |value: String| match function_word(function) {
        Some(word) => format!("{word}({value})"),
        None => value,
    };
    // Characters that stand for the values, so that the keys are made as those of a request are.
    let (low_mark, high_mark) = ('\u{E000}', '\u{E010}');
    let mark = |end: &Option<End>, mark: char| {
        let end = end.as_ref()?;
        Some((Value::S(mark.to_string()), end.excluded))
    };
    let (low, high) = ends.keys(mark(&sort.low, low_mark), mark(&sort.high, high_mark));
    let shown = |key: &Value| {
        let mut text = format!("\"{}\"", key.as_str().unwrap_or_default());
        for (end, mark) in [(&sort.low, low_mark), (&sort.high, high_mark)] {
            let value = end.as_ref().map(|end| made(point_text(end))).unwrap_or_default();
            text = text.replace(mark, &format!("{{{value}}}"));
            text = text.replace(&super::after(&mark.to_string()), &format!("{{after {value}}}"));
        }
        text
    };
    Some(match (low, high) {
        (Some((low, _)), Some((high, _))) => {
            // No key is equal to an end that goes on, or to the one after all that do.
            let left_out = |end: &Option<End>| ends.last && end.as_ref().is_some_and(|end| end.excluded);
            let but = match (left_out(&sort.low), left_out(&sort.high)) {
                (false, false) => "",
                (true, false) => " but the first",
                (false, true) => " but the last",
                (true, true) => " but both ends",
            };
            format!("{attribute} between {} and {}{but}", shown(&low), shown(&high))
        }
        (Some((low, excluded)), None) => format!("{attribute} {} {}", sign(excluded, ">"), shown(&low)),
        (None, Some((high, excluded))) => format!("{attribute} {} {}", sign(excluded, "<"), shown(&high)),
        (None, None) => return None,
    })
}

/// The value of an end, or the point of it that is meant.
fn point_text(end: &End) -> String {
    let value = show_expression(&end.value);
    match end.point {
        EndPoint::Itself | EndPoint::Beginning => value,
        EndPoint::StartOf(_) => format!("start of {value}"),
        EndPoint::AfterEndOf(_) => format!("end of {value}"),
    }
}

/// What stands after the part of a number.
fn after_part(key: &KeyTemplate, number: usize) -> Option<Piece<'_>> {
    let pieces = template_pieces(key);
    let at = pieces.iter().position(|piece| *piece == Piece::Part(number))?;
    pieces.get(at + 1).copied()
}

fn sign(excluded: bool, sign: &str) -> String {
    match excluded {
        true => sign.to_owned(),
        false => format!("{sign}="),
    }
}

/// The text before the first part that is not bound.
fn prefix_text(key: &KeyTemplate, bound: &[PartValues]) -> String {
    let mut text = String::new();
    for piece in template_pieces(key) {
        match piece {
            Piece::Text(literal) => text.push_str(literal),
            Piece::Part(at) => match bound.get(at) {
                Some(part) => text.push_str(&part_text(part)),
                None => break,
            },
        }
    }
    text
}
