//! Writes of made-up models that are begun together on one table: what came of them is what some order of them comes to.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use singlet_verify::bench::BenchGiven;
use singlet_verify::generate;
use singlet_verify::interleaved::Interleaved;
use singlet_verify::run::{NOW, rng_of};
use singlet_verify::writes::sequence::{self, operation_lines};
use singlet_verify::writes::{AT_ONCE_MAX, Draw, Op, WriteSequence, names_its_rows};
use support::{memory, setting};

/// Made-up models, operations that fill each table, and rounds of operations at once.
const MODELS: u64 = 12;
const FIRST: u64 = 25;
const ROUNDS: u64 = 15;

#[tokio::test]
async fn operations_at_once_come_to_what_some_order_of_them_does() {
    let seed = setting("SINGLET_SEED", 1);
    let (mut rounds, mut done, mut gave_up, mut turned) = (0, 0, 0, 0);
    for model in 0..setting("SINGLET_MODELS", MODELS) {
        let mut rng = rng_of(seed, model);
        let text = generate::writes::generate_writes(&mut rng).text();
        let store = Interleaved::interleaved_around(memory(), rng.fork());
        // A write that is none: another model.
        let Ok(mut sequence) = WriteSequence::open(&text, store, BenchGiven::default()).await else {
            continue;
        };
        let mut sizes = rng.fork();
        let mut draw = Draw::new(rng, NOW, &["teller"]);
        let mut number = 0;
        let mut ops: Vec<Op> = Vec::new();
        for round in 0..FIRST + ROUNDS {
            let wanted = if round < FIRST { 1 } else { sizes.usize(2..=AT_ONCE_MAX) };
            let mut together = Vec::new();
            while together.len() < wanted {
                let Some((write, request)) = draw.draw_request(&sequence) else {
                    break;
                };
                let known = sequence.model().writes.iter().find(|known| known.name == write);
                if !known.is_some_and(names_its_rows) {
                    continue;
                }
                number += 1;
                let request = sequence.recorded_request(request);
                together.push(Op { number, write, request });
            }
            ops.extend(together.clone());
            let shown = || format!("seed {seed}, model {model}\n{}\n{text}", operation_lines(&ops));
            match together.as_slice() {
                [one] => {
                    let outcome = sequence.step(one).await;
                    draw.saw_outcome(
                        &one.write,
                        &outcome.unwrap_or_else(|what| panic!("{what}\n{}", shown())),
                    );
                }
                several => {
                    let came = sequence.step_at_once(several).await;
                    let came = came.unwrap_or_else(|what| panic!("{what}\n{} at once of\n{}", several.len(), shown()));
                    rounds += 1;
                    done += came.done;
                    gave_up += came.gave_up;
                    turned += usize::from(!came.in_order);
                }
            }
        }
    }
    println!("{rounds} rounds, {done} done, {gave_up} gave up, {turned} in another order than they were drawn");
    assert!(rounds > 100 && done > rounds, "{rounds} rounds, {done} done");
    assert!(turned > 0, "operations never meet");
    assert!(gave_up * 20 < done, "{gave_up} gave up, {done} done");
}

const ENDING: &str = r#"
singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: type, ttl: ttl}
callers:
  jwt: {audience: made, claims: {id: sub}}
entities:
  Room:
    attributes: {id: string 1..9, name: string 1..9, ends: time?}
    key: {PK: "ROOM#{id}", SK: "ROOM"}
    unique: {name: name}
    expires: 'ends == absent ? absent : ends'
writes:
  room: {allow: caller.authenticated, do: [{create: Room, take: [id, name]}]}
  end: {args: {id: string 1..9}, allow: caller.authenticated, do: [{update: Room(args.id), patch: [ends]}]}
  remove: {args: {id: string 1..9}, allow: caller.authenticated, do: [{delete: Room(args.id)}]}
"#;

/// A row that ends between being read and being removed is gone, and not there to be removed.
#[tokio::test]
async fn a_row_that_ends_meanwhile_is_not_removed() {
    for seed in 0..40 {
        let store = Interleaved::interleaved_around(memory(), rng_of(seed, 0));
        let mut sequence = WriteSequence::open(ENDING, store, BenchGiven::default()).await.unwrap();
        let caller = r#"true - - {"id":"ada"}"#;
        let lines = [
            format!(r#"1 {NOW} room {caller} {{"id":"a","name":"x"}}"#),
            format!(r#"2 {NOW} end {caller} {{"id":"a","ends":"2026-11-16T08:00:00.000Z"}}"#),
            format!(r#"3 {NOW} remove {caller} {{"id":"a"}}"#),
        ];
        let ops = sequence::parse_operations(sequence.model(), &lines.join("\n")).unwrap();
        let (first, together) = ops.split_first().unwrap();
        sequence.step(first).await.unwrap();
        let came = sequence.step_at_once(together).await;
        came.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}
