//! Webhooks, made up: each tells of a change by what the row and the change have.

use fastrand::Rng;

/// How many webhooks a model gets, at most.
const WEBHOOKS_MAX: usize = 3;

/// Webhooks, each as it stands under `webhooks:`. Not all of them are right for every model.
pub(crate) fn drawn_webhooks(rng: &mut Rng) -> Vec<String> {
    let count = rng.usize(..=WEBHOOKS_MAX);
    (0..count).map(|at| webhook(at, rng)).collect()
}

fn webhook(at: usize, rng: &mut Rng) -> String {
    let entity = rng.choice(["E0", "E1", "Seen"]).unwrap_or("E0");
    let count = if entity == "Seen" { "n" } else { "count" };
    let event = match rng.u8(..6) {
        0 | 1 => format!("create: {entity}"),
        2 => format!("update: {entity}.{count}"),
        3 => format!("delete: {entity}"),
        4 => format!("expire: {entity}"),
        _ => format!("enter: {entity}.held"),
    };
    let when = match rng.u8(..3) {
        0 => format!("    when: row.{count} > 0\n"),
        _ => String::new(),
    };
    let before = match event.starts_with("update") {
        true => format!(", from: before.{count}"),
        false => String::new(),
    };
    let id = if entity == "Seen" { "of" } else { "id" };
    format!(
        "  h{at}:\n    after: {{{event}}}\n{when}    to: '\"https://receiver.example/hook\"'\n    \
         send: {{id: row.{id}, n: row.{count}{before}}}\n"
    )
}
