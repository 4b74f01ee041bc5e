//! What a request asks of a read, before anything is looked for.

use std::borrow::Cow;

use super::prepared::{Planned, Prepared};
use super::{Engine, Request, arguments};
use crate::cursor::{Cursor, CursorScope};
use crate::error::RuntimeError;
use crate::scope::{Attributes, Caller, Scope};

/// A request, checked.
pub(super) struct CheckedRequest<'a> {
    pub prepared: &'a Prepared,
    /// For the direction that is asked for.
    pub planned: &'a Planned,
    /// The arguments as they were sent.
    sent: Cow<'a, Attributes>,
    /// The arguments as they were sent, with the defaults of the others.
    pub args: Cow<'a, Attributes>,
    /// The instant of the first page.
    pub now: i64,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

impl<'a> CheckedRequest<'a> {
    /// What a cursor of it belongs to.
    pub fn belongs(&'a self, name: &'a str, caller: &'a Caller) -> CursorScope<'a> {
        CursorScope {
            read: name,
            plan: self.prepared.version,
            args: &self.sent,
            caller,
        }
    }
}

impl Engine {
    /// What a request asks of a read.
    ///
    /// # Errors
    ///
    /// Where it does not take these arguments or this cursor.
    pub(super) fn asked<'a>(
        &'a self,
        prepared: &'a Prepared,
        name: &str,
        request: &'a Request,
    ) -> Result<CheckedRequest<'a>, RuntimeError> {
        let read = &prepared.forward.read;
        // Before the cursor is opened: its seal is bound to the arguments in the form in which they are stored.
        let sent = arguments::checked_arguments(read, &request.args)?;
        let mut asked = CheckedRequest {
            prepared,
            planned: &prepared.forward,
            args: Cow::Borrowed(&request.args),
            sent,
            now: request.now,
            cursor: None,
        };
        if let Some(text) = &request.cursor {
            let cursor = self.sealer.open(text, &asked.belongs(name, &request.caller))?;
            // Every page is of the instant of the first, or rows would lapse and expire between two pages of one answer.
            asked.now = cursor.now;
            asked.cursor = Some(cursor);
        }
        let nothing = Attributes::new();
        let scope = Scope {
            setting: &self.setting,
            now: asked.now,
            args: &nothing,
            caller: &request.caller,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        // After the cursor: a default that looks at `now` has to be the one of the first page.
        asked.args = arguments::with_defaults(read, asked.sent.clone(), scope)?;
        asked.planned = prepared.directed(Scope {
            args: &asked.args,
            ..scope
        })?;
        Ok(asked)
    }
}
