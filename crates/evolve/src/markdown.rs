//! For a pull request.

use singlet_cost::dollars_text;

use crate::shown::{FileNames, WholeDiff};
use crate::text::migration_words;

/// All that differs, as Markdown.
pub fn diff_markdown(diff: &WholeDiff, files: FileNames<'_>) -> String {
    let mut text = format!("### `{}` → `{}`\n\n", files.old_name, files.new.name());
    text.push_str(&format!("{}.\n", capitalised(&diff.summary_sentence())));
    if !diff.rows.is_empty() {
        text.push_str("\n| way | rows | what | was | is | so |\n|---|---|---|---|---|---|\n");
        for change in &diff.rows {
            let of = change
                .entity
                .as_ref()
                .map(|entity| format!("`{entity}`, "))
                .unwrap_or_default();
            let cells = [
                format!("**{}**", change.way.word()),
                change.data.word().to_owned(),
                format!("{of}{}", change.part),
                change.was.clone(),
                change.is.clone(),
                change.so.clone(),
            ];
            let cells: Vec<String> = cells.iter().map(|cell| in_cell(cell)).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n**{title}**\n\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
        }
    };
    let of = |change: &crate::RowChange| {
        let entity = change
            .entity
            .as_ref()
            .map(|entity| format!("`{entity}`, "))
            .unwrap_or_default();
        format!("{entity}{}", change.part)
    };
    let said = |field: fn(&crate::RowChange) -> Option<&String>| -> Vec<String> {
        let lines = diff.rows.iter();
        lines
            .filter_map(|change| Some(format!("{}: {}", of(change), field(change)?)))
            .collect()
    };
    list(
        "Stored rows may break (look first: `singlet audit`)",
        said(|change| change.promise.as_ref()),
    );
    list("Why both models cannot run at once", diff.no_bridge().to_vec());
    list("The model must say", said(|change| change.lacks.as_ref()));
    list("Easier", said(|change| change.help.as_ref()));
    let contract = |breaking: bool| -> Vec<String> {
        let changes = diff
            .contract
            .iter()
            .flatten()
            .filter(|change| change.breaking == breaking);
        changes
            .map(|change| format!("`{}`: {}", change.at, change.what))
            .collect()
    };
    list("What clients and followers lose", contract(true));
    list("What else they notice", contract(false));
    let migration = diff.migration.iter().map(migration_words).collect();
    list("To change the rows", migration);
    let cost = diff.cost.iter().flat_map(|cost| {
        let whole = format!(
            "a month: {} before, {} after",
            dollars_text(cost.before),
            dollars_text(cost.after)
        );
        let each = cost.changed.iter().map(|changed| {
            format!(
                "`{}`: {} before, {} after",
                changed.name,
                dollars_text(changed.before),
                dollars_text(changed.after)
            )
        });
        std::iter::once(whole).chain(each)
    });
    list("What it costs", cost.collect());
    text
}

/// A text that stays in its cell.
fn in_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), chars.as_str())
}
