//! `singlet changes MODEL repair`.

use std::process::ExitCode;

use clap::Args;
use singlet_changes::{entities_with_kept_copies, repair_copies};
use singlet_model::model::Entity;

use super::{Opened, failed};
use crate::commands::print;
use crate::store::now;
use crate::table::counted;
use crate::{exit, model};

/// Compare copies that follow through the stream with their sources, and have those follow that did not.
///
/// What runs after changes of the rows that hold them runs after this, too. The exit code is 1 where copies cannot be made to follow.
#[derive(Args)]
pub(super) struct Repair {
    /// Only copies that rows of this entity hold; all unless said.
    entity: Option<String>,
}

impl Repair {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        let is_meant = |entity: &&Entity| self.entity.as_ref().is_none_or(|name| *name == entity.name);
        let entities: Vec<&Entity> = entities_with_kept_copies(&opened.model).filter(is_meant).collect();
        if entities.is_empty() {
            let which = self.entity.as_deref().unwrap_or("the model");
            return Err(model::fail(&format!(
                "no row of `{which}` holds a copy with `kept: stream`"
            )));
        }
        let Some(engine) = &opened.engine else {
            let code = model::fail("a service has the folder open, and copies are mended by who has it open");
            eprintln!("help: stop the service for as long as it takes");
            return Err(code);
        };
        let repaired = repair_copies(engine, &entities, &now).await;
        let repaired = repaired.map_err(|error| failed(&opened.model, &error))?;
        print(&format!(
            "{} compared, stale copies: {}; those of {} mended\n",
            counted(repaired.rows, "row"),
            repaired.stale,
            counted(repaired.sources, "source"),
        ));
        match repaired.left {
            0 => Ok(ExitCode::from(exit::CLEAN)),
            left => {
                print(&format!("{} could not\n", counted(left, "source")));
                Ok(ExitCode::from(exit::FINDINGS))
            }
        }
    }
}
