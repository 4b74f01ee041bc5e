//! The indexes: who is in them, what they carry, what they answer.

use singlet_model::Model;
use singlet_model::model::{Index, IndexEntryKind, IndexId};
use singlet_plan::read::{ReadPlan, plan_read};

use crate::escape::inline_code;
use crate::table::MarkdownTable;
use crate::text;

/// A row for the table itself and for each index.
pub(crate) fn index_table(model: &Model) -> String {
    let plans: Vec<ReadPlan> = model.reads.iter().map(|read| plan_read(model, read)).collect();
    let mut table = MarkdownTable::new([
        "Index",
        "Partition key",
        "Sort key",
        "Kind",
        "Carries",
        "Entities",
        "Answers",
    ]);
    let (partition, sort) = model.table.key.split_at(model.table.key.len().min(1));
    let all = names(model.entities.iter().map(|entity| entity.name.as_str()));
    table.row(vec![
        "the table".to_owned(),
        names(partition.iter().map(|key| key.name.as_str())),
        names(sort.iter().map(|key| key.name.as_str())),
        "table".to_owned(),
        "everything".to_owned(),
        all,
        answers(&plans, None),
    ]);
    for (number, index) in model.table.indexes.iter().enumerate() {
        let id = IndexId(u32::try_from(number).unwrap_or(u32::MAX));
        table.row(row(model, &plans, index, id));
    }
    table.text()
}

fn row(model: &Model, plans: &[ReadPlan], index: &Index, id: IndexId) -> Vec<String> {
    let entities = model.entities.iter().filter(|entity| {
        let entry = entity.index_entry(id);
        entry.is_some_and(|entry| !matches!(entry.kind, IndexEntryKind::None))
    });
    vec![
        inline_code(&index.name),
        names(index.partition.iter().map(|key| key.name.as_str())),
        names(index.sort.iter().map(|key| key.name.as_str())),
        if index.local { "local" } else { "global" }.to_owned(),
        text::projection_text(&index.projection),
        names(entities.map(|entity| entity.name.as_str())),
        answers(plans, Some(id)),
    ]
}

/// The reads of which a request goes there.
fn answers(plans: &[ReadPlan], index: Option<IndexId>) -> String {
    let goes_there = |plan: &&ReadPlan| {
        let mut combinations = plan.combinations.iter();
        combinations.any(|combination| {
            let sent = combination.requests.iter().map(|cost| cost.index);
            let covers = combination.parts.iter().flat_map(|part| &part.plan.covers);
            sent.chain(covers.map(|cover| cover.index)).any(|known| known == index)
        })
    };
    names(plans.iter().filter(goes_there).map(|plan| plan.read.as_str()))
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(inline_code).collect();
    names.join(", ")
}
