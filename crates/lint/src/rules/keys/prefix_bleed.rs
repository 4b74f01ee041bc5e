use std::collections::{HashMap, HashSet};

use singlet_item::key::{Form, Part, Template, Variable, Verdict, Witness};
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Comparison, Entity, KeyTemplate, Read, SelectionKind, Using};
use singlet_model::types::EntityId;
use singlet_plan::access::AccessPath;

use super::colliding_keys::with_values;
use crate::answers::Answered;
use crate::context::key_place;
use crate::key_space::{KeySpace, leading_text};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A key condition reaches rows of another entity.
    ///
    /// `begins_with "ORDER"` is true of `ORDER#1` and of `ORDERITEM#1` alike: the rows of the other kind come back among the
    /// answer, are taken for rows of this one, count against the limit and are paid for. The same goes for a condition on
    /// the partition alone, where others lie in it too, for a range that others sort into, and for templates such as
    /// `ORDER{id}` whose text is the beginning of another entity's: a query for the first cannot leave the second out.
    ///
    /// ```yaml
    /// using: {key: {PK: "USER#{caller.id}", SK: {begins_with: "ORDER"}}}     # and ORDERITEM#…
    /// ```
    ///
    /// A single row with such a key, `v0` beside `v{number}`, is read with the others and dropped: of that nothing is said.
    ///
    /// A `filter` that compares an attribute which the other entity does not have drops its rows: then nothing is said.
    ///
    /// Way out: end the prefix with the delimiter (`ORDER#`), or give the entities partitions of their own.
    "K006" "prefix-bleed" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let spaces = KeySpace::all(context.own_paths());
    for read in &context.model.reads {
        if let Some(using) = &read.using {
            by_hand(context, findings, &spaces, read, using);
        }
    }
    for space in spaces.values() {
        space
            .paths()
            .iter()
            .for_each(|path| by_template(context, findings, space, path));
    }
}

/// A key condition: templates for the attributes that it compares, and the comparison of the sort key.
struct Condition<'a> {
    compared: Vec<(usize, Template)>,
    sort: Option<&'a Comparison>,
}

fn by_hand<'a>(
    context: &Context<'a>,
    findings: &mut Findings<'_>,
    spaces: &HashMap<Option<&str>, KeySpace<'a>>,
    read: &'a Read,
    using: &'a Using,
) {
    let index = using.index.and_then(|index| context.model.index(index));
    let Some(space) = spaces.get(&index.map(|index| index.name.as_str())) else {
        return;
    };
    let Some(condition) = condition(context, using) else {
        return;
    };
    let wanted = wanted(context, read);
    let text = |attribute: usize| {
        let template = condition.compared.iter().find(|(at, _)| *at == attribute);
        template.map_or("", |(_, template)| template.leading_text())
    };
    let sort = index.map_or(1, |index| index.partition.len());
    let mut reported = HashSet::new();
    for (_, path) in space.paths_near(text(0), text(sort)) {
        let other = path.entity;
        let dropped = using.filter.as_ref().is_some_and(|filter| drops(filter, other));
        if wanted.contains(&other.id) || dropped || reported.contains(&other.id) {
            continue;
        }
        match reaches(context, &condition, &path) {
            Verdict::Never => {}
            Verdict::Found(witness) => {
                reported.insert(other.id);
                report(findings, (read, using), &condition, &path, &witness);
            }
            Verdict::Undecided => {
                reported.insert(other.id);
                let question = format!("the condition of `{}` reaches rows of `{}`", read.name, other.name);
                context.note_undecided(using.span, &read.name, question);
            }
        }
    }
}

/// The templates of a condition by the place of the key attribute; a prefix leaves the rest open.
fn condition<'a>(context: &Context<'_>, using: &'a Using) -> Option<Condition<'a>> {
    let index = using.index.and_then(|index| context.model.index(index));
    let names: Vec<&str> = match index {
        Some(index) => index.key().map(|key| key.name.as_str()).collect(),
        None => context.model.table.key.iter().map(|key| key.name.as_str()).collect(),
    };
    let mut compared = Vec::new();
    let mut sort = None;
    for (at, name) in names.iter().enumerate() {
        let Some(key) = using.key.iter().find(|key| key.attribute == *name) else {
            continue;
        };
        match &key.comparison {
            Comparison::Equal(template) => compared.push((at, template.template.clone())),
            Comparison::BeginsWith(template) => compared.push((at, open_ended(&template.template)?)),
            _ => {}
        }
        if !matches!(key.comparison, Comparison::Equal(_)) {
            sort = Some(&key.comparison);
        }
    }
    (!compared.is_empty()).then_some(Condition { compared, sort })
}

