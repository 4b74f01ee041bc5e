//! `singlet changes MODEL repair`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use singlet_changes::{FollowError, Repaired, ask_for_repair, entities_with_kept_copies, repair_answer, repair_copies};
use singlet_model::model::Entity;

use super::parked::LOOK_PAUSE;
use super::{Opened, failed};
use crate::commands::print_text;
use crate::store::now_millis;
use crate::table::counted_thing;
use crate::{exit, model};

/// How long a service may take to compare all rows.
const SERVICE_TIME_MAX: Duration = Duration::from_secs(600);

/// Compare copies that follow through the stream with their sources, and have those follow that did not.
///
/// Nothing runs after what this changes. While a service has the folder open and follows, the service does it. The exit code is 1 where copies cannot
/// be made to follow.
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
            return Err(model::fail_command(&format!(
                "no row of `{which}` holds a copy with `kept: stream`"
            )));
        }
        let repaired = match &opened.engine {
            Some(engine) => repair_copies(engine, &entities, &now_millis).await.map(Some),
            None => asked_of_service(opened, self.entity.as_deref()).await,
        };
        let Some(repaired) = repaired.map_err(|error| failed(&opened.model, &error))? else {
            print_text("asked for: whoever follows does it\n");
            return Ok(ExitCode::from(exit::FINDINGS));
        };
        print_text(&format!(
            "{} compared, stale copies: {}; those of {} mended\n",
            counted_thing(repaired.rows, "row"),
            repaired.stale,
            counted_thing(repaired.sources, "source"),
        ));
        match repaired.left {
            0 => Ok(ExitCode::from(exit::CLEAN)),
            left => {
                print_text(&format!("{} could not\n", counted_thing(left, "source")));
                Ok(ExitCode::from(exit::FINDINGS))
            }
        }
    }
}

/// Has the process do it that has the folder open; nothing, where it is not done in time.
async fn asked_of_service(opened: &Opened, entity: Option<&str>) -> Result<Option<Repaired>, FollowError> {
    let followers = opened.followers();
    let id = ask_for_repair(&followers, entity).await?;
    let begun = Instant::now();
    while begun.elapsed() < SERVICE_TIME_MAX {
        let answer = repair_answer(&followers, &id).await?;
        if answer.is_some() {
            return Ok(answer);
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    Ok(None)
}
