//! How long a compiled write takes, beside the same call of the store written by hand: in one run, each side after the other.
//!
//! `writes [ROUNDS]` measures and says whether the goals are met.

use std::process::ExitCode;
use std::sync::Arc;

use singlet_bench::error::Outcome;
use singlet_bench::rounds;
use singlet_runtime::{Attributes, Caller, Deployment, Engine, Item, Source, Store, Value, WriteRequest};
use singlet_store::{
    Comparison, Condition, Path, PutRequest, TransactWrite, TransactWriteRequest, Update, UpdateRequest, UpdateReturn,
};
use singlet_store_embedded::EmbeddedStore;

const MODEL: &str = include_str!("../writes.yaml");
const ROUNDS_USUAL: usize = 2_000;
/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;
const TASK: &str = "01J00000000000000000000007";

/// A case, the most that the compiled side may take of the other's time.
const GOALS: [(&str, f64); 2] = [("single", 1.15), ("transaction", 1.15)];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok());
    rounds::exit(measure(rounds.unwrap_or(ROUNDS_USUAL)).await)
}

async fn measure(rounds: usize) -> Outcome<()> {
    rounds::print_head();
    for (case, goal) in GOALS {
        // A side has a table of its own, so that each finds its rows as it left them.
        let (hand, compiled) = (Bench::open().await?, Bench::open().await?);
        let by_hand = async |round| hand.by_hand(case, round).await;
        let compiled = async |round| compiled.compiled(case, round).await;
        rounds::side_by_side(rounds, by_hand, compiled).await?.print(case, goal);
    }
    Ok(())
}

struct Bench {
    engine: Engine,
    store: Arc<dyn Store>,
}

fn text(text: impl Into<String>) -> Value {
    Value::S(text.into())
}

fn item<const N: usize>(fields: [(&str, Value); N]) -> Item {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

impl Bench {
    async fn open() -> Outcome<Self> {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory()?);
        let source = Source::new("writes.yaml", MODEL);
        let engine = Engine::load(&source, Arc::clone(&store), Deployment::default())?;
        engine.create_table().await?;
        let rows = format!(
            "{}\n{}",
            format_args!(
                r#"{{"Task": {{"user_id": "u", "task_id": "{TASK}", "title": "t", "status": "pending", "changed_at": 1}}}}"#
            ),
            r#"{"Account": {"user_id": "u", "orders": 0}}"#
        );
        engine.put_lines(&rows).await?;
        Ok(Bench { engine, store })
    }

    async fn compiled(&self, case: &str, round: usize) -> Outcome<()> {
        let (write, args, key) = match case {
            "single" => {
                let write = if round.is_multiple_of(2) { "start" } else { "stop" };
                (write, ("task_id", text(TASK)), None)
            }
            _ => ("order", ("text", text("a few words")), Some(format!("request-{round}"))),
        };
        let request = WriteRequest {
            args: Attributes::from([(args.0.to_owned(), args.1)]),
            caller: Caller::with_id("u"),
            now: NOW,
            idempotency_key: key,
            precondition: Default::default(),
        };
        self.engine.write(write, &request).await?;
        Ok(())
    }

    /// The same as a program would that knows the keys.
    async fn by_hand(&self, case: &str, round: usize) -> Outcome<()> {
        match case {
            "single" => self.move_by_hand(round).await,
            _ => self.order_by_hand(round).await,
        }
    }

    async fn move_by_hand(&self, round: usize) -> Outcome<()> {
        let (from, to) = if round.is_multiple_of(2) {
            ("pending", "active")
        } else {
            ("active", "pending")
        };
        let request = UpdateRequest {
            table: "writes".to_owned(),
            key: item([("PK", text("TASK#u")), ("SK", text(format!("TASK#{TASK}")))]),
            update: Update::new()
                .set("status", text(to))
                .set("changed_at", Value::from(NOW / 1_000))
                .set("GSI1SK", text(format!("STATUS#{to}#{TASK}"))),
            condition: Some(Condition::exists("PK").and(Condition::equal("status", text(from)))),
            returns: UpdateReturn::Nothing,
        };
        self.store.update(&request).await?;
        Ok(())
    }

    async fn order_by_hand(&self, round: usize) -> Outcome<()> {
        let id = format!("01J{round:023}");
        let order = item([
            ("PK", text("ACCOUNT#u")),
            ("SK", text(format!("ORDER#{id}"))),
            ("kind", text("Order")),
            ("user_id", text("u")),
            ("order_id", text(id.clone())),
            ("text", text("a few words")),
        ]);
        let answer = item([
            ("order_id", text(id)),
            ("text", text("a few words")),
            ("user_id", text("u")),
        ]);
        let record = item([
            ("PK", text(format!("REQUEST#u#request-{round}"))),
            ("SK", text("REQUEST")),
            (
                "hash",
                text("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
            ),
            ("status", Value::from(201)),
            ("body", Value::M(answer)),
            ("ttl", Value::from(NOW / 1_000 + 86_400)),
        ]);
        let table = || "writes".to_owned();
        let over = Condition::compare(
            Path::attribute("ttl"),
            Comparison::LessOrEqual,
            Value::from(NOW / 1_000),
        );
        let request = TransactWriteRequest {
            actions: vec![
                TransactWrite::Put(PutRequest {
                    table: table(),
                    item: order,
                    condition: Some(Condition::not_exists("PK")),
                    return_old: false,
                }),
                TransactWrite::Update(UpdateRequest {
                    table: table(),
                    key: item([("PK", text("ACCOUNT#u")), ("SK", text("ACCOUNT"))]),
                    update: Update::new().add("orders", Value::from(1)),
                    condition: Some(Condition::exists("PK")),
                    returns: UpdateReturn::Nothing,
                }),
                TransactWrite::Put(PutRequest {
                    table: table(),
                    item: record,
                    condition: Some(Condition::not_exists("PK").or(over)),
                    return_old: false,
                }),
            ],
            token: Some(format!("{round:032}")),
        };
        self.store.transact_write(&request).await?;
        Ok(())
    }
}
