//! Whether what came of the rows is what the new model says.

use singlet_runtime::{Auditor, Finding};

use crate::error::MigrateError;
use crate::images::OldKind;
use crate::migrator::Working;
use crate::report::MISFITS_SHOWN_MAX;
use crate::stamp::is_left_behind;

impl Working<'_> {
    /// Audits every row by the new model; whether the phase lasted.
    pub async fn verify_rows(&self) -> Result<bool, MigrateError> {
        let auditor = Auditor::new(self.models.new).await?.without_followers();
        let (mut count, mut first): (u64, Vec<Finding>) = (0, Vec::new());
        let mut start = None;
        loop {
            let page = self.page(start.take()).await?;
            if !self.is_phase_on().await? {
                return Ok(false);
            }
            let scanned = page.scanned as u64;
            // What is left of entities that are gone is no row of the new model.
            let items = page.items.into_iter().filter(|item| {
                let is_gone = match self.models.old_kind(item) {
                    OldKind::Gone(_) => true,
                    OldKind::Guard => self.is_guard_of_gone(item),
                    _ => false,
                };
                !is_gone && !is_left_behind(item)
            });
            let looked = auditor.look_at(items.collect(), (self.clock)()).await?;
            self.count(&looked.consumed);
            let findings = looked.judged.into_iter().flat_map(|judged| judged.findings);
            for finding in findings.filter(|finding| finding.kind.hinders_adoption()) {
                count += 1;
                if first.len() < MISFITS_SHOWN_MAX {
                    first.push(finding);
                }
            }
            self.tell_progress(scanned, 0);
            start = page.last_key;
            if start.is_none() {
                break;
            }
        }
        match count {
            0 => Ok(true),
            _ => Err(MigrateError::Unsound(count, first)),
        }
    }
}
