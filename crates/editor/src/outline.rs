//! A model file read line by line, as far as it goes.
//!
//! YAML that is being typed is no YAML most of the time: a quote is open, a brace is, a key has no colon yet. Lines and their indentation
//! still say where one is. Nothing is refused here, and nothing is decoded.

use singlet_model::Span;

/// How many entries of a file are looked at.
const ENTRIES_MAX: usize = 200_000;

/// How deep braces and brackets are followed.
const FLOW_DEPTH_MAX: usize = 64;

/// A key with its value, or an element of a list.
#[derive(Clone, Debug)]
pub(crate) struct OutlineEntry {
    /// The key; empty for an element of a list.
    pub(crate) key: String,
    pub(crate) key_span: Span,
    /// What stands behind it, to the end of its line or of its braces.
    pub(crate) value: Span,
    pub(crate) parent: Option<usize>,
    /// In which column it begins.
    pub(crate) column: usize,
    pub(crate) is_element: bool,
    /// Whether it stands within braces or brackets.
    pub(crate) is_flow: bool,
}

/// The entries of a file, in the order in which they stand.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) entries: Vec<OutlineEntry>,
}

/// Where one is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutlinePlace {
    /// The entry that holds the place; none at the top.
    pub(crate) within: Option<usize>,
    /// Whether a key is typed there, or what stands behind one.
    pub(crate) is_key: bool,
    /// What was typed of it before the place.
    pub(crate) typed: Span,
}

impl Outline {
    /// Reads a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut reader = OutlineReader {
            text,
            entries: Vec::new(),
            open: Vec::new(),
            flow: Vec::new(),
            flow_column: 0,
            block: None,
        };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if reader.entries.len() >= ENTRIES_MAX {
                break;
            }
            reader.take_line(start, line.trim_end_matches(['\n', '\r']));
            start += line.len();
        }
        Outline {
            entries: reader.entries,
        }
    }

    pub(crate) fn entry(&self, at: usize) -> Option<&OutlineEntry> {
        self.entries.get(at)
    }

    /// The keys from the top down to an entry; an element of a list has none.
    pub(crate) fn path(&self, at: Option<usize>) -> Vec<&str> {
        let mut path: Vec<&str> = self.ancestors(at).map(|(_, entry)| entry.key.as_str()).collect();
        path.reverse();
        path
    }

    /// An entry and those that hold it, the innermost first.
    pub(crate) fn ancestors(&self, at: Option<usize>) -> impl Iterator<Item = (usize, &OutlineEntry)> {
        let first = at.and_then(|at| Some((at, self.entry(at)?)));
        std::iter::successors(first, |(_, entry)| {
            let parent = entry.parent?;
            Some((parent, self.entry(parent)?))
        })
    }

    /// The entries directly within one, or at the top.
    pub(crate) fn children(&self, parent: Option<usize>) -> impl Iterator<Item = &OutlineEntry> {
        self.entries.iter().filter(move |entry| entry.parent == parent)
    }

    /// Where a place is.
    pub(crate) fn place_at(&self, text: &str, offset: usize) -> OutlinePlace {
        let before = text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let on_line = |span: Span| span.start as usize >= line_start || span.end as usize >= line_start;
        let holds = |span: Span| span.start as usize <= offset && offset <= span.end as usize;
        // The last one that holds the place is the innermost.
        let mut found: Option<OutlinePlace> = None;
        for (at, entry) in self.entries.iter().enumerate() {
            if entry.key_span.start as usize > offset {
                break;
            }
            if !entry.key.is_empty() && holds(entry.key_span) && on_line(entry.key_span) {
                let typed = Span::new(entry.key_span.start as usize, offset);
                found = Some(OutlinePlace {
                    within: entry.parent,
                    is_key: true,
                    typed,
                });
            } else if holds(entry.value) && on_line(entry.value) && entry.value.start as usize > 0 {
                found = Some(self.place_in_value(text, at, entry, offset));
            }
        }
        found.unwrap_or_else(|| self.place_by_column(text, line_start, offset))
    }

    /// Within a value: what was typed of it; in braces, a key may be typed there.
    fn place_in_value(&self, text: &str, at: usize, entry: &OutlineEntry, offset: usize) -> OutlinePlace {
        let start = entry.value.start as usize;
        let typed = text.get(start..offset).unwrap_or_default();
        if typed.trim_start().starts_with('{') && is_in_braces(typed) {
            let begin = typed.rfind(['{', ',']).map_or(0, |sign| sign + 1);
            let begin = begin
                + typed
                    .get(begin..)
                    .map_or(0, |rest| rest.len() - rest.trim_start().len());
            return OutlinePlace {
                within: Some(at),
                is_key: true,
                typed: Span::new(start + begin, offset),
            };
        }
        // A list of which an element is typed: the element holds it, not the list.
        if typed.trim_start().starts_with('[') && !entry.is_element {
            let begin = typed.rfind(['[', ',']).map_or(0, |sign| sign + 1);
            let begin = begin
                + typed
                    .get(begin..)
                    .map_or(0, |rest| rest.len() - rest.trim_start().len());
            return OutlinePlace {
                within: Some(at),
                is_key: false,
                typed: Span::new(start + begin, offset),
            };
        }
        // An element that is a word and nothing else may become a key.
        let is_word =
            entry.is_element && !entry.is_flow && typed.chars().all(|char| char.is_alphanumeric() || char == '_');
        OutlinePlace {
            within: Some(at),
            is_key: is_word && !typed.is_empty() || entry.is_element && !entry.is_flow && typed.is_empty(),
            typed: Span::new(start, offset),
        }
    }

    /// On a line of its own, the column says within what a key is typed.
    fn place_by_column(&self, text: &str, line_start: usize, offset: usize) -> OutlinePlace {
        let line = text.get(line_start..offset).unwrap_or_default();
        let word = line.trim_start_matches([' ', '-']);
        let column = line.len() - word.len();
        let before = self.entries.iter().enumerate().rev();
        let mut before = before.filter(|(_, entry)| (entry.key_span.start as usize) < line_start && !entry.is_flow);
        let within = before.find(|(_, entry)| entry.column < column).map(|(at, _)| at);
        OutlinePlace {
            within,
            is_key: true,
            typed: Span::new(offset - word.len().min(offset), offset),
        }
    }
}

