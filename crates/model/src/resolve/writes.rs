//! Pass 6, second half: writes and named steps.

use super::operation::{Http, KnownBefore, Unused, resolved_arguments};
use super::reads::resolve_return;
use super::steps::StepScope;
use super::table::{flag_field, whole_field};
use super::taken;
use super::types::TypeTable;
use super::{Resolver, checked_condition, refusals};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest_word};
use crate::expression::{self, Args, BoundName, Expr, ExprKind, Literal, Scope, WordPresence, Words};
use crate::model::{
    Entity, Idempotency, IdempotencyNeed, Let, LetValue, NamedStep, Requirement, SelectionKind, Step, Write,
};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::{EntityId, Type};

impl Resolver<'_> {
    pub(super) fn named_steps(
        &mut self,
        node: Option<&Node>,
        entities: &[Entity],
        types: &mut TypeTable,
    ) -> Vec<NamedStep> {
        let entries = node.map_or(&[][..], Node::entries);
        // The arguments of every named step are known before the steps themselves, since steps may call one another.
        let mut named: Vec<NamedStep> = Vec::new();
        let mut declared: Vec<Args> = Vec::new();
        for entry in entries {
            self.check_name(&entry.key, "a step");
            let args = self.declare_args(entry.value.get("args"), &Http::None, types);
            let defaults = self.arg_defaults(entry.value.get("args"), types);
            let mut silent = Diagnostics::default();
            named.push(NamedStep {
                name: entry.key.text.clone(),
                span: entry.key.span,
                args: resolved_arguments(&args, defaults, Unused::PassedOver, &mut silent),
                steps: Vec::new(),
            });
            declared.push(args);
        }
        for (at, (entry, args)) in entries.iter().zip(&declared).enumerate() {
            let earlier = named.get(..at).unwrap_or_default();
            let steps = self.steps_of_named(entry, args, entities, earlier);
            if !self.is_broken(entry) {
                resolved_arguments(args, Vec::new(), Unused::Reported, self.out);
            }
            if let Some(step) = named.get_mut(at) {
                step.steps = steps;
            }
        }
        named
    }

    fn steps_of_named(&mut self, entry: &Entry, args: &Args, entities: &[Entity], known: &[NamedStep]) -> Vec<Step> {
        let scope = Scope {
            args: Some(args),
            words: write_words(false, &Words::default()),
            ..self.names.scope()
        };
        let mut steps = StepScope {
            entities,
            known,
            protected: Vec::new(),
            bulk: false,
            depth: 0,
            facts_scope: scope,
            step_names: &self.step_nodes,
        };
        let nodes = entry.value.get("do").map_or(&[][..], Node::elements);
        steps.steps(nodes, self.out)
    }

    pub(super) fn writes(
        &mut self,
        node: Option<&Node>,
        entities: &[Entity],
        steps: &[NamedStep],
        types: &mut TypeTable,
    ) -> Vec<Write> {
        let entries = node.map_or(&[][..], Node::entries);
        let writes = entries.iter().filter(|entry| entry.value.is_map());
        writes.map(|entry| self.write(entry, entities, steps, types)).collect()
    }

    pub(super) fn write(
        &mut self,
        entry: &Entry,
        entities: &[Entity],
        named: &[NamedStep],
        types: &mut TypeTable,
    ) -> Write {
        let node = &entry.value;
        self.check_name(&entry.key, "a write");
        let head = self.trigger_head(node, entities);
        let every = self.schedule(node);
        let http = Http::of(node.get("http"), false, self.out);
        let mut args = self.declare_args(node.get("args"), &http, types);
        taken::declare_taken(node, &self.names.catalog, entities, &mut args);
        let mut bound: Vec<BoundName> = Vec::new();
        let runs_by_itself = node.get("after").is_some() || node.get("every").is_some();
        let is_uncalled = runs_by_itself && node.get("http").is_none();
        let known = match node.get("every") {
            Some(_) if node.get("after").is_none() => KnownBefore::tick(),
            _ => self.known_before(head.as_ref(), is_uncalled),
        };
        let lets = self.lets(node.get("let"), &known, &args, &mut bound);
        self.check_found_bounded(&lets);
        let bulk = flag_field(node, "bulk");
        let mut scope = Scope {
            args: Some(&args),
            bound,
            words: write_words(bulk, &known.words),
            ..self.names.scope()
        };
        let allow = match is_uncalled {
            true => nobody(entry.key.span),
            false => allowed(entry, &scope, self.out),
        };
        scope = scope.with_facts_of(&allow, true);
        scope.facts.extend(known.facts);
        // Whom `allow` admits is not there where a change or the clock calls.
        scope.caller = scope.caller.filter(|_| known.has_caller);
        let mut requirements: Vec<Requirement> = Vec::new();
        for text in node
            .get("require")
            .map_or(&[][..], Node::elements)
            .iter()
            .filter_map(Node::text)
        {
            if let Some(requirement) = refusals::read_requirement(text, &scope, self.out) {
                scope = scope.with_facts_of(&requirement.condition, true);
                requirements.push(requirement);
            }
        }
        let idempotency = idempotency(node.get("idempotency"), &scope, self.out);
        if idempotency.need == IdempotencyNeed::Required && !runs_by_itself {
            scope.words.request = WordPresence::Always;
        }
        let mut step_scope = StepScope {
            entities,
            known: named,
            protected: protected(&allow),
            bulk,
            depth: 0,
            facts_scope: scope,
            step_names: &self.step_nodes,
        };
        let nodes = node.get("do").map_or(&[][..], Node::elements);
        let steps = step_scope.steps(nodes, self.out);
        if nodes.is_empty() && node.get("do").is_some() {
            let message = format!("the write `{}` does nothing", entry.key.text);
            self.out
                .push(Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help("add a step to `do`"));
        }
        let scope = step_scope.facts_scope;
        let returns = resolve_return(node.get("return"), &scope, self.out);
        drop(scope);
        let defaults = self.arg_defaults(node.get("args"), types);
        let after = head.map(|head| self.trigger(head, &args));
        let unused = if self.is_broken(entry) {
            Unused::PassedOver
        } else {
            Unused::Reported
        };
        let write = Write {
            name: entry.key.text.clone(),
            span: entry.key.span,
            args: resolved_arguments(&args, defaults, unused, self.out),
            lets,
            after,
            every,
            allow,
            requirements,
            steps,
            returns,
            idempotency,
            if_match_required: node.get("if_match").is_some(),
            bulk,
            looks_again: false,
            http: http.into_route(),
            claim: self.claim(node.get("claim")),
            was: super::past::former_name(node),
        };
        self.check_if_match(&write, node, entities);
        if let Some(trigger) = &write.after {
            self.check_trigger_args(trigger, &write.args);
        }
        if let Some(entry) = node.entry("every") {
            self.check_schedule_args(entry, &write.args);
        }
        write
    }

    /// Rows that a write finds are read, and each is a condition of its transaction: how many there can be is said.
    fn check_found_bounded(&mut self, lets: &[Let]) {
        for bound in lets {
            if let LetValue::Read(selection) = &bound.value
                && selection.kind == SelectionKind::Find
                && selection.limit.is_none()
            {
                let message = format!(
                    "nothing limits how many rows `{}` has, and the write insists on each",
                    bound.name
                );
                let help = "say how many at most: `{find: …, where: …, limit: 20}`";
                self.out
                    .push(Diagnostic::new(&rules::UNBOUNDED_WRITE, bound.span, message).help(help));
            }
        }
    }

    /// A version can be asked for where every row that may be the first to change has one.
    fn check_if_match(&mut self, write: &Write, node: &Node, entities: &[Entity]) {
        let Some(entry) = node.entry("if_match") else { return };
        let versioned = |step: &Step| {
            let entity = step.entity().and_then(|id| super::entity_of(entities, id));
            // What is not known was reported where it stands.
            entity.is_none_or(|entity| entity.attributes.iter().any(|attribute| attribute.ty == Type::Version))
        };
        let mut changed = write.steps_on_versions().peekable();
        if changed.peek().is_none() || !changed.all(versioned) {
            let message = "`if_match` has no effect here: no row with a version is changed";
            let help = "give the entity an attribute `version: version`, or remove `if_match`";
            self.out
                .push(Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help(help));
        }
    }
}

