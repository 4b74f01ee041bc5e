//! `singlet plan`.

mod json;
mod writes;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use singlet_item::ReadUnits;
use singlet_model::Model;
use singlet_plan::cost::{RequestCost, Sizes, Worked};
use singlet_plan::plan_json;
use singlet_plan::read::{PlanRow, ReadPlan, plan_read, plan_rows, priced_plan_text};
use singlet_runtime::{Attributes, Engine, Preview, Request, WriteRequest, range_text};
use singlet_store_embedded::EmbeddedStore;

use crate::model;
use crate::request::{self, CallerArgs, Operation};
use crate::store::now_millis;
use crate::table::{self, counted_thing};

/// The widest cells of the table.
const KEY_CHARS_MAX: usize = 60;
const FILTER_CHARS_MAX: usize = 40;
const CAPACITY_CHARS_MAX: usize = 44;

/// Show what each read and write becomes: index, key condition, filter, rows and conditions, and what it costs.
///
/// `singlet plan systems/ecobid/model.yaml itemsNear at=47.37,8.54 km=5 --why`
#[derive(Args)]
pub(crate) struct Plan {
    /// The model file.
    model: PathBuf,
    /// One read or write, in detail; tables of all of them without it.
    name: Option<String>,
    /// Arguments, `name=value`: the keys that this call asks for.
    #[arg(value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// Also say why the other indexes do not answer it, or lose.
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    caller: CallerArgs,
    /// How plans are shown.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    format: PlanFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    /// A table, or the details of one read.
    Text,
    /// `{model, reads}`, as the reference describes it.
    Json,
}

impl Plan {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self.planned() {
            Ok(text) => super::print_text(&text),
            Err(code) => code,
        }
    }

    fn planned(&self) -> Result<String, ExitCode> {
        let model = model::load_model(&self.model)?;
        let named = self.name.as_ref().map(|name| request::named_operation(&model, name));
        if let Some(Operation::Write(write)) = named.transpose().map_err(|reason| model::fail_command(&reason))? {
            let at = model
                .writes
                .iter()
                .position(|known| known.name == write.name)
                .unwrap_or_default();
            return self
                .planned_write(model, at)
                .map_err(|reason| model::fail_command(&reason));
        }
        let read = self.name.as_ref().map(|name| request::read_named(&model, name));
        let read = read.transpose().map_err(|reason| model::fail_command(&reason))?;
        let plans: Vec<ReadPlan> = match read {
            Some(read) => vec![plan_read(&model, read)],
            None => model.reads.iter().map(|read| plan_read(&model, read)).collect(),
        };
        if self.format == PlanFormat::Json {
            let plans = match read {
                None => json::with_writes(plan_json::reads_json(&model, &plans), plan_json::writes_json(&model)),
                Some(_) => plan_json::reads_json(&model, &plans),
            };
            return match read.filter(|_| !self.args.is_empty()) {
                None => Ok(format!("{plans:#}\n")),
                Some(read) => {
                    let request = self
                        .request(&model, read)
                        .map_err(|reason| model::fail_command(&reason))?;
                    let name = read.name.clone();
                    let asked = asked(model, &name, &request, json::asked_json)
                        .map_err(|reason| model::fail_command(&reason))?;
                    Ok(format!("{:#}\n", json::with_asked(plans, asked)))
                }
            };
        }
        let sizes = Sizes::of(&model);
        let Some((read, plan)) = read.zip(plans.first()) else {
            return Ok(match self.why {
                true => plans
                    .iter()
                    .map(|plan| priced_plan_text(&model, plan, &sizes, true))
                    .collect(),
                false if model.writes.is_empty() => reads_table(&model, &plans, &sizes),
                false => format!(
                    "{}\n{}",
                    reads_table(&model, &plans, &sizes),
                    writes::writes_table(&model)
                ),
            });
        };
        let text = priced_plan_text(&model, plan, &sizes, self.why);
        if self.args.is_empty() {
            return Ok(text);
        }
        let request = self
            .request(&model, read)
            .map_err(|reason| model::fail_command(&reason))?;
        let name = read.name.clone();
        asked(model, &name, &request, asked_text).map_err(|reason| model::fail_command(&reason))
    }

    /// A write, and where arguments are given what one request of it costs. Nothing is asked: the store is an empty one.
    fn planned_write(&self, model: Model, at: usize) -> Result<String, String> {
        let model = Arc::new(model);
        let write = model.writes.get(at).ok_or("there is no such write")?;
        let cost = match self.args.as_slice() {
            [] => None,
            given => {
                let request = WriteRequest {
                    args: request::parse_arguments(&write.name, &write.args, given)?,
                    caller: self.caller.parsed_caller(&model)?,
                    now: now_millis(),
                    idempotency_key: None,
                    precondition: None.into(),
                };
                let store = EmbeddedStore::memory().map_err(|error| error.to_string())?;
                let engine = Engine::open(Arc::clone(&model), Arc::new(store), Attributes::new(), [0; 32]);
                let cost = engine.write_cost(&write.name, &request);
                Some(cost.map_err(|error| error.to_string())?)
            }
        };
        Ok(match (self.format, cost) {
            (PlanFormat::Text, None) => writes::write_in_full(&model, write),
            (PlanFormat::Text, Some(cost)) => writes::write_in_full(&model, write) + &writes::request_line(&cost),
            (PlanFormat::Json, None) => format!("{:#}\n", plan_json::write_json(&model, write)),
            (PlanFormat::Json, Some(cost)) => {
                let plan = plan_json::write_json(&model, write);
                format!("{:#}\n", json::with_asked_units(plan, plan_json::units_json(&cost)))
            }
        })
    }

    fn request(&self, model: &Model, read: &singlet_model::model::Read) -> Result<Request, String> {
        Ok(Request {
            args: request::parse_arguments(&read.name, &read.args, &self.args)?,
            caller: self.caller.parsed_caller(model)?,
            now: now_millis(),
            ..Request::default()
        })
    }
}

