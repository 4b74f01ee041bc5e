//! For people at a terminal.

use singlet_cost::{comparison_text, dollars_text, figure_text};

use crate::migration::MigrationCost;
use crate::shown::{FileNames, WholeDiff, duration_words};
use crate::{DataClass, RowChange};

/// All that differs, as text.
pub fn diff_text(diff: &WholeDiff, files: FileNames<'_>) -> String {
    let mut text = format!(
        "{} → {}: {}\n",
        files.old_name,
        files.new.name(),
        diff.summary_sentence()
    );
    for change in &diff.rows {
        text.push('\n');
        text.push_str(&change_text(change, files));
    }
    if diff.rows.iter().any(|change| change.promise.is_some()) {
        let audit = format!(
            "\nStored rows may break promises: look first, with `singlet audit {}`.\n",
            files.new.name()
        );
        text.push_str(&audit);
    }
    if !diff.no_bridge().is_empty() {
        text.push_str("\nBoth models cannot run at once, so that writes stop while rows are changed:\n");
        diff.no_bridge()
            .iter()
            .for_each(|why| text.push_str(&format!("  {why}\n")));
    }
    match &diff.contract {
        Some(contract) if !contract.is_empty() => {
            text.push_str("\nWhat clients and followers notice:\n");
            for change in contract {
                let mark = if change.breaking { "breaks" } else { "-     " };
                text.push_str(&format!("  {mark}  {}: {}\n", change.at, change.what));
            }
        }
        Some(_) => {}
        None => text.push_str(
            "\nThe table knows how rows are stored, not what clients were promised: give the old model's file to compare that.\n",
        ),
    }
    if let Some(migration) = &diff.migration {
        text.push_str(&format!("\nTo change the rows: {}\n", migration_words(migration)));
    }
    if let Some(cost) = &diff.cost {
        text.push_str(&format!("\n{}", comparison_text(cost)));
    }
    text
}

fn change_text(change: &RowChange, files: FileNames<'_>) -> String {
    let of = change
        .entity
        .as_ref()
        .map(|entity| format!("`{entity}`, "))
        .unwrap_or_default();
    let mut text = format!(
        "{}, {}: {of}{}\n",
        change.way.word(),
        data_words(change.data),
        change.part
    );
    let mut line = |words: String| text.push_str(&format!("    {words}\n"));
    line(format!("was {}, is {}", change.was, change.is));
    line(change.so.clone());
    if let Some(promise) = &change.promise {
        line(format!("promise: {promise}"));
    }
    if let Some(lacks) = &change.lacks {
        line(format!("needs: {lacks}"));
    }
    if let Some(help) = &change.help {
        line(format!("help: {help}"));
    }
    let places = files.change_places(change);
    if !places.is_empty() {
        line(format!("--> {}", places.join(" → ")));
    }
    text
}

fn data_words(data: DataClass) -> &'static str {
    match data {
        DataClass::Nothing => "no rows change",
        other => other.word(),
    }
}

/// What it takes to change the rows, in a sentence.
pub(crate) fn migration_words(cost: &MigrationCost) -> String {
    let rows: f64 = cost.entities.iter().map(|work| work.rows).sum();
    let of: Vec<String> = cost.entities.iter().map(|work| format!("`{}`", work.entity)).collect();
    let mut text = match cost.entities.is_empty() {
        true => "nobody estimates how many there are".to_owned(),
        false => format!(
            "{} rows of {} by {} write units, after reading all by {} read units: {}, {} at {} write units a second; conflicts and retries come on top",
            figure_text(rows),
            of.join(", "),
            figure_text(cost.write_units),
            figure_text(cost.read_units),
            dollars_text(cost.dollars),
            duration_words(cost.seconds),
            figure_text(cost.rate),
        ),
    };
    if !cost.unknown.is_empty() {
        text.push_str(&format!(
            " (not counted, for want of an estimate: `{}`)",
            cost.unknown.join("`, `")
        ));
    }
    text
}
