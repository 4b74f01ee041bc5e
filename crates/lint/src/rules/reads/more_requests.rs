use singlet_plan::cost::sent_in_all;
use singlet_plan::read::Combination;

use crate::context::counted_thing;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A read makes more requests than it says.
    ///
    /// `requests: 1` asserts how many requests the first page takes. One query reads one item collection of the table or of one
    /// index. Rows with other partition keys, each value of a list, each day, each cell of a circle, and each row that `let`
    /// names take a request of their own.
    ///
    /// ```yaml
    /// eventPage:
    ///   get: Event                              # EVENT#{date}
    ///   where: date == args.date && slot == args.slot
    ///   with:
    ///     booking: {get: "Booking?", where: bookingId == row.bookingId}     # BOOKING#{bookingId}
    ///   requests: 1
    /// ```
    ///
    /// `requests: ..5` is a stop, after which the cursor goes on. It is reported if even the first look at every range takes more.
    ///
    /// Way out: give the rows one partition key, by a mirror or an index that holds both; or correct the number.
    "R013" "more-requests" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let Some((bounds, span)) = &read.requests else { continue };
        let Some(most) = bounds.max else { continue };
        let plan = context.read_plan(read);
        // What has no plan at all is reported as that.
        let mut parts = plan.combinations.iter().flat_map(|combination| &combination.parts);
        if parts.any(|part| part.plan.is_unanswered()) {
            continue;
        }
        let sent = |combination: &Combination| sent_in_all(&combination.requests).0;
        let worst = plan.combinations.iter().map(sent).max().unwrap_or(0);
        if worst as f64 > most {
            let said = if bounds.min.is_none() { "stops after" } else { "says" };
            let message = format!(
                "`{}` {said} {}, and takes at least {worst}",
                read.name,
                counted_thing(most as u64, "request")
            );
            let help = "give the rows one partition key, or correct the number; `singlet plan` shows the requests";
            findings.push(findings.at(*span, &read.name, message).help(help));
        }
    }
}
