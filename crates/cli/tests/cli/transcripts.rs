//! Transcripts: Markdown in which a block ```` ```yaml NAME ```` (or `json`, `jsonl`) is a file, a block ```` ```diff NAME ````
//! changes one, and a block ```` ```console ```` holds commands with what they print. Below a command stand its standard output,
//! its standard error and, where it is not 0, `? CODE`. A written `…` stands for what differs from run to run.

use std::fs;
use std::path::Path;

use super::running::Folder;
use super::shell::Shell;

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
    let mut shell = Shell::new(folder);
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
            None if language == "console" => current.push_str(&commands(&body, &mut shell)),
            file => {
                let text: String = body.iter().map(|line| format!("{line}\n")).collect();
                current.push_str(&text);
                match file {
                    Some(("yaml" | "json" | "jsonl", name)) => folder.write(name, text.as_bytes()),
                    Some(("diff", name)) => {
                        let before = fs::read_to_string(folder.path().join(name)).unwrap();
                        folder.write(name, changed(&before, &body).as_bytes());
                    }
                    _ => {}
                }
            }
        }
        current.push_str(fence);
        current.push('\n');
    }
    current
}

fn commands(body: &[&str], shell: &mut Shell<'_>) -> String {
    let mut text = String::new();
    let mut lines = body.iter().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let mut written = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            written.push(*line);
        }
        let printed = shell.run(command);
        text.push_str(&format!("$ {command}\n"));
        for (number, line) in printed.lines().enumerate() {
            let kept = written.get(number).filter(|written| fits(written, line));
            text.push_str(&format!("{}\n", kept.unwrap_or(&line)));
        }
    }
    text
}

/// Whether a line is as written, where `…` stands for anything.
fn fits(written: &str, printed: &str) -> bool {
    let mut parts = written.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let found = match parts.peek() {
            Some(_) => rest.find(part).map(|at| at + part.len()),
            None => rest.ends_with(part).then_some(rest.len()),
        };
        let Some(end) = found else { return false };
        rest = &rest[end..];
    }
    rest.is_empty()
}

/// A file after a change: each hunk, up to a line `@@`, stands in it exactly once.
fn changed(before: &str, diff: &[&str]) -> String {
    let mut text = before.to_owned();
    for hunk in diff
        .split(|line| line.starts_with("@@"))
        .filter(|hunk| !hunk.is_empty())
    {
        let side = |other: char| -> String {
            let lines = hunk.iter().filter(|line| !line.starts_with(other));
            lines
                .map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
                .collect()
        };
        let (old, new) = (side('+'), side('-'));
        let times = text.matches(&old).count();
        assert_eq!(times, 1, "a change is found {times} times in its file:\n{old}");
        text = text.replacen(&old, &new, 1);
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
