//! Runs an audit over a whole table.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use singlet_runtime::{Auditor, Engine, Finding, FindingKind, ItemChange, JudgedItem, PageAudit, RuntimeError};
use singlet_store::{ScanRequest, ScanSegment, StoreError};

use crate::pacer::Pacer;
use crate::progress::AuditProgress;
use crate::report::AuditReport;

/// How often progress is kept.
const KEPT_EVERY: Duration = Duration::from_secs(2);

/// How many items a page has at most: what is beside them is held with them.
const PAGE_ITEMS_MAX: u32 = 1_000;

/// How often a mend is tried anew because its rows were changed meanwhile.
const MEND_TRIES_MAX: usize = 5;

/// How often a page is asked for, where the store throttles or is away.
const CALL_TRIES_MAX: u32 = 8;
const CALL_WAIT: Duration = Duration::from_millis(50);

/// How a table is audited.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions {
    /// How many segments are scanned side by side.
    pub segments: u32,
    /// Read units a second that it may take; as many as it can, unless said.
    pub rate: Option<f64>,
    /// How many items a page has at most.
    pub page_items_max: u32,
    /// How many examples of each finding are kept.
    pub shown_max: usize,
    /// Whether other systems have rows in the table, too: then items of no entity are theirs.
    pub is_shared: bool,
    /// What is done about what is found.
    pub repair: RepairMode,
}

impl Default for AuditOptions {
    fn default() -> Self {
        AuditOptions {
            segments: 4,
            rate: None,
            page_items_max: PAGE_ITEMS_MAX,
            shown_max: 5,
            is_shared: false,
            repair: RepairMode::Nothing,
        }
    }
}

/// What is done about what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairMode {
    /// Nothing.
    Nothing,
    /// It is said what would be mended.
    Show,
    /// What is certain is mended.
    Mend,
}

/// Keeps what must outlive the process.
pub trait AuditKeeper: Send + Sync {
    /// Keeps how far the audit is.
    ///
    /// # Errors
    ///
    /// Where it cannot be kept; then the audit ends.
    fn keep_progress(&self, progress: &AuditProgress) -> io::Result<()>;

    /// Keeps what items were, before they are changed.
    ///
    /// # Errors
    ///
    /// Where it cannot be kept; then nothing is changed and the audit ends.
    fn keep_images(&self, changes: &[ItemChange]) -> io::Result<()>;
}

/// Keeps nothing: for those who begin anew, and mend nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepNothing;

impl AuditKeeper for KeepNothing {
    fn keep_progress(&self, _: &AuditProgress) -> io::Result<()> {
        Ok(())
    }

    fn keep_images(&self, _: &[ItemChange]) -> io::Result<()> {
        Err(io::Error::other("old images are not kept"))
    }
}

/// Why an audit did not come to its end.
#[derive(Debug)]
pub enum AuditError {
    /// It cannot go on from there: why.
    Progress(String),
    /// Progress or old images could not be kept.
    Keep(io::Error),
    /// The store failed.
    Failed(RuntimeError),
}

impl fmt::Display for AuditError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditError::Progress(why) => write!(out, "the audit cannot go on from there: {why}"),
            AuditError::Keep(error) => write!(out, "what must be kept cannot be written: {error}"),
            AuditError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for AuditError {}

impl From<RuntimeError> for AuditError {
    fn from(error: RuntimeError) -> Self {
        AuditError::Failed(error)
    }
}

impl From<StoreError> for AuditError {
    fn from(error: StoreError) -> Self {
        AuditError::Failed(error.into())
    }
}

/// What all segments share.
struct Run<'a> {
    auditor: Auditor<'a>,
    engine: &'a Engine,
    options: &'a AuditOptions,
    keeper: &'a dyn AuditKeeper,
    clock: &'a (dyn Fn() -> i64 + Sync),
    pacer: Pacer,
    page_items: u32,
    state: Mutex<State>,
}

struct State {
    progress: AuditProgress,
    kept_at: Instant,
}

/// Audits a model's table, from the beginning or from where another audit stopped. The text says which model it is: progress of
/// another is refused.
///
/// # Errors
///
/// Where the store fails for good, progress is of something else, or what must be kept cannot be.
pub async fn audit_table(
    engine: &Engine,
    model_text: &str,
    options: &AuditOptions,
    before: Option<AuditProgress>,
    keeper: &dyn AuditKeeper,
    clock: &(dyn Fn() -> i64 + Sync),
) -> Result<AuditReport, AuditError> {
    let model = engine.model();
    let named = (model.name.as_str(), model.table.name.as_str(), model_text);
    if let Some(why) = before.as_ref().and_then(|before| before.strange_to(named)) {
        return Err(AuditError::Progress(why));
    }
    let progress = before.unwrap_or_else(|| AuditProgress::begin(named, options.segments, options.shown_max));
    // As many as it was begun with: another number would cut the table at other places.
    let segments = progress.segments.len();
    let run = Run {
        auditor: Auditor::new(engine).await?,
        engine,
        options,
        keeper,
        clock,
        pacer: Pacer::new(options.rate),
        page_items: page_items(engine, options, segments).await?,
        state: Mutex::new(State {
            progress,
            kept_at: Instant::now(),
        }),
    };
    try_join_all((0..segments).map(|at| run.segment(at, segments))).await?;
    let state = run.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut report = state.progress.report;
    report.sort_findings();
    Ok(report)
}

