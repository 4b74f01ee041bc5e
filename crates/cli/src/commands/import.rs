//! `singlet import`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use singlet_import::{Proposal, ProposedEntity, Sample, SampleOptions, propose_model, read_workbench, sample_table};
use singlet_store::TableSpec;

use crate::place::Place;
use crate::{exit, model, source, table};

/// The segments of a scan: pages of them lie all over the table.
const SEGMENTS: u32 = 16;
/// Items of a page: small ones, so that each segment is looked at.
const PAGE_ITEMS: u32 = 250;
/// Reasons that are listed.
const REASONS_SHOWN_MAX: usize = 20;

/// Propose a model for a table that exists, or for a data model of NoSQL Workbench.
///
/// `singlet import Orders --store dynamodb --out model.yaml`
///
/// Reads pages from all over the table and tells its kinds of items apart, with their attributes, types and key templates. An item counts as an
/// entity's only if the proposed model makes exactly that item again of what it reads from it; the others are listed, with their keys
/// masked. Nothing is written to the table, and no value of a row is in the model but words that label keys and members of enums.
#[derive(Args)]
pub struct Import {
    /// The table; of a Workbench file with one table, that one unless said.
    table: Option<String>,
    /// A data model of NoSQL Workbench, instead of a table.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["store", "rate"])]
    workbench: Option<PathBuf>,
    /// Where to write the model, instead of standard output. An existing file is not overwritten.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The most items to read; 0 reads all.
    #[arg(long, default_value_t = 100_000, value_name = "NUMBER")]
    items: usize,
    /// Read units a second to take at most.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Where the table is: `embedded:DIR` or `dynamodb`.
    #[arg(long, env = "SINGLET_STORE", value_name = "STORE")]
    store: Option<String>,
    /// With `dynamodb`: an endpoint other than the region's own.
    #[arg(long, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// With `dynamodb`: the region; taken from the environment unless given.
    #[arg(long, env = "SINGLET_REGION", value_name = "REGION")]
    region: Option<String>,
}

/// A table, and what was read of it.
struct Read {
    spec: TableSpec,
    sample: Sample,
}

impl Import {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.import()).unwrap_or_else(|code| code)
    }

    async fn import(self) -> Result<ExitCode, ExitCode> {
        let read = match &self.workbench {
            Some(path) => self.read_file(path)?,
            None => self.read_table().await?,
        };
        let proposal = propose_model(&model_name(&read.spec.name), &read.spec, &read.sample.items);
        eprint!("{}", report(&read, &proposal));
        match &self.out {
            Some(path) => write_new(path, &proposal.text)?,
            None => return Ok(finished(&read, &proposal, super::print_text(&proposal.text))),
        }
        Ok(finished(&read, &proposal, ExitCode::from(exit::CLEAN)))
    }

    fn read_file(&self, path: &Path) -> Result<Read, ExitCode> {
        let bytes = source::read_source(path).map_err(|reason| model::fail_command(&reason))?;
        let text = String::from_utf8_lossy(&bytes);
        let failed = |reason: String| model::fail_command(&format!("`{}`: {reason}", path.display()));
        let mut tables = read_workbench(&text).map_err(|error| failed(error.to_string()))?;
        if let Some(name) = &self.table {
            tables.retain(|table| table.spec.name == *name);
        }
        let found = tables.pop();
        match (found, tables.as_slice()) {
            (Some(table), []) => Ok(Read {
                sample: Sample {
                    counted: table.items.len() as u64,
                    items: table.items,
                    ..Sample::default()
                },
                spec: table.spec,
            }),
            (None, _) => Err(failed("it has no such table".to_owned())),
            (Some(last), others) => {
                let names = others.iter().map(|table| &table.spec.name).chain([&last.spec.name]);
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                Err(failed(format!(
                    "it has several tables, {}: name one of them",
                    names.join(", ")
                )))
            }
        }
    }

    async fn read_table(&self) -> Result<Read, ExitCode> {
        let Some(store) = &self.store else {
            return Err(model::fail_command(
                "say where the table is with `--store embedded:DIR` or `--store dynamodb`, or name a file with `--workbench`",
            ));
        };
        let place = Place::parse(store, self.endpoint_url.clone(), self.region.clone())
            .map_err(|reason| model::fail_command(&reason))?;
        if let Place::Folder(folder) = &place
            && !folder.is_dir()
        {
            return Err(model::fail_command(&format!(
                "there is no folder `{}`",
                folder.display()
            )));
        }
        let (store, _) = place
            .open_in_company()
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        let failed = |error: &singlet_store::StoreError| model::fail_command(&place.failed_here(error));
        let tables = store.list_tables().await.map_err(|error| failed(&error))?;
        let name = self.named_table(&tables)?;
        let spec = store.describe_table(&name).await.map_err(|error| failed(&error))?.spec;
        let options = SampleOptions {
            segments: SEGMENTS,
            items_max: if self.items == 0 { usize::MAX } else { self.items },
            page_items: PAGE_ITEMS,
            units_per_second: self.rate,
        };
        let sample = sample_table(store.as_ref(), &name, &options)
            .await
            .map_err(|error| failed(&error))?;
        Ok(Read { spec, sample })
    }

    fn named_table(&self, tables: &[String]) -> Result<String, ExitCode> {
        let listed = || {
            let names: Vec<String> = tables.iter().map(|name| format!("`{name}`")).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        match &self.table {
            Some(name) if tables.contains(name) => Ok(name.clone()),
            Some(name) => Err(model::fail_command(&format!(
                "there is no table `{name}`; there are: {}",
                listed()
            ))),
            None => Err(model::fail_command(&format!("name the table; there are: {}", listed()))),
        }
    }
}

