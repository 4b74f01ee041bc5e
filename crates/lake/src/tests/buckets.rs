//! The files of what is: as many as rows need, whatever comes and goes.

use std::sync::Arc;

use serde_json::json;
use singlet_changes::ChangeReader;

use super::support::{Folder, MODEL, Shop, assert_alike, item, model_of};
use crate::Lake;
use crate::buckets::BUCKET_TAG;
use crate::table_log::TableLog;

const FILE_ROWS: usize = 4;

/// A task with values of every depth, drawn.
fn drawn_task(random: &mut fastrand::Rng, id: &str) -> singlet_item::Item {
    let mut attributes = json!({
        "title": {"S": random.u32(..).to_string()},
        "count": {"N": random.u8(0..100).to_string()},
        "price": {"N": "1.25"},
    });
    if random.bool() {
        let lines: Vec<_> = (0..random.usize(0..3)).map(|at| json!({"S": at.to_string()})).collect();
        attributes["address"] = json!({"M": {
            "street": {"S": "s"}, "lines": {"L": lines}, "rooms": {"M": {"a": {"N": "1"}, "b": {"N": "2"}}},
        }});
    }
    if random.bool() {
        attributes["tags"] = json!({"SS": ["x", random.u8(..).to_string()]});
        attributes["big"] = json!({"N": random.u64(..).to_string()});
        attributes["isDone"] = json!({"BOOL": random.bool()});
    }
    item("Task", id, attributes)
}

#[tokio::test]
async fn files_of_what_is_are_split_and_emptied_as_rows_come_and_go() {
    let (mut shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let mut random = fastrand::Rng::with_seed(31);
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    let mut files_most = 0;
    for round in 0..40 {
        if round == 20 {
            // Files of before lack a column and a field of one.
            let model = MODEL.replace("isDone: bool?", "isDone: bool?\n      color: string?");
            shop.model = model_of(&model.replace("{street: string,", "{street: string, town: string?,"));
            shop.follow(&mut shop.follower(files.clone())).await.unwrap();
        }
        let lake = Lake::open(files.clone(), Arc::clone(&shop.model), &[], shop.now()).unwrap();
        let mut lake = lake.with_bucket_rows(FILE_ROWS);
        let mut reader = ChangeReader::new(Arc::clone(&shop.model), shop.source(), lake.told_position().unwrap());
        // Rows become more, and then fewer.
        let gone_percent = if round % 20 < 12 { 10 } else { 80 };
        for _ in 0..random.usize(1..30) {
            let id = random.u8(0..120).to_string();
            match random.u8(0..100) < gone_percent {
                true => shop.delete("Task", &id).await,
                false => shop.put(drawn_task(&mut random, &id)).await,
            }
        }
        let mut told = Vec::new();
        loop {
            let page = reader.next_page().await.unwrap();
            if page.is_empty() {
                break;
            }
            told.extend(page.told);
        }
        lake.append_told(&told, reader.position(), shop.now()).unwrap();
        lake.tidy(shop.now()).unwrap();
        assert_alike(&shop, files.as_ref(), "Task").await;
        let table = TableLog::load_log(files.as_ref(), "Task").unwrap();
        files_most = files_most.max(table.files.len());
        let bits: Vec<&str> = table
            .files
            .values()
            .map(|file| file.tag_value(BUCKET_TAG).unwrap())
            .collect();
        assert!(
            bits.iter()
                .all(|one| bits.iter().filter(|other| other.starts_with(one)).count() == 1),
            "{bits:?}"
        );
        // What the snapshot of the other model put together is split where a row in it changes.
        let is_small = |rows: u64| (1..=FILE_ROWS as u64).contains(&rows);
        let large = table
            .files
            .values()
            .filter(|file| !file.rows().is_some_and(is_small))
            .count();
        assert!(large == 0 || round >= 20, "{large} files in round {round}");
    }
    assert!(files_most > 12, "{files_most}");
}
