//! Regular expressions that limit what a value may be.

use super::automaton::{Automaton, Builder, State};
use super::class::Class;
use super::language::{KeyLanguage, ValueLengths};
use crate::key::deciding::effort::Effort;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class as HirClass, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};
use std::fmt;
use std::sync::Arc;

/// A regular expression that a value must match *whole*, as if it began with `^` and ended with `$`. Copies share what was
/// read.
///
/// The syntax is that of Rust's `regex`. Anchors inside the expression and word boundaries are
/// refused, because they make no difference to a whole match, or one that nobody expects.
#[derive(Clone)]
pub struct Pattern {
    read: Arc<ReadPattern>,
}

struct ReadPattern {
    text: String,
    language: KeyLanguage,
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        Self::new_within(text, &Effort::new(PATTERN_STEPS_MAX))
    }

    /// Reads a pattern with the steps that are left of an effort that several patterns share.
    pub fn new_within(text: &str, effort: &Effort) -> Result<Self, PatternError> {
        effort
            .share_steps(PATTERN_STEPS_MAX, |own| Self::read(text, own))
            .map_err(|error| match error.problem {
                PatternProblem::Size if effort.is_spent() => PatternError {
                    problem: PatternProblem::Others,
                    ..error
                },
                _ => error,
            })
    }

    fn read(text: &str, effort: &Effort) -> Result<Self, PatternError> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(PatternError {
                pattern: text.chars().take(PATTERN_CHARS_SHOWN).chain(['…']).collect(),
                problem: PatternProblem::Length,
            });
        }
        let hir = ParserBuilder::new()
            .build()
            .parse(text)
            .map_err(|error| PatternError::syntax(text, error))?;
        let language = language_of(unanchored(&hir), effort).map_err(|problem| PatternError {
            pattern: text.to_owned(),
            problem,
        })?;
        let text = text.to_owned();
        Ok(Self {
            read: Arc::new(ReadPattern { text, language }),
        })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.read.text
    }

    /// Whether `text` matches whole.
    pub fn matches_whole(&self, text: &str) -> bool {
        self.read.language.contains(text)
    }

    pub(crate) fn pattern_language(&self) -> &KeyLanguage {
        &self.read.language
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.read.text == other.read.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.read.text)
    }
}

/// Why a text is not a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    pattern: String,
    problem: PatternProblem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternProblem {
    Syntax(String),
    Anchor,
    Bytes,
    Size,
    Length,
    Others,
}

impl PatternError {
    /// Why it is none, without the pattern.
    pub fn pattern_reason(&self) -> String {
        match &self.problem {
            PatternProblem::Syntax(reason) => reason.clone(),
            PatternProblem::Anchor => {
                "a pattern matches whole, so anchors and word boundaries stand only at its ends".to_owned()
            }
            PatternProblem::Bytes => "it matches bytes that are not characters".to_owned(),
            PatternProblem::Size => {
                format!("it needs more than {PATTERN_STATES_MAX} states, or too many ways between them")
            }
            PatternProblem::Length => format!("it has more than {PATTERN_BYTES_MAX} bytes"),
            PatternProblem::Others => "the patterns before it are all that can be read of one model".to_owned(),
        }
    }

    /// Whether it is a regular expression, and only too large.
    pub fn is_too_large(&self) -> bool {
        matches!(
            self.problem,
            PatternProblem::Size | PatternProblem::Length | PatternProblem::Others
        )
    }

    fn syntax(pattern: &str, error: regex_syntax::Error) -> Self {
        let reason = match error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        };
        Self {
            pattern: pattern.to_owned(),
            problem: PatternProblem::Syntax(reason),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.read.text)
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a pattern: {}", self.pattern, self.pattern_reason())
    }
}

impl std::error::Error for PatternError {}

const PATTERN_STATES_MAX: usize = 10_000;
/// How many bytes a pattern may have: two of them can stand for a class of hundreds of ranges.
pub const PATTERN_BYTES_MAX: usize = 10_000;
/// How many steps reading one pattern takes at most: states, and ranges of characters between them.
const PATTERN_STEPS_MAX: u64 = 500_000;
/// How much of a pattern that is too long a message shows.
const PATTERN_CHARS_SHOWN: usize = 40;

/// Without the anchors at its two ends, which a whole match implies.
fn unanchored(hir: &Hir) -> &[Hir] {
    let is_anchor = |hir: &Hir, look: Look| *hir.kind() == HirKind::Look(look);
    let mut sequence = match hir.kind() {
        HirKind::Concat(sequence) => sequence.as_slice(),
        _ => std::slice::from_ref(hir),
    };
    while let [first, rest @ ..] = sequence
        && is_anchor(first, Look::Start)
    {
        sequence = rest;
    }
    while let [rest @ .., last] = sequence
        && is_anchor(last, Look::End)
    {
        sequence = rest;
    }
    sequence
}

fn language_of(sequence: &[Hir], effort: &Effort) -> Result<KeyLanguage, PatternProblem> {
    if let [hir] = sequence
        && let HirKind::Repetition(repetition) = hir.kind()
        && let Some(class) = class_of(&repetition.sub)?
    {
        // A class repeated is counted, not unrolled: `[a-z]{1,1000}` has one state.
        let length = ValueLengths {
            min: repetition.min,
            max: repetition.max,
        };
        return Ok(KeyLanguage::new(Automaton::repeated_class(class), length));
    }
    let mut builder = Builder::new();
    let end = sequence
        .iter()
        .try_fold(0, |state, hir| compile(&mut builder, hir, state))?;
    if !builder.can_finish(effort) {
        return Err(PatternProblem::Size);
    }
    Ok(KeyLanguage::new(builder.finish(end), ValueLengths::ANY))
}