/// The name of a table as a model's: letters, digits and `_`.
fn model_name(table: &str) -> String {
    let letters = table
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let name: String = letters.collect();
    match name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        true => name,
        false => format!("t{name}"),
    }
}

fn write_new(path: &Path, text: &str) -> Result<(), ExitCode> {
    let failed = |error: std::io::Error| {
        model::fail_command(&format!("`{}` cannot be written: {}", path.display(), error.kind()))
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// Whether every item of the table was read and claimed.
fn finished(read: &Read, proposal: &Proposal, otherwise: ExitCode) -> ExitCode {
    match proposal.unclaimed_count() == 0 && read.sample.is_whole() {
        true => otherwise,
        false => ExitCode::from(exit::FINDINGS),
    }
}

fn report(read: &Read, proposal: &Proposal) -> String {
    let sample = &read.sample;
    let items = sample.items.len();
    let mut text = format!("{} read", table::counted_thing(items, "item"));
    text.push_str(&match (sample.is_whole(), sample.unread_share()) {
        (true, _) => ", all there are".to_owned(),
        (false, Some(share)) => format!(
            " of about {}; {:.1}% of the table unread, and what lies there alone is not in the model (`--items 0` reads all)",
            sample.counted,
            share * 100.0
        ),
        (false, None) => "; the table goes on, and how far is not known (`--items 0` reads all)".to_owned(),
    });
    text.push('\n');
    let rows = proposal.entities.iter().map(entity_row).collect();
    if !proposal.entities.is_empty() {
        text.push('\n');
        text.push_str(&table::aligned_table(&["entity", "items", "fit", "keys"], rows));
    }
    if proposal.own > 0 {
        text.push_str(&format!(
            "\n{} of Singlet itself: guards, records, its control row\n",
            table::counted_thing(proposal.own, "item")
        ));
    }
    text.push_str(&format!(
        "\n{} of {} are no entity's\n",
        proposal.unclaimed_count(),
        table::counted_thing(items, "item")
    ));
    for group in proposal.not_claimed.iter().take(REASONS_SHOWN_MAX) {
        let near = group
            .entity
            .as_ref()
            .map_or_else(String::new, |name| format!("`{name}`: "));
        text.push_str(&format!(
            "  {} × {near}{}, such as {}\n",
            group.count, group.reason, group.example
        ));
    }
    if proposal.not_claimed.len() > REASONS_SHOWN_MAX {
        let more = proposal.not_claimed.len() - REASONS_SHOWN_MAX;
        text.push_str(&format!("  and for {} more\n", table::counted_thing(more, "reason")));
    }
    text.push('\n');
    text
}

fn entity_row(entity: &ProposedEntity) -> Vec<String> {
    let templates = |templates: &[(String, String)]| {
        let each = templates.iter().map(|(name, template)| format!("{name} {template}"));
        each.collect::<Vec<_>>().join("  ")
    };
    let own = if entity.keys.is_empty() {
        "its own attributes".to_owned()
    } else {
        templates(&entity.keys)
    };
    let indexes = entity.indexes.iter().map(|(name, keys)| match keys.is_empty() {
        true => format!("{name}: its own attributes"),
        false => format!("{name}: {}", templates(keys)),
    });
    let share = entity.claimed as f64 * 100.0 / entity.items.max(1) as f64;
    vec![
        entity.name.clone(),
        entity.items.to_string(),
        format!("{share:.1}%"),
        std::iter::once(own).chain(indexes).collect::<Vec<_>>().join("\n"),
    ]
}
