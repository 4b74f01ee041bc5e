//! What the planner derives, written as a condition by hand, is what is meant; and whatever is changed in it shows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;

use singlet_item::Value;
use singlet_item::key::{Domain, Effort, Form, Part, Template, Variable};
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Comparison, KeyPart, KeyTemplate, PartFunction, Read, SelectionKind, Using, UsingKey};
use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_plan::access::{self, AccessPath};
use singlet_plan::by_hand::ByHand;
use singlet_plan::read::{PartValues, Query, SortBound, after, plan_read};
use singlet_plan::show;
use singlet_plan::trial::{TRIALS_STEPS_MAX, Trial, try_condition};
use singlet_plan::values::Values;

const SYSTEMS: [&str; 5] = ["booking", "country", "ecobid", "todo", "wardrobe"];
/// Reads of the five systems whose plan is one query with plain values.
const COMPARED_MIN: usize = 15;
/// Changes of them.
const CHANGES_MIN: usize = 25;

fn systems() -> impl Iterator<Item = (&'static str, Model)> {
    SYSTEMS.into_iter().map(|system| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}/model.yaml"));
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap());
        (system, singlet_model::load_source(&source).model.unwrap())
    })
}

fn tried(model: &Model, read: &Read, using: &Using) -> Trial {
    let read = Read {
        using: Some(using.clone()),
        ..read.clone()
    };
    let by_hand = ByHand::of(model, &read).expect("a read by hand");
    try_condition(model, &by_hand, &Effort::new(TRIALS_STEPS_MAX))
}

#[test]
fn the_derived_condition_is_what_is_meant() {
    let (mut compared, mut failures) = (0, Vec::new());
    for (system, model) in systems() {
        for read in &model.reads {
            let Some(using) = derived(&model, read) else { continue };
            let trial = tried(&model, read, &using);
            if trial.missed.is_some() || trial.extra.is_some() {
                failures.push(format!("{system} {}: {trial:?}", read.name));
            }
            compared += usize::from(trial.undecided.is_none());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared >= COMPARED_MIN, "only {compared} are compared");
}

#[test]
fn whatever_is_changed_in_it_shows() {
    let (mut shown, mut unseen) = (0, Vec::new());
    for (system, model) in systems() {
        for read in &model.reads {
            let Some(using) = derived(&model, read) else { continue };
            if tried(&model, read, &using).undecided.is_some() {
                continue;
            }
            for (what, changed) in changes(read, &using) {
                let trial = tried(&model, read, &changed);
                match trial.missed.is_some() || trial.extra.is_some() {
                    true => shown += 1,
                    false => unseen.push(format!("{system} {}: {what}", read.name)),
                }
            }
        }
    }
    assert!(unseen.is_empty(), "beside {shown} that show:\n{}", unseen.join("\n"));
    assert!(shown >= CHANGES_MIN, "only {shown} changes are made");
}

/// The condition of a plan that is one query with plain values.
fn derived(model: &Model, read: &Read) -> Option<Using> {
    let plan = plan_read(model, read);
    let [combination] = plan.combinations.as_slice() else {
        return None;
    };
    let part = combination.parts.iter().find(|part| part.name.is_none())?;
    let [query] = part.plan.queries.as_slice() else {
        return None;
    };
    if query.scan {
        return None;
    }
    let entity = model.entity(read.selection.as_ref()?.entity()?)?;
    let index = query.index.and_then(|index| model.index(index));
    let path = access::access_paths(model, entity).into_iter().find(|path| {
        let same = path.index.map(|index| &index.name) == index.map(|index| &index.name);
        same && path.entity.id == query.entity && path.choice_at == query.choice
    })?;
    let mut key = Vec::new();
    let mut values = query.partition.iter();
    for template in path.partition_templates() {
        let parts = given(template, template.template.parts().len(), &mut values)?;
        key.push(using_key(template, Comparison::Equal(made(template, parts)?)));
    }
    let (sort, exact) = sort_key(&path, query)?;
    key.extend(sort);
    let filter = if exact { &query.rest } else { &query.meaning };
    Some(Using {
        index: query.index,
        key,
        filter: filter.iter().cloned().reduce(and),
        limit: None,
        descending: query.descending,
        queries: None,
        span: read.span,
    })
}

fn and(left: Expr, right: Expr) -> Expr {
    Expr {
        kind: ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(right)),
        ty: Type::Bool,
        optional: false,
        span: singlet_model::Span::default(),
    }
}

