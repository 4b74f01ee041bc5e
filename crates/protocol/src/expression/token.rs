//! The words of an expression, with their places.

use singlet_store::well_formed::Malformed;

/// One word of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExpressionToken {
    /// A bare word: an attribute, a function or a keyword.
    Word(String),
    /// `#name`, with its sign.
    Name(String),
    /// `:value`, with its sign.
    Value(String),
    /// Digits.
    Digits(String),
    /// A sign of one or two characters.
    Sign(&'static str),
}

/// The words of one expression, read one after the other.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    source: &'a str,
    /// Each word with where it starts and ends, in bytes.
    all: Vec<(ExpressionToken, usize, usize)>,
    at: usize,
}

const SIGNS: [&str; 14] = ["<>", "<=", ">=", "=", "<", ">", "(", ")", ",", ".", "[", "]", "+", "-"];

impl<'a> Tokens<'a> {
    /// Splits an expression.
    ///
    /// # Errors
    ///
    /// In DynamoDB's words, where a character belongs to no word.
    pub(crate) fn read(source: &'a str) -> Result<Self, Malformed> {
        let mut all = Vec::new();
        let mut at = 0;
        while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
            match next(rest) {
                Next::Space(length) => at += length,
                Next::Token(token, length) => {
                    all.push((token, at, at + length));
                    at += length;
                }
                Next::Unknown(length) => {
                    // The character counts as a word of its own, and so does what follows it.
                    all.push((ExpressionToken::Sign("?"), at, at + length));
                    let index = all.len() - 1;
                    if let Some(following) = following(source, at + length) {
                        all.push(following);
                    }
                    let tokens = Self { source, all, at: 0 };
                    return Err(tokens.syntax_error_at(index));
                }
            }
        }
        Ok(Self { source, all, at: 0 })
    }

    pub(crate) fn peek(&self) -> Option<&ExpressionToken> {
        self.peek_at(0)
    }

    /// The word that many places further on.
    pub(crate) fn peek_at(&self, further: usize) -> Option<&ExpressionToken> {
        self.all.get(self.at + further).map(|(token, ..)| token)
    }

    pub(crate) fn next(&mut self) -> Option<ExpressionToken> {
        let token = self.peek().cloned();
        self.at += usize::from(token.is_some());
        token
    }

    /// Takes the next word, if it is this sign.
    pub(crate) fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(ExpressionToken::Sign(next)) if *next == sign);
        self.at += usize::from(found);
        found
    }

    /// Takes the next word, if it is this keyword in any case.
    pub(crate) fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(keyword);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Some(ExpressionToken::Word(word)) if word.eq_ignore_ascii_case(keyword))
    }

    pub(crate) fn expect_sign(&mut self, sign: &str) -> Result<(), Malformed> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(self.syntax_error())
        }
    }

    /// Refuses whatever is left.
    pub(crate) fn expect_end(&self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.syntax_error()),
        }
    }

    /// That the next word does not belong here.
    pub(crate) fn syntax_error(&self) -> Malformed {
        self.syntax_error_at(self.at)
    }

    /// DynamoDB shows the word with its neighbours as they were written; at the end, the last one.
    fn syntax_error_at(&self, index: usize) -> Malformed {
        let text = |start: usize, end: usize| self.source.get(start..end).unwrap_or_default();
        let Some((_, start, end)) = self.all.get(index) else {
            let near = self
                .all
                .last()
                .map_or(self.source, |(_, start, end)| text(*start, *end));
            return Malformed::from(format!("Syntax error; token: \"<EOF>\", near: \"{near}\""));
        };
        let before = index.checked_sub(1).and_then(|before| self.all.get(before));
        let from = before.map_or(*start, |(_, start, _)| *start);
        let to = self.all.get(index + 1).map_or(*end, |(_, _, end)| *end);
        Malformed::from(format!(
            "Syntax error; token: \"{}\", near: \"{}\"",
            text(*start, *end),
            text(from, to)
        ))
    }

    /// Whether parentheses stand directly inside parentheses, around nothing more.
    pub(crate) fn has_redundant_parentheses(&self) -> bool {
        let mut open: Vec<usize> = Vec::new();
        let mut closed_by: Vec<Option<usize>> = vec![None; self.all.len()];
        for (index, (token, ..)) in self.all.iter().enumerate() {
            match token {
                ExpressionToken::Sign("(") => open.push(index),
                ExpressionToken::Sign(")") => {
                    if let Some(place) = open.pop().and_then(|start| closed_by.get_mut(start)) {
                        *place = Some(index);
                    }
                }
                _ => {}
            }
        }
        closed_by.windows(2).any(|pair| match pair {
            [Some(outer), Some(inner)] => *outer == inner + 1,
            _ => false,
        })
    }
}

