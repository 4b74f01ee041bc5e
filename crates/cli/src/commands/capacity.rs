//! `singlet capacity`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use singlet_cost::{capacity_assumptions, capacity_needed, capacity_text, expected_operations};

use super::cost::PriceArgs;
use crate::model;

/// Show the units a second that a model needs at its estimates, what to provision, and when the busiest partition throttles.
///
/// `singlet capacity systems/ecobid/model.yaml`
#[derive(Args)]
pub(crate) struct Capacity {
    /// The model file.
    model: PathBuf,
    #[command(flatten)]
    prices: PriceArgs,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = CapacityFormat::Text)]
    format: CapacityFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CapacityFormat {
    /// A table for each place, and one of the busiest partitions.
    Text,
    /// `{model, places, keys, assumptions}`.
    Json,
}

impl Capacity {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self.shown() {
            Ok(text) => super::print_text(&text),
            Err(code) => code,
        }
    }

    fn shown(&self) -> Result<String, ExitCode> {
        let model = model::load_model(&self.model)?;
        let prices = self.prices.load_prices()?;
        let operations = expected_operations(&model);
        let found = capacity_needed(&model, &operations, 1.0);
        let assumptions = capacity_assumptions(&model, &operations);
        Ok(match self.format {
            CapacityFormat::Text => capacity_text(&model.name, &found, &prices, &assumptions),
            CapacityFormat::Json => {
                let json = json!({
                    "model": model.name,
                    "places": found.places,
                    "keys": found.keys,
                    "assumptions": assumptions,
                });
                format!("{json:#}\n")
            }
        })
    }
}