/// The template of everything that begins with a template's text.
fn open_ended(prefix: &Template) -> Option<Template> {
    let unescaped = |part: &Part| match part {
        Part::Variable(variable) if variable.form == Form::Whole => {
            Part::Variable(Variable::new(&variable.name, Form::Raw, variable.domain.clone()))
        }
        other => other.clone(),
    };
    let parts = prefix.parts().iter().map(unescaped).chain([Part::Anything]).collect();
    Template::new(parts, prefix.delimiter()).ok()
}

/// The entities that a read asks for, and the mirrors by which it may be answered.
fn wanted(context: &Context<'_>, read: &Read) -> Vec<EntityId> {
    let entities = read
        .all_selections()
        .flat_map(|selection| selection.entities.iter().copied());
    let asked: Vec<EntityId> = entities.collect();
    let mirrors = asked
        .iter()
        .flat_map(|entity| context.model.mirrors_of(*entity))
        .map(|mirror| mirror.id);
    mirrors.chain(asked.iter().copied()).collect()
}

/// Whether a filter leaves out rows of an entity: it compares an attribute that they do not have.
fn drops(filter: &Expr, entity: &Entity) -> bool {
    filter.conjuncts().into_iter().any(|conjunct| match &conjunct.kind {
        ExprKind::Binary(op, left, right) => {
            let compares = op.is_comparison() && *op != BinaryOp::Ne && !left.is_absent() && !right.is_absent();
            compares
                && conjunct
                    .attributes()
                    .iter()
                    .any(|name| entity.attribute(name).is_none())
        }
        _ => false,
    })
}

/// Whether a row on the path can meet the condition.
fn reaches(context: &Context<'_>, condition: &Condition<'_>, path: &AccessPath<'_>) -> Verdict {
    if !in_range(condition.sort, leading_text(path.sort_templates())) {
        return Verdict::Never;
    }
    let asked: Vec<Template> = condition
        .compared
        .iter()
        .map(|(_, template)| template.clone())
        .collect();
    let keys = condition
        .compared
        .iter()
        .map(|(at, _)| Some(path.choice.keys.get(*at)?.template.clone()));
    match keys.collect::<Option<Vec<Template>>>() {
        Some(keys) => context.key_collision(&asked, &keys),
        None => Verdict::Never,
    }
}

/// Whether keys that begin with a text surely lie in the range of a comparison. Where the text and an end of the range
/// begin alike, the values decide, and nothing is said.
fn in_range(comparison: Option<&Comparison>, text: &str) -> bool {
    let apart = |end: &KeyTemplate| {
        let end = end.template.leading_text();
        !text.is_empty() && !end.is_empty() && !end.starts_with(text) && !text.starts_with(end)
    };
    let below = |end: &KeyTemplate| apart(end) && text < end.template.leading_text();
    let above = |end: &KeyTemplate| apart(end) && text > end.template.leading_text();
    match comparison {
        None | Some(Comparison::Equal(_) | Comparison::BeginsWith(_)) => true,
        Some(Comparison::Less(end) | Comparison::LessOrEqual(end)) => below(end),
        Some(Comparison::Greater(start) | Comparison::GreaterOrEqual(start)) => above(start),
        Some(Comparison::Between(start, end)) => above(start) && below(end),
    }
}

