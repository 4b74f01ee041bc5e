//! The equations between the keys of two entities, and the steps that simplify them without losing
//! or adding a solution.

use super::effort::Effort;
use super::equation::{Contradiction, Equation, KeyPiece, Side, SideEnd, SideHead, UnknownOccurrence, push_text};
use crate::key::encoding::character_map::CharacterMap;
use crate::key::encoding::delimiter::Delimiter;
use crate::key::encoding::resolved_form::Encoding;
use crate::key::languages::domain::{Domain, TextDomain};
use crate::key::languages::language::KeyLanguage;
use crate::key::languages::source::WordSet;
use crate::key::template::{Part, Template};
use std::collections::HashMap;

/// Equations, and what is known of the unknowns in them. Unknowns that were found equal are one: they
/// share a root and a source.
#[derive(Clone, Debug)]
pub(crate) struct EquationSystem<'a> {
    roots: Vec<usize>,
    sources: Vec<WordSet<'a>>,
    pub(crate) effort: &'a Effort,
    /// The one delimiter of all templates, if they have only one.
    delimiter: Option<Delimiter>,
    pending: Vec<Equation<'a>>,
    equations: Vec<Equation<'a>>,
}

/// The unknowns of one entity's templates: by name those of variables, and one for each open end.
#[derive(Debug, Default)]
pub(crate) struct Unknowns<'a> {
    pub(crate) variables: HashMap<&'a str, usize>,
    /// The unknown of every part, by attribute and part; literal text has none.
    pub(crate) by_part: Vec<Vec<Option<usize>>>,
}

static ANYTHING: Domain = Domain::Text(TextDomain {
    pattern: None,
    min_chars: 0,
    max_chars: None,
});

impl<'a> EquationSystem<'a> {
    /// The system in which the keys of two entities are equal, attribute by attribute, and the
    /// unknowns of each. Unknowns of the two are distinct even if they share a name.
    pub(crate) fn new(
        left: &'a [Template],
        right: &'a [Template],
        effort: &'a Effort,
    ) -> (Self, Unknowns<'a>, Unknowns<'a>) {
        let mut delimiters = left.iter().chain(right).map(Template::delimiter);
        let first = delimiters.next();
        let delimiter = first.filter(|first| delimiters.all(|delimiter| delimiter == *first));
        let mut system = Self {
            roots: vec![],
            sources: vec![],
            effort,
            delimiter,
            pending: vec![],
            equations: vec![],
        };
        let (mut left_unknowns, mut right_unknowns) = (Unknowns::default(), Unknowns::default());
        for (left, right) in left.iter().zip(right) {
            let left = system.side(left, &mut left_unknowns);
            let right = system.side(right, &mut right_unknowns);
            system.pending.push(Equation { left, right });
        }
        (system, left_unknowns, right_unknowns)
    }

    /// The equations that are left after [`EquationSystem::simplify_equations`].
    pub(crate) fn equations(&self) -> &[Equation<'a>] {
        &self.equations
    }

    pub(crate) fn unknowns(&self) -> std::ops::Range<usize> {
        0..self.roots.len()
    }

    pub(crate) fn delimiter(&self) -> Option<Delimiter> {
        self.delimiter
    }

    /// The unknown that stands for this one and all that equal it.
    pub(crate) fn root_of(&self, unknown: usize) -> usize {
        let mut root = unknown;
        while let Some(next) = self.roots.get(root).filter(|next| **next != root) {
            root = *next;
        }
        root
    }

