//! The words of the language, record by record.

use super::Shape::{Either, Expr, Flag, List, Name, Names, Record as Map, Template, Text, Type, Whole, Words};
use super::{Field, Record, Shape, optional, required};

/// A record without names of the model's own.
const fn record(name: &'static str, doc: &'static str, fields: &'static [Field]) -> Record {
    Record {
        name,
        doc,
        fields,
        others: None,
    }
}

const NAMES: Shape = List(&Name);

/// The whole file.
pub static MODEL: Record = record(
    "model",
    "One YAML 1.2 file: the table, what is in it, what may be read and what may be written.",
    &[
        required("singlet", Whole, "The version of the language: `1`."),
        required(
            "name",
            Name,
            "The system's name: its path when served, its folder, its token audience.",
        ),
        optional(
            "zone",
            Text,
            "The time zone of `today` and of clock times, such as `Europe/Rome`; UTC unless said.",
        ),
        required("table", Map(&TABLE), "The table and its indexes."),
        optional("types", Names("type", &Either(&[Type, Map(&TYPE)])), "Named types."),
        optional("callers", Map(&CALLERS), "Who may call, and what is known of them."),
        optional(
            "settings",
            Names("setting", &Type),
            "Values given at deployment, used as `settings.name`.",
        ),
        required("entities", Names("entity", &Map(&ENTITY)), "What is stored."),
        optional(
            "steps",
            Names("step", &Map(&NAMED_STEP)),
            "Steps that several writes share.",
        ),
        optional("reads", Names("read", &Map(&READ)), "What may be read."),
        optional("writes", Names("write", &Map(&WRITE)), "What may be written."),
        optional(
            "estimates",
            Names("estimate", &Either(&[Text, Map(&ESTIMATE)])),
            "How many, how crowded, how often.",
        ),
        optional(
            "accept",
            List(&Map(&ACCEPT)),
            "Findings of the checker that the team accepts, each with its reason.",
        ),
    ],
);

/// `table`.
pub static TABLE: Record = record(
    "table",
    "The table as DynamoDB has it.",
    &[
        required("name", Text, "The table's name."),
        required("key", Map(&TABLE_KEY), "The primary key."),
        optional(
            "delimiter",
            Text,
            "One character between the parts of keys, escaped inside values; `#` unless said.",
        ),
        optional("indexes", Names("index", &Map(&INDEX)), "The secondary indexes."),
        optional(
            "type",
            Name,
            "The attribute that names the entity of a row; `none` where a design has none.",
        ),
        optional("ttl", Name, "The attribute that holds the expiry, in epoch seconds."),
        optional(
            "stream",
            Either(&[Words(STREAM_VIEWS), Map(&STREAM)]),
            "What the change stream carries.",
        ),
        optional(
            "billing",
            Either(&[Words(&["on_demand"]), Map(&PROVISIONED)]),
            "`on_demand`, or provisioned units.",
        ),
        optional(
            "recovery",
            Words(&["point_in_time", "none"]),
            "Whether the table can be restored to an instant.",
        ),
        optional(
            "claim",
            Map(&TABLE_CLAIM),
            "What a document says of the table: compared with the facts.",
        ),
    ],
);

const STREAM_VIEWS: &[&str] = &["keys_only", "new_image", "old_image", "both_images", "none"];

static STREAM: Record = record(
    "stream",
    "The change stream and who reads it.",
    &[
        required("images", Words(STREAM_VIEWS), "What the stream carries."),
        optional("readers", NAMES, "Who reads it, such as `lake` or `search`."),
    ],
);

static PROVISIONED: Record = record(
    "provisioned",
    "Provisioned capacity.",
    &[
        required("read", Whole, "Read units a second."),
        required("write", Whole, "Write units a second."),
    ],
);

static TABLE_CLAIM: Record = record(
    "table claim",
    "What a document says of the table.",
    &[
        optional("free_tier", Flag, "That the 25 free read and write units apply."),
        optional("read_price", Text, "Dollars for a million read units."),
        optional("write_price", Text, "Dollars for a million write units."),
    ],
);

static TABLE_KEY: Record = record(
    "table key",
    "The attributes of the primary key.",
    &[
        required("partition", Either(&[Name, Map(&KEY_ATTRIBUTE)]), "The partition key."),
        optional("sort", Either(&[Name, Map(&KEY_ATTRIBUTE)]), "The sort key."),
    ],
);

static KEY_ATTRIBUTE: Record = record(
    "key attribute",
    "A key attribute that is no string.",
    &[
        required("name", Name, "The attribute."),
        required("type", Words(&["string", "number", "bytes"]), "Its DynamoDB type."),
    ],
);

static INDEX: Record = record(
    "index",
    "A secondary index.",
    &[
        optional(
            "partition",
            Either(&[Name, NAMES, Map(&KEY_ATTRIBUTE)]),
            "The partition key: one attribute, or up to four.",
        ),
        optional(
            "sort",
            Either(&[Name, NAMES, Map(&KEY_ATTRIBUTE)]),
            "The sort key: one attribute, or up to four.",
        ),
        optional("local", Flag, "A local index: it shares the table's partition key."),
        optional(
            "project",
            Either(&[Words(&["all", "keys"]), NAMES]),
            "What entries carry: `all` unless said, `keys`, or a list.",
        ),
        optional("claim", Map(&INDEX_CLAIM), "What a document says of the index."),
    ],
);

static INDEX_CLAIM: Record = record(
    "index claim",
    "What a document says of an index.",
    &[
        optional("unique", Flag, "That it makes a value unique."),
        optional(
            "backfilled",
            Flag,
            "That rows from before the index appear in it by themselves.",
        ),
    ],
);

