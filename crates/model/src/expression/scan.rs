//! The tokens of an expression. The parser reports what it cannot read in its own words and places; with the tokens at
//! hand, mistakes are found before it and named in ours.

/// A token: what it is, and its bytes in the expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScannedToken {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a word such as `in`, or a literal such as `true`.
    Name,
    /// A number, whatever its form.
    Number,
    /// Text in quotes.
    Text,
    /// An operator that the language has.
    Operator,
    /// `(`, `[` or `{`.
    Open,
    /// `)`, `]` or `}`.
    Close,
    Comma,
    Dot,
    Colon,
    Question,
    /// An operator of some other language.
    Foreign,
    /// Text whose quote is not closed.
    OpenText,
    /// An escape within text that the language does not have; the token is the escape alone.
    BadEscape,
    /// A text with a prefix or three quotes.
    OddText,
    /// What follows `//`.
    Comment,
    /// A character that begins nothing.
    Stray,
}

/// Splits an expression into tokens; white space is dropped.
pub(super) fn scan_tokens(text: &str) -> Vec<ScannedToken> {
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = next(rest);
        if let Some(kind) = kind {
            let (start, end) = (at, at + length);
            let bad = (kind == TokenKind::Text)
                .then(|| bad_escape(text.get(start..end).unwrap_or_default()))
                .flatten();
            if let Some((from, to)) = bad {
                tokens.push(ScannedToken {
                    kind: TokenKind::BadEscape,
                    start: start + from,
                    end: start + to,
                });
            } else {
                tokens.push(ScannedToken { kind, start, end });
            }
        }
        at += length.max(1);
    }
    tokens
}

/// The kind and length of what `rest` begins with; no kind for white space.
fn next(rest: &str) -> (Option<TokenKind>, usize) {
    let mut chars = rest.chars();
    let first = chars.next().unwrap_or(' ');
    let second = chars.next();
    if matches!(first, ' ' | '\t' | '\r' | '\n') {
        return (None, 1);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        return name_or_prefixed(rest);
    }
    let digit_follows = second.is_some_and(|char| char.is_ascii_digit());
    if first.is_ascii_digit() || (first == '.' && digit_follows) {
        return (Some(TokenKind::Number), number_length(rest));
    }
    if matches!(first, '"' | '\'') {
        return quoted(rest, first);
    }
    symbol(rest, first)
}

/// A name; or text that a letter before its quote makes raw or bytes.
fn name_or_prefixed(rest: &str) -> (Option<TokenKind>, usize) {
    let length = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    let quote = rest.get(length..).and_then(|after| after.chars().next());
    match quote {
        Some(quote @ ('"' | '\'')) if length == 1 && rest.starts_with(['r', 'R', 'b', 'B']) => {
            let (_, quoted_length) = quoted(rest.get(1..).unwrap_or_default(), quote);
            (Some(TokenKind::OddText), 1 + quoted_length)
        }
        _ => (Some(TokenKind::Name), length),
    }
}

/// Digits, letters and points that stand together, and a sign after an exponent.
fn number_length(rest: &str) -> usize {
    let mut before = ' ';
    let hexadecimal = rest.starts_with("0x");
    let goes_on = |char: char| {
        let exponent = matches!(before, 'e' | 'E') && !hexadecimal;
        let part = char.is_ascii_alphanumeric() || char == '_' || char == '.';
        let take = part || (exponent && matches!(char, '+' | '-'));
        before = char;
        take
    };
    rest.chars().map(goes_on).take_while(|part| *part).count()
}

/// Text up to its closing quote, which stands on the same line.
fn quoted(rest: &str, quote: char) -> (Option<TokenKind>, usize) {
    let mut escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            '\n' | '\r' => return (Some(TokenKind::OpenText), at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if char == quote => {
                let end = at + 1;
                let tripled = at == 1 && rest.get(end..).is_some_and(|after| after.starts_with(quote));
                let kind = if tripled { TokenKind::OddText } else { TokenKind::Text };
                return (Some(kind), end);
            }
            _ => {}
        }
    }
    (Some(TokenKind::OpenText), rest.len())
}

/// The first escape within quoted text that is not one of `\\ \" \' \n \r \t \uXXXX`.
fn bad_escape(quoted: &str) -> Option<(usize, usize)> {
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        if char != '\\' {
            continue;
        }
        let (_, escape) = chars.next()?;
        let known = match escape {
            '\\' | '"' | '\'' | 'n' | 'r' | 't' => true,
            'u' => is_code_point(quoted.get(at + 2..at + 6)),
            _ => false,
        };
        if !known {
            return Some((at, at + 1 + escape.len_utf8()));
        }
    }
    None
}

fn is_code_point(digits: Option<&str>) -> bool {
    digits
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .and_then(char::from_u32)
        .is_some()
}

/// Operators of other languages, the longest first.
const FOREIGN: &[&str] = &[
    "===", "!==", "<=>", "<>", "=>", "=<", "->", ":=", "**", "++", "&", "|", "=", "^", "~", ";",
];

/// Operators that the language has, the longest first.
const OPERATORS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!",
];

fn symbol(rest: &str, first: char) -> (Option<TokenKind>, usize) {
    if rest.starts_with("//") {
        let line = rest.find('\n').unwrap_or(rest.len());
        return (Some(TokenKind::Comment), line);
    }
    let begins = |symbol: &&&str| rest.starts_with(**symbol);
    let known = OPERATORS.iter().find(begins).copied();
    let foreign = FOREIGN.iter().find(begins).copied();
    match (known, foreign) {
        (known, Some(foreign)) if known.is_none_or(|known| known.len() < foreign.len()) => {
            return (Some(TokenKind::Foreign), foreign.len());
        }
        (Some(known), _) => return (Some(TokenKind::Operator), known.len()),
        _ => {}
    }
    let kind = match first {
        '(' | '[' | '{' => TokenKind::Open,
        ')' | ']' | '}' => TokenKind::Close,
        ',' => TokenKind::Comma,
        '.' => TokenKind::Dot,
        ':' => TokenKind::Colon,
        '?' => TokenKind::Question,
        _ => TokenKind::Stray,
    };
    (Some(kind), first.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        scan_tokens(text)
            .iter()
            .map(|token| &text[token.start..token.end])
            .collect()
    }

    #[test]
    fn an_expression_falls_into_its_tokens() {
        let text = r#"a.b>=-1.50 && x in ["é\"", 'b'] ? f(y) : !z"#;
        let expected = [
            "a",
            ".",
            "b",
            ">=",
            "-",
            "1.50",
            "&&",
            "x",
            "in",
            "[",
            r#""é\"""#,
            ",",
            "'b'",
            "]",
            "?",
            "f",
            "(",
            "y",
            ")",
            ":",
            "!",
            "z",
        ];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn operators_of_other_languages_are_whole() {
        assert_eq!(words("a === b <> c = d"), ["a", "===", "b", "<>", "c", "=", "d"]);
        assert_eq!(scan_tokens("a=b")[1].kind, TokenKind::Foreign);
        assert_eq!(scan_tokens("a==b")[1].kind, TokenKind::Operator);
    }

    #[test]
    fn an_unknown_escape_is_found_within_its_text() {
        let tokens = scan_tokens(r#""a\db""#);
        assert_eq!(
            (tokens[0].kind, tokens[0].start, tokens[0].end),
            (TokenKind::BadEscape, 2, 4)
        );
    }
}