fn report(
    findings: &mut Findings<'_>,
    (read, using): (&Read, &Using),
    condition: &Condition<'_>,
    path: &AccessPath<'_>,
    witness: &Witness,
) {
    let asks = match condition.sort {
        Some(Comparison::BeginsWith(prefix)) => format!("asks for keys that begin with `{}`", prefix.text),
        Some(_) => "asks for a range of sort keys".to_owned(),
        None if condition.compared.len() > path.partition_templates().len() => "asks for one key".to_owned(),
        None => "asks for a whole partition".to_owned(),
    };
    let message = format!(
        "`{}` {asks}, and reaches rows of `{}` too, such as one{} under `{}`",
        read.name,
        path.entity.name,
        with_values(&witness.right),
        witness.keys.join("` `"),
    );
    let place = path.choice.keys.last().map_or(path.choice.span, |key| key.span);
    let span = using.key.last().map_or(using.span, |key| key.span);
    findings.push(
        findings
            .at(span, read.name.clone(), message)
            .note(place, format!("the key of `{}` in {}", path.entity.name, path.name()))
            .help(match condition.sort {
                Some(Comparison::BeginsWith(_)) => {
                    "end the prefix with the delimiter, or give the entities partitions of their own"
                }
                Some(_) => "limit the range on both sides, to keys that begin as this entity's do",
                None => "compare the sort key too, or give the entities partitions of their own",
            }),
    );
}

/// Templates such as `ORDER{id}` beside `ORDERITEM#…`, where a query for the first meets the second.
fn by_template<'a>(context: &Context<'a>, findings: &mut Findings<'_>, space: &KeySpace<'a>, path: &AccessPath<'a>) {
    let text = leading_text(path.sort_templates());
    let delimiter = context.model.table.delimiter;
    let open = path.sort_templates().first().is_some_and(|key| !key.parts.is_empty());
    if text.is_empty() || text.ends_with(delimiter) || !open {
        return;
    }
    for (_, other) in space.paths_near(leading_text(path.partition_templates()), text) {
        let longer = leading_text(other.sort_templates());
        // One row beside the others is read with them, and dropped: `v0` beside `v{number}` is how the newest version is kept.
        let several = other.sort_templates().iter().any(|key| !key.parts.is_empty());
        let bleeds =
            several && longer.len() > text.len() && longer.starts_with(text) && other.entity.id != path.entity.id;
        if !bleeds {
            continue;
        }
        match share_partition(context, path, &other) {
            Verdict::Never => {}
            Verdict::Found(_) => {
                let read = reader(context, path);
                read.into_iter().for_each(|read| report_templates(findings, read, path, &other));
            }
            Verdict::Undecided => {
                let (one, two) = (&path.entity.name, &other.entity.name);
                let question = format!("`{one}` and `{two}` share partitions in {}", path.name());
                context.note_undecided(key_place(path.choice), one, question);
            }
        }
    }
}

fn share_partition(context: &Context<'_>, path: &AccessPath<'_>, other: &AccessPath<'_>) -> Verdict {
    let templates = |keys: &[KeyTemplate]| keys.iter().map(|key| key.template.clone()).collect::<Vec<Template>>();
    context.key_collision(&templates(path.partition_templates()), &templates(other.partition_templates()))
}

/// A read that lists rows by the path.
fn reader<'a>(context: &Context<'a>, path: &AccessPath<'a>) -> Option<&'a Read> {
    context.answered_asks().iter().find_map(|Answered { asked, paths }| {
        let read = asked.read.filter(|read| read.using.is_none())?;
        let lists = !matches!(asked.selection.kind, SelectionKind::Get { .. });
        (lists && paths.iter().any(|own| std::ptr::eq(own.choice, path.choice))).then_some(read)
    })
}

fn report_templates(findings: &mut Findings<'_>, read: &Read, path: &AccessPath<'_>, other: &AccessPath<'_>) {
    let (Some(own), Some(theirs)) = (path.sort_templates().first(), other.sort_templates().first()) else {
        return;
    };
    let message = format!(
        "`{}` lists the keys `{}` of `{}`, and `{}` of `{}` begins alike in the same partition",
        read.name, own.text, path.entity.name, theirs.text, other.entity.name,
    );
    let subject = match path.index {
        Some(index) => format!("{}.{}", path.entity.name, index.name),
        None => path.entity.name.clone(),
    };
    findings.push(
        findings
            .at(own.span, subject, message)
            .note(theirs.span, format!("the sort key of `{}`", other.entity.name))
            .help(format!("put the delimiter after `{}`", leading_text(path.sort_templates()))),
    );
}
