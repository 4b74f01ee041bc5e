use crate::draft::Draft;
use crate::layers::Layers;
use crate::work::{Job, Ran};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The one who runs works and shows what they changed.
#[derive(Default)]
pub(crate) struct Writer {
    layers: Layers,
}

impl Writer {
    /// Runs a group of works, shows what they changed, and answers them.
    pub(crate) fn run(&mut self, group: Vec<Job>, published: &RwLock<Arc<Layers>>) {
        let before = self.layers.number;
        let ran: Vec<Ran> = group.into_iter().map(|job| self.run_one(job)).collect();
        if self.layers.number > before {
            *published.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(self.layers.clone());
        }
        for answer in ran {
            answer(Ok(()));
        }
    }

    fn run_one(&mut self, job: Job) -> Ran {
        let mut draft = Draft::new(&self.layers);
        let (ran, keep) = job.run(&mut draft);
        if !keep {
            return ran;
        }
        match draft.into_changes() {
            Ok(changes) => {
                self.apply(changes);
                ran
            }
            Err(error) => Box::new(move |durable| ran(durable.and(Err(error)))),
        }
    }

    fn apply(&mut self, changes: BTreeMap<Arc<[u8]>, Option<Arc<[u8]>>>) {
        if changes.is_empty() {
            return;
        }
        self.layers.number += 1;
        let remember = self.layers.has_beneath();
        for (key, value) in changes {
            if value.is_some() || remember {
                self.layers.active.insert(key, value);
            } else {
                self.layers.active.remove(&*key);
            }
        }
    }
}
