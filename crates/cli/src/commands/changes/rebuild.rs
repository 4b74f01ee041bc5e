//! `singlet changes MODEL rebuild`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use singlet_changes::{FollowError, TallyState, ask_for_figures, tally_states};
use singlet_face::Company;
use singlet_following::tally_once;

use super::{Opened, failed};
use crate::commands::print_text;
use crate::{exit, model};

/// How long it is waited for whoever follows.
const SERVICE_TIME_MAX: Duration = Duration::from_secs(30);

/// How often it is looked whether it has done it.
const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// How often it is asked for, where others write the same row.
const ASK_TRIES_MAX: usize = 8;

/// Count the figures of tallies anew, from the rows that are there.
///
/// Whoever follows does it, while others write: the figures that count until then stay until the new ones are whole. Where a folder is not
/// open elsewhere, it is done here. The exit code is 1 where figures cannot be kept.
#[derive(Args)]
pub(super) struct Rebuild {
    /// The tally; all unless said.
    tally: Option<String>,
}

impl Rebuild {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        let all: Vec<&str> = opened.model.tallies.iter().map(|tally| tally.name.as_str()).collect();
        let asked: Vec<&str> = match &self.tally {
            Some(name) => all.iter().copied().filter(|known| known == name).collect(),
            None => all,
        };
        if asked.is_empty() {
            return Err(model::fail_command(&match &self.tally {
                Some(name) => format!("there is no tally `{name}` in `{}`", opened.model.name),
                None => format!("`{}` has no tallies", opened.model.name),
            }));
        }
        for name in &asked {
            ask(opened, name).await.map_err(|error| failed(&opened.model, &error))?;
        }
        if let Some(engine) = opened.engine.as_ref().filter(|_| opened.is_still) {
            let built = tally_once(engine, Company::Alone).await;
            built.map_err(|error| failed(&opened.model, &error))?;
        }
        let mut code = ExitCode::from(exit::CLEAN);
        for state in wait(opened, &asked).await? {
            let said = match (&state.broken, state.is_asked) {
                (Some(reason), _) => {
                    code = ExitCode::from(exit::FINDINGS);
                    format!("cannot be kept: {reason}")
                }
                (None, false) => "counted anew".to_owned(),
                (None, true) => "asked for: whoever follows counts it anew".to_owned(),
            };
            print_text(&format!("{}: {said}\n", state.name));
        }
        Ok(code)
    }
}

/// Whoever follows may write the same row now.
async fn ask(opened: &Opened, tally: &str) -> Result<(), FollowError> {
    let followers = opened.followers();
    for _ in 1..ASK_TRIES_MAX {
        match ask_for_figures(&followers, tally).await {
            Err(FollowError::Overtaken) => tokio::time::sleep(LOOK_PAUSE).await,
            asked => return asked,
        }
    }
    ask_for_figures(&followers, tally).await
}

/// The states of tallies once nothing is asked for, or after some time.
async fn wait(opened: &Opened, asked: &[&str]) -> Result<Vec<TallyState>, ExitCode> {
    let begun = Instant::now();
    loop {
        let states = tally_states(&opened.followers()).await;
        let mut states = states.map_err(|error| failed(&opened.model, &error))?;
        states.retain(|state| asked.contains(&state.name.as_str()));
        let is_done = states.iter().all(|state| !state.is_asked);
        if is_done || begun.elapsed() >= SERVICE_TIME_MAX {
            return Ok(states);
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}
