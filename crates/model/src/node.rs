//! The file as a tree of nodes with places, and the YAML that is refused because it loses logic silently.

use granit_parser::{Event, Parser, ScalarStyle, ScanError};

use crate::diagnostic::{Diagnostic, Diagnostics, Fix};
use crate::entries::Entries;
use crate::rules;
use crate::source::{SOURCE_BYTES_MAX, Source, Span};
use crate::text::{Style, Text};

/// How deep lists and maps may nest.
pub const NESTING_DEPTH_MAX: usize = 64;

/// A value of the file.
#[derive(Clone, Debug)]
pub enum Node {
    /// A scalar.
    Scalar(Text),
    /// A list.
    List(Vec<Node>, Span),
    /// A map, in the order written, without duplicate keys.
    Map(Entries, Span),
}

/// A key of a map and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Text,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Where the node stands.
    pub fn span(&self) -> Span {
        match self {
            Node::Scalar(text) => text.span,
            Node::List(_, span) | Node::Map(_, span) => *span,
        }
    }

    /// The scalar, if it is one.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Node::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// What the scalar says, if it is one.
    pub fn str(&self) -> Option<&str> {
        self.text().map(|text| text.text.as_str())
    }

    /// The entries; none where the node is no map.
    pub fn entries(&self) -> &[Entry] {
        match self {
            Node::Map(entries, _) => entries,
            _ => &[],
        }
    }

    /// The elements; none where the node is no list.
    pub fn elements(&self) -> &[Node] {
        match self {
            Node::List(elements, _) => elements,
            _ => &[],
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// A key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match self {
            Node::Map(entries, _) => entries.entry_named(key),
            _ => None,
        }
    }

    /// Drops the entries of maps, at any depth, whose value is one of those.
    pub(crate) fn drop_entries(&mut self, unwanted: &impl Fn(&Node) -> bool) {
        match self {
            Node::Scalar(_) => {}
            Node::List(elements, _) => elements.iter_mut().for_each(|element| element.drop_entries(unwanted)),
            Node::Map(entries, _) => {
                entries.retain_entries(|entry| !unwanted(&entry.value));
                entries.values_mut().for_each(|value| value.drop_entries(unwanted));
            }
        }
    }

    /// Whether the node is a map.
    pub fn is_map(&self) -> bool {
        matches!(self, Node::Map(..))
    }

    /// What kind of node it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Scalar(_) => "a value",
            Node::List(..) => "a list",
            Node::Map(..) => "a map",
        }
    }
}

/// Reads a source into a tree. What YAML itself refuses ends the reading; everything else is reported and passed over.
pub fn read_tree(source: &Source, out: &mut Diagnostics) -> Option<Node> {
    if source.text().len() > SOURCE_BYTES_MAX {
        let message = format!(
            "the file has {} bytes, more than the {SOURCE_BYTES_MAX} that a model may have",
            source.text().len()
        );
        out.push(Diagnostic::new(&rules::FILE_TOO_LARGE, Span::new(0, 0), message));
        return None;
    }
    let mut reader = NodeReader {
        source,
        out,
        open: Vec::new(),
        root: None,
        documents: 0,
    };
    let mut options = granit_parser::Options::default();
    options.emit_unresolved_aliases = true;
    for next in Parser::new_from_str_with_options(source.text(), options) {
        match next {
            Ok((event, span)) => {
                if !reader.take(event, span) {
                    return None;
                }
            }
            Err(error) => {
                reader.syntax_error(&error);
                return None;
            }
        }
    }
    if reader.root.is_none() {
        let message = "the file is empty";
        reader.report(
            Diagnostic::new(&rules::YAML_SYNTAX, Span::new(0, 0), message).help("a model starts with `singlet: 1`"),
        );
    }
    reader.root
}

/// A list or map whose end has not been read yet.
enum Open {
    List(Vec<Node>, Span),
    Map {
        entries: Entries,
        key: Option<Text>,
        span: Span,
    },
}

struct NodeReader<'a> {
    source: &'a Source,
    out: &'a mut Diagnostics,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

