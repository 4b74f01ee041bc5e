//! A command of our own, run for an assistant: what it says is what it says in a terminal.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a command may take.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(300);

/// How often it is looked whether it has ended.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// How much of what it says is told.
const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;

/// What came of a command.
pub(super) struct Outcome {
    /// What it said, its complaints at the end.
    pub(super) text: String,
    /// Its exit code; none where it was ended.
    pub(super) code: Option<i32>,
}

/// Runs the command that this process is, with other arguments.
///
/// # Errors
///
/// Where it cannot be started, or was ended.
pub(super) fn run_command(
    folder: &Path,
    args: &[String],
    input: Option<&str>,
    ending: &AtomicBool,
) -> Result<Outcome, String> {
    let program = std::env::current_exe().map_err(|error| format!("the command cannot be found: {error}"))?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder);
    // What the environment says of stores and addresses is meant for a service.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SINGLET_") {
            command.env_remove(name);
        }
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("the command cannot be started: {error}"))?;
    let input = input.unwrap_or_default().to_owned();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        let said = scope.spawn(move || read_bounded(stdout));
        let complained = scope.spawn(move || read_bounded(stderr));
        let code = wait_for(&mut child, ending);
        let mut text = said.join().unwrap_or_default();
        text.push_str(&complained.join().unwrap_or_default());
        code.map(|code| Outcome { text, code })
    })
}

fn wait_for(child: &mut Child, ending: &AtomicBool) -> Result<Option<i32>, String> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) => {}
            Err(error) => return Err(format!("the command cannot be waited for: {error}")),
        }
        let is_late = begun.elapsed() > COMMAND_TIME_MAX;
        if ending.load(Ordering::Relaxed) || is_late {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it took longer than {} seconds", COMMAND_TIME_MAX.as_secs()));
        }
        std::thread::sleep(LOOK_PAUSE);
    }
}

/// What is written to a pipe, its beginning. All of it is read, so that who writes is not held up.
fn read_bounded(pipe: Option<impl Read>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let _ = (&mut pipe).take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
    let rest = std::io::copy(&mut pipe, &mut std::io::sink()).unwrap_or(0);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if rest > 0 {
        text.push_str(&format!("\n… and {rest} bytes more\n"));
    }
    text
}
