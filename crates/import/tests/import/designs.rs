//! Tables of designs that are known from elsewhere: what lies in them is made here, in the shapes that their descriptions show.

use std::collections::BTreeSet;

use singlet_import::Proposal;
use singlet_item::{Item, Value};
use singlet_store::{IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, TableSpec};

use super::{all_claimed, item, number, text};

/// As many rows as show what repeats.
const ROWS: usize = 120;

fn index(name: &str, key: KeySchema) -> IndexSpec {
    IndexSpec {
        name: name.to_owned(),
        kind: IndexKind::Global,
        key,
        projection: IndexProjection::All,
        units: None,
    }
}

fn texts(partition: &str, sort: &str) -> KeySchema {
    KeySchema::partition(partition, KeyType::String).sort(sort, KeyType::String)
}

/// A table with one overloaded index, as most single-table designs have it.
fn single_table(name: &str) -> TableSpec {
    let mut spec = TableSpec::new(name, texts("PK", "SK"));
    spec.indexes.push(index("GSI1", texts("GSI1PK", "GSI1SK")));
    spec
}

/// Every item is claimed, by entities of these names with these templates.
fn proposed(spec: &TableSpec, items: &[Item], wanted: &[(&str, &[&str])]) -> Proposal {
    let proposal = all_claimed(spec, items);
    let found: BTreeSet<&str> = proposal.entities.iter().map(|entity| entity.name.as_str()).collect();
    let names: BTreeSet<&str> = wanted.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, names, "{}", proposal.text);
    for (name, templates) in wanted {
        let entity = proposal.entities.iter().find(|entity| entity.name == *name).unwrap();
        let of_indexes = entity.indexes.iter().flat_map(|(_, keys)| keys);
        let shown = entity
            .keys
            .iter()
            .chain(of_indexes)
            .map(|(key, text)| format!("{key}={text}"));
        let shown: BTreeSet<String> = shown.collect();
        let templates: BTreeSet<String> = templates.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(shown, templates, "{name}\n{}", proposal.text);
    }
    proposal
}

fn hex(at: usize) -> String {
    let word = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{word:016x}{:016x}", word.rotate_left(29))
}

/// 26 characters of Crockford's alphabet, ascending.
fn ulid(at: usize) -> String {
    let alphabet: Vec<char> = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().collect();
    let random: String = hex(at)
        .bytes()
        .take(16)
        .map(|byte| alphabet[usize::from(byte) % 32])
        .collect();
    format!("01JD{:06}{random}", at * 7)
}

fn instant(at: usize) -> String {
    format!(
        "2026-{:02}-{:02}T{:02}:{:02}:00.000Z",
        1 + at % 12,
        1 + at % 28,
        at % 24,
        at % 60
    )
}

fn uuid(at: usize) -> String {
    let digits = hex(at);
    format!(
        "{}-{}-4{}-8{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..]
    )
}

#[test]
fn an_employee_directory_with_keys_that_are_attributes() {
    let mut spec = TableSpec::new("Employee", KeySchema::partition("LoginAlias", KeyType::String));
    spec.indexes.push(index("Name", texts("FirstName", "LastName")));
    spec.indexes.push(index(
        "DirectReports",
        KeySchema::partition("ManagerLoginAlias", KeyType::String),
    ));
    let items: Vec<Item> = (0..ROWS)
        .map(|at| {
            let mut employee = item([
                ("LoginAlias", text(&format!("alias{at}"))),
                ("FirstName", text(["Jo", "Li", "Ada", "Max"][at % 4])),
                ("LastName", text(&format!("Sur {at}"))),
                ("Designation", text(["Developer", "Designer"][at % 2])),
                (
                    "Skills",
                    Value::Ss([format!("skill {}", at % 9), "maps".to_owned()].into()),
                ),
            ]);
            if at % 5 > 0 {
                employee.insert("ManagerLoginAlias".to_owned(), text(&format!("alias{}", at / 5)));
            }
            employee
        })
        .collect();
    let proposal = proposed(&spec, &items, &[("Item", &[])]);
    for own in ["Name: own", "DirectReports: own", "Skills: set(string)"] {
        assert!(proposal.text.contains(own), "{own}\n{}", proposal.text);
    }
    assert!(!proposal.text.contains("Ada"), "{}", proposal.text);
}

