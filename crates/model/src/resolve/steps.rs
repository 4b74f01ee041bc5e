//! The steps of a write.

use std::collections::HashMap;

use super::assignments::{self, StepTarget};
use super::operation::{NamedValue, named_value};
use super::{refusals, selection};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest_word};
use crate::expression::{self, BoundName, Expr, ExprKind, Scope};
use crate::grammar::{listed_words, words};
use crate::model::{Cause, Entity, LetValue, MoveTo, NamedStep, Refusal, Requirement, Step, StepKind, UsingCall};
use crate::node::{Entry, Node};
use crate::rules;
use crate::text::{Text, with_article};
use crate::types::{EntityId, Type};

const VERBS: [&str; 6] = ["create", "update", "delete", "upsert", "present", "absent"];

/// What the steps of one write see, and what they may not do.
pub(super) struct StepScope<'a> {
    pub entities: &'a [Entity],
    pub known: &'a [NamedStep],
    /// Attributes that `allow` names.
    pub protected: Vec<(EntityId, String)>,
    pub bulk: bool,
    /// How many groups are open: of a bulk write only the outermost loops may be longer than a transaction.
    pub depth: usize,
    /// Grows by the rows that steps name with `as`.
    pub facts_scope: Scope<'a>,
    pub step_names: &'a HashMap<&'a str, &'a Entry>,
}

