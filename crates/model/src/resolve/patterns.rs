//! The patterns of a model, each read once.

use std::collections::HashMap;

use singlet_item::key::{Effort, Pattern, PatternError};

/// How many steps reading all patterns of a model takes at most. What is read is kept, in some 50 bytes a step.
const PATTERNS_STEPS_MAX: u64 = 2_000_000;

/// The patterns that were read so far, and how much may still be.
pub(crate) struct PatternBook {
    known: HashMap<String, Result<Pattern, PatternError>>,
    effort: Effort,
}

impl Default for PatternBook {
    fn default() -> Self {
        PatternBook {
            known: HashMap::new(),
            effort: Effort::new(PATTERNS_STEPS_MAX),
        }
    }
}

impl PatternBook {
    /// The pattern of a text, or why it is none.
    pub fn read(&mut self, text: &str) -> Result<Pattern, PatternError> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let read = Pattern::new_within(text, &self.effort);
        self.known.insert(text.to_owned(), read.clone());
        read
    }
}
