//! `singlet doctor`: whether a folder holds what it should.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use singlet_face::Company;
use singlet_model::Model;
use singlet_runtime::{AuditDepth, Engine, FindingGroup, OpenError, RowAudit, TableOpening, TableUse, audit_rows};
use singlet_store_embedded::{EmbeddedStore, Inspection};

use crate::model::{self, fail_command};
use crate::moment_copy::MomentCopy;
use crate::report_format::ReportFormat;
use crate::table::{aligned_table, counted_thing};
use crate::{exit, store};

/// Check the data in a folder, without changing anything.
///
/// Every page is checked against its checksum; every index entry, expiry, total and change is derived again from the items and
/// compared. Given models, the rows are checked too: values, keys, mirrors, guards, copies. While a service has the folder open, it writes a
/// copy as of this moment inside the folder, which is checked and removed; the checksums of the files' own pages are then not checked.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 nothing is wrong, 1 something is, 2 it could not be looked at.")]
pub(crate) struct Doctor {
    /// The folder of the data.
    data: PathBuf,
    /// The models whose rows are in it.
    models: Vec<PathBuf>,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// A value for a model's `settings`, `system.name=value`.
    #[arg(long = "set", value_name = "SYSTEM.NAME=VALUE")]
    set: Vec<String>,
}

/// What was found, as it is shown.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Whether nothing is wrong.
    sound: bool,
    /// How many findings of each kind there are.
    counts: BTreeMap<&'static str, u64>,
    /// The first of each kind.
    findings: Vec<Finding>,
    tables: Vec<TableReport>,
    /// Bytes of the file that holds the rows, free room included.
    base_bytes: u64,
    log_bytes: u64,
    /// Rows that were held against each model.
    rows: BTreeMap<String, u64>,
    /// What the next opening goes on with.
    unfinished: u64,
}

#[derive(Debug, Serialize)]
struct Finding {
    kind: &'static str,
    table: Option<String>,
    entity: Option<String>,
    key: Option<String>,
    what: String,
}

#[derive(Debug, Serialize)]
struct TableReport {
    name: String,
    items: u64,
    item_bytes: u64,
    index_bytes: u64,
    changes: u64,
    change_bytes: u64,
    expiry_bytes: u64,
}

impl Doctor {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.examine()).unwrap_or_else(|code| code)
    }

    async fn examine(self) -> Result<ExitCode, ExitCode> {
        let models = self.models.iter().map(|path| model::load_model(path));
        let models = models.collect::<Result<Vec<Model>, ExitCode>>()?;
        let mut report = Report::default();
        if !self.data.is_dir() {
            return Err(fail_command(&format!("there is no folder `{}`", self.data.display())));
        }
        let copy = MomentCopy::of_served(&self.data)
            .await
            .map_err(|reason| fail_command(&reason))?;
        if copy.is_some() {
            let data = self.data.display();
            eprintln!("note: a service has `{data}` open: a copy of this moment is looked at");
        }
        match EmbeddedStore::open_to_inspect(copy.as_ref().map_or(self.data.as_path(), MomentCopy::folder)) {
            Ok(opened) => {
                let inspected = opened
                    .inspect_rows()
                    .map_err(|error| fail_command(&error.to_string()))?;
                report.add_inspection(inspected);
                let alone = |model: &Model| {
                    models
                        .iter()
                        .filter(|other| other.table.name == model.table.name)
                        .count()
                        == 1
                };
                let alone: Vec<bool> = models.iter().map(alone).collect();
                for (model, is_alone) in models.into_iter().zip(alone) {
                    self.examine_rows(&opened, model, is_alone, &mut report).await?;
                }
            }
            Err(error) if error.is_in_use() => {
                let data = self.data.display();
                let code = fail_command(&format!(
                    "a process that does not answer has `{data}` open, so that it cannot be looked at"
                ));
                eprintln!("help: end that process, or look at a backup of it");
                return Err(code);
            }
            Err(error) if error.told_publicly().is_some() && error.is_unavailable() => {
                report.add("unreadable", None, None, None, error.message());
            }
            Err(error) => return Err(fail_command(error.message())),
        }
        report.sound = report.findings.is_empty();
        let shown = match self.format {
            ReportFormat::Text => report.text(&self.data.display().to_string()),
            ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&report).unwrap_or_default()),
        };
        super::print_text(&shown);
        Ok(ExitCode::from(if report.sound { exit::CLEAN } else { exit::FINDINGS }))
    }

    /// Holds the rows of a model's table against it.
    async fn examine_rows(
        &self,
        opened: &EmbeddedStore,
        model: Model,
        is_alone: bool,
        report: &mut Report,
    ) -> Result<(), ExitCode> {
        let (name, table) = (model.name.clone(), model.table.name.clone());
        let given = self.set.iter().filter_map(|text| {
            let (path, value) = text.split_once('=')?;
            let (system, setting) = path.split_once('.')?;
            (system == name).then(|| (setting.to_owned(), value.to_owned()))
        });
        let settings =
            store::given_settings(&model, &given.collect::<Vec<_>>()).map_err(|reason| fail_command(&reason))?;
        let engine = Engine::open(Arc::new(model), Arc::new(opened.clone()), settings, [0; 32]);
        let opening = TableOpening {
            makes_tables: false,
            company: Company::Alone,
            used_for: TableUse::Reading,
            now: store::now_millis(),
        };
        match engine.open_table(&opening).await {
            Ok(_) => {}
            Err(OpenError::NoTable) => {
                return Err(fail_command(&format!(
                    "there is no table `{table}`, which `{name}` needs"
                )));
            }
            Err(
                error @ (OpenError::Table(_)
                | OpenError::Model(_)
                | OpenError::Rows(..)
                | OpenError::Migrating(_)
                | OpenError::Relocated(_)),
            ) => {
                report.add(
                    "other-model",
                    Some(&table),
                    None,
                    None,
                    &format!("it does not fit the model `{name}`: {error}"),
                );
                return Ok(());
            }
            Err(OpenError::Failed(error)) => {
                report.add("unreadable", Some(&table), None, None, &error.to_string());
                return Ok(());
            }
        }
        match audit_rows(&engine, opening.now, AuditDepth::Whole).await {
            Ok(audit) => report.add_audit(&name, &table, is_alone, audit),
            Err(error) => report.add("unreadable", Some(&table), None, None, &error.to_string()),
        }
        Ok(())
    }
}

