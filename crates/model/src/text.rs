//! A scalar of the file: what it says, and where each of its characters stands in the source.
//!
//! YAML folds lines, drops indentation and decodes escapes. A mistake inside an expression is reported at the character
//! that the person wrote, so a scalar whose decoded text differs from its source keeps a map between the two.

use std::sync::Arc;

use crate::source::Span;

/// A word with its article: "an int", "a string".
pub(crate) fn with_article(word: &str) -> String {
    let vowel = word.starts_with(['a', 'e', 'i', 'o']);
    format!("{} {word}", if vowel { "an" } else { "a" })
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes, on one line or several.
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// A `|` block.
    Literal,
    /// A `>` block.
    Folded,
}

/// A scalar, decoded.
#[derive(Clone, Debug)]
pub struct Text {
    /// What it says.
    pub text: String,
    /// Where it stands, quotes included.
    pub span: Span,
    /// How it is written.
    pub style: Style,
    /// Where the decoded text begins, when it stands in the source as it is.
    verbatim_start: u32,
    /// Otherwise: the source offset of every decoded byte, and of the end.
    offsets: Option<Arc<[u32]>>,
}

impl Text {
    /// Takes a decoded scalar and the whole source that it comes from.
    pub fn new(text: String, span: Span, style: Style, source: &str) -> Self {
        let written = source.get(span.text_range()).unwrap_or_default();
        let quote = usize::from(matches!(style, Style::SingleQuoted | Style::DoubleQuoted));
        let inner = written
            .get(quote..written.len().saturating_sub(quote))
            .unwrap_or_default();
        let offsets = (inner != text).then(|| align(&text, written, style, span.start));
        Text {
            text,
            span,
            style,
            verbatim_start: span.start + quote as u32,
            offsets,
        }
    }

    /// A part of another text, which keeps its place in the source.
    pub fn part_text(&self, start: usize, end: usize) -> Text {
        let text = self.text.get(start..end).unwrap_or_default().to_owned();
        let offsets = self
            .offsets
            .as_ref()
            .map(|offsets| offsets.get(start..=end).unwrap_or_default().iter().copied().collect());
        Text {
            text,
            span: self.span_of(start, end),
            style: self.style,
            verbatim_start: self.verbatim_start + start as u32,
            offsets,
        }
    }

    /// The part without white space around it.
    pub fn trimmed_text(&self) -> Text {
        let start = self.text.len() - self.text.trim_start().len();
        self.part_text(start, start + self.text.trim().len())
    }

    /// Where bytes `start..end` of the decoded text stand in the source.
    pub fn span_of(&self, start: usize, end: usize) -> Span {
        let at = |offset: usize| match &self.offsets {
            Some(offsets) => offsets.get(offset).or(offsets.last()).copied().unwrap_or(self.span.end),
            None => self.verbatim_start + offset as u32,
        };
        // The end of a range is the end of its last character: after it, indentation may have been dropped.
        let last = match &self.offsets {
            Some(_) if end > start => at(end - 1) + 1,
            _ => at(end),
        };
        Span::new(at(start) as usize, last as usize)
    }

    /// Whether the scalar is written without quotes or block marks.
    pub fn is_plain(&self) -> bool {
        self.style == Style::Plain
    }
}

/// Walks the decoded and the written text side by side. White space that YAML folded stands for one decoded character, an
/// escape for the character it makes.
fn align(text: &str, written: &str, style: Style, start: u32) -> Arc<[u32]> {
    let mut source = written.char_indices().peekable();
    skip_opening(&mut source, written, style);
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for wanted in text.chars() {
        let (at, verbatim) = next_written(&mut source, wanted, style, written.len());
        // Each byte of a character that is written as it is has its own place; an escape is one place for all of them.
        let place = |byte: usize| start + (at + if verbatim { byte } else { 0 }) as u32;
        offsets.extend((0..wanted.len_utf8()).map(place));
    }
    let end = source.peek().map_or(written.len(), |(at, _)| *at);
    offsets.push(start + end as u32);
    offsets.into()
}

type Written<'a> = std::iter::Peekable<std::str::CharIndices<'a>>;

/// Passes the quote, or the line of a block's mark.
fn skip_opening(source: &mut Written<'_>, written: &str, style: Style) {
    match style {
        Style::SingleQuoted | Style::DoubleQuoted => {
            source.next();
        }
        Style::Literal | Style::Folded if written.starts_with(['|', '>']) => {
            for (_, char) in source.by_ref() {
                if char == '\n' {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// Consumes what the source has for one decoded character, and says where it begins and whether it is the character itself.
fn next_written(source: &mut Written<'_>, wanted: char, style: Style, end: usize) -> (usize, bool) {
    let folds = wanted == ' ' || wanted == '\n';
    if !folds {
        while source.peek().is_some_and(|(_, char)| char.is_whitespace()) && !wanted.is_whitespace() {
            source.next();
        }
    }
    let Some((at, char)) = source.next() else {
        return (end, false);
    };
    match (style, char) {
        (Style::SingleQuoted, '\'') => {
            source.next_if(|(_, next)| *next == '\'');
        }
        (Style::DoubleQuoted, '\\') => skip_escape(source),
        (_, '\r' | '\n') if folds => skip_folded(source),
        _ => {}
    }
    (at, char == wanted)
}

/// Passes the rest of an escape of a double-quoted scalar.
fn skip_escape(source: &mut Written<'_>) {
    let digits = match source.next() {
        Some((_, 'x')) => 2,
        Some((_, 'u')) => 4,
        Some((_, 'U')) => 8,
        _ => 0,
    };
    for _ in 0..digits {
        source.next();
    }
}

/// Passes indentation after a line break that became one decoded character.
fn skip_folded(source: &mut Written<'_>) {
    while source.next_if(|(_, char)| matches!(char, ' ' | '\t' | '\r')).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str, decoded: &str, style: Style) -> Text {
        let span = Span::new(0, source.len());
        Text::new(decoded.to_owned(), span, style, source)
    }

    fn slice(text: &Text, source: &str, word: &str) -> String {
        let at = text.text.find(word).unwrap();
        source[text.span_of(at, at + word.len()).text_range()].to_owned()
    }

    #[test]
    fn a_plain_scalar_is_where_it_stands() {
        let source = "a == b";
        assert_eq!(slice(&text(source, source, Style::Plain), source, "b"), "b");
    }

    #[test]
    fn a_folded_block_maps_each_line() {
        let source = ">-\n    near(x)\n    && status\n";
        let folded = text(source, "near(x) && status", Style::Folded);
        assert_eq!(slice(&folded, source, "status"), "status");
        assert_eq!(slice(&folded, source, "near"), "near");
    }

    #[test]
    fn a_folded_block_keeps_characters_of_several_bytes_whole() {
        let source = ">-\n    caé\n    && € x\n";
        let folded = text(source, "caé && € x", Style::Folded);
        assert_eq!(slice(&folded, source, "é"), "é");
        assert_eq!(slice(&folded, source, "caé"), "caé");
        assert_eq!(slice(&folded, source, "€"), "€");
        assert_eq!(slice(&folded, source, "x"), "x");
    }

    #[test]
    fn escapes_and_doubled_quotes_count_once() {
        let source = r#""a\u00e9b""#;
        let decoded = text(source, "aéb", Style::DoubleQuoted);
        assert_eq!(slice(&decoded, source, "b"), "b");
        let source = "'it''s b'";
        let decoded = text(source, "it's b", Style::SingleQuoted);
        assert_eq!(slice(&decoded, source, "b"), "b");
    }
}
