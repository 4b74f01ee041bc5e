//! How long a compiled write takes, beside the same call of the store written by hand: in one run, each side after the other.
//!
//! - `writes [ROUNDS]` measures and says whether the goals are met.
//! - `writes --only compiled|by-hand single|transaction ROUNDS` runs one side of one case, for profilers.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use singlet_bench::error::{Failure, Outcome};
use singlet_bench::rounds;
use singlet_runtime::{Attributes, Caller, Deployment, Engine, Item, Source, Store, Value, WriteRequest};
use singlet_store::{
    Comparison, Condition, Path, PutRequest, ScanRequest, TransactWrite, TransactWriteRequest, Update, UpdateRequest,
    UpdateReturn,
};
use singlet_store_embedded::EmbeddedStore;
use ulid::Ulid;

const MODEL: &str = include_str!("../writes.yaml");
const ROUNDS_USUAL: usize = 2_000;
/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;
const TASK: &str = "01J00000000000000000000007";

/// A case, the most that the compiled side may take of the other's time.
const GOALS: [(&str, f64); 2] = [("single", 1.15), ("transaction", 1.15)];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ran = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--only", side, case, rounds] => only(side, case, rounds.parse().unwrap_or(ROUNDS_USUAL)).await,
        [rounds] => measure(rounds.parse().unwrap_or(ROUNDS_USUAL)).await,
        _ => measure(ROUNDS_USUAL).await,
    };
    rounds::exit(ran)
}

async fn only(side: &str, case: &str, rounds: usize) -> Outcome<()> {
    let bench = Bench::open().await?;
    for round in 0..rounds {
        match side {
            "compiled" => bench.compiled(case, round).await?,
            _ => bench.by_hand(case, round).await?,
        }
    }
    Ok(())
}

async fn measure(rounds: usize) -> Outcome<()> {
    rounds::print_head();
    for (case, goal) in GOALS {
        // A side has a table of its own, so that each finds its rows as it left them.
        let (hand, compiled) = (Bench::open().await?, Bench::open().await?);
        same(case, &hand, &compiled).await?;
        let by_hand = async |round| hand.by_hand(case, round).await;
        let compiled = async |round| compiled.compiled(case, round).await;
        rounds::side_by_side(rounds, by_hand, compiled).await?.print(case, goal);
    }
    Ok(())
}

/// Both sides write the same, but for what is random.
async fn same(case: &str, hand: &Bench, compiled: &Bench) -> Outcome<()> {
    // Past the rounds that are measured, and an even number of them, so that each finds its rows as it left them.
    for round in [1_000_000, 1_000_001] {
        hand.by_hand(case, round).await?;
        compiled.compiled(case, round).await?;
    }
    let (hand, compiled) = (hand.rows().await?, compiled.rows().await?);
    match hand == compiled {
        true => Ok(()),
        false => Err(Failure(format!("by hand there is {hand:#?}, compiled {compiled:#?}"))),
    }
}

/// Sixteen bytes from the system's own source, as a number.
fn random() -> Outcome<u128> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure(error.to_string()))?;
    Ok(u128::from_be_bytes(bytes))
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

/// An item with its texts told otherwise.
fn plain(item: Item, told: &impl Fn(&str) -> String) -> Item {
    let each = |value| match value {
        Value::S(text) => Value::S(told(&text)),
        Value::M(inner) => Value::M(plain(inner, told)),
        other => other,
    };
    item.into_iter().map(|(name, value)| (name, each(value))).collect()
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
        engine.load_lines(&rows).await?;
        Ok(Bench { engine, store })
    }

    /// Every row, with the same letters for what is random.
    async fn rows(&self) -> Outcome<BTreeSet<String>> {
        let request = ScanRequest {
            table: "writes".to_owned(),
            ..ScanRequest::default()
        };
        let rows = self.store.scan(&request).await?.items;
        let told = |value: &str| match value.len() {
            // A hash, an order's id and its key.
            64 => "hash".to_owned(),
            26 if value != TASK => "id".to_owned(),
            32 if value.starts_with("ORDER#") => "ORDER#id".to_owned(),
            _ => value.to_owned(),
        };
        // What the table knows of itself holds a key of its own.
        let rows = rows
            .into_iter()
            .filter(|row| row.get("kind") != Some(&text("$singlet")));
        Ok(rows.map(|row| format!("{:?}", plain(row, &told))).collect())
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

    /// The same as a program would that knows the keys: it makes the id, the hash of what was sent and the token.
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
        let id = Ulid::from_parts(NOW.unsigned_abs(), random()?).to_string();
        let sent = format!(r#"{{"text":"a few words"}}"#);
        let hash = Sha256::digest(sent.as_bytes());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
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
            ("PK", text(format!("$request#order#u#request-{round}"))),
            ("SK", text("$")),
            ("kind", text("$request")),
            ("request.hash", text(hash)),
            ("request.key", text(format!("request-{round}"))),
            ("response.status", Value::from(201)),
            ("response.body", Value::M(answer)),
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
            token: Some(format!("{:032x}", random()?)),
        };
        self.store.transact_write(&request).await?;
        Ok(())
    }
}