impl NodeReader<'_> {
    /// Takes one event; false ends the reading.
    fn take(&mut self, event: Event<'_>, at: granit_parser::Span) -> bool {
        let span = convert(at);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span);
                let text = Text::new(text.into_owned(), span, convert_style(style), self.source.text());
                self.node(Node::Scalar(text));
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span);
                self.open.push(Open::List(Vec::new(), span));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span);
                self.open.push(Open::Map {
                    entries: Entries::default(),
                    key: None,
                    span,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => self.alias(span),
            Event::DocumentStart(..) => return self.document(span),
            _ => {}
        }
        self.depth_is_bounded(span)
    }

    fn depth_is_bounded(&mut self, span: Span) -> bool {
        if self.open.len() <= NESTING_DEPTH_MAX {
            return true;
        }
        let message = format!("lists and maps nest more than {NESTING_DEPTH_MAX} deep here");
        self.report(Diagnostic::new(&rules::YAML_SYNTAX, span, message));
        false
    }

    fn document(&mut self, span: Span) -> bool {
        self.documents += 1;
        if self.documents > 1 {
            let message = "a second YAML document begins here; a model is one document";
            self.report(
                Diagnostic::new(&rules::YAML_SYNTAX, span, message).help("put the second model into a file of its own"),
            );
        }
        self.documents == 1
    }

    fn close(&mut self, end: Span) {
        let whole = |start: Span| Span {
            start: start.start,
            end: end.end.max(start.end),
        };
        match self.open.pop() {
            Some(Open::List(nodes, span)) => self.node(Node::List(nodes, whole(span))),
            Some(Open::Map { entries, span, .. }) => self.node(Node::Map(entries, whole(span))),
            None => {}
        }
    }

    /// Puts a finished node where it belongs.
    fn node(&mut self, node: Node) {
        match self.open.last_mut() {
            None => {
                self.root.get_or_insert(node);
            }
            Some(Open::List(nodes, _)) => nodes.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some(key) => match entries.entry_named(&key.text) {
                    Some(first) => {
                        let duplicate = duplicate_key(&key, first.key.span);
                        self.report(duplicate);
                    }
                    None => entries.push(Entry { key, value: node }),
                },
                None => match node {
                    Node::Scalar(text) => *key = Some(text),
                    other => {
                        let stand_in = Text::new(String::new(), other.span(), Style::Plain, self.source.text());
                        *key = Some(stand_in);
                        self.complex_key(&other);
                    }
                },
            },
        }
    }

    fn complex_key(&mut self, node: &Node) {
        let message = format!("{} stands where a name belongs", node.kind());
        self.report(
            Diagnostic::new(&rules::YAML_SYNTAX, node.span(), message)
                .help("a text that begins with `{` or `[` needs quotes"),
        );
    }

    fn refuse_properties(&mut self, anchor: usize, tagged: bool, span: Span) {
        // After a tag, the `&&` of an expression reads as an anchor: one mistake.
        if anchor > 0 && !tagged {
            let span = self.with_sign(span, '&');
            self.report(
                Diagnostic::new(
                    &rules::YAML_FEATURE,
                    span,
                    "anchors (`&name`) are not part of the language",
                )
                .help("write the value out where it is used"),
            );
        }
        if tagged {
            self.report(
                Diagnostic::new(
                    &rules::YAML_FEATURE,
                    self.with_sign(span, '!'),
                    "YAML reads the word that starts with `!` before this value as a tag and drops it",
                )
                .help("put the whole expression in parentheses, such as `(!a && b)`, or in quotes"),
            );
        }
    }

    /// The value with the tag or anchor that stands before it on its line.
    fn with_sign(&self, value: Span, sign: char) -> Span {
        let before = self.source.text().get(..value.start as usize).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.get(line_start..).unwrap_or_default();
        let at = line.char_indices().find(|(at, char)| {
            *char == sign
                && line
                    .get(..*at)
                    .is_some_and(|before| before.ends_with([' ', '[', '{', ',']))
        });
        at.map_or(value, |(at, _)| Span::new(line_start + at, value.end as usize))
    }

    fn alias(&mut self, span: Span) {
        self.report(
            Diagnostic::new(
                &rules::YAML_FEATURE,
                span,
                "aliases (`*name`) are not part of the language",
            )
            .help("write the value out here; quote a text that begins with `*`"),
        );
        let stand_in = Text::new(
            self.source.slice_text(span).to_owned(),
            span,
            Style::Plain,
            self.source.text(),
        );
        self.node(Node::Scalar(stand_in));
    }

    fn syntax_error(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(0).min(self.source.text().len());
        if let Some(tab) = indenting_tab(self.source.text(), at) {
            let message = "this is not YAML: a tab indents the line";
            let help = "YAML indents with spaces, not with tabs";
            return self.report(Diagnostic::new(&rules::YAML_SYNTAX, Span::new(tab, tab + 1), message).help(help));
        }
        let message = format!("this is not YAML: {}", one_line(&error.info()));
        let help = syntax_help(self.source.text(), at);
        let mut diagnostic = Diagnostic::new(&rules::YAML_SYNTAX, Span::new(at, at), message);
        diagnostic.help = help;
        diagnostic.fix = quoted_whole(self.source.text(), at);
        self.report(diagnostic);
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.out.push(diagnostic);
    }
}

