//! What a page may consume, as the plan says.

use singlet_item::ReadUnits;
use singlet_model::Model;
use singlet_model::model::Read;
use singlet_plan::cost::{Sizes, Worked};
use singlet_plan::read::plan_read;
use singlet_runtime::Attributes;

/// The most read units of one page, for each combination of optional arguments; none where the plan knows no most.
#[derive(Debug, Default)]
pub(super) struct PageCapacity {
    combinations: Vec<(Vec<String>, Option<ReadUnits>)>,
}

impl PageCapacity {
    /// What the plan of a read says.
    pub fn of(model: &Model, read: &Read) -> Self {
        let sizes = Sizes::of(model);
        let plan = plan_read(model, read);
        let combinations = plan.combinations.iter().map(|known| {
            let most = Worked::sum_requests(&known.requests, &sizes).most;
            // What is read beside one another in one query may be read again where that was not enough.
            (known.sent.clone(), most.filter(|_| known.neighbours.is_none()))
        });
        PageCapacity {
            combinations: combinations.collect(),
        }
    }

    /// What is wrong with what a page consumed.
    pub fn page_excess(&self, read: &Read, args: &Attributes, consumed: ReadUnits) -> Option<String> {
        let open = read.args.iter().filter(|arg| arg.optional && arg.default.is_none());
        let sent: Vec<&String> = open
            .map(|arg| &arg.name)
            .filter(|name| args.contains_key(*name))
            .collect();
        let mut known = self.combinations.iter();
        let (_, most) =
            known.find(|(known, _)| known.len() == sent.len() && sent.iter().all(|name| known.contains(name)))?;
        let most = (*most)?;
        (consumed > most).then(|| format!("a page consumes {consumed} read units, and its plan says at most {most}"))
    }
}
