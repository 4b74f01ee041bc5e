//! A process is killed in the middle of its work, again and again: what it acknowledged is there afterwards, what it had begun is
//! there whole or not at all, and sent again it is done once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

use super::clients::{Client, SYSTEMS, Sent, counted, rows_after};
use super::support::{Outcome, System};

/// Where the process that is killed keeps its tables; the test passes it on.
const FOLDER: &str = "SINGLET_CRASH_FOLDER";
/// Which run it is.
const RUN: &str = "SINGLET_CRASH_RUN";
/// How often a process is killed in each folder, and in how many folders.
const KILLS_PER_FOLDER: u32 = 9;
const FOLDERS: u32 = 6;
/// How many lines it prints before it is killed: two and two empty ones for each write.
const LINES_BEFORE_A_KILL: std::ops::Range<usize> = 40..160;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_what_it_acknowledged_and_nothing_by_half() {
    let mut acknowledged = 0;
    let mut begun = 0;
    for number in 0..FOLDERS {
        let folder = Folder::new(number);
        // The engine makes a table and its indexes one after the other: a kill in between leaves a table that cannot be written.
        tables(&folder.0).await;
        let mut done: BTreeMap<&str, Vec<(Sent, Outcome)>> = BTreeMap::new();
        for run in 0..KILLS_PER_FOLDER {
            let lines = killed(&folder.0, run);
            let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&folder.0).unwrap());
            for name in SYSTEMS {
                let system = System::on(name, Arc::clone(&store)).await;
                // Whole or not at all, before anybody sends anything again.
                system.promises().await;
                let (sent, answered) = of_system(&lines, name);
                acknowledged += answered.len();
                begun += sent.len() - answered.len();
                for (sent, outcome) in answered.iter().filter(|(_, outcome)| outcome.is_ok()) {
                    assert_eq!(&sent.send(&system).await, outcome, "{name}: {sent:?}");
                }
                let open = sent
                    .into_iter()
                    .filter(|sent| answered.iter().all(|(done, _)| done.key != sent.key));
                let done = done.entry(name).or_default();
                for sent in open {
                    let outcome = sent.send(&system).await;
                    done.push((sent, outcome));
                }
                done.extend(answered);
                let rows = system.promises().await;
                for entity in counted(name) {
                    assert_eq!(
                        rows.of(entity).len() as i64,
                        rows_after(done, entity),
                        "{name}: {entity}"
                    );
                }
            }
        }
    }
    println!("{acknowledged} acknowledged, {begun} begun");
    assert!(
        acknowledged > 500,
        "{acknowledged} writes were acknowledged: too few to say anything"
    );
    assert!(begun > 20, "{begun} writes were under way: too few to say anything");
}

async fn tables(folder: &Path) {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder).unwrap());
    for name in SYSTEMS {
        System::on(name, Arc::clone(&store)).await;
    }
}

/// Runs the load in a process of its own and kills it somewhere. Gives the lines that it printed.
fn killed(folder: &Path, run: u32) -> Vec<Json> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "crashes::the_load_of_a_process_that_is_killed",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .env(RUN, run.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    while !first.starts_with('[') {
        first.clear();
        assert!(
            output.read_line(&mut first).unwrap() > 0,
            "the load ended before it began"
        );
    }
    // By how far it came, not by the clock: on a busy machine it comes less far in the same time.
    let mut rest = String::new();
    for _ in 0..fastrand::usize(LINES_BEFORE_A_KILL) {
        output.read_line(&mut rest).unwrap();
    }
    std::thread::sleep(Duration::from_micros(fastrand::u64(0..20_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    output.read_to_string(&mut rest).unwrap();
    // A line that was cut is no acknowledgement.
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    let lines = first.lines().chain(whole.lines()).filter(|line| line.starts_with('['));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What was sent to a system, and what was answered.
fn of_system(lines: &[Json], name: &str) -> (Vec<Sent>, Vec<(Sent, Outcome)>) {
    let (mut sent, mut answered) = (Vec::new(), Vec::new());
    for line in lines.iter().filter(|line| line[0] == name) {
        match &line[2] {
            Json::Null => sent.push(Sent::from_json(&line[1])),
            outcome => {
                let refusal = outcome["refused"].as_str().map(str::to_owned);
                let outcome = refusal.map_or_else(|| Ok(outcome["answer"].clone()), Err);
                answered.push((Sent::from_json(&line[1]), outcome));
            }
        }
    }
    (sent, answered)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other test runs it in a process of its own"]
async fn the_load_of_a_process_that_is_killed() {
    let (Ok(folder), Ok(run)) = (std::env::var(FOLDER), std::env::var(RUN)) else {
        return;
    };
    let run: u32 = run.parse().unwrap();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(Path::new(&folder)).unwrap());
    let loads = SYSTEMS.map(|name| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let system = System::on(name, store).await;
            let log = |sent: &Sent, outcome: Option<&Outcome>| {
                let outcome = outcome.map(|outcome| match outcome {
                    Ok(answer) => json!({"answer": answer}),
                    Err(refusal) => json!({"refused": refusal}),
                });
                let line = json!([name, sent.to_json(), outcome]);
                let mut out = std::io::stdout().lock();
                writeln!(out, "\n{line}").unwrap();
                out.flush().unwrap();
            };
            Client::new(&system, run, &log).run(10_000).await;
        })
    });
    for load in loads {
        load.await.unwrap();
    }
}

/// A folder of its own that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(number: u32) -> Self {
        let name = format!("singlet-crashes-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
