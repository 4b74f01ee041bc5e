//! What a model leaves open: in which order rows come that are equal in it, and which number is drawn. An oracle takes one choice; where
//! what came is another, it is asked again with the next, until one explains what came.

use std::cell::{Cell, RefCell};

/// The most ways in which one operation is looked at.
pub(crate) const CHOICES_TRIED_MAX: usize = 256;

/// One way through what is left open.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    /// What is chosen at each place; the first at places beyond.
    script: Vec<usize>,
    /// The numbers that a draw may have given, where they are known.
    numbers: Option<Vec<u64>>,
    /// How many there were to choose from at each place that was come to.
    options: RefCell<Vec<usize>>,
    draws: Cell<bool>,
}

impl Choices {
    /// This way through the choices again, from its beginning.
    pub(crate) fn at_beginning(&self) -> Self {
        Choices {
            script: self.script.clone(),
            numbers: self.numbers.clone(),
            ..Choices::default()
        }
    }

    /// One of so many. Where there is one only, nothing is left open.
    pub(crate) fn choose_one(&self, count: usize) -> usize {
        if count <= 1 {
            return 0;
        }
        let mut options = self.options.borrow_mut();
        let chosen = self.script.get(options.len()).copied().unwrap_or_default();
        options.push(count);
        chosen.min(count - 1)
    }

    /// A number below a bound: one of those that are known, or the usual one.
    pub(crate) fn draw(&self, below: u64, usual: u64) -> u64 {
        self.draws.set(true);
        let known = self.numbers.iter().flatten().copied();
        let known: Vec<u64> = known.filter(|number| *number < below).collect();
        let chosen = self.choose_one(known.len());
        known.get(chosen).copied().unwrap_or(usual % below.max(1))
    }

    /// Whether numbers were drawn, and there are more ways to have drawn them.
    pub(crate) fn draws_otherwise(&self) -> bool {
        self.draws.get() && self.next_way().is_some()
    }

    /// Whether a number was drawn of which it is not known which it may have been.
    pub(crate) fn lacks_numbers(&self) -> bool {
        self.draws.get() && self.numbers.is_none()
    }

    /// This way through the choices again, from its beginning, with the numbers that draws may have given.
    pub(crate) fn with_numbers(&self, numbers: Vec<u64>) -> Self {
        Choices {
            numbers: Some(numbers),
            ..self.at_beginning()
        }
    }

    /// The next way. The first choices are varied first: which row comes first is seen in answers, which comes last is not.
    pub(crate) fn next_way(&self) -> Option<Self> {
        let options = self.options.borrow();
        let mut script = self.script.clone();
        script.resize(options.len(), 0);
        for (chosen, count) in script.iter_mut().zip(options.iter()) {
            if *chosen + 1 < *count {
                *chosen += 1;
                return Some(Choices {
                    script,
                    numbers: self.numbers.clone(),
                    ..Choices::default()
                });
            }
            *chosen = 0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_gone_once() {
        let mut ways = Vec::new();
        let mut choices = Choices::default();
        loop {
            ways.push([choices.choose_one(3), choices.choose_one(1), choices.choose_one(2)]);
            match choices.next_way() {
                Some(next) => choices = next,
                None => break,
            }
        }
        assert_eq!(ways, [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 0, 1], [1, 0, 1], [2, 0, 1]]);
    }

    #[test]
    fn a_draw_is_one_of_the_numbers_that_are_known_and_below_its_bound() {
        let unknown = Choices::default();
        assert_eq!(unknown.draw(10, 1_007), 7);
        assert!(unknown.lacks_numbers());
        let known = unknown.with_numbers(vec![30, 4, 9]);
        assert_eq!(known.draw(10, 1_007), 4);
        assert_eq!(known.next_way().map(|next| next.draw(10, 1_007)), Some(9));
    }
}