/// Whether the last brace of a text is open, and a key is typed there: nothing with a colon stands behind the last comma.
fn is_in_braces(typed: &str) -> bool {
    let last = typed.rsplit(['{', ',']).next().unwrap_or_default();
    let quotes = typed.matches('"').count();
    !last.contains(':') && quotes.is_multiple_of(2) && typed.matches('{').count() > typed.matches('}').count()
}

struct OutlineReader<'t> {
    text: &'t str,
    entries: Vec<OutlineEntry>,
    /// The entries that hold the line, the innermost last.
    open: Vec<usize>,
    /// The braces and brackets that are open: whether it is a brace, and the entry that it belongs to.
    flow: Vec<(bool, usize)>,
    /// The column of the line on which the outermost of them was opened.
    flow_column: usize,
    /// The entry whose value is a block of text.
    block: Option<usize>,
}

impl OutlineReader<'_> {
    fn take_line(&mut self, start: usize, line: &str) {
        let content = line.trim_start_matches(' ');
        let column = line.len() - content.len();
        if let Some(block) = self.block {
            let is_within = self.entries.get(block).is_some_and(|entry| column > entry.column);
            if is_within || content.is_empty() {
                self.extend(block, start + line.len());
                return;
            }
            self.block = None;
        }
        if content.is_empty() || content.starts_with('#') {
            return;
        }
        if !self.flow.is_empty() {
            // A brace that nobody closed is closed where the next entry of the block around it begins.
            if column > self.flow_column || key_length(content).is_none() {
                self.take_flow(start, line);
                return;
            }
            self.flow.clear();
        }
        self.take_entry(start, line, column);
    }

    fn take_entry(&mut self, start: usize, line: &str, mut column: usize) {
        let mut rest = line.get(column..).unwrap_or_default();
        while rest == "-" || rest.starts_with("- ") {
            self.close_to(column, true);
            let width = rest.len() - rest.get(1..).unwrap_or_default().trim_start_matches(' ').len();
            let at = start + column;
            self.push(
                String::new(),
                Span::new(at, at + 1),
                Span::new(at + width, start + line.len()),
                column,
                true,
            );
            column += width;
            rest = line.get(column..).unwrap_or_default();
        }
        match key_length(rest) {
            Some(length) => {
                self.close_to(column, false);
                let at = start + column;
                let key = rest.get(..length).unwrap_or_default();
                let after = rest.get(length + 1..).unwrap_or_default();
                let spaces = after.len() - after.trim_start_matches(' ').len();
                let value = (at + length + 1 + spaces.min(1), start + line.len());
                let key = key.trim_matches(['"', '\'']).to_owned();
                self.push(
                    key,
                    Span::new(at, at + length),
                    Span::new(value.0.min(value.1), value.1),
                    column,
                    false,
                );
                self.take_value(start, line, column + length + 1 + spaces);
            }
            None => {
                // A word alone behind a key that has nothing else may become a key itself.
                let is_word = rest.chars().all(|char| char.is_alphanumeric() || char == '_');
                if let Some(at) = self.open.last().copied()
                    && self.entries.get(at).is_some_and(|entry| {
                        let is_empty = self
                            .text
                            .get(entry.value.text_range())
                            .is_none_or(|value| value.trim().is_empty());
                        column > entry.column && !(is_word && is_empty)
                    })
                {
                    self.extend(at, start + line.len());
                }
                self.take_value(start, line, column);
            }
        }
    }

    /// Looks at what stands behind a key.
    fn take_value(&mut self, start: usize, line: &str, column: usize) {
        let value = line.get(column..).unwrap_or_default();
        if value.starts_with(['|', '>']) {
            self.block = self.open.last().copied();
        } else if value.starts_with(['{', '[']) {
            self.flow_column = line.len() - line.trim_start_matches(' ').len();
            self.take_flow(start + column, value);
        }
    }

    /// Follows braces and brackets.
    fn take_flow(&mut self, start: usize, part: &str) {
        let mut quote: Option<char> = None;
        let mut begun = 0;
        let mut last = ' ';
        for (at, char) in part.char_indices() {
            match (quote, char) {
                (Some(open), _) if char == open => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if matches!(last, ' ' | '{' | '[' | ',' | ':') => quote = Some(char),
                (None, '#') if last == ' ' => break,
                (None, '{' | '[') if self.flow.len() < FLOW_DEPTH_MAX => {
                    self.open_flow(start + at, char == '{');
                    begun = at + 1;
                }
                (None, '}' | ']' | ',') => {
                    self.end_element(start, part, begun, at);
                    begun = at + 1;
                    if char != ',' {
                        self.flow.pop();
                        if self.flow.is_empty() {
                            return;
                        }
                    }
                }
                (None, ':')
                    if part
                        .get(at + 1..)
                        .is_none_or(|rest| rest.is_empty() || rest.starts_with(' ')) =>
                {
                    self.begin_flow_entry(start, part, begun, at);
                    begun = at + 1;
                }
                _ => {}
            }
            last = char;
        }
        self.end_element(start, part, begun, part.len());
    }

    fn open_flow(&mut self, at: usize, is_brace: bool) {
        // Within a bracket, a brace is an element.
        if let Some((false, owner)) = self.flow.last().copied() {
            let column = self.entries.get(owner).map_or(0, |entry| entry.column);
            self.push_under(
                Some(owner),
                String::new(),
                Span::new(at, at),
                Span::new(at, at),
                column,
                true,
            );
            self.flow.push((is_brace, self.entries.len().saturating_sub(1)));
            return;
        }
        let owner = match self.flow.last() {
            Some(_) => self.entries.len().saturating_sub(1),
            None => self.open.last().copied().unwrap_or_default(),
        };
        self.flow.push((is_brace, owner));
    }

    fn begin_flow_entry(&mut self, start: usize, part: &str, begun: usize, colon: usize) {
        let Some((true, owner)) = self.flow.last().copied() else {
            return;
        };
        let key = part.get(begun..colon).unwrap_or_default();
        let spaces = key.len() - key.trim_start().len();
        let span = Span::new(start + begun + spaces, start + begun + spaces + key.trim().len());
        let value = (start + colon + 2).min(start + part.len());
        let column = self.entries.get(owner).map_or(0, |entry| entry.column);
        let key = key.trim().trim_matches(['"', '\'']).to_owned();
        self.push_under(Some(owner), key, span, Span::new(value, value), column, false);
    }

    /// The value of the last entry within braces ends here; within brackets, an element does.
    fn end_element(&mut self, start: usize, part: &str, begun: usize, end: usize) {
        match self.flow.last().copied() {
            Some((true, owner)) => {
                let last = self.entries.len().saturating_sub(1);
                if let Some(entry) = self.entries.get_mut(last)
                    && entry.is_flow
                    && entry.parent == Some(owner)
                    && (start + begun..=start + end).contains(&(entry.value.start as usize))
                {
                    entry.value = Span::new(entry.value.start as usize, start + end);
                }
            }
            Some((false, owner)) => {
                let text = part.get(begun..end).unwrap_or_default();
                let spaces = text.len() - text.trim_start().len();
                if !text.trim().is_empty() {
                    let column = self.entries.get(owner).map_or(0, |entry| entry.column);
                    let at = start + begun + spaces;
                    self.push_under(
                        Some(owner),
                        String::new(),
                        Span::new(at, at),
                        Span::new(at, start + end),
                        column,
                        true,
                    );
                }
            }
            None => {}
        }
    }

    /// Closes what does not hold an entry at a column. Elements of a list may stand in the column of its key.
    fn close_to(&mut self, column: usize, is_element: bool) {
        while let Some(entry) = self.open.last().and_then(|at| self.entries.get(*at)) {
            let holds = entry.column < column || is_element && entry.column == column && !entry.is_element;
            if holds {
                return;
            }
            self.open.pop();
        }
    }

    fn push(&mut self, key: String, key_span: Span, value: Span, column: usize, is_element: bool) {
        let parent = self.open.last().copied();
        self.open.push(self.entries.len());
        self.entries.push(OutlineEntry {
            key,
            key_span,
            value,
            parent,
            column,
            is_element,
            is_flow: false,
        });
    }

    fn push_under(
        &mut self,
        parent: Option<usize>,
        key: String,
        key_span: Span,
        value: Span,
        column: usize,
        is_element: bool,
    ) {
        self.entries.push(OutlineEntry {
            key,
            key_span,
            value,
            parent,
            column,
            is_element,
            is_flow: true,
        });
    }

    fn extend(&mut self, at: usize, end: usize) {
        let end = end.min(self.text.len());
        if let Some(entry) = self.entries.get_mut(at) {
            entry.value = Span::new(entry.value.start as usize, end);
        }
    }
}

