//! What a word names, by the field in which it stands.

/// What the words of a field name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldMeaning {
    /// An entity.
    Entity,
    /// An entity, or an attribute or state of one: `Task.status`.
    EntityPath,
    /// Attributes of the entity that is read or written there.
    Attributes,
    /// An index.
    Index,
    /// A tally.
    Tally,
    /// A move of the states of the entity that is written.
    Move,
    /// Arguments.
    Arguments,
    /// A route, with arguments in braces and behind `?`.
    Route,
    /// A condition with `else` and a refusal.
    Requirement,
    /// A rule of the checker.
    Rule,
    /// What a finding is about: `Booking.GSI1`, `createTask`.
    Subject,
    /// A state with the instant at which it ends: `available at reservedUntil`.
    Lapse,
}

/// What the words of a field of a record name; nothing, where they name nothing of the model.
pub(crate) fn field_meaning(record: &str, field: &str) -> Option<FieldMeaning> {
    Some(match (record, field) {
        ("read" | "with" | "let", "get" | "find" | "count")
        | ("tally", "count")
        | ("step", "create")
        | ("entity", "mirrors")
        | ("entity claim", "together")
        | ("after", "create" | "delete" | "expire") => FieldMeaning::Entity,
        ("after", "update" | "enter" | "reach") => FieldMeaning::EntityPath,
        ("read" | "with" | "let", "order" | "by" | "highlight")
        | ("states", "of")
        | ("history", "at" | "until" | "tombstone")
        | ("entity", "carries")
        | ("entity claim", "unique")
        | ("attribute", "by")
        | ("step", "take" | "patch")
        | ("using call", "set")
        | ("model", "search") => FieldMeaning::Attributes,
        ("read" | "using", "index") => FieldMeaning::Index,
        ("read" | "with", "tally") => FieldMeaning::Tally,
        ("step", "move") => FieldMeaning::Move,
        ("read", "combinations") => FieldMeaning::Arguments,
        ("read" | "write", "http") => FieldMeaning::Route,
        ("write" | "step", "require") => FieldMeaning::Requirement,
        ("accept", "rule") => FieldMeaning::Rule,
        ("accept", "at") => FieldMeaning::Subject,
        ("states", "lapse") => FieldMeaning::Lapse,
        _ => return None,
    })
}

/// The fields whose value says which entity's rows are meant beside them.
pub(crate) const ENTITY_FIELDS: &[&str] = &[
    "get", "find", "count", "create", "update", "upsert", "delete", "present", "absent", "mirrors",
];

/// The fields of a step that changes rows.
pub(crate) const STEP_FIELDS: &[&str] = &["create", "update", "upsert", "delete", "present", "absent"];

/// The name that a value such as `Task`, `Task?` or `Task(caller.id)` begins with.
pub(crate) fn first_name(text: &str) -> &str {
    let text = text.trim_start_matches(['"', '\'', ' ', '[', '-']);
    let end = text.find(|char: char| !char.is_alphanumeric() && char != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}
