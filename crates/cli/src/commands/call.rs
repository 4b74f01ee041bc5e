//! `singlet call`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use singlet_following::search_rows_once;
use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_plan::show::expression_in;
use singlet_runtime::{Answer, Attributes, Caller, Engine, Request, RuntimeError, TableUse, WriteRequest, Written};
use singlet_values::json_text;

use super::load::text_of;
use crate::model::{self, ErrorArgs};
use crate::place::Place;
use crate::request::{self, CallerArgs, Operation};
use crate::store::{StoreArgs, load_text, now_millis};
use crate::table::{self, counted_thing};

/// The longest cell of a table.
const CELL_CHARS_MAX: usize = 40;

/// Run a read or a write from the shell.
///
/// `singlet call systems/todo/model.yaml tasksByStatus status=pending --as ada --sample`
///
/// Arguments are `name=value`, or `name:=JSON` for lists, maps and null. If a rule refuses a write, its name is shown.
#[derive(Args)]
pub(crate) struct Call {
    /// The model file.
    model: PathBuf,
    /// The name of the read or write.
    name: String,
    /// Arguments, `name=value` or `name:=JSON`.
    #[arg(value_name = "NAME=VALUE")]
    args: Vec<String>,
    #[command(flatten)]
    caller: CallerArgs,
    /// Rows in a page.
    #[arg(long)]
    limit: Option<usize>,
    /// The cursor of an earlier page, to go on from there.
    // Any letter of base64 may be its first.
    #[arg(long, allow_hyphen_values = true)]
    cursor: Option<String>,
    /// For a write: the idempotency key, which tells a retry from a new request.
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,
    /// For a write: the version that the row must have.
    #[arg(long, value_name = "NUMBER")]
    if_version: Option<i64>,
    /// Load the model's sample data first.
    #[arg(long)]
    sample: bool,
    /// How rows are shown.
    #[arg(long, value_enum, default_value_t = RowFormat::Text)]
    format: RowFormat,
    #[command(flatten)]
    errors: ErrorArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RowFormat {
    /// A table, then what it consumed.
    Text,
    /// `{value, next, capacity: {read, write, predicted}}`; of a write `{status, value, replayed, capacity}`.
    Json,
}

impl Call {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.call()).unwrap_or_else(|code| code)
    }

    async fn call(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load_sound(&self.model, self.errors.accept_errors)?;
        let operation = request::named_operation(&loaded, &self.name).map_err(|reason| model::fail_command(&reason))?;
        let (known, reads) = match operation {
            Operation::Read(read) => (&read.args, true),
            Operation::Write(write) => (&write.args, false),
        };
        let args =
            request::parse_arguments(&self.name, known, &self.args).map_err(|reason| model::fail_command(&reason))?;
        self.check_flags(reads).map_err(|reason| model::fail_command(&reason))?;
        let caller = self
            .caller
            .parsed_caller(&loaded)
            .map_err(|reason| model::fail_command(&reason))?;
        let used_for = if reads && !self.sample {
            TableUse::Reading
        } else {
            TableUse::Writing
        };
        let engine = self
            .store
            .open(loaded, used_for)
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        if self.sample {
            let rows = self.model.with_file_name("sample.jsonl");
            let loading = load_text(&engine, &text_of(&rows)?, now_millis()).await;
            loading.map_err(|reason| model::fail_command(&format!("`{}` {reason}", rows.display())))?;
        } else if self.store.is_memory() && reads {
            eprintln!("note: the store is empty; add `--sample`, or `--store embedded:DIR`");
        }
        let read = engine.model().reads.iter().find(|read| read.name == self.name);
        let searches = read.is_some_and(|read| read.all_selections().any(|selection| selection.matching.is_some()));
        if searches {
            self.read_words(&engine)
                .await
                .map_err(|reason| model::fail_command(&reason))?;
        }
        match reads {
            true => self.read(&engine, args, caller).await,
            false => self.write(&engine, args, caller).await,
        }
    }

    /// Reads the words of all rows, so that some can be found by them.
    async fn read_words(&self, engine: &Engine) -> Result<(), String> {
        if let Place::DynamoDb { .. } = self.store.store_place()? {
            return Err(format!(
                "`{}` finds rows by words, for which all rows of the table would be read: ask a service, `singlet serve --search-index DIR`",
                self.name
            ));
        }
        search_rows_once(engine).await.map_err(|error| error.to_string())
    }

    /// Flags that say nothing here are mistakes.
    fn check_flags(&self, reads: bool) -> Result<(), String> {
        let of_reads = [("--limit", self.limit.is_some()), ("--cursor", self.cursor.is_some())];
        let of_writes = [
            ("--key", self.key.is_some()),
            ("--if-version", self.if_version.is_some()),
        ];
        let (wrong, what) = if reads {
            (of_writes, "read")
        } else {
            (of_reads, "write")
        };
        match wrong.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(format!("`{flag}` has no effect here: `{}` is a {what}", self.name)),
            None => Ok(()),
        }
    }

    async fn read(&self, engine: &Engine, args: Attributes, caller: Caller) -> Result<ExitCode, ExitCode> {
        let request = Request {
            args,
            caller,
            limit: self.limit,
            cursor: self.cursor.clone(),
            now: now_millis(),
        };
        match engine.read(&self.name, &request).await {
            Ok(answer) => {
                let predicted = predicted(engine, &self.name, &request);
                Ok(super::print_text(&shown(&answer, &predicted, self.format)))
            }
            Err(error) => Err(self.refused(engine.model(), &request.caller, &error)),
        }
    }

    async fn write(&self, engine: &Engine, args: Attributes, caller: Caller) -> Result<ExitCode, ExitCode> {
        let request = WriteRequest {
            args,
            caller,
            now: now_millis(),
            idempotency_key: self.key.clone(),
            precondition: self.if_version.map(Number::from).into(),
        };
        match engine.write(&self.name, &request).await {
            Ok(written) => Ok(super::print_text(&written_text(&written, self.format))),
            Err(error) => Err(self.refused(engine.model(), &request.caller, &error)),
        }
    }

    /// Says why nothing came of it.
    fn refused(&self, model: &Model, caller: &Caller, error: &RuntimeError) -> ExitCode {
        let code = refused(error);
        let is_admission = matches!(error, RuntimeError::Forbidden | RuntimeError::Unauthenticated);
        if is_admission && let Ok(operation) = request::named_operation(model, &self.name) {
            for help in admission_help(model, operation, caller) {
                eprintln!("help: {help}");
            }
        }
        code
    }
}

