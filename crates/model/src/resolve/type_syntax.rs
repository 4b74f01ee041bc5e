//! The short form of an attribute: `TYPE[?] [LIMIT] [= DEFAULT]`.

use singlet_item::Number;
use singlet_item::key::Pattern;

use super::patterns::PatternBook;
use crate::diagnostic::Diagnostic;
use crate::rules;
use crate::source::Span;
use crate::text::Text;

/// How deep `list(list(…))` may nest.
const TYPE_DEPTH_MAX: usize = 8;

/// A type as written, before its names are looked up.
#[derive(Debug)]
pub(crate) struct WrittenType {
    pub base: WrittenBase,
    pub optional: bool,
    pub limit: Option<Limit>,
    pub default: Option<Text>,
}

#[derive(Debug)]
pub(crate) enum WrittenBase {
    /// `string`, `Status`, `User.user_id`.
    Name(Text),
    /// `list(Line)`.
    Of(Text, Box<WrittenType>),
    /// `date | "AVAILABLE"`.
    OrWords(Box<WrittenBase>, Vec<String>),
}

#[derive(Debug)]
pub(crate) enum Limit {
    Range {
        min: Option<Number>,
        max: Option<Number>,
        decimals: u8,
        span: Span,
    },
    /// A pattern, unless only the default is asked for.
    Pattern(Option<Pattern>, Span),
}

impl Limit {
    pub fn span(&self) -> Span {
        match self {
            Limit::Range { span, .. } => *span,
            Limit::Pattern(_, span) => *span,
        }
    }
}

/// Reads the short form.
pub(super) fn parse_type(text: &Text, patterns: &mut PatternBook) -> Result<WrittenType, Box<Diagnostic>> {
    parse_with(text, Some(patterns))
}

/// The default of the short form, of a type that was read before.
pub(super) fn parse_default(text: &Text) -> Option<Text> {
    parse_with(text, None).ok()?.default
}

fn parse_with(text: &Text, patterns: Option<&mut PatternBook>) -> Result<WrittenType, Box<Diagnostic>> {
    let mut scan = TypeScan { text, at: 0, patterns };
    let written = scan.written(0)?;
    scan.spaces();
    match scan.rest() {
        "" => Ok(written),
        rest => {
            let message = format!("`{}` does not belong to a type", rest.trim());
            Err(Box::new(scan.error(scan.at, text.text.len(), message).help(
                "a type is `TYPE[?] [LIMIT] [= DEFAULT]`, such as `string? 1..200` or `int 0.. = 0`",
            )))
        }
    }
}

struct TypeScan<'a, 'p> {
    text: &'a Text,
    at: usize,
    patterns: Option<&'p mut PatternBook>,
}

