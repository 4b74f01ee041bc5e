//! A table whose partition key is a number: what is kept beside its rows has numbers of its own.

use serde_json::json;

use super::place;
use super::support::{System, refused, user};

const MODEL: &str = r#"
singlet: 1
name: numbered
table: {name: numbered, key: {partition: {name: PK, type: number}, sort: {name: SK, type: string}}, type: type}
callers:
  jwt: {audience: numbered, claims: {id: sub}}
entities:
  Seat:
    attributes:
      number: int 0..
      holder: string 1..40
    key: {PK: "{number}", SK: "SEAT"}
    unique: {holder: holder}
  Price:
    attributes:
      number: int 0..
      at: time
      until: time?
      amount: int 0..
    key: {PK: "{number}", SK: "PRICE#{at}"}
    history: {at: at, until: until}
  Ticket:
    attributes:
      number: int 0..
      id: ulid = ulid()
    key: {PK: "{number}", SK: "TICKET#{id}"}
reads:
  seats: {find: Seat, scan: all of them, allow: true}
writes:
  take: {allow: true, do: [{create: Seat, take: [number, holder]}]}
  leave: {args: {number: int 0..}, allow: true, do: [{delete: Seat(args.number)}]}
  price: {allow: true, do: [{create: Price, take: [number, amount]}]}
  dearer: {args: {number: int 0..}, allow: true, do: [{update: Price(args.number), add: {amount: 1}}]}
  sell: {args: {number: int 0..}, allow: true, do: [{create: Ticket, set: {number: args.number}}]}
  clear:
    args: {number: int 0..}
    allow: true
    bulk: true
    do:
      - for: {t: {find: Ticket, where: number == args.number}}
        delete: t
    return: {cleared: done}
"#;

async fn system() -> System {
    System::placed("numbered", MODEL, place::store().await).await
}

#[tokio::test]
async fn unique_values_are_kept() {
    let system = system().await;
    let ada = user("ada");
    system
        .write("take", &ada, json!({"number": 1, "holder": "ada"}))
        .await
        .unwrap();
    let again = system.write("take", &ada, json!({"number": 2, "holder": "ada"})).await;
    assert_eq!(again, refused("holder_taken 409"));
    system.write("leave", &ada, json!({"number": 1})).await.unwrap();
    system
        .write("take", &ada, json!({"number": 2, "holder": "ada"}))
        .await
        .unwrap();
    // Guards are no rows of an entity.
    let seats = system.read("seats", &ada, json!({})).await.unwrap();
    assert_eq!(seats, json!([{"number": 2, "holder": "ada"}]));
}

#[tokio::test]
async fn versions_requests_and_bulk_writes_have_their_places() {
    let system = system().await;
    let ada = user("ada");
    system
        .write("price", &ada, json!({"number": 1, "amount": 5}))
        .await
        .unwrap();
    let again = system.write("price", &ada, json!({"number": 1, "amount": 5})).await;
    assert_eq!(again, refused("price_exists 409"));
    system.pass(10);
    system.write("dearer", &ada, json!({"number": 1})).await.unwrap();
    let first = system
        .write_once("sell", &ada, "k", json!({"number": 1}))
        .await
        .unwrap();
    assert_eq!(
        system.write_once("sell", &ada, "k", json!({"number": 1})).await,
        Ok(first)
    );
    let cleared = system.write("clear", &ada, json!({"number": 1})).await.unwrap();
    assert_eq!(cleared, json!({"cleared": 1}));
}

const UNDECLARED: &str = r#"
singlet: 1
name: lines
table: {name: lines, key: {partition: PK, sort: SK}}
callers:
  jwt: {audience: lines, claims: {id: sub}}
entities:
  Line:
    attributes:
      o: string 1..9
      n: int
      text: string 1..9
    key: {PK: "LINE#{o}", SK: "{n}"}
    unique: {text: text}
reads:
  line: {get: Line, args: {o: string, n: int}, where: o == args.o && n == args.n, allow: true}
  lines: {find: Line, args: {o: string, from: int}, where: o == args.o && n >= args.from, order: n, allow: true}
writes:
  write: {allow: true, do: [{create: Line, take: [o, n, text]}]}
"#;

#[tokio::test]
async fn a_key_that_only_numbers_fill_is_a_number() {
    let system = System::placed("lines", UNDECLARED, place::store().await).await;
    let ada = user("ada");
    for (n, text) in [(2, "a"), (10, "b"), (-1, "c")] {
        system
            .write("write", &ada, json!({"o": "x", "n": n, "text": text}))
            .await
            .unwrap();
    }
    let lines = system.read("lines", &ada, json!({"o": "x", "from": 2})).await.unwrap();
    assert_eq!(
        lines,
        json!([{"o": "x", "n": 2, "text": "a"}, {"o": "x", "n": 10, "text": "b"}])
    );
    assert_eq!(
        system.read("line", &ada, json!({"o": "x", "n": -1})).await.unwrap()["text"],
        json!("c")
    );
}
