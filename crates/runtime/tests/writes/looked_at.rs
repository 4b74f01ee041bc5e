//! Rows that a write looks at: found by a read, named by their keys inside expressions, or gone through in a loop. They are read, and
//! what was looked at must still be so.

use std::sync::Arc;

use serde_json::json;
use singlet_runtime::Caller;

use super::faulty_store::FaultyStore;
use super::place;
use super::support::{System, has, refused, user};

const MODEL: &str = r#"
singlet: 1
name: looked
table:
  name: looked
  key: {partition: PK, sort: SK}
  indexes:
    byKind: {partition: GP, sort: GS}
  type: kind
  ttl: ttl
callers:
  jwt: {audience: looked, claims: {id: sub}}
entities:
  P:
    attributes:
      o: string 1..20
      id: string 1..20
      price: int 0..1000
      label: string? ..20
      ends: seconds?
    key: {PK: "O#{o}", SK: "P#{id}"}
    index:
      byKind: {GP: "ID#{id}", GS: "{o}"}
    expires: ends
  Budget:
    attributes:
      id: string 1..20
      most: int 0..1000 = 100
      locked: bool?
      used: int = 0
    key: {PK: "BUDGET#{id}", SK: "BUDGET"}
  Order:
    attributes:
      id: string 1..20
      total: int 0..
      names: list(string 1..20)? ..10
    key: {PK: "ORDER#{id}", SK: "ORDER"}
writes:
  put:
    allow: true
    do: [{create: P, take: [o, id, price, label, ends]}]
  price:
    args: {price: int 0..1000}
    http: POST /p/{o}/{id}/price
    allow: true
    do: [{update: "P{o: args.o, id: args.id}", set: {price: args.price}}]
  label:
    args: {label: string ..20}
    http: POST /p/{o}/{id}/label
    allow: true
    do: [{update: "P{o: args.o, id: args.id}", set: {label: args.label}}]
  budget:
    allow: true
    do: [{create: Budget, take: [id, most, locked]}]
  lock:
    http: POST /budgets/{id}/lock
    allow: true
    do: [{update: Budget(args.id), set: {locked: "true"}}]
  orderAll:
    args: {o: P.o, id: Order.id}
    let: {ps: {find: P, where: o == args.o, limit: 5}}
    allow: true
    require:
      - (!ps.exists(p, p.price > 500)) else too_dear
      - size(ps) > 0 else nothing_there
    do:
      - create: Order
        set: {id: args.id, total: "sum(ps, p, p.price)", names: "ps.map(p, p.id)"}
  orderCheap:
    args: {o: P.o, id: Order.id}
    let: {ps: {find: P, where: o == args.o, limit: 5}}
    allow: true
    do:
      - when: ps.exists(p, p.price < 10)
        create: Order
        set: {id: args.id, total: 1}
    return: nothing
  double:
    args: {o: P.o}
    let: {ps: {find: P, where: o == args.o, limit: 5}}
    allow: true
    do:
      - for: {p: "ps.filter(q, q.price > 10)"}
        update: p
        set: {price: price + p.price}
    return: {before: "ps.map(p, p.price)"}
  orderOne:
    args: {o: P.o, pid: P.id, id: Order.id}
    allow: true
    do:
      - create: Order
        set: {id: args.id, total: "P{o: args.o, id: args.pid}.price"}
  orderSome:
    args: {o: P.o, pids: "list(P.id) 1..5", id: Order.id}
    allow: true
    require:
      - 'args.pids.all(i, P{o: args.o, id: i}.price < 500) else too_dear'
    do:
      - create: Order
        set: {id: args.id, total: "sum(args.pids, i, P{o: args.o, id: i}.price)"}
  showOne:
    args: {o: P.o, pid: P.id, id: Budget.id}
    allow: true
    do:
      - update: Budget(args.id)
        add: {used: 1}
    return: {price: "P{o: args.o, id: args.pid}.price", used: "Budget(args.id).used"}
  ifThere:
    args: {o: P.o, pid: P.id, id: Order.id}
    allow: true
    do:
      - when: 'P{o: args.o, id: args.pid} != absent'
        create: Order
        set: {id: args.id, total: 1}
      - when: 'P{o: args.o, id: args.pid} == absent'
        create: Order
        set: {id: args.id, total: 2}
  ownerOnly:
    args: {o: P.o, pid: P.id, id: Order.id}
    allow: 'P{o: args.o, id: args.pid}.label == caller.id'
    do:
      - create: Order
        set: {id: args.id, total: 0}
  spend:
    args: {id: Budget.id, o: P.o, pid: P.id}
    let: {b: Budget(args.id)}
    allow: true
    do:
      - update: 'P{o: args.o, id: args.pid}'
        require:
          - b.locked != true else budget_locked
          - price <= b.most else too_dear
        set: {label: '"bought"'}
  spendAll:
    args: {o: P.o, id: Budget.id}
    allow: true
    do:
      - for: {p: {find: P, where: o == args.o, limit: 3}}
        create: Order
        set: {id: p.id, total: p.price}
      - update: Budget(args.id)
        add: {used: 1}
  byId:
    args: {id: P.id, order: Order.id}
    let: {p: {get: "P?", where: id == args.id}}
    allow: true
    do:
      - create: Order
        set: {id: args.order, total: 'p == absent ? 0 : p.price'}