enum Next {
    Space(usize),
    Token(ExpressionToken, usize),
    Unknown(usize),
}

fn next(rest: &str) -> Next {
    let Some(first) = rest.chars().next() else {
        return Next::Space(0);
    };
    if first.is_ascii_whitespace() {
        return Next::Space(first.len_utf8());
    }
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        return Next::Token(ExpressionToken::Sign(sign), sign.len());
    }
    let word = |skip: usize| {
        let length = rest
            .get(skip..)
            .unwrap_or_default()
            .find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
        skip + length.unwrap_or(rest.len() - skip)
    };
    let text = |length: usize| rest.get(..length).unwrap_or_default().to_owned();
    match first {
        '#' | ':' if word(1) > 1 => {
            let length = word(1);
            let token = if first == '#' {
                ExpressionToken::Name
            } else {
                ExpressionToken::Value
            };
            Next::Token(token(text(length)), length)
        }
        '0'..='9' => {
            let length = rest
                .find(|character: char| !character.is_ascii_digit())
                .unwrap_or(rest.len());
            Next::Token(ExpressionToken::Digits(text(length)), length)
        }
        'a'..='z' | 'A'..='Z' => Next::Token(ExpressionToken::Word(text(word(0))), word(0)),
        other => Next::Unknown(other.len_utf8()),
    }
}

/// The word, or the character of none, from a place on.
fn following(source: &str, from: usize) -> Option<(ExpressionToken, usize, usize)> {
    let mut at = from;
    loop {
        let rest = source.get(at..).filter(|rest| !rest.is_empty())?;
        match next(rest) {
            Next::Space(length) => at += length,
            Next::Token(token, length) => return Some((token, at, at + length)),
            Next::Unknown(length) => return Some((ExpressionToken::Sign("?"), at, at + length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_error_shows_the_neighbours() {
        let mut tokens = Tokens::read("INVALID SYNTAX HERE").unwrap();
        assert_eq!(
            tokens.syntax_error().to_string(),
            r#"Syntax error; token: "INVALID", near: "INVALID SYNTAX""#
        );
        tokens.next();
        assert_eq!(
            tokens.syntax_error().to_string(),
            r#"Syntax error; token: "SYNTAX", near: "INVALID SYNTAX HERE""#
        );
        tokens.next();
        tokens.next();
        assert_eq!(
            tokens.syntax_error().to_string(),
            r#"Syntax error; token: "<EOF>", near: "HERE""#
        );
        assert_eq!(
            Tokens::read("!!! INVALID !!!").unwrap_err().to_string(),
            r#"Syntax error; token: "!", near: "!!""#
        );
        assert_eq!(
            Tokens::read("a = é").unwrap_err().to_string(),
            r#"Syntax error; token: "é", near: "= é""#
        );
    }

    #[test]
    fn only_parentheses_around_parentheses_are_redundant() {
        let redundant = |text| Tokens::read(text).unwrap().has_redundant_parentheses();
        assert!(redundant("((a = b)) AND c = d"));
        assert!(!redundant("(a = b) AND (c = d)"));
        assert!(!redundant("((a = b) AND (c = d))"));
        assert!(!redundant("((a = b) AND c = d)"));
        assert!(!redundant("((("));
    }
}
