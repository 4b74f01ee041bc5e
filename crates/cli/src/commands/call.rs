//! `singlet call`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use singlet_item::Value;
use singlet_runtime::{Answer, Engine, Request, values};

use super::load::text_of;
use crate::request::{self, CallerArgs};
use crate::store::{StoreArgs, load_rows, now};
use crate::table::{self, counted};
use crate::{model, progress};

/// The longest cell of a table.
const CELL_CHARS_MAX: usize = 40;

/// Run a read from the shell.
///
/// `singlet call systems/todo/model.yaml tasksByStatus status=pending --as ada --sample`
#[derive(Args)]
pub struct Call {
    /// The model file.
    model: PathBuf,
    /// The read's name.
    name: String,
    /// Arguments, `name=value`.
    #[arg(value_name = "NAME=VALUE")]
    args: Vec<String>,
    #[command(flatten)]
    caller: CallerArgs,
    /// Rows in a page.
    #[arg(long)]
    limit: Option<usize>,
    /// Where an earlier page ended.
    #[arg(long)]
    cursor: Option<String>,
    /// Load the model's sample data first.
    #[arg(long)]
    sample: bool,
    /// How rows are shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table, then what it consumed.
    Text,
    /// `{value, next, capacity: {read, write, predicted}}`.
    Json,
}

impl Call {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.call()).unwrap_or_else(|code| code)
    }

    async fn call(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load(&self.model)?;
        let read = request::read_named(&loaded, &self.name).map_err(|reason| model::fail(&reason))?;
        let request = Request {
            args: request::arguments(read, &self.args).map_err(|reason| model::fail(&reason))?,
            caller: self.caller.caller().map_err(|reason| model::fail(&reason))?,
            limit: self.limit,
            cursor: self.cursor.clone(),
            now: now(),
        };
        let engine = self.store.open(loaded).await.map_err(|reason| model::fail(&reason))?;
        if self.sample {
            let rows = self.model.with_file_name("sample.jsonl");
            let loading = load_rows(&engine, &text_of(&rows)?, &progress::none()).await;
            loading.map_err(|reason| model::fail(&format!("`{}` {reason}", rows.display())))?;
        } else if self.store.is_memory() {
            eprintln!("note: the store is empty; add `--sample`, or `--store embedded:DIR`");
        }
        match engine.read(&self.name, &request).await {
            Ok(answer) => {
                let predicted = predicted(&engine, &self.name, &request);
                Ok(super::print(&shown(&answer, &predicted, self.format)))
            }
            Err(error) => {
                eprintln!("error: {error}");
                Err(ExitCode::from(crate::exit::FINDINGS))
            }
        }
    }
}

/// What the plan says that the requests of this call cost.
fn predicted(engine: &Engine, name: &str, request: &Request) -> Vec<String> {
    let previewed = engine.preview(name, request);
    let requests = previewed.map(|previewed| previewed.combination.requests.as_slice());
    let formulas = requests.unwrap_or_default().iter().map(|cost| cost.formula());
    formulas.collect()
}

fn shown(answer: &Answer, predicted: &[String], format: Format) -> String {
    let units = answer.consumed.total();
    let value = answer.value.as_ref().map_or(Json::Null, values::to_json);
    if format == Format::Json {
        let whole = json!({
            "value": value,
            "next": answer.next,
            "capacity": {
                "read": units.read.halves() as f64 / 2.0,
                "write": units.write.get(),
                "predicted": predicted,
            },
        });
        return format!("{whole:#}\n");
    }
    let mut text = match &answer.value {
        Some(Value::L(rows)) => rows_table(rows),
        Some(_) => format!("{value:#}\n"),
        None => String::new(),
    };
    text.push_str(&format!(
        "{} read units; predicted: {}\n",
        units.read,
        predicted.join(" + ")
    ));
    if let Some(next) = &answer.next {
        text.push_str(&format!("next page: --cursor {next}\n"));
    }
    text
}

/// Rows as a table: a column for each attribute that some row has.
fn rows_table(rows: &[Value]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for name in rows.iter().filter_map(Value::as_map).flat_map(|row| row.keys()) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let cell = |row: &Value, column: &str| {
        let value = row.as_map().and_then(|row| row.get(column)).map(values::to_json);
        let text = match value {
            None => String::new(),
            Some(Json::String(text)) => text,
            Some(other) => other.to_string(),
        };
        text.chars().take(CELL_CHARS_MAX).collect::<String>()
    };
    let lines = rows
        .iter()
        .map(|row| columns.iter().map(|column| cell(row, column)).collect());
    let text = table::aligned(&columns, lines.collect());
    format!("{text}{}, ", counted(rows.len(), "row"))
}
