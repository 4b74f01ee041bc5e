//! `singlet dump`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use singlet_runtime::load::{self, Dumped};

use crate::store::{StoreArgs, check_no_bridge, now};
use crate::{exit, model, private_file};

/// Write the rows of a model's table as lines that `singlet load` takes.
///
/// Mirrors, guards, computed attributes and expired rows are left out: loading makes them again. Rows are read as this model
/// sees them, whoever wrote them; what the model has no name for is reported, and the exit code is then 1. If others write
/// meanwhile, the rows are not from a single moment.
#[derive(Args)]
pub(crate) struct Dump {
    /// The model file.
    model: PathBuf,
    /// Where to write, instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Dump {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.dump()).unwrap_or_else(|code| code)
    }

    async fn dump(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load(&self.model)?;
        let engine = self
            .store
            .open_as_it_is(loaded)
            .await
            .map_err(|reason| model::fail(&reason))?;
        check_no_bridge(&engine).await.map_err(|reason| model::fail(&reason))?;
        let mut out: Box<dyn Write + Send> = match &self.out {
            Some(path) => {
                let failed =
                    |error: std::io::Error| model::fail(&format!("`{}` cannot be written: {error}", path.display()));
                Box::new(BufWriter::new(private_file::create(path).map_err(failed)?))
            }
            None => Box::new(BufWriter::new(std::io::stdout())),
        };
        let dumped = load::dump_rows(&engine, now(), out.as_mut()).await;
        let dumped = dumped.map_err(|error| model::fail(&error.to_string()))?;
        Ok(said(&dumped))
    }
}

/// What was left out goes to standard error: standard output holds rows.
fn said(dumped: &Dumped) -> ExitCode {
    if dumped.expired > 0 {
        eprintln!("{} expired rows were left out", dumped.expired);
    }
    if dumped.unknown > 0 {
        eprintln!("{} items of no entity of the model were left out", dumped.unknown);
    }
    for (name, count) in &dumped.dropped {
        eprintln!("{count} values of `{name}`, which the model does not have, were left out");
    }
    match dumped.unknown == 0 && dumped.dropped.is_empty() {
        true => ExitCode::from(exit::CLEAN),
        false => ExitCode::from(exit::FINDINGS),
    }
}
