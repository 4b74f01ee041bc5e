//! How much work deciding may take.

use std::cell::Cell;

/// Work that is left, in steps that each take about as long: a pair of moves tried, a state made, a character written.
///
/// Deciding is exact, and what is exact may take more than there is: texts of 2,500 words side by side, say. So whoever
/// decides takes the steps from here, gives up when there are none, and the answer is that it was not decided. Counting
/// steps rather than time makes that the same on every machine.
#[derive(Debug)]
pub struct Effort {
    left: Cell<u64>,
    given_up: Cell<bool>,
}

impl Effort {
    /// What one decision takes at most.
    pub const DECISION_STEPS_MAX: u64 = 1_000_000;

    /// So many steps.
    pub fn new(steps: u64) -> Self {
        Self {
            left: Cell::new(steps),
            given_up: Cell::new(false),
        }
    }

    /// The steps of one decision.
    pub(crate) fn of_one_decision() -> Self {
        Self::new(Self::DECISION_STEPS_MAX)
    }

    /// Takes steps; false where there are not so many, and then none is left.
    pub fn take_steps(&self, steps: usize) -> bool {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => {
                self.left.set(0);
                // It stays so: whoever asks later must know that something was left out.
                self.given_up.set(true);
                false
            }
        }
    }

    /// Whether steps were asked for that were not there: what was found without them is not all there is.
    pub fn has_given_up(&self) -> bool {
        self.given_up.get()
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Runs a decision with at most the steps of one, which are taken from here.
    pub(crate) fn decide_within<T>(&self, decision: impl FnOnce(&Effort) -> T) -> T {
        self.share_steps(Self::DECISION_STEPS_MAX, decision)
    }

    /// Runs something with at most so many steps, which are taken from here.
    pub(crate) fn share_steps<T>(&self, steps_max: u64, work: impl FnOnce(&Effort) -> T) -> T {
        let given = self.left.get().min(steps_max);
        // A share of its own, so that one hard decision does not take the steps of all others.
        let own = Self::new(given);
        let done = work(&own);
        let taken = given.saturating_sub(own.left.get());
        self.left.set(self.left.get().saturating_sub(taken));
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_taken() {
        let effort = Effort::new(3);
        assert!(effort.take_steps(1) && effort.take_steps(2) && effort.is_spent() && !effort.has_given_up());
        assert!(!effort.take_steps(1) && effort.has_given_up());
        let effort = Effort::new(2);
        assert!(!effort.take_steps(3) && effort.is_spent() && effort.has_given_up());
    }

    #[test]
    fn a_decision_takes_its_share_and_no_more() {
        let effort = Effort::new(Effort::DECISION_STEPS_MAX + 5);
        assert!(!effort.decide_within(|own| own.take_steps(usize::MAX)));
        assert!(!effort.has_given_up() && !effort.is_spent());
        assert!(effort.decide_within(|own| own.take_steps(5)) && effort.is_spent());
    }
}