/// Adds what `hir` matches behind `from` and returns the state in which it has matched.
fn compile(builder: &mut Builder, hir: &Hir, from: State) -> Result<State, PatternProblem> {
    if builder.len() > PATTERN_STATES_MAX {
        return Err(PatternProblem::Size);
    }
    match hir.kind() {
        HirKind::Empty => Ok(from),
        HirKind::Literal(literal) => {
            let text = str::from_utf8(&literal.0).map_err(|_| PatternProblem::Bytes)?;
            Ok(builder.text(from, text))
        }
        HirKind::Class(_) => {
            let class = class_of(hir)?.unwrap_or_else(Class::empty);
            Ok(builder.add_step(from, class))
        }
        HirKind::Look(_) => Err(PatternProblem::Anchor),
        HirKind::Repetition(repetition) => repeat(builder, repetition, from),
        HirKind::Capture(capture) => compile(builder, &capture.sub, from),
        HirKind::Concat(sequence) => sequence
            .iter()
            .try_fold(from, |state, hir| compile(builder, hir, state)),
        HirKind::Alternation(branches) => {
            if let Some(words) = branches.iter().map(literal).collect::<Option<Vec<&str>>>() {
                return Ok(builder.add_automaton(from, &Automaton::of_words(words)));
            }
            let end = builder.add_state();
            for branch in branches {
                let last = compile(builder, branch, from)?;
                builder.add_jump(last, end);
            }
            Ok(end)
        }
    }
}

/// The text, where it is text and nothing else.
fn literal(hir: &Hir) -> Option<&str> {
    match hir.kind() {
        HirKind::Literal(literal) => str::from_utf8(&literal.0).ok(),
        HirKind::Capture(capture) => literal(&capture.sub),
        _ => None,
    }
}

fn repeat(builder: &mut Builder, repetition: &Repetition, from: State) -> Result<State, PatternProblem> {
    let mut state = from;
    for _ in 0..repetition.min {
        state = compile(builder, &repetition.sub, state)?;
    }
    let Some(max) = repetition.max else {
        // The loop has a state of its own, lest what else leaves `state` could be entered from it.
        let around = builder.add_state();
        builder.add_jump(state, around);
        let last = compile(builder, &repetition.sub, around)?;
        builder.add_jump(last, around);
        let end = builder.add_state();
        builder.add_jump(around, end);
        return Ok(end);
    };
    let end = builder.add_state();
    for _ in repetition.min..max {
        builder.add_jump(state, end);
        state = compile(builder, &repetition.sub, state)?;
    }
    builder.add_jump(state, end);
    Ok(end)
}

/// The characters of a class, or of a literal of one character.
fn class_of(hir: &Hir) -> Result<Option<Class>, PatternProblem> {
    match hir.kind() {
        HirKind::Class(HirClass::Unicode(class)) => Ok(Some(Class::from(class.clone()))),
        HirKind::Class(HirClass::Bytes(class)) if class.is_ascii() => {
            let ranges = class
                .iter()
                .map(|range| ClassUnicodeRange::new(range.start().into(), range.end().into()));
            Ok(Some(Class::from(ClassUnicode::new(ranges))))
        }
        HirKind::Class(HirClass::Bytes(_)) => Err(PatternProblem::Bytes),
        HirKind::Literal(literal) => {
            let mut characters = str::from_utf8(&literal.0).map_err(|_| PatternProblem::Bytes)?.chars();
            Ok(characters
                .next()
                .filter(|_| characters.next().is_none())
                .map(Class::single))
        }
        HirKind::Capture(capture) => class_of(&capture.sub),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole() {
        let cases = [
            ("[A-Z]{2}", "DE", true),
            ("[A-Z]{2}", "DEU", false),
            ("^[a-z]+$", "abc", true),
            ("a|bc", "bc", true),
            ("a|bc", "abc", false),
            ("(ab)*c?", "ababc", true),
            ("(?:a?b{2,3}){2}", "bbabbb", true),
            ("(?:a?b{2,3}){2}", "bb", false),
            ("(a*)*b", "aaab", true),
            ("(?i)é+", "éÉ", true),
            ("(?-u)[a-z]x", "ax", true),
            (r"[^@\s]{1,64}@[^@\s]{1,189}", "ann@example.org", true),
            (r"[^@\s]{1,64}@[^@\s]{1,189}", "ann@example@org", false),
            ("", "", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(
                Pattern::new(pattern).unwrap().matches_whole(text),
                expected,
                "/{pattern}/ {text}"
            );
        }
    }

    #[test]
    fn a_repeated_class_is_counted() {
        let pattern = Pattern::new("[a-z]{3,100000}").unwrap();
        assert!(!pattern.matches_whole("ab") && pattern.matches_whole("abc"));
        assert!(pattern.matches_whole(&"x".repeat(100_000)) && !pattern.matches_whole(&"x".repeat(100_001)));
    }

    #[test]
    fn what_is_not_supported_says_why() {
        let error = |pattern| Pattern::new(pattern).unwrap_err().to_string();
        assert_eq!(error("a("), "`a(` is not a pattern: unclosed group");
        assert!(error(r"a\bb").contains("matches whole"));
        assert!(error("a^b").contains("matches whole"));
        assert!(error("(?:[ab]c){20000}").contains("states"));
        assert!(error("(?:a?b?){3000}").contains("states"));
    }
}
