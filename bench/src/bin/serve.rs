//! How many requests a second the service answers, and how soon, beside bare handlers and beside the same API on Node.
//!
//! - `serve --before` measures the service on the store of today beside itself on the engine of before.
//! - `serve [--node] [--workers N] [--seconds N] [--turns N] [--connections N]` measures. `--node` measures Node too, and
//!   `--workers 2` also as a cluster of so many processes.
//! - `serve --only SIDE CASE [--seconds N]` is one side of one case, for profilers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use singlet_bench::error::{Failure, Outcome};
use singlet_bench::load::client::{Length, turn};
use singlet_bench::load::node::Node;
use singlet_bench::load::operations::{self, Case, Tokens, cases};
use singlet_bench::load::process::{self, Process};
use singlet_bench::load::report::{self, Seen};
use singlet_bench::load::{data, same};
use singlet_bench::rounds;

/// How many requests a side gets before it is measured: Node compiles what it has run often.
const WARM_REQUESTS: usize = 8_000;

struct Options {
    /// Whether the engine of before is measured, and nothing else beside the service.
    before: bool,
    node: bool,
    /// How many processes Node also runs as; none for one alone.
    workers: Option<usize>,
    time: Duration,
    turns: usize,
    connections: usize,
    /// The only side and case.
    only: Option<(String, String)>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, side, folder] = args.as_slice()
        && mode == "--side"
    {
        return rounds::exit(process::run(side, Path::new(folder)).await);
    }
    let measured = match Options::of(&args) {
        Ok(options) => {
            let folder = Folder(std::env::temp_dir().join(format!("singlet-bench-{}", std::process::id())));
            measure(&options, &folder.0).await
        }
        Err(failure) => Err(failure),
    };
    rounds::exit(measured)
}

/// A side, with what answers and what stands behind it.
struct Side {
    name: String,
    process: Process,
    engine: Option<Rc<Process>>,
}

async fn measure(options: &Options, folder: &Path) -> Outcome<()> {
    let mut sides = start(options, folder).await?;
    let tokens = Tokens::sign()?;
    let addresses = sides.iter().map(|side| (side.name.as_str(), side.process.address));
    same::check(addresses, &tokens).await?;
    println!("every side answers the same");
    let mut cases: Vec<Arc<Case>> = cases(&tokens).into_iter().map(Arc::new).collect();
    if options.before {
        cases.push(Arc::new(operations::COUNTS.case(&tokens)));
    }
    if let Some((side, case)) = &options.only {
        sides.retain(|known| known.name == *side);
        cases.retain(|known| known.name == *case);
    }
    let mix = Arc::new(operations::mix(&tokens));
    for side in &sides {
        let length = Length::Requests(WARM_REQUESTS);
        turn(side.process.address, &mix, options.connections, length).await?;
    }
    let (connections, turns, seconds) = (options.connections, options.turns, options.time.as_secs());
    println!("{connections} connections, {turns} turns of {seconds} s, on disk");
    report::print_head();
    for case in &cases {
        report::print(case, measure_case(case, &sides, options).await?);
    }
    Ok(())
}

/// Turns of one side after the other. The first of each warms up.
async fn measure_case<'a>(case: &Arc<Case>, sides: &'a [Side], options: &Options) -> Outcome<Vec<(&'a str, Seen)>> {
    let mut all: Vec<Seen> = sides.iter().map(|_| Seen::default()).collect();
    for round in 0..=options.turns {
        for (side, seen) in sides.iter().zip(&mut all) {
            let before = side.processor_time();
            let length = Length::Time(options.time);
            let turn = turn(side.process.address, case, options.connections, length).await?;
            let used = side.processor_time().zip(before).map(|(after, before)| after - before);
            if round > 0 {
                seen.add(turn, used);
            }
        }
    }
    Ok(sides.iter().map(|side| side.name.as_str()).zip(all).collect())
}

/// Starts the sides, each on a copy of the same data.
async fn start(options: &Options, folder: &Path) -> Outcome<Vec<Side>> {
    let data = folder.join("data");
    data::fill(&data).await?;
    let own = |name: &str| {
        data::copy(&data, &folder.join(name))?;
        Process::of_this_program(name, &folder.join(name))
    };
    let side = |name: &str| -> Outcome<Side> {
        Ok(Side {
            name: name.to_owned(),
            process: own(name)?,
            engine: None,
        })
    };
    if options.before {
        let place = folder.join("before");
        data::fill_before(&place).await?;
        let before = Side {
            name: "before".to_owned(),
            process: Process::of_this_program("before", &place)?,
            engine: None,
        };
        return Ok(vec![before, side("service")?]);
    }
    let mut sides = vec![side("bare")?, side("service")?];
    match options.node.then(Node::install) {
        Some(Ok(node)) => {
            println!("node {}", node.version);
            let place = folder.join("engine");
            data::fill_before(&place).await?;
            let engine = Rc::new(Process::of_this_program("engine", &place)?);
            for workers in [1].into_iter().chain(options.workers) {
                sides.push(Side {
                    name: if workers == 1 {
                        "node".to_owned()
                    } else {
                        format!("node × {workers}")
                    },
                    process: node.start(engine.address, workers)?,
                    engine: Some(Rc::clone(&engine)),
                });
            }
        }
        Some(Err(reason)) => println!("NODE IS NOT MEASURED: {reason}"),
        None => {}
    }
    Ok(sides)
}

impl Side {
    fn processor_time(&self) -> Option<Duration> {
        let engine = match &self.engine {
            Some(engine) => engine.processor_time()?,
            None => Duration::ZERO,
        };
        Some(self.process.processor_time()? + engine)
    }
}

impl Options {
    fn of(args: &[String]) -> Outcome<Self> {
        let mut options = Options {
            before: false,
            node: false,
            workers: None,
            time: Duration::from_secs(2),
            turns: 5,
            connections: 8,
            only: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut text = || {
                args.next()
                    .cloned()
                    .ok_or_else(|| Failure(format!("`{arg}` needs more")))
            };
            let number = |text: String| text.parse().map_err(|_| Failure(format!("`{text}` is no number")));
            match arg.as_str() {
                "--before" => options.before = true,
                "--node" => options.node = true,
                "--workers" => options.workers = Some(number(text()?)?),
                "--seconds" => options.time = Duration::from_secs(number(text()?)? as u64),
                "--turns" => options.turns = number(text()?)?,
                "--connections" => options.connections = number(text()?)?,
                "--only" => options.only = Some((text()?, text()?)),
                _ => return Err(Failure(format!("there is no option `{arg}`"))),
            }
        }
        Ok(options)
    }
}

/// A folder that goes when the benchmark ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