#[test]
fn a_discussion_forum() {
    let threads = TableSpec::new("Thread", texts("ForumName", "Subject"));
    let items: Vec<Item> = (0..ROWS)
        .map(|at| {
            item([
                ("ForumName", text(["Amazon DynamoDB", "Amazon S3"][at % 2])),
                ("Subject", text(&format!("Question #{at}: how, and why?"))),
                ("Answered", number((at % 2) as i64)),
                ("LastPostedBy", text(&format!("User {}", at % 3))),
            ])
        })
        .collect();
    proposed(&threads, &items, &[("Item", &[])]);
    let mut replies = TableSpec::new("Reply", texts("Id", "ReplyDateTime"));
    replies
        .indexes
        .push(index("PostedBy-Message-Index", texts("PostedBy", "Message")));
    let items: Vec<Item> = (0..ROWS)
        .map(|at| {
            item([
                ("Id", text(&format!("Amazon DynamoDB#DynamoDB Thread {}", at % 9))),
                ("ReplyDateTime", text(&instant(at))),
                ("Message", text(&format!("Reply {at}: text"))),
                ("PostedBy", text(&format!("User {}", at % 3))),
            ])
        })
        .collect();
    let proposal = all_claimed(&replies, &items);
    assert!(proposal.text.contains("ReplyDateTime: time"), "{}", proposal.text);
    assert!(!proposal.text.contains("Thread 1"), "{}", proposal.text);
}

#[test]
fn a_music_library() {
    let mut spec = TableSpec::new("Music", texts("Artist", "SongTitle"));
    spec.indexes
        .push(index("AlbumTitle-index", texts("AlbumTitle", "Artist")));
    let items: Vec<Item> = (0..ROWS)
        .map(|at| {
            item([
                (
                    "Artist",
                    text(["No One You Know", "Acme: Band", "The Acme/Band"][at % 3]),
                ),
                ("SongTitle", text(&format!("Call #{at} Today"))),
                ("AlbumTitle", text(&format!("Somewhat Famous {}", at % 20))),
                ("Awards", number((at % 10) as i64)),
                ("Year", number(1990 + (at % 30) as i64)),
            ])
        })
        .collect();
    let proposal = proposed(&spec, &items, &[("Item", &[])]);
    assert!(!proposal.text.contains("Acme"), "{}", proposal.text);
}

/// Tenants by uuid, users by ULID, tasks by padded number, and a list by what is latest.
#[test]
fn a_service_of_many_tenants() {
    let spec = single_table("Saas");
    let mut items = Vec::new();
    for at in 0..ROWS {
        let tenant = uuid(at % 6);
        let (user, task) = (ulid(at), at as i64 * 37);
        let status = ["todo", "doing", "done"][at % 3];
        if at < 6 {
            items.push(item([
                ("PK", text(&format!("TENANT#{tenant}"))),
                ("SK", text("METADATA")),
                ("tenantId", text(&tenant)),
                ("plan", text(["free", "paid"][at % 2])),
            ]));
        }
        items.push(item([
            ("PK", text(&format!("TENANT#{tenant}"))),
            ("SK", text(&format!("USER#{user}"))),
            ("GSI1PK", text(&format!("EMAIL#user.{at}@example.com"))),
            ("GSI1SK", text("USER")),
            ("tenantId", text(&tenant)),
            ("userId", text(&user)),
            ("email", text(&format!("User.{at}@Example.com"))),
        ]));
        items.push(item([
            ("PK", text(&format!("TENANT#{tenant}#PROJECT#{}", at % 9))),
            ("SK", text(&format!("TASK#{task:06}"))),
            (
                "GSI1PK",
                text(&format!(
                    "TENANT#{tenant}#STATUS#{}",
                    ["todo", "doing", "done"]
                        .iter()
                        .position(|word| *word == status)
                        .unwrap()
                )),
            ),
            ("GSI1SK", text(&format!("{:06}", 999_999 - task))),
            ("tenantId", text(&tenant)),
            ("projectId", text(&(at % 9).to_string())),
            ("number", number(task)),
            ("status", text(status)),
            ("title", text("anything")),
        ]));
    }
    proposed(
        &spec,
        &items,
        &[
            ("Tenant", &["PK=TENANT#{tenantId}", "SK=METADATA"]),
            (
                "User",
                &[
                    "PK=TENANT#{tenantId}",
                    "SK=USER#{userId}",
                    "GSI1PK=EMAIL#{lower(email)}",
                    "GSI1SK=USER",
                ],
            ),
            (
                "Task",
                &[
                    "PK=TENANT#{tenantId}#PROJECT#{projectId}",
                    "SK=TASK#{number}",
                    "GSI1PK=TENANT#{tenantId}#STATUS#{rank(status)}",
                    "GSI1SK={desc(number)}",
                ],
            ),
        ],
    );
}