/// What `allow` says. Where it is missing, nobody may, and that is said.
fn allowed(entry: &Entry, scope: &Scope<'_>, out: &mut Diagnostics) -> Expr {
    let node = entry.value.get("allow");
    if node.is_none() {
        let missing = Diagnostic::new(&rules::MISSING_FIELD, entry.key.span, "this write has no `allow`");
        out.push(missing.help("add `allow: …`: who may"));
    }
    checked_condition(node, scope, out)
}

/// Whom `allow` admits where only a change or the clock calls: nobody.
fn nobody(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Literal(Literal::Bool(false)),
        ty: Type::Bool,
        optional: false,
        span,
    }
}

/// A write without a header of its own may lack an idempotency key.
fn write_words(bulk: bool, known: &Words) -> Words {
    Words {
        done: bulk,
        request: WordPresence::Maybe,
        ..known.clone()
    }
}

fn idempotency(node: Option<&Node>, scope: &Scope<'_>, out: &mut Diagnostics) -> Idempotency {
    let mut found = Idempotency {
        need: IdempotencyNeed::Optional,
        replay: None,
        key: None,
        span: node.map(Node::span),
    };
    match node {
        None => {}
        Some(Node::Scalar(text)) => match text.text.as_str() {
            "optional" => {}
            "required" => found.need = IdempotencyNeed::Required,
            "none" => found.need = IdempotencyNeed::None,
            word => match nearest_word(word, IDEMPOTENCY_WORDS) {
                Some(_) => out.push(not_idempotency(text).did_you_mean(word, IDEMPOTENCY_WORDS)),
                None => {
                    found.need = IdempotencyNeed::Required;
                    found.key = Some(own_id(text, scope, out));
                }
            },
        },
        Some(map) => {
            if flag_field(map, "required") {
                found.need = IdempotencyNeed::Required;
            }
            found.replay = whole_field(map, "replay");
            found.key = map.get("key").and_then(Node::text).map(|text| own_id(text, scope, out));
        }
    }
    found
}

