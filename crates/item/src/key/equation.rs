//! Keys that are to be equal, as equations between sequences of text and unknowns, and the steps
//! that simplify them without losing or adding a solution.

use super::character_map::{CharacterMap, Escaping};
use super::delimiter::Delimiter;
use super::domain::{Domain, TextDomain};
use super::encoding::Encoding;
use super::language::Language;
use super::source::Source;
use super::template::{Part, Template};
use std::collections::{HashMap, VecDeque};

/// A piece of a key: known text, or the text of an unknown word.
#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    Text(String),
    Unknown(Occurrence<'a>),
}

/// One occurrence of an unknown: which one, and how its word becomes text.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence<'a> {
    pub(crate) unknown: usize,
    pub(crate) encoding: Encoding,
    domain: &'a Domain,
}

/// One side of an equation.
pub(crate) type Side<'a> = VecDeque<Piece<'a>>;

/// Two sequences whose texts are to be equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Equation<'a> {
    pub(crate) left: Side<'a>,
    pub(crate) right: Side<'a>,
}

/// The equations cannot all hold.
pub(crate) struct Contradiction;

/// Equations, and what is known of the unknowns in them. Unknowns that were found equal are one: they
/// share a root and a source.
#[derive(Clone, Debug)]
pub(crate) struct System<'a> {
    roots: Vec<usize>,
    sources: Vec<Source<'a>>,
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

