//! `singlet verify`.

mod drawn;
mod junit;
mod played;
mod skeletons;
mod subjects;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value as Json, json};
use singlet_model::{Diagnostic, Diagnostics, Model, Source};
use singlet_runtime::Attributes;
use singlet_scenario::{File, Outcome};
use singlet_values as values;
use singlet_verify::probe::{self, Options, Report};

use crate::place::Place;
use crate::{exit, model, source};

/// Test a model against its own meaning, and play its scenarios.
///
/// Generates rows that the model allows, runs every read and write on a real engine, compares the results with what they should mean,
/// and shows each difference with as few rows as possible. A condition under `using:` is run as written. The scenarios next to the
/// model are played over real HTTP, and the parts of the model that they do not reach are listed. `docs/verify.md` shows both.
#[derive(Args)]
pub(crate) struct Verify {
    /// The model file.
    model: PathBuf,
    /// The scenarios; `scenarios.yaml` beside `model.yaml`, or `NAME.scenarios.yaml` beside `NAME.yaml`, unless said.
    #[arg(long, value_name = "FILE")]
    scenarios: Option<PathBuf>,
    /// Fail where an operation, a status or a refusal is not reached.
    #[arg(long)]
    require_coverage: bool,
    /// Write scenarios to be completed, one for each target that none reaches.
    #[arg(long, value_name = "FILE")]
    write_skeletons: Option<PathBuf>,
    /// Generated cases for each read and write; 0 only plays the scenarios.
    #[arg(long, default_value_t = CASES_USUAL, value_name = "NUMBER")]
    cases: usize,
    /// The seed from which everything is generated.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// Start no more cases after this many minutes.
    #[arg(long, value_name = "NUMBER")]
    minutes: Option<f64>,
    /// Generate cases for this read or write only, and play no scenario; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// A value of the model's `settings`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// How the outcome is shown.
    #[arg(long, value_enum, default_value_t = OutcomeFormat::Text)]
    format: OutcomeFormat,
    /// Where cases are run: `memory`, or `dynamodb` in tables that are made for it and removed.
    #[arg(long, default_value = "memory", value_name = "STORE")]
    store: String,
    /// With `dynamodb`: an endpoint other than the region's own.
    #[arg(long, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// With `dynamodb`: the region; taken from the environment unless given.
    #[arg(long, env = "SINGLET_REGION", value_name = "REGION")]
    region: Option<String>,
}

/// Cases of each operation unless said.
const CASES_USUAL: usize = 100;

/// Threads that try cases.
const WORKERS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutcomeFormat {
    Text,
    Json,
    Junit,
}

/// Scenarios that were played, with their file.
type Scenarios = (Source, Outcome);

