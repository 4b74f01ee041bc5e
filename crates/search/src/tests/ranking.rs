//! The order in which rows are found is that of their words, computed from the texts themselves.

use std::cmp::Reverse;
use std::sync::Arc;

use fastrand::Rng;
use singlet_model::words::words_of;
use singlet_runtime::Attributes;
use tantivy::schema::{IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};

use super::support::{Bench, MODEL, caller, folder, model_of, text};
use crate::word_index::{Mark, layout_of, searched_entities};
use crate::{IndexPlace, SearchFollower};

/// Words that begin alike over one, two, five, eight and more characters; one that is short and the beginning of others.
const WORDS: [&str; 16] = [
    "a",
    "ab",
    "abc",
    "abcd",
    "abcde",
    "abcdefgh",
    "abcdefghi",
    "abcdefghij1",
    "abcdefghij2",
    "abx",
    "żółw",
    "żółwie",
    "żółwiowiska",
    "買",
    "買物",
    "zzzzzzzzzzzz",
];

fn points(rows: usize, having: usize, times: usize, length: usize) -> u64 {
    let (rows, having, times, length) = (rows as f64, having as f64, times as f64, length as f64);
    let rarity = (1.0 + ((rows - having).max(0.0) + 0.5) / (having + 0.5)).ln();
    let weight = times * (1.2 + 1.0) / (times + 1.2 * (1.0 - 0.75 + 0.75 * length / 16.0));
    (rarity * weight * 1_000_000.0).round() as u64
}

/// The ids of the rows that have all words and one that begins so, the best match first.
fn ranked(rows: &[(String, Vec<String>)], words: &[&str], beginning: &str) -> Vec<String> {
    type Counts<'a> = Box<dyn Fn(&[String]) -> usize + 'a>;
    let times_of = |wanted: &str| {
        let wanted = wanted.to_owned();
        Box::new(move |own: &[String]| own.iter().filter(|word| **word == wanted).count()) as Counts<'_>
    };
    let begins = |own: &[String]| own.iter().filter(|word| word.starts_with(beginning)).count();
    let mut counted: Vec<Counts<'_>> = words.iter().map(|word| times_of(word)).collect();
    counted.push(Box::new(begins));
    // Who has the beginning as a whole word matches better.
    let whole = times_of(beginning);
    let having = |count: &Counts<'_>| rows.iter().filter(|(_, own)| count(own) > 0).count();
    let mut found: Vec<(Reverse<u64>, String)> = Vec::new();
    for (id, own) in rows {
        if counted.iter().any(|count| count(own) == 0) {
            continue;
        }
        let all = counted.iter().chain(Some(&whole).filter(|whole| whole(own) > 0));
        let score = all.map(|count| points(rows.len(), having(count), count(own), own.len()));
        found.push((Reverse(score.sum()), id.clone()));
    }
    found.sort();
    found.into_iter().map(|(_, id)| id).collect()
}

#[tokio::test]
async fn rows_come_in_the_order_that_their_words_give_whatever_beginning_is_typed() {
    let mut bench = Bench::new().await;
    let mut rng = Rng::with_seed(9);
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    let mut rows = Vec::new();
    for at in 0..120 {
        let words: Vec<&str> = (0..rng.usize(1..9)).map(|_| WORDS[rng.usize(0..WORDS.len())]).collect();
        let title = words.join(" ");
        let own = words_of(&title, None).into_iter().map(|word| word.text).collect();
        rows.push((format!("n{at:03}"), own));
        let row = Attributes::from([("title".to_owned(), text(&title))]);
        bench.put("ada", &format!("n{at:03}"), row, None).await;
        // The index is in several parts.
        if at % 25 == 0 {
            bench.follow(&mut follower).await;
        }
    }
    bench.follow(&mut follower).await;
    let known: Vec<String> = WORDS
        .iter()
        .flat_map(|word| words_of(word, None))
        .map(|word| word.text)
        .collect();
    let mut tried = 0;
    for word in &known {
        for chars in 1..=word.chars().count() + 1 {
            let beginning: String = word.chars().chain(['q']).take(chars).collect();
            let other = &known[rng.usize(0..known.len())];
            for words in [Vec::new(), vec![other.as_str()]] {
                let query = format!("{} {beginning}", words.join(" "));
                let found = bench.found("seen", &caller("root", "admin"), &query, 50).await;
                let found: Vec<String> = found.into_iter().map(|(_, id)| id).collect();
                assert_eq!(found, ranked(&rows, &words, &beginning), "{query:?}");
                tried += usize::from(!found.is_empty());
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// The fields that an index had before it had beginnings and places.
fn fields_of_before() -> Schema {
    let words = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    schema.add_text_field("key", STRING.set_fast("raw"));
    schema.add_text_field("terms", STRING);
    for name in ["words", "forms"] {
        schema.add_text_field(name, TextOptions::default().set_indexing_options(words.clone()));
    }
    schema.build()
}

#[tokio::test]
async fn an_index_of_before_is_made_anew() {
    let place = folder();
    let mut bench = Bench::new().await;
    bench
        .put("ada", "1", Attributes::from([("title".to_owned(), text("milk"))]), None)
        .await;
    let mut follower = bench.follower(IndexPlace::Folder(place.clone()));
    bench.follow(&mut follower).await;
    drop(follower);
    let marked = tantivy::Index::open_in_dir(&place)
        .unwrap()
        .load_metas()
        .unwrap()
        .payload;
    let mark: Mark = serde_json::from_str(&marked.unwrap()).unwrap();
    let searched = searched_entities(&model_of(MODEL));
    assert_eq!(mark.layout, layout_of(&searched));
    // Even where it says that it is of today.
    for layout in [mark.layout.replace("layout 3", "layout 2"), mark.layout.clone()] {
        std::fs::remove_dir_all(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        let index = tantivy::Index::create_in_dir(&place, fields_of_before()).unwrap();
        let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
        let mut prepared = writer.prepare_commit().unwrap();
        let payload = Mark { layout, ..mark.clone() };
        prepared.set_payload(&serde_json::to_string(&payload).unwrap());
        prepared.commit().unwrap();
        drop((writer, index));
        let mut follower = SearchFollower::new(
            IndexPlace::Folder(place.clone()),
            Arc::clone(bench.engine.model()),
            bench.source(),
            0,
        );
        assert!(follower.follow_page(&|| bench.millis()).await.unwrap().is_snapshot);
        bench.engine.search_by(follower.served_index());
        bench.follow(&mut follower).await;
        assert_eq!(bench.found("seen", &caller("root", "admin"), "mi", 5).await.len(), 1);
    }
    std::fs::remove_dir_all(place).unwrap();
}
