//! `singlet diff`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::Value as Json;
use singlet_cost::{compare_reports, cost_report, expected_operations, stored_bytes};
use singlet_evolve::{
    Deny, FileNames, RATE_UNITS_USUAL, RowChange, WholeDiff, bridge_hindrances, compare_contracts, compare_followers,
    compare_models, compare_with_table, diff_json, diff_markdown, diff_text, migration_cost,
};
use singlet_http::openapi::{Deployed, openapi_document};
use singlet_http::routing::Routes;
use singlet_model::Model;
use singlet_runtime::{Attributes, Setting};

use super::cost::PriceArgs;
use super::diff_table::live_table_changes;
use crate::store::{StoreArgs, given_pairs, given_settings};
use crate::table::counted_thing;
use crate::{exit, model};

/// Show what a change to a model means for stored rows, for clients and for the bill, before you make it.
///
/// `singlet diff model.yaml new.yaml`, or `singlet diff new.yaml --store embedded:data` against the models that wrote the rows of a
/// table.
///
/// For each difference it says what must be done to the rows (nothing, fill, index, rekey, reshape, drop) and how: free, bridge,
/// still, new table. A renamed thing counts as the same only where the new model says so with `was:`.
#[derive(Args)]
pub(crate) struct Diff {
    /// The model as it is; the one that comes, where it is compared with a table.
    model: PathBuf,
    /// The model that comes.
    new: Option<PathBuf>,
    /// Fail (exit code 1) where there is some of these.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    deny: Vec<Denied>,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,
    /// Write units a second at which rows would be changed.
    #[arg(long, value_name = "UNITS", default_value_t = RATE_UNITS_USUAL)]
    rate: f64,
    /// A value that a setting of the old model has, where it is another than in the new one.
    #[arg(long, value_name = "NAME=VALUE")]
    set_old: Vec<String>,
    /// A file with the prices of a team or a region; those of us-east-1 unless given.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// For people.
    Text,
    /// For programs; stable.
    Json,
    /// For a pull request.
    Markdown,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Denied {
    /// Something that clients or followers lose.
    Breaking,
    /// A change for which writes stop, or the table is another.
    Still,
    /// Something stored that belongs to no model any more.
    Drop,
    /// Something that stored rows may break.
    Promises,
    /// A value that rows of before need and the model does not say.
    Unfilled,
}

impl Denied {
    fn deny(self) -> Deny {
        match self {
            Denied::Breaking => Deny::Breaking,
            Denied::Still => Deny::Still,
            Denied::Drop => Deny::Drop,
            Denied::Promises => Deny::Promises,
            Denied::Unfilled => Deny::Unfilled,
        }
    }
}

impl Diff {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return model::fail_command("`--rate` is a number of write units a second, such as 500");
        }
        let done = match &self.new {
            Some(new) => self.files(new),
            None => super::block_on(self.with_table()),
        };
        done.unwrap_or_else(|code| code)
    }

    fn files(&self, new: &Path) -> Result<ExitCode, ExitCode> {
        let (old, old_source) = model::load_with_source(&self.model)?;
        let (new, new_source) = model::load_with_source(new)?;
        let given = self
            .store
            .given_pairs()
            .map_err(|reason| model::fail_command(&reason))?;
        let mut given_old = of_model(&old, &given);
        given_old.extend(given_pairs(&self.set_old).map_err(|reason| model::fail_command(&reason))?);
        let (settings_old, settings) = (deployed(&old, &given_old)?, deployed(&new, &given)?);
        let rows = compare_models((&old, &settings_old), (&new, &settings));
        let mut contract = compare_contracts(&openapi(&old), &openapi(&new));
        contract.extend(compare_followers(&old, &new));
        let prices = PriceArgs::of_file(self.prices.clone()).load_prices()?;
        let report = |model: &Model| cost_report(model, &expected_operations(model), &stored_bytes(model), &prices);
        let is_estimated = !old.estimates.is_empty() && !new.estimates.is_empty();
        let cost = is_estimated
            .then(|| compare_reports(&report(&old), &report(&new)))
            .flatten()
            .filter(|cost| {
                let is_changed = !(cost.changed.is_empty() && cost.added.is_empty() && cost.removed.is_empty());
                is_changed || cost.beside.before != cost.beside.after
            });
        let migration = migration_cost(&rows, &old, &new, &prices, self.rate);
        let diff = WholeDiff {
            rows,
            contract: Some(contract),
            cost,
            migration: migration.filter(|_| is_estimated),
            hindrances: bridge_hindrances((&old, &settings_old), (&new, &settings)),
        };
        let files = FileNames {
            old: Some(&old_source),
            new: &new_source,
            old_name: old_source.name(),
        };
        self.show(&diff, files)
    }

    /// Against every model that wrote rows of the table which are still there.
    async fn with_table(&self) -> Result<ExitCode, ExitCode> {
        let failed = |reason: String| model::fail_command(&reason);
        if self.store.is_memory() {
            let help =
                "`singlet diff OLD NEW`, or `singlet diff NEW --store embedded:DIR` for the models that a table knows";
            return Err(model::fail_command(&format!(
                "there is nothing to compare with\nhelp: {help}"
            )));
        }
        if !self.set_old.is_empty() {
            let reason = "`--set-old` is for two files: a table knows the values that were in use";
            return Err(model::fail_command(reason));
        }
        let (loaded, source) = model::load_with_source(&self.model)?;
        let (table, name) = (loaded.table.name.clone(), loaded.name.clone());
        let engine = self.store.open_as_it_is(loaded).await.map_err(failed)?;
        let faces = engine
            .known_faces()
            .await
            .map_err(|error| model::fail_command(&format!("table `{table}`: {error}")))?;
        if faces.is_empty() {
            let help = "`singlet serve MODEL --adopt` looks at every row, and has the table know the model if all fit";
            let reason = format!("table `{table}` knows no model of `{name}`\nhelp: {help}");
            return Err(model::fail_command(&reason));
        }
        let settings = &engine.setting().settings;
        let mut diff = WholeDiff::default();
        for face in &faces {
            for change in compare_with_table(face, engine.model(), settings) {
                if !diff.rows.contains(&change) {
                    diff.rows.push(change);
                }
            }
        }
        let live = engine.store().describe_table(&table).await;
        let live = live.map_err(|error| model::fail_command(&format!("table `{table}`: {error}")))?;
        for change in live_table_changes(&singlet_runtime::table::table_spec(engine.model()), &live.spec) {
            // What the rows say of the table already is not said twice.
            let is_said = |known: &RowChange| known.entity.is_none() && known.part == change.part;
            if !diff.rows.iter().any(is_said) {
                diff.rows.push(change);
            }
        }
        diff.rows.sort_by_key(|change| std::cmp::Reverse(change.way));
        let by = match faces.len() {
            1 => String::new(),
            count => format!(", whose rows {} wrote", counted_thing(count, "model")),
        };
        let old_name = format!("table `{table}`{by}");
        let files = FileNames {
            old: None,
            new: &source,
            old_name: &old_name,
        };
        self.show(&diff, files)
    }

    fn show(&self, diff: &WholeDiff, files: FileNames<'_>) -> Result<ExitCode, ExitCode> {
        let text = match self.format {
            DiffFormat::Text => diff_text(diff, files),
            DiffFormat::Json => format!("{:#}\n", diff_json(diff, files)),
            DiffFormat::Markdown => diff_markdown(diff, files),
        };
        let printed = super::print_text(&text);
        let mut is_denied = false;
        for deny in self.deny.iter().map(|denied| denied.deny()) {
            let count = diff.denied_count(deny);
            if count > 0 {
                is_denied = true;
                eprintln!("error: {} denied: `{}`", counted_thing(count, "change"), deny.word());
            }
        }
        match is_denied {
            true => Ok(ExitCode::from(exit::FINDINGS)),
            false => Ok(printed),
        }
    }
}

/// The values that are given of a model's own settings.
fn of_model(model: &Model, given: &[(String, String)]) -> Vec<(String, String)> {
    let is_known = |name: &str| model.settings.iter().any(|known| known.name == name);
    given.iter().filter(|(name, _)| is_known(name)).cloned().collect()
}

/// The settings of a model: what is given, and what it says itself.
fn deployed(model: &Model, given: &[(String, String)]) -> Result<Attributes, ExitCode> {
    let given = given_settings(model, given).map_err(|reason| crate::model::fail_command(&reason))?;
    Ok(Setting::of(model, given).settings)
}

fn openapi(model: &Model) -> Json {
    openapi_document(model, &Routes::of(model), Deployed::as_modelled(model))
}
