//! Whether the items of a table are those that a model would have written: values, keys, mirrors, guards, copies, versions.
//!
//! One mechanism for all who ask: `--adopt` before a model takes a table over, `doctor` on a folder, `audit` on any table.
//!
//! - [`own`]: what an item shows by itself.
//! - [`beside`]: which items concern it, asked for by their keys and never remembered, and what is wrong between them;
//!   [`owner`] reads whose guard an item is, [`versions`] looks at the versions of a row.
//! - [`auditor`]: reads what seems wrong again in one transaction before it says so.
//! - [`mend`]: what of it can be put right for certain.

mod auditor;
mod beside;
mod finding;
mod mend;
mod own;
mod owner;
mod versions;

use std::collections::BTreeMap;

use singlet_store::ScanRequest;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;

pub use auditor::{Auditor, JudgedItem, PageAudit};
pub use finding::{Finding, FindingGroup, FindingKind};
pub use mend::{ItemChange, MendPlan};

/// How many findings of a group are shown; all are counted.
const FINDINGS_SHOWN_MAX: u64 = 5;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditDepth {
    /// What keeps a model from taking the table over: every row, with its keys and what must be beside it.
    Rows,
    /// Everything that is damage.
    Whole,
}

/// What was found in a table.
#[derive(Clone, Debug, Default)]
pub struct RowAudit {
    /// Rows that were looked at.
    pub rows: u64,
    /// How many findings of each group there are.
    pub counts: BTreeMap<FindingGroup, u64>,
    /// The first of each group.
    pub first: Vec<Finding>,
}

impl RowAudit {
    /// How many findings there are.
    pub fn misfit_count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Looks at every row of a model's table, one page after another. Expired ones are absent.
///
/// # Errors
///
/// Where the store fails.
pub async fn audit_rows(engine: &Engine, now: i64, depth: AuditDepth) -> Result<RowAudit, RuntimeError> {
    let auditor = Auditor::new(engine).await?.without_followers();
    let mut audit = RowAudit::default();
    let mut request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    loop {
        let page = retry::with_retries(engine.bounds(), || engine.store().scan(&request)).await?;
        let looked = auditor.look_at(page.items, now).await?;
        audit.rows += looked.rows;
        for finding in looked.judged.into_iter().flat_map(|judged| judged.findings) {
            let is_meant = match depth {
                AuditDepth::Rows => finding.kind.hinders_adoption(),
                AuditDepth::Whole => finding.kind.is_damage(),
            };
            if !is_meant {
                continue;
            }
            let count = audit.counts.entry(finding.kind.finding_group()).or_default();
            *count += 1;
            if *count <= FINDINGS_SHOWN_MAX {
                audit.first.push(finding);
            }
        }
        // Only a page without a last key is the end of the table.
        request.start = page.last_key;
        if request.start.is_none() {
            return Ok(audit);
        }
    }
}
