//! How long a compiled read takes, beside the same calls of the store written by hand: in one run, each side after the other.
//!
//! - `reads [ROUNDS]` measures and says whether the goals are met.
//! - `reads --only compiled|by-hand get|query|fan-out ROUNDS` runs one side of one case, for profilers.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::try_join_all;
use singlet_bench::error::{Failure, Outcome};
use singlet_bench::rounds;
use singlet_model::evaluate::geo::{self, Place};
use singlet_runtime::{Attributes, Caller, Deployment, Engine, Item, Request, Source, Store, Value};
use singlet_store::{Condition, Direction, GetRequest, KeyRange, QueryRequest, SortRange};
use singlet_store_embedded::EmbeddedStore;

const MODEL: &str = include_str!("../reads.yaml");
/// How often each side runs, unless said.
const ROUNDS_USUAL: usize = 3_000;
/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;
/// Rows in a page.
const PAGE_ROWS: usize = 20;
/// The radius of the circle, in km, and how many cells cover it.
const RADIUS_KM: i64 = 5;
const CELLS: usize = 13;
const PLACES_PER_CELL: usize = 12;

/// A case, the most that the compiled side may take of the other's time.
const GOALS: [(&str, f64); 3] = [("get", 1.15), ("query", 1.10), ("fan-out", 1.15)];

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
    for _ in 0..rounds {
        match side {
            "compiled" => black_box(bench.compiled(case).await?),
            _ => black_box(bench.by_hand(case).await?),
        };
    }
    Ok(())
}

async fn measure(rounds: usize) -> Outcome<()> {
    let bench = Bench::open().await?;
    rounds::print_head();
    for (case, goal) in GOALS {
        let by_hand = async |_| bench.by_hand(case).await;
        let compiled = async |_| bench.compiled(case).await;
        rounds::side_by_side(rounds, by_hand, compiled).await?.print(case, goal);
    }
    Ok(())
}

struct Bench {
    engine: Engine,
    store: Arc<dyn Store>,
    cells: Vec<String>,
    center: Place,
}