impl StepScope<'_> {
    pub(super) fn steps(&mut self, nodes: &[Node], out: &mut Diagnostics) -> Vec<Step> {
        nodes
            .iter()
            .filter(|node| node.is_map())
            .filter_map(|node| self.step(node, out))
            .collect()
    }

    fn step(&mut self, node: &Node, out: &mut Diagnostics) -> Option<Step> {
        let action = self.action(node, out)?;
        let outer = self.facts_scope.clone();
        let repeat = self.repeat(node.get("for"), out);
        let when = node
            .get("when")
            .and_then(Node::text)
            .map(|text| expression::check_condition(text, &self.facts_scope, out));
        if let Some(when) = &when {
            self.facts_scope = self.facts_scope.with_facts_of(when, true);
        }
        let kind = self.kind(action, out);
        let step = self.finish(node, action, kind, when, repeat, out);
        self.leave(outer, &step, out);
        Some(step)
    }

    /// After a step its conditions no longer hold, and the name of its element is gone; rows named with `as` remain.
    fn leave(&mut self, outer: Scope<'_>, step: &Step, out: &mut Diagnostics) {
        let known = outer.bound.len();
        let mut added: Vec<BoundName> = match &step.kind {
            StepKind::Group(_) => {
                let skip = known + usize::from(step.repeat.is_some());
                self.facts_scope.bound.get(skip..).unwrap_or_default().to_vec()
            }
            _ => Vec::new(),
        };
        let conditional = step.when.is_some();
        added.iter_mut().for_each(|bound| bound.optional |= conditional);
        if let (Some(name), Some(entity)) = (&step.named, step.entity()) {
            if outer.bound.iter().any(|bound| bound.name == *name) {
                let message = format!("`{name}` is already bound");
                out.push(
                    Diagnostic::new(&rules::AMBIGUOUS_NAME, step.span, message).help("choose another name for `as`"),
                );
            }
            added.push(BoundName {
                name: name.clone(),
                ty: Type::Row(entity),
                optional: conditional,
            });
        }
        self.facts_scope.facts = outer.facts;
        self.facts_scope.bound.truncate(known);
        self.facts_scope.bound.extend(added);
    }

    /// The entry that says what the step does.
    fn action<'n>(&self, node: &'n Node, out: &mut Diagnostics) -> Option<&'n Entry> {
        let is_field = |name: &str| words::STEP.field_named(name).is_some();
        let actions: Vec<&Entry> = node
            .entries()
            .iter()
            .filter(|entry| {
                VERBS.contains(&entry.key.text.as_str()) || entry.key.text == "do" || !is_field(&entry.key.text)
            })
            .collect();
        match actions.as_slice() {
            [one] => Some(one),
            [] => {
                let message = "a step does not say what it does";
                let help = "add one of create, update, delete, upsert, present, absent, or a name under `steps`";
                out.push(Diagnostic::new(&rules::NO_MEANING, node.span(), message).help(help));
                None
            }
            [first, second, ..] => {
                let unknown = [first, second].into_iter().find(|entry| !self.knows(&entry.key.text));
                match unknown {
                    Some(entry) => out.push(self.unknown_step(&entry.key)),
                    None => {
                        let message = format!("a step does two things, `{}` and `{}`", first.key.text, second.key.text);
                        let finding = Diagnostic::new(&rules::NO_MEANING, second.key.span, message);
                        out.push(finding.help("make them two steps: both happen at once"));
                    }
                }
                None
            }
        }
    }

    fn knows(&self, name: &str) -> bool {
        words::STEP.field_named(name).is_some() || self.step_names.contains_key(name)
    }

    fn unknown_step(&self, text: &Text) -> Diagnostic {
        let message = format!("there is no step `{}`", text.text);
        let fields = words::STEP.fields.iter().map(|field| field.name);
        let known: Vec<&str> = fields.chain(self.step_names.keys().copied()).collect();
        let diagnostic = Diagnostic::new(&rules::UNKNOWN_STEP, text.span, message);
        if let Some(ours) = called_elsewhere(&text.text) {
            return diagnostic.help(format!("did you mean `{ours}`?")).replace_with(ours);
        }
        match nearest_word(&text.text, known.iter().copied()) {
            Some(_) => diagnostic.did_you_mean(&text.text, known),
            None => {
                diagnostic.help("define it under `steps`, or use create, update, delete, upsert, present or absent")
            }
        }
    }

    fn kind(&mut self, action: &Entry, out: &mut Diagnostics) -> StepKind {
        match action.key.text.as_str() {
            "create" => match action.value.text().and_then(|text| self.entity_named(text, out)) {
                Some(entity) => StepKind::Create(entity),
                None => StepKind::Group(Vec::new()),
            },
            "do" => {
                self.depth += 1;
                let steps = self.steps(action.value.elements(), out);
                self.depth -= 1;
                StepKind::Group(steps)
            }
            "update" => StepKind::Update(self.target(action, out)),
            "delete" => StepKind::Delete(self.target(action, out)),
            "upsert" => StepKind::Upsert(self.target(action, out)),
            "present" => StepKind::Present(self.target(action, out)),
            "absent" => StepKind::Absent(self.target(action, out)),
            _ => self.call(action, out),
        }
    }

    fn entity_named(&self, text: &Text, out: &mut Diagnostics) -> Option<EntityId> {
        let catalog = self.facts_scope.catalog;
        let found = catalog.entity(&text.text);
        let entity = found.and_then(|id| super::entity_of(self.entities, id));
        if let Some(mirror) = entity.and_then(|entity| entity.mirror.as_ref()) {
            let message = format!("`{}` is a mirror and is written with its source", text.text);
            let help = format!("write `{}`", catalog.name(mirror.of));
            out.push(Diagnostic::new(&rules::BAD_MIRROR, text.span, message).help(help));
        }
        if found.is_none() {
            out.push(super::unknown_entity(catalog, text));
        }
        found
    }

    /// The row of an update, delete, upsert, present or absent.
    fn target(&self, action: &Entry, out: &mut Diagnostics) -> Expr {
        let Some(text) = action.value.text() else {
            return Expr::invalid_at(action.value.span());
        };
        let expr = expression::check_expression(text, &self.facts_scope, None, out);
        let Type::Row(id) = expr.ty else {
            if !expr.ty.is_unknown() {
                let message = format!(
                    "`{}` takes a row, not {}",
                    action.key.text,
                    with_article(&self.facts_scope.catalog.describe_type(&expr.ty))
                );
                let help = "name an entity with its key, such as `Task(caller.id, args.task_id)`, or a row from `let`";
                out.push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).help(help));
            }
            return expr;
        };
        if let ExprKind::Word(word) = expr.kind {
            let entity = self.facts_scope.catalog.name(id);
            let message = format!(
                "`{}` is what a row of `{entity}` was then, not what it is now",
                word.as_str()
            );
            let help = format!(
                "name the row with `let`: `{{it: {entity}({}.…)}}`, and write `it`",
                word.as_str()
            );
            out.push(Diagnostic::new(&rules::BAD_TRIGGER, text.span, message).help(help));
        }
        if expr.optional {
            let message = format!("`{}` may be missing here", text.text);
            let help = format!("test it first: `when: {} != absent`", text.text);
            out.push(Diagnostic::new(&rules::NO_MEANING, text.span, message).help(help));
        }
        if let Some(mirror) = super::entity_of(self.entities, id).and_then(|entity| entity.mirror.as_ref())
            && !matches!(action.key.text.as_str(), "present" | "absent")
        {
            let catalog = self.facts_scope.catalog;
            let message = format!("`{}` is a mirror and is written with its source", catalog.name(id));
            let help = format!("write `{}`", catalog.name(mirror.of));
            out.push(Diagnostic::new(&rules::BAD_MIRROR, text.span, message).help(help));
        }
        expr
    }

    fn call(&self, action: &Entry, out: &mut Diagnostics) -> StepKind {
        let Some(named) = self.known.iter().find(|step| step.name == action.key.text) else {
            let later = self.step_names.contains_key(action.key.text.as_str());
            out.push(match later {
                true => {
                    let message = format!(
                        "`{}` is defined after the step that uses it, or uses itself",
                        action.key.text
                    );
                    Diagnostic::new(&rules::CYCLE, action.key.span, message)
                        .help("a named step uses only those above it")
                }
                false => self.unknown_step(&action.key),
            });
            return StepKind::Group(Vec::new());
        };
        if !action.value.is_map() {
            let message = format!(
                "the step `{}` takes its arguments as a map, not as {}",
                named.name,
                action.value.kind()
            );
            let wanted: Vec<String> = named.args.iter().map(|arg| format!("{}: …", arg.name)).collect();
            let help = format!("write `{}: {{{}}}`", named.name, wanted.join(", "));
            out.push(Diagnostic::new(&rules::WRONG_SHAPE, action.value.span(), message).help(help));
            return StepKind::Group(Vec::new());
        }
        let mut args = Vec::new();
        for entry in action.value.entries() {
            let Some(param) = named.args.iter().find(|arg| arg.name == entry.key.text) else {
                let message = format!("the step `{}` has no argument `{}`", named.name, entry.key.text);
                let known = named.args.iter().map(|arg| arg.name.as_str());
                out.push(
                    Diagnostic::new(&rules::UNKNOWN_ARGUMENT, entry.key.span, message)
                        .did_you_mean(&entry.key.text, known),
                );
                continue;
            };
            let Some(text) = entry.value.text() else { continue };
            let goal = expression::Target {
                name: &param.name,
                ty: &param.ty,
                optional: param.optional,
            };
            let value = expression::check_value(text, &self.facts_scope, goal, out);
            args.push((entry.key.text.clone(), value));
        }
        let missing = named.args.iter().filter(|param| {
            let may_lack = param.optional || param.default.is_some();
            !may_lack && !action.value.entries().iter().any(|entry| entry.key.text == param.name)
        });
        for param in missing {
            let message = format!("the step `{}` needs `{}`", named.name, param.name);
            out.push(
                Diagnostic::new(&rules::UNKNOWN_ARGUMENT, action.key.span, message)
                    .help(format!("add `{}: …`", param.name)),
            );
        }
        StepKind::Call {
            step: named.name.clone(),
            args,
        }
    }

    fn repeat(&mut self, node: Option<&Node>, out: &mut Diagnostics) -> Option<(String, LetValue)> {
        let node = node?;
        let [entry] = node.entries() else {
            let message = "`for` takes one name and its list";
            out.push(
                Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help("write `for: {id: args.task_ids}`"),
            );
            return None;
        };
        super::check_value_name(&entry.key, out);
        let named = named_value(&entry.value, &self.facts_scope, out)?;
        let element = match &named.ty {
            Type::Unknown => Type::Unknown,
            ty => ty.element_type().cloned().unwrap_or_else(|| {
                let message = format!(
                    "`for` goes through a list, not {}",
                    with_article(&self.facts_scope.catalog.describe_type(ty))
                );
                let help = "name a list, a set, or rows: `for: {t: {find: Task, where: …}}`";
                out.push(Diagnostic::new(&rules::WRONG_SHAPE, entry.value.span(), message).help(help));
                Type::Unknown
            }),
        };
        if !self.bulk || self.depth > 0 {
            self.check_bounded(entry, &named, out);
        }
        self.facts_scope = self.facts_scope.with_bound(&entry.key.text, element, false);
        Some((entry.key.text.clone(), named.value))
    }

    /// A loop in a transaction has an upper bound that is known before any request.
    fn check_bounded(&self, entry: &Entry, named: &NamedValue, out: &mut Diagnostics) {
        let bounded = match &named.value {
            LetValue::Read(selection) => selection.limit.is_some(),
            LetValue::Value(_) => named.ty.is_unknown() || named.ty.length_max().is_some(),
        };
        if !bounded {
            let (message, help) = match self.bulk {
                false => (
                    "nothing limits how many items this loop writes",
                    "limit the list, such as `set(Task.task_id) 1..25`, or say `bulk: true`",
                ),
                true => (
                    "nothing limits this loop, and one turn of a bulk write is one transaction",
                    "say `limit`, or make it an outermost loop: each of its turns is then a transaction of its own",
                ),
            };
            out.push(Diagnostic::new(&rules::UNBOUNDED_WRITE, entry.value.span(), message).help(help));
        }
    }

    fn finish(
        &mut self,
        node: &Node,
        action: &Entry,
        kind: StepKind,
        when: Option<Expr>,
        repeat: Option<(String, LetValue)>,
        out: &mut Diagnostics,
    ) -> Step {
        let mut step = Step {
            kind,
            span: action.key.span,
            when,
            repeat,
            named: node.get("as").and_then(Node::str).map(str::to_owned),
            set: Vec::new(),
            add: Vec::new(),
            remove: Vec::new(),
            append: Vec::new(),
            take: Vec::new(),
            patch: Vec::new(),
            from: None,
            moves: None,
            rekey: node.get("rekey").and_then(Node::str) == Some("true"),
            requirements: Vec::new(),
            refusals: Vec::new(),
            or_skip: node.get("else").and_then(Node::str) == Some("skip"),
            using: node.get("using").map(using_call),
        };
        if let Some(named) = node.get("as").and_then(Node::text) {
            super::check_value_name(named, out);
        }
        let entity = step.entity().and_then(|id| super::entity_of(self.entities, id));
        let changes_row = !matches!(step.kind, StepKind::Create(_));
        let scope = match entity {
            Some(entity) if changes_row => {
                selection::check_bound_name(&self.facts_scope, self.facts_scope.catalog, entity.id, out, step.span);
                match step.kind {
                    StepKind::Upsert(_) => self.facts_scope.with_row_maybe(entity.id),
                    _ => self.facts_scope.with_row(entity.id),
                }
            }
            _ => self.facts_scope.clone(),
        };
        if let Some(entity) = entity {
            let target = StepTarget {
                entity,
                scope: &scope,
                creates: !changes_row,
                may_create: matches!(step.kind, StepKind::Upsert(_)),
                protected: &self.protected,
            };
            assignments::fill_step(&mut step, node, &target, out);
            step.moves = moves(node.get("move"), entity, &scope, out);
        } else if let Some(stray) = node.entries().iter().find(|entry| is_change(&entry.key.text))
            && matches!(step.kind, StepKind::Call { .. } | StepKind::Group(_))
            && action.key.text != "create"
            && self.knows(&action.key.text)
        {
            let message = format!(
                "`{}` has no effect here: it belongs to a create or update",
                stray.key.text
            );
            out.push(Diagnostic::new(&rules::NO_MEANING, stray.key.span, message).help("move it to that step"));
        }
        step.requirements = requirements(node.get("require"), &scope, out);
        step.refusals = step_refusals(node.get("else"), entity, self.entities, &scope, out);
        step
    }
}

