//! Reads, and what they share with writes.

use super::super::Shape::{Either, Expr, Flag, List, Name, Names, Record as Map, Template, Text, Type, Whole, Words};
use super::super::{Record, Shape, optional, required};
use super::entity::ATTRIBUTE;
use super::{NAMES, record};

pub(super) const RETURN: Shape = Either(&[Expr, Names("field", &Expr)]);

/// A read.
pub(crate) static READ: Record = record(
    "read",
    "One access pattern, stated as what it means.",
    &[
        optional(
            "get",
            Text,
            "One row of an entity, or 404; `Entity?` where it may be missing.",
        ),
        optional("find", Either(&[Name, NAMES]), "Rows of an entity, in pages."),
        optional("count", Name, "How many rows."),
        optional("tally", Name, "The figures of a tally, as they were kept."),
        optional(
            "by",
            Either(&[Name, NAMES]),
            "Counts per value; on `find`, each group once.",
        ),
        optional("sum", Names("field", &Expr), "Sums beside a count."),
        optional(
            "args",
            Names("argument", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The arguments that are not in the path.",
        ),
        optional(
            "let",
            Names("name", &Either(&[Expr, Map(&LET_READ)])),
            "Names for values and for rows.",
        ),
        optional("each", Map(&EACH), "One answer for each element of a bounded list."),
        optional("where", Expr, "The meaning: which rows."),
        optional(
            "matching",
            Expr,
            "A text whose words the rows have, the best match first.",
        ),
        optional(
            "highlight",
            Either(&[Flag, NAMES]),
            "With `matching`: attributes that are shown with what was found in them; `true`: all that are searched.",
        ),
        optional(
            "order",
            Text,
            "Attributes by which the rows come, `-` before one that descends.",
        ),
        optional("reverse", Expr, "Whether the order is turned round."),
        optional("with", Names("group", &Map(&READ_PART)), "Rows that come with it."),
        optional("pages", Name, "Which `with` list the pages are of."),
        optional(
            "bare",
            Flag,
            "Over HTTP, rows as a bare array; the next page is in the `Link` header alone.",
        ),
        optional("return", RETURN, "The shape of the answer."),
        required(
            "allow",
            Expr,
            "Who may; what it says about the row is part of the meaning.",
        ),
        optional("http", Text, "The route: `GET /path/{x}?y={y}`."),
        optional("at", Expr, "The instant of the version, for an entity with history."),
        optional("versions", Words(&["all"]), "All versions of an entity with history."),
        optional("consistent", Flag, "Reads strongly."),
        optional("together", Flag, "Reads all of it in one transaction."),
        optional("scan", Text, "Why reading the whole table is right here."),
        optional(
            "index",
            Name,
            "The index that its rows are read from, whatever is cheaper.",
        ),
        optional("limit", Whole, "Rows in all."),
        optional("page", Whole, "Rows in a page."),
        optional("empty", Whole, "The status when there is no row: `404`."),
        optional(
            "combinations",
            List(&List(&Name)),
            "Which optional arguments may be sent together.",
        ),
        optional("budget", Text, "An assertion: `2 read units`."),
        optional("requests", Text, "An assertion, `1`; or a stop, `..5`."),
        optional(
            "using",
            Map(&USING),
            "A key condition written by hand, as documents have it: compared with the meaning.",
        ),
        optional("claim", Map(&CLAIM), "What a document says it costs."),
    ],
);

/// A read inside another.
pub(crate) static READ_PART: Record = record(
    "with",
    "Rows that come with another row, or with the answer.",
    &[
        optional("get", Text, "One row; `Entity?` where it may be missing."),
        optional("find", Name, "Rows."),
        optional("count", Name, "How many rows."),
        optional("tally", Name, "The figures of a tally, as they were kept."),
        optional("by", Either(&[Name, NAMES]), "Counts per value."),
        optional("sum", Names("field", &Expr), "Sums beside a count."),
        optional("where", Expr, "Which rows; `row` is the row that they come with."),
        optional("order", Text, "The order."),
        optional("limit", Whole, "Rows in all."),
        optional("allow", Expr, "Who may, where it differs from the read's own."),
    ],
);

pub(super) static LET_READ: Record = record(
    "let",
    "A row found by what is known of it.",
    &[
        optional("get", Text, "One row; `Entity?` where it may be missing."),
        optional("find", Name, "Rows."),
        optional("where", Expr, "Which."),
        optional("order", Text, "The order."),
        optional("limit", Whole, "Rows in all."),
        optional("consistent", Flag, "Reads strongly."),
    ],
);

pub(super) static EACH: Record = Record {
    name: "each",
    doc: "A name and a bounded list.",
    fields: &[required(
        "at_most",
        Whole,
        "The most elements that a caller may ask for.",
    )],
    others: Some(("name", &Expr)),
};

pub(super) static USING: Record = record(
    "using",
    "A condition written by hand.",
    &[
        optional("index", Name, "The index; the table unless said."),
        optional(
            "key",
            Names("key attribute", &Either(&[Template, Map(&COMPARISON)])),
            "An equality, or one comparison, for each key attribute.",
        ),
        optional("filter", Expr, "The filter after it."),
        optional("limit", Whole, "`Limit`: rows evaluated before the filter."),
        optional("descending", Flag, "`ScanIndexForward = false`."),
        optional("queries", Whole, "How many such queries cover the meaning."),
    ],
);

pub(super) static COMPARISON: Record = record(
    "comparison",
    "One comparison of a sort key.",
    &[
        optional("=", Template, "Equal."),
        optional("<", Template, "Before."),
        optional("<=", Template, "Before or equal."),
        optional(">", Template, "After."),
        optional(">=", Template, "After or equal."),
        optional("begins_with", Template, "With this prefix."),
        optional("between", List(&Template), "From, to, both included."),
    ],
);

pub(super) static CLAIM: Record = record(
    "claim",
    "What a document says.",
    &[
        optional("read", Text, "Read units, a number or a range."),
        optional("write", Text, "Write units, a number or a range."),
        optional("atomic", Flag, "That all of it happens or nothing."),
        optional("one_query", Flag, "That one query answers it."),
        optional("idempotent", Flag, "That a retry does no harm."),
    ],
);
