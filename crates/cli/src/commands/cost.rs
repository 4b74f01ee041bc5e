//! `singlet cost`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use singlet_cost::{
    CostReport, Prices, SCRAPES_BYTES_MAX, compare_reports, comparison_text, cost_report, cost_text,
    expected_operations, measured_operations, read_prices, region_prices, stored_bytes,
};

use crate::{exit, model, source};

/// The most bytes of a file of prices.
const PRICES_BYTES_MAX: u64 = 1024 * 1024;

/// Show what a model costs a month at its estimates, or how much more a changed model costs.
///
/// `singlet cost systems/wardrobe/model.yaml`
///
/// With a second model the two are compared, operation by operation. Either may be a saved result (`--format json`).
#[derive(Args)]
pub(crate) struct Cost {
    /// The model file, or a saved result to compare with.
    model: PathBuf,
    /// The model after a change.
    new: Option<PathBuf>,
    #[command(flatten)]
    prices: PriceArgs,
    /// Two scrapes of `/metrics` in one file, `# scraped SECONDS` before each: rates and units from there.
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    measured: Option<PathBuf>,
    /// Fail (exit code 1) when the change costs more than this share more, such as 0.1.
    #[arg(long, value_name = "SHARE", requires = "new")]
    max_increase: Option<f64>,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = CostFormat::Text)]
    format: CostFormat,
}

/// Which prices.
#[derive(Args)]
pub(crate) struct PriceArgs {
    /// A file with the prices of a team or a region.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// The region; its prices must be known, or given.
    #[arg(long)]
    region: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CostFormat {
    /// Tables with bars.
    Text,
    /// The whole result, to be kept and compared with.
    Json,
}

impl PriceArgs {
    /// Those of a file; of us-east-1, where there is none.
    pub(crate) fn of_file(prices: Option<PathBuf>) -> Self {
        PriceArgs { prices, region: None }
    }

    /// Those of the file, of the region, or of us-east-1.
    pub(crate) fn load_prices(&self) -> Result<Prices, ExitCode> {
        let prices = match &self.prices {
            Some(path) => {
                let text = text_of(path, PRICES_BYTES_MAX)?;
                read_prices(&text).map_err(|error| model::fail_command(&format!("{}: {error}", path.display())))?
            }
            None => {
                let region = self.region.as_deref().unwrap_or("us-east-1");
                return region_prices(region).map_err(|error| model::fail_command(&error.to_string()));
            }
        };
        match &self.region {
            Some(region) if *region != prices.region => {
                let error = singlet_cost::PricesError::OtherRegion {
                    wanted: region.clone(),
                    found: prices.region,
                };
                Err(model::fail_command(&error.to_string()))
            }
            _ => Ok(prices),
        }
    }
}

impl Cost {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let done = match &self.new {
            Some(new) => self.compared(new),
            None => self.shown(),
        };
        done.unwrap_or_else(|code| code)
    }

    fn shown(&self) -> Result<ExitCode, ExitCode> {
        let report = match &self.measured {
            Some(path) => self.measured(path)?,
            None => self.report(&self.model)?,
        };
        let text = match self.format {
            CostFormat::Text => cost_text(&report),
            CostFormat::Json => json_text(&report)?,
        };
        Ok(super::print_text(&text))
    }

    fn measured(&self, path: &Path) -> Result<CostReport, ExitCode> {
        let model = model::load_model(&self.model)?;
        let prices = self.prices.load_prices()?;
        let scrapes = text_of(path, SCRAPES_BYTES_MAX as u64)?;
        let measured = measured_operations(&model, &expected_operations(&model), &scrapes);
        let (operations, differences) =
            measured.map_err(|error| model::fail_command(&format!("{}: {error}", path.display())))?;
        let report = cost_report(&model, &operations, &stored_bytes(&model), &prices);
        Ok(CostReport { differences, ..report })
    }

    /// Of a model, or one that was saved.
    fn report(&self, path: &Path) -> Result<CostReport, ExitCode> {
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = text_of(path, SCRAPES_BYTES_MAX as u64)?;
            let saved = serde_json::from_str(&text);
            return saved.map_err(|error| {
                model::fail_command(&format!("{} is no result of `singlet cost`: {error}", path.display()))
            });
        }
        let model = model::load_model(path)?;
        let prices = self.prices.load_prices()?;
        let operations = expected_operations(&model);
        Ok(cost_report(&model, &operations, &stored_bytes(&model), &prices))
    }

    fn compared(&self, new: &Path) -> Result<ExitCode, ExitCode> {
        if self.max_increase.is_some_and(|most| !most.is_finite() || most < 0.0) {
            return Err(model::fail_command(
                "`--max-increase` is a share, such as 0.1 for a tenth more",
            ));
        }
        let (old, new) = (self.report(&self.model)?, self.report(new)?);
        if old.region != new.region || old.prices_as_of != new.prices_as_of {
            return Err(model::fail_command(&format!(
                "the saved result has the prices of {} of {}, and these are of {} of {}",
                old.region, old.prices_as_of, new.region, new.prices_as_of
            )));
        }
        let comparison =
            compare_reports(&old, &new).ok_or_else(|| model::fail_command("a saved result has no month"))?;
        let increase = comparison.cost_increase();
        let text = match self.format {
            CostFormat::Text => comparison_text(&comparison),
            CostFormat::Json => format!("{:#}\n", json!({"increase": increase, "comparison": comparison})),
        };
        let printed = super::print_text(&text);
        match self.max_increase.is_some_and(|most| increase > most) {
            true => Ok(ExitCode::from(exit::FINDINGS)),
            false => Ok(printed),
        }
    }
}

fn json_text(report: &CostReport) -> Result<String, ExitCode> {
    let json = serde_json::to_string_pretty(report);
    json.map(|json| json + "\n")
        .map_err(|error| model::fail_command(&format!("the result cannot be written: {error}")))
}

/// The text of a file that is not too large.
fn text_of(path: &Path, bytes_max: u64) -> Result<String, ExitCode> {
    let bytes = source::read_within(path, bytes_max).map_err(|reason| model::fail_command(&reason))?;
    if bytes.len() as u64 > bytes_max {
        return Err(model::fail_command(&format!(
            "`{}` has more than {bytes_max} bytes",
            path.display()
        )));
    }
    String::from_utf8(bytes).map_err(|_| model::fail_command(&format!("{} is not UTF-8", path.display())))
}