/// The length of a key that a text begins with: up to a colon that ends the line or has a space behind it.
fn key_length(text: &str) -> Option<usize> {
    if let Some(quote) = text.chars().next().filter(|char| matches!(char, '"' | '\'')) {
        let close = text.get(1..)?.find(quote)? + 2;
        let after = text.get(close..)?;
        return (after == ":" || after.starts_with(": ")).then_some(close);
    }
    if text.starts_with(['{', '[', '#', '|', '>', '&', '*', '!', '%', '@', '`']) {
        return None;
    }
    let mut from = 0;
    while let Some(colon) = text.get(from..)?.find(':') {
        let at = from + colon;
        let key = text.get(..at)?;
        // What has a space in it is a sentence, or an expression with `? :`.
        if key.contains(' ') {
            return None;
        }
        let after = text.get(at + 1..)?;
        if after.is_empty() || after.starts_with(' ') {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> (Vec<String>, bool, String) {
        let offset = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let outline = Outline::of(&text);
        let place = outline.place_at(&text, offset);
        let path = outline.path(place.within).into_iter().map(str::to_owned).collect();
        (path, place.is_key, text[place.typed.text_range()].to_owned())
    }

    fn is(text: &str, path: &[&str], is_key: bool, typed: &str) {
        let path: Vec<String> = path.iter().map(|&key| key.to_owned()).collect();
        assert_eq!(place(text), (path, is_key, typed.to_owned()), "{text}");
    }

    #[test]
    fn a_place_is_known_while_it_is_typed() {
        is("na|", &[], true, "na");
        is("table:\n  na|", &["table"], true, "na");
        is("table:\n  |", &["table"], true, "");
        is("table:\n  name: x\n  ke|\nentities:\n", &["table"], true, "ke");
        is("table:\n  stream: bo|", &["table", "stream"], false, "bo");
        is("table:\n  stream: |", &["table", "stream"], false, "");
        is("a:\n  b:\n    c: 1\n|", &[], true, "");
    }

    #[test]
    fn braces_and_brackets_that_are_open_are_followed() {
        is("table:\n  key: {pa|", &["table", "key"], true, "pa");
        is(
            "table:\n  key: {partition: P|",
            &["table", "key", "partition"],
            false,
            "P",
        );
        is("table:\n  key: {partition: PK, so|", &["table", "key"], true, "so");
        is("e:\n  k: {PK: \"A#{us|\n  b: 1", &["e", "k", "PK"], false, "\"A#{us");
        is("w:\n  take: [title, de|", &["w", "take", ""], false, "de");
        is("w:\n  take: [|", &["w", "take"], false, "");
        is("w:\n  take: [title, de|]\n  x: 1", &["w", "take", ""], false, "de");
        is("e:\n  k: {PK: a\nf:\n  g|", &["f"], true, "g");
    }

    #[test]
    fn elements_of_lists_hold_their_keys() {
        is("do:\n  - create: T|", &["do", "", "create"], false, "T");
        is("do:\n  - create: Task\n    se|", &["do", ""], true, "se");
        is("do:\n  - cr|", &["do", ""], true, "cr");
        is("do:\n- create: Task\n  set: {ti|", &["do", "", "set"], true, "ti");
    }
}
