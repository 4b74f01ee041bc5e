//! `singlet dump`: the rows of a table as lines, or the whole table as DynamoDB exports one.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use singlet_migrate::dump_table;
use singlet_runtime::Engine;
use singlet_runtime::load::{self, Dumped};

use crate::moment_copy::MomentCopy;
use crate::place::Place;
use crate::progress::count_bar;
use crate::store::{StoreArgs, check_no_bridge, now_millis, parse_settings};
use crate::table::counted_thing;
use crate::{exit, model, private_file};

/// Write the rows of a model's table as lines that `singlet load` takes, or the whole table as DynamoDB exports one.
///
/// Mirrors, guards, computed attributes and expired rows are left out: loading makes them again. Rows are read as this model
/// sees them, whoever wrote them; what the model has no name for is reported, and the exit code is then 1. If others write
/// meanwhile, the rows are not from a single moment.
///
/// With `--format dynamodb-export` every item is written as it is stored, into the folder `--out`, in the format of DynamoDB's export to S3
/// (DynamoDB JSON, gzip, manifests with checksums). `singlet restore FOLDER --model MODEL` makes a table of it again. A folder is read as of
/// one moment, while it is served too; a table in DynamoDB is scanned, which is of no one moment while others write.
#[derive(Args)]
pub(crate) struct Dump {
    /// The model file.
    model: PathBuf,
    /// What is written.
    #[arg(long, value_enum, default_value_t = DumpFormat::Rows)]
    format: DumpFormat,
    /// The file to write to, instead of standard output; with `--format dynamodb-export`, the folder.
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// With `--format dynamodb-export`: the read units a second that it may use; unlimited unless given.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DumpFormat {
    /// Lines that `singlet load` takes.
    Rows,
    /// Every item, in the format of DynamoDB's export to S3.
    DynamodbExport,
}

impl Dump {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let work = async {
            match self.format {
                DumpFormat::Rows if self.rate.is_some() => {
                    Err(model::fail_command("`--rate` is for `--format dynamodb-export`"))
                }
                DumpFormat::Rows => self.dump().await,
                DumpFormat::DynamodbExport => self.dump_items().await,
            }
        };
        super::block_on(work).unwrap_or_else(|code| code)
    }

    /// Every item of the table, to a folder.
    async fn dump_items(self) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| model::fail_command(&reason);
        let Some(out) = &self.out else {
            return Err(model::fail_command(
                "`--format dynamodb-export` writes a folder: name it with `--out`",
            ));
        };
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(model::fail_command("`--rate` is a number of read units above zero"));
        }
        let place = self.store.store_place().map_err(said)?;
        if place == Place::Memory {
            return Err(model::fail_command(
                "a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`",
            ));
        }
        let loaded = model::load_model(&self.model)?;
        // Others write while the items are read one after the other: a copy of one moment is taken, and that is read.
        let copy = match place.folder() {
            Some(folder) => MomentCopy::of_served(folder).await.map_err(said)?,
            None => None,
        };
        let engine = match &copy {
            None => self.store.open_as_it_is(loaded).await.map_err(said)?,
            Some(copy) => {
                let settings = parse_settings(&loaded, &self.store.given_pairs().map_err(said)?).map_err(said)?;
                let store = Place::Folder(copy.folder().to_owned()).open().await.map_err(said)?;
                Engine::open(Arc::new(loaded), store, settings, [0; 32])
            }
        };
        let name = engine.model().table.name.clone();
        let described = engine.store().describe_table(&name).await;
        let described = described
            .map_err(|error| model::fail_command(&format!("table `{name}`: {}", place.failed_here(&error))))?;
        let bar = count_bar(described.item_count, "items");
        let dumped = dump_table(&engine, out, self.rate, &now_millis, &|items| bar.inc(items)).await;
        bar.finish_and_clear();
        let written = dumped.map_err(|error| model::fail_command(&format!("table `{name}`: {error}")))?;
        for archive in &written {
            let items = counted_thing(usize::try_from(archive.items).unwrap_or(usize::MAX), "item");
            super::print_text(&format!("{}: {items}\n", archive.folder.display()));
        }
        if let Place::DynamoDb { .. } = place {
            say_moment(&engine, &name, out).await;
        }
        Ok(ExitCode::from(exit::CLEAN))
    }

    async fn dump(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load_model(&self.model)?;
        let engine = self
            .store
            .open_as_it_is(loaded)
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        check_no_bridge(&engine)
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        let mut out: Box<dyn Write + Send> = match &self.out {
            Some(path) => {
                let failed = |error: std::io::Error| {
                    model::fail_command(&format!("`{}` cannot be written: {error}", path.display()))
                };
                Box::new(BufWriter::new(private_file::create_private(path).map_err(failed)?))
            }
            None => Box::new(BufWriter::new(std::io::stdout())),
        };
        let dumped = load::dump_rows(&engine, now_millis(), out.as_mut()).await;
        let dumped = dumped.map_err(|error| model::fail_command(&error.to_string()))?;
        Ok(said(&dumped))
    }
}

/// A scan is of no one moment; where DynamoDB can do better, it is said how.
async fn say_moment(engine: &Engine, table: &str, out: &Path) {
    eprintln!("the items were read one after the other: where others wrote meanwhile, they are of no one moment");
    let upkeep = engine.store().describe_upkeep(table).await;
    if upkeep.is_ok_and(|upkeep| upkeep.recovery == Some(true)) {
        eprintln!(
            "help: the table has point-in-time recovery, so that DynamoDB exports it as of one moment, and without reading from it: \
             `aws dynamodb export-table-to-point-in-time --table-arn ARN --s3-bucket BUCKET --export-format DYNAMODB_JSON`, then \
             `aws s3 sync s3://BUCKET {}`; `singlet restore` reads that, too",
            out.display()
        );
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