fn using_key(template: &KeyTemplate, comparison: Comparison) -> UsingKey {
    UsingKey {
        attribute: template.attribute.clone(),
        comparison,
        span: template.span,
    }
}

/// The condition on the sort key, and whether it settles both ends of its range.
fn sort_key(path: &AccessPath<'_>, query: &Query) -> Option<(Option<UsingKey>, bool)> {
    let Some(bound) = &query.sort else {
        return Some((None, true));
    };
    let [stored] = path.sort_templates() else {
        return path.sort_templates().is_empty().then_some((None, true));
    };
    let mut values = bound.prefix.iter();
    if bound.whole {
        let parts = given(stored, stored.template.parts().len(), &mut values)?;
        return Some((Some(using_key(stored, Comparison::Equal(made(stored, parts)?))), true));
    }
    let open = stored.parts.get(bound.prefix.len())?;
    let prefix = given(stored, open.position, &mut values)?;
    let (comparison, exact) = range(stored, open, prefix, bound)?;
    Some((comparison.map(|comparison| using_key(stored, comparison)), exact))
}

fn range(
    stored: &KeyTemplate,
    open: &KeyPart,
    prefix: Vec<Part>,
    bound: &SortBound,
) -> Option<(Option<Comparison>, bool)> {
    let Some(Part::Variable(variable)) = stored.template.parts().get(open.position) else {
        return None;
    };
    let follower = stored.template.parts().get(open.position + 1);
    let last = follower.is_none();
    let behind = |stored_after: bool| match follower {
        Some(Part::Text(text)) if stored_after => vec![Part::Text(after(text))],
        _ => Vec::new(),
    };
    let end = |value: &Expr, passed: bool| {
        let mut parts = prefix.clone();
        parts.push(valued(variable, open, &Values::One(value.clone()), stored)?);
        parts.extend(behind(passed));
        made(stored, parts)
    };
    let low = match &bound.low {
        Some(low) => Some(end(&low.value, low.excluded)?),
        None => None,
    };
    let high = match &bound.high {
        Some(high) => Some(end(&high.value, !high.excluded)?),
        None => None,
    };
    // `between` has both its ends: where one is left out, the filter drops it.
    let exact = !last || !(bound.low.iter().chain(&bound.high).any(|end| end.excluded));
    let start = || made(stored, prefix.clone());
    let stop = || {
        let mut parts = prefix.clone();
        match parts.pop()? {
            Part::Text(text) => parts.push(Part::Text(after(&text))),
            _ => return None,
        }
        made(stored, parts)
    };
    Some(match (low, high) {
        (None, None) if prefix.is_empty() => (None, true),
        (None, None) => (Some(Comparison::BeginsWith(start()?)), true),
        (Some(low), Some(high)) => (Some(Comparison::Between(low, high)), exact),
        (Some(low), None) if prefix.is_empty() => (Some(Comparison::GreaterOrEqual(low)), exact),
        (None, Some(high)) if prefix.is_empty() => (Some(Comparison::LessOrEqual(high)), exact),
        (Some(low), None) => (Some(Comparison::Between(low, stop()?)), exact),
        (None, Some(high)) => (Some(Comparison::Between(start()?, high)), exact),
    })
}

/// The first parts of a stored template with the values of a plan.
fn given<'v>(
    stored: &KeyTemplate,
    count: usize,
    values: &mut impl Iterator<Item = &'v PartValues>,
) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for (position, part) in stored.template.parts().iter().enumerate().take(count) {
        parts.push(match part {
            Part::Variable(variable) => {
                let value = values.next().filter(|value| value.lapses.is_empty())?;
                let key = stored.parts.iter().find(|part| part.position == position)?;
                valued(variable, key, &value.values, stored)?
            }
            other => other.clone(),
        });
    }
    Some(parts)
}

fn valued(variable: &Variable, key: &KeyPart, values: &Values, stored: &KeyTemplate) -> Option<Part> {
    let (expr, form, domain) = match values {
        Values::One(expr) if !matches!(key.function, Some(PartFunction::Geohash(_))) => {
            (expr, variable.form.clone(), variable.domain.clone())
        }
        Values::Formed(expr) if key.function == Some(PartFunction::Day) => (expr, Form::Fixed, Domain::Date),
        Values::Formed(expr) if key.function == Some(PartFunction::Month) => (expr, Form::Fixed, Domain::Month),
        _ => return None,
    };
    if let Some(Literal::Text(text)) = expr.as_literal() {
        return Some(Part::Text(
            variable
                .encode_value(&Value::from(text.as_str()), stored.template.delimiter())
                .ok()?,
        ));
    }
    Some(Part::Variable(Variable::new(&expr.path()?, form, domain)))
}

