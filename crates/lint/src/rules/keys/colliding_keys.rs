use std::collections::HashSet;

use singlet_item::Number;
use singlet_item::key::{Delimiter, KeyType, Part, Template, Verdict, Witness, kept_number};
use singlet_model::Model;
use singlet_model::model::{Entity, IdempotencyNeed, Role};
use singlet_plan::access::AccessPath;

use crate::context::{enumerated_names, key_place, choice_templates};
use crate::key_space::{KeySpace, leading_text};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Rows of two entities can have the same primary key.
    ///
    /// A table has one row under a key. Where the templates of two entities can produce the same one, a put of the second
    /// replaces the first, or a create is refused because a row of another kind is there, for exactly the values that the
    /// message shows. It is decided over all values that the attributes' types, limits and patterns allow, for mirrors and
    /// idempotency records too, and for the rows that Singlet keeps beside them: guards of unique values, records of requests
    /// and the progress of bulk writes, whose partition keys begin with `$`,
    /// or are negative numbers with 130 decimals.
    ///
    /// ```yaml
    /// Order:    {key: {PK: "USER#{userId}", SK: "{orderId}"}}
    /// Favorite: {key: {PK: "USER#{userId}", SK: "{itemId}"}}     # both are texts
    /// ```
    ///
    /// Way out: begin the keys of each entity with text of its own (`ORDER#{orderId}`), or limit the attributes so that no
    /// value is both (a `ulid` is never a `date`).
    "K005" "colliding-keys" Error
}

/// How many pairs are decided: only keys that begin alike come so far, and a model in which so many do is reported anyway.
const PAIRS_MAX: usize = 20_000;

/// Not all pairs are compared. The keys stand in [`KeySpace`]: ordered by the literal text with which their partition keys
/// begin, and then by that of their sort keys. Two templates can only collide if one's leading text begins with the other's,
/// so each key meets those in a range of that order, those at its own beginnings, and the few that begin with a variable.
fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = context.own_paths().filter(|path| path.index.is_none()).collect();
    let space = KeySpace::new(table);
    let keys: Vec<Vec<Template>> = space.paths().iter().map(|path| choice_templates(path.choice)).collect();
    let mut reported = HashSet::new();
    let mut pairs = 0;
    let kept = kept_rows(context.model);
    for (at, (path, own)) in space.paths().iter().zip(&keys).enumerate() {
        let mut found = None;
        for (what, kept) in &kept {
            match context.key_collision(kept, own) {
                Verdict::Never => {}
                Verdict::Found(witness) => found = found.or(Some((what, witness))),
                Verdict::Undecided => {
                    let question = format!("`{}` can stand where Singlet keeps {what}", path.entity.name);
                    context.note_undecided(key_place(path.choice), &path.entity.name, question);
                }
            }
        }
        if let (Some((what, witness)), Some(key)) = (found, path.choice.keys.first()) {
            let message = format!(
                "`{}`{} can stand where Singlet keeps {what}",
                path.entity.name,
                with_values(&witness.right)
            );
            let help = "begin the key with text of its own, or limit the attribute so that it cannot begin with `$`";
            findings.push(findings.at(key.span, path.entity.name.clone(), message).help(help));
        }
        let near = space.paths_near(leading_text(path.partition_templates()), leading_text(path.sort_templates()));
        for (place, other) in near.into_iter().filter(|(place, _)| *place < at) {
            if other.entity.id == path.entity.id || reported.contains(&(other.entity.id, path.entity.id)) {
                continue;
            }
            pairs += 1;
            if pairs > PAIRS_MAX {
                let question = format!("`{}`, or an entity after it, can have a key of another", path.entity.name);
                return context.note_undecided(key_place(path.choice), &path.entity.name, question);
            }
            match context.key_collision(keys.get(place).map_or(&[], Vec::as_slice), own) {
                Verdict::Never => {}
                Verdict::Found(witness) => {
                    reported.insert((other.entity.id, path.entity.id));
                    report(findings, &other, path, &witness);
                }
                Verdict::Undecided => {
                    reported.insert((other.entity.id, path.entity.id));
                    let question = format!("`{}` and `{}` can have one key", other.entity.name, path.entity.name);
                    context.note_undecided(key_place(path.choice), &path.entity.name, question);
                }
            }
        }
    }
}

/// The keys of the rows that Singlet keeps beside those of the model, with what they are.
fn kept_rows(model: &Model) -> Vec<(&'static str, Vec<Template>)> {
    let Some(delimiter) = Delimiter::new(model.table.delimiter) else {
        return Vec::new();
    };
    let guards = model.entities.iter().any(|entity| !entity.unique.is_empty());
    let versions = model.entities.iter().any(|entity| entity.history.is_some());
    let shaped = model.entities.iter().any(|entity| entity.role == Some(Role::Idempotency));
    let recorded = model.writes.iter().any(|write| write.idempotency.need != IdempotencyNeed::None);
    let bulk = model.writes.iter().any(|write| write.bulk);
    let kinds = [
        (guards, "$unique", "guards of unique values"),
        (versions, "$identity", "guards of entities with versions"),
        (recorded && !shaped, "$request", "records of requests"),
        (bulk, "$progress", "the progress of bulk writes"),
    ];
    let is_number = |at: usize| {
        let name = model.table.key.get(at).map(|key| key.name.as_str());
        let mut keys = model.entities.iter().flat_map(Entity::key_templates);
        keys.any(|key| Some(key.attribute.as_str()) == name && key.template.key_type() == KeyType::N)
    };
    let number = |number: Number| Template::new(vec![Part::Number(number)], delimiter);
    let mut rows = Vec::new();
    for (_, start, what) in kinds.into_iter().filter(|(kept, _, _)| *kept) {
        let parts = vec![Part::text(&format!("{start}{}", model.table.delimiter)), Part::Anything];
        // All such numbers are of one kind: where an entity may have one, it may have any.
        let partition = match kept_number(0).filter(|_| is_number(0)) {
            Some(kept) => number(kept),
            None => Template::new(parts, delimiter),
        };
        let Ok(partition) = partition else { continue };
        let sort = match model.table.key.get(1) {
            Some(_) if is_number(1) => number(Number::from(0)).ok(),
            sort => sort.map(|_| Template::text("$", delimiter)),
        };
        rows.push((what, std::iter::once(partition).chain(sort).collect()));
    }
    rows
}

fn report(findings: &mut Findings<'_>, first: &AccessPath<'_>, second: &AccessPath<'_>, witness: &Witness) {
    let (Some(one), Some(two)) = (first.choice.keys.last(), second.choice.keys.last()) else {
        return;
    };
    let keys = second.choice.keys.iter().zip(&witness.keys);
    let keys: Vec<String> = keys.map(|(key, text)| format!("{} `{text}`", key.attribute)).collect();
    let message = format!(
        "`{}`{} and `{}`{} both have {}",
        first.entity.name,
        with_values(&witness.left),
        second.entity.name,
        with_values(&witness.right),
        enumerated_names(&keys),
    );
    findings.push(
        findings
            .at(two.span, second.entity.name.clone(), message)
            .note(one.span, format!("the key of `{}`", first.entity.name))
            .help(
                "begin the keys of each entity with text of its own, or limit the attributes so that no value is both",
            ),
    );
}

/// The values of one side, to stand after its entity's name.
pub(crate) fn with_values(values: &[(String, String)]) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{name} = `{value}`"))
        .collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!(" with {}", enumerated_names(&shown))
    }
}
