//! What is for its owner alone: files, secrets, and what an address shows.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::running::{Folder, singlet};
use crate::serving::{Served, ask};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What a command says that ends in an error.
fn complaint(folder: &Folder, args: &[&str]) -> String {
    let output = singlet(args)
        .env_remove("SINGLET_SECRET")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let folder = Folder::new("private-made");
    let served = Served::start(&folder, &[]);
    let all_private = |place: &Path| {
        assert_eq!(mode(place), 0o700, "{}", place.display());
        let files: Vec<_> = fs::read_dir(place)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(!files.is_empty());
        for file in files {
            // What is in a folder is hidden by the folder.
            let private = if file.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&file), private, "{}", file.display());
        }
    };
    all_private(&folder.path().join("singlet-data"));
    assert!(served.end());
    let model = crate::repository().join("systems/todo/model.yaml");
    let run = |args: &[&str]| {
        let output = singlet(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let model = model.to_str().unwrap();
    run(&["dump", model, "--store", "embedded:singlet-data", "--out", "rows.jsonl"]);
    assert_eq!(mode(&folder.path().join("rows.jsonl")), 0o600);
    run(&["backup", "singlet-data", "copy"]);
    run(&["restore", "copy", "above/restored"]);
    all_private(&folder.path().join("above/restored"));
    assert_eq!(mode(&folder.path().join("above")), 0o700);
}

#[test]
fn a_folder_of_somebody_elses_making_keeps_its_mode_and_is_warned_of() {
    let folder = Folder::new("private-folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let start = ["serve", "--store", "embedded:data", "--listen", "nowhere"];
    set_mode(&data, 0o755);
    let said = complaint(&folder, &start);
    assert!(said.contains("others can look into the folder of the data"), "{said}");
    assert!(said.contains("chmod 700 data") && said.contains("0755"), "{said}");
    assert_eq!((mode(&data), mode(&data.join("secret"))), (0o755, 0o600));
    set_mode(&data, 0o700);
    let said = complaint(&folder, &start);
    assert!(!said.contains("others can look"), "{said}");
}

#[test]
fn a_secret_that_others_can_read_is_refused_unless_it_is_meant() {
    let folder = Folder::new("private-secret");
    folder.write("secret", b"a-secret-nobody-may-see-0123456789\n");
    let secret = folder.path().join("secret");
    let start = [
        "serve",
        "--store",
        "memory",
        "--secret-file",
        "secret",
        "--listen",
        "nowhere",
    ];
    let token = [
        "token",
        "todo",
        "--as",
        "ada",
        "--expires",
        "no",
        "--secret-file",
        "secret",
    ];
    for readable in [0o640, 0o604, 0o644, 0o660, 0o610] {
        set_mode(&secret, readable);
        for command in [&start[..], &token] {
            let said = complaint(&folder, command);
            assert!(
                said.contains(&format!("others can read `secret` (mode {readable:04o})")),
                "{said}"
            );
            assert!(
                said.contains("chmod 600 secret") && said.contains("--secret-files-shared"),
                "{said}"
            );
            assert!(!said.contains("nobody-may-see"), "{said}");
            let meant = complaint(&folder, &[command, &["--secret-files-shared"]].concat());
            assert!(!meant.contains("others can read"), "{meant}");
        }
    }
    for private in [0o600, 0o400] {
        set_mode(&secret, private);
        let said = complaint(&folder, &start);
        assert!(said.contains("`nowhere` cannot be listened on"), "{said}");
    }
    // A link says nothing: what it leads to does.
    set_mode(&secret, 0o644);
    std::os::unix::fs::symlink("secret", folder.path().join("link")).unwrap();
    let linked = [
        "serve",
        "--store",
        "memory",
        "--secret-file",
        "link",
        "--listen",
        "nowhere",
    ];
    assert!(complaint(&folder, &linked).contains("others can read `link`"));
}

#[test]
fn a_tls_key_is_a_secret_too() {
    let folder = Folder::new("private-tls");
    let files = crate::repository().join("crates/http/tests/service/tls");
    for name in ["certificate.pem", "key.pem"] {
        folder.write(name, &fs::read(files.join(name)).unwrap());
    }
    let start = [
        "serve",
        "--store",
        "memory",
        "--tls-certificate",
        "certificate.pem",
        "--tls-key",
        "key.pem",
        "--listen",
        "nowhere",
    ];
    set_mode(&folder.path().join("key.pem"), 0o644);
    assert!(complaint(&folder, &start).contains("others can read `key.pem`"));
    set_mode(&folder.path().join("key.pem"), 0o600);
    assert!(complaint(&folder, &start).contains("`nowhere` cannot be listened on"));
}

#[test]
fn operators_have_an_address_of_their_own() {
    let folder = Folder::new("private-operators");
    let served = Served::start(&folder, &["--store", "memory", "--operator-listen", "127.0.0.1:0"]);
    let line = served
        .greeting()
        .lines()
        .find(|line| line.starts_with("for operators at "));
    let operators = line.unwrap().rsplit("http://").next().unwrap().to_owned();
    assert!(
        served
            .greeting()
            .contains(&format!("described at http://{operators}/todo/docs"))
    );
    let own = served.address();
    let status = |address: &str, path: &str| ask(address, "GET", path, "x: y", "").unwrap().0;
    for path in ["/", "/metrics", "/todo/docs", "/todo/openapi.json"] {
        assert_eq!((status(&own, path), status(&operators, path)), (404, 200), "{path}");
    }
    for path in ["/health", "/ready"] {
        assert_eq!((status(&own, path), status(&operators, path)), (200, 200), "{path}");
    }
    let (header, path) = served.calls().remove(0);
    let explained = format!("{path}&explain");
    assert_eq!(ask(&own, "GET", &path, &header, "").unwrap().0, 200);
    assert_eq!(ask(&own, "GET", &explained, &header, "").unwrap().0, 400);
    assert_eq!(ask(&operators, "GET", &explained, &header, "").unwrap().0, 200);
    assert!(served.end());
}

/// Whoever issues tokens, none that is refused is shown.
#[test]
fn the_greeting_shows_no_token_where_others_issue_them() {
    let folder = Folder::new("private-jwks");
    let keys = r#"{"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "one", "use": "sig",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
    folder.write("keys.json", keys.as_bytes());
    let issuer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/keys", issuer.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in issuer.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let length = keys.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{keys}"
            );
        }
    });
    for place in ["keys.json", address.as_str()] {
        let served = Served::start(&folder, &["--store", "memory", "--jwks", place]);
        assert!(!served.greeting().contains("Bearer"), "{}", served.greeting());
        // Who has API keys is shown one that works.
        let calls = served.calls();
        assert_eq!(calls.len(), 1);
        assert_eq!(
            ask(&served.address(), "GET", &calls[0].1, &calls[0].0, "").unwrap().0,
            200
        );
    }
}
