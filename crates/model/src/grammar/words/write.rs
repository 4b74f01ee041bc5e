//! Writes, their steps, and named steps.

use super::super::Shape::{Either, Expr, Flag, List, Name, Names, Record as Map, Text, Type, Whole, Words};
use super::super::{Record, Shape, optional, required};
use super::entity::ATTRIBUTE;
use super::read::{CLAIM, LET_READ, RETURN};
use super::{NAMES, record};

pub(super) static NAMED_STEP: Record = record(
    "named step",
    "Steps under a name, with arguments.",
    &[
        optional(
            "args",
            Names("argument", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The arguments.",
        ),
        required("do", List(&Map(&STEP)), "The steps."),
    ],
);

/// A write.
pub(crate) static WRITE: Record = record(
    "write",
    "One business operation: one transaction, or one conditional call.",
    &[
        optional("http", Text, "The route: `POST /path/{x} -> 201`."),
        optional(
            "args",
            Names("argument", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The arguments that are neither in the path nor taken.",
        ),
        optional(
            "let",
            Names("name", &Either(&[Expr, Map(&LET_READ)])),
            "Names for values and for rows.",
        ),
        optional("allow", Expr, "Who may; required, except where nobody calls the write."),
        optional(
            "require",
            List(&Text),
            "What must hold: `EXPRESSION else [STATUS] NAME(shown = value)`.",
        ),
        required("do", List(&Map(&STEP)), "The steps; all of them happen at once."),
        optional("return", RETURN, "The answer; the first row written unless said."),
        optional(
            "idempotency",
            Either(&[Text, Map(&IDEMPOTENCY)]),
            "`optional` unless said; `required`, `none`, or the caller's own id.",
        ),
        optional(
            "if_match",
            Words(&["required"]),
            "Over HTTP, `If-Match` must say which version of the row is changed.",
        ),
        optional("was", Name, "The name that it had before."),
        optional(
            "bulk",
            Flag,
            "More than a transaction holds: chunks in order, resumable, safe to run twice.",
        ),
        optional("after", Map(&AFTER), "The change after which it runs by itself."),
        optional("when", Expr, "With `after`: of the change alone, whether it runs."),
        optional(
            "every",
            Text,
            "When it runs by the clock: `15min`, `1h`, `day at 03:30`, `monday at 07:00`.",
        ),
        optional("claim", Map(&CLAIM), "What a document says of it."),
    ],
);

pub(super) static AFTER: Record = record(
    "after",
    "The change of a row after which a write runs; one of these, and its arguments.",
    &[
        optional("create", Name, "A row of the entity was created."),
        optional(
            "update",
            Text,
            "A row was updated: `Task`, or only where an attribute differs, `Task.status`.",
        ),
        optional("delete", Name, "A row was deleted."),
        optional(
            "enter",
            Text,
            "A row came to a state, or was created in it: `Item.given`.",
        ),
        optional("expire", Name, "A row expired."),
        optional("reach", Text, "An instant of a row came: `Task.remindAt`."),
        optional(
            "args",
            Names("argument", &Expr),
            "The arguments of the write, from `row` and `before`.",
        ),
        optional(
            "else",
            Words(&["retry"]),
            "`retry`: what a rule refuses is tried again later; a refusal is an outcome unless said.",
        ),
    ],
);

pub(super) static WEBHOOK: Record = record(
    "webhook",
    "What another system is told after a change of a row.",
    &[
        required(
            "after",
            Map(&AFTER),
            "The change after which it is told, without `args`.",
        ),
        optional("when", Expr, "Of the change alone, whether it is told."),
        required(
            "to",
            Expr,
            "The address, such as `settings.reservationsUrl`; where it is absent, nobody is told.",
        ),
        required(
            "send",
            Names("field", &Expr),
            "What is told, from `row` and `before`: the fields of `data`.",
        ),
    ],
);

pub(super) static IDEMPOTENCY: Record = record(
    "idempotency",
    "How a retry is told from a new request.",
    &[
        optional("required", Flag, "Whether the header must be there."),
        optional("replay", Whole, "The status of a replayed answer."),
        optional("key", Expr, "The caller's own id in place of the header."),
    ],
);

pub(super) const ASSIGNMENTS: Shape = Names("attribute", &Expr);

pub(super) const TAKEN: Shape = Either(&[List(&Text)]);

/// A step of a write.
pub static STEP: Record = Record {
    name: "step",
    doc: "One change; or a name under `steps` with its arguments.",
    fields: &[
        optional("create", Name, "A new row; there must be none."),
        optional("update", Expr, "A row that must be there."),
        optional("delete", Expr, "A row that must be there."),
        optional("upsert", Expr, "A create where the row is absent, else an update."),
        optional("present", Expr, "A row that must be there, and is not changed."),
        optional("absent", Expr, "A row that must not be there."),
        optional("when", Expr, "Only if."),
        optional(
            "for",
            Names("name", &Either(&[Expr, Map(&LET_READ)])),
            "Once for each element.",
        ),
        optional("do", List(&Map(&STEP)), "Several steps under one `when` or `for`."),
        optional("as", Name, "A name for the row as it becomes."),
        optional("set", ASSIGNMENTS, "New values; `absent` removes."),
        optional("add", ASSIGNMENTS, "Numbers to add, elements to add to sets."),
        optional("remove", ASSIGNMENTS, "Elements to remove from sets."),
        optional("append", ASSIGNMENTS, "Elements to append to lists."),
        optional(
            "take",
            TAKEN,
            "Attributes that become arguments; `name!` where required here.",
        ),
        optional(
            "patch",
            TAKEN,
            "Attributes that become optional arguments; null clears.",
        ),
        optional("from", Expr, "The element that `take` takes from."),
        optional("move", Either(&[Name, Map(&MOVE_TO)]), "A move of the entity's states."),
        optional("rekey", Flag, "Allows a change of the primary key."),
        optional("require", List(&Text), "What must hold of the row."),
        optional(
            "else",
            Either(&[Text, Names("cause", &Text)]),
            "The refusal's name, or one for each cause.",
        ),
        optional("using", Map(&USING_CALL), "The call that a document names."),
    ],
    others: Some(("argument", &Either(&[Names("argument", &Expr), Text]))),
};

pub(super) static MOVE_TO: Record = record(
    "move",
    "A move by its goal.",
    &[required("to", Expr, "The state to be in.")],
);

pub(super) static USING_CALL: Record = record(
    "using call",
    "The call that a document names for a step.",
    &[
        required(
            "call",
            Words(&[
                "PutItem",
                "UpdateItem",
                "DeleteItem",
                "BatchWriteItem",
                "TransactWriteItems",
            ]),
            "The call.",
        ),
        optional("set", NAMES, "The attributes that it sets."),
        optional("condition", Flag, "Whether it has a condition."),
    ],
);
