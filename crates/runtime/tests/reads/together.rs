//! What comes with a row, and what is read at one instant.

use serde_json::{Value as Json, json};
use singlet_runtime::{Bounds, Caller, RuntimeError};

use crate::recorder::Asked;
use crate::support::{System, values};

const MODEL: &str = r##"
singlet: 1
name: bank
table:
  name: bank
  key: {partition: PK, sort: SK}
  type: kind
callers:
  jwt: {audience: bank, claims: {id: sub}}
entities:
  Account:
    attributes:
      number: string 1..20
      owner: string 1..20
      balance: int 0..
    key: {PK: "ACCOUNT#{number}", SK: "ACCOUNT"}
  Transfer:
    attributes:
      number: Account.number
      id: int 0..99999
      amount: int 1..
    key: {PK: "ACCOUNT#{number}", SK: "TRANSFER#{id}"}
  Branch:
    attributes:
      branch: string 1..20
      number: Account.number
    key: {PK: "BRANCH#{branch}", SK: "{number}"}
reads:
  transfer:
    get: Transfer
    args: {number: Account.number, id: Transfer.id}
    where: number == args.number && id == args.id
    with:
      account: {get: Account, where: number == row.number}
    together: true
    allow: true
  accounts:
    args: {numbers: "list(Account.number) 1..40", own: Account.number}
    with:
      own: {get: "Account?", where: number == args.own}
      accounts: {find: Account, where: number in args.numbers && balance > 0, order: -balance}
      richest: {find: Account, where: number in args.numbers, order: -balance, limit: 1}
    together: true
    allow: true
  mine:
    get: Account
    args: {number: Account.number}
    where: number == args.number
    allow: owner == caller.id
    together: true
  page:
    get: Account
    args: {number: Account.number}
    where: number == args.number
    with:
      transfers: {find: Transfer, where: number == row.number, order: -id}
      small: {find: Transfer, where: number == row.number && amount == 1, order: id, limit: 3}
    allow: true
  branch:
    find: Branch
    args: {branch: Branch.branch}
    where: branch == args.branch
    with:
      transfers: {find: Transfer, where: number == row.number}
    allow: true
"##;

fn line(entity: &str, row: &Json) -> String {
    json!({ entity: row }).to_string() + "\n"
}

fn account(number: &str, balance: i64) -> String {
    line(
        "Account",
        &json!({"number": number, "owner": "ada", "balance": balance}),
    )
}

/// So many transfers of an account; the last three are of 1.
fn transfers(number: &str, count: usize) -> String {
    let amount = |id: usize| if id + 3 >= count { 1 } else { 2 };
    let row = |id: usize| json!({"number": number, "id": id, "amount": amount(id)});
    (0..count).map(|id| line("Transfer", &row(id))).collect()
}