static TYPE: Record = record(
    "type",
    "A named type.",
    &[
        optional("enum", NAMES, "The words; their order is their rank."),
        optional(
            "object",
            Names("field", &Either(&[Type, Map(&ATTRIBUTE)])),
            "The fields.",
        ),
    ],
);

static CALLERS: Record = record(
    "callers",
    "Who may call.",
    &[
        optional(
            "jwt",
            Map(&JWT),
            "Signed tokens; keys and issuer come from configuration.",
        ),
        optional("api_key", Map(&API_KEY), "API keys."),
        optional("rate", Text, "Requests per caller, such as `100/min`."),
    ],
);

static JWT: Record = record(
    "jwt",
    "What a token must say.",
    &[
        required("audience", Text, "The audience that tokens must name."),
        required(
            "claims",
            Names("claim", &Text),
            "Names used as `caller.name`, and the token's claim of each.",
        ),
    ],
);

static API_KEY: Record = record(
    "api_key",
    "Where the key stands, and the roles it may have.",
    &[
        required("header", Text, "The header."),
        optional("roles", NAMES, "The roles, as `caller.role` has them."),
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
            Names("guard", &Expr),
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
        optional("claim", Map(&ENTITY_CLAIM), "What a document says of the entity."),
    ],
);

static ENTITY_CLAIM: Record = record(
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
    ],
    others: None,
};

static STATES: Record = record(
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

static HISTORY: Record = record(
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

static NAMED_STEP: Record = record(
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

const RETURN: Shape = Either(&[Expr, Names("field", &Expr)]);

/// A read.
pub static READ: Record = record(
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
            "order",
            Text,
            "Attributes by which the rows come, `-` before one that descends.",
        ),
        optional("reverse", Expr, "Whether the order is turned round."),
        optional("with", Names("group", &Map(&READ_PART)), "Rows that come with it."),
        optional("pages", Name, "Which `with` list the pages are of."),
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
pub static READ_PART: Record = record(
    "with",
    "Rows that come with another row, or with the answer.",
    &[
        optional("get", Text, "One row; `Entity?` where it may be missing."),
        optional("find", Name, "Rows."),
        optional("count", Name, "How many rows."),
        optional("by", Either(&[Name, NAMES]), "Counts per value."),
        optional("sum", Names("field", &Expr), "Sums beside a count."),
        optional("where", Expr, "Which rows; `row` is the row that they come with."),
        optional("order", Text, "The order."),
        optional("limit", Whole, "Rows in all."),
        optional("allow", Expr, "Who may, where it differs from the read's own."),
    ],
);

static LET_READ: Record = record(
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

static EACH: Record = Record {
    name: "each",
    doc: "A name and a bounded list.",
    fields: &[required(
        "at_most",
        Whole,
        "The most elements that a caller may ask for.",
    )],
    others: Some(("name", &Expr)),
};

static USING: Record = record(
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

static COMPARISON: Record = record(
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

static CLAIM: Record = record(
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

/// A write.
pub static WRITE: Record = record(
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
        required("allow", Expr, "Who may."),
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
            "bulk",
            Flag,
            "More than a transaction holds: chunks in order, resumable, safe to run twice.",
        ),
        optional("after", Names("event", &Text), "Runs after a change; not yet."),
        optional("every", Text, "Runs on a schedule; not yet."),
        optional("claim", Map(&CLAIM), "What a document says of it."),
    ],
);

static IDEMPOTENCY: Record = record(
    "idempotency",
    "How a retry is told from a new request.",
    &[
        optional("required", Flag, "Whether the header must be there."),
        optional("replay", Whole, "The status of a replayed answer."),
        optional("key", Expr, "The caller's own id in place of the header."),
    ],
);

const ASSIGNMENTS: Shape = Names("attribute", &Expr);
const TAKEN: Shape = Either(&[List(&Text)]);

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

static MOVE_TO: Record = record(
    "move",
    "A move by its goal.",
    &[required("to", Expr, "The state to be in.")],
);

static USING_CALL: Record = record(
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

static ESTIMATE: Record = record(
    "estimate",
    "How many rows, and how crowded their partitions are.",
    &[
        optional("items", Whole, "How many rows."),
        optional(
            "per",
            Names("attribute", &Whole),
            "How many rows share a value of the attribute.",
        ),
        optional("bytes", Whole, "The usual size of a row."),
        optional(
            "top_share",
            Text,
            "The share of all traffic that the busiest key gets, such as `0.2`.",
        ),
        optional("rate", Text, "How often, such as `40/s`."),
    ],
);

static ACCEPT: Record = record(
    "accept",
    "A finding that the team accepts.",
    &[
        required("rule", Name, "The rule's name or code."),
        required(
            "at",
            Text,
            "What the finding is about: `Booking`, `Booking.GSI1`, `createTask`, `table`.",
        ),
        required("why", Text, "The reason."),
    ],
);

/// Every record, for the schema and the reference.
pub static RECORDS: &[&Record] = &[
    &MODEL,
    &TABLE,
    &TABLE_KEY,
    &KEY_ATTRIBUTE,
    &INDEX,
    &INDEX_CLAIM,
    &STREAM,
    &PROVISIONED,
    &TABLE_CLAIM,
    &TYPE,
    &CALLERS,
    &JWT,
    &API_KEY,
    &ENTITY,
    &ENTITY_CLAIM,
    &KEY,
    &ATTRIBUTE,
    &STATES,
    &HISTORY,
    &NAMED_STEP,
    &READ,
    &READ_PART,
    &LET_READ,
    &EACH,
    &USING,
    &COMPARISON,
    &CLAIM,
    &WRITE,
    &IDEMPOTENCY,
    &STEP,
    &MOVE_TO,
    &USING_CALL,
    &ESTIMATE,
    &ACCEPT,
];
