//! `singlet audit`: whether what lies in a table is what the model says.

mod kept_files;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use singlet_audit::{AuditEstimate, AuditOptions, AuditReport, MendCount, RepairMode, audit_table, estimate_audit};
use singlet_cost::{dollars_text, region_prices};
use singlet_runtime::{Engine, FindingKind, OpenError, TableOpening, TableUse};

use self::kept_files::KeptFiles;
use crate::model::{self, fail_command};
use crate::place::Place;
use crate::report_format::ReportFormat;
use crate::store::{StoreArgs, check_no_bridge, now_millis};
use crate::{exit, source};

/// The region whose prices are said where the store's own are not known.
const PRICED_REGION: &str = "us-east-1";

/// The most segments that are scanned side by side.
const SEGMENTS_MAX: u32 = 64;

/// Check every item of a model's table against the model.
///
/// It checks values, keys, index keys, computed attributes, expiry, mirrors, guards, copies, versions and references. Each finding comes with its key, what
/// is there and what should be. Findings about two items are read again together before they are reported, so that a table may be audited while it is
/// written to. What is merely worth knowing, such as attributes that the model does not have, is a note. It first says how much it will read.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 nothing is wrong (notes apart) or all of it was mended, 1 something is, 2 it could not be looked at."
)]
pub(crate) struct Audit {
    /// The model file.
    model: PathBuf,
    /// Only say how much would be read, and what that costs.
    #[arg(long)]
    estimate: bool,
    /// Read units a second that it may take; as many as it can unless said.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// How many parts of the table are read side by side.
    #[arg(long, default_value_t = 4, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(SEGMENTS_MAX)))]
    segments: u32,
    /// Keep in this file how far it is, and go on from there if the file is there. It is removed at the end.
    #[arg(long, value_name = "FILE")]
    progress: Option<PathBuf>,
    /// How many examples of each finding are shown; all are counted.
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    show: u16,
    /// Other systems have rows in this table, too: items of no entity are theirs.
    #[arg(long)]
    shared: bool,
    /// Mend what is certain: index keys, computed attributes, expiry, copies, mirrors, guards. Without `--yes` it is only said what would be mended.
    #[arg(long)]
    repair: bool,
    /// With `--repair`: do it.
    #[arg(long, requires = "repair")]
    yes: bool,
    /// With `--repair`: where to keep what items were before, as lines that `singlet load --as-is` puts back. A new file beside you unless said.
    #[arg(long, requires = "repair", value_name = "FILE")]
    images: Option<PathBuf>,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    #[command(flatten)]
    store: StoreArgs,
}