/// Devices by a hash, buckets of a month, readings by their instant, which an index has, too; what is latest at a place of its own.
fn readings(instant: impl Fn(usize) -> String) -> (TableSpec, Vec<Item>) {
    let mut spec = TableSpec::new("Readings", texts("pk", "sk"));
    spec.indexes.push(index("byTime", texts("site", "measuredAt")));
    let mut items = Vec::new();
    for at in 0..ROWS {
        let (device, time) = (hex(at % 8), instant(at));
        items.push(item([
            ("pk", text(&format!("device#{device}#{}", &time[..7]))),
            ("sk", text(&format!("reading#{time}"))),
            ("deviceId", text(&device)),
            ("measuredAt", text(&time)),
            ("site", text(&format!("site {}", at % 5))),
            ("celsius", Value::N(format!("{}.5", at % 40).parse().unwrap())),
        ]));
        if at < 8 {
            items.push(item([
                ("pk", text(&format!("device#{device}"))),
                ("sk", text("latest")),
                ("deviceId", text(&device)),
                ("firmware", text(&format!("v1.{at}.0"))),
            ]));
        }
    }
    (spec, items)
}

#[test]
fn readings_of_devices() {
    let (spec, items) = readings(instant);
    proposed(
        &spec,
        &items,
        &[
            (
                "Reading",
                &["pk=device#{deviceId}#{month(measuredAt)}", "sk=reading#{measuredAt}"],
            ),
            ("Device", &["pk=device#{deviceId}", "sk=latest"]),
        ],
    );
}

/// Instants of whole seconds are text: the language has none such. What is made of them stands in the key alone.
#[test]
fn readings_of_whole_seconds() {
    let (spec, items) = readings(|at| instant(at).replace(".000Z", "Z"));
    proposed(
        &spec,
        &items,
        &[
            (
                "Reading",
                &["pk=device#{deviceId}#{pk_part}", "sk=reading#{measuredAt}"],
            ),
            ("Device", &["pk=device#{deviceId}", "sk=latest"]),
        ],
    );
}

/// Numbers as keys of the table, and shards that no attribute says.
#[test]
fn numbers_and_shards() {
    let mut spec = TableSpec::new(
        "Events",
        KeySchema::partition("account", KeyType::Number).sort("sequence", KeyType::Number),
    );
    spec.indexes.push(index("byShard", texts("GSI1PK", "GSI1SK")));
    let items: Vec<Item> = (0..ROWS)
        .map(|at| {
            item([
                ("account", number((at % 7) as i64)),
                ("sequence", number(at as i64)),
                ("GSI1PK", text(&format!("SHARD#{}", at % 4))),
                ("GSI1SK", text(&format!("{}#{}", at % 7, ulid(at)))),
                ("eventId", text(&ulid(at))),
                ("shard", number((at % 4) as i64)),
            ])
        })
        .collect();
    proposed(
        &spec,
        &items,
        &[("Item", &["GSI1PK=SHARD#{shard}", "GSI1SK={account}#{eventId}"])],
    );
}

/// Names of people in lower case before a delimiter label nothing.
#[test]
fn what_begins_a_key_in_lower_case_may_be_a_person() {
    let people = ["ada", "grace", "joan", "mary", "edith"];
    let items: Vec<Item> = (0..ROWS)
        .map(|at| {
            item([
                ("PK", text(&format!("{}#inbox", people[at % 5]))),
                ("SK", text(&format!("MAIL#{}", ulid(at)))),
                ("subject", text("anything")),
            ])
        })
        .collect();
    let proposal = all_claimed(&TableSpec::new("Mails", texts("PK", "SK")), &items);
    for name in people {
        assert!(
            !proposal.text.to_lowercase().contains(name),
            "{name}\n{}",
            proposal.text
        );
    }
    assert_eq!(proposal.entities.len(), 1, "{}", proposal.text);
}
