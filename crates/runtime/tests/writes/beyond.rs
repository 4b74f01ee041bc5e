//! What the five systems do not use: lists of arguments, sets, maps and lists, upserts, other keys, copies in one transaction,
//! leases, loops over rows.

use serde_json::json;
use singlet_runtime::Caller;

use super::place;
use super::support::{System, role, user};

const MODEL: &str = r#"
singlet: 1
name: beyond
table:
  name: beyond
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
  type: type
  ttl: ttl
types:
  Line:
    object:
      account: Account.id
      amount: int -1000..1000
callers:
  jwt: {audience: beyond, claims: {id: sub, role: role}}
entities:
  Account:
    attributes:
      id: string 1..40
      owner: string 1..40
      balance: int 0..1000 = 0
      tags: set(string 1..20)? ..3
      counts: map(int)?
      notes: list(string 1..50)? ..3
      seen: int = 0
    key: {PK: "ACCOUNT#{id}", SK: "ACCOUNT"}
    index:
      GSI1:
        - {when: balance >= 500, GSI1PK: "RICH", GSI1SK: "{owner}#{id}"}
  Card:
    attributes:
      id: Account.id
      owner: {copy: "Account(id).owner", kept: transaction}
      number: string 1..20
    key: {PK: "CARD#{id}", SK: "CARD"}
  Lease:
    attributes:
      name: string 1..40
      holder: string 1..40
      until: time
    key: {PK: "LEASE#{name}", SK: "LEASE"}
    expires: until
    unique: {holder: holder}
  Page:
    attributes:
      path: string 1..40
      text: string 1..100
      author: string 1..40
      edits: int = 0
      version: version
    key: {PK: "PAGE#{path}", SK: "PAGE"}
  ByAuthor:
    mirrors: Page
    carries: [path, author, edits]
    key: {PK: "AUTHOR#{author}", SK: "PAGE#{path}"}
reads:
  account:
    get: Account
    where: id == args.id
    args: {id: Account.id}
    allow: true
writes:
  open:
    allow: caller.authenticated
    do:
      - create: Account
        take: [id, owner]
  transfer:
    args: {lines: "list(Line) 2..40"}
    allow: caller.role == "teller"
    require:
      - sum(args.lines, l, l.amount) == 0 else unbalanced
    do:
      - for: {g: "group(args.lines, l, l.account)"}
        update: Account(g.key)
        add: {balance: "sum(g.rows, l, l.amount)"}
        else: {absent: no_account, balance: no_funds}
  deposit:
    args: {amount: int 1..1000}
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        add: {balance: args.amount}
    http: POST /accounts/{id}/deposit
  touch:
    http: POST /accounts/{id}/touch
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        add: {seen: 1}
    return: nothing
  tag:
    http: POST /accounts/{id}/tag
    args: {tag: string 1..20, kind: string 1..20, note: string 1..50}
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        add: {tags: args.tag, "counts[args.kind]": 1}
        append: {notes: args.note}
  untag:
    http: POST /accounts/{id}/untag
    args: {tag: string 1..20}
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        remove: {tags: args.tag}
  rename:
    http: POST /accounts/{id}/rename
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        take: [owner]
  card:
    http: POST /accounts/{id}/card
    allow: caller.authenticated
    do:
      - create: Card
        set: {id: args.id}
        take: [number]
  lease:
    http: POST /leases/{name}
    allow: caller.authenticated
    do:
      - create: Lease
        set: {name: args.name, holder: caller.id, until: now + minutes(5)}
        else: {exists: held, holder: holds_another}
  extend:
    http: POST /leases/{name}/extend
    allow: caller.authenticated
    do:
      - update: Lease(args.name)
        require:
          - until < now else still_running(until = until)
        set: {until: now + minutes(5)}
        else: {absent: not_held(name = args.name), holder: holds_another(holder = holder)}
  write:
    http: PUT /pages/{path}
    allow: caller.authenticated
    do:
      - upsert: Page(args.path)
        take: [text]
        set: {author: caller.id}
        add: {edits: 1}
  move:
    http: POST /pages/{path}/move
    args: {to: string 1..40}
    allow: caller.authenticated
    let: {page: Page(args.path)}
    do:
      - update: page
        set: {path: args.to}
        rekey: true
  both:
    http: POST /accounts/{id}/both
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        add: {balance: 1}
      - update: Account(args.id)
        set: {owner: caller.id}
  clash:
    http: POST /accounts/{id}/clash
    args: {other: Account.id}
    allow: caller.authenticated
    do:
      - update: Account(args.id)
        set: {owner: caller.id}
      - update: Account(args.other)
        set: {owner: '"x"'}
"#;

