use singlet_item::key::{Delimiter, Part, Template, Verdict};
use singlet_model::model::{KeyPart, KeyTemplate, PartFunction};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A raw part of a key can contain the delimiter.
    ///
    /// `raw(x)` writes a string as it is. If it holds the delimiter, its key reads as one with more parts: the category
    /// `home#office` lies under the prefix `CATEGORY#home#` and is enumerated with `home`, or passes for the key of another row.
    /// An enum without the delimiter, or a pattern that rules it out, is safe and not reported; nor is a raw part that is
    /// the whole key.
    ///
    /// ```yaml
    /// category: string 1..50
    /// GSI4SK: "CATEGORY#{raw(category)}#{task_id}"
    /// ```
    ///
    /// Way out: write `{category}`, which is escaped. Where the table already holds raw keys, limit the attribute by a pattern
    /// without the delimiter (`string /[^#]{1,50}/`).
    "K007" "raw-delimiter" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (path, key, _) in context.key_templates() {
        let raw = key.parts.iter().filter(|part| part.function == Some(PartFunction::Raw));
        for part in raw.filter(|_| key.template.parts().len() > 1) {
            let delimiter = context.model.table.delimiter;
            match containing_delimiter(context, key, part) {
                Some(Verdict::Found(_)) => {}
                Some(Verdict::Undecided) => {
                    let question = format!("`{}` in `{}` may contain `{delimiter}`", part.path, key.text);
                    context.note_undecided(part.span, context.path_subject(&path), question);
                    continue;
                }
                Some(Verdict::Never) | None => continue,
            }
            let message = format!(
                "`{}` in `{}` may contain `{delimiter}`, and then the key reads as one with more parts",
                part.path, key.text
            );
            findings.push(findings.at(part.span, context.path_subject(&path), message).help(format!(
                "write `{{{}}}`, which is escaped, or limit it by a pattern without `{delimiter}`",
                part.path
            )));
        }
    }
}

/// Whether some value of the part contains the delimiter.
fn containing_delimiter(context: &Context<'_>, key: &KeyTemplate, part: &KeyPart) -> Option<Verdict> {
    let variable = key.template.parts().get(part.position)?.clone();
    let delimiter: Delimiter = key.template.delimiter();
    let alone = Template::new(vec![variable], delimiter).ok()?;
    let text = Part::Text(delimiter.character().to_string());
    let containing = Template::new(vec![Part::Anything, text, Part::Anything], delimiter).ok()?;
    Some(context.key_collision(&[alone], &[containing]))
}
