//! `verify --store dynamodb` on DynamoDB Local: it works in tables of its own, writes to no other, and removes them however it ends.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use singlet_item::{Item, Value};
use singlet_store::{KeySchema, KeyType, PutRequest, ScanRequest, Store, TableSpec};
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_testing::{Endpoint, Foreign};

use crate::running::{Folder, singlet};

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(120);

/// How long between two looks at the tables.
const LOOK_EVERY: Duration = Duration::from_millis(20);

const MODEL: &str = r##"
singlet: 1
name: notes
table: {name: notes, key: {partition: PK, sort: SK}, indexes: {byDay: {partition: dayPk, sort: daySk}}, type: kind}
callers:
  jwt: {audience: notes, claims: {id: sub}}
entities:
  Note:
    attributes: {owner: string 1..20, noteId: string 1..20, day: date}
    key: {PK: "OWNER#{owner}", SK: "NOTE#{noteId}"}
    index:
      byDay: {dayPk: "OWNER#{owner}", daySk: "DAY#{day}#{noteId}"}
reads:
  notes:
    find: Note
    where: owner == caller.id
    allow: caller.authenticated
  notesOn:
    find: Note
    args: {day: date}
    where: owner == caller.id && day == args.day
    using: {index: byDay, key: {dayPk: "OWNER#{caller.id}", daySk: "DAY#{args.day}#"}}
    allow: caller.authenticated
writes:
  addNote:
    allow: caller.authenticated
    do:
      - create: Note
        set: {owner: caller.id}
        take: [noteId, day]
        using: {call: PutItem, condition: true}
"##;

/// DynamoDB Local with a table that is named like the model's, and one row that is somebody's.
struct Somewhere {
    endpoint: Endpoint,
    store: DynamoDbStore,
    runtime: tokio::runtime::Runtime,
    folder: Folder,
}

impl Somewhere {
    /// None, with a loud line, where there is no such endpoint.
    fn start(name: &str) -> Option<Self> {
        let endpoint = Endpoint::start().filter(|endpoint| endpoint.foreign != Foreign::Moto)?;
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let settings = Settings {
            attempt_timeout: DEADLINE,
            operation_timeout: 2 * DEADLINE,
            ..Settings::local_endpoint(&endpoint.url)
        };
        let store = runtime.block_on(DynamoDbStore::connect(&settings)).unwrap();
        let folder = Folder::new(name);
        folder.write("model.yaml", MODEL.as_bytes());
        let somewhere = Somewhere {
            endpoint,
            store,
            runtime,
            folder,
        };
        somewhere.runtime.block_on(async {
            let key = KeySchema::partition("id", KeyType::String);
            somewhere
                .store
                .create_table(&TableSpec::new("notes", key))
                .await
                .unwrap();
            let put = PutRequest {
                table: "notes".to_owned(),
                item: row(),
                ..PutRequest::default()
            };
            somewhere.store.put(&put).await.unwrap();
        });
        Some(somewhere)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = singlet(["verify", "model.yaml", "--store", "dynamodb"]);
        command
            .args(["--endpoint-url", &self.endpoint.url])
            .args(args)
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn tables(&self) -> Vec<String> {
        self.runtime.block_on(self.store.list_tables()).unwrap()
    }

    /// A run that has made a table.
    fn begun(&self, args: &[&str]) -> Child {
        let before = self.tables().len();
        let child = self.command(args).spawn().unwrap();
        let began = Instant::now();
        while self.tables().len() == before {
            assert!(began.elapsed() < DEADLINE, "no table is made");
            std::thread::sleep(LOOK_EVERY);
        }
        child
    }

    /// The table that was there, with its row as it was, and no other.
    fn assert_untouched(&self) {
        assert_eq!(self.tables(), ["notes"]);
        let scan = ScanRequest {
            table: "notes".to_owned(),
            ..ScanRequest::default()
        };
        let page = self.runtime.block_on(self.store.scan(&scan)).unwrap();
        assert_eq!(page.items, [row()]);
    }
}

fn row() -> Item {
    Item::from([("id".to_owned(), Value::from("somebody's"))])
}

fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn verify_leaves_dynamodb_as_it_was() {
    let Some(somewhere) = Somewhere::start("verify-dynamodb") else {
        return;
    };
    let right = somewhere.run(&["--cases", "12", "--only", "notes", "--only", "addNote"]);
    let shown = printed(&right);
    assert!(right.status.success(), "{shown}");
    assert!(shown.contains("36 cases of 3 operations"), "{shown}");
    somewhere.assert_untouched();

    let wrong = somewhere.run(&["--cases", "60", "--only", "notesOn"]);
    let shown = printed(&wrong);
    assert_eq!(wrong.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("`notesOn` as its `using:` says: 1 row is missing"),
        "{shown}"
    );
    somewhere.assert_untouched();

    for signal in ["-INT", "-TERM"] {
        let child = somewhere.begun(&["--cases", "1000000", "--only", "notes"]);
        let asked = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(asked.unwrap().success());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.code().is_some(), "it ends by itself: {}", printed(&ended));
        somewhere.assert_untouched();
    }

    // Who is killed removes nothing; the next run says so, and leaves alone what it did not make.
    let mut killed = somewhere.begun(&["--cases", "1000000", "--only", "notes"]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left: Vec<String> = somewhere.tables().into_iter().filter(|name| name != "notes").collect();
    assert!(
        !left.is_empty() && left.iter().all(|name| name.starts_with("notes-verify-")),
        "{left:?}"
    );
    let next = somewhere.run(&["--cases", "4", "--only", "notes"]);
    let shown = printed(&next);
    assert!(next.status.success(), "{shown}");
    for name in &left {
        assert!(
            shown.contains(&format!("another run made the table `{name}`")),
            "{shown}"
        );
        somewhere.runtime.block_on(somewhere.store.delete_table(name)).unwrap();
    }
    somewhere.assert_untouched();
}