async fn system() -> System {
    let system = System::placed("beyond", MODEL, place::store().await).await;
    for id in ["a", "b", "c"] {
        system
            .write("open", &user("ada"), json!({"id": id, "owner": "ada"}))
            .await
            .unwrap();
    }
    system
}

async fn balance(system: &System, id: &str) -> serde_json::Value {
    system
        .read("account", &Caller::anonymous(), json!({"id": id}))
        .await
        .unwrap()["balance"]
        .clone()
}

fn lines(lines: &[(&str, i64)]) -> serde_json::Value {
    let all: Vec<_> = lines
        .iter()
        .map(|(account, amount)| json!({"account": account, "amount": amount}))
        .collect();
    json!({"lines": all})
}

#[tokio::test]
async fn lines_are_summed_per_account_and_limits_are_conditions() {
    let system = system().await;
    system
        .write("deposit", &user("ada"), json!({"id": "a", "amount": 10}))
        .await
        .unwrap();
    let teller = role("t", "teller");
    let ok = lines(&[("a", -4), ("b", 3), ("a", -2), ("c", 3)]);
    system.write("transfer", &teller, ok).await.unwrap();
    assert_eq!(
        (
            balance(&system, "a").await,
            balance(&system, "b").await,
            balance(&system, "c").await
        ),
        (json!(4), json!(3), json!(3))
    );
    let too_much = system.write("transfer", &teller, lines(&[("a", -5), ("b", 5)])).await;
    assert_eq!(too_much, Err("no_funds 409".into()));
    assert_eq!(
        system.write("transfer", &teller, lines(&[("a", -1), ("x", 1)])).await,
        Err("no_account 404".into())
    );
    assert_eq!(
        system.write("transfer", &teller, lines(&[("a", -1), ("b", 2)])).await,
        Err("unbalanced 400".into())
    );
    assert_eq!(
        system
            .write("transfer", &user("eve"), lines(&[("a", -1), ("b", 1)]))
            .await,
        Err("forbidden".into())
    );
    assert_eq!(
        (balance(&system, "a").await, balance(&system, "b").await),
        (json!(4), json!(3))
    );
}

#[tokio::test]
async fn an_index_entry_follows_a_condition() {
    let system = system().await;
    let key = "ACCOUNT#a | ACCOUNT";
    system
        .write("deposit", &user("ada"), json!({"id": "a", "amount": 499}))
        .await
        .unwrap();
    assert_eq!(system.attribute(key, "GSI1PK").await, None);
    system
        .write("deposit", &user("ada"), json!({"id": "a", "amount": 1}))
        .await
        .unwrap();
    assert_eq!(system.attribute(key, "GSI1SK").await, Some(json!("ada#a")));
    let over = system
        .write("deposit", &user("ada"), json!({"id": "a", "amount": 501}))
        .await;
    assert_eq!(over, Err("balance_out_of_range 409".into()));
    let teller = role("t", "teller");
    system
        .write("transfer", &teller, lines(&[("a", -1), ("b", 1)]))
        .await
        .unwrap();
    assert_eq!(system.attribute(key, "GSI1PK").await, None);
}

#[tokio::test]
async fn a_counter_alone_is_added_to_without_reading() {
    let system = system().await;
    let request = system.request("touch", &user("ada"), &json!({"id": "a"}));
    let written = system.send("touch", &request).await.unwrap();
    assert_eq!(written.status, 204);
    assert_eq!(written.consumed.total_units().read.half_count(), 0);
    assert_eq!(written.consumed.total_units().write.get(), 1);
    assert_eq!(system.attribute("ACCOUNT#a | ACCOUNT", "seen").await, Some(json!(1)));
    assert_eq!(
        system.write("touch", &user("ada"), json!({"id": "x"})).await,
        Err("account_not_found 404".into())
    );
}

#[tokio::test]
async fn sets_maps_and_lists_change_in_part() {
    let system = system().await;
    let tag = |tag: &str, kind: &str| json!({"id": "a", "tag": tag, "kind": kind, "note": format!("n{tag}")});
    system.write("tag", &user("ada"), tag("x", "k")).await.unwrap();
    let row = system.write("tag", &user("ada"), tag("y", "k")).await.unwrap();
    assert_eq!(row["tags"], json!(["x", "y"]));
    assert_eq!(row["counts"], json!({"k": 2}));
    assert_eq!(row["notes"], json!(["nx", "ny"]));
    system.write("tag", &user("ada"), tag("z", "j")).await.unwrap();
    assert_eq!(
        system.write("tag", &user("ada"), tag("w", "j")).await,
        Err("tags_out_of_range 409".into())
    );
    for tag in ["x", "y", "z", "z"] {
        system
            .write("untag", &user("ada"), json!({"id": "a", "tag": tag}))
            .await
            .unwrap();
    }
    assert_eq!(system.attribute("ACCOUNT#a | ACCOUNT", "tags").await, None);
}

