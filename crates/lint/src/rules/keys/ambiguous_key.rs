use singlet_item::key::{Verdict, Witness};
use singlet_model::model::{Entity, KeyChoice};

use super::colliding_keys::with_values;
use crate::context::{enumerated_names, key_place, choice_templates};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Two different rows of one entity can have one primary key.
    ///
    /// Where two variables of a key stand side by side, or a raw string may contain the delimiter, the border between them
    /// can be read in two places: `a` = `1`, `b` = `23` and `a` = `12`, `b` = `3` both make `123`. The second row replaces
    /// the first, or is refused as if it were there. It is decided over all values that types, limits and patterns allow.
    ///
    /// ```yaml
    /// key: {PK: "{country}{city}", SK: "METADATA"}
    /// ```
    ///
    /// What a function loses on purpose, such as the case of letters under `lower(email)`, is not reported.
    ///
    /// Way out: put the delimiter between the parts (`{country}#{city}`), take `raw` away, or give the first part one length
    /// (`string /[A-Z]{2}/`).
    "K018" "ambiguous-key" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        for choice in &entity.key {
            match context.key_ambiguity(&choice_templates(choice)) {
                Verdict::Never => {}
                Verdict::Found(witness) => report(findings, entity, choice, &witness),
                Verdict::Undecided => {
                    let question = format!("two rows of `{}` can have one key", entity.name);
                    context.note_undecided(key_place(choice), &entity.name, question);
                }
            }
        }
    }
}

fn report(findings: &mut Findings<'_>, entity: &Entity, choice: &KeyChoice, witness: &Witness) {
    let keys = choice.keys.iter().zip(&witness.keys);
    let keys: Vec<String> = keys.map(|(key, text)| format!("{} `{text}`", key.attribute)).collect();
    let message = format!(
        "`{}`{} and `{}`{} have one key, {}",
        entity.name,
        with_values(&witness.left),
        entity.name,
        with_values(&witness.right),
        enumerated_names(&keys),
    );
    findings.push(
        findings
            .at(key_place(choice), entity.name.clone(), message)
            .help("put the delimiter between the parts, take `raw` away, or give the first part one length"),
    );
}
