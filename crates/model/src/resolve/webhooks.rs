//! Webhooks: after which change, to whom, and what is told.

use super::{Resolver, is_identifier};
use crate::diagnostic::Diagnostic;
use crate::expression::{self, Expr, Scope};
use crate::model::{Entity, Webhook, Write, has_room_for_timers};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::types::Type;

impl Resolver<'_> {
    pub(super) fn webhooks(&mut self, node: Option<&Node>, entities: &[Entity], writes: &[Write]) -> Vec<Webhook> {
        let entries = node.map_or(&[][..], Node::entries).iter();
        let entries = entries.filter(|entry| entry.value.is_map());
        entries
            .filter_map(|entry| self.webhook(entry, entities, writes))
            .collect()
    }

    fn webhook(&mut self, entry: &Entry, entities: &[Entity], writes: &[Write]) -> Option<Webhook> {
        self.check_webhook_name(entry, writes);
        let node = &entry.value;
        let after = node.entry("after")?;
        if let Some(args) = after.value.entry("args") {
            let message = "`args` has no effect here: there is no write that would take them";
            self.bad_webhook(args.key.span, message, "say what is told under `send`");
        }
        if let Some(otherwise) = after.value.entry("else") {
            let message =
                "`else` has no effect here: no rule refuses what is told, and what is not taken is sent again";
            self.bad_webhook(otherwise.key.span, message, "remove it");
        }
        if !has_room_for_timers(&self.table, entities) {
            let message = "what is still to be told lies in the table by its instant, and the table has no sort key of text for it";
            self.bad_webhook(entry.key.span, message, "give the table a sort key");
            return None;
        }
        let head = self.trigger_head(node, entities)?;
        let after = self.told_change(head, node.get("send").map_or(&[][..], Node::entries));
        let to = self.address(node.get("to")?);
        Some(Webhook {
            name: entry.key.text.clone(),
            span: entry.key.span,
            after,
            to,
        })
    }

    /// The name stands in events, among those of writes, and in what operators say.
    fn check_webhook_name(&mut self, entry: &Entry, writes: &[Write]) {
        let name = &entry.key.text;
        let span = entry.key.span;
        if !name.is_ascii() || !is_identifier(name) {
            let message = format!("`{name}` cannot be the type of an event");
            let help = "names of webhooks begin with a letter and have letters, digits and `_`, without accents";
            self.bad_webhook(span, &message, help);
        }
        if writes.iter().any(|write| write.name == *name) {
            let message = format!("`{name}` is a write, and a webhook");
            self.bad_webhook(span, &message, "give the webhook another name");
        }
    }

    /// The address: a text of settings alone, since whoever may write rows must not choose whom the service calls.
    fn address(&mut self, node: &Node) -> Expr {
        let Some(text) = node.text() else {
            return Expr::invalid_at(node.span());
        };
        let scope = Scope {
            settings: &self.names.settings,
            ..Scope::new(&self.names.catalog)
        };
        let expr = expression::check_expression(text, &scope, None, self.out);
        if !expr.is_invalid() && !matches!(expr.ty, Type::Text(_) | Type::Unknown) {
            let message = format!("an address is text, and this is {}", expr.ty);
            self.bad_webhook(
                expr.span,
                &message,
                "name a setting: `settings: {hookUrl: string?}` and `to: settings.hookUrl`",
            );
        }
        expr
    }

    fn bad_webhook(&mut self, span: Span, message: &str, help: &str) {
        self.out
            .push(Diagnostic::new(&rules::BAD_WEBHOOK, span, message).help(help));
    }
}
