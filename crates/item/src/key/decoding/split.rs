//! Cutting a text into the links of a chain of languages.

use crate::key::languages::language::{KeyLanguage, LanguageCursor};
use std::collections::HashSet;

/// The ways to cut `text` into one piece of each language, at most `limit` of them.
pub(crate) fn split_text<'t>(chain: &[KeyLanguage], text: &'t str, limit: usize) -> Vec<Vec<&'t str>> {
    let mut cutter = Cutter {
        chain,
        text,
        limit,
        dead: HashSet::new(),
        found: Vec::new(),
    };
    cutter.cut(0, &mut Vec::new());
    cutter.found
}

struct Cutter<'c, 't> {
    chain: &'c [KeyLanguage],
    text: &'t str,
    limit: usize,
    /// Links and offsets from which the rest of the text cannot be cut.
    dead: HashSet<(usize, usize)>,
    found: Vec<Vec<&'t str>>,
}

impl<'t> Cutter<'_, 't> {
    /// Cuts the rest of the text, from byte `start` on, after the pieces so far.
    fn cut(&mut self, start: usize, pieces: &mut Vec<&'t str>) {
        let Some(language) = self.chain.get(pieces.len()) else {
            if start == self.text.len() {
                self.found.push(pieces.clone());
            }
            return;
        };
        let place = (pieces.len(), start);
        if self.dead.contains(&place) {
            return;
        }
        let found_before = self.found.len();
        for end in ends(language, self.text, start) {
            if self.found.len() >= self.limit {
                return;
            }
            pieces.push(self.text.get(start..end).unwrap_or_default());
            self.cut(end, pieces);
            pieces.pop();
        }
        if self.found.len() == found_before {
            // Only where nothing was found: a place from which the text can be cut is no dead end.
            self.dead.insert(place);
        }
    }
}

/// The offsets at which a text of `language` that begins at `start` may end.
fn ends(language: &KeyLanguage, text: &str, start: usize) -> Vec<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let mut ends = Vec::new();
    let mut cursors = vec![LanguageCursor::START];
    let mut next = Vec::new();
    for (offset, character) in rest
        .char_indices()
        .map(|(offset, character)| (offset, Some(character)))
        .chain([(rest.len(), None)])
    {
        if cursors.iter().any(|cursor| language.may_end(*cursor)) {
            ends.push(start + offset);
        }
        let Some(character) = character else { break };
        language.advance_cursors(&cursors, character, &mut next);
        std::mem::swap(&mut cursors, &mut next);
        if cursors.is_empty() {
            break;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::languages::language::ValueLengths;

    #[test]
    fn every_way_to_cut_is_found_up_to_the_limit() {
        let some = KeyLanguage::any(ValueLengths { min: 1, max: Some(2) });
        let chain = [some.clone(), KeyLanguage::of_words(["-"]), some];
        assert_eq!(split_text(&chain, "a-b", 9), [["a", "-", "b"]]);
        assert_eq!(split_text(&chain, "---é", 9), [["-", "-", "-é"], ["--", "-", "é"]]);
        assert_eq!(split_text(&chain, "---é", 1).len(), 1);
        assert!(split_text(&chain, "ab", 9).is_empty());
        assert_eq!(split_text(&[], "", 9), [Vec::<&str>::new()]);
    }
}
