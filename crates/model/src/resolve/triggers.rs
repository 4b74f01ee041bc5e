//! Writes that run after a change: which change, what is known of it, and what it gives to the write.

use super::Resolver;
use super::operation::KnownBefore;
use crate::diagnostic::Diagnostic;
use crate::evaluate::time::without_words;
use crate::expression::{self, Args, Expr, ExprKind, PresenceFacts, Scope, WordPresence, Words};
use crate::model::{Entity, Trigger, TriggerEvent, has_room_for_timers};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::{EntityId, Type};

/// What `after` names, in the order of the reference.
const EVENTS: [&str; 6] = ["create", "update", "delete", "enter", "expire", "reach"];

/// Fields that only a caller gives a meaning.
const OF_CALLERS: [&str; 4] = ["allow", "idempotency", "if_match", "return"];

/// What has a write run by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunBy {
    Change,
    Clock,
}

/// The change after which a write runs, before what it gives to the write is known.
pub(super) struct TriggerHead<'n> {
    event: TriggerEvent,
    entity: EntityId,
    when: Option<Expr>,
    entry: &'n Entry,
}

impl Resolver<'_> {
    /// Reads `after` and `when` of a write; none where there is no `after`, or it names nothing that can be followed.
    pub(super) fn trigger_head<'n>(&mut self, node: &'n Node, entities: &[Entity]) -> Option<TriggerHead<'n>> {
        let Some(entry) = node.entry("after") else {
            if let Some(when) = node.entry("when") {
                let message = "`when` has no effect here: the write runs after no change";
                let help = "say what must hold under `require`, or the change under `after`";
                self.out
                    .push(Diagnostic::new(&rules::BAD_TRIGGER, when.key.span, message).help(help));
            }
            return None;
        };
        let (event, entity) = self.trigger_event(entry, entities)?;
        self.check_caller_fields(node, RunBy::Change);
        self.check_images(&event, entity, entry);
        let words = self.change_words(&event, entity);
        let when = node.get("when").and_then(Node::text).map(|text| {
            let scope = Scope {
                words,
                facts: event_facts(&event),
                caller: None,
                ..self.names.scope()
            };
            let when = expression::check_condition(text, &scope, self.out);
            self.check_of_change_alone(&when, "when");
            when
        });

        Some(TriggerHead {
            event,
            entity,
            when,
            entry,
        })
    }

    /// What the body of the write knows: of a change that alone calls it the row; of a request its arguments.
    pub(super) fn known_before(&self, head: Option<&TriggerHead<'_>>, is_trigger_alone: bool) -> KnownBefore {
        let words = match (head, is_trigger_alone) {
            (None, false) => return KnownBefore::default(),
            (Some(_), false) => Words::default(),
            (Some(head), true) => self.change_words(&head.event, head.entity),
            // What is wrong with the change was said; nothing follows from it.
            (None, true) => Words {
                changed: Some(Type::Unknown),
                before: WordPresence::Always,
                ..Words::default()
            },
        };
        let head = head.filter(|_| is_trigger_alone);
        KnownBefore {
            has_caller: false,
            words,
            facts: head.map_or_else(PresenceFacts::default, |head| {
                known_facts(&head.event, head.when.as_ref())
            }),
        }
    }

    /// The whole, once the types of the write's arguments are known.
    pub(super) fn trigger(&mut self, head: TriggerHead<'_>, args: &Args) -> Trigger {
        let TriggerHead {
            event,
            entity,
            when,
            entry,
        } = head;
        let given = entry.value.get("args").map_or(&[][..], Node::entries);
        let facts = known_facts(&event, when.as_ref());
        let mut values = Vec::new();
        for given in given {
            let Some(arg) = args.get(&given.key.text) else {
                let message = format!("the write has no argument `{}`", given.key.text);
                let known = args.iter().map(|arg| arg.name.as_str());
                self.out.push(
                    Diagnostic::new(&rules::UNKNOWN_ARGUMENT, given.key.span, message)
                        .did_you_mean(&given.key.text, known),
                );
                continue;
            };
            let Some(text) = given.value.text() else { continue };
            let scope = Scope {
                words: self.change_words(&event, entity),
                facts: facts.clone(),
                caller: None,
                ..self.names.scope()
            };
            let ty = arg.known_type();
            let goal = expression::Target {
                name: &arg.name,
                ty: &ty,
                optional: arg.optional,
            };
            let value = expression::check_value(text, &scope, goal, self.out);
            self.check_of_change_alone(&value, "args");
            values.push((arg.name.clone(), value));
        }
        Trigger {
            event,
            entity,
            when,
            args: values,
            retries_refusals: entry.value.get("else").is_some(),
            span: entry.key.span,
        }
    }

    /// The whole of a webhook: what is told of the change, by name.
    pub(super) fn told_change(&mut self, head: TriggerHead<'_>, send: &[Entry]) -> Trigger {
        let TriggerHead {
            event,
            entity,
            when,
            entry,
        } = head;
        let facts = known_facts(&event, when.as_ref());
        let mut values = Vec::new();
        for field in send {
            let Some(text) = field.value.text() else { continue };
            let scope = Scope {
                words: self.change_words(&event, entity),
                facts: facts.clone(),
                caller: None,
                ..self.names.scope()
            };
            let value = expression::check_expression(text, &scope, None, self.out);
            super::reads::check_shown(&value, self.out);
            self.check_of_change_alone(&value, "send");
            values.push((field.key.text.clone(), value));
        }
        Trigger {
            event,
            entity,
            when,
            args: values,
            retries_refusals: false,
            span: entry.key.span,
        }
    }

    /// Reports arguments that the change must give, and does not.
    pub(super) fn check_trigger_args(&mut self, trigger: &Trigger, args: &[crate::model::Argument]) {
        let given = |name: &str| trigger.args.iter().any(|(known, _)| known == name);
        for arg in args.iter().filter(|arg| !arg.optional && !given(&arg.name)) {
            let message = format!("a change does not say `{}`, which the write needs", arg.name);
            let help = format!("say it under `after`: `args: {{{}: row.…}}`", arg.name);
            self.out
                .push(Diagnostic::new(&rules::BAD_TRIGGER, trigger.span, message).help(help));
        }
    }

    fn trigger_event(&mut self, entry: &Entry, entities: &[Entity]) -> Option<(TriggerEvent, EntityId)> {
        let named: Vec<&Entry> = EVENTS.iter().filter_map(|event| entry.value.entry(event)).collect();
        let [event] = named.as_slice() else {
            if entry.value.is_map() {
                let message = match named.is_empty() {
                    true => "`after` does not say what happens",
                    false => "`after` says two things that happen",
                };
                let help = "write one of `create: E`, `update: E`, `update: E.a`, `delete: E`, `enter: E.state`, `expire: E`, `reach: E.a`";
                self.out
                    .push(Diagnostic::new(&rules::BAD_TRIGGER, entry.key.span, message).help(help));
            }
            return None;
        };
        let text = event.value.text()?;
        let (name, part) = match text.text.find('.') {
            Some(dot) => (text.part_text(0, dot), Some(text.part_text(dot + 1, text.text.len()))),
            None => (text.clone(), None),
        };
        let id = self.find_entity(&name)?;
        let entity = super::entity_of(entities, id)?;
        self.check_followed(entity, &name)?;
        match (event.key.text.as_str(), part) {
            ("create", None) => Some((TriggerEvent::Create, id)),
            ("delete", None) => Some((TriggerEvent::Delete, id)),
            ("update", None) => Some((TriggerEvent::Update(None), id)),
            ("update", Some(attribute)) => {
                self.find_attribute(id, &attribute)?;
                Some((TriggerEvent::Update(Some(attribute.text)), id))
            }
            ("enter", Some(state)) => self.entered(entity, entities, &state).map(|event| (event, id)),
            ("enter", None) => {
                self.bad_trigger(text, "`enter` names a state", "write `enter: Item.given`");
                None
            }
            ("expire", None) => {
                if entity.expires.is_none() {
                    let message = format!("rows of `{}` do not expire", entity.name);
                    self.bad_trigger(text, &message, "say `expires` on the entity, or name `delete`");
                    return None;
                }
                self.check_timed(entity, entities, text)?;
                Some((TriggerEvent::Expire, id))
            }
            ("reach", Some(attribute)) => {
                let (ty, _) = self.find_attribute(id, &attribute)?;
                if !matches!(
                    without_words(&ty),
                    Type::Time | Type::Seconds | Type::Millis | Type::Unknown
                ) {
                    let message = format!("`{}` holds no instant", attribute.text);
                    let help = "name an attribute of type `time`, `seconds` or `millis`; of a day, compute one: `{is: time(due, \"07:00\")}`";
                    self.bad_trigger(&attribute, &message, help);
                    return None;
                }
                self.check_timed(entity, entities, text)?;
                Some((TriggerEvent::Reach(attribute.text), id))
            }
            ("reach", None) => {
                self.bad_trigger(text, "`reach` names an attribute", "write `reach: Task.remindAt`");
                None
            }
            (word, Some(_)) => {
                let message = format!("`{word}` names an entity alone");
                self.bad_trigger(text, &message, &format!("write `{word}: {}`", name.text));
                None
            }
            _ => None,
        }
    }

    fn bad_trigger(&mut self, text: &Text, message: &str, help: &str) {
        self.out
            .push(Diagnostic::new(&rules::BAD_TRIGGER, text.span, message).help(help));
    }

    /// Rows that are no changes are not followed: what is kept with another row, and what Singlet keeps for itself.
    fn check_followed(&mut self, entity: &Entity, name: &Text) -> Option<()> {
        if let Some(mirror) = &entity.mirror {
            let source = self.names.catalog.name(mirror.of).to_owned();
            let message = format!("`{}` is a mirror, whose rows are no changes of their own", entity.name);
            self.bad_trigger(name, &message, &format!("name `{source}`"));
            return None;
        }
        if entity.role.is_some() {
            let message = format!("rows of `{}` are records of requests, and no changes", entity.name);
            self.bad_trigger(name, &message, "name what the request changes");
            return None;
        }
        Some(())
    }

    fn entered(&mut self, entity: &Entity, entities: &[Entity], state: &Text) -> Option<TriggerEvent> {
        let Some(states) = &entity.states else {
            let message = format!("`{}` has no states", entity.name);
            self.bad_trigger(state, &message, "define `states` on the entity, or name `update`");
            return None;
        };
        let attribute = self.names.catalog.attribute(entity.id, &states.of);
        let members = attribute
            .and_then(|attribute| attribute.ty.enum_members())
            .unwrap_or_default()
            .to_vec();
        if !members.contains(&state.text) {
            let message = format!("`{}` has no state `{}`", entity.name, state.text);
            let known = members.iter().map(String::as_str);
            self.out
                .push(Diagnostic::new(&rules::BAD_TRIGGER, state.span, message).did_you_mean(&state.text, known));
            return None;
        }
        if states.lapses.iter().any(|lapse| lapse.to == state.text) {
            self.check_timed(entity, entities, state)?;
        }
        Some(TriggerEvent::Enter(state.text.clone()))
    }

    /// What time does is fired by timers, which lie side by side in the table by their instants.
    fn check_timed(&mut self, entity: &Entity, entities: &[Entity], text: &Text) -> Option<()> {
        if entity.history.is_some() {
            let what = format!(
                "a write that runs when time changes rows of `{}`, which have versions,",
                entity.name
            );
            self.not_yet(text.span, &what, "run it after the write that makes the next version");
            return None;
        }
        if !has_room_for_timers(&self.table, entities) {
            let message = "what time does is fired by timers, and the table has no sort key of text for them";
            self.bad_trigger(
                text,
                message,
                "give the table a sort key, or run the write after what a write does",
            );
            return None;
        }
        Some(())
    }

    /// Without a route nobody calls, and with one everything is as with any other write.
    pub(super) fn check_caller_fields(&mut self, node: &Node, by: RunBy) {
        let has_route = node.get("http").is_some();
        let stray = OF_CALLERS.iter().filter_map(|field| node.entry(field));
        for entry in stray.filter(|entry| !has_route || entry.key.text == "if_match") {
            let field = &entry.key.text;
            let (who, rule) = match by {
                RunBy::Change => ("a change", &rules::BAD_TRIGGER),
                RunBy::Clock => ("the clock", &rules::BAD_SCHEDULE),
            };
            let message = match has_route {
                false => format!("`{field}` has no effect here: only {who} calls this write"),
                true => format!("{who} knows no version of the row, which `if_match` asks for"),
            };
            let help = format!("remove `{field}`, or make two writes of it");
            self.out.push(Diagnostic::new(rule, entry.key.span, message).help(help));
        }
    }

    /// A change may come again, hours later: what is made of it must then be the same.
    fn check_of_change_alone(&mut self, expr: &Expr, field: &str) {
        if let Some((span, what)) = beyond_the_row(expr) {
            let message = format!("{what} no part of the change, and `{field}` is of the change alone");
            let help = match field {
                "send" => "keep it in the row, or let the receiver ask for it",
                _ => "compute it in the write: in `let`, `require`, or `when` of a step",
            };
            self.out
                .push(Diagnostic::new(&rules::BAD_TRIGGER, span, message).help(help));
        }
    }

    fn check_images(&mut self, event: &TriggerEvent, entity: EntityId, entry: &Entry) {
        let needs_both = match event {
            TriggerEvent::Delete
            | TriggerEvent::Enter(_)
            | TriggerEvent::Update(Some(_))
            | TriggerEvent::Expire
            | TriggerEvent::Reach(_) => true,
            TriggerEvent::Create | TriggerEvent::Update(None) => false,
        };
        // Versions are told from both images.
        let needs_both = needs_both || self.entity_nodes_have_history(entity);
        self.check_stream(needs_both, entry.key.span);
    }

    fn entity_nodes_have_history(&self, entity: EntityId) -> bool {
        let name = self.names.catalog.name(entity);
        let node = self.entity_nodes.get(name);
        node.is_some_and(|entry| entry.value.get("history").is_some())
    }

    /// Reports a stream that carries too little.
    pub(super) fn check_stream(&mut self, needs_both: bool, span: crate::source::Span) {
        let carried = self.table.stream.as_deref();
        let is_enough = match carried {
            Some("both_images") => true,
            Some("new_image") => !needs_both,
            _ => false,
        };
        if is_enough {
            return;
        }
        let needed = if needs_both { "both_images" } else { "new_image" };
        let message = match carried {
            Some(carried) => format!("this needs a stream of `{needed}`, and the table's is `{carried}`"),
            None => format!("this needs a stream of `{needed}`, and the table has none"),
        };
        let mut diagnostic = Diagnostic::new(&rules::STREAM_TOO_NARROW, span, message);
        if let Some(stream) = self.table.spans.stream {
            diagnostic = diagnostic.note(stream, "what the stream carries");
        }
        self.out
            .push(diagnostic.help("say `stream: both_images` under `table`, and have the table made with it"));
    }

    /// What expressions know of a change.
    fn change_words(&self, event: &TriggerEvent, entity: EntityId) -> Words {
        let is_carried = self.table.stream.as_deref() == Some("both_images");
        Words {
            changed: Some(Type::Row(entity)),
            before: match event {
                TriggerEvent::Update(_) if is_carried => WordPresence::Always,
                // A row may be created in a state.
                TriggerEvent::Enter(_) if is_carried => WordPresence::Maybe,
                _ => WordPresence::No,
            },
            ..Words::default()
        }
    }
}

/// What the event alone tells: an instant that came is there.
fn event_facts(event: &TriggerEvent) -> PresenceFacts {
    let mut facts = PresenceFacts::default();
    if let TriggerEvent::Reach(name) = event {
        facts.add_path(format!("row.{name}"));
    }
    facts
}

/// What the event and its `when` tell.
fn known_facts(event: &TriggerEvent, when: Option<&Expr>) -> PresenceFacts {
    let mut facts = event_facts(event);
    facts.extend(when.map_or_else(PresenceFacts::default, |when| PresenceFacts::of(when, true)));
    facts
}

/// What an expression takes from beyond the row it is computed of, and where: then it is another one when it is computed again.
pub(super) fn beyond_the_row(expr: &Expr) -> Option<(Span, &'static str)> {
    let mut found = None;
    expr.walk(&mut |part| {
        let what = match &part.kind {
            ExprKind::Now | ExprKind::Today => "the time is",
            ExprKind::Entity { .. } => "another row is",
            _ if part.is_generated() => "a new value is",
            _ => return,
        };
        found.get_or_insert((part.span, what));
    });
    found
}