impl Report {
    fn add(
        &mut self,
        kind: &'static str,
        table: Option<&str>,
        entity: Option<String>,
        key: Option<String>,
        what: &str,
    ) {
        *self.counts.entry(kind).or_default() += 1;
        self.findings.push(Finding {
            kind,
            table: table.map(str::to_owned),
            entity,
            key,
            what: what.to_owned(),
        });
    }

    fn add_inspection(&mut self, inspected: Inspection) {
        for flaw in inspected.flaws {
            self.add(flaw.kind.name(), flaw.table.as_deref(), None, flaw.key, &flaw.what);
        }
        self.counts
            .extend(inspected.counts.into_iter().map(|(kind, count)| (kind.name(), count)));
        self.tables = inspected
            .tables
            .into_iter()
            .map(|table| TableReport {
                name: table.name,
                items: table.items.rows,
                item_bytes: table.items.bytes,
                index_bytes: table.entries.bytes,
                changes: table.changes.rows,
                change_bytes: table.changes.bytes,
                expiry_bytes: table.expiries.bytes,
            })
            .collect();
        self.base_bytes = inspected.base_bytes;
        self.log_bytes = inspected.log_bytes;
        self.unfinished = inspected.unfinished;
    }

    /// Items of no entity are somebody's where another model has the same table.
    fn add_audit(&mut self, system: &str, table: &str, is_alone: bool, audit: RowAudit) {
        self.rows.insert(system.to_owned(), audit.rows);
        let counts = |group: FindingGroup| is_alone || group != FindingGroup::Unknown;
        for misfit in audit
            .first
            .into_iter()
            .filter(|misfit| counts(misfit.kind.finding_group()))
        {
            let key = Some(misfit.key_text());
            let entity = misfit.entity;
            self.findings.push(Finding {
                kind: misfit.kind.finding_group().name(),
                table: Some(table.to_owned()),
                entity,
                key,
                what: misfit.reason,
            });
        }
        for (group, count) in audit.counts.into_iter().filter(|(group, _)| counts(*group)) {
            *self.counts.entry(group.name()).or_default() += count;
        }
    }

    fn text(&self, data: &str) -> String {
        let mut text = String::new();
        let sizes = self.tables.iter().map(|table| {
            let bytes = [table.item_bytes, table.index_bytes, table.change_bytes];
            let mut row = vec![format!("`{}`", table.name), table.items.to_string()];
            row.extend(bytes.map(|bytes| bytes.to_string()));
            row
        });
        let columns = ["table", "items", "bytes of items", "of indexes", "of changes"];
        if !self.tables.is_empty() {
            text.push_str(&aligned_table(&columns, sizes.collect()));
            text.push_str(&format!(
                "files: {} bytes of rows, {} of the log\n",
                self.base_bytes, self.log_bytes
            ));
        }
        for (system, rows) in &self.rows {
            let rows = counted_thing(usize::try_from(*rows).unwrap_or(usize::MAX), "row");
            text.push_str(&format!("{rows} held against `{system}`\n"));
        }
        if self.unfinished > 0 {
            let things = counted_thing(usize::try_from(self.unfinished).unwrap_or(usize::MAX), "task");
            text.push_str(&format!("{things} unfinished: the next opening goes on with that\n"));
        }
        for finding in &self.findings {
            text.push_str(&finding.text());
        }
        match self.counts.values().sum::<u64>() {
            0 => text.push_str(&format!("{data}: nothing is wrong\n")),
            found => {
                let found = usize::try_from(found).unwrap_or(usize::MAX);
                let kinds: Vec<String> = self
                    .counts
                    .iter()
                    .map(|(kind, count)| format!("{count} {kind}"))
                    .collect();
                text.push_str(&format!(
                    "{data}: {}: {}\n",
                    counted_thing(found, "finding"),
                    kinds.join(", ")
                ));
            }
        }
        text
    }
}

impl Finding {
    fn text(&self) -> String {
        let mut place = String::new();
        for part in [&self.table, &self.entity].into_iter().flatten() {
            place.push_str(&format!(" `{part}`"));
        }
        if let Some(key) = &self.key {
            place.push_str(&format!(" {key}"));
        }
        format!("{}{place}: {}\n", self.kind, self.what)
    }
}