/// As many items as a page may have, so that one page takes no more than its share of a second.
async fn page_items(engine: &Engine, options: &AuditOptions, segments: usize) -> Result<u32, AuditError> {
    let most = options.page_items_max.clamp(1, PAGE_ITEMS_MAX);
    let Some(rate) = options.rate else { return Ok(most) };
    let table = engine.store().describe_table(&engine.model().table.name).await?;
    let usual_bytes = table.size_bytes.checked_div(table.item_count).unwrap_or(0).max(64) as f64;
    let items = rate * 2.0 * 4_096.0 / usual_bytes / segments.max(1) as f64;
    // A cast of a float saturates.
    Ok((items as u32).clamp(1, most))
}

impl Run<'_> {
    async fn segment(&self, at: usize, segments: usize) -> Result<(), AuditError> {
        let numbers = (u32::try_from(at).ok(), u32::try_from(segments).ok());
        let segment = match numbers {
            (Some(index), Some(total)) if total > 1 => Some(ScanSegment { index, total }),
            _ => None,
        };
        loop {
            let known = {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.progress.segments.get(at).cloned().unwrap_or_default()
            };
            if known.is_done {
                return Ok(());
            }
            let request = ScanRequest {
                table: self.engine.model().table.name.clone(),
                limit: Some(self.page_items),
                start: known.start,
                segment,
                ..ScanRequest::default()
            };
            self.pacer.wait_until_paid().await;
            let page = self.scanned(&request).await?;
            let mut units = read_units(page.consumed.total_units());
            let looked = self.auditor.look_at(page.items, (self.clock)()).await?;
            units += read_units(looked.consumed.total_units());
            self.pacer.note_taken(units);
            // Before the page counts as looked at: killed in between, it is looked at again, and what was mended is found sound.
            let mended = self.mend_page(&looked).await?;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            self.add_page(&mut state.progress.report, &looked, mended, units);
            if let Some(segment) = state.progress.segments.get_mut(at) {
                // Only a page without a last key is the end.
                segment.is_done = page.last_key.is_none();
                segment.start = page.last_key;
            }
            if state.kept_at.elapsed() >= KEPT_EVERY || state.progress.is_done() {
                self.keeper.keep_progress(&state.progress).map_err(AuditError::Keep)?;
                state.kept_at = Instant::now();
            }
        }
    }

    async fn scanned(&self, request: &ScanRequest) -> Result<singlet_store::PageAnswer, StoreError> {
        let mut attempt = 1;
        loop {
            match self.engine.store().scan(request).await {
                Err(error) if error.is_retryable() && attempt < CALL_TRIES_MAX => {
                    tokio::time::sleep(CALL_WAIT * 2_u32.pow(attempt)).await;
                    attempt += 1;
                }
                answer => return answer,
            }
        }
    }

    fn add_page(&self, report: &mut AuditReport, looked: &PageAudit, mended: Vec<Mended>, units: f64) {
        report.items += looked.items;
        report.rows += looked.rows;
        report.unsettled += looked.unsettled;
        report.read_units += units;
        for finding in looked.judged.iter().flat_map(|judged| &judged.findings) {
            if self.options.is_shared && finding.kind == FindingKind::UnknownKind {
                continue;
            }
            report.add_finding(finding);
        }
        for one in mended {
            one.mended.iter().for_each(|finding| report.add_mended(finding));
            one.left.iter().for_each(|(finding, why)| report.add_left(finding, why));
        }
    }

    async fn mend_page(&self, looked: &PageAudit) -> Result<Vec<Mended>, AuditError> {
        let mut all = Vec::new();
        if self.options.repair == RepairMode::Nothing {
            return Ok(all);
        }
        for judged in looked.judged.iter().filter(|judged| is_mendable(judged)) {
            // What it follows from is read with it.
            let again = self.auditor.look_again(&judged.item, (self.clock)()).await?;
            if let Some(again) = again {
                all.push(self.mend_item(again).await?);
            }
        }
        let others = looked.judged.iter().filter(|judged| !is_mendable(judged));
        all.extend(others.map(|judged| Mended {
            mended: Vec::new(),
            left: left_of(judged),
        }));
        Ok(all)
    }

    async fn mend_item(&self, mut judged: JudgedItem) -> Result<Mended, AuditError> {
        for _ in 0..MEND_TRIES_MAX {
            let now = (self.clock)();
            let plan = self.auditor.mend_plan(&judged, now);
            let ended = Mended {
                mended: plan.mended.clone(),
                left: plan.left.clone(),
            };
            if self.options.repair == RepairMode::Show || !plan.changes_something() {
                return Ok(ended);
            }
            // Before anything is changed: what cannot be kept is not changed.
            self.keeper.keep_images(&plan.changes).map_err(AuditError::Keep)?;
            if self.auditor.mend_findings(&plan).await? {
                return Ok(ended);
            }
            // Somebody wrote: what is wrong now is another matter.
            match self.auditor.look_again(&judged.item, now).await? {
                Some(again) => judged = again,
                None => return Ok(Mended::default()),
            }
        }
        let left = judged.findings.into_iter();
        Ok(Mended {
            mended: Vec::new(),
            left: left.map(|finding| (finding, "it was changed each time")).collect(),
        })
    }
}

fn is_mendable(judged: &JudgedItem) -> bool {
    judged
        .findings
        .iter()
        .any(|finding| finding.kind.not_mended().is_none())
}

fn left_of(judged: &JudgedItem) -> Vec<(Finding, &'static str)> {
    let left = judged.findings.iter().filter_map(|finding| {
        let why = finding.kind.not_mended()?;
        Some((finding.clone(), why))
    });
    left.collect()
}

/// What became of one item.
#[derive(Default)]
struct Mended {
    mended: Vec<Finding>,
    left: Vec<(Finding, &'static str)>,
}

fn read_units(units: singlet_store::Units) -> f64 {
    units.read.half_count() as f64 / 2.0
}