    /// What the word of an unknown may be.
    pub(crate) fn word_source(&self, unknown: usize) -> WordSet<'a> {
        self.sources
            .get(self.root_of(unknown))
            .cloned()
            .unwrap_or(WordSet::Words(Vec::new()))
    }

    /// The same knowledge with other equations and one more word known.
    pub(crate) fn assuming_word(&self, equations: &[Equation<'a>], unknown: usize, word: &str) -> Self {
        let mut system = self.clone();
        system.equations.clear();
        system.pending = equations.to_vec();
        system.set_source(unknown, WordSet::Words(vec![word.to_owned()]));
        system
    }

    /// The texts that each piece can be.
    pub(crate) fn chain_languages(&self, side: &Side<'a>) -> Vec<KeyLanguage> {
        let language = |piece: &KeyPiece<'a>| match piece {
            KeyPiece::Text(text) => KeyLanguage::of_words([text.as_str()]),
            KeyPiece::Unknown(occurrence) => occurrence
                .encoding
                .encoded_language(&self.word_source(occurrence.unknown), self.effort),
        };
        side.iter().map(language).collect()
    }

    /// Simplifies until nothing more follows without a search: cuts keys at delimiters and behind
    /// parts of fixed length, drops what is equal on both sides, and notes unknowns that are known
    /// or equal.
    pub(crate) fn simplify_equations(&mut self) -> Result<(), Contradiction> {
        while let Some(equation) = self.pending.pop() {
            if !self.effort.take_steps(1 + equation.left.len() + equation.right.len()) {
                // The rest is left as it is: the caller sees by the effort that it was cut.
                break;
            }
            let mut equation = self.substituted(equation);
            self.strip_front(&mut equation)?;
            equation.strip_end(SideEnd::Back)?;
            match self.cut_segment(equation)? {
                Cut::Segment(segment, rest) => self.pending.extend([segment, rest]),
                Cut::Whole(equation) => self.settle(equation)?,
            }
        }
        let mut distinct: Vec<Equation<'a>> = Vec::new();
        for equation in self.equations.drain(..) {
            if !distinct.contains(&equation) {
                distinct.push(equation);
            }
        }
        self.equations = distinct;
        Ok(())
    }

    fn side(&mut self, template: &'a Template, unknowns: &mut Unknowns<'a>) -> Side<'a> {
        let mut side = Side::new();
        let mut by_part = Vec::new();
        for part in template.parts() {
            let (name, domain, encoding) = match part {
                Part::Text(text) => {
                    side.push_back(KeyPiece::Text(text.clone()));
                    by_part.push(None);
                    continue;
                }
                Part::Number(number) => {
                    side.push_back(KeyPiece::Text(number.to_string()));
                    by_part.push(None);
                    continue;
                }
                Part::Variable(variable) => (
                    Some(variable.name.as_str()),
                    &variable.domain,
                    variable.resolved_encoding(template.delimiter()),
                ),
                Part::Anything => (None, &ANYTHING, Encoding::Map(CharacterMap::IDENTITY)),
            };
            let source = WordSet::Domain(domain);
            let unknown = match name.and_then(|name| unknowns.variables.get(name).copied()) {
                Some(unknown) => {
                    self.set_source(unknown, self.word_source(unknown).meet(&source, self.effort));
                    unknown
                }
                None => self.add_unknown(source.clone()),
            };
            unknowns.variables.extend(name.map(|name| (name, unknown)));
            by_part.push(Some(unknown));
            let encoding = encoding.simplified_on(&source);
            side.push_back(KeyPiece::Unknown(UnknownOccurrence {
                unknown,
                encoding,
                domain,
            }));
        }
        unknowns.by_part.push(by_part);
        side
    }

    fn add_unknown(&mut self, source: WordSet<'a>) -> usize {
        self.roots.push(self.roots.len());
        self.sources.push(source);
        self.roots.len() - 1
    }

    fn set_source(&mut self, unknown: usize, source: WordSet<'a>) {
        let root = self.root_of(unknown);
        if let Some(slot) = self.sources.get_mut(root) {
            *slot = source;
        }
    }

    /// The equation with roots for unknowns, and text for those whose word is known.
    fn substituted(&self, equation: Equation<'a>) -> Equation<'a> {
        let substitute = |side: Side<'a>| {
            let mut pieces = Side::new();
            for piece in side {
                match piece {
                    KeyPiece::Text(text) => push_text(&mut pieces, text),
                    KeyPiece::Unknown(occurrence) => {
                        let unknown = self.root_of(occurrence.unknown);
                        let word = self.sources.get(unknown).and_then(WordSet::only_word);
                        // One word is a text, with which other equations become simpler.
                        match word.and_then(|word| occurrence.encoding.encode_word(word)) {
                            Some(text) => push_text(&mut pieces, text),
                            None => pieces.push_back(KeyPiece::Unknown(UnknownOccurrence { unknown, ..occurrence })),
                        }
                    }
                }
            }
            pieces
        };
        Equation {
            left: substitute(equation.left),
            right: substitute(equation.right),
        }
    }

    /// Removes what both sides begin with. A part of fixed length equals as many characters of the
    /// other side, so that it becomes an equation of its own.
    fn strip_front(&mut self, equation: &mut Equation<'a>) -> Result<(), Contradiction> {
        equation.strip_end(SideEnd::Front)?;
        while equation.left.len() > 1 || equation.right.len() > 1 {
            let fronts = [&equation.left, &equation.right].map(|side| side.front().and_then(KeyPiece::fixed_chars));
            let Some(chars) = fronts.into_iter().flatten().next() else {
                break;
            };
            let Some(part) = equation.take_front(chars) else { break };
            self.pending.push(part);
            equation.strip_end(SideEnd::Front)?;
        }
        Ok(())
    }

    /// Cuts both sides behind their first delimiter, if neither can have one before it. Then a side
    /// without any delimiter cannot equal one that has some.
    fn cut_segment(&self, equation: Equation<'a>) -> Result<Cut<'a>, Contradiction> {
        let Some(delimiter) = self.delimiter else {
            return Ok(Cut::Whole(equation));
        };
        let left = SideHead::first(&equation.left, delimiter);
        let right = SideHead::first(&equation.right, delimiter);
        match (left, right) {
            (SideHead::Ended(left, left_rest), SideHead::Ended(right, right_rest)) => {
                let segment = Equation { left, right };
                let (left, right) = (left_rest, right_rest);
                Ok(Cut::Segment(segment, Equation { left, right }))
            }
            // One has a delimiter where the other cannot have any.
            (SideHead::Ended(..), SideHead::Last) | (SideHead::Last, SideHead::Ended(..)) => Err(Contradiction),
            _ => Ok(Cut::Whole(equation)),
        }
    }

    /// Learns from an equation what it says of single unknowns, or keeps it.
    fn settle(&mut self, equation: Equation<'a>) -> Result<(), Contradiction> {
        let unknown = |side: &Side<'a>| match (side.front(), side.len()) {
            (Some(KeyPiece::Unknown(occurrence)), 1) if occurrence.encoding.is_injective() => Some(occurrence.clone()),
            _ => None,
        };
        let text = |side: &Side<'a>| match (side.front(), side.len()) {
            (None, _) => Some(String::new()),
            (Some(KeyPiece::Text(text)), 1) => Some(text.clone()),
            _ => None,
        };
        match (
            text(&equation.left),
            text(&equation.right),
            unknown(&equation.left),
            unknown(&equation.right),
        ) {
            (Some(left), Some(right), ..) if left == right => Ok(()),
            (Some(_), Some(_), ..) => Err(Contradiction),
            (Some(text), _, _, Some(occurrence)) | (_, Some(text), Some(occurrence), _) => {
                self.bind(&occurrence, &text)
            }
            // Equal texts are equal words only under the same encoding.
            (_, _, Some(left), Some(right)) if left.encoding == right.encoding => {
                self.unite(left.unknown, right.unknown)
            }
            _ => {
                self.equations.push(equation);
                Ok(())
            }
        }
    }

    fn bind(&mut self, occurrence: &UnknownOccurrence<'a>, text: &str) -> Result<(), Contradiction> {
        let word = occurrence
            .encoding
            .decode_word(text)
            .filter(|word| self.word_source(occurrence.unknown).contains(word));
        let word = word.ok_or(Contradiction)?;
        self.set_source(occurrence.unknown, WordSet::Words(vec![word]));
        // All anew: what is known of an unknown may settle others.
        self.pending.append(&mut self.equations);
        Ok(())
    }

    /// Under one injective encoding, equal texts are equal words.
    fn unite(&mut self, left: usize, right: usize) -> Result<(), Contradiction> {
        if left == right {
            return Ok(());
        }
        let source = self.word_source(left).meet(&self.word_source(right), self.effort);
        let empty = match (&source, source.number_range()) {
            (WordSet::Words(words), _) => words.is_empty(),
            (WordSet::Texts(language), _) => language.automaton.is_empty(),
            (_, range) => range.is_some_and(|range| range.is_empty()),
        };
        if empty {
            return Err(Contradiction);
        }
        let root = self.root_of(left);
        if let Some(slot) = self.roots.get_mut(right) {
            *slot = root;
        }
        self.set_source(root, source);
        self.pending.append(&mut self.equations);
        Ok(())
    }
}

enum Cut<'a> {
    /// The first segment, and the rest.
    Segment(Equation<'a>, Equation<'a>),
    Whole(Equation<'a>),
}