/// Whom an operation admits, and what of that the caller does not say. Whoever calls has the model before them, so nothing is given away.
fn admission_help(model: &Model, operation: Operation<'_>, caller: &Caller) -> Vec<String> {
    let (name, allow) = match operation {
        Operation::Read(read) => (&read.name, &read.allow),
        Operation::Write(write) => (&write.name, &write.allow),
    };
    let mut help = vec![format!(
        "`{name}` says `allow: {}`",
        expression_in(&model.catalog, allow)
    )];
    let mut unsaid: Vec<String> = Vec::new();
    if !caller.authenticated {
        unsaid.push("`--as ID`".to_owned());
    }
    allow.walk(&mut |part| {
        if let ExprKind::Caller(claim) = &part.kind
            && claim != "authenticated"
            && !caller.claims.contains_key(claim)
        {
            let flag = match claim.as_str() {
                "id" => "`--as ID`".to_owned(),
                claim => format!("`--claim {claim}=…`"),
            };
            unsaid.extend(Some(flag).filter(|flag| !unsaid.contains(flag)));
        }
    });
    if !unsaid.is_empty() {
        help.push(format!("the caller may lack something: {}", unsaid.join(", ")));
    }
    help
}

/// Says why nothing came of it.
fn refused(error: &RuntimeError) -> ExitCode {
    match error {
        RuntimeError::Refused(refused) => {
            let shown = refused.shown.iter();
            let shown: Vec<String> = shown
                .map(|(name, value)| format!("{name} = {}", json_text::json_of(value)))
                .collect();
            let shown = if shown.is_empty() {
                String::new()
            } else {
                format!(" ({})", shown.join(", "))
            };
            eprintln!("refused: {}{shown}", refused.name);
        }
        error => eprintln!("error: {error}"),
    }
    ExitCode::from(crate::exit::FINDINGS)
}

