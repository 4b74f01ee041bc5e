//! What a model says of its table, its callers and its traffic: none of it changes what a read or a write means.

use fastrand::Rng;
use singlet_item::{Number, Value};
use singlet_runtime::Attributes;

use super::{GeneratedAttribute, GeneratedEntity, GeneratedRead};

/// One of some lines, or none.
fn some(rng: &mut Rng, one_in: u8, lines: &[&str]) -> String {
    match rng.u8(..one_in) {
        0 => rng.choice(lines).copied().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Units of the table and of its indexes.
const PROVISIONED: &str =
    "  billing: {read: 25, write: 25, indexes: {GX1: {read: 5, write: 5}, GX2: {read: 5, write: 5}}}\n";

/// Stream, billing, recovery, and what a document says of the table.
pub(super) fn table_options(rng: &mut Rng) -> String {
    let streams = [
        "  stream: both_images\n",
        "  stream: new_image\n",
        "  stream: {images: keys_only, readers: [lake]}\n",
    ];
    let stream = some(rng, 6, &streams);
    let billing = ["  billing: on_demand\n", PROVISIONED];
    let billing = some(rng, 8, &billing);
    let recovery = some(rng, 8, &["  recovery: point_in_time\n", "  recovery: none\n"]);
    let claims = [
        "  claim: {free_tier: true}\n",
        "  claim: {read_price: 0.25, write_price: 1.25, month_price: 1..90, read_units: 1..900, write_units: 1..900, storage_gb: 1..9}\n",
    ];
    stream + &billing + &recovery + &some(rng, 12, &claims)
}

/// Who may call.
pub(super) fn drawn_callers(rng: &mut Rng) -> String {
    // Looked at and not drawn: what tokens must be changes nothing that comes after it.
    let tokens = [
        "",
        ", audience_in: aud",
        ", audience_in: azp",
        ", audience_in: client_id",
        ", token_use: access",
        ", token_use: id",
    ];
    let tokens = rng.clone().choice(tokens).unwrap_or_default();
    let key = some(rng, 5, &["  api_key: {header: x-api-key, roles: [clerk, boss]}\n"]);
    let rate = some(rng, 8, &["  rate: 100/min\n"]);
    let claims =
        "id: sub, role: role, groups: {claim: groups, type: list(string) 0..6}, scopes: {claim: scope, words: true}";
    format!("callers:\n  jwt: {{audience: made{tokens}, claims: {{{claims}}}}}\n{key}{rate}")
}

/// Settings, and what they are.
pub(super) fn drawn_settings(rng: &mut Rng) -> (String, Attributes) {
    let mut values = Attributes::new();
    if rng.u8(..3) > 0 {
        values.insert("least".to_owned(), Value::N(Number::from(rng.u64(..3))));
    }
    (
        "settings:\n  least: int?\n  grace: duration?\n  word: string 1..9 = \"ada\"\n".to_owned(),
        values,
    )
}

/// What a document says of an entity.
pub(super) fn entity_claim(rng: &mut Rng, attribute: &str) -> String {
    let unique = format!("    claim: {{unique: {attribute}}}\n");
    let claims = [
        "    claim: {versioned: true}\n",
        unique.as_str(),
        "    claim: {together: E}\n",
        "    claim: {swept_by_ttl: 'true'}\n",
    ];
    some(rng, 4, &claims)
}

/// What a document says of a read.
pub(super) fn read_claim(rng: &mut Rng) -> String {
    let claims = ["    claim: {read: 1..50}\n", "    claim: {one_query: true}\n"];
    let budget = some(rng, 16, &["    budget: 50 read units\n"]);
    some(rng, 16, &claims) + &budget
}

/// How many, how crowded, how often: it may change which index is chosen, and never the answer.
pub(super) fn drawn_estimates(rng: &mut Rng, entities: &[GeneratedEntity], reads: &[GeneratedRead]) -> String {
    if rng.u8(..3) > 0 {
        return String::new();
    }
    let mut text = String::from("estimates:\n");
    for entity in entities {
        let attributes: Vec<&str> = entity
            .attributes
            .iter()
            .filter(|attribute| attribute.is_sure() && attribute.kind.is_plain())
            .map(|attribute| attribute.name.as_str())
            .collect();
        let per = rng.choice(attributes).map(|name| format!(", per: {{{name}: 20}}"));
        let share = some(rng, 3, &[", top_share: 0.2"]);
        let mut attributes = entity.attributes.iter();
        // Fields of an object have no shares.
        let is_shared = |attribute: &&GeneratedAttribute| {
            attribute.optional && attribute.kind.is_plain() && !attribute.name.contains('.')
        };
        let optional = attributes.find(is_shared);
        let shares = optional.map(|attribute| format!(", shares: {{{}: {{absent: 0.4}}}}", attribute.name));
        let shares = shares.filter(|_| !share.is_empty()).unwrap_or_default();
        let items = rng.choice([10, 1_000, 1_000_000]).unwrap_or(10);
        text.push_str(&format!(
            "  {}: {{items: {items}, bytes: 300{}{share}{shares}}}\n",
            entity.name,
            per.unwrap_or_default()
        ));
    }
    let rate = ["40/s", "{rate: 5/min, peak: 50/min}"];
    for read in reads.iter().take(2) {
        let rate = rng.choice(rate).unwrap_or_default();
        text.push_str(&format!("  {}: {rate}\n", read.name));
    }
    text
}

/// Findings that a team accepts.
pub(super) fn accepted_findings(rng: &mut Rng) -> String {
    let accepted = "accept:\n  - {rule: low-cardinality-partition-key, at: E, why: few rows}\n";
    some(rng, 6, &[accepted])
}