#[tokio::test]
async fn a_copy_changes_with_its_source() {
    let system = system().await;
    system
        .write("card", &user("ada"), json!({"id": "a", "number": "1"}))
        .await
        .unwrap();
    assert_eq!(system.attribute("CARD#a | CARD", "owner").await, Some(json!("ada")));
    system
        .write("rename", &user("ada"), json!({"id": "a", "owner": "bob"}))
        .await
        .unwrap();
    assert_eq!(system.attribute("CARD#a | CARD", "owner").await, Some(json!("bob")));
    // An account without a card has nothing to follow.
    system
        .write("rename", &user("ada"), json!({"id": "b", "owner": "bob"}))
        .await
        .unwrap();
    let nobody = system
        .write("card", &user("ada"), json!({"id": "x", "number": "1"}))
        .await;
    assert_eq!(nobody, Err("account_not_found 404".into()));
}

#[tokio::test]
async fn a_lease_is_free_when_it_has_expired() {
    let system = system().await;
    system
        .write("lease", &user("ada"), json!({"name": "door"}))
        .await
        .unwrap();
    assert_eq!(
        system.write("lease", &user("bob"), json!({"name": "door"})).await,
        Err("held 409".into())
    );
    assert_eq!(
        system.write("lease", &user("ada"), json!({"name": "gate"})).await,
        Err("holds_another 409".into())
    );
    system.pass(299_000);
    assert_eq!(
        system.write("lease", &user("bob"), json!({"name": "door"})).await,
        Err("held 409".into())
    );
    system.pass(1_000);
    system
        .write("lease", &user("bob"), json!({"name": "door"}))
        .await
        .unwrap();
    // The guard of the first holder expired with the lease.
    system
        .write("lease", &user("ada"), json!({"name": "gate"}))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_upsert_creates_and_then_changes() {
    let system = system().await;
    let first = system
        .write("write", &user("ada"), json!({"path": "p", "text": "one"}))
        .await
        .unwrap();
    assert_eq!((&first["edits"], &first["version"]), (&json!(1), &json!(1)));
    let second = system
        .write("write", &user("bob"), json!({"path": "p", "text": "two"}))
        .await
        .unwrap();
    assert_eq!((&second["edits"], &second["version"]), (&json!(2), &json!(2)));
    let keys: Vec<String> = system
        .keys()
        .await
        .into_iter()
        .filter(|key| key.contains("PAGE#p"))
        .collect();
    assert_eq!(keys, ["AUTHOR#bob | PAGE#p", "PAGE#p | PAGE"]);
    assert_eq!(system.attribute("AUTHOR#bob | PAGE#p", "edits").await, Some(json!(2)));
}

#[tokio::test]
async fn a_row_moves_to_another_key_with_its_mirror() {
    let system = system().await;
    system
        .write("write", &user("ada"), json!({"path": "p", "text": "one"}))
        .await
        .unwrap();
    system
        .write("write", &user("ada"), json!({"path": "q", "text": "two"}))
        .await
        .unwrap();
    assert_eq!(
        system
            .write("move", &user("ada"), json!({"path": "p", "to": "q"}))
            .await,
        Err("page_exists 409".into())
    );
    let moved = system
        .write("move", &user("ada"), json!({"path": "p", "to": "r"}))
        .await
        .unwrap();
    assert_eq!(
        (&moved["path"], &moved["text"], &moved["version"]),
        (&json!("r"), &json!("one"), &json!(2))
    );
    let keys: Vec<String> = system
        .keys()
        .await
        .into_iter()
        .filter(|key| key.contains("PAGE"))
        .collect();
    assert_eq!(
        keys,
        [
            "AUTHOR#ada | PAGE#q",
            "AUTHOR#ada | PAGE#r",
            "PAGE#q | PAGE",
            "PAGE#r | PAGE"
        ]
    );
}

#[tokio::test]
async fn steps_on_one_row_join_or_are_refused() {
    let system = system().await;
    let row = system.write("both", &user("bob"), json!({"id": "a"})).await.unwrap();
    assert_eq!((&row["balance"], &row["owner"]), (&json!(1), &json!("bob")));
    system
        .write("clash", &user("bob"), json!({"id": "a", "other": "b"}))
        .await
        .unwrap();
    let same = system
        .write("clash", &user("bob"), json!({"id": "a", "other": "a"}))
        .await;
    assert_eq!(same, Err("same_item 409".into()));
}

#[tokio::test]
async fn a_refusal_shows_what_the_row_says() {
    let system = system().await;
    system
        .write("lease", &user("ada"), json!({"name": "door"}))
        .await
        .unwrap();
    let early = system.write("extend", &user("ada"), json!({"name": "door"})).await;
    assert_eq!(early, Err("still_running 409 until=2026-11-16T12:05:00.000Z".into()));
}