impl Audit {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.audit()).unwrap_or_else(|code| code)
    }

    async fn audit(self) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| fail_command(&reason);
        let text = source::read_source(&self.model).map_err(said)?;
        let loaded = model::load_model(&self.model)?;
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(fail_command("`--rate` is a number of read units above zero"));
        }
        let place = self.store.store_place().map_err(said)?;
        if place == Place::Memory {
            return Err(fail_command(
                "there is nothing to audit in memory: say `--store embedded:DIR` or `--store dynamodb`",
            ));
        }
        let engine = self.store.open_as_it_is(loaded).await.map_err(said)?;
        check_no_bridge(&engine).await.map_err(said)?;
        self.held_against_model(&engine, &place).await?;
        let estimate = estimate_audit(&engine)
            .await
            .map_err(|error| fail_command(&error.to_string()))?;
        let estimated = estimate_text(&estimate, &place, self.rate);
        if self.estimate {
            return Ok(super::print_text(&estimated));
        }
        eprint!("{estimated}");
        let report = self.run_on(&engine, &String::from_utf8_lossy(&text)).await?;
        let shown = match self.format {
            ReportFormat::Text => self.text(&report),
            ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&report).unwrap_or_default()),
        };
        super::print_text(&shown);
        let mended: u64 = match self.yes {
            true => report
                .mended
                .iter()
                .filter(|one| is_damage(&one.kind))
                .map(|one| one.count)
                .sum(),
            false => 0,
        };
        let is_sound = report.damage_count() <= mended;
        Ok(ExitCode::from(if is_sound { exit::CLEAN } else { exit::FINDINGS }))
    }

    /// Who wrote the rows: it may be looked at whoever did, and mended only by the model's own.
    async fn held_against_model(&self, engine: &Engine, place: &Place) -> Result<(), ExitCode> {
        let opening = TableOpening {
            makes_tables: false,
            company: place.company(),
            used_for: TableUse::Reading,
            now: now_millis(),
        };
        match engine.open_table(&opening).await {
            Ok(_) => {}
            Err(
                error @ (OpenError::Table(_)
                | OpenError::Model(_)
                | OpenError::Rows(..)
                | OpenError::Migrating(_)
                | OpenError::Relocated(_)),
            ) => {
                if self.repair {
                    return Err(fail_command(&format!(
                        "nothing is repaired: the table does not fit this model: {error}"
                    )));
                }
                eprintln!("note: the table does not fit this model, so there may be many findings: {error}");
            }
            Err(error) => return Err(fail_command(&error.to_string())),
        }
        Ok(())
    }

    async fn run_on(&self, engine: &Engine, model_text: &str) -> Result<AuditReport, ExitCode> {
        let repair = match (self.repair, self.yes) {
            (false, _) => RepairMode::Nothing,
            (true, false) => RepairMode::Show,
            (true, true) => RepairMode::Mend,
        };
        let table = &engine.model().table.name;
        let images = match repair {
            RepairMode::Mend => {
                let named = || PathBuf::from(format!("{table}-before-repair-{}.jsonl", now_millis()));
                Some(self.images.clone().unwrap_or_else(named))
            }
            RepairMode::Nothing | RepairMode::Show => None,
        };
        let kept = KeptFiles::new(self.progress.clone(), images.clone());
        let before = kept.progress_before().map_err(|reason| fail_command(&reason))?;
        if before.is_some()
            && let Some(path) = &self.progress
        {
            eprintln!("going on from `{}`", path.display());
        }
        let options = AuditOptions {
            segments: self.segments,
            rate: self.rate,
            shown_max: usize::from(self.show),
            is_shared: self.shared,
            repair,
            ..AuditOptions::default()
        };
        let digest = kept_files::model_digest(model_text);
        let report = audit_table(engine, &digest, &options, before, &kept, &now_millis).await;
        let report = report.map_err(|error| self.stopped(&error.to_string()))?;
        kept.remove_progress();
        if let Some(path) = images.filter(|path| path.is_file()) {
            said_images(&path);
        }
        Ok(report)
    }

    fn stopped(&self, reason: &str) -> ExitCode {
        let code = fail_command(reason);
        if let Some(path) = self.progress.as_ref().filter(|path| path.is_file()) {
            eprintln!("help: the same command goes on from `{}`", path.display());
        }
        code
    }

    fn text(&self, report: &AuditReport) -> String {
        let mut text = report.text();
        if !self.repair {
            return text;
        }
        let mended = if self.yes { "mended" } else { "would be mended" };
        for one in &report.mended {
            let _ = writeln!(text, "{mended}: {}", mend_text(one));
        }
        for one in report.not_mended.iter().filter(|one| is_damage(&one.kind)) {
            let why = one.why.as_deref().unwrap_or_default();
            let _ = writeln!(text, "not mended: {}: {why}", mend_text(one));
        }
        if !self.yes && !report.mended.is_empty() {
            text.push_str("nothing was changed: `--repair --yes` does it\n");
        }
        text
    }
}

fn said_images(path: &Path) {
    eprintln!(
        "what items were before is in `{0}`: `singlet load MODEL {0} --as-is` puts it back",
        path.display()
    );
}

fn is_damage(kind: &str) -> bool {
    FindingKind::from_name(kind).is_some_and(FindingKind::is_damage)
}

fn mend_text(one: &MendCount) -> String {
    match &one.entity {
        Some(entity) => format!("{} × {} {entity}", one.count, one.kind),
        None => format!("{} × {}", one.count, one.kind),
    }
}

fn estimate_text(estimate: &AuditEstimate, place: &Place, rate: Option<f64>) -> String {
    let mut text = format!(
        "{} items, {} bytes: {} read units to scan them, and at most {} for what is beside rows\n",
        estimate.items, estimate.bytes, estimate.scan_units, estimate.beside_units_max
    );
    if let Some(rate) = rate {
        let seconds = (estimate.units_max() / rate).ceil();
        let _ = writeln!(text, "at most {seconds} seconds at {rate} units a second");
    }
    if let (Place::DynamoDb { .. }, Ok(prices)) = (place, region_prices(PRICED_REGION)) {
        let _ = writeln!(
            text,
            "at most {} where requests are paid, by the prices of {} of {}",
            dollars_text(estimate.dollars_max(&prices)),
            prices.region,
            prices.as_of
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_on_the_page() {
        let page = include_str!("../../../../docs/audit.md");
        for kind in FindingKind::ALL {
            let row = format!("| `{}` |", kind.name());
            assert!(page.contains(&row), "docs/audit.md has no row `{}`", kind.name());
        }
    }
}