const IDEMPOTENCY_WORDS: [&str; 3] = ["optional", "required", "none"];

/// The caller's own id: something of the request that differs from one request to the next.
fn own_id(text: &Text, scope: &Scope<'_>, out: &mut Diagnostics) -> Expr {
    let expr = expression::check_expression(text, scope, None, out);
    let fits = expr.ty.is_textual() || expr.ty.is_number() || expr.ty.is_unknown();
    // It is looked at before anything is read.
    if !expr.is_invalid() && (expr.is_constant() || !fits || !expr.is_of_request()) {
        out.push(
            not_idempotency(text)
                .help("write `required`, `optional`, `none`, or the caller's own id, such as `args.id`"),
        );
    }
    expr
}

fn not_idempotency(text: &Text) -> Diagnostic {
    let message = format!("`{}` does not tell a retry from a new request", text.text);
    Diagnostic::new(&rules::WRONG_SHAPE, text.span, message)
}

/// The attributes of rows that `allow` names: a caller must not be able to change what decides access.
fn protected(allow: &Expr) -> Vec<(EntityId, String)> {
    let mut found = Vec::new();
    allow.walk(&mut |expr| {
        if let ExprKind::Field(row, name) = &expr.kind
            && let Type::Row(entity) = row.ty
        {
            found.push((entity, name.clone()));
        }
    });
    found
}
