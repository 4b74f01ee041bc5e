//! Transcripts: Markdown in which a block ```` ```yaml NAME ```` is a file, and a block ```` ```console ```` holds commands with
//! what they print. Below a command stand its standard output, its standard error and, where it is not 0, `? CODE`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::running::{Folder, singlet};

/// Runs a transcript; what differs, if anything does.
pub fn check(path: &Path) -> Option<String> {
    let written = fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let current = replayed(&written, &Folder::new(&name));
    if written == current {
        return None;
    }
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        fs::write(path, current).unwrap();
        return None;
    }
    Some(format!("{}:\n{}", path.display(), difference(&written, &current)))
}

/// The transcript with what the commands print now.
fn replayed(written: &str, folder: &Folder) -> String {
    let mut current = String::new();
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        current.push_str(line);
        current.push('\n');
        // A fence of four backticks holds output that has fences of three.
        let language = line.trim_start_matches('`');
        let fence = line.get(..line.len() - language.len()).filter(|fence| fence.len() >= 3);
        let Some(fence) = fence else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != fence).collect();
        match language.split_once(' ') {
            None if language == "console" => current.push_str(&commands(&body, folder)),
            file => {
                let text: String = body.iter().map(|line| format!("{line}\n")).collect();
                current.push_str(&text);
                if let Some(("yaml", name)) = file {
                    folder.write(name, text.as_bytes());
                }
            }
        }
        current.push_str(fence);
        current.push('\n');
    }
    current
}

fn commands(body: &[&str], folder: &Folder) -> String {
    let commands = body.iter().filter_map(|line| line.strip_prefix("$ "));
    commands
        .map(|command| format!("$ {command}\n{}", run(command, folder)))
        .collect()
}

fn run(command: &str, folder: &Folder) -> String {
    let (command, input) = command
        .split_once(" < ")
        .map_or((command, None), |(command, file)| (command, Some(file)));
    let args: Vec<&str> = command.split_whitespace().collect();
    let ["singlet", args @ ..] = args.as_slice() else {
        panic!("a transcript runs `singlet`, not `{command}`");
    };
    let input = match input {
        Some(file) => Stdio::from(fs::File::open(folder.path().join(file)).unwrap()),
        None => Stdio::null(),
    };
    let output = singlet(args).current_dir(folder.path()).stdin(input).output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    // No trailing white space in files of the repository.
    let mut text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if !output.status.success() {
        text.push_str(&format!("? {}\n", output.status.code().unwrap_or(-1)));
    }
    text
}

/// The first lines that differ.
fn difference(written: &str, current: &str) -> String {
    let (mut old, mut new) = (written.lines(), current.lines());
    let mut at = 0;
    loop {
        at += 1;
        let (before, now) = (old.next(), new.next());
        if before != now || before.is_none() {
            return format!(
                "line {at}\n  written: {}\n  printed: {}",
                before.unwrap_or("(end)"),
                now.unwrap_or("(end)")
            );
        }
    }
}
