//! Writes that run by the clock: when, and what they can know.

use super::Resolver;
use super::triggers::RunBy;
use crate::diagnostic::Diagnostic;
use crate::model::{Argument, INTERVAL_MINUTES_MAX, NoSchedule, Schedule};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;

const FORMS: &str = "write `15min`, `1h`, `day at 03:30` or `monday at 07:00`";

impl Resolver<'_> {
    /// Reads `every` of a write.
    pub(super) fn schedule(&mut self, node: &Node) -> Option<Schedule> {
        let entry = node.entry("every")?;
        let text = entry.value.text()?;
        if node.entry("after").is_some() {
            let message = "the write runs after a change and by the clock";
            self.bad_schedule(
                entry.key.span,
                message,
                "make two writes of it; a named step under `steps` says once what both do",
            );
            return None;
        }
        self.check_caller_fields(node, RunBy::Clock);
        match Schedule::parse(&text.text) {
            Ok(schedule) => Some(schedule),
            Err(wrong) => {
                let said = &text.text;
                let (message, help) = match wrong {
                    NoSchedule::Form => (format!("`{said}` does not say when the write runs"), FORMS.to_owned()),
                    NoSchedule::Clock => (
                        format!("`{said}` has no time of day"),
                        "write hours and minutes with two digits each: `day at 03:30`".to_owned(),
                    ),
                    NoSchedule::Interval => (
                        format!("`{said}` is no interval from a minute to a day"),
                        format!(
                            "write `1min` to `{}h`; what is rarer names its time: `day at 03:30`, `monday at 07:00`",
                            INTERVAL_MINUTES_MAX / 60
                        ),
                    ),
                };
                self.bad_schedule(text.span, &message, &help);
                None
            }
        }
    }

    /// Reports arguments that a caller would have to give.
    pub(super) fn check_schedule_args(&mut self, entry: &Entry, args: &[Argument]) {
        for arg in args.iter().filter(|arg| !arg.optional) {
            let message = format!("the clock does not say `{}`, which the write needs", arg.name);
            let help = format!("give `{}` a default under `args`, or make two writes of it", arg.name);
            self.bad_schedule(entry.key.span, &message, &help);
        }
    }

    fn bad_schedule(&mut self, span: Span, message: &str, help: &str) {
        self.out
            .push(Diagnostic::new(&rules::BAD_SCHEDULE, span, message.to_owned()).help(help.to_owned()));
    }
}
