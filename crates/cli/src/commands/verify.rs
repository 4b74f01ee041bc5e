//! `singlet verify`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use singlet_model::{Diagnostic, Diagnostics, Model, Source};
use singlet_scenario::{File, Outcome, Played, Target};

use crate::report::{place, text};
use crate::{exit, model, source};

/// Play the scenarios of a model over real HTTP, and say what of the model they do not reach.
///
/// Each scenario has a service of its own, in memory, whose clock stands. `docs/verify.md` shows how scenarios are written.
#[derive(Args)]
pub struct Verify {
    /// The model file.
    model: PathBuf,
    /// The scenarios; `scenarios.yaml` beside the model unless said.
    #[arg(long, value_name = "FILE")]
    scenarios: Option<PathBuf>,
    /// Fail where an operation, a status or a refusal is not reached.
    #[arg(long)]
    require_coverage: bool,
    /// How the outcome is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Verify {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.verify()).unwrap_or_else(|code| code)
    }

    async fn verify(self) -> Result<ExitCode, ExitCode> {
        let model = Arc::new(model::load(&self.model)?);
        let path = match &self.scenarios {
            Some(path) => path.clone(),
            None => self.model.with_file_name("scenarios.yaml"),
        };
        let (source, file) = self.read(&path, &model)?;
        let outcome = singlet_scenario::run(&file, Arc::clone(&model)).await;
        let outcome = outcome.map_err(|reason| model::fail(&reason))?;
        let shown = match self.format {
            Format::Text => as_text(&model.name, &source, &outcome),
            Format::Json => as_json(&model.name, &source, &outcome),
        };
        let code = super::print(&shown);
        let passed = outcome.findings.is_empty() && outcome.played.iter().all(|played| played.differences.is_empty());
        let covered = !self.require_coverage || outcome.coverage.missing().next().is_none();
        Ok(if passed && covered {
            code
        } else {
            ExitCode::from(exit::FINDINGS)
        })
    }

    fn read(&self, path: &Path, model: &Model) -> Result<(Source, File), ExitCode> {
        let bytes = source::read(path).map_err(|reason| model::fail(&reason))?;
        let decoded = singlet_model::decode(&path.display().to_string(), bytes);
        let source = decoded.map_err(|invalid| self.refuse(&invalid.0, &[invalid.1]))?;
        let mut found = Diagnostics::default();
        let file = singlet_scenario::read(&source, model, &mut found);
        match file.filter(|_| !found.has_errors()) {
            Some(file) => Ok((source, file)),
            None => Err(self.refuse(&source, &found.into_sorted())),
        }
    }

    /// Shows what is wrong with a file that is not played.
    fn refuse(&self, source: &Source, findings: &[Diagnostic]) -> ExitCode {
        let shown = match self.format {
            Format::Text => findings.iter().map(|finding| snippet(source, finding)).collect(),
            Format::Json => {
                let mistakes: Vec<Json> = findings.iter().map(|finding| located(source, finding)).collect();
                format!("{:#}\n", json!({"passed": false, "mistakes": mistakes}))
            }
        };
        super::print(&shown);
        ExitCode::from(exit::FINDINGS)
    }
}

fn as_text(name: &str, source: &Source, outcome: &Outcome) -> String {
    let mut shown = String::new();
    let longest = outcome.played.iter().map(|played| played.name.chars().count()).max();
    for played in &outcome.played {
        let word = if played.differences.is_empty() { "ok  " } else { "FAIL" };
        let width = longest.unwrap_or_default();
        shown.push_str(&format!(
            "{word}  {:width$}  {}\n",
            played.name,
            counted(played.calls, "call")
        ));
    }
    shown.push('\n');
    let differences = outcome.played.iter().flat_map(|played| &played.differences);
    for finding in differences.chain(&outcome.findings) {
        shown.push_str(&snippet(source, finding));
    }
    let missing: Vec<String> = outcome
        .coverage
        .missing()
        .map(|target| format!("  {target}\n"))
        .collect();
    if !missing.is_empty() {
        shown.push_str(&format!("not reached:\n{}\n", missing.concat()));
    }
    let failed = outcome
        .played
        .iter()
        .filter(|played| !played.differences.is_empty())
        .count();
    let calls = outcome.played.iter().map(|played| played.calls).sum();
    let scenarios = counted(outcome.played.len(), "scenario");
    let verdict = if failed == 0 {
        "all as written".to_owned()
    } else {
        format!("{failed} not as written")
    };
    shown.push_str(&format!("{name}: {scenarios}, {}: {verdict}\n", counted(calls, "call")));
    let parts: Vec<String> = kinds(outcome)
        .into_iter()
        .filter(|(_, (_, there))| *there > 0)
        .map(|(kind, (reached, there))| format!("{reached} of {there} {kind}"))
        .collect();
    let excused = outcome.coverage.excused_count();
    let excused = if excused == 0 {
        String::new()
    } else {
        format!(" ({excused} more are said to be unreachable)")
    };
    shown.push_str(&format!("reached: {}{excused}\n", parts.join(", ")));
    shown
}

fn kinds(outcome: &Outcome) -> [(&'static str, (usize, usize)); 4] {
    let count = |kind: fn(&Target) -> bool| outcome.coverage.counts(kind);
    [
        ("operations", count(|target| matches!(target, Target::Operation(_)))),
        ("statuses", count(|target| matches!(target, Target::Status { .. }))),
        ("refusals", count(|target| matches!(target, Target::Refusal { .. }))),
        ("roles", count(|target| matches!(target, Target::Role(_)))),
    ]
}

fn as_json(name: &str, source: &Source, outcome: &Outcome) -> String {
    let played = |played: &Played| {
        let differences: Vec<Json> = played
            .differences
            .iter()
            .map(|finding| located(source, finding))
            .collect();
        json!({
            "name": played.name,
            "line": source.position(played.span.start).line,
            "passed": played.differences.is_empty(),
            "calls": played.calls,
            "differences": differences,
        })
    };
    let scenarios: Vec<Json> = outcome.played.iter().map(played).collect();
    let findings: Vec<Json> = outcome
        .findings
        .iter()
        .map(|finding| located(source, finding))
        .collect();
    let missing: Vec<String> = outcome.coverage.missing().map(Target::to_string).collect();
    let mut coverage = serde_json::Map::new();
    for (kind, (reached, there)) in kinds(outcome) {
        coverage.insert(kind.to_owned(), json!({"reached": reached, "of": there}));
    }
    coverage.insert("unreachable".to_owned(), json!(outcome.coverage.excused_count()));
    coverage.insert("missing".to_owned(), json!(missing));
    let passed = findings.is_empty() && outcome.played.iter().all(|played| played.differences.is_empty());
    let whole = json!({
        "model": name,
        "passed": passed,
        "scenarios": scenarios,
        "findings": findings,
        "coverage": coverage,
    });
    format!("{whole:#}\n")
}

fn located(source: &Source, finding: &Diagnostic) -> Json {
    let (start, _) = place(source, finding);
    json!({
        "code": finding.rule.code,
        "message": finding.message,
        "help": finding.help,
        "file": source.name(),
        "line": start.line,
        "column": start.column,
    })
}

fn snippet(source: &Source, finding: &Diagnostic) -> String {
    let mut shown = text::finding(source, finding);
    shown.push_str("\n\n");
    shown
}

fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}
