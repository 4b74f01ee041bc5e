//! Damage of every kind is planted in the data of the five systems, and `doctor` reports each; nothing is reported before.

use std::fs;
use std::ops::Bound;
use std::path::Path;

use singlet_keyspace::{Direction, Keyspace, Options};
use singlet_runtime::{Item, Store, Value};
use singlet_store_embedded::EmbeddedStore;

use crate::running::Folder;
use crate::served::{Served, examined};

/// Something is put or deleted in the place of an item.
enum Change {
    Put(Item),
    Delete(Item),
}

type Planted = fn(&Path);
/// What becomes of a row with this key and value: something, or nothing.
type ChooseRow = fn(&[u8], &[u8]) -> Option<Option<Vec<u8>>>;
/// Another row, made of one.
type MakeRow = fn(&[u8], &[u8]) -> (Vec<u8>, Vec<u8>);

#[test]
fn every_planted_damage_is_reported_and_nothing_else() {
    let folder = Folder::new("doctor");
    let served = Served::start(folder.path());
    let data = folder.path().join("singlet-data");
    // Changes, a guard that moves, versions, and a transaction over several rows.
    let (status, _) = served
        .ask("PATCH", "/booking/users/me", r#"{"email": "elena@moved.example"}"#)
        .unwrap();
    assert_eq!(status, 200);
    let norway = r#"{"alpha2Code": "NO", "alpha3Code": "NOR", "numericCode": "578", "name": "Norge"}"#;
    let (status, _) = served.ask("PUT", "/country/api/v1/countries/code/NO", norway).unwrap();
    assert_eq!(status, 200);
    // Beside the service a copy is looked at.
    let (code, report) = examined(&data);
    assert_eq!((code, &report["sound"]), (0, &true.into()), "{report:#}");
    assert!(served.end());
    let before = files(&data);
    let (code, report) = examined(&data);
    assert_eq!((code, &report["sound"]), (0, &true.into()), "{report:#}");
    assert_eq!(report["tables"].as_array().unwrap().len(), 5);
    assert!(before == files(&data), "doctor changed the folder");
    let mut missed: Vec<String> = Vec::new();
    for (number, (kind, plant)) in planted().into_iter().enumerate() {
        let copy = folder.path().join(format!("copy-{number}"));
        copied(&data, &copy);
        plant(&copy);
        let (code, report) = examined(&copy);
        let counts = report["counts"].as_object().cloned().unwrap_or_default();
        if code != 1 || !counts.contains_key(kind) {
            missed.push(format!(
                "{number}: `{kind}` is not found: {code}, {}",
                report["findings"]
            ));
            continue;
        }
        let finding = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["kind"] == kind);
        assert!(finding.unwrap()["what"].as_str().unwrap().len() > 10);
        fs::remove_dir_all(&copy).unwrap();
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// What is wrong afterwards, and how it is planted.
fn planted() -> Vec<(&'static str, Planted)> {
    vec![
        // Rows against their models.
        ("row-value", |data| {
            change(data, "venue-booking", |item| {
                let mut changed = of_kind(item, "entityType", "Booking")?;
                changed.insert("attendees".to_owned(), Value::S("many".to_owned()));
                Some(Change::Put(changed))
            })
        }),
        ("row-value", |data| {
            change(data, "todo-app-data", |item| {
                let mut changed = of_kind(item, "entity_type", "Task")?;
                changed.remove("title")?;
                Some(Change::Put(changed))
            })
        }),
        ("row-key", |data| {
            change(data, "ecobid", |item| {
                let mut changed = of_kind(item, "entityType", "Item")?;
                changed.insert("GSI4SK".to_owned(), "elsewhere".into());
                Some(Change::Put(changed))
            })
        }),
        ("row-key", |data| {
            change(data, "ecobid", |item| {
                let mut changed = of_kind(item, "entityType", "Notification")?;
                changed.insert("ttl".to_owned(), Value::from(99_999_999_999_i64));
                Some(Change::Put(changed))
            })
        }),
        ("row-mirror", |data| {
            change(data, "WardrobeTable", |item| {
                of_kind(item, "EntityType", "UserItem").map(Change::Delete)
            })
        }),
        ("row-mirror", |data| {
            change(data, "ecobid", |item| {
                let mut changed = of_kind(item, "entityType", "UserItem")?;
                changed.insert("title".to_owned(), "another".into());
                Some(Change::Put(changed))
            })
        }),
        ("row-guard", |data| {
            change(data, "todo-app-data", |item| {
                item.contains_key("$of").then(|| Change::Delete(item.clone()))
            })
        }),
        ("row-guard", |data| {
            change(data, "countries", |item| {
                let mut changed = item.clone();
                changed.contains_key("$of").then(|| {
                    changed.insert("$of".to_owned(), "Country#ZZ".into());
                    Change::Put(changed)
                })
            })
        }),
        ("stray-guard", |data| {
            change(data, "venue-booking", |item| {
                let mut changed = item.clone();
                changed.contains_key("$of").then(|| {
                    changed.insert("PK".to_owned(), "$unique#User#email#nobody@example.org".into());
                    Change::Put(changed)
                })
            })
        }),
        ("stray-mirror", |data| {
            change(data, "venue-booking", |item| {
                of_kind(item, "entityType", "Booking").map(Change::Delete)
            })
        }),
        ("unknown-item", |data| {
            change(data, "WardrobeTable", |item| {
                let mut changed = of_kind(item, "EntityType", "Activity")?;
                changed.insert("EntityType".to_owned(), "Shoe".into());
                Some(Change::Put(changed))
            })
        }),
        ("unreadable", |data| {
            change(data, "countries", |item| {
                let mut changed = item.clone();
                changed.contains_key("$faces").then(|| {
                    changed.insert("$faces".to_owned(), Value::L(vec!["0123".into()]));
                    Change::Put(changed)
                })
            })
        }),
        // What follows from items: first bytes of keys are those of `layout.rs` in the store.
        ("entry-missing", |data| raw(data, ENTRIES, |_, _| Some(None))),
        ("entry-differs", |data| {
            raw(data, ENTRIES, |_, value| Some(Some(cut_last(value))))
        }),
        ("unreadable", |data| {
            raw(data, ENTRIES, |_, _| Some(Some(vec![9, 9, 9])))
        }),
        ("entry-stray", |data| {
            raw_under(data, ENTRIES, |key, value| (another(key), value.to_vec()))
        }),
        ("item-misplaced", |data| {
            raw_under(data, ITEMS, |key, value| (another(key), value.to_vec()))
        }),
        ("item-size", |data| {
            raw(data, ITEMS, |_, value| Some(Some(other_size(value))))
        }),
        ("unreadable", |data| {
            raw(data, ITEMS, |_, value| Some(Some(value[..value.len() / 2].to_vec())))
        }),
        ("totals-differ", |data| raw(data, ITEMS, |_, _| Some(None))),
        ("totals-differ", |data| raw(data, TOTALS, |_, _| Some(None))),
        ("expiry-missing", |data| raw(data, EXPIRIES, |_, _| Some(None))),
        ("expiry-stray", |data| {
            raw_under(data, EXPIRIES, |key, value| (another(key), value.to_vec()))
        }),
        ("totals-differ", |data| raw(data, CHANGES, |_, _| Some(None))),
        ("change-order", exchange_changes),
        // The last change may be the only one of its item, which then has none: that is seen in the totals.
        ("totals-differ", |data| raw_last(data, CHANGES, |_, _| None)),
        ("change-number", |data| {
            raw_under(data, CHANGES, |key, value| (far(key), value.to_vec()))
        }),
        ("leftover", |data| {
            raw_under(data, ITEMS, |key, value| (of_another_table(key), value.to_vec()))
        }),
        ("leftover", |data| {
            raw_under(data, ITEMS, |key, value| ([&[77], key].concat(), value.to_vec()))
        }),
        ("token-stray", |data| {
            raw_under(data, ITEMS, |_, _| {
                ([11].into_iter().chain(*b"token").collect(), vec![7; 16])
            })
        }),
        // Files of the key space.
        ("unreadable", |data| {
            Keyspace::open(data, Options::default()).unwrap().close().unwrap();
            flip_pages(&file(data, "base."));
        }),
        ("unreadable", |data| fs::write(file(data, "base."), "").unwrap()),
        ("unreadable", |data| fs::remove_file(file(data, "base.")).unwrap()),
        ("unreadable", |data| fs::remove_file(file(data, "log.")).unwrap()),
        ("unreadable", |data| flip(&file(data, "log."), |_| 10)),
        ("unreadable", |data| fs::remove_file(file(data, "keyspace")).unwrap()),
        ("unreadable", |data| {
            fs::write(file(data, "keyspace"), "singlet").unwrap()
        }),
    ]
}

const ITEMS: u8 = 4;
const ENTRIES: u8 = 5;
const CHANGES: u8 = 6;
const EXPIRIES: u8 = 7;
const TOTALS: u8 = 8;

fn of_kind(item: &Item, attribute: &str, kind: &str) -> Option<Item> {
    (item.get(attribute)?.as_str()? == kind).then(|| item.clone())
}

/// Changes the first item of a table that is meant and has not expired, as a program would that knows no model. What has expired is nobody's:
/// nothing is wrong with it.
fn change(data: &Path, table: &str, choose: fn(&Item) -> Option<Change>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = EmbeddedStore::open(data).unwrap();
        let spec = store.describe_table(table).await.unwrap().spec;
        let key = spec.key;
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let now = i64::try_from(now).unwrap();
        let is_live = |item: &&Item| {
            let ends = spec.ttl.as_ref().and_then(|name| item.get(name)?.as_number()?.to_i64());
            ends.is_none_or(|ends| ends > now)
        };
        let request = singlet_store::ScanRequest {
            table: table.to_owned(),
            ..Default::default()
        };
        let (mut page, mut request) = (store.scan(&request).await.unwrap(), request);
        let change = loop {
            if let Some(change) = page.items.iter().filter(is_live).find_map(choose) {
                break change;
            }
            request.start = page.last_key.take();
            assert!(request.start.is_some(), "there is no such item in `{table}`");
            page = store.scan(&request).await.unwrap();
        };
        match change {
            Change::Put(item) => {
                let request = singlet_store::PutRequest {
                    table: table.to_owned(),
                    item,
                    ..Default::default()
                };
                store.put(&request).await.unwrap();
            }
            Change::Delete(mut item) => {
                item.retain(|name, _| key.attributes().any(|attribute| attribute.name == *name));
                let request = singlet_store::DeleteRequest {
                    table: table.to_owned(),
                    key: item,
                    ..Default::default()
                };
                store.delete(&request).await.unwrap();
            }
        }
    });
}

