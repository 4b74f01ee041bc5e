//! Lines of a file that may be larger than the memory, one at a time.

use std::io::{self, BufRead, Read};

use super::misfit::{Misfit, MisfitKind};

/// The longest line: an item holds 400 KB, and JSON may take six bytes for one.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Rows that can be read more than once.
pub trait RowSource: Send + Sync {
    /// Begins to read.
    ///
    /// # Errors
    ///
    /// Where the rows cannot be read, or are not those that were read before.
    fn open(&self) -> io::Result<Box<dyn BufRead + Send + '_>>;
}

/// Rows that are at hand as text.
pub struct TextRows<'t>(pub &'t str);

impl RowSource for TextRows<'_> {
    fn open(&self) -> io::Result<Box<dyn BufRead + Send + '_>> {
        Ok(Box::new(self.0.as_bytes()))
    }
}

/// One line that is not blank.
pub(super) struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// What it says; why not, where it is no text.
    pub text: Result<String, Misfit>,
    /// Bytes of the file up to its end.
    pub bytes: u64,
}

/// The lines of a source.
pub(super) struct Lines<'s> {
    from: Box<dyn BufRead + Send + 's>,
    number: u64,
    bytes: u64,
}

impl<'s> Lines<'s> {
    pub fn open(rows: &'s dyn RowSource) -> io::Result<Self> {
        Ok(Lines {
            from: rows.open()?,
            number: 0,
            bytes: 0,
        })
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut read = Vec::new();
            let most = LINE_BYTES_MAX as u64 + 1;
            let count = self.from.by_ref().take(most).read_until(b'\n', &mut read)?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.bytes += count as u64;
            let ends = read.last() == Some(&b'\n');
            if !ends && read.len() > LINE_BYTES_MAX {
                self.bytes += skip_line(&mut self.from)?;
                return Ok(Some(self.line(Err(too_long()))));
            }
            let start = if self.number == 1 { without_mark(&read) } else { &read };
            let text = match std::str::from_utf8(start) {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => Ok(text.trim().to_owned()),
                Err(_) => Err(Misfit::new(MisfitKind::Line, "this is not UTF-8")),
            };
            return Ok(Some(self.line(text)));
        }
    }

    fn line(&self, text: Result<String, Misfit>) -> Line {
        Line {
            number: self.number,
            text: text.map_err(|misfit| misfit.in_line(self.number)),
            bytes: self.bytes,
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

fn too_long() -> Misfit {
    let reason = format!("this line is longer than {} MiB", LINE_BYTES_MAX / 1024 / 1024);
    Misfit::new(MisfitKind::Line, reason)
}

/// What is left of a line; says how long that is.
fn skip_line(from: &mut dyn BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(buffer.len(), |end| end + 1);
        from.consume(count);
        skipped += count as u64;
        if end.is_some() {
            return Ok(skipped);
        }
    }
}

/// A file's text without the mark that some editors put before it.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<(u64, String)> {
        let lines = TextRows(text);
        let lines = Lines::open(&lines).unwrap().map(Result::unwrap);
        lines.map(|line| (line.number, line.text.unwrap_or_default())).collect()
    }

    #[test]
    fn lines_have_their_numbers_though_some_are_blank() {
        let found = numbers("\u{feff}a\n\n  \r\n b \r\nc");
        let wanted = [(1, "a"), (4, "b"), (5, "c")].map(|(number, text)| (number, text.to_owned()));
        assert_eq!(found, wanted);
        assert_eq!(numbers(""), []);
    }

    #[test]
    fn a_line_past_the_bound_is_passed_over_and_said() {
        for (length, fits) in [
            (LINE_BYTES_MAX - 1, true),
            (LINE_BYTES_MAX, true),
            (LINE_BYTES_MAX + 1, false),
        ] {
            let text = format!("{}\nnext\n", "x".repeat(length));
            let rows = TextRows(&text);
            let lines: Vec<Line> = Lines::open(&rows).unwrap().map(Result::unwrap).collect();
            assert_eq!(lines.len(), 2, "{length}");
            assert_eq!(lines[0].text.is_ok(), fits, "{length}");
            assert_eq!(lines[1].text.as_deref(), Ok("next"));
            assert_eq!(lines[1].bytes, text.len() as u64);
        }
    }
}
