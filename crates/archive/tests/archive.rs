//! What is written is read, and what was damaged is refused with its place.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use md5::{Digest, Md5};
use singlet_archive::{Archive, ArchiveProblem, ArchiveWriter, archives_in, repeated_key};
use singlet_item::{Item, Value};

const NOW: i64 = 1_788_000_000_000;

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl std::ops::Deref for Scratch {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Scratch {
    let folder = std::env::temp_dir().join(format!("singlet-archive-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    Scratch(folder)
}

/// Items with a value of every type, and texts that JSON escapes.
fn items(count: usize) -> Vec<Item> {
    let item = |at: usize| -> Item {
        let json = format!(
            r#"{{"PK":{{"S":"K#{at}"}},"n":{{"N":"{at}.50"}},"b":{{"B":"AAH/"}},"t":{{"BOOL":true}},"z":{{"NULL":true}},
            "l":{{"L":[{{"S":""}},{{"M":{{"é\n\"":{{"N":"1e100"}}}}}}]}},"ss":{{"SS":["a","ß\u0000"]}},"ns":{{"NS":["1","20"]}},"bs":{{"BS":["AA=="]}}}}"#
        );
        serde_json::from_str(&json).unwrap()
    };
    (0..count).map(item).collect()
}

fn written(folder: &Path, items: &[Item], file_bytes: u64) -> Archive {
    let mut writer = ArchiveWriter::begin(folder, "Orders", NOW)
        .unwrap()
        .with_file_bytes(file_bytes);
    for item in items {
        writer.put_item(item).unwrap();
    }
    let done = writer.finish(NOW + 5).unwrap();
    assert_eq!(done.items, items.len() as u64);
    only(folder)
}

fn only(folder: &Path) -> Archive {
    let mut found = archives_in(folder).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn read(archive: &Archive) -> Result<Vec<Item>, String> {
    archive
        .items()
        .map(|item| item.map(|item| item.item).map_err(|error| error.to_string()))
        .collect()
}

#[test]
fn what_is_written_is_read_whatever_the_size_of_files() {
    let folder = folder("round");
    for (count, file_bytes, files) in [(0, 1, 1), (1, 1, 1), (2, 1, 2), (7, 600, 4), (7, u64::MAX, 1)] {
        let to = folder.join(format!("{count}-{file_bytes}"));
        let archive = written(&to, &items(count), file_bytes);
        assert_eq!(read(&archive).unwrap(), items(count));
        assert_eq!((archive.table(), archive.item_count()), (Some("Orders"), count as u64));
        assert_eq!(
            fs::read_dir(archive.folder().join("data")).unwrap().count(),
            files,
            "{count} by {file_bytes}"
        );
        // As the folder of all exports, as that of its own, and as it was named.
        assert_eq!(
            only(&to.join("AWSDynamoDB")).archive_fingerprint(),
            archive.archive_fingerprint()
        );
        assert_eq!(
            only(archive.folder()).archive_fingerprint(),
            archive.archive_fingerprint()
        );
    }
}

#[test]
fn what_was_not_written_to_its_end_is_no_archive() {
    let folder = folder("killed");
    let mut writer = ArchiveWriter::begin(&folder, "Orders", NOW).unwrap();
    writer.put_item(&items(1)[0]).unwrap();
    drop(writer);
    let error = archives_in(&folder).unwrap_err();
    assert!(matches!(error.problem, ArchiveProblem::Unfinished), "{error}");
    // The next one is another, and the first is still said.
    let mut writer = ArchiveWriter::begin(&folder, "Orders", NOW + 1).unwrap();
    writer.put_item(&items(1)[0]).unwrap();
    writer.finish(NOW + 2).unwrap();
    assert!(matches!(
        archives_in(&folder).unwrap_err().problem,
        ArchiveProblem::Unfinished
    ));
}

/// As DynamoDB writes it: several files with gzip members after one another, one without items, one without bytes; the sums under the
/// names of the documentation.
fn foreign(folder: &Path, lines: &[&[&str]], changed: impl Fn(&mut BTreeMap<&'static str, String>)) {
    let id = "01668227450456-b6733290";
    let own = folder.join("AWSDynamoDB").join(id);
    fs::create_dir_all(own.join("data")).unwrap();
    fs::write(own.join("_started"), b"").unwrap();
    let (mut manifest, mut count) = (String::new(), 0);
    for (at, lines) in lines.iter().enumerate() {
        let mut bytes = Vec::new();
        for line in *lines {
            let mut member = GzEncoder::new(Vec::new(), Compression::fast());
            member.write_all(line.as_bytes()).unwrap();
            member.write_all(b"\n").unwrap();
            bytes.extend(member.finish().unwrap());
        }
        count += lines.len();
        fs::write(own.join(format!("data/{at}.json.gz")), &bytes).unwrap();
        let sum = STANDARD.encode(Md5::digest(&bytes));
        manifest.push_str(&format!(
            "{{\"itemCount\":{},\"md5Checksum\":\"{sum}\",\"etag\":\"x-1\",\"dataFileS3Key\":\"pre/AWSDynamoDB/{id}/data/{at}.json.gz\"}}\n",
            lines.len()
        ));
    }
    let summary = format!(
        "{{\"version\":\"2020-06-30\",\"exportArn\":\"arn:aws:dynamodb:sa-east-1:1:table/Shop/export/{id}\",\
         \"tableArn\":\"arn:aws:dynamodb:sa-east-1:1:table/Shop\",\"s3Prefix\":null,\"itemCount\":{count},\"outputFormat\":\"DYNAMODB_JSON\"}}"
    );
    let mut texts = BTreeMap::from([("manifest-files", manifest), ("manifest-summary", summary)]);
    changed(&mut texts);
    for (name, text) in texts {
        fs::write(own.join(format!("{name}.json")), &text).unwrap();
        fs::write(
            own.join(format!("{name}.checksum")),
            STANDARD.encode(Md5::digest(&text)),
        )
        .unwrap();
    }
}

const A: &str = r#"{"Item":{"PK":{"S":"a"}}}"#;
const B: &str = r#"{"Item":{"PK":{"S":"b"}}}"#;

#[test]
fn an_export_of_dynamodb_is_read() {
    let folder = folder("foreign");
    foreign(
        &folder,
        &[&[A, B], &[], &[r#"{"Item":{"PK":{"S":"c"}}}"#, ""]],
        |texts| {
            // A line without an item is none.
            for text in texts.values_mut() {
                *text = text.replace("\"itemCount\":4", "\"itemCount\":3");
                let (first, last) = text
                    .rsplit_once("\"itemCount\":2")
                    .map_or((text.clone(), None), |(a, b)| (a.to_owned(), Some(b.to_owned())));
                if let Some(last) = last {
                    *text = format!("{first}\"itemCount\":1{last}");
                }
            }
        },
    );
    let archive = only(&folder);
    assert_eq!(archive.table(), Some("Shop"));
    let keys: Vec<Value> = read(&archive)
        .unwrap()
        .into_iter()
        .map(|item| item["PK"].clone())
        .collect();
    assert_eq!(keys, ["a", "b", "c"].map(Value::from));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases: [(&str, &[&str], &str); 9] = [
        (
            "fields",
            &[A, r#"{"Metadata":{},"Keys":{}}"#],
            "line 2: unknown field `Metadata`",
        ),
        ("plain", &[A, r#"{"PK":"a"}"#], "line 2: unknown field `PK`"),
        ("type", &[r#"{"Item":{"PK":{"X":"a"}}}"#], "line 1: `X` is not a type"),
        (
            "number",
            &[A, A, r#"{"Item":{"PK":{"N":"one"}}}"#],
            "line 3: `one` is not a number",
        ),
        (
            "twice",
            &[r#"{"Item":{"PK":{"S":"a"},"PK":{"S":"b"}}}"#],
            "line 1: the item has `PK` twice",
        ),
        (
            "set",
            &[r#"{"Item":{"PK":{"SS":[]}}}"#],
            "line 1: a set has at least one member",
        ),
        ("open", &[r#"{"Item":{"PK":{"S":"a"}"#], "line 1: EOF"),
        ("more", &[r#"{"Item":{}} {"Item":{}}"#], "line 1: trailing characters"),
        ("ion", &["$ion_1_0 {Item:{PK:\"a\"}}"], "line 1: expected value"),
    ];
    for (name, lines, words) in cases {
        let folder = folder(name);
        foreign(&folder, &[&[B], lines], |_| {});
        let said = read(&only(&folder)).unwrap_err();
        assert!(said.contains("1.json.gz`, ") && said.contains(words), "{name}: {said}");
    }
}

#[test]
fn manifests_that_are_not_sound_are_refused() {
    type Change = fn(&mut BTreeMap<&'static str, String>);
    let cases: [(&str, Change, &str); 8] = [
        (
            "m-ion",
            |texts| change(texts, "manifest-summary", "DYNAMODB_JSON", "ION"),
            "in the format `ION`",
        ),
        (
            "m-inc",
            |texts| {
                change(
                    texts,
                    "manifest-summary",
                    "\"s3Prefix\":null",
                    "\"exportType\":\"INCREMENTAL_EXPORT\"",
                )
            },
            "incremental export",
        ),
        (
            "m-count",
            |texts| change(texts, "manifest-summary", "\"itemCount\":2", "\"itemCount\":3"),
            "it has 2 items, and should have 3",
        ),
        (
            "m-files",
            |texts| change(texts, "manifest-files", "/data/0", "/0"),
            "line 1: `pre/AWSDynamoDB/01668227450456-b6733290/0.json.gz` is no file",
        ),
        (
            "m-out",
            |texts| change(texts, "manifest-files", "/data/0.json.gz", "/data/.."),
            "line 1",
        ),
        (
            "m-twice",
            |texts| change(texts, "manifest-files", "/data/1", "/data/0"),
            "line 2: `0.json.gz` is named twice",
        ),
        (
            "m-json",
            |texts| change(texts, "manifest-files", "\"md5Checksum\"", "\"sum\""),
            "line 1: missing field `md5Checksum`",
        ),
        (
            "m-none",
            |texts| change(texts, "manifest-summary", "outputFormat", "format"),
            "missing field `outputFormat`",
        ),
    ];
    fn change(texts: &mut BTreeMap<&'static str, String>, name: &str, from: &str, to: &str) {
        let text = texts.get_mut(name).unwrap();
        assert!(text.contains(from));
        *text = text.replacen(from, to, 1);
    }
    for (name, changed, words) in cases {
        let folder = folder(name);
        foreign(&folder, &[&[A], &[B]], changed);
        let said = archives_in(&folder).unwrap_err().to_string();
        assert!(said.contains(words), "{name}: {said}");
    }
}

#[test]
fn a_byte_that_changed_anywhere_is_found() {
    let folder = folder("bytes");
    let archive = written(&folder, &items(20), 900);
    let mut files: Vec<PathBuf> = fs::read_dir(archive.folder().join("data"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() > 2);
    files.extend(
        [
            "manifest-files.json",
            "manifest-summary.json",
            "manifest-files.md5",
            "manifest-summary.md5",
        ]
        .map(|name| archive.folder().join(name)),
    );
    for path in files {
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 7 + 1).chain([whole.len() - 1]) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            for damaged in [bytes, whole[..at].to_vec()] {
                fs::write(&path, &damaged).unwrap();
                let said = archives_in(archive.folder())
                    .map_err(|error| error.to_string())
                    .and_then(|found| read(&found[0]));
                let said = said.unwrap_err();
                let name = path.file_stem().unwrap().to_str().unwrap();
                assert!(said.contains(name), "{}: {said}", path.display());
            }
        }
        fs::remove_file(&path).unwrap();
        let gone = archives_in(archive.folder())
            .map_err(|error| error.to_string())
            .and_then(|found| read(&found[0]));
        assert!(gone.is_err(), "{}", path.display());
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(read(&only(&folder)).unwrap(), items(20));
}

#[test]
fn a_data_file_that_breaks_off_or_has_too_few_items_is_found_though_its_sum_is_right() {
    let folder = folder("short");
    foreign(&folder, &[&[A, B]], |texts| {
        for text in texts.values_mut() {
            *text = text.replace("\"itemCount\":2", "\"itemCount\":3");
        }
    });
    let said = read(&only(&folder)).unwrap_err();
    assert!(said.contains("it has 2 items, and should have 3"), "{said}");
    let own = only(&folder).folder().to_owned();
    let data = own.join("data/0.json.gz");
    let mut bytes = fs::read(&data).unwrap();
    bytes.truncate(bytes.len() - 9);
    fs::write(&data, &bytes).unwrap();
    let manifest = own.join("manifest-files.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let (before, after) = text.split_once("\"md5Checksum\":\"").unwrap();
    let text = format!(
        "{before}\"md5Checksum\":\"{}{}",
        STANDARD.encode(Md5::digest(&bytes)),
        &after[24..]
    );
    fs::write(&manifest, &text).unwrap();
    fs::write(own.join("manifest-files.checksum"), STANDARD.encode(Md5::digest(&text))).unwrap();
    let said = read(&only(&folder)).unwrap_err();
    assert!(said.contains("it is no gzip file, or breaks off"), "{said}");
}

#[test]
fn a_key_that_comes_twice_is_found_with_both_lines() {
    let folder = folder("repeated");
    foreign(
        &folder,
        &[
            &[A, B],
            &[
                r#"{"Item":{"PK":{"S":"c"}}}"#,
                r#"{"Item":{"PK":{"S":"b"},"n":{"N":"1"}}}"#,
            ],
        ],
        |_| {},
    );
    let key_of = |item: &Item| Item::from([("PK".to_owned(), item["PK"].clone())]);
    let found = repeated_key(&only(&folder), key_of).unwrap().unwrap();
    assert!(found.first.0.ends_with("0.json.gz") && found.second.0.ends_with("1.json.gz"));
    assert_eq!((found.first.1, found.second.1), (2, 2));
    let key_of = |item: &Item| item.clone();
    assert_eq!(repeated_key(&only(&folder), key_of).unwrap(), None);
}

#[test]
fn a_folder_without_a_table_is_named() {
    let folder = folder("none");
    for (path, words) in [
        (folder.to_path_buf(), "there is no table in it"),
        (folder.join("missing"), "it is not there"),
    ] {
        let said = archives_in(&path).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
    fs::create_dir_all(folder.join("AWSDynamoDB")).unwrap();
    assert!(
        archives_in(&folder)
            .unwrap_err()
            .to_string()
            .contains("there is no table in it")
    );
}