/// Changes, removes (none) or leaves alone a row of the key space: the first of its area for which something is said.
fn raw(data: &Path, area: u8, choose: ChooseRow) {
    let (key, value) = first_row(data, area, Direction::Forward);
    if let Some(changed) = choose(&key, &value) {
        put(data, vec![(key, changed)]);
    }
}

fn raw_last(data: &Path, area: u8, choose: fn(&[u8], &[u8]) -> Option<Vec<u8>>) {
    let (key, value) = first_row(data, area, Direction::Backward);
    let changed = choose(&key, &value);
    put(data, vec![(key, changed)]);
}

/// Puts another row, made of the first of an area.
fn raw_under(data: &Path, area: u8, make: MakeRow) {
    let (key, value) = first_row(data, area, Direction::Forward);
    let (key, value) = make(&key, &value);
    put(data, vec![(key, Some(value))]);
}

/// The images of two changes of one item change places.
fn exchange_changes(data: &Path) {
    let mut rows = {
        let space = Keyspace::open(data, Options::default()).unwrap();
        let snapshot = space.snapshot();
        let rows = snapshot.range(of_area(&[CHANGES], &[CHANGES + 1]), Direction::Forward);
        let rows: Vec<(Vec<u8>, Vec<u8>)> = rows
            .map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap())
            .collect();
        rows
    };
    let (first, last) = (rows[0].clone(), rows.pop().unwrap());
    put(data, vec![(first.0, Some(last.1)), (last.0, Some(first.1))]);
}

