use std::collections::HashMap;
use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Index, IndexId};

use crate::context::{index_subject, choice_templates};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Two indexes have the same entries.
    ///
    /// Every entity has the same keys in both, so whatever one answers, the other does. Each row is written and stored once
    /// more for nothing.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "USER#{user_id}", GSI1SK: "{created_at}"}
    ///   GSI2: {GSI2PK: "USER#{user_id}", GSI2SK: "{created_at}"}
    /// ```
    ///
    /// Way out: keep one; where their projections differ, the wider.
    "I003" "duplicate-index" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    let mut seen: HashMap<String, &Index> = HashMap::new();
    for (index, entries) in model.table.indexes.iter().zip(entries(model)) {
        let Some(entries) = entries.filter(|entries| !entries.is_empty()) else {
            continue;
        };
        let Some(first) = seen.get(&entries) else {
            seen.insert(entries, index);
            continue;
        };
        let message = format!("index `{}` has the same entries as index `{}`", index.name, first.name);
        let finding = findings.at(index.span, index_subject(index), message);
        findings.push(finding.note(first.span, "the other index").help("keep one of them"));
    }
}

/// What every entity has in each index, written out; nothing for an index with entries by condition.
fn entries(model: &Model) -> Vec<Option<String>> {
    let mut all: Vec<Option<String>> = model.table.indexes.iter().map(|index| Some(opening(index))).collect();
    let mut filled = vec![false; all.len()];
    for entity in &model.entities {
        for entry in &entity.index {
            let IndexId(at) = entry.index;
            let Some(text) = all.get_mut(at as usize) else { continue };
            for choice in entry.key_choices() {
                filled
                    .iter_mut()
                    .skip(at as usize)
                    .take(1)
                    .for_each(|filled| *filled = true);
                let keys = choice_templates(choice).into_iter().map(|template| template.to_string());
                match (choice.when.is_some(), &mut *text) {
                    (false, Some(text)) => {
                        let _ = write!(text, "|{}:{:?}", entity.name, keys.collect::<Vec<_>>());
                    }
                    _ => *text = None,
                }
            }
        }
    }
    all.into_iter()
        .zip(filled)
        .map(|(text, filled)| text.filter(|_| filled))
        .collect()
}

fn opening(index: &Index) -> String {
    format!("{}/{}", index.partition.len(), index.sort.len())
}
