//! `singlet changes MODEL schedule`.

use std::process::ExitCode;

use clap::Args;
use singlet_changes::{at_text, noted_schedules};

use super::{Opened, failed};
use crate::commands::print_text;
use crate::exit;
use crate::store::now_millis;

/// Say how far the writes are that run by the clock.
///
/// Each has when it runs, up to which instant its ticks are past, and the next tick.
#[derive(Args)]
pub(super) struct ShowSchedule {}

impl ShowSchedule {
    pub(super) async fn run(self, opened: &Opened) -> Result<ExitCode, ExitCode> {
        let all = noted_schedules(&opened.followers(), now_millis()).await;
        for one in all.map_err(|error| failed(&opened.model, &error))? {
            let passed = match &one.noted {
                None => "nobody has followed its clock".to_owned(),
                Some(noted) => match &noted.begun {
                    Some(begun) => format!(
                        "past {}, {} has begun",
                        instant_text(noted.passed),
                        instant_text(begun.at)
                    ),
                    None => format!("past {}", instant_text(noted.passed)),
                },
            };
            let next = one.next.map(|next| format!(", next {}", instant_text(next)));
            let next = next.unwrap_or_default();
            print_text(&format!("{} every {}: {passed}{next}\n", one.write, one.schedule));
        }
        Ok(ExitCode::from(exit::CLEAN))
    }
}

fn instant_text(millis: i64) -> String {
    at_text(millis.div_euclid(1_000))
}
