//! DynamoDB's protocol as a process: alone, beside a service, and how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::running::{Folder, singlet};

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(60);

/// A process that speaks the protocol; it is killed with it.
struct Speaking {
    child: Child,
    address: String,
}

impl Speaking {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut child = singlet(args)
            .args(["--log-level", "warn"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.strip_prefix("DynamoDB's protocol at http://")?.to_owned())
        });
        let Some(address) = address else {
            let mut complaint = String::new();
            child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
            panic!("{complaint}");
        };
        Speaking { child, address }
    }

    fn call(&self, name: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: x\r\nauthorization: any\r\nx-amz-target: DynamoDB_20120810.{name}\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    fn end(mut self) -> bool {
        let id = self.child.id().to_string();
        let asked = std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap();
        assert!(asked.success());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Speaking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const TABLE: &str = r#"{"TableName": "kept", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#;

#[test]
fn what_is_written_is_there_after_the_end() {
    let folder = Folder::new("dynamodb-folder");
    let args = ["dynamodb", "--listen", "127.0.0.1:0", "--store", "embedded:data"];
    let speaking = Speaking::start(&folder, &args);
    assert_eq!(speaking.call("CreateTable", TABLE).0, 200);
    let item = r#"{"TableName": "kept", "Item": {"id": {"S": "a"}, "n": {"N": "1.50"}}}"#;
    assert_eq!(speaking.call("PutItem", item), (200, "{}".to_owned()));
    assert!(speaking.end());
    let speaking = Speaking::start(&folder, &args);
    let (status, item) = speaking.call("GetItem", r#"{"TableName": "kept", "Key": {"id": {"S": "a"}}}"#);
    assert_eq!(
        (status, item.as_str()),
        (200, r#"{"Item":{"id":{"S":"a"},"n":{"N":"1.5"}}}"#)
    );
}

#[test]
fn a_table_that_is_served_is_written_only_where_that_was_asked_for() {
    let folder = Folder::new("dynamodb-served");
    let args = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory",
        "--dynamodb",
        "127.0.0.1:0",
    ];
    let speaking = Speaking::start(&folder, &args);
    let (status, tables) = speaking.call("ListTables", "{}");
    assert_eq!(status, 200);
    let table = tables
        .split('"')
        .find(|name| name.to_lowercase().contains("todo"))
        .unwrap()
        .to_owned();
    let scan = format!(r#"{{"TableName": "{table}", "Limit": 1}}"#);
    assert_eq!(speaking.call("Scan", &scan).0, 200);
    let delete = format!(r#"{{"TableName": "{table}"}}"#);
    let (status, refusal) = speaking.call("DeleteTable", &delete);
    assert_eq!(status, 400);
    assert!(
        refusal.contains("AccessDeniedException") && refusal.contains("--dynamodb-writes"),
        "{refusal}"
    );
    assert_eq!(speaking.call("CreateTable", TABLE).0, 200);
    assert!(speaking.end());

    let speaking = Speaking::start(&folder, &[&args[..], &["--dynamodb-writes"]].concat());
    assert_eq!(speaking.call("DeleteTable", &delete).0, 200);
}

#[test]
fn other_machines_are_let_in_only_where_that_was_said() {
    let output = singlet(["dynamodb", "--listen", "0.0.0.0:0", "--store", "memory"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("`--allow-remote`"), "{complaint}");
    let folder = Folder::new("dynamodb-remote");
    let args = [
        "dynamodb",
        "--listen",
        "0.0.0.0:0",
        "--store",
        "memory",
        "--allow-remote",
    ];
    assert!(Speaking::start(&folder, &args).end());
}