fn reads_table(model: &Model, plans: &[ReadPlan], sizes: &Sizes<'_>) -> String {
    let mut rows = Vec::new();
    for plan in plans {
        let mut name = plan.read.as_str();
        for row in plan_rows(model, plan) {
            rows.push(table_row(std::mem::take(&mut name), &row, sizes));
        }
        if !name.is_empty() {
            rows.push(vec![name.to_owned(), String::new(), "no key answers it".to_owned()]);
        }
    }
    let columns = ["read", "index", "key condition", "filter", "read units"];
    table::aligned_table(&columns, rows)
}

fn table_row(name: &str, row: &PlanRow<'_>, sizes: &Sizes<'_>) -> Vec<String> {
    let sent = (!row.sent.is_empty()).then(|| format!("  sent {}", row.sent.join(", ")));
    let label = Some(row.label()).filter(|label| !label.is_empty());
    let first = [
        (!name.is_empty()).then(|| name.to_owned()),
        sent,
        label.map(|label| format!("  {label}")),
    ];
    let first: Vec<String> = first.into_iter().flatten().collect();
    let direction = if row.descending { " descending" } else { "" };
    vec![
        first.join("\n"),
        row.place.clone(),
        table::wrapped_text(&format!("{}{direction}", row.key), KEY_CHARS_MAX),
        table::wrapped_text(&row.filter, FILTER_CHARS_MAX),
        table::wrapped_text(&row.cost.shown(sizes), CAPACITY_CHARS_MAX),
    ]
}

/// What a call asks of the store, shown in one way or another. Nothing is asked: the store is an empty one.
fn asked<T>(
    model: Model,
    name: &str,
    request: &Request,
    show: impl Fn(&Model, &[(PlanRow<'_>, Preview)]) -> T,
) -> Result<T, String> {
    let store = EmbeddedStore::memory().map_err(|error| error.to_string())?;
    let model = Arc::new(model);
    let engine = Engine::open(Arc::clone(&model), Arc::new(store), Attributes::new(), [0; 32]);
    let previewed = engine.preview(name, request).map_err(|error| error.to_string())?;
    let plan = engine.plan(name).ok_or("there is no plan")?;
    let sent = &previewed.combination.sent;
    let rows = plan_rows(&model, plan)
        .into_iter()
        .filter(|row| row.sent == sent.as_slice());
    let shown: Vec<(PlanRow<'_>, Preview)> = rows.zip(previewed.requests).collect();
    Ok(show(&model, &shown))
}

fn asked_text(model: &Model, asked: &[(PlanRow<'_>, Preview)]) -> String {
    let sizes = Sizes::of(model);
    let mut text = String::new();
    for (row, preview) in asked {
        let label = Some(row.label()).filter(|label| !label.is_empty());
        let label = label.map(|label| format!("{label}: ")).unwrap_or_default();
        let call = row.cost.call.word();
        let place = preview.index.as_deref().unwrap_or("table");
        match &preview.waits_for {
            Some(name) => {
                let line = format!("{label}{call} {}, once `{name}` is read: {}\n", row.place, row.key);
                text.push_str(&line);
            }
            None if preview.ranges.is_empty() => {
                let line = format!("{label}{call} {} {}\n", row.place, row.key);
                text.push_str(&line);
            }
            None => {
                let requests = counted_thing(requests(row, preview), "request");
                text.push_str(&format!("{label}{requests}: {call} {place}\n"));
                for range in &preview.ranges {
                    text.push_str(&format!("  {}\n", range_text(range)));
                }
            }
        }
        if !row.filter.is_empty() {
            text.push_str(&format!("  where {}\n", row.filter));
        }
        text.push_str(&format!("  {}; {}\n", preview.cost.shown(&sizes), row.promise()));
    }
    let told = told_of(asked, &sizes);
    if let Some(most) = told.estimated {
        text.push_str(&format!("in all {}\n", as_estimated(told.least, most)));
    }
    text
}

/// What all requests of a call take.
fn told_of(asked: &[(PlanRow<'_>, Preview)], sizes: &Sizes<'_>) -> Worked {
    let costs: Vec<RequestCost> = asked.iter().map(|(_, preview)| preview.cost.clone()).collect();
    Worked::sum_requests(&costs, sizes)
}

/// `0.5 to 2 read units, where rows are as estimated`.
fn as_estimated(least: ReadUnits, most: ReadUnits) -> String {
    let range = match least >= most {
        true => most.to_string(),
        false => format!("{least} to {most}"),
    };
    format!("{range} read units, where rows are as estimated")
}

/// One query answers all ranges of neighbours; any other range is a request of its own.
fn requests(row: &PlanRow<'_>, preview: &Preview) -> usize {
    match row.cost.origin {
        singlet_plan::cost::Origin::Neighbours | singlet_plan::cost::Origin::Together => 1,
        _ => preview.ranges.len(),
    }
}
