use singlet_item::Value;
use singlet_item::key::{Part, Variable};
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::model::{Comparison, Entity, KeyPart, KeyTemplate, PartFunction, UsingKey};
use singlet_model::types::Type;
use singlet_plan::alignment::{Given, align_templates};
use singlet_plan::by_hand::ByHand;
use singlet_plan::facts::{Fact, Facts, Relation};

use singlet_plan::trial::{Missed, WhyMissed};

use super::{circle_not_covered, last_value_dropped, never_matches};
use crate::context::{listed_names, with_values};
use crate::rules::indexes::dropped_by_optional;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A condition by hand leaves out rows that are meant.
    ///
    /// The condition holds one value of a key part where the meaning leaves the attribute free or allows several, its range
    /// ends too early or runs the wrong way, it names another argument, folds or pads a value as the key does not, or its filter
    /// drops too much: rows that are meant are never read, and nobody sees that they are missing.
    ///
    /// ```yaml
    /// where: userId == caller.id && season in [args.season, "all-season"]
    /// using: {index: GSI1, key: {GSI1PK: "USER#{caller.id}#SEASON#{args.season}"}}
    /// ```
    ///
    /// `queries: 2` says that the query is made twice, once for each value; as many values as queries are covered.
    ///
    /// Beyond that the condition is tried: requests and rows are drawn near one another (days that follow each other, texts that
    /// begin alike, the last minute of a day), and the message shows one that is meant and not read, with its key.
    ///
    /// Way out: ask for each value (`queries:`), or for what all keys begin with; or leave `using` out.
    "R005" "misses-rows" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (by_hand, trial) in context.condition_trials() {
        let facts = by_hand.meaning_facts();
        let held = by_hand.using.key.iter().find_map(|key| first_missed(by_hand, &facts, key));
        let found = held.filter(|_| by_hand.missed.is_none());
        if let Some((given, message)) = found {
            let help = "make a query for each value, ask for what all keys begin with, or leave `using` out";
            findings.push(findings.at(given.span, &by_hand.read.name, message).help(help));
        } else if let Some(missed) = trial.missed.as_ref().filter(|_| !is_said_elsewhere(context, by_hand)) {
            report_witness(by_hand, missed, findings);
        }
    }
}

/// Whether another rule says which rows are missing, and why.
fn is_said_elsewhere(context: &Context<'_>, by_hand: &ByHand<'_>) -> bool {
    never_matches::speaks_of(context, by_hand)
        || last_value_dropped::speaks_of(by_hand)
        || circle_not_covered::speaks_of(by_hand)
        || dropped_by_optional::dropping_attributes(by_hand).is_some()
}

fn report_witness(by_hand: &ByHand<'_>, missed: &Missed, findings: &mut Findings<'_>) {
    let sent = with_values("with", &missed.request);
    let row = with_values("a row with", &missed.row);
    let name = &by_hand.read.name;
    let (message, help) = match &missed.why {
        WhyMissed::Key { attribute, stored, asked } => (
            format!("{sent}, `{name}` means {row}, and does not read it: its `{attribute}` is `{stored}`, which is not `{asked}`"),
            "ask for every key that is meant, or leave `using` out",
        ),
        WhyMissed::Filter => (
            format!("{sent}, `{name}` means {row}, and its filter drops it"),
            "let the filter keep what `where` means, or leave `using` out",
        ),
        WhyMissed::NotInIndex => (
            format!("{sent}, `{name}` means {row}, which is not in {}", by_hand.place_name()),
            "ask a path that has every row that is meant, or leave `using` out",
        ),
        WhyMissed::Astray { attribute, asked } => (
            format!("{sent}, no row that `{name}` means has a key with `{attribute}` `{asked}`"),
            "write the query for one of the values that are meant, or leave `using` out",
        ),
        WhyMissed::Queries { needed } => (
            format!("{sent}, the rows that `{name}` means lie under {needed} keys or more, and {} are asked for", by_hand.query_count()),
            "make a query for each, or leave `using` out",
        ),
    };
    let span = match &missed.why {
        WhyMissed::Key { attribute, .. } | WhyMissed::Astray { attribute, .. } => by_hand.using.key.iter().find(|key| key.attribute == *attribute).map(|key| key.span),
        WhyMissed::Filter => by_hand.using.filter.as_ref().map(|filter| filter.span),
        WhyMissed::Queries { .. } => by_hand.using.queries.map(|(_, span)| span),
        WhyMissed::NotInIndex => None,
    };
    findings.push(findings.at(span.unwrap_or(by_hand.using.span), name, message).help(help));
}