fn written_text(written: &Written, format: RowFormat) -> String {
    let units = written.consumed.total_units();
    if format == RowFormat::Json {
        let members = [
            ("status", written.status.to_string()),
            (
                "value",
                written
                    .value
                    .as_ref()
                    .map_or("null".to_owned(), json_text::indented_json),
            ),
            ("replayed", written.replayed.to_string()),
            ("capacity", capacity(&units, None)),
        ];
        return format!("{}\n", object_text(&members));
    }
    let body = written.value.as_ref().map(json_text::indented_json);
    let body = body.map_or(String::new(), |body| format!("{body}\n"));
    let again = if written.replayed {
        ", the answer of an earlier request"
    } else {
        ""
    };
    format!(
        "{body}{}{again}; write units {}, read units {}\n",
        written.status, units.write, units.read
    )
}

/// The members of an object, each already text, in the order given.
fn object_text(members: &[(&str, String)]) -> String {
    let members = members
        .iter()
        .map(|(name, value)| format!("  \"{name}\": {}", value.replace('\n', "\n  ")));
    format!("{{\n{}\n}}", members.collect::<Vec<_>>().join(",\n"))
}

/// What was consumed, beside what the plan says of it.
fn capacity(units: &singlet_store::Units, predicted: Option<&[String]>) -> String {
    let mut members = vec![
        ("read", units.read.to_string()),
        ("write", units.write.get().to_string()),
    ];
    members.extend(predicted.map(|formulas| {
        let formulas = formulas.iter().cloned().map(Value::S);
        ("predicted", json_text::indented_json(&Value::L(formulas.collect())))
    }));
    object_text(&members)
}

/// What the plan says that the requests of this call cost.
fn predicted(engine: &Engine, name: &str, request: &Request) -> Vec<String> {
    let previewed = engine.preview(name, request);
    let requests = previewed.map(|previewed| previewed.combination.requests.as_slice());
    let formulas = requests.unwrap_or_default().iter().map(|cost| cost.formula_text());
    formulas.collect()
}

fn shown(answer: &Answer, predicted: &[String], format: RowFormat) -> String {
    let units = answer.consumed.total_units();
    if format == RowFormat::Json {
        let members = [
            (
                "value",
                answer
                    .value
                    .as_ref()
                    .map_or("null".to_owned(), json_text::indented_json),
            ),
            (
                "next",
                json_text::json_of(&answer.next.clone().map_or(Value::Null, Value::S)),
            ),
            ("capacity", capacity(&units, Some(predicted))),
        ];
        return format!("{}\n", object_text(&members));
    }
    let mut text = match &answer.value {
        Some(Value::L(rows)) => rows_table(rows),
        Some(value) => format!("{}\n", json_text::indented_json(value)),
        None => "null\n".to_owned(),
    };
    text.push_str(&format!(
        "{} {}; predicted: {}\n",
        units.read,
        if units.read.to_string() == "1" {
            "read unit"
        } else {
            "read units"
        },
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
        let text = match row.as_map().and_then(|row| row.get(column)) {
            None => String::new(),
            Some(Value::S(text)) => text.clone(),
            Some(other) => json_text::json_of(other),
        };
        text.chars().take(CELL_CHARS_MAX).collect::<String>()
    };
    let lines = rows
        .iter()
        .map(|row| columns.iter().map(|column| cell(row, column)).collect());
    let text = table::aligned_table(&columns, lines.collect());
    format!("{text}{}, ", counted_thing(rows.len(), "row"))
}
