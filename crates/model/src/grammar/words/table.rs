//! The table, its keys and indexes.

use super::super::Shape::{Either, Flag, Name, Names, Record as Map, Text, Whole, Words};
use super::super::{Record, optional, required};
use super::{NAMES, record};

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

pub(super) const STREAM_VIEWS: &[&str] = &["keys_only", "new_image", "old_image", "both_images", "none"];

pub(super) static STREAM: Record = record(
    "stream",
    "The change stream and who reads it.",
    &[
        required("images", Words(STREAM_VIEWS), "What the stream carries."),
        optional("readers", NAMES, "Who reads it, such as `lake` or `search`."),
    ],
);

pub(super) static PROVISIONED: Record = record(
    "provisioned",
    "Provisioned capacity.",
    &[
        required("read", Whole, "Read units a second, of the table alone."),
        required("write", Whole, "Write units a second, of the table alone."),
        optional(
            "indexes",
            Names("index", &Map(&INDEX_UNITS)),
            "The units of each global index; a local one takes from the table's.",
        ),
    ],
);

pub(super) static INDEX_UNITS: Record = record(
    "index units",
    "Provisioned capacity of an index.",
    &[
        required("read", Whole, "Read units a second."),
        required("write", Whole, "Write units a second."),
    ],
);

pub(super) static TABLE_CLAIM: Record = record(
    "table claim",
    "What a document says of the table.",
    &[
        optional("free_tier", Flag, "That the 25 free read and write units apply."),
        optional("read_price", Text, "Dollars for a million read units."),
        optional("write_price", Text, "Dollars for a million write units."),
        optional("month_price", Text, "Dollars a month in all, a number or a range."),
        optional("read_units", Text, "Read units a second in all, a number or a range."),
        optional("write_units", Text, "Write units a second in all, a number or a range."),
        optional("storage_gb", Text, "Gigabytes stored, a number or a range."),
    ],
);

pub(super) static TABLE_KEY: Record = record(
    "table key",
    "The attributes of the primary key.",
    &[
        required("partition", Either(&[Name, Map(&KEY_ATTRIBUTE)]), "The partition key."),
        optional("sort", Either(&[Name, Map(&KEY_ATTRIBUTE)]), "The sort key."),
    ],
);

pub(super) static KEY_ATTRIBUTE: Record = record(
    "key attribute",
    "A key attribute that is no string.",
    &[
        required("name", Name, "The attribute."),
        required("type", Words(&["string", "number", "bytes"]), "Its DynamoDB type."),
    ],
);

pub(super) static INDEX: Record = record(
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

pub(super) static INDEX_CLAIM: Record = record(
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