fn first_missed<'a>(by_hand: &ByHand<'a>, facts: &Facts<'a>, key: &'a UsingKey) -> Option<(&'a KeyTemplate, String)> {
    let (Comparison::Equal(given) | Comparison::BeginsWith(given)) = &key.comparison else {
        return None;
    };
    // Where a condition lies on several templates, one that misses nothing is enough.
    let mut message = None;
    for path in &by_hand.met {
        let stored = path.choice.attribute_template(&key.attribute)?;
        message = Some(missed_in(by_hand, facts, path.entity, (key, given), stored)?);
    }
    Some((given, message?))
}

fn missed_in(
    by_hand: &ByHand<'_>,
    facts: &Facts<'_>,
    entity: &Entity,
    (key, given): (&UsingKey, &KeyTemplate),
    stored: &KeyTemplate,
) -> Option<String> {
    let aligned = align_templates(&stored.template, &given.template)?;
    let queries = by_hand.query_count();
    aligned.pairs.iter().find_map(|pair| {
        let part = stored.parts.iter().find(|part| part.position == pair.position)?;
        let values = allowed(by_hand, facts, entity, part);
        let one = match pair.given {
            Given::Variable(variable) => format!("`{}`", variable.name),
            Given::Text(text) => format!("`{text}`"),
        };
        let held = format!("`{}` holds one value of `{}`, {one}", key.attribute, part.path);
        let read = if queries == 1 {
            String::new()
        } else {
            format!(", and {queries} queries read {queries}")
        };
        match values {
            Allowed::Several(values) if values.len() as u64 > queries => {
                let names = listed_names(values.iter().map(String::as_str));
                Some(format!("{held}; the meaning allows {} ({names}){read}", values.len()))
            }
            Allowed::Any if queries == 1 => Some(format!("{held}; the meaning leaves it free")),
            Allowed::Other(text) if is_other(pair.given, &text, stored, pair.position) => {
                Some(format!("{held}; the meaning asks for `{text}`"))
            }
            _ => None,
        }
    })
}

/// Whether a text written out in a condition is certainly not what the key holds for a value.
fn is_other(given: Given<'_>, value: &str, stored: &KeyTemplate, position: usize) -> bool {
    let (Given::Text(given), Some(Part::Variable(variable))) = (given, stored.template.parts().get(position)) else {
        return false;
    };
    encoded(variable, value, stored).is_some_and(|text| text != given)
}

fn encoded(variable: &Variable, value: &str, stored: &KeyTemplate) -> Option<String> {
    variable.encode_value(&Value::from(value), stored.template.delimiter()).ok()
}

/// Which values of a key part the meaning allows.
enum Allowed {
    /// One, or as many as something else sees to.
    Covered,
    /// One, written out.
    Other(String),
    /// These.
    Several(Vec<String>),
    /// Any of too many to count.
    Any,
}

fn allowed(by_hand: &ByHand<'_>, facts: &Facts<'_>, entity: &Entity, part: &KeyPart) -> Allowed {
    let said: Vec<&Fact<'_>> = facts.facts_about(part.root_attribute()).filter(|fact| concerns(fact, part)).collect();
    for fact in &said {
        match &fact.relation {
            Relation::Compared(BinaryOp::Eq, value) => return equal_to(value),
            Relation::OneOf(values) => return Allowed::Several(values.iter().map(|value| shown(value)).collect()),
            Relation::Is(_) | Relation::Within | Relation::Near(_) | Relation::Other { .. } => return Allowed::Covered,
            Relation::Compared(..) => {}
        }
    }
    if let Some(shards) = shards(facts, entity, part).filter(|_| said.is_empty()) {
        return Allowed::Several((0..shards).map(|shard| shard.to_string()).collect());
    }
    if is_decided_elsewhere(by_hand, entity, part) {
        return Allowed::Covered;
    }
    let left_out = |word: &String| said.iter().any(|fact| excludes(fact, word));
    match part.ty.enum_members() {
        Some(members) => Allowed::Several(members.iter().filter(|word| !left_out(word)).cloned().collect()),
        None if part.ty.cardinality().is_some() => Allowed::Covered,
        None => Allowed::Any,
    }
}

