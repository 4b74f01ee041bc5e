//! Entities: attributes, keys, promises, and named types.

use super::super::Shape::{Either, Expr, Flag, List, Name, Names, Record as Map, Template, Text, Type, Words};
use super::super::{Record, optional, required};
use super::{NAMES, record};

pub(super) static TYPE: Record = record(
    "type",
    "A named type.",
    &[
        optional("enum", NAMES, "The words; their order is their rank."),
        optional(
            "was",
            Names("member", &Name),
            "Members of `enum` that had other names before, each with that name.",
        ),
        optional(
            "object",
            Names("field", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The fields.",
        ),
    ],
);

/// An entity.
pub static ENTITY: Record = record(
    "entity",
    "A kind of row: its attributes, its keys, and what it promises.",
    &[
        optional(
            "attributes",
            Names("attribute", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The attributes.",
        ),
        optional(
            "key",
            Either(&[Map(&KEY), List(&Map(&KEY))]),
            "A template for each attribute of the primary key; may be left out where attributes are the key.",
        ),
        optional(
            "index",
            Names(
                "index",
                &Either(&[Words(&["own", "none"]), Map(&KEY), List(&Map(&KEY))]),
            ),
            "Its entry in each index.",
        ),
        optional(
            "unique",
            Names("guard", &Either(&[Expr, Map(&GUARD)])),
            "Values that no two rows may share: guard rows are claimed and released with the entity.",
        ),
        optional(
            "states",
            Map(&STATES),
            "The states of an attribute and the moves between them.",
        ),
        optional(
            "expires",
            Expr,
            "When the row ends, or `absent`; past it the row is absent to every read and write.",
        ),
        optional("history", Map(&HISTORY), "Write-once versions."),
        optional("excludes", Expr, "Rows that must not exist beside this one."),
        optional(
            "mirrors",
            Name,
            "The entity of which this is another row: written, changed, lapsed and removed with it.",
        ),
        optional(
            "carries",
            Either(&[Words(&["all"]), NAMES]),
            "The attributes that a mirror carries.",
        ),
        optional(
            "role",
            Words(&["idempotency"]),
            "What the model itself uses the entity for.",
        ),
        optional(
            "shares",
            Name,
            "A name for entities that share one key space on purpose.",
        ),
        optional("was", Name, "The name that it had before."),
        optional("claim", Map(&ENTITY_CLAIM), "What a document says of the entity."),
    ],
);

pub(super) static GUARD: Record = record(
    "guard",
    "A value that no two rows may share, where its formula alone does not say all.",
    &[
        required("is", Expr, "The value."),
        optional("was", Name, "The name that it had before."),
    ],
);

pub(super) static ENTITY_CLAIM: Record = record(
    "entity claim",
    "What a document says of an entity.",
    &[
        optional("unique", Either(&[Name, NAMES]), "Attributes that it calls unique."),
        optional(
            "together",
            Either(&[Name, NAMES]),
            "Entities that it says are read with this one in one query.",
        ),
        optional("versioned", Flag, "That updates are guarded by a version."),
        optional(
            "swept_by_ttl",
            Expr,
            "The condition under which it counts on the TTL to remove the row in time.",
        ),
    ],
);

/// A set of key templates.
pub static KEY: Record = Record {
    name: "key",
    doc: "A template for each key attribute.",
    fields: &[optional(
        "when",
        Expr,
        "The templates hold for rows of which this is true; the first that holds.",
    )],
    others: Some(("key attribute", &Template)),
};

/// An attribute in its long form.
pub static ATTRIBUTE: Record = Record {
    name: "attribute",
    doc: "An attribute, where its type alone does not say all.",
    fields: &[
        optional("type", Type, "The type, as the short form has it."),
        optional(
            "is",
            Expr,
            "A computed value, stored; one attribute's name alone is an alias, never stored.",
        ),
        optional("always", Expr, "A value that every write sets."),
        optional("fixed", Flag, "Never changes after the create."),
        optional(
            "stored",
            Name,
            "The name under which it is stored; `none`: only in the key.",
        ),
        optional(
            "copy",
            Expr,
            "A copy of another row's attribute, such as `Item(ItemId).Name`.",
        ),
        optional(
            "kept",
            Words(&["transaction", "stream", "frozen"]),
            "How the copy follows its source.",
        ),
        optional("found", Expr, "Which rows hold copies of `source`."),
        optional(
            "object",
            Names("field", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The fields of an object.",
        ),
        optional("enum", NAMES, "The words of an enum used only here."),
        optional("in", List(&Text), "The only values."),
        optional("optional", Flag, "With `object` or `enum`: may be absent."),
        optional("by", Name, "The attribute that decides which type the value has."),
        optional(
            "personal",
            Words(&["true", "false", "hashed", "omitted", "readable"]),
            "Whether it tells of a person, and how it stands in a lake: `true` is `hashed`.",
        ),
        optional(
            "was",
            Either(&[Name, Names("member", &Name)]),
            "The name that it had before; with `enum`, a map of members and the names that they had.",
        ),
        optional(
            "fill",
            Expr,
            "What rows get that were stored before it was there: a formula of the row.",
        ),
    ],
    others: None,
};

pub(super) static STATES: Record = record(
    "states",
    "A state machine.",
    &[
        required("of", Name, "The attribute, an enum."),
        required("start", Name, "The state of a new row."),
        required("moves", Names("move", &Text), "Each move: `pending | active -> done`."),
        optional(
            "while",
            Names("state", &Names("attribute", &Expr)),
            "Attributes set on entering a state and cleared on leaving it.",
        ),
        optional(
            "lapse",
            Names("state", &Text),
            "States that end by time: `available at reservedUntil`.",
        ),
    ],
);

pub(super) static HISTORY: Record = record(
    "history",
    "Write-once versions: an update writes the next and closes the last.",
    &[
        required(
            "at",
            Name,
            "The attribute that holds a version's instant: part of the primary key.",
        ),
        required(
            "until",
            Name,
            "The attribute that holds the instant of the next version.",
        ),
        optional("tombstone", Name, "The attribute that marks a deletion."),
        optional(
            "same",
            Words(&["keep", "again"]),
            "Whether an update that changes nothing makes a version.",
        ),
    ],
);