impl<'a> TypeScan<'a, '_> {
    fn written(&mut self, depth: usize) -> Result<WrittenType, Box<Diagnostic>> {
        self.spaces();
        let base = self.base(depth)?;
        let optional = self.eat("?");
        let base = self.or_words(base)?;
        let limit = self.limit()?;
        let default = if depth == 0 { self.default()? } else { None };
        Ok(WrittenType {
            base,
            optional,
            limit,
            default,
        })
    }

    fn base(&mut self, depth: usize) -> Result<WrittenBase, Box<Diagnostic>> {
        let start = self.at;
        let name_end = self
            .rest()
            .find(|char: char| !(char.is_alphanumeric() || "_-.".contains(char)));
        // `string..5` has no space before its limit; `..` never belongs to a name.
        let end = name_end.unwrap_or(self.rest().len());
        let word = self.rest().get(..end).unwrap_or_default();
        let word = word.split("..").next().unwrap_or(word);
        if word.is_empty() {
            let message = match self.rest().chars().next() {
                Some(char) => format!("a type begins with a name, not with `{char}`"),
                None => "a type is missing here".to_owned(),
            };
            return Err(Box::new(self.error(start, start + 1, message).help("types are string int number bool bytes date time seconds millis duration month ulid ksuid uuid geo json version, list(…) set(…) map(…), names under `types`, and `Entity.attribute`")));
        }
        self.at += word.len();
        let name = self.text.part_text(start, self.at);
        if !self.eat("(") {
            return Ok(WrittenBase::Name(name));
        }
        if depth >= TYPE_DEPTH_MAX {
            let message = format!("types nest more than {TYPE_DEPTH_MAX} deep here");
            return Err(Box::new(self.error(start, self.at, message)));
        }
        let inner = self.written(depth + 1)?;
        self.spaces();
        if !self.eat(")") {
            let message = format!("`{}(` is not closed", name.text);
            return Err(Box::new(
                self.error(start, self.at.max(start + 1), message)
                    .help("add `)` after the type inside"),
            ));
        }
        Ok(WrittenBase::Of(name, Box::new(inner)))
    }

    fn or_words(&mut self, base: WrittenBase) -> Result<WrittenBase, Box<Diagnostic>> {
        let mut words = Vec::new();
        loop {
            let before = self.at;
            self.spaces();
            if !self.eat("|") {
                self.at = before;
                break;
            }
            self.spaces();
            let start = self.at;
            let closed = self.eat("\"").then(|| self.rest().find('"')).flatten();
            let Some(length) = closed else {
                let message = "after `|` stands a word in double quotes";
                return Err(Box::new(
                    self.error(start, self.text.text.len(), message)
                        .help("such as `date | \"AVAILABLE\"`"),
                ));
            };
            words.push(self.rest().get(..length).unwrap_or_default().to_owned());
            self.at += length + 1;
        }
        Ok(match words.is_empty() {
            true => base,
            false => WrittenBase::OrWords(Box::new(base), words),
        })
    }

    fn limit(&mut self) -> Result<Option<Limit>, Box<Diagnostic>> {
        let before = self.at;
        self.spaces();
        let rest = self.rest();
        if rest.starts_with('/') {
            return self.pattern().map(Some);
        }
        let first = rest.chars().next().unwrap_or(' ');
        if !(first.is_ascii_digit() || first == '.' || first == '-') {
            self.at = before;
            return Ok(None);
        }
        let start = self.at;
        let min = self.number(start)?;
        if !self.eat("..") {
            let message = format!("`{}` is not a limit", self.word_at(start));
            return Err(Box::new(
                self.error(start, start + self.word_at(start).len(), message)
                    .help("a limit is a range such as `1..200`, `..200` or `0..`, or a pattern such as `/[A-Z]{2}/`"),
            ));
        }
        let max = self.number(self.at)?;
        let span = self.text.span_of(start, self.at);
        let (min, min_decimals) = min.unzip();
        let (max, max_decimals) = max.unzip();
        if let (Some(low), Some(high)) = (min, max)
            && low > high
        {
            let message = format!("the limit `{low}..{high}` is empty");
            return Err(Box::new(
                self.error(start, self.at, message)
                    .help(format!("write `{high}..{low}`")),
            ));
        }
        let decimals = min_decimals.unwrap_or(0).max(max_decimals.unwrap_or(0));
        Ok(Some(Limit::Range {
            min,
            max,
            decimals,
            span,
        }))
    }

    /// A number up to the next `..`, with how many decimals it is written.
    fn number(&mut self, start: usize) -> Result<Option<(Number, u8)>, Box<Diagnostic>> {
        let rest = self.rest();
        let end = rest
            .find("..")
            .into_iter()
            .chain(rest.find(|char: char| !(char.is_ascii_digit() || char == '.' || char == '-')))
            .min()
            .unwrap_or(rest.len());
        let digits = rest.get(..end).unwrap_or_default();
        if digits.is_empty() {
            return Ok(None);
        }
        let Ok(number) = digits.parse::<Number>() else {
            let message = format!("`{digits}` is not a number");
            return Err(Box::new(self.error(start, self.at + end, message)));
        };
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
        self.at += end;
        Ok(Some((number, u8::try_from(decimals).unwrap_or(u8::MAX))))
    }

    fn pattern(&mut self) -> Result<Limit, Box<Diagnostic>> {
        let start = self.at;
        let rest = self.rest();
        let closing = rest.char_indices().skip(1).find(|(at, char)| {
            *char == '/'
                && rest
                    .get(at + 1..)
                    .is_none_or(|after| after.is_empty() || after.starts_with([' ', ')']))
        });
        let Some((length, _)) = closing else {
            let message = "the pattern is not closed";
            return Err(Box::new(
                self.error(start, self.text.text.len(), message).help("end it with `/`"),
            ));
        };
        let pattern = self.text.part_text(start + 1, start + length);
        self.at += length + 1;
        let read = self.patterns.as_mut().map(|patterns| patterns.read(&pattern.text));
        match read.transpose() {
            Ok(read) => Ok(Limit::Pattern(read, pattern.span)),
            Err(error) => {
                let message = format!(
                    "`/{}/` is not a pattern: {}",
                    shortened(&pattern.text),
                    error.pattern_reason()
                );
                let help = match error.is_too_large() {
                    true => {
                        "make it shorter: a list of words is an `enum`, and a length such as `1..200` takes no count"
                    }
                    false => {
                        "correct it: a pattern is a regular expression that matches the whole text; `\\` before a sign takes it as it is"
                    }
                };
                Err(Box::new(
                    Diagnostic::new(&rules::BAD_TYPE, pattern.span, message).help(help),
                ))
            }
        }
    }

    fn default(&mut self) -> Result<Option<Text>, Box<Diagnostic>> {
        self.spaces();
        let start = self.at;
        if !self.eat("=") {
            return Ok(None);
        }
        let value = self.text.part_text(self.at, self.text.text.len()).trimmed_text();
        if value.text.is_empty() || value.text.starts_with('=') {
            let message = "after `=` stands the default";
            return Err(Box::new(
                self.error(start, self.text.text.len(), message)
                    .help("such as `= \"pending\"`, `= 0` or `= now`"),
            ));
        }
        self.at = self.text.text.len();
        Ok(Some(value))
    }

    fn word_at(&self, start: usize) -> &'a str {
        let rest = self.text.text.get(start..).unwrap_or_default();
        rest.split_whitespace().next().unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.text.get(self.at..).unwrap_or_default()
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn error(&self, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        let end = end.min(self.text.text.len());
        let span = match start < end {
            true => self.text.span_of(start, end),
            false => self.text.span,
        };
        Diagnostic::new(&rules::BAD_TYPE, span, message)
    }
}

