//! `singlet check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use singlet_lint::{STORE_KINDS, check_for_store, store_kind};
use singlet_model::{Diagnostic, Severity, Source};

use crate::report::{self, Report};
use crate::{exit, source};

/// How often `--watch` looks at the files.
const WATCH_INTERVAL: Duration = Duration::from_millis(300);

/// Check models against the language and the design rules.
///
/// Every finding has a code, a place and, where there is one, a way out; `singlet explain CODE` says more. Findings that a
/// team has seen and accepts stand under `accept:` in the model, each with its reason.
#[derive(Args)]
pub(crate) struct Check {
    /// Model files; `-` reads standard input.
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// How findings are shown.
    #[arg(long, value_enum, default_value_t = FindingFormat::Text)]
    format: FindingFormat,
    /// Also fail on findings of this severity.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    deny: Option<Denied>,
    /// Also show hints: facts about a sound design that are worth knowing.
    #[arg(long)]
    hints: bool,
    /// Also say what cannot run on this kind of store, or runs otherwise there.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(STORE_KINDS.iter().map(|kind| kind.name)))]
    store: Option<String>,
    /// Check again whenever a file changes.
    #[arg(long, conflicts_with = "format")]
    watch: bool,
    /// Colour in text output; `auto` asks whether it is a terminal.
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    color: Colour,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FindingFormat {
    /// For people: the place in the file, marked.
    Text,
    /// A list of findings; stable.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Denied {
    /// Warnings.
    Warnings,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

impl Check {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self.watch {
            true => self.watch(),
            false => self.once(),
        }
    }

    fn once(&self) -> ExitCode {
        let mut report = Report::default();
        let mut unreadable = false;
        for path in &self.models {
            match source::read_source(path) {
                Ok(bytes) => report.add_file(self.check(path, bytes)),
                Err(reason) => {
                    eprintln!("error: {reason}");
                    unreadable = true;
                }
            }
        }
        let shown = match self.format {
            FindingFormat::Text => report::text::render_text(&report, self.coloured(), self.hints),
            FindingFormat::Json => report::json::render_json(&report),
            FindingFormat::Sarif => report::sarif::render_sarif(&report),
            FindingFormat::Github => report::github::render_github(&report),
        };
        let printed = super::print_text(&shown);
        if printed != ExitCode::from(exit::CLEAN) || unreadable {
            return ExitCode::from(exit::USAGE);
        }
        let deny = self.deny.is_some();
        let fails = report
            .located_findings()
            .any(|(_, finding)| singlet_lint::fails_check(finding.rule.severity, deny));
        ExitCode::from(if fails { exit::FINDINGS } else { exit::CLEAN })
    }

    fn check(&self, path: &Path, bytes: Vec<u8>) -> (Source, Vec<Diagnostic>) {
        let name = match path.as_os_str() == "-" {
            true => "standard input".to_owned(),
            false => path.display().to_string(),
        };
        let (source, found) = match singlet_model::decode_source(&name, bytes) {
            Ok(source) => {
                let loaded = singlet_model::load_source(&source);
                let found = match self.store.as_deref().and_then(store_kind) {
                    Some(kind) => check_for_store(loaded, kind),
                    None => singlet_lint::check_design(loaded),
                };
                (source, found.into_sorted())
            }
            Err(invalid) => (invalid.0, vec![invalid.1]),
        };
        let wanted = |finding: &Diagnostic| self.hints || finding.rule.severity > Severity::Hint;
        let hidden = matches!(self.format, FindingFormat::Text);
        let found = found.into_iter().filter(|finding| hidden || wanted(finding)).collect();
        (source, found)
    }

    fn watch(&self) -> ExitCode {
        // What the files say, not when they were written: a file system's clock may not tell two writes apart.
        let mut seen: Option<Vec<Option<Vec<u8>>>> = None;
        loop {
            let now: Vec<Option<Vec<u8>>> = self.models.iter().map(|path| std::fs::read(path).ok()).collect();
            if seen.as_ref() != Some(&now) {
                // Clears the screen, so that what is shown is always about the files as they are.
                print!("\x1b[2J\x1b[H");
                self.once();
                println!(
                    "\nwatching {} for changes; stop with Ctrl-C",
                    files_in_words(self.models.len())
                );
                seen = Some(now);
            }
            std::thread::sleep(WATCH_INTERVAL);
        }
    }

    fn coloured(&self) -> bool {
        use std::io::IsTerminal;
        match self.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        }
    }
}

/// How many files, in words.
pub(crate) fn files_in_words(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        _ => format!("{count} files"),
    }
}