fn numbers(rows: &Json, name: &str) -> Vec<Json> {
    rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

async fn asked(system: &System, read: &str, args: &[(&str, &str)]) -> (Json, usize) {
    let (answer, calls) = system.requests(read, args, &Caller::with_id("ada")).await;
    let [call] = calls.as_slice() else {
        panic!("{read}: {calls:?}");
    };
    let Asked::TransactGet(transaction) = &call.asked else {
        panic!("{read}: {call:?}");
    };
    (values::to_json(&answer.value.unwrap()), transaction.gets.len())
}

#[tokio::test]
async fn a_row_and_what_comes_with_it_are_one_transaction() {
    let system = System::of(MODEL, &(account("a", 7) + &transfers("a", 3))).await;
    let (answer, items) = asked(&system, "transfer", &[("number", "a"), ("id", "1")]).await;
    assert_eq!(
        (items, &answer["amount"], &answer["account"]["balance"]),
        (2, &json!(1), &json!(7))
    );
    let gone = [("number", "a"), ("id", "9")];
    let refused = system.refused("transfer", &gone, &Caller::anonymous()).await;
    assert!(matches!(refused, RuntimeError::NotFound));
}

#[tokio::test]
async fn rows_of_several_keys_are_one_transaction_in_order_each_item_once() {
    let system = System::of(MODEL, &(account("a", 7) + &account("b", 9) + &account("c", 0))).await;
    let args = [("own", "a"), ("numbers", r#"["c", "a", "b", "z"]"#)];
    let (answer, items) = asked(&system, "accounts", &args).await;
    assert_eq!(items, 4, "`a` is asked for once");
    assert_eq!(answer["own"]["balance"], json!(7));
    assert_eq!(numbers(&answer["accounts"], "number"), ["b", "a"]);
    assert_eq!(numbers(&answer["richest"], "number"), ["b"]);
    let (answer, _) = asked(&system, "accounts", &[("own", "z"), ("numbers", r#"["z"]"#)]).await;
    assert_eq!(answer, json!({"accounts": [], "richest": []}));
}

#[tokio::test]
async fn who_may_not_see_a_row_does_not_see_it_in_a_transaction() {
    let system = System::of(MODEL, &account("a", 7)).await;
    let (answer, _) = asked(&system, "mine", &[("number", "a")]).await;
    assert_eq!(answer["balance"], json!(7));
    let refused = system
        .refused("mine", &[("number", "a")], &Caller::with_id("bob"))
        .await;
    assert!(matches!(refused, RuntimeError::NotFound));
}

/// Money that moves between two accounts is never seen twice, and never missing.
#[tokio::test]
async fn a_transaction_sees_all_of_another_or_nothing() {
    let system = System::of(MODEL, &(account("a", 50) + &account("b", 50))).await;
    let move_money = async {
        for at in 0..100_i64 {
            let moved = 50 + if at % 2 == 0 { at % 50 } else { -(at % 50) };
            system
                .put_together(&[account("a", moved), account("b", 100 - moved)])
                .await;
        }
    };
    let look = async {
        for _ in 0..100 {
            let args = [("own", "a"), ("numbers", r#"["a", "b"]"#)];
            let args = system.args("accounts", &args);
            let call = system.engine.call("accounts");
            let seen: Json = args
                .into_iter()
                .fold(call, |call, (name, value)| call.arg(&name, values::to_json(&value)))
                .one()
                .await
                .unwrap();
            let all: i64 = numbers(&seen["accounts"], "balance")
                .iter()
                .map(|balance| balance.as_i64().unwrap())
                .sum();
            assert_eq!(all, 100, "{seen}");
        }
    };
    tokio::join!(move_money, look);
}

#[tokio::test]
async fn a_list_beside_a_row_is_whole_or_has_its_limit() {
    for count in [345, 1_234] {
        let system = System::of(MODEL, &(account("a", 7) + &transfers("a", count))).await;
        let page = system.one("page", &[("number", "a")], &Caller::anonymous()).await;
        let all: Vec<Json> = (0..count).rev().map(|id| json!(id)).collect();
        assert_eq!(numbers(&page["transfers"], "id"), all);
        let last: Vec<Json> = (count - 3..count).map(|id| json!(id)).collect();
        assert_eq!(numbers(&page["small"], "id"), last);
    }
}

#[tokio::test]
async fn a_list_beside_each_row_is_whole() {
    let branch = line("Branch", &json!({"branch": "x", "number": "a"}))
        + &line("Branch", &json!({"branch": "x", "number": "b"}));
    let system = System::of(MODEL, &(branch + &transfers("a", 234) + &transfers("b", 2))).await;
    let (rows, _) = system.all("branch", &[("branch", "x")], &Caller::anonymous(), 20).await;
    let lengths: Vec<usize> = rows
        .iter()
        .map(|row| row["transfers"].as_array().unwrap().len())
        .collect();
    assert_eq!(lengths, [234, 2]);
}

#[tokio::test]
async fn a_list_beside_a_row_that_cannot_be_held_is_refused_and_not_cut() {
    let system = System::of(
        MODEL,
        &(account("a", 7) + &transfers("a", Bounds::USUAL.beside_rows_max + 1)),
    )
    .await;
    let refused = system.refused("page", &[("number", "a")], &Caller::anonymous()).await;
    assert_eq!(refused.to_string(), "`page` would read more than 10000 rows");
}