/// What other tools call our steps.
fn called_elsewhere(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().as_str() {
        "put" | "insert" | "putitem" | "post" => "create",
        "modify" | "updateitem" | "change" | "edit" => "update",
        "remove" | "deleteitem" | "destroy" | "drop" => "delete",
        "save" | "merge" | "replace" | "write" => "upsert",
        "check" | "conditioncheck" | "exists" | "expect" => "present",
        _ => return None,
    })
}

fn is_change(field: &str) -> bool {
    matches!(field, "set" | "add" | "remove" | "append" | "take" | "patch" | "move")
}

fn requirements(node: Option<&Node>, scope: &Scope<'_>, out: &mut Diagnostics) -> Vec<Requirement> {
    let texts = node.map_or(&[][..], Node::elements).iter().filter_map(Node::text);
    texts
        .filter_map(|text| refusals::read_requirement(text, scope, out))
        .collect()
}

fn moves(node: Option<&Node>, entity: &Entity, scope: &Scope<'_>, out: &mut Diagnostics) -> Option<MoveTo> {
    let node = node?;
    let Some(states) = &entity.states else {
        let message = format!("`{}` has no states to move between", entity.name);
        out.push(Diagnostic::new(&rules::UNKNOWN_MOVE, node.span(), message).help("define `states` on the entity"));
        return None;
    };
    if let Some(text) = node.text() {
        if !states.moves.iter().any(|known| known.name == text.text) {
            let message = format!("`{}` has no move `{}`", entity.name, text.text);
            let known: Vec<&str> = states.moves.iter().map(|known| known.name.as_str()).collect();
            let mut diagnostic = Diagnostic::new(&rules::UNKNOWN_MOVE, text.span, message)
                .did_you_mean(&text.text, known.iter().copied());
            if diagnostic.help.is_none() {
                diagnostic = diagnostic.help(format!("its moves are {}", listed_words(&known)));
            }
            out.push(diagnostic);
        }
        return Some(MoveTo::Named(text.text.clone(), text.span));
    }
    let text = node.get("to")?.text()?;
    let ty = scope.catalog.attribute(entity.id, &states.of)?.ty.clone();
    let goal = expression::Target {
        name: &states.of,
        ty: &ty,
        optional: false,
    };
    Some(MoveTo::To(expression::check_value(text, scope, goal, out)))
}

