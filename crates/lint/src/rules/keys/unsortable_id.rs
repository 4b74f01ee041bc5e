use singlet_model::expression::{ExprKind, FunctionId};
use singlet_model::model::{Comparison, Entity, KeyPart, Read, Selection, SelectionKind, Using};
use singlet_model::types::Type;
use singlet_plan::access::AccessPath;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// An order is wanted over ids that have none.
    ///
    /// A read that descends over `ACTIVITY#{uuid}` asks for "the newest 20" and gets 20 at random, the same ones each time:
    /// a UUID, and a string that defaults to `uuid()`, `digits()` or `random()`, says nothing about when a row was made. It
    /// is reported for the first attribute of `order`, and for `using.descending` where the id is the first part of the sort
    /// key that the condition leaves open. After another attribute, an id only settles ties and is welcome.
    ///
    /// ```yaml
    /// activityId: uuid = uuid()
    /// key: {PK: "USER#{userId}", SK: "ACTIVITY#{activityId}"}
    /// order: -activityId
    /// ```
    ///
    /// Way out: make the id a `ulid` or a `ksuid`, which sort by the time they were made; or put the time before it:
    /// `ACTIVITY#{createdAt}#{activityId}`.
    "K009" "unsortable-id" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (read, selection, entity) in context.read_selections() {
        let own = read.selection.as_ref().is_some_and(|own| std::ptr::eq(own, selection));
        let using = read.using.as_ref().filter(|using| own && using.descending);
        by_order(context, findings, (read, selection), entity);
        if let Some(using) = using.filter(|_| !matches!(selection.kind, SelectionKind::Get { .. })) {
            by_hand(context, findings, read, using, entity);
        }
    }
}

fn by_order(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    (read, selection): (&Read, &Selection),
    entity: &Entity,
) {
    let Some(first) = selection.order.first() else { return };
    let Some(kind) = random_kind(context, entity, &first.path) else {
        return;
    };
    let message = format!(
        "`{}` orders `{}` by `{}`, {kind}: the order means nothing",
        read.name, entity.name, first.path
    );
    findings.push(findings.at(first.span, read.name.clone(), message).help(WAY_OUT));
}

fn by_hand<'a>(context: &Context<'a>, findings: &mut Findings<'_>, read: &Read, using: &Using, entity: &'a Entity) {
    let index = using.index.and_then(|index| context.model.index(index));
    let name = index.map(|index| index.name.as_str());
    let paths = context.entity_paths(entity.id).into_iter();
    for path in paths.filter(|path| path.index.map(|index| index.name.as_str()) == name) {
        let Some(part) = first_open(&path, using) else { continue };
        let Some(kind) = random_kind(context, path.entity, &part.path) else {
            continue;
        };
        let message = format!(
            "`{}` descends over `{}`, {kind}: the first rows are any, not the newest",
            read.name, part.path
        );
        let note = format!("the sort key of `{}` in {}", path.entity.name, path.name());
        findings.push(
            findings
                .at(using.span, read.name.clone(), message)
                .note(part.span, note)
                .help(WAY_OUT),
        );
        return;
    }
}

const WAY_OUT: &str = "make the id a `ulid` or `ksuid`, or put the time before it in the sort key";

/// The first part of the sort key that a condition leaves open: a prefix has fixed the parts before it.
fn first_open<'a>(path: &AccessPath<'a>, using: &Using) -> Option<&'a KeyPart> {
    let key = path.sort_templates().first()?;
    let condition = using.key.iter().find(|condition| condition.attribute == key.attribute);
    match condition.map(|condition| &condition.comparison) {
        Some(Comparison::Equal(_)) => None,
        Some(Comparison::BeginsWith(prefix)) => key.parts.get(prefix.parts.len()),
        _ => key.parts.first(),
    }
}

/// What makes an attribute say nothing about time: its type, or what it defaults to.
fn random_kind(context: &Context<'_>, entity: &Entity, path: &str) -> Option<&'static str> {
    let source = context.model.source_of(entity);
    let attribute = source.attribute(path)?;
    if attribute.ty == Type::Uuid {
        return Some("a uuid");
    }
    let origin = attribute
        .reference
        .as_ref()
        .and_then(|(of, name)| context.model.entity(*of)?.attribute(name));
    let default = attribute.default.as_ref().or_else(|| origin?.default.as_ref())?;
    match &default.kind {
        ExprKind::Call(FunctionId::Uuid, _) => Some("which defaults to `uuid()`"),
        ExprKind::Call(FunctionId::Digits, _) => Some("which defaults to random digits"),
        ExprKind::Call(FunctionId::Random, _) => Some("which defaults to a random number"),
        _ => None,
    }
}
