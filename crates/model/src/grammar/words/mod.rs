//! The words of the language, record by record.

mod entity;
mod read;
mod search;
mod table;
mod tally;
mod write;

pub use entity::{ATTRIBUTE, ENTITY, KEY};
pub(crate) use read::{READ, READ_PART};
pub use table::TABLE;
pub use write::STEP;
pub(crate) use write::WRITE;

use super::Shape::{Either, Flag, List, Name, Names, Record as Map, Text, Type, Whole, Words};
use super::{Field, Record, Shape, optional, required};
use entity::{ENTITY_CLAIM, GUARD, HISTORY, STATES, TYPE};
use read::{CLAIM, COMPARISON, EACH, LET_READ, USING};
use search::SEARCHED;
use table::{INDEX, INDEX_CLAIM, INDEX_UNITS, KEY_ATTRIBUTE, PROVISIONED, STREAM, TABLE_CLAIM, TABLE_KEY};
use tally::TALLY;
use write::{AFTER, IDEMPOTENCY, MOVE_TO, NAMED_STEP, USING_CALL, WEBHOOK};

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
            "tallies",
            Names("tally", &Map(&TALLY)),
            "Counts and sums that are kept as rows change.",
        ),
        optional(
            "search",
            Names("entity", &Either(&[NAMES, Map(&SEARCHED)])),
            "Entities whose rows are found by words, each with the attributes that have them; a read says `matching`.",
        ),
        optional(
            "webhooks",
            Names("webhook", &Map(&WEBHOOK)),
            "What other systems are told after changes.",
        ),
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
            Names("claim", &Either(&[Text, List(&Text), Map(&CALLER_CLAIM)])),
            "Names used as `caller.name`, and where each stands in a token: `sub`, `realm_access.roles`, or the steps as a list.",
        ),
        optional(
            "audience_in",
            Words(&["aud", "azp", "client_id"]),
            "The claim that names the audience; `aud` unless said, and `client_id` of a Cognito access token, which has no `aud`.",
        ),
        optional(
            "token_use",
            Words(&["id", "access"]),
            "What tokens must say they are for, by Cognito's `token_use`, Keycloak's `typ` or the type `at+jwt`. Unless said, any that may call.",
        ),
    ],
);

static CALLER_CLAIM: Record = record(
    "caller claim",
    "A claim that is more than one text.",
    &[
        required("claim", Either(&[Text, List(&Text)]), "Where it stands in a token."),
        optional(
            "type",
            Type,
            "What it must be: `list(string)`, `bool`, `int`. A token that has something else there says nothing.",
        ),
        optional(
            "words",
            Flag,
            "The token has it as one text with spaces between its words, as `scope` is; here it is the list of them.",
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
            "shares",
            Names("attribute", &Names("value", &Text)),
            "The share of the rows that have a value: of members of an enum, `true`, `false`, `absent`.",
        ),
        optional(
            "top_share",
            Text,
            "The share of all traffic that the busiest key gets, such as `0.2`.",
        ),
        optional("rate", Text, "How often on average, such as `40/s` or `500000/month`."),
        optional("peak", Text, "How often at the busiest time, such as `200/s`."),
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
    &INDEX_UNITS,
    &TABLE_CLAIM,
    &TYPE,
    &CALLERS,
    &JWT,
    &CALLER_CLAIM,
    &API_KEY,
    &ENTITY,
    &GUARD,
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
    &AFTER,
    &WEBHOOK,
    &IDEMPOTENCY,
    &STEP,
    &MOVE_TO,
    &USING_CALL,
    &TALLY,
    &SEARCHED,
    &ESTIMATE,
    &ACCEPT,
];
