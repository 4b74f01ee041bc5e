//! The text of one model file, and places in it.

/// The largest model file that is read, in bytes.
pub const SOURCE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A half-open range of bytes in a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The range `start..end`; an inverted range collapses to its start.
    pub fn new(start: usize, end: usize) -> Self {
        let start = clamp(start);
        Span {
            start,
            end: clamp(end).max(start),
        }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Whether `other` lies within this range.
    pub fn holds_span(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The range as indices of the text.
    pub fn text_range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Offsets beyond `u32` cannot occur: [`SOURCE_BYTES_MAX`] is checked before anything else.
fn clamp(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// A place as people count it: from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

/// A model file as read: its name for messages, its text, and where its lines begin.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl Source {
    /// Takes a file's name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| clamp(at + 1)))
            .collect();
        Source {
            name: name.into(),
            text,
            line_starts,
        }
    }

    /// The name under which the file was read.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a span, empty where the span does not lie on character boundaries.
    pub fn slice_text(&self, span: Span) -> &str {
        self.text.get(span.text_range()).unwrap_or_default()
    }

    /// The line and column of a byte.
    pub fn position_at(&self, offset: u32) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied();
        let before = self
            .text
            .get(start.unwrap_or(0) as usize..offset as usize)
            .unwrap_or_default();
        Position {
            line,
            column: before.chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let source = Source::new("m.yaml", "a: é\nb: x\r\nc");
        assert_eq!(source.position_at(0), Position { line: 1, column: 1 });
        assert_eq!(source.position_at(5), Position { line: 1, column: 5 });
        assert_eq!(source.position_at(9), Position { line: 2, column: 4 });
        assert_eq!(source.position_at(12), Position { line: 3, column: 1 });
        assert_eq!(source.position_at(900).line, 3);
    }
}