fn made(stored: &KeyTemplate, parts: Vec<Part>) -> Option<KeyTemplate> {
    let template = Template::new(parts, stored.template.delimiter()).ok()?;
    let variables = template
        .parts()
        .iter()
        .enumerate()
        .filter_map(|(position, part)| match part {
            Part::Variable(variable) => Some((position, variable.name.clone())),
            _ => None,
        });
    let parts = variables.map(|(position, path)| KeyPart {
        path,
        function: None,
        span: stored.span,
        ty: Type::text(),
        optional: false,
        position,
    });
    Some(KeyTemplate {
        attribute: stored.attribute.clone(),
        text: String::new(),
        span: stored.span,
        parts: parts.collect(),
        template: template.clone(),
    })
}

/// Every small change of a condition.
fn changes(read: &Read, using: &Using) -> Vec<(String, Using)> {
    let mut all = Vec::new();
    for (at, key) in using.key.iter().enumerate() {
        for (what, comparison) in changed(read, &key.comparison) {
            let mut using = using.clone();
            if let Some(key) = using.key.get_mut(at) {
                key.comparison = comparison;
            }
            all.push((format!("{what} in {}", key.attribute), using));
        }
    }
    let conjuncts: Vec<Expr> = using
        .filter
        .iter()
        .flat_map(|filter| filter.conjuncts())
        .cloned()
        .collect();
    // Whether one row may be seen can be asked after it was read: its filter need not say so.
    let is_get = read
        .selection
        .as_ref()
        .is_some_and(|own| matches!(own.kind, SelectionKind::Get { .. }));
    let allowed: Vec<String> = read.allow.conjuncts().into_iter().map(show::show_expression).collect();
    for (left_out, conjunct) in conjuncts.iter().enumerate() {
        if is_get && allowed.contains(&show::show_expression(conjunct)) {
            continue;
        }
        let kept = conjuncts.iter().enumerate().filter(|(at, _)| *at != left_out);
        let filter = kept.map(|(_, conjunct)| conjunct.clone()).reduce(and);
        all.push((
            format!("no conjunct {left_out}"),
            Using {
                filter,
                ..using.clone()
            },
        ));
    }
    all
}

fn has_variable(template: &KeyTemplate) -> bool {
    !template.parts.is_empty()
}

fn changed(read: &Read, comparison: &Comparison) -> Vec<(String, Comparison)> {
    let mut all = Vec::new();
    let mut push = |what: &str, comparison: Comparison| all.push((what.to_owned(), comparison));
    match comparison {
        Comparison::Between(low, high) => {
            if has_variable(high) {
                push("no upper end", Comparison::GreaterOrEqual(low.clone()));
            }
            if has_variable(low) {
                push("no lower end", Comparison::LessOrEqual(high.clone()));
            }
            push("ends swapped", Comparison::Between(high.clone(), low.clone()));
        }
        Comparison::GreaterOrEqual(low) => push("the other way", Comparison::LessOrEqual(low.clone())),
        Comparison::LessOrEqual(high) => push("the other way", Comparison::GreaterOrEqual(high.clone())),
        Comparison::BeginsWith(prefix) => push("an equality", Comparison::Equal(prefix.clone())),
        _ => {}
    }
    for (name, template) in others(read, comparison) {
        let comparison = match comparison {
            Comparison::Equal(_) => Comparison::Equal(template),
            Comparison::BeginsWith(_) => Comparison::BeginsWith(template),
            _ => continue,
        };
        push(&format!("`{name}` for another"), comparison);
    }
    all
}

/// The template of an equality or a prefix with another argument of the same type in place of one.
fn others(read: &Read, comparison: &Comparison) -> Vec<(String, KeyTemplate)> {
    let (Comparison::Equal(template) | Comparison::BeginsWith(template)) = comparison else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for part in &template.parts {
        let own = part
            .path
            .strip_prefix("args.")
            .and_then(|name| read.argument_named(name));
        let others = read
            .args
            .iter()
            .filter(|arg| own.is_some_and(|own| own.name != arg.name && own.ty == arg.ty));
        for other in others {
            let name = format!("args.{}", other.name);
            let renamed = template.template.parts().iter().map(|known| match known {
                Part::Variable(variable) if variable.name == part.path => {
                    Part::Variable(Variable::new(&name, variable.form.clone(), variable.domain.clone()))
                }
                known => known.clone(),
            });
            all.extend(made(template, renamed.collect()).map(|template| (name.clone(), template)));
        }
    }
    all
}
