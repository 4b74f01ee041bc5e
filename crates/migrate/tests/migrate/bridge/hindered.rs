//! What a bridge does not carry is refused by name.

use singlet_evolve::bridge_hindrances;
use singlet_migrate::{BridgeGoal, MigrateError};

use super::super::support::Table;
use super::models::*;

fn whys(table: &Table, edits: &[(&str, &str)]) -> String {
    let (mut old, mut new) = (OLD.to_owned(), new_model());
    for (was, is) in edits {
        match was.strip_prefix("both: ") {
            Some(was) => {
                assert!(old.contains(was), "{was}");
                (old, new) = (old.replace(was, is), new.replace(was, is));
            }
            None => {
                assert!(new.contains(was), "{was}");
                new = new.replace(was, is);
            }
        }
    }
    let (old, new) = (table.engine(&old), table.engine(&new));
    let of =
        |engine: &singlet_runtime::Engine| (std::sync::Arc::clone(engine.model()), engine.setting().settings.clone());
    let (old, new) = (of(&old), of(&new));
    bridge_hindrances((&old.0, &old.1), (&new.0, &new.1)).join("\n")
}

#[tokio::test]
async fn what_is_not_carried_is_named() {
    let table = old_table(1).await;
    assert_eq!(whys(&table, &[]), "");
    let streamed = ("both: type: kind\n", "type: kind\n  stream: both_images\n");
    assert_eq!(whys(&table, &[streamed]), "");
    let cases: [(&[(&str, &str)], &str); 11] = [
        (
            &[("type: kind\n", "type: kind\n  stream: both_images\n")],
            "the table's stream is another one",
        ),
        (
            &[
                ("both: type: kind\n", "type: kind\n  stream: both_images\n"),
                (
                    "both: writes:\n",
                    "writes:\n  late: {after: {expire: Task}, do: [{create: Memo, set: {id: row.title, text: row.title}}]}\n",
                ),
            ],
            "something runs after what time does",
        ),
        (
            &[("both: type: kind\n", "type: kind\n  stream: new_image\n")],
            "does not carry `both_images`",
        ),
        (
            &[("until: time?\n      edition", "until: seconds?\n      edition")],
            "attribute `until`",
        ),
        (
            &[("due: int? 0..9999", "due: {type: int 0..9999 = 0}")],
            "`due` is optional in one model only",
        ),
        (
            &[("GSI1SK: \"{points}\"", "GSI1SK: \"{points}#{owner}\"")],
            "index `GSI1`",
        ),
        (
            &[("SK: \"{owner}#{number}\"", "SK: \"{owner}#{size}#{number}\"")],
            "the key has `size`, which only one model has",
        ),
        (&[("  ttl: ends", "  ttl: over")], "the TTL attribute"),
        (
            &[(
                "amount: int 0..9999",
                "amount: int 0..9999\n      also: {type: int 0..9 = 0}",
            )],
            "`Price` has versions",
        ),
        (&[("SK: \"SENT\"", "SK: \"MADE\"")], "the records of requests"),
        (
            &[(
                "writes:\n",
                "writes:\n  shift: {args: {owner: string, number: int}, allow: true, do: [{update: \"Task(args.owner, args.number)\", rekey: true, set: {number: '7'}}]}\n",
            )],
            "moves rows to another key",
        ),
    ];
    for (edits, why) in cases {
        let said = whys(&table, edits);
        assert!(said.contains(why), "{edits:?}: {said}");
    }
}

/// A write that a transaction does not hold twice.
#[tokio::test]
async fn a_write_of_sixty_rows_is_named() {
    let table = old_table(1).await;
    let many = "writes:\n  addAll: {args: {numbers: set(int) 1..20}, allow: true, do: [{for: {one: args.numbers}, create: Task, set: {owner: '\"ada\"', number: one, title: '\"t\"'}}]}\n";
    let said = whys(&table, &[("both: writes:\n", many)]);
    assert!(said.contains("addAll"), "{said}");
}

/// Rows that cannot be of both models are said before anything is changed.
#[tokio::test]
async fn rows_that_only_one_model_can_hold_are_said_first() {
    let table = old_table(5).await;
    let before = table.contents().await;
    let narrow = new_model().replace("title: string 1..40", "title: string 1..4");
    let bridge = bridge_on(&table, &table.store, &narrow).await.unwrap();
    let refused = reach(&bridge, BridgeGoal::Both).await;
    assert!(matches!(refused, Err(MigrateError::Unbridged(15, _))), "{refused:?}");
    assert_eq!(table.contents().await, before);
}