fn step_refusals(
    node: Option<&Node>,
    entity: Option<&Entity>,
    entities: &[Entity],
    scope: &Scope<'_>,
    out: &mut Diagnostics,
) -> Vec<(Cause, Refusal)> {
    match node {
        None => Vec::new(),
        Some(Node::Scalar(text)) if text.text == "skip" => Vec::new(),
        Some(Node::Scalar(text)) => refusals::read_refusal(text, scope, out)
            .map(|refusal| (Cause::Any, refusal))
            .into_iter()
            .collect(),
        Some(map) => map
            .entries()
            .iter()
            .filter_map(|entry| {
                let cause = cause(&entry.key, entity, entities, out)?;
                Some((cause, refusals::read_refusal(entry.value.text()?, scope, out)?))
            })
            .collect(),
    }
}

fn cause(text: &Text, entity: Option<&Entity>, entities: &[Entity], out: &mut Diagnostics) -> Option<Cause> {
    let fixed = match text.text.as_str() {
        "absent" => Some(Cause::Absent),
        "exists" => Some(Cause::Exists),
        "state" => Some(Cause::State),
        "version" => Some(Cause::Version),
        "source" => Some(Cause::Source),
        "excludes" => Some(Cause::Excludes),
        _ => None,
    };
    if fixed.is_some() {
        return fixed;
    }
    let Some(entity) = entity else {
        return Some(Cause::Named(text.text.clone()));
    };
    let guards = entity.unique.iter().map(|guard| guard.name.as_str());
    let attributes = entity.attributes.iter().map(|attribute| attribute.name.as_str());
    // Mirrors are looked for among all entities, so they come last.
    if guards.clone().chain(attributes.clone()).any(|known| known == text.text) {
        return Some(Cause::Named(text.text.clone()));
    }
    let mirrors = entities
        .iter()
        .filter(|other| other.mirror.as_ref().is_some_and(|mirror| mirror.of == entity.id))
        .map(|other| other.name.as_str());
    let known: Vec<&str> = guards.chain(mirrors).chain(attributes).collect();
    if known.contains(&text.text.as_str()) {
        return Some(Cause::Named(text.text.clone()));
    }
    let causes = ["absent", "exists", "state", "version", "source", "excludes"];
    let message = format!("a step on `{}` cannot fail for `{}`", entity.name, text.text);
    let mut diagnostic = Diagnostic::new(&rules::BAD_REFUSAL, text.span, message)
        .did_you_mean(&text.text, causes.into_iter().chain(known));
    if diagnostic.help.is_none() {
        diagnostic = diagnostic.help(format!(
            "causes are {}, or an attribute, a guard or a mirror by name",
            listed_words(&causes)
        ));
    }
    out.push(diagnostic);
    None
}

fn using_call(node: &Node) -> UsingCall {
    UsingCall {
        call: node.get("call").and_then(Node::str).unwrap_or_default().to_owned(),
        set: super::promises::spanned_names(node.get("set")),
        condition: super::table::flag_field(node, "condition"),
        span: node.span(),
    }
}
