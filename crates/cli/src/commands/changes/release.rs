//! `singlet changes MODEL release`.

use std::process::ExitCode;

use clap::Args;
use singlet_model::Model;

use crate::commands::print_text;
use crate::place::Place;
use crate::store::StoreArgs;
use crate::{exit, model};

/// Let a restored table run: from now on writes run after changes and by the clock, timers fire, and webhooks are sent.
///
/// `singlet restore` makes a table on which nothing runs by itself, since it may be a rehearsal beside the real one. Look first at what would
/// run at once: `deliveries`, `parked` and `schedule`. A service that is running begins within seconds.
#[derive(Args)]
pub(super) struct Release {}

impl Release {
    pub(super) async fn run(self, store: &StoreArgs, loaded: Model) -> Result<ExitCode, ExitCode> {
        let said = |reason: String| model::fail_command(&reason);
        if store.store_place().map_err(said)? == Place::Memory {
            return Err(model::fail_command(
                "a store in memory is gone with its process: say `--store embedded:DIR` or `dynamodb`",
            ));
        }
        let (engine, _) = store.open_in_company(loaded).await.map_err(said)?;
        let table = &engine.model().table.name;
        let released = engine.release_table().await;
        let released = released.map_err(|error| model::fail_command(&format!("table `{table}`: {error}")))?;
        Ok(match released {
            true => print_text(&format!("table `{table}` is released\n")),
            false => {
                print_text(&format!("table `{table}` was not held\n"));
                ExitCode::from(exit::CLEAN)
            }
        })
    }
}
