//! Sides as processes of their own, so that none shares a thread with the load.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dynoxide::Database;
use singlet_store_before::DATABASE_FILE;

use super::{bare, service};
use crate::error::{Failure, Outcome};

/// A side that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts a side of this program on the data of a folder.
    pub fn of_this_program(side: &str, folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--side").arg(side).arg(folder);
        Process::start(command)
    }

    /// Starts a command that says on its first line where it listens, and ends when its input does.
    pub fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        match line.trim().parse() {
            Ok(address) => Ok(Process { child, address }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Failure(format!("{:?} did not start", command.get_program())))
            }
        }
    }
}

impl Process {
    /// The processor time that it and its own processes have used, where the system tells.
    pub fn processor_time(&self) -> Option<Duration> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let own = children.split_whitespace().filter_map(|id| id.parse().ok());
        own.chain([id]).map(processor_time).sum()
    }
}

/// The processor time of one process.
fn processor_time(id: u32) -> Option<Duration> {
    /// Linux counts in hundredths of a second for everybody who asks.
    const TICK_MILLIS: u64 = 10;
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in brackets may hold anything; the user's and the system's time are the 12th and 13th after it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut ticks = || times.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * TICK_MILLIS))
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its end is its own to make; a process that is stuck would hold the benchmark for ever.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a side until the input ends, as the process that [`Process::of_this_program`] starts.
pub async fn run(side: &str, folder: &Path) -> Outcome<()> {
    let address = match side {
        "bare" => bare::start(folder).await?,
        "service" => service::start(folder).await?,
        "before" => service::start_before(folder).await?,
        "engine" => engine(folder).await?,
        _ => return Err(Failure(format!("there is no side `{side}`"))),
    };
    println!("{address}");
    let input_ends = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    input_ends.await??;
    Ok(())
}

/// The engine's own HTTP server.
async fn engine(folder: &Path) -> Outcome<SocketAddr> {
    let file = folder.join(DATABASE_FILE);
    let database = Database::new(&file.to_string_lossy())?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(dynoxide::server::serve_on(listener, database));
    Ok(address)
}