"#;

fn anybody() -> Caller {
    user("ada")
}

async fn system() -> System {
    System::placed("looked", MODEL, place::store().await).await
}

async fn two() -> (Arc<FaultyStore>, System, System) {
    let store = FaultyStore::new(0, 1);
    let first = System::placed("looked", MODEL, (store.clone(), false)).await;
    let second = System::placed("looked", MODEL, (store.clone(), false)).await;
    (store, first, second)
}

async fn put(system: &System, id: &str, price: i64) {
    let row = json!({"o": "x", "id": id, "price": price});
    system.write("put", &anybody(), row).await.unwrap();
}

#[tokio::test]
async fn a_requirement_on_found_rows_is_decided_on_them() {
    let system = system().await;
    let order = json!({"o": "x", "id": "1"});
    assert_eq!(
        system.write("orderAll", &anybody(), order.clone()).await,
        refused("nothing_there 409")
    );
    put(&system, "a", 10).await;
    put(&system, "b", 600).await;
    assert_eq!(
        system.write("orderAll", &anybody(), order.clone()).await,
        refused("too_dear 409")
    );
    assert_eq!(system.keys_under("ORDER#").await, Vec::<String>::new());
    let cheaper = json!({"o": "x", "id": "b", "price": 7});
    system.write("price", &anybody(), cheaper).await.unwrap();
    let made = system.write("orderAll", &anybody(), order).await.unwrap();
    has(&made, &json!({"id": "1", "total": 17, "names": ["a", "b"]}));
}

#[tokio::test]
async fn a_condition_of_a_step_sees_found_rows() {
    let system = system().await;
    put(&system, "a", 10).await;
    system
        .write("orderCheap", &anybody(), json!({"o": "x", "id": "1"}))
        .await
        .unwrap();
    assert_eq!(system.keys_under("ORDER#").await, Vec::<String>::new());
    put(&system, "b", 9).await;
    system
        .write("orderCheap", &anybody(), json!({"o": "x", "id": "1"}))
        .await
        .unwrap();
    assert_eq!(system.keys_under("ORDER#").await, ["ORDER#1 | ORDER"]);
}

#[tokio::test]
async fn found_rows_are_gone_through_and_changed() {
    let system = system().await;
    for (id, price) in [("a", 10), ("b", 20), ("c", 30)] {
        put(&system, id, price).await;
    }
    let answer = system.write("double", &anybody(), json!({"o": "x"})).await.unwrap();
    assert_eq!(answer, json!({"before": [10, 20, 30]}));
    assert_eq!(system.attribute("O#x | P#a", "price").await, Some(json!(10)));
    assert_eq!(system.attribute("O#x | P#b", "price").await, Some(json!(40)));
    assert_eq!(system.attribute("O#x | P#c", "price").await, Some(json!(60)));
}

#[tokio::test]
async fn a_found_row_that_changes_meanwhile_is_looked_at_again() {
    let (store, system, other) = two().await;
    put(&system, "a", 10).await;
    put(&system, "b", 20).await;
    store.meanwhile(async move {
        let dearer = json!({"o": "x", "id": "b", "price": 600});
        other.write("price", &anybody(), dearer).await.unwrap();
    });
    let order = json!({"o": "x", "id": "1"});
    assert_eq!(
        system.write("orderAll", &anybody(), order).await,
        refused("too_dear 409")
    );
}

#[tokio::test]
async fn a_found_row_may_change_where_nobody_looked() {
    let (store, system, other) = two().await;
    put(&system, "a", 10).await;
    store.meanwhile(async move {
        let label = json!({"o": "x", "id": "a", "label": "new"});
        other.write("label", &anybody(), label).await.unwrap();
    });
    let made = system.write("orderAll", &anybody(), json!({"o": "x", "id": "1"})).await;
    has(&made.unwrap(), &json!({"total": 10}));
}

#[tokio::test]
async fn a_row_named_in_an_expression_is_read() {
    let system = system().await;
    put(&system, "a", 10).await;
    put(&system, "b", 20).await;
    let order = json!({"o": "x", "pid": "a", "id": "1"});
    has(
        &system.write("orderOne", &anybody(), order).await.unwrap(),
        &json!({"total": 10}),
    );
    let missing = json!({"o": "x", "pid": "z", "id": "2"});
    assert_eq!(
        system.write("orderOne", &anybody(), missing).await,
        refused("p_not_found 404")
    );
    let some = json!({"o": "x", "pids": ["a", "b", "a"], "id": "3"});
    has(
        &system.write("orderSome", &anybody(), some).await.unwrap(),
        &json!({"total": 40}),
    );
    put(&system, "c", 900).await;
    let dear = json!({"o": "x", "pids": ["a", "c"], "id": "4"});
    assert_eq!(
        system.write("orderSome", &anybody(), dear).await,
        refused("too_dear 409")
    );
    let none = json!({"o": "x", "pids": ["a", "z"], "id": "5"});
    assert_eq!(
        system.write("orderSome", &anybody(), none).await,
        refused("p_not_found 404")
    );
    assert_eq!(
        system.keys_under("ORDER#").await,
        ["ORDER#1 | ORDER", "ORDER#3 | ORDER"]
    );
}