/// What the parser says, as our messages are written.
fn one_line(info: &str) -> String {
    let line = info.lines().next().unwrap_or_default().trim_end_matches('.');
    let mut chars = line.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "it cannot be read from here".to_owned(),
    }
}

/// The tab that indents the line of a place, or the line after it: where a tab is in the way, the parser stops before it.
fn indenting_tab(text: &str, at: usize) -> Option<usize> {
    let line_start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let mut start = line_start;
    for line in text.get(line_start..)?.split_inclusive('\n').take(2) {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        if line.trim_start_matches(' ').starts_with('\t') && !line.trim().is_empty() {
            return Some(start + spaces);
        }
        start += line.len();
    }
    None
}

/// The usual reasons for which a line of a model is not YAML.
fn syntax_help(text: &str, at: usize) -> Option<String> {
    let before = text.get(..at)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(line_start..)?.lines().next()?;
    let (_, value) = line.split_once(": ")?;
    let value = value.trim();
    if let Some(help) = quoted_beginning_help(value) {
        return Some(help);
    }
    let braces = value.contains('{') || value.contains('[') || value.contains('}') || value.contains(']');
    if braces && !value.starts_with(['"', '\'']) {
        return Some("quote templates, and expressions that contain `,` `[` `]` `{` `}`".to_owned());
    }
    if value.contains(": ") && !value.starts_with(['"', '\'', '{']) {
        return Some("quote a text that contains `: `, such as an expression with `? :`".to_owned());
    }
    None
}

/// A value without the comment behind it that begins with a text in quotes and goes on: for YAML it ends with the quote, and what
/// follows is too much.
fn quoted_beginning(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    let (_, rest) = value.get(1..)?.split_once(quote)?;
    let rest = rest.trim_start();
    let is_expression = !rest.is_empty() && !rest.starts_with(['#', ',', '}', ']', ':']);
    is_expression.then(|| value.split(" #").next().unwrap_or(value).trim_end())
}

/// The value that goes on behind its quote, all of it in quotes; only where it is the rest of its line.
fn quoted_whole(text: &str, at: usize) -> Option<Fix> {
    let line_start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(line_start..)?.lines().next()?;
    let (name, value) = line.split_once(": ")?;
    let whole = quoted_beginning(value.trim_start())?;
    if whole.contains('\'') || name.contains(['{', '[']) {
        return None;
    }
    let start = line_start + name.len() + ": ".len() + (value.len() - value.trim_start().len());
    Some(Fix {
        span: Span::new(start, start + whole.len()),
        replacement: format!("'{whole}'"),
    })
}

fn quoted_beginning_help(value: &str) -> Option<String> {
    let whole = quoted_beginning(value)?;
    Some(match whole.contains('\'') {
        true => {
            "put the whole expression in quotes of the other kind, or in a `>-` block: it begins with a text in quotes"
                .to_owned()
        }
        false => format!("put the whole expression in single quotes, `'{whole}'`: it begins with a text in quotes"),
    })
}

fn duplicate_key(key: &Text, first: Span) -> Diagnostic {
    let message = format!("`{}` is defined twice in this map", key.text);
    Diagnostic::new(&rules::DUPLICATE_KEY, key.span, message)
        .note(first, "first defined here")
        .help("remove one of the two, or give it another name")
}

fn convert(span: granit_parser::Span) -> Span {
    match span.byte_range() {
        Some(range) => Span::new(range.start, range.end),
        None => Span::default(),
    }
}

fn convert_style(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
        _ => Style::Plain,
    }
}