/// The most shards that are counted one by one.
const SHARDS_MAX: u64 = 10_000;

/// How many values a shard has, `hash(id) % 10` or `random(10)`: all of them, where the meaning says nothing of what it is made of
/// and that has more values than anybody counts.
fn shards(facts: &Facts<'_>, entity: &Entity, part: &KeyPart) -> Option<u64> {
    let attribute = entity.attribute(part.root_attribute())?;
    let made = attribute.is.as_ref().or(attribute.default.as_ref())?;
    let count = match &made.kind {
        ExprKind::Binary(BinaryOp::Rem, hash, count) => match &hash.kind {
            ExprKind::Call(FunctionId::Hash, args) => {
                let [source] = args.as_slice() else { return None };
                let source = entity.attribute(&source.path()?)?;
                let is_free = matches!(source.ty, Type::Ulid | Type::Ksuid | Type::Uuid)
                    && facts.facts_about(&source.name).next().is_none();
                is_free.then_some(count.as_ref())?
            }
            _ => return None,
        },
        ExprKind::Call(FunctionId::Random, args) => args.first()?,
        _ => return None,
    };
    let Literal::Number(count) = count.as_literal()? else { return None };
    count.to_u64().filter(|count| *count <= SHARDS_MAX)
}

/// A fact about a function of the attribute concerns only a part with that function.
fn concerns(fact: &Fact<'_>, part: &KeyPart) -> bool {
    let same = matches!(
        (fact.function, part.function),
        (None, _)
            | (Some(FunctionId::Lower), Some(PartFunction::Lower))
            | (Some(FunctionId::Upper), Some(PartFunction::Upper))
            | (Some(FunctionId::Day), Some(PartFunction::Day))
            | (Some(FunctionId::Month), Some(PartFunction::Month))
            | (Some(FunctionId::Year), Some(PartFunction::Year))
    );
    // What a function of a finer value says, such as its day, may well decide the part: nothing is claimed then.
    same || !matches!(fact.relation, Relation::Compared(BinaryOp::Ne, _))
}

fn equal_to(value: &Expr) -> Allowed {
    match value.as_literal() {
        Some(Literal::Text(text)) => Allowed::Other(text.clone()),
        _ => Allowed::Covered,
    }
}

/// Computed attributes follow from others, and history picks the version by itself.
fn is_decided_elsewhere(by_hand: &ByHand<'_>, entity: &Entity, part: &KeyPart) -> bool {
    let computed = entity
        .attribute(part.root_attribute())
        .is_some_and(|attribute| attribute.is.is_some());
    let geohash = matches!(part.function, Some(PartFunction::Geohash(_)));
    let version = by_hand
        .entity
        .history
        .as_ref()
        .is_some_and(|history| history.at == part.path);
    computed || geohash || version
}

fn excludes(fact: &Fact<'_>, word: &str) -> bool {
    match &fact.relation {
        Relation::Compared(BinaryOp::Ne, value) => matches!(value.as_literal(), Some(Literal::Text(text)) if text == word),
        _ => false,
    }
}

fn shown(value: &Expr) -> String {
    match value.as_literal() {
        Some(Literal::Text(text)) => text.clone(),
        Some(Literal::Number(number)) => number.to_string(),
        Some(Literal::Bool(truth)) => truth.to_string(),
        Some(Literal::Absent) => "absent".to_owned(),
        None => value.path().unwrap_or_else(|| "…".to_owned()),
    }
}