fn first_row(data: &Path, area: u8, direction: Direction) -> (Vec<u8>, Vec<u8>) {
    let space = Keyspace::open(data, Options::default()).unwrap();
    let snapshot = space.snapshot();
    let mut rows = snapshot.range(of_area(&[area], &[area + 1]), direction);
    let (key, value) = rows.next().unwrap().unwrap();
    (key.to_vec(), value.to_vec())
}

fn of_area<'k>(from: &'k [u8], to: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(from), Bound::Excluded(to))
}

fn put(data: &Path, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
    let space = Keyspace::open(data, Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let work = space.commit(move |draft| {
        for (key, value) in changes {
            match value {
                Some(value) => draft.put_row(key, value)?,
                None => draft.delete_row(key)?,
            }
        }
        Ok::<_, singlet_keyspace::Error>(())
    });
    runtime.block_on(work).unwrap();
    space.close().unwrap();
}

/// The same bytes with another end.
fn another(key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    let last = key.len() - 2;
    key[last] ^= 1;
    key
}

/// A change of a commit that never was.
fn far(key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    key[5] = 1;
    key
}

fn of_another_table(key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    key[1] = 1;
    key
}

/// An item whose last value is another.
fn cut_last(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    let last = value.len() - 1;
    value[last] ^= 1;
    value
}

/// The second byte of an item is the beginning of its size.
fn other_size(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    value[1] ^= 1;
    value
}

fn files(data: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for (path, bytes) in files(from) {
        fs::write(to.join(Path::new(&path).file_name().unwrap()), bytes).unwrap();
    }
}

fn file(data: &Path, prefix: &str) -> std::path::PathBuf {
    let mut found: Vec<_> = fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
        .collect();
    found.sort();
    found.remove(0)
}

/// Flips a bit in each page of the middle half: a single page may be a free one, with which nothing is wrong.
fn flip_pages(path: &Path) {
    const PAGE_BYTES: usize = 4096;
    let mut bytes = fs::read(path).unwrap();
    let (from, to) = (bytes.len() / 4, bytes.len() * 3 / 4);
    for byte in bytes[from..to].iter_mut().step_by(PAGE_BYTES) {
        *byte ^= 1;
    }
    fs::write(path, bytes).unwrap();
}

/// Writes over some bytes in the middle of what a file uses.
fn flip(path: &Path, at: fn(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let at = at(used);
    for byte in &mut bytes[at..at + 8] {
        *byte ^= 0x55;
    }
    fs::write(path, bytes).unwrap();
}
