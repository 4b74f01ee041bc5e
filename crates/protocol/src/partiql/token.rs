//! The words of a statement.

use singlet_store::well_formed::Malformed;

/// One word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StatementToken {
    /// A bare word: a keyword, a function or a name.
    Word(String),
    /// A name in double quotes.
    Name(String),
    /// Text in single quotes.
    Text(String),
    /// Digits, with a fraction and an exponent.
    Number(String),
    /// Anything else.
    Sign(&'static str),
}

const SIGNS: [&str; 22] = [
    "<<", ">>", "<>", "!=", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ".", ":", "?", "+", "-", "*",
];

/// Splits a statement; each word comes with where it starts.
pub(super) fn statement_tokens(source: &str) -> Result<Vec<(StatementToken, usize)>, Malformed> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = source.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = source.get(at..).unwrap_or_default();
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = match first {
            '\'' | '"' => {
                let (text, length) = quoted(rest, first).ok_or_else(|| at_place("unterminated quote", at))?;
                let token = if first == '"' {
                    StatementToken::Name
                } else {
                    StatementToken::Text
                };
                (token(text), length)
            }
            '0'..='9' => {
                let length = number_length(rest);
                (
                    StatementToken::Number(rest.get(..length).unwrap_or_default().to_owned()),
                    length,
                )
            }
            letter if letter.is_alphabetic() || letter == '_' => {
                let is_word = |character: char| character.is_alphanumeric() || "_$".contains(character);
                let length = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
                (
                    StatementToken::Word(rest.get(..length).unwrap_or_default().to_owned()),
                    length,
                )
            }
            other => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                Some(sign) => (StatementToken::Sign(sign), sign.len()),
                None => return Err(at_place(&format!("unexpected character `{other}`"), at)),
            },
        };
        all.push((token, at));
        at += length;
    }
    Ok(all)
}

pub(super) fn at_place(what: &str, at: usize) -> Malformed {
    Malformed::from(format!(
        "Statement wasn't well formed, can't be processed: {what} at position {}",
        at + 1
    ))
}

/// What stands in quotes, where a doubled quote is one of the text, and how long it is with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            text.push(character);
            continue;
        }
        match characters.peek() {
            Some((_, next)) if *next == quote => {
                text.push(quote);
                characters.next();
            }
            _ => return Some((text, at + quote.len_utf8())),
        }
    }
    None
}

fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
