//! What the checker has to say about a model: values, collected, never printed here.

use crate::source::Span;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; the design is sound.
    Hint,
    /// The design works and will disappoint.
    Warning,
    /// The design does not do what it says.
    Error,
}

impl Severity {
    /// The word that stands in messages and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Hint => "hint",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One thing that the checker knows to look for. Codes and names are stable.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// A letter and three digits.
    pub code: &'static str,
    /// A kebab-case name that reads after "accept".
    pub name: &'static str,
    /// How much a finding weighs.
    pub severity: Severity,
    /// The page that `explain` shows, in Markdown; its first line is the summary.
    pub page: &'static str,
}

impl Rule {
    /// The first line of the page.
    pub fn page_summary(&self) -> &'static str {
        self.page.trim().lines().next().unwrap_or_default().trim()
    }
}

/// A second place that belongs to a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Where.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

/// A replacement of source text that settles the finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What to replace.
    pub span: Span,
    /// By what.
    pub replacement: String,
}

/// One finding, located.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// One line, lower case, which makes sense without the snippet.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
    /// The place.
    pub span: Span,
    /// Other places that belong to it.
    pub notes: Vec<Note>,
    /// A replacement that settles it.
    pub fix: Option<Fix>,
    /// What it is about, as `accept` names it: `Task`, `Task.GSI1`, `Task.title`, `createTask`, `table`.
    pub subject: String,
}

impl Diagnostic {
    /// A finding of `rule` at `span`.
    pub fn new(rule: &'static Rule, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            rule,
            message: message.into(),
            help: None,
            span,
            notes: Vec::new(),
            fix: None,
            subject: String::new(),
        }
    }

    /// Adds the way out.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a second place.
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        let text = text.into();
        self.notes.push(Note { span, text });
        self
    }

    /// Adds a replacement of the place itself.
    pub(crate) fn replace_with(mut self, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix {
            span: self.span,
            replacement: replacement.into(),
        });
        self
    }

    /// Says what the finding is about.
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Adds "did you mean" and its replacement where a known word is near `word`.
    pub fn did_you_mean<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest_word(word, known) {
            Some(near) => self.help(format!("did you mean `{near}`?")).replace_with(near),
            None => self,
        }
    }
}

/// How many findings of one file are kept, of each severity: a broken file repeats itself, and hints hide no error.
pub const DIAGNOSTICS_MAX: usize = 1_000;

/// The longest message and the longest help, in bytes: a mistake in a long text quotes only its ends.
pub(crate) const MESSAGE_BYTES_MAX: usize = 600;

/// How long a word may be for others to be compared with it: longer ones are not misspelt, and take long.
const NEAREST_BYTES_MAX: usize = 100;

/// How many known words are compared with one that is not known.
const NEAREST_CANDIDATES_MAX: usize = 1_000;

/// The findings of one file, in the order in which they were made.
#[derive(Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// How many there are of each severity.
    counts: [usize; 3],
}

impl Diagnostics {
    /// Adds a finding, unless the same rule already spoke of the same place.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if self.is_full_of(diagnostic.rule.severity) {
            return;
        }
        diagnostic.message = shortened(diagnostic.message);
        diagnostic.help = diagnostic.help.map(shortened);
        let same = |known: &Diagnostic| {
            known.span == diagnostic.span && known.rule == diagnostic.rule && known.message == diagnostic.message
        };
        if !self.list.iter().any(same) {
            self.count(diagnostic.rule.severity);
            self.list.push(diagnostic);
        }
    }

    /// Whether no more errors are kept.
    pub fn is_full(&self) -> bool {
        self.is_full_of(Severity::Error)
    }

    fn is_full_of(&self, severity: Severity) -> bool {
        let count = self.counts.get(severity as usize);
        count.is_some_and(|count| *count >= DIAGNOSTICS_MAX)
    }

    fn count(&mut self, severity: Severity) {
        if let Some(count) = self.counts.get_mut(severity as usize) {
            *count += 1;
        }
    }

    /// Adds a finding about a word that is not known, with the nearest that is.
    pub(crate) fn push_unknown<'a>(
        &mut self,
        diagnostic: Diagnostic,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        if !self.is_full() {
            self.push(diagnostic.did_you_mean(word, known));
        }
    }

    /// Drops findings from the one at `start` on that are not worth keeping.
    pub(crate) fn retain_from(&mut self, start: usize, keep: impl Fn(&Diagnostic) -> bool) {
        let later = self.list.split_off(start.min(self.list.len()));
        self.list.extend(later.into_iter().filter(keep));
        self.counts = [0; 3];
        let severities: Vec<Severity> = self.list.iter().map(|diagnostic| diagnostic.rule.severity).collect();
        severities.into_iter().for_each(|severity| self.count(severity));
    }

    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.rule.severity == Severity::Error)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many findings there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The findings.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// The findings by place, then by weight.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by(|a, b| {
            let weight = b.rule.severity.cmp(&a.rule.severity);
            a.span.cmp(&b.span).then(weight)
        });
        self.list
    }
}