#[tokio::test]
async fn a_row_named_in_an_answer_is_answered_as_it_becomes() {
    let system = system().await;
    put(&system, "a", 10).await;
    system.write("budget", &anybody(), json!({"id": "b"})).await.unwrap();
    let shown = json!({"o": "x", "pid": "a", "id": "b"});
    assert_eq!(
        system.write("showOne", &anybody(), shown).await.unwrap(),
        json!({"price": 10, "used": 1})
    );
    let missing = json!({"o": "x", "pid": "z", "id": "b"});
    assert_eq!(
        system.write("showOne", &anybody(), missing).await,
        refused("p_not_found 404")
    );
    assert_eq!(system.attribute("BUDGET#b | BUDGET", "used").await, Some(json!(1)));
}

#[tokio::test]
async fn only_a_test_for_absence_takes_a_missing_row() {
    let system = system().await;
    put(&system, "a", 10).await;
    let there = json!({"o": "x", "pid": "a", "id": "1"});
    has(
        &system.write("ifThere", &anybody(), there).await.unwrap(),
        &json!({"total": 1}),
    );
    let missing = json!({"o": "x", "pid": "z", "id": "2"});
    has(
        &system.write("ifThere", &anybody(), missing).await.unwrap(),
        &json!({"total": 2}),
    );
}

#[tokio::test]
async fn a_row_named_in_allow_decides() {
    let system = system().await;
    let mine = json!({"o": "x", "id": "a", "price": 1, "label": "ada"});
    system.write("put", &anybody(), mine).await.unwrap();
    let order = json!({"o": "x", "pid": "a", "id": "1"});
    assert_eq!(
        system.write("ownerOnly", &user("eve"), order.clone()).await,
        refused("p_not_found 404")
    );
    assert_eq!(
        system.write("ownerOnly", &Caller::anonymous(), order.clone()).await,
        refused("p_not_found 404")
    );
    let missing = json!({"o": "x", "pid": "z", "id": "1"});
    assert_eq!(
        system.write("ownerOnly", &anybody(), missing).await,
        refused("p_not_found 404")
    );
    system.write("ownerOnly", &anybody(), order).await.unwrap();
}

#[tokio::test]
async fn a_named_row_that_changes_meanwhile_is_looked_at_again() {
    let (store, system, other) = two().await;
    put(&system, "a", 10).await;
    store.meanwhile(async move {
        let dearer = json!({"o": "x", "id": "a", "price": 11});
        other.write("price", &anybody(), dearer).await.unwrap();
    });
    let order = json!({"o": "x", "pid": "a", "id": "1"});
    has(
        &system.write("orderOne", &anybody(), order).await.unwrap(),
        &json!({"total": 11}),
    );
}

#[tokio::test]
async fn a_requirement_of_a_step_looks_at_other_rows() {
    let system = system().await;
    put(&system, "a", 50).await;
    put(&system, "b", 150).await;
    let budget = json!({"id": "b", "most": 100});
    system.write("budget", &anybody(), budget).await.unwrap();
    let spend = |pid: &str| json!({"id": "b", "o": "x", "pid": pid});
    system.write("spend", &anybody(), spend("a")).await.unwrap();
    assert_eq!(
        system.write("spend", &anybody(), spend("b")).await,
        refused("too_dear 409")
    );
    system.write("lock", &anybody(), json!({"id": "b"})).await.unwrap();
    assert_eq!(
        system.write("spend", &anybody(), spend("a")).await,
        refused("budget_locked 409")
    );
}

#[tokio::test]
async fn what_a_loop_writes_of_its_row_is_insisted_on() {
    let (store, system, other) = two().await;
    put(&system, "a", 10).await;
    system.write("budget", &anybody(), json!({"id": "b"})).await.unwrap();
    store.meanwhile(async move {
        let dearer = json!({"o": "x", "id": "a", "price": 99});
        other.write("price", &anybody(), dearer).await.unwrap();
    });
    let all = json!({"o": "x", "id": "b"});
    system.write("spendAll", &anybody(), all).await.unwrap();
    assert_eq!(system.attribute("ORDER#a | ORDER", "total").await, Some(json!(99)));
}

#[tokio::test]
async fn rows_that_have_ended_hide_no_row() {
    let system = system().await;
    for number in 0..150 {
        let ended = json!({"o": format!("o{number:03}"), "id": "k", "price": 1, "ends": system.now() / 1000 + 60});
        system.write("put", &anybody(), ended).await.unwrap();
    }
    let live = json!({"o": "z", "id": "k", "price": 42});
    system.write("put", &anybody(), live).await.unwrap();
    system.pass(3_600_000);
    let found = json!({"id": "k", "order": "1"});
    has(
        &system.write("byId", &anybody(), found).await.unwrap(),
        &json!({"total": 42}),
    );
}
