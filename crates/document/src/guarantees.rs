//! What the model promises beyond single operations, and which findings the team lives with.

use singlet_model::Model;
use singlet_model::model::{Entity, IdempotencyNeed, Kept, Role};
use singlet_model::types::Type;

use crate::escape::{escape_markdown, inline_code};
use crate::table::MarkdownTable;
use crate::text;

/// How a copy follows its source, in words.
pub(crate) fn keeping_words(kept: Kept) -> &'static str {
    match kept {
        Kept::Transaction => "kept in the transaction that changes its source",
        Kept::Stream => "kept through the change stream, a moment later",
        Kept::Frozen => "frozen: the value of then, on purpose",
        Kept::Unsaid => "kept by nothing",
    }
}

/// The promises, one a row.
pub(crate) fn guarantee_table(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Promise", "Of", "What holds"]);
    for entity in &model.entities {
        for (promise, what) in of_entity(model, entity) {
            table.row(vec![promise.to_owned(), inline_code(&entity.name), what]);
        }
    }
    for (need, promise) in [
        (
            IdempotencyNeed::Required,
            "An idempotency key must be sent, and a retry gets the first answer",
        ),
        (
            IdempotencyNeed::Optional,
            "With an idempotency key, a retry gets the first answer",
        ),
        (IdempotencyNeed::None, "No idempotency key is taken"),
    ] {
        let called = model.writes.iter().filter(|write| !write.is_uncalled());
        let writes = called.filter(|write| write.idempotency.need == need);
        let names: Vec<String> = writes.map(|write| inline_code(&write.name)).collect();
        if !names.is_empty() {
            table.row(vec!["idempotency".to_owned(), names.join(", "), promise.to_owned()]);
        }
    }
    let uncalled = model.writes.iter().filter(|write| write.is_uncalled());
    let names: Vec<String> = uncalled.map(|write| inline_code(&write.name)).collect();
    if !names.is_empty() {
        let promise = "Runs once for each change, or each tick of its clock";
        table.row(vec!["once".to_owned(), names.join(", "), promise.to_owned()]);
    }
    table.text()
}

fn of_entity(model: &Model, entity: &Entity) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for guard in &entity.unique {
        let value = inline_code(&text::expression_text(model, &guard.value));
        let what = format!("no two rows share {value}: a guard row is claimed and released with each");
        all.push(("unique", what));
    }
    let versions = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.ty == Type::Version);
    all.extend(versions.map(|attribute| {
        let name = inline_code(&attribute.name);
        (
            "version",
            format!("{name} rises with every write and is the entity tag; a stale one is refused"),
        )
    }));
    if let Some(history) = &entity.history {
        let mut what = format!(
            "every change is a new version from {} until {}",
            inline_code(&history.at),
            inline_code(&history.until)
        );
        if let Some(tombstone) = &history.tombstone {
            what.push_str(&format!("; a deletion is one with {}", inline_code(tombstone)));
        }
        what.push_str(if history.again {
            ""
        } else {
            "; an update that changes nothing makes none"
        });
        all.push(("history", what));
    }
    if let Some(expires) = &entity.expires {
        let value = inline_code(&text::expression_text(model, expires));
        all.push((
            "expiry",
            format!("gone at {value} for every read and write, whenever the TTL removes it"),
        ));
    }
    if let Some(excludes) = &entity.excludes {
        let rows = inline_code(&text::expression_text(model, excludes));
        all.push(("excludes", format!("no row beside any of {rows}")));
    }
    if let Some(mirror) = &entity.mirror {
        let of = inline_code(model.catalog.name(mirror.of));
        all.push((
            "mirror",
            format!("written, changed and removed in the transaction of its {of}"),
        ));
    }
    for attribute in &entity.attributes {
        if let Some(copy) = &attribute.copy {
            let of = inline_code(&format!(
                "{}.{}",
                text::expression_text(model, &copy.source),
                copy.attribute
            ));
            all.push((
                "copy",
                format!(
                    "{} repeats {of}, {}",
                    inline_code(&attribute.name),
                    keeping_words(copy.kept)
                ),
            ));
        }
    }
    if entity.role == Some(Role::Idempotency) {
        all.push((
            "idempotency",
            "holds the record of each request, written in its transaction".to_owned(),
        ));
    }
    all
}

/// The findings that the team accepts.
pub fn accepted_findings(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Finding", "At", "Why it is accepted"]);
    for accepted in &model.accepted {
        table.row(vec![
            inline_code(&accepted.rule),
            inline_code(&accepted.at),
            escape_markdown(&accepted.why),
        ]);
    }
    table.text()
}