impl<'a> System<'a> {
    /// The system in which the keys of two entities are equal, attribute by attribute, and the
    /// unknowns of each. Unknowns of the two are distinct even if they share a name.
    pub(crate) fn new(left: &'a [Template], right: &'a [Template]) -> (Self, Unknowns<'a>, Unknowns<'a>) {
        let mut delimiters = left.iter().chain(right).map(Template::delimiter);
        let first = delimiters.next();
        let delimiter = first.filter(|first| delimiters.all(|delimiter| delimiter == *first));
        let mut system = Self {
            roots: vec![],
            sources: vec![],
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

    /// The equations that are left after [`System::simplify`].
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
    pub(crate) fn root(&self, unknown: usize) -> usize {
        let mut root = unknown;
        while let Some(next) = self.roots.get(root).filter(|next| **next != root) {
            root = *next;
        }
        root
    }

    /// What the word of an unknown may be.
    pub(crate) fn source(&self, unknown: usize) -> Source<'a> {
        self.sources
            .get(self.root(unknown))
            .cloned()
            .unwrap_or(Source::Words(Vec::new()))
    }

    /// The same knowledge with other equations and one more word known.
    pub(crate) fn assuming(&self, equations: &[Equation<'a>], unknown: usize, word: &str) -> Self {
        let mut system = self.clone();
        system.equations.clear();
        system.pending = equations.to_vec();
        system.set_source(unknown, Source::Words(vec![word.to_owned()]));
        system
    }

    /// The texts that each piece can be.
    pub(crate) fn chain(&self, side: &Side<'a>) -> Vec<Language> {
        let language = |piece: &Piece<'a>| match piece {
            Piece::Text(text) => Language::of_words([text.as_str()]),
            Piece::Unknown(occurrence) => occurrence.encoding.language(&self.source(occurrence.unknown)),
        };
        side.iter().map(language).collect()
    }

    /// Simplifies until nothing more follows without a search: cuts keys at delimiters and behind
    /// parts of fixed length, drops what is equal on both sides, and notes unknowns that are known
    /// or equal.
    pub(crate) fn simplify(&mut self) -> Result<(), Contradiction> {
        while let Some(equation) = self.pending.pop() {
            let mut equation = self.substituted(equation);
            self.strip_front(&mut equation)?;
            strip_back(&mut equation)?;
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
                    side.push_back(Piece::Text(text.clone()));
                    by_part.push(None);
                    continue;
                }
                Part::Number(number) => {
                    side.push_back(Piece::Text(number.to_string()));
                    by_part.push(None);
                    continue;
                }
                Part::Variable(variable) => (
                    Some(variable.name.as_str()),
                    &variable.domain,
                    variable.encoding(template.delimiter()),
                ),
                Part::Anything => (None, &ANYTHING, Encoding::Map(CharacterMap::IDENTITY)),
            };
            let source = Source::Domain(domain);
            let unknown = match name.and_then(|name| unknowns.variables.get(name).copied()) {
                Some(unknown) => {
                    self.set_source(unknown, self.source(unknown).meet(&source));
                    unknown
                }
                None => self.add_unknown(source.clone()),
            };
            unknowns.variables.extend(name.map(|name| (name, unknown)));
            by_part.push(Some(unknown));
            let encoding = encoding.simplified(&source);
            side.push_back(Piece::Unknown(Occurrence {
                unknown,
                encoding,
                domain,
            }));
        }
        unknowns.by_part.push(by_part);
        side
    }

    fn add_unknown(&mut self, source: Source<'a>) -> usize {
        self.roots.push(self.roots.len());
        self.sources.push(source);
        self.roots.len() - 1
    }

    fn set_source(&mut self, unknown: usize, source: Source<'a>) {
        let root = self.root(unknown);
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
                    Piece::Text(text) => push_text(&mut pieces, text),
                    Piece::Unknown(occurrence) => {
                        let unknown = self.root(occurrence.unknown);
                        let word = self.sources.get(unknown).and_then(Source::only_word);
                        match word.and_then(|word| occurrence.encoding.encode(word)) {
                            Some(text) => push_text(&mut pieces, text),
                            None => pieces.push_back(Piece::Unknown(Occurrence { unknown, ..occurrence })),
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
        strip_text(equation, End::Front)?;
        while equation.left.len() > 1 || equation.right.len() > 1 {
            let (Some(left), Some(right)) = (equation.left.front(), equation.right.front()) else {
                break;
            };
            let chars = left.fixed_chars().or_else(|| right.fixed_chars());
            let (Some(chars), false) = (chars, left.is_text() && right.is_text()) else {
                break;
            };
            let can_give = |piece: &Piece<'a>| match piece {
                Piece::Text(text) => text.chars().count() >= chars,
                Piece::Unknown(_) => piece.fixed_chars() == Some(chars),
            };
            if !can_give(left) || !can_give(right) {
                break;
            }
            let (left, right) = (
                take_front(&mut equation.left, chars),
                take_front(&mut equation.right, chars),
            );
            self.pending.push(Equation { left, right });
            strip_text(equation, End::Front)?;
        }
        Ok(())
    }

    /// Cuts both sides behind their first delimiter, if neither can have one before it. Then a side
    /// without any delimiter cannot equal one that has some.
    fn cut_segment(&self, equation: Equation<'a>) -> Result<Cut<'a>, Contradiction> {
        let Some(delimiter) = self.delimiter else {
            return Ok(Cut::Whole(equation));
        };
        let left = first_segment(&equation.left, delimiter);
        let right = first_segment(&equation.right, delimiter);
        match (left, right) {
            (Segment::Ended(left, left_rest), Segment::Ended(right, right_rest)) => {
                let segment = Equation { left, right };
                Ok(Cut::Segment(
                    segment,
                    Equation {
                        left: left_rest,
                        right: right_rest,
                    },
                ))
            }
            (Segment::Ended(..), Segment::Last) | (Segment::Last, Segment::Ended(..)) => Err(Contradiction),
            _ => Ok(Cut::Whole(equation)),
        }
    }

    /// Learns from an equation what it says of single unknowns, or keeps it.
    fn settle(&mut self, equation: Equation<'a>) -> Result<(), Contradiction> {
        let unknown = |side: &Side<'a>| match (side.front(), side.len()) {
            (Some(Piece::Unknown(occurrence)), 1) if occurrence.encoding.is_injective() => Some(occurrence.clone()),
            _ => None,
        };
        let text = |side: &Side<'a>| match (side.front(), side.len()) {
            (None, _) => Some(String::new()),
            (Some(Piece::Text(text)), 1) => Some(text.clone()),
            _ => None,
        };
        match (
            text(&equation.left),
            text(&equation.right),
            unknown(&equation.left),
            unknown(&equation.right),
        ) {
            (Some(left), Some(right), ..) => {
                if left == right {
                    Ok(())
                } else {
                    Err(Contradiction)
                }
            }
            (Some(text), _, _, Some(occurrence)) | (_, Some(text), Some(occurrence), _) => {
                self.bind(&occurrence, &text)
            }
            (_, _, Some(left), Some(right)) if left.encoding == right.encoding => {
                self.unite(left.unknown, right.unknown)
            }
            _ => {
                self.equations.push(equation);
                Ok(())
            }
        }
    }

    fn bind(&mut self, occurrence: &Occurrence<'a>, text: &str) -> Result<(), Contradiction> {
        let word = occurrence
            .encoding
            .decode(text)
            .filter(|word| self.source(occurrence.unknown).contains(word));
        let word = word.ok_or(Contradiction)?;
        self.set_source(occurrence.unknown, Source::Words(vec![word]));
        self.pending.append(&mut self.equations);
        Ok(())
    }

    /// Under one injective encoding, equal texts are equal words.
    fn unite(&mut self, left: usize, right: usize) -> Result<(), Contradiction> {
        if left == right {
            return Ok(());
        }
        let source = self.source(left).meet(&self.source(right));
        let empty = match (&source, source.number_range()) {
            (Source::Words(words), _) => words.is_empty(),
            (Source::Texts(language), _) => language.automaton.is_empty(),
            (_, range) => range.is_some_and(|range| range.is_empty()),
        };
        if empty {
            return Err(Contradiction);
        }
        let root = self.root(left);
        if let Some(slot) = self.roots.get_mut(right) {
            *slot = root;
        }
        self.set_source(root, source);
        self.pending.append(&mut self.equations);
        Ok(())
    }
}

