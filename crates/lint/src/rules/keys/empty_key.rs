use singlet_model::model::KeyTemplate;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A key can be the empty string.
    ///
    /// DynamoDB refuses an empty string as a key, of the table and of an index alike: the write fails with a validation error
    /// that no rule of the model announced. A string without a lower limit may be empty, and where it is the whole key, so
    /// is the key.
    ///
    /// ```yaml
    /// code: string
    /// key: {PK: "{code}", SK: "METADATA"}
    /// ```
    ///
    /// Way out: give the attribute a lower limit (`string 1..20`) or a pattern (`string /[A-Z]{2}/`); or put text before it
    /// (`CODE#{code}`).
    "K012" "empty-key" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let open = |key: &KeyTemplate| key.template.leading_text().is_empty() && key.template.can_be_empty();
    for (path, key, sort) in context.key_templates().filter(|(_, key, _)| open(key)) {
        let is_some = |part| context.made_length(path.entity, part).is_some_and(|made| made.min > 0);
        if key.parts.iter().any(is_some) {
            continue;
        }
        let which = if sort { "sort key" } else { "partition key" };
        let names: Vec<String> = key.parts.iter().map(|part| format!("`{}`", part.path)).collect();
        let (when, help) = match key.parts.first() {
            Some(first) => (
                format!(" where {} is", crate::context::enumerated_names(&names)),
                format!(
                    "give it a lower limit, such as `{}: string 1..100`, or put text before it",
                    first.path
                ),
            ),
            None => (String::new(), "give it a text, such as `METADATA`".to_owned()),
        };
        let message = format!(
            "the {which} `{}` of `{}` in {} is empty{when}, and DynamoDB refuses that",
            key.attribute,
            path.entity.name,
            path.name(),
        );
        findings.push(findings.at(key.span, context.path_subject(&path), message).help(help));
    }
}