impl Verify {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        self.verify().unwrap_or_else(|code| code)
    }

    fn verify(self) -> Result<ExitCode, ExitCode> {
        let place = self.place().map_err(|reason| model::fail_command(&reason))?;
        let loaded = model::load_model(&self.model)?;
        self.check_names(&loaded)
            .map_err(|reason| model::fail_command(&reason))?;
        let settings = self.settings(&loaded).map_err(|reason| model::fail_command(&reason))?;
        let model = Arc::new(loaded);
        let scenarios = match self.scenario_file() {
            Some(path) => Some(self.play(&path, &model)?),
            None => None,
        };
        let report = match self.cases {
            0 => None,
            _ => Some(self.draw(&model, &settings, &place)?),
        };
        if let (Some(path), Some((_, outcome))) = (&self.write_skeletons, &scenarios) {
            let text = skeletons::skeleton_text(&model, outcome);
            std::fs::write(path, text)
                .map_err(|error| model::fail_command(&format!("`{}` cannot be written: {error}", path.display())))?;
        }
        let shown = match self.format {
            OutcomeFormat::Text => self.as_text(&model, scenarios.as_ref(), report.as_ref()),
            OutcomeFormat::Json => self.as_json(&model, scenarios.as_ref(), report.as_ref()),
            OutcomeFormat::Junit => junit::junit_suites(&model.name, scenarios.as_ref(), report.as_ref(), &|finding| {
                self.again(finding)
            }),
        };
        let code = super::print_text(&shown);
        let covered =
            |(_, outcome): &Scenarios| !self.require_coverage || outcome.coverage.missing_targets().next().is_none();
        let good = is_passed(scenarios.as_ref(), report.as_ref()) && scenarios.iter().all(covered);
        Ok(if good { code } else { ExitCode::from(exit::FINDINGS) })
    }

    /// Where cases are run. A folder is never written: what is there is somebody's.
    fn place(&self) -> Result<Place, String> {
        match Place::parse(&self.store, self.endpoint_url.clone(), self.region.clone())? {
            Place::Folder(_) => Err(
                "`verify` fills and empties tables: it runs in `memory`, or in tables of its own in `dynamodb`"
                    .to_owned(),
            ),
            place => Ok(place),
        }
    }

    fn check_names(&self, model: &Model) -> Result<(), String> {
        for name in &self.only {
            crate::request::named_operation(model, name)?;
        }
        if self.write_skeletons.is_some() && self.scenario_file().is_none() {
            return Err(
                "there are no scenarios that could leave something out; `--scenarios FILE` names them".to_owned(),
            );
        }
        Ok(())
    }

    /// The settings that are said, and usual values of the others.
    fn settings(&self, model: &Model) -> Result<Attributes, String> {
        let mut settings = probe::usual_settings(model);
        for text in &self.settings {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| format!("`{text}` is not `name=value`"))?;
            let known = model.settings.iter().find(|known| known.name == name);
            let known = known.ok_or_else(|| format!("`{}` has no setting `{name}`", model.name))?;
            let value = values::from_text(value, &known.ty);
            let value = value.map_err(|invalid| format!("this is no value of `{name}`: {invalid}"))?;
            settings.insert(name.to_owned(), value);
        }
        Ok(settings)
    }

    /// The scenarios that are said, or those that stand beside the model. Those beside `model.yaml` are no other model's.
    fn scenario_file(&self) -> Option<PathBuf> {
        if !self.only.is_empty() {
            return None;
        }
        if self.scenarios.is_some() {
            return self.scenarios.clone();
        }
        let stem = self.model.file_stem()?.to_string_lossy().into_owned();
        let name = match stem.as_str() {
            "model" => "scenarios.yaml".to_owned(),
            stem => format!("{stem}.scenarios.yaml"),
        };
        Some(self.model.with_file_name(name)).filter(|path| path.exists())
    }

    fn play(&self, path: &Path, model: &Arc<Model>) -> Result<Scenarios, ExitCode> {
        let (source, file) = self.read(path, model)?;
        let mut played = None;
        super::block_on(async {
            played = Some(singlet_scenario::play_scenarios(&file, Arc::clone(model)).await);
            Ok(ExitCode::SUCCESS)
        })?;
        let outcome = played.ok_or_else(|| model::fail_command("the scenarios were not played"))?;
        Ok((
            source,
            outcome.map_err(|error| model::fail_command(&error.to_string()))?,
        ))
    }

    /// Tries every operation in drawn cases.
    fn draw(&self, model: &Arc<Model>, settings: &Attributes, place: &Place) -> Result<Report, ExitCode> {
        let stop = Arc::new(AtomicBool::new(false));
        // Tables that were made are removed before the command ends.
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop));
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
        }
        let bar = drawn::case_bar(model, &self.only, self.cases);
        let progress = |_: &str, _: probe::Kind, cases: usize| bar.inc(cases as u64);
        let options = Options {
            only: &self.only,
            until: self
                .minutes
                .map(|minutes| Instant::now() + Duration::from_secs_f64((minutes * 60.0).max(0.0))),
            workers: WORKERS,
            progress: Some(&progress),
            stop: Some(&stop),
            // An endpoint that is not DynamoDB's own may count otherwise.
            holds_costs: !matches!(place, Place::DynamoDb { .. }),
            ..Options::new(self.seed, self.cases)
        };
        let subjects = subjects::Subjects::new(place.clone(), &self.model, settings.clone());
        let report = subjects.run(|make| probe::run_probe(model, settings, make, &options));
        bar.finish_and_clear();
        report.map_err(|reason| model::fail_command(&reason))
    }

    /// The command that shows a finding again.
    fn again(&self, finding: &probe::Finding) -> String {
        let mut text = format!("singlet verify {} --only {}", self.model.display(), finding.drawn_for);
        let cases = finding.case.max(1);
        text.push_str(&format!(" --seed {} --cases {cases}", self.seed));
        for setting in &self.settings {
            text.push_str(&format!(" --set {setting}"));
        }
        text
    }

    fn as_text(&self, model: &Model, scenarios: Option<&Scenarios>, report: Option<&Report>) -> String {
        let mut shown = String::new();
        if let Some((source, outcome)) = scenarios {
            shown.push_str(&played::as_text(&model.name, source, outcome));
        }
        if let Some(report) = report {
            if scenarios.is_some() {
                shown.push('\n');
            }
            shown.push_str(&drawn::as_text(&model.name, report, self.seed, &|finding| {
                self.again(finding)
            }));
        }
        shown
    }

    fn as_json(&self, model: &Model, scenarios: Option<&Scenarios>, report: Option<&Report>) -> String {
        let mut whole = Map::new();
        whole.insert("model".to_owned(), json!(model.name));
        whole.insert("passed".to_owned(), json!(is_passed(scenarios, report)));
        if let Some((source, outcome)) = scenarios {
            let fields = played::as_json(source, outcome).into_iter();
            whole.extend(fields.map(|(name, value)| (name.to_owned(), value)));
        }
        if let Some(report) = report {
            let drawn = drawn::as_json(report, self.seed, &|finding| self.again(finding));
            whole.insert("drawn".to_owned(), drawn);
        }
        format!("{:#}\n", Json::Object(whole))
    }

    fn read(&self, path: &Path, model: &Model) -> Result<(Source, File), ExitCode> {
        let bytes = source::read_source(path).map_err(|reason| model::fail_command(&reason))?;
        let decoded = singlet_model::decode_source(&path.display().to_string(), bytes);
        let source = decoded.map_err(|invalid| self.refuse(&invalid.0, &[invalid.1]))?;
        let mut found = Diagnostics::default();
        let file = singlet_scenario::read_scenarios(&source, model, &mut found);
        match file.filter(|_| !found.has_errors()) {
            Some(file) => Ok((source, file)),
            None => Err(self.refuse(&source, &found.into_sorted())),
        }
    }

    /// Shows what is wrong with a file that is not played.
    fn refuse(&self, source: &Source, findings: &[Diagnostic]) -> ExitCode {
        let shown = match self.format {
            OutcomeFormat::Text => findings
                .iter()
                .map(|finding| played::finding_snippet(source, finding))
                .collect(),
            OutcomeFormat::Json => {
                let mistakes: Vec<Json> = findings
                    .iter()
                    .map(|finding| played::located_finding(source, finding))
                    .collect();
                format!("{:#}\n", json!({"passed": false, "mistakes": mistakes}))
            }
            OutcomeFormat::Junit => junit::junit_mistakes(source, findings),
        };
        super::print_text(&shown);
        ExitCode::from(exit::FINDINGS)
    }
}

fn is_passed(scenarios: Option<&Scenarios>, report: Option<&Report>) -> bool {
    scenarios.is_none_or(|(_, outcome)| played::is_passed(outcome))
        && report.is_none_or(|report| report.all_findings().next().is_none())
}

fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}
