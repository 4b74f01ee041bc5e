//! What tells of a person: how it stands in the tables, and that it is in no file once the person's rows are gone and the retention is over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use serde_json::json;
use singlet_item::{Item, Value};

use super::kills::{EndingFiles, assert_versions_readable};
use super::support::{Folder, Shop, change_rows, current_rows, model_of, replayed};
use crate::data_file::tests::IS_UNCOMPRESSED;
use crate::table_log::TableLog;
use crate::{Lake, LakeFiles};

/// An address is what identifies a person here; `nick` is made of the name, and a letter repeats it.
const PEOPLE: &str = r#"
singlet: 1
name: people
table: {name: people, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
types:
  Home: {object: {street: string, rooms: map(string)}}
entities:
  Person:
    attributes:
      email: {type: string 1..99, personal: true}
      name: {type: string 1..99, personal: readable}
      phone: {type: string? 1..99, personal: omitted}
      born: {type: date?, personal: true}
      home: {type: Home?, personal: readable}
      nick: {is: lower(name)}
      size: int 0..300
    key: {PK: "PERSON#{email}", SK: "PERSON"}
  Letter:
    attributes:
      letterId: string 1..20
      to: Person.email
      called: {copy: "Person(to).name", kept: frozen}
      pages: int 0..300
    key: {PK: "LETTER#{letterId}", SK: "LETTER"}
    index: {}
"#;

/// The same when nobody had said yet what tells of a person.
fn unsaid() -> String {
    let text = PEOPLE
        .replace(", personal: true", "")
        .replace(", personal: readable", "");
    text.replace(", personal: omitted", "")
}

/// A person, all of whose values have their number in them.
fn person(number: usize, size: u32) -> Item {
    let text = |what: &str| Value::S(format!("{what}-of-{number}-really"));
    let name = format!("Name-of-{number}-really");
    let mut item = Item::from([
        ("PK".to_owned(), Value::S(format!("PERSON#{}", email_of(number)))),
        ("SK".to_owned(), Value::S("PERSON".to_owned())),
        ("kind".to_owned(), Value::S("Person".to_owned())),
        ("email".to_owned(), Value::S(email_of(number))),
        ("name".to_owned(), Value::S(name.clone())),
        ("nick".to_owned(), Value::S(name.to_lowercase())),
        ("phone".to_owned(), text("phone")),
        ("born".to_owned(), Value::S(format!("19{:02}-02-03", number % 100))),
        ("size".to_owned(), Value::N(i64::from(size).into())),
    ]);
    let home = json!({"home": {"M": {"street": {"S": format!("street-of-{number}-really")}, "rooms": {"M":
        {"a": {"S": format!("room-of-{number}-really")}}}}}});
    let home: Item = serde_json::from_value(home).unwrap();
    item.extend(home);
    item
}

fn email_of(number: usize) -> String {
    format!("mail-of-{number}-really")
}

fn letter(id: usize, to: usize, pages: u32) -> Item {
    Item::from([
        ("PK".to_owned(), Value::S(format!("LETTER#{id}"))),
        ("SK".to_owned(), Value::S("LETTER".to_owned())),
        ("kind".to_owned(), Value::S("Letter".to_owned())),
        ("letterId".to_owned(), Value::S(id.to_string())),
        ("to".to_owned(), Value::S(email_of(to))),
        ("called".to_owned(), Value::S(format!("Name-of-{to}-really"))),
        ("pages".to_owned(), Value::N(i64::from(pages).into())),
    ])
}

async fn delete(shop: &Shop, item: &Item) {
    let key = ["PK", "SK"].map(|name| (name.to_owned(), item[name].clone()));
    let request = singlet_store::DeleteRequest {
        table: shop.model.table.name.clone(),
        key: Item::from(key),
        ..singlet_store::DeleteRequest::default()
    };
    shop.store.delete(&request).await.unwrap();
}

/// The files under a folder that have a text: in their bytes, or in a value that is read from them.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let is_parquet = path.extension().is_some_and(|end| end == "parquet");
            let mut has = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            if is_parquet {
                let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
                has |= file
                    .get_row_iter(None)
                    .unwrap()
                    .any(|row| row.unwrap().to_string().contains(text));
            }
            if has {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// What tells of a person in any form that is readable: values have the number, whatever they are of.
fn files_of_person(folder: &Folder, number: usize) -> Vec<String> {
    files_with(&folder.0, &format!("-of-{number}-really"))
}

/// Empties history and removes what no version has any more.
async fn erase_and_vacuum(shop: &Shop, files: Arc<dyn LakeFiles>) {
    let secret = shop.secret().await;
    let mut lake = Lake::open(files, Arc::clone(&shop.model), &secret, shop.now()).unwrap();
    lake.erase_gone(shop.now()).unwrap();
    lake.vacuum(i64::MAX).unwrap();
}

async fn a_person_is_forgotten() {
    let (shop, folder) = (Shop::open(PEOPLE).await, Folder::new());
    let files = folder.files();
    let mut follower = shop.follower(files.clone());
    shop.put(person(1, 10)).await;
    shop.put(person(2, 20)).await;
    shop.follow(&mut follower).await.unwrap();
    shop.put(person(1, 11)).await;
    shop.put(letter(1, 1, 1)).await;
    // Rows that do not fit, one of which did before.
    let mut unfit = person(3, 30);
    unfit.insert("size".to_owned(), Value::S("no size".to_owned()));
    shop.put(unfit.clone()).await;
    shop.put(person(4, 40)).await;
    shop.follow(&mut follower).await.unwrap();
    let mut unfit_name = person(4, 40);
    unfit_name.insert("name".to_owned(), Value::N(4.into()));
    unfit_name.insert("strange".to_owned(), Value::S("strange-of-4-really".to_owned()));
    shop.put(unfit_name.clone()).await;
    shop.follow(&mut follower).await.unwrap();
    // What is hashed or left out is nowhere at any time, in keys and misfits neither; what is readable is there.
    for hidden in ["mail-of-", "phone-of-", "PERSON#", "strange-of-"] {
        assert_eq!(files_with(&folder.0, hidden), Vec::<String>::new(), "{hidden}");
    }
    for readable in ["Name-of-1-", "name-of-2-", "street-of-1-", "room-of-2-"] {
        assert!(!files_with(&folder.0, readable).is_empty(), "{readable}");
    }
    let misfits = TableLog::load_log(files.as_ref(), "_misfits").unwrap();
    assert_eq!(super::support::table_rows(files.as_ref(), &misfits).len(), 2);
    // The same value is told to be the same, in both entities.
    let letters = format!("{:?}", change_rows(files.as_ref(), "Letter"));
    let is_in_letters = |row: Vec<crate::cell::Cell>| {
        let key = row[5].as_text().unwrap();
        let hashed = key.split('"').nth(3).unwrap();
        assert_eq!(hashed.len(), 32, "{key}");
        letters.contains(&format!("{:?}", hashed.as_bytes()))
    };
    assert!(change_rows(files.as_ref(), "Person").into_iter().any(is_in_letters));

    for number in [1, 3, 4] {
        delete(&shop, &person(number, 0)).await;
    }
    delete(&shop, &letter(1, 1, 1)).await;
    shop.follow(&mut follower).await.unwrap();
    assert!(!files_of_person(&folder, 1).is_empty(), "it is still in history");
    erase_and_vacuum(&shop, files.clone()).await;
    for number in [1, 3, 4] {
        assert_eq!(files_of_person(&folder, number), Vec::<String>::new());
    }
    assert!(!files_of_person(&folder, 2).is_empty(), "others stay");
    let rows = change_rows(files.as_ref(), "Person");
    assert_eq!(rows.len(), 6, "changes stay, without what told of the person");
    assert_eq!(
        current_rows(files.as_ref(), "Person"),
        shop.scanned("Person", files.as_ref()).await
    );
    assert_eq!(replayed(files.as_ref(), "Person").len(), 1);
    // Sizes tell of nobody.
    assert!(format!("{rows:?}").contains("Long(11)"));

    // Who comes again is there again, and goes again.
    shop.put(person(1, 12)).await;
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    erase_and_vacuum(&shop, files.clone()).await;
    assert!(!files_of_person(&folder, 1).is_empty());
    delete(&shop, &person(1, 0)).await;
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    erase_and_vacuum(&shop, files.clone()).await;
    assert_eq!(files_of_person(&folder, 1), Vec::<String>::new());
}

#[tokio::test]
async fn a_person_is_forgotten_whether_files_are_compressed_or_not() {
    a_person_is_forgotten().await;
    IS_UNCOMPRESSED.store(true, Ordering::Relaxed);
    a_person_is_forgotten().await;
    IS_UNCOMPRESSED.store(false, Ordering::Relaxed);
}

#[tokio::test]
async fn what_is_said_later_to_tell_of_a_person_is_hidden_in_all_of_history() {
    let (mut shop, folder) = (Shop::open(&unsaid()).await, Folder::new());
    let files = folder.files();
    let mut follower = shop.follower(files.clone());
    for number in 1..=4 {
        shop.put(person(number, 1)).await;
        shop.put(letter(number, number, 1)).await;
    }
    shop.follow(&mut follower).await.unwrap();
    shop.put(person(1, 2)).await;
    delete(&shop, &person(2, 0)).await;
    let mut unfit = person(3, 3);
    unfit.insert("size".to_owned(), Value::S("no size".to_owned()));
    shop.put(unfit).await;
    shop.follow(&mut follower).await.unwrap();
    assert!(!files_with(&folder.0, "mail-of-1-").is_empty());
    assert!(!files_with(&folder.0, "PERSON#mail-of-3-").is_empty());
    let before = replayed(files.as_ref(), "Person").len();

    shop.model = model_of(PEOPLE);
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    erase_and_vacuum(&shop, files.clone()).await;
    for hidden in ["mail-of-", "phone-of-", "PERSON#"] {
        assert_eq!(files_with(&folder.0, hidden), Vec::<String>::new(), "{hidden}");
    }
    assert_eq!(
        current_rows(files.as_ref(), "Person"),
        shop.scanned("Person", files.as_ref()).await
    );
    assert_eq!(replayed(files.as_ref(), "Person").len(), before);
    for number in 1..=4 {
        delete(&shop, &person(number, 0)).await;
        delete(&shop, &letter(number, 0, 0)).await;
    }
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    erase_and_vacuum(&shop, files.clone()).await;
    assert_eq!(files_with(&folder.0, "-really"), Vec::<String>::new());
    // And back: what is readable from now on stands in a column of its own.
    shop.model = model_of(&unsaid());
    shop.put(person(5, 1)).await;
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    assert!(!files_with(&folder.0, "mail-of-5-").is_empty());
    assert_eq!(
        current_rows(files.as_ref(), "Person"),
        shop.scanned("Person", files.as_ref()).await
    );
}

#[tokio::test]
async fn an_erasure_may_end_at_any_step() {
    let (shop, folder) = (Shop::open(PEOPLE).await, Folder::new());
    let files = folder.files();
    let mut random = fastrand::Rng::with_seed(31);
    let (mut kills, mut round, mut emptied) = (0, 0_usize, 0);
    while kills < 120 {
        let number = random.usize(0..9);
        match random.u8(0..3) {
            0 => delete(&shop, &person(number, 0)).await,
            1 => shop.put(letter(number, number, random.u32(0..300))).await,
            _ => shop.put(person(number, random.u32(0..300))).await,
        }
        let ending = Arc::new(EndingFiles {
            files: files.clone(),
            steps_left: AtomicUsize::new(1 + round % 24),
            is_done_last: (round / 24).is_multiple_of(2),
        });
        let mut follower = shop.follower(ending.clone()).with_erasure_at_once();
        let mut ended = shop.follow(&mut follower).await.is_err();
        if !ended {
            let tidied = follower.tidy(shop.now()).await;
            emptied += tidied.as_ref().map_or(0, |tidied| tidied.emptied_rows);
            ended = tidied.is_err();
        }
        assert_eq!(ended, ending.is_ended(), "round {round}");
        kills += usize::from(ended);
        round += 1;
        if round.is_multiple_of(30) {
            for name in ["Person", "Person_changes", "Letter_changes", "_erasures"] {
                assert_versions_readable(files.as_ref(), name);
            }
        }
    }
    assert!(emptied > 10, "{emptied}");
    let mut follower = shop.follower(files.clone()).with_erasure_at_once();
    shop.follow(&mut follower).await.unwrap();
    follower.tidy(shop.now()).await.unwrap();
    for entity in ["Person", "Letter"] {
        let scanned = shop.scanned(entity, files.as_ref()).await;
        assert_eq!(current_rows(files.as_ref(), entity), scanned);
        assert_eq!(replayed(files.as_ref(), entity).len(), scanned.len());
    }
    for number in 0..9 {
        delete(&shop, &person(number, 0)).await;
        delete(&shop, &letter(number, 0, 0)).await;
    }
    shop.follow(&mut follower).await.unwrap();
    erase_and_vacuum(&shop, files.clone()).await;
    assert_eq!(files_with(&folder.0, "-really"), Vec::<String>::new());
}

#[tokio::test]
async fn history_is_emptied_once_a_day() {
    let (shop, folder) = (Shop::open(PEOPLE).await, Folder::new());
    let files = folder.files();
    let mut follower = shop.follower(files.clone());
    shop.put(person(1, 1)).await;
    shop.follow(&mut follower).await.unwrap();
    delete(&shop, &person(1, 1)).await;
    shop.follow(&mut follower).await.unwrap();
    let emptied = follower.tidy(shop.now()).await.unwrap().emptied_rows;
    assert_eq!(emptied, 0, "a day has not gone by");
    let emptied = follower.tidy(shop.now() + 86_400_000).await.unwrap().emptied_rows;
    assert_eq!(emptied, 2);
}