impl<'a> Piece<'a> {
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    fn fixed_chars(&self) -> Option<usize> {
        match self {
            Self::Text(_) => None,
            Self::Unknown(occurrence) => occurrence.encoding.fixed_chars(occurrence.domain),
        }
    }
}

impl PartialEq for Piece<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Unknown(one), Self::Unknown(two)) => one.unknown == two.unknown && one.encoding == two.encoding,
            _ => false,
        }
    }
}

impl Occurrence<'_> {
    /// Whether its text never contains the delimiter.
    fn is_free_of(&self, delimiter: Delimiter) -> bool {
        let character = delimiter.character();
        match &self.encoding {
            Encoding::Map(CharacterMap {
                escaping: Escaping::Delimiter(own) | Escaping::Ordered(own),
                ..
            }) => *own == delimiter,
            Encoding::Map(_) | Encoding::Truncated { .. } => {
                !self.domain.language().automaton.alphabet().contains(character)
            }
            Encoding::Padded { fraction_digits, .. } => *fraction_digits == 0 || character != '.',
            Encoding::Plain => character != '.' && character != '-',
            Encoding::Rank { .. } => true,
        }
    }
}

enum Cut<'a> {
    /// The first segment, and the rest.
    Segment(Equation<'a>, Equation<'a>),
    Whole(Equation<'a>),
}

enum Segment<'a> {
    /// The pieces before the first delimiter, and those behind it.
    Ended(Side<'a>, Side<'a>),
    /// No piece can contain a delimiter.
    Last,
    /// A piece before any delimiter may contain one.
    Unclear,
}

fn first_segment<'a>(side: &Side<'a>, delimiter: Delimiter) -> Segment<'a> {
    let mut segment = Side::new();
    let mut pieces = side.iter().cloned();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Text(text) => match text.split_once(delimiter.character()) {
                Some((before, after)) => {
                    push_text(&mut segment, before.to_owned());
                    let mut rest = Side::new();
                    push_text(&mut rest, after.to_owned());
                    rest.extend(pieces);
                    return Segment::Ended(segment, rest);
                }
                None => push_text(&mut segment, text),
            },
            Piece::Unknown(occurrence) if occurrence.is_free_of(delimiter) => {
                segment.push_back(Piece::Unknown(occurrence));
            }
            Piece::Unknown(_) => return Segment::Unclear,
        }
    }
    Segment::Last
}

#[derive(Clone, Copy)]
enum End {
    Front,
    Back,
}

fn strip_back(equation: &mut Equation<'_>) -> Result<(), Contradiction> {
    strip_text(equation, End::Back)
}

/// Removes from one end what is literally the same on both sides: text, or the same unknown in the
/// same encoding.
fn strip_text(equation: &mut Equation<'_>, end: End) -> Result<(), Contradiction> {
    loop {
        let pair = match end {
            End::Front => (equation.left.front_mut(), equation.right.front_mut()),
            End::Back => (equation.left.back_mut(), equation.right.back_mut()),
        };
        let (Some(left), Some(right)) = pair else { return Ok(()) };
        match (left, right) {
            (Piece::Text(left), Piece::Text(right)) => {
                strip_common(left, right, end);
                if !left.is_empty() && !right.is_empty() {
                    return Err(Contradiction);
                }
            }
            (left, right) if left != right => return Ok(()),
            (left, right) => {
                *left = Piece::Text(String::new());
                *right = Piece::Text(String::new());
            }
        }
        equation.left.retain(|piece| *piece != Piece::Text(String::new()));
        equation.right.retain(|piece| *piece != Piece::Text(String::new()));
    }
}

fn strip_common(left: &mut String, right: &mut String, end: End) {
    let same = |(one, two): &(char, char)| one == two;
    match end {
        End::Front => {
            let common: usize = left
                .chars()
                .zip(right.chars())
                .take_while(same)
                .map(|(one, _)| one.len_utf8())
                .sum();
            left.drain(..common);
            right.drain(..common);
        }
        End::Back => {
            let pairs = left.chars().rev().zip(right.chars().rev());
            let common: usize = pairs.take_while(same).map(|(one, _)| one.len_utf8()).sum();
            left.truncate(left.len() - common);
            right.truncate(right.len() - common);
        }
    }
}

/// Takes a part of `chars` characters off a side: an unknown, or the beginning of a text.
fn take_front<'a>(side: &mut Side<'a>, chars: usize) -> Side<'a> {
    let mut taken = Side::new();
    match side.pop_front() {
        Some(Piece::Text(text)) => {
            let end = text.char_indices().nth(chars).map_or(text.len(), |(offset, _)| offset);
            let (before, after) = text.split_at_checked(end).unwrap_or((&text, ""));
            push_text(&mut taken, before.to_owned());
            if !after.is_empty() {
                side.push_front(Piece::Text(after.to_owned()));
            }
        }
        piece => taken.extend(piece),
    }
    taken
}

fn push_text(side: &mut Side<'_>, text: String) {
    match side.back_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.push_str(&text),
        _ => side.push_back(Piece::Text(text)),
    }
}
