//! `singlet call`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use singlet_item::Value;
use singlet_model::diagnostic::nearest;
use singlet_model::model::Read;
use singlet_runtime::{Answer, Attributes, Caller, Request, values};

use super::load::text_of;
use crate::model;
use crate::store::{StoreArgs, load_rows, now};

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
    /// Who calls: the caller's id. Nobody, unless said.
    #[arg(long = "as", value_name = "ID")]
    caller: Option<String>,
    /// Another claim of the caller, `name=value`.
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
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
    /// `{value, next, capacity}`.
    Json,
}

impl Call {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.call()).unwrap_or_else(|code| code)
    }

    async fn call(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load(&self.model)?;
        let read = loaded.reads.iter().find(|read| read.name == self.name);
        let Some(read) = read else {
            let near = nearest(&self.name, loaded.reads.iter().map(|read| read.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(model::fail(&format!(
                "`{}` has no read `{}`{hint}",
                loaded.name, self.name
            )));
        };
        let request = Request {
            args: arguments(read, &self.args).map_err(|reason| model::fail(&reason))?,
            caller: caller(self.caller.as_deref(), &self.claims).map_err(|reason| model::fail(&reason))?,
            limit: self.limit,
            cursor: self.cursor.clone(),
            now: now(),
        };
        let engine = self.store.open(loaded).await.map_err(|reason| model::fail(&reason))?;
        if self.sample {
            let rows = self.model.with_file_name("sample.jsonl");
            let loading = load_rows(&engine, &text_of(&rows)?, |_| {}).await;
            loading.map_err(|reason| model::fail(&format!("`{}` {reason}", rows.display())))?;
        } else if self.store.is_memory() {
            eprintln!("note: the store is empty; add `--sample`, or `--store embedded:DIR`");
        }
        match engine.read(&self.name, &request).await {
            Ok(answer) => Ok(super::print(&shown(&answer, self.format))),
            Err(error) => {
                eprintln!("error: {error}");
                Err(ExitCode::from(crate::exit::FINDINGS))
            }
        }
    }
}

fn arguments(read: &Read, given: &[String]) -> Result<Attributes, String> {
    let mut args = Attributes::new();
    for pair in given {
        let (name, text) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
        let Some(arg) = read.arg(name) else {
            let near = nearest(name, read.args.iter().map(|arg| arg.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("`{}` has no argument `{name}`{hint}", read.name));
        };
        let value = values::from_text(text, &arg.ty).map_err(|invalid| format!("`{name}`: {invalid}"))?;
        args.insert(name.to_owned(), value);
    }
    Ok(args)
}

fn caller(id: Option<&str>, claims: &[String]) -> Result<Caller, String> {
    let mut caller = match id {
        Some(id) => Caller::with_id(id),
        None => Caller::anonymous(),
    };
    for pair in claims {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
        caller = caller.claim(name, value);
    }
    Ok(caller)
}

fn shown(answer: &Answer, format: Format) -> String {
    let units = answer.consumed.total();
    let value = answer.value.as_ref().map_or(Json::Null, values::to_json);
    if format == Format::Json {
        let whole = json!({
            "value": value,
            "next": answer.next,
            "capacity": {"read": units.read.halves() as f64 / 2.0, "write": units.write.get()},
        });
        return format!("{whole:#}\n");
    }
    let mut text = match &answer.value {
        Some(Value::L(rows)) => table(rows),
        Some(_) => format!("{value:#}\n"),
        None => String::new(),
    };
    text.push_str(&format!("{} read units\n", units.read));
    if let Some(next) = &answer.next {
        text.push_str(&format!("next page: --cursor {next}\n"));
    }
    text
}

/// Rows as a table: a column for each attribute that some row has.
fn table(rows: &[Value]) -> String {
    const CELL_CHARS_MAX: usize = 40;
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
    let width = |column: &str| {
        let cells = rows.iter().map(|row| cell(row, column).chars().count());
        cells.chain([column.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(|column| width(column)).collect();
    let line = |cells: Vec<String>| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut text = line(columns.iter().map(|column| (*column).to_owned()).collect());
    for row in rows {
        text.push_str(&line(columns.iter().map(|column| cell(row, column)).collect()));
    }
    let counted = if rows.len() == 1 {
        "1 row".to_owned()
    } else {
        format!("{} rows", rows.len())
    };
    format!("{text}{counted}, ")
}