/// A text without its middle, where it is long.
fn shortened(text: String) -> String {
    if text.len() <= MESSAGE_BYTES_MAX {
        return text;
    }
    let kept = MESSAGE_BYTES_MAX / 3;
    let head: String = text.chars().take(kept).collect();
    let tail: Vec<char> = text.chars().rev().take(kept / 2).collect();
    format!("{head} … {}", tail.into_iter().rev().collect::<String>())
}

/// The known word that `word` most likely meant: a few typing mistakes away, or the same but for case.
pub fn nearest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > NEAREST_BYTES_MAX {
        return None;
    }
    // Any two names of one letter are one mistake apart: of such a word only another case can be meant.
    let allowed = match word.chars().count() {
        0 | 1 => 0,
        count => (count / 3).clamp(1, 3),
    };
    let chars: Vec<char> = word.chars().collect();
    let folded: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let mut rows = DistanceRows::default();
    known
        .into_iter()
        .take(NEAREST_CANDIDATES_MAX)
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 3 && *candidate != word)
        .filter_map(|candidate| {
            let near = rows.distance(&folded, candidate.chars().flat_map(char::to_lowercase), allowed)?;
            let exact = rows.distance(&chars, candidate.chars(), usize::MAX)?;
            Some(((near, exact), candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The rows of a table of distances, kept from one pair of words to the next: a model may have thousands of names.
#[derive(Default)]
struct DistanceRows {
    before: Vec<usize>,
    row: Vec<usize>,
    next: Vec<usize>,
}

impl DistanceRows {
    /// Insertions, deletions, replacements and swaps of neighbours; none where there are more than `allowed`.
    fn distance(&mut self, b: &[char], a: impl Iterator<Item = char>, allowed: usize) -> Option<usize> {
        let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
        self.before.clear();
        self.row.clear();
        self.row.extend(0..=b.len());
        let mut last_a = None;
        let mut least_before = 0;
        for (i, char_a) in a.enumerate() {
            self.next.clear();
            self.next.push(i + 1);
            let mut last_b = None;
            for (j, char_b) in b.iter().enumerate() {
                let replaced = cell(&self.row, j) + usize::from(char_a != *char_b);
                let mut best = replaced.min(cell(&self.row, j + 1) + 1).min(cell(&self.next, j) + 1);
                if last_a == Some(*char_b) && last_b == Some(char_a) {
                    best = best.min(cell(&self.before, j.saturating_sub(1)) + 1);
                }
                self.next.push(best);
                last_b = Some(*char_b);
            }
            // A row never falls below the one before it, but for a swap, which looks two rows back.
            let least = self.next.iter().copied().min().unwrap_or(0);
            if least > allowed && least_before >= allowed {
                return None;
            }
            least_before = least;
            std::mem::swap(&mut self.before, &mut self.row);
            std::mem::swap(&mut self.row, &mut self.next);
            last_a = Some(char_a);
        }
        self.row.last().copied().filter(|distance| *distance <= allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_beyond_number_hide_no_error() {
        static HINT: Rule = Rule {
            code: "X001",
            name: "hint",
            severity: Severity::Hint,
            page: "",
        };
        let mut found = Diagnostics::default();
        for at in 0..2 * DIAGNOSTICS_MAX {
            found.push(Diagnostic::new(&HINT, Span::new(at, at), "a hint"));
        }
        assert_eq!(found.len(), DIAGNOSTICS_MAX);
        found.push(Diagnostic::new(&crate::rules::YAML_SYNTAX, Span::new(0, 0), "an error"));
        assert!(found.has_errors() && !found.is_full());
        found.retain_from(0, |diagnostic| diagnostic.rule.severity == Severity::Error);
        found.push(Diagnostic::new(&HINT, Span::new(0, 0), "a hint"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn the_nearest_word_is_a_few_mistakes_away() {
        let words = ["attributes", "key", "index", "states", "expires"];
        assert_eq!(nearest_word("atributes", words), Some("attributes"));
        assert_eq!(nearest_word("indxe", words), Some("index"));
        assert_eq!(nearest_word("Key", words), Some("key"));
        assert_eq!(nearest_word("reads", words), None);
    }

    #[test]
    fn swapped_neighbours_are_one_mistake() {
        assert_eq!(edit_distance("staets", "states", usize::MAX), Some(1));
        assert_eq!(edit_distance("abc", "", usize::MAX), Some(3));
    }

    #[test]
    fn a_bound_on_the_distance_changes_no_distance_within_it() {
        let words = [
            "", "a", "ab", "ba", "states", "staets", "tsates", "setats", "status", "index", "xendi",
        ];
        for a in words {
            for b in words {
                let distance = edit_distance(a, b, usize::MAX);
                for allowed in 0..4 {
                    assert_eq!(
                        edit_distance(a, b, allowed),
                        distance.filter(|known| *known <= allowed),
                        "{a} {b} {allowed}"
                    );
                }
            }
        }
    }

    fn edit_distance(a: &str, b: &str, allowed: usize) -> Option<usize> {
        let b: Vec<char> = b.chars().collect();
        DistanceRows::default().distance(&b, a.chars(), allowed)
    }
}
