//! Webhooks of a service: told though it is killed, kept for an operator, and refused before anything is served.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::running::{Folder, singlet};
use crate::serving::{ask, terminate};

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(180);

const MODEL: &str = r#"
singlet: 1
name: shop
table: {name: shop, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images, recovery: point_in_time}
settings: {ordersUrl: string?}
entities:
  Order:
    attributes: {orderId: string 1..20}
    key: {PK: "ORDER#{orderId}", SK: "ORDER"}
writes:
  order: {http: POST /orders, allow: true, do: [{create: Order, take: [orderId]}]}
webhooks:
  ordered: {after: {create: Order}, to: settings.ordersUrl, send: {order: row.orderId}}
"#;

const SECRETS: &str = "[shop]\nordered = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\n";

/// A receiver that keeps what comes, and answers with a status.
struct Receiver {
    address: String,
    status: Arc<AtomicU16>,
    came: Arc<Mutex<Vec<(String, String)>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Receiver {
            address: format!("http://{}/hook", listener.local_addr().unwrap()),
            status: Arc::new(AtomicU16::new(200)),
            came: Arc::default(),
        };
        let (status, came) = (Arc::clone(&receiver.status), Arc::clone(&receiver.came));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut id, mut length, mut line) = (String::new(), 0, String::new());
                while reader.read_line(&mut line).unwrap_or(0) > 2 {
                    if let Some((name, value)) = line.trim_end().split_once(": ") {
                        match name {
                            "webhook-id" => id = value.to_owned(),
                            "content-length" => length = value.parse().unwrap(),
                            _ => {}
                        }
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                // Who is killed in the middle of a request has told nothing.
                if length > 0 && reader.read_exact(&mut body).is_ok() {
                    came.lock().unwrap().push((id, String::from_utf8(body).unwrap()));
                }
                let answer = format!(
                    "HTTP/1.1 {} X\r\ncontent-length: 0\r\n\r\n",
                    status.load(Ordering::SeqCst)
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        receiver
    }

    /// What came, by id.
    fn told(&self) -> BTreeMap<String, String> {
        let mut told = BTreeMap::new();
        for (id, body) in self.came.lock().unwrap().iter() {
            let known = told.entry(id.clone()).or_insert_with(|| body.clone());
            assert_eq!(known, body);
        }
        told
    }
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("model.yaml", MODEL.as_bytes());
    folder.write("secrets.toml", SECRETS.as_bytes());
    let secrets = folder.path().join("secrets.toml");
    std::fs::set_permissions(secrets, std::fs::Permissions::from_mode(0o600)).unwrap();
    folder
}

/// A service of the model, which is killed with it.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Folder, receiver: &Receiver) -> Self {
        let mut child = singlet([
            "serve",
            "model.yaml",
            "--log",
            "off",
            "--webhook-secrets",
            "secrets.toml",
        ])
        .args(["--webhooks-anywhere", "--set"])
        .arg(format!("shop.ordersUrl={}", receiver.address))
        .env_remove("SINGLET_SECRET")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let address = first.trim_end().rsplit("http://").next().unwrap().to_owned();
        Served { child, address }
    }

    fn order(&self, id: &str) {
        let body = format!("{{\"orderId\": \"{id}\"}}");
        let answer = ask(&self.address, "POST", "/shop/orders", "x-none: 1", &body);
        assert_eq!(answer.map(|(status, _)| status), Some(201), "{id}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn changes(folder: &Folder, args: &[&str]) -> Output {
    singlet(["changes", "model.yaml", "--store", "embedded:singlet-data"])
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_service_that_is_killed_again_and_again_tells_everything_under_one_id() {
    let folder = folder("webhooks-killed");
    let receiver = Receiver::start();
    for round in 0..8 {
        let served = Served::start(&folder, &receiver);
        for at in 0..3 {
            served.order(&format!("o{round}-{at}"));
        }
        // Sometimes before anything is told, sometimes in the middle of it.
        let told = receiver.told().len();
        if round % 2 == 1 {
            until("one is told", || receiver.told().len() > told);
        }
        drop(served);
    }
    let served = Served::start(&folder, &receiver);
    served.order("last");
    until("all are told", || receiver.told().len() >= 25);
    let counted = || {
        let metrics = ask(&served.address, "GET", "/metrics", "x-none: 1", "").unwrap().1;
        metrics.contains(r#"singlet_deliveries_total{system="shop",webhook="ordered",outcome="delivered"}"#)
    };
    until("it is counted", counted);
    terminate(&served.child);
    let told = receiver.told();
    assert_eq!(told.len(), 25);
    let mut bodies: Vec<&String> = told.values().collect();
    bodies.sort_unstable();
    bodies.dedup_by_key(|body| body.split("\"data\"").nth(1).unwrap_or_default().to_owned());
    assert_eq!(bodies.len(), 25, "each order once");
}

#[test]
fn a_receiver_that_is_gone_is_shown_and_resumed_while_a_service_runs_and_where_none_does() {
    let folder = folder("webhooks-gone");
    let receiver = Receiver::start();
    receiver.status.store(410, Ordering::SeqCst);
    let served = Served::start(&folder, &receiver);
    served.order("a");
    let is_gone = || printed(&changes(&folder, &["deliveries"])).contains("is gone since");
    until("it is gone", is_gone);
    let shown = changes(&folder, &["deliveries"]);
    let text = printed(&shown);
    assert_eq!(shown.status.code(), Some(1), "{text}");
    assert!(text.starts_with("ordered: 1 waiting, `http://127.0.0.1:"), "{text}");
    assert!(
        text.lines().nth(1).is_some_and(|line| line.starts_with("  msg_")),
        "{text}"
    );
    let json = printed(&changes(&folder, &["deliveries", "--json"]));
    let json: serde_json::Value = serde_json::from_str(json.trim_end()).unwrap();
    assert_eq!((&json["webhook"], &json["attempts"]), (&"ordered".into(), &0.into()));
    let came = receiver.came.lock().unwrap().len();

    receiver.status.store(200, Ordering::SeqCst);
    let resumed = changes(&folder, &["resume", "ordered"]);
    assert_eq!(printed(&resumed), "ordered: resumed\n");
    until("it is told", || receiver.came.lock().unwrap().len() > came);
    let is_empty = || printed(&changes(&folder, &["deliveries"])) == "ordered: 0 waiting\n";
    until("nothing waits", is_empty);

    receiver.status.store(500, Ordering::SeqCst);
    served.order("b");
    let is_tried = || printed(&changes(&folder, &["deliveries"])).contains("1 attempt failed: the answer is 500");
    until("it was tried", is_tried);
    drop(served);
    let shown = changes(&folder, &["deliveries"]);
    assert_eq!(shown.status.code(), Some(0), "it is still tried: {}", printed(&shown));
    let unknown = changes(&folder, &["resume", "orders"]);
    assert!(
        printed(&unknown).contains("no webhook `orders`"),
        "{}",
        printed(&unknown)
    );
    assert_eq!(printed(&changes(&folder, &["resume", "ordered"])), "ordered: resumed\n");
}

#[test]
fn what_cannot_be_sent_keeps_a_service_from_starting() {
    let folder = folder("webhooks-refused");
    let refused = |args: &[&str]| {
        let output = singlet(["serve", "model.yaml", "--log", "off", "--store", "memory"])
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(!output.status.success(), "{args:?}");
        printed(&output)
    };
    let url = "shop.ordersUrl=https://receiver.example/hook";
    let said = refused(&["--set", url]);
    assert!(
        said.contains("an address and no secret") && said.contains("--webhook-secrets"),
        "{said}"
    );
    let with_secrets = ["--webhook-secrets", "secrets.toml", "--set"];
    let plain = "shop.ordersUrl=http://receiver.example/hook";
    assert!(refused(&[&with_secrets[..], &[plain]].concat()).contains("sent by `https://`"));
    let own = "shop.ordersUrl=https://127.0.0.1/hook";
    assert!(refused(&[&with_secrets[..], &[own]].concat()).contains("private network"));
    folder.write("wrong.toml", b"[shop]\nordered = \"hunter2-hunter2\"\n");
    let wrong = folder.path().join("wrong.toml");
    std::fs::set_permissions(&wrong, std::fs::Permissions::from_mode(0o600)).unwrap();
    let said = refused(&["--webhook-secrets", "wrong.toml", "--set", url]);
    assert!(
        said.contains("begins with `whsec_`") && !said.contains("hunter2"),
        "{said}"
    );
    std::fs::write(&wrong, "[shop]\nordered = hunter2\n").unwrap();
    let said = refused(&["--webhook-secrets", "wrong.toml", "--set", url]);
    assert!(said.contains("line 2") && !said.contains("hunter2"), "{said}");
    std::fs::set_permissions(&wrong, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&["--webhook-secrets", "wrong.toml", "--set", url]).contains("wrong.toml"));
}

#[test]
fn following_once_tells_what_is_due() {
    let folder = folder("webhooks-follow");
    let receiver = Receiver::start();
    let url = format!("ordersUrl={}", receiver.address);
    let run = |args: &[&str]| {
        let output = singlet(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", printed(&output));
    };
    let store = ["--store", "embedded:singlet-data"];
    let follow = [
        "follow",
        "model.yaml",
        "--once",
        "--log",
        "off",
        "--webhook-secrets",
        "secrets.toml",
    ];
    let follow = [&follow[..], &["--webhooks-anywhere", "--set", &url], &store].concat();
    run(&follow);
    run(&[&["call", "model.yaml", "order", "orderId=a"][..], &store].concat());
    run(&follow);
    assert_eq!(receiver.told().len(), 1);
    run(&follow);
    assert_eq!(receiver.came.lock().unwrap().len(), 1);
}

/// A table that is restored has a delivery that is due, and takes orders: nobody is told of either before it is released.
#[test]
fn a_restored_table_tells_nobody_until_it_is_released() {
    let (folder, other) = (folder("webhooks-dumped"), folder("webhooks-restored"));
    let receiver = Receiver::start();
    receiver.status.store(500, Ordering::SeqCst);
    let served = Served::start(&folder, &receiver);
    served.order("a");
    let is_tried = || printed(&changes(&folder, &["deliveries"])).contains("1 attempt failed");
    until("it was tried", is_tried);
    // While it serves.
    let export = other.path().join("export");
    let dumped = singlet([
        "dump",
        "model.yaml",
        "--store",
        "embedded:singlet-data",
        "--format",
        "dynamodb-export",
    ])
    .arg("--out")
    .arg(&export)
    .current_dir(folder.path())
    .output()
    .unwrap();
    assert!(dumped.status.success(), "{}", printed(&dumped));
    drop(served);
    receiver.status.store(200, Ordering::SeqCst);
    let came = receiver.came.lock().unwrap().len();
    let restored = singlet([
        "restore",
        "export",
        "--model",
        "model.yaml",
        "--store",
        "embedded:singlet-data",
        "--yes",
    ])
    .current_dir(other.path())
    .output()
    .unwrap();
    assert!(
        printed(&restored).contains("is restored in singlet-data"),
        "{}",
        printed(&restored)
    );
    let followed = singlet(["follow", "model.yaml", "--store", "embedded:singlet-data", "--once"])
        .current_dir(other.path())
        .output()
        .unwrap();
    assert!(
        printed(&followed).contains("until it is released"),
        "{}",
        printed(&followed)
    );
    let served = Served::start(&other, &receiver);
    served.order("b");
    // What was tried once is due again after five seconds, drawn out by up to a tenth.
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(receiver.came.lock().unwrap().len(), came, "somebody was told");
    assert!(printed(&changes(&other, &["deliveries"])).starts_with("ordered: 1 waiting"));
    assert_eq!(printed(&changes(&other, &["release"])), "table `shop` is released\n");
    until("both are told", || receiver.came.lock().unwrap().len() >= came + 2);
    assert_eq!(printed(&changes(&other, &["release"])), "table `shop` was not held\n");
    let told = receiver.told();
    for order in ["a", "b"] {
        assert!(
            told.values()
                .any(|body| body.contains(&format!("\"order\":\"{order}\""))),
            "{told:?}"
        );
    }
    terminate(&served.child);
}