impl Bench {
    async fn open() -> Outcome<Self> {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory()?);
        let engine = Engine::load(
            &Source::new("reads.yaml", MODEL),
            Arc::clone(&store),
            Deployment::default(),
        )?;
        engine.create_table().await?;
        let (center, cells) = circle()?;
        let bench = Bench {
            engine,
            store,
            cells,
            center,
        };
        bench.engine.load_lines(&bench.rows()).await?;
        Ok(bench)
    }

    /// Tasks of ten users in three states, and places all over the circle.
    fn rows(&self) -> String {
        let tasks = (0..1_000).map(|at| {
            let status = ["pending", "active", "done"].get(at % 3).copied().unwrap_or_default();
            format!(
                r#"{{"Task": {{"user_id": "user{}", "task_id": "{}", "title": "something to do, number {at}", "status": "{status}", "created_at": {at}, "notes": "a few words about it"}}}}"#,
                at % 10,
                task_id(at)
            )
        });
        let places = self
            .cells
            .iter()
            .enumerate()
            .flat_map(|(cell, _)| (0..PLACES_PER_CELL).map(move |at| (cell, at)));
        let places = places.map(|(cell, at)| {
            // On rings around the centre, so that every cell has some and all are within the radius.
            let turn = (cell * PLACES_PER_CELL + at) as f64;
            let far = 0.043 * (0.1 + 0.9 * (turn * 0.618).fract());
            let (lat, lon) = (self.center.lat + far * turn.sin(), self.center.lon + far * turn.cos());
            format!(
                r#"{{"Place": {{"place_id": "{}", "name": "place {turn}", "open": true, "location": {{"lat": {lat:.5}, "lon": {lon:.5}}}, "since": "2026-01-01T00:00:{:02}.{:03}Z"}}}}"#,
                task_id(cell * PLACES_PER_CELL + at),
                cell,
                at
            )
        });
        tasks.chain(places).collect::<Vec<_>>().join("\n")
    }

    /// How many rows the read of a case answers with.
    async fn compiled(&self, case: &str) -> Outcome<usize> {
        let (read, args) = match case {
            "get" => ("task", vec![("task_id", Value::S(task_id(7)))]),
            "query" => ("tasksByStatus", vec![("status", Value::S("done".to_owned()))]),
            _ => {
                let degrees = |degrees: f64| degrees.to_string().parse().map(Value::N);
                let place = [("lat", degrees(self.center.lat)?), ("lon", degrees(self.center.lon)?)];
                let place = place
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect();
                (
                    "placesNear",
                    vec![("at", Value::M(place)), ("km", Value::from(RADIUS_KM))],
                )
            }
        };
        let request = Request {
            args: args
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Attributes>(),
            caller: Caller::with_id("user7"),
            limit: Some(PAGE_ROWS),
            cursor: None,
            now: NOW,
        };
        let answer = self.engine.read(read, &request).await?;
        Ok(match answer.value {
            Some(Value::L(rows)) => rows.len(),
            Some(_) => 1,
            None => 0,
        })
    }

    /// The same from the store alone, as a program would ask that knows the keys.
    async fn by_hand(&self, case: &str) -> Outcome<usize> {
        match case {
            "get" => self.get_by_hand().await,
            "query" => self.query_by_hand().await,
            _ => self.fan_out_by_hand().await,
        }
    }

    async fn get_by_hand(&self) -> Outcome<usize> {
        let key = [("PK", "TASK#user7".to_owned()), ("SK", format!("TASK#{}", task_id(7)))];
        let request = GetRequest {
            table: "reads".to_owned(),
            key: key
                .into_iter()
                .map(|(name, text)| (name.to_owned(), Value::S(text)))
                .collect(),
            ..GetRequest::default()
        };
        let answer = self.store.get(&request).await?;
        Ok(usize::from(answer.item.is_some()))
    }

    async fn query_by_hand(&self) -> Outcome<usize> {
        let range = KeyRange {
            partition: vec![("GSI1PK".to_owned(), Value::S("USER#user7".to_owned()))],
            sort: vec![("GSI1SK".to_owned(), SortRange::begins_with("STATUS#done#"))],
        };
        let mut request = QueryRequest::new("reads", range);
        request.index = Some("GSI1".to_owned());
        request.direction = Direction::Descending;
        request.limit = Some(PAGE_ROWS as u32);
        Ok(self.store.query(&request).await?.items.len())
    }

    async fn fan_out_by_hand(&self) -> Outcome<usize> {
        let queries = self.cells.iter().map(|cell| async move {
            let mut request = QueryRequest::new("reads", KeyRange::partition("geohash", cell.as_str()));
            request.index = Some("GSI2".to_owned());
            request.direction = Direction::Descending;
            request.filter = Some(Condition::equal("open", Value::Bool(true)));
            request.limit = Some(2 * PAGE_ROWS as u32);
            self.store.query(&request).await
        });
        let pages = try_join_all(queries).await?;
        let mut rows: Vec<Item> = pages.into_iter().flat_map(|page| page.items).collect();
        rows.retain(|row| {
            let place = row.get("location").and_then(Place::from_value);
            place.is_some_and(|place| self.center.distance_km(place) <= RADIUS_KM as f64)
        });
        rows.sort_by(|a, b| b.get("since").cmp(&a.get("since")));
        rows.truncate(PAGE_ROWS);
        Ok(rows.len())
    }
}

/// Twenty-six digits that sort as the number does.
fn task_id(at: usize) -> String {
    format!("01J{at:023}")
}

/// A circle that takes exactly [`CELLS`] cells.
fn circle() -> Outcome<(Place, Vec<String>)> {
    let centers = (0..400).map(|step| Place {
        lat: 52.2 + f64::from(step / 20) * 0.002,
        lon: 21.0 + f64::from(step % 20) * 0.002,
    });
    let covers = centers.filter_map(|center| Some((center, geo::cover_circle(center, RADIUS_KM as f64, 5, 200)?)));
    let mut fitting = covers.filter(|(_, cells)| cells.len() == CELLS);
    fitting
        .next()
        .ok_or_else(|| Failure(format!("no circle here takes {CELLS} cells")))
}