/// How much of a pattern a message shows.
const PATTERN_CHARS_SHOWN: usize = 60;

fn shortened(pattern: &str) -> String {
    match pattern.char_indices().nth(PATTERN_CHARS_SHOWN) {
        Some((end, _)) => format!("{}…", pattern.get(..end).unwrap_or_default()),
        None => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    fn text(source: &str) -> Text {
        Text::new(source.to_owned(), Span::new(0, source.len()), Style::Plain, source)
    }

    fn outline(source: &str) -> String {
        match parse_type(&text(source), &mut PatternBook::default()) {
            Ok(written) => format!(
                "{:?} optional={} limit={} default={:?}",
                base(&written.base),
                written.optional,
                written.limit.as_ref().map_or(String::new(), limit),
                written.default.map(|default| default.text)
            ),
            Err(error) => format!("error: {}", error.message),
        }
    }

    fn base(of: &WrittenBase) -> String {
        match of {
            WrittenBase::Name(name) => name.text.clone(),
            WrittenBase::Of(name, inner) => format!("{}<{}>", name.text, base(&inner.base)),
            WrittenBase::OrWords(inner, words) => format!("{}|{}", base(inner), words.join("|")),
        }
    }

    fn limit(of: &Limit) -> String {
        match of {
            Limit::Range { min, max, decimals, .. } => {
                let side = |side: &Option<Number>| side.map_or(String::new(), |number| number.to_string());
                format!("{}..{}/{decimals}", side(min), side(max))
            }
            Limit::Pattern(pattern, _) => pattern.as_ref().unwrap().as_str().to_owned(),
        }
    }

    #[test]
    fn every_short_form_of_the_language_is_read() {
        let cases = [
            (
                "string 1..200",
                r#""string" optional=false limit=1..200/0 default=None"#,
            ),
            ("date?", r#""date" optional=true limit= default=None"#),
            (
                "string? ..1000",
                r#""string" optional=true limit=..1000/0 default=None"#,
            ),
            (
                r#"Status = "pending""#,
                r#""Status" optional=false limit= default=Some("\"pending\"")"#,
            ),
            ("int 0.. = 0", r#""int" optional=false limit=0../0 default=Some("0")"#),
            (
                "number 0.01..99999.99",
                r#""number" optional=false limit=0.01..99999.99/2 default=None"#,
            ),
            (
                "number -90..90",
                r#""number" optional=false limit=-90..90/0 default=None"#,
            ),
            (
                r"string /[^@\s]{1,64}@[^@\s]{1,189}/",
                r#""string" optional=false limit=[^@\s]{1,64}@[^@\s]{1,189} default=None"#,
            ),
            (
                "string /[0-9]{8}/ = digits(8)",
                r#""string" optional=false limit=[0-9]{8} default=Some("digits(8)")"#,
            ),
            (
                "set(string 1..30) ..20",
                r#""set<string>" optional=false limit=..20/0 default=None"#,
            ),
            (
                "map(string 1..200)? ..20",
                r#""map<string>" optional=true limit=..20/0 default=None"#,
            ),
            ("User.userId?", r#""User.userId" optional=true limit= default=None"#),
            (
                r#"date | "AVAILABLE""#,
                r#""date|AVAILABLE" optional=false limit= default=None"#,
            ),
            (
                "int 0..9 = hash(requestId) % 10",
                r#""int" optional=false limit=0..9/0 default=Some("hash(requestId) % 10")"#,
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(outline(source), expected, "{source}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("string 200", "error: `200` is not a limit"),
            ("string 5..1", "error: the limit `5..1` is empty"),
            ("list(string", "error: `list(` is not closed"),
            (
                "string /[a/",
                "error: `/[a/` is not a pattern: unclosed character class",
            ),
            ("string max 5", "error: `max 5` does not belong to a type"),
            ("int = ", "error: after `=` stands the default"),
            ("", "error: a type is missing here"),
        ];
        for (source, expected) in cases {
            assert_eq!(outline(source), expected, "{source}");
        }
    }
}
