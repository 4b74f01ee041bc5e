//! From the tokens of an expression to an untyped tree, by CEL's grammar.
//!
//! **Invariant: what is read here is written as the language has it.** `syntax.rs` has walked over the tokens and refused, in words and at
//! its place, whatever the grammar does not have. What is left to decide is the structure: which operator holds which values. So nothing
//! here says what is wrong, and recursion goes no deeper than brackets and `? :` nest, which that walk bounds.

use std::ops::Range;

use singlet_item::Number;

use super::scan::{ScannedToken, TokenKind};
use super::tree::BinaryOp;
use super::{rules, syntax, tokens};
use crate::diagnostic::Diagnostic;
use crate::text::Text;

/// An untyped expression.
#[derive(Debug)]
pub(super) struct ExpressionNode {
    pub kind: NodeKind,
    /// The whole expression, in bytes of its text.
    pub range: Range<usize>,
    /// The name, the field or the operator that it is known by.
    pub name: Range<usize>,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Bool(bool),
    Number {
        value: Number,
        whole: bool,
    },
    Text(String),
    Null,
    Name(String),
    Field(Box<ExpressionNode>, String),
    Index(Box<ExpressionNode>, Box<ExpressionNode>),
    Not(Box<ExpressionNode>),
    Negate(Box<ExpressionNode>),
    Binary(BinaryOp, Box<ExpressionNode>, Box<ExpressionNode>),
    Conditional(Box<ExpressionNode>, Box<ExpressionNode>, Box<ExpressionNode>),
    List(Vec<ExpressionNode>),
    Record(Vec<FieldNode>),
    Call {
        name: String,
        receiver: Option<Box<ExpressionNode>>,
        args: Vec<ExpressionNode>,
    },
    Key {
        entity: String,
        fields: Vec<FieldNode>,
    },
}

#[derive(Debug)]
pub(super) struct FieldNode {
    pub field: String,
    pub range: Range<usize>,
    pub value: ExpressionNode,
}

/// Parses an expression, or says what is wrong with how it is written.
pub(super) fn parse_expression(text: &Text) -> Result<ExpressionNode, Box<Diagnostic>> {
    let written = syntax::checked_tokens(text)?;
    let mut reader = ExpressionReader {
        text: &text.text,
        tokens: &written,
        at: 0,
    };
    let read = reader.expression().filter(|_| reader.at == written.len());
    read.map(|(node, ..)| node).ok_or_else(|| unreadable(text))
}

fn unreadable(text: &Text) -> Box<Diagnostic> {
    let shown = tokens::quote_input(&text.text);
    let message = format!("the expression {shown} cannot be read");
    Box::new(Diagnostic::new(&rules::UNEXPECTED, text.span, message))
}

/// Operators that stand between two values and group from the left, those that bind least first. `&&` and `||` bind less than all.
const OPERATORS: [&[(&str, BinaryOp)]; 3] = [
    &[
        ("==", BinaryOp::Eq),
        ("!=", BinaryOp::Ne),
        ("<", BinaryOp::Lt),
        ("<=", BinaryOp::Le),
        (">", BinaryOp::Gt),
        (">=", BinaryOp::Ge),
        ("in", BinaryOp::In),
    ],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Sub)],
    &[("*", BinaryOp::Mul), ("/", BinaryOp::Div), ("%", BinaryOp::Rem)],
];

/// A node with its first and last token, the parentheses around it included. They are no part of its own range.
type Read = (ExpressionNode, usize, usize);

/// An expression in the middle of being read.
struct ExpressionReader<'a> {
    text: &'a str,
    tokens: &'a [ScannedToken],
    /// The token that is read next.
    at: usize,
}

impl<'a> ExpressionReader<'a> {
    /// A whole expression: `test ? then : otherwise`, or what binds tighter.
    fn expression(&mut self) -> Option<Read> {
        let test = self.disjunction()?;
        let question = self.at;
        if !self.take("?") {
            return Some(test);
        }
        let (then, ..) = self.disjunction()?;
        self.expect(":")?;
        let (otherwise, _, last) = self.expression()?;
        let (test, first, _) = test;
        let kind = NodeKind::Conditional(Box::new(test), Box::new(then), Box::new(otherwise));
        Some(self.made(kind, first, last, question))
    }

    fn disjunction(&mut self) -> Option<Read> {
        self.chain("||", BinaryOp::Or, Self::conjunction)
    }

    fn conjunction(&mut self) -> Option<Read> {
        self.chain("&&", BinaryOp::And, |reader| reader.operation(0))
    }

    /// Terms with one of the two logical operators between them.
    fn chain(&mut self, sign: &str, op: BinaryOp, term: fn(&mut Self) -> Option<Read>) -> Option<Read> {
        let first = term(self)?;
        if !self.is(sign) {
            return Some(first);
        }
        let (mut terms, mut signs) = (vec![first], Vec::new());
        while self.is(sign) {
            signs.push(self.at);
            self.at += 1;
            terms.push(term(self)?);
        }
        self.balanced(op, &mut terms.into_iter(), &signs)
    }

    /// A tree of a chain that is as deep on its left as on its right: how the terms are grouped changes nothing of what they mean, and
    /// whoever walks over hundreds of them goes a few steps deep.
    fn balanced(&self, op: BinaryOp, terms: &mut impl Iterator<Item = Read>, signs: &[usize]) -> Option<Read> {
        let (before, rest) = signs.split_at_checked(signs.len() / 2)?;
        let Some((sign, after)) = rest.split_first() else {
            return terms.next();
        };
        let left = self.balanced(op, terms, before)?;
        let right = self.balanced(op, terms, after)?;
        Some(self.joined(op, *sign, left, right))
    }

    /// Values with operators of one level between them, or of one that binds tighter.
    fn operation(&mut self, level: usize) -> Option<Read> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.signed();
        };
        let mut left = self.operation(level + 1)?;
        while let Some((_, op)) = operators.iter().find(|(sign, _)| self.is(sign)) {
            let sign = self.at;
            self.at += 1;
            let right = self.operation(level + 1)?;
            left = self.joined(*op, sign, left, right);
        }
        Some(left)
    }

    fn joined(&self, op: BinaryOp, sign: usize, left: Read, right: Read) -> Read {
        let ((left, first, _), (right, _, last)) = (left, right);
        self.made(NodeKind::Binary(op, Box::new(left), Box::new(right)), first, last, sign)
    }

    /// A value, with a sign before it or without. The sign of a number is part of it, so that `-1` is one value wherever it stands.
    fn signed(&mut self) -> Option<Read> {
        let sign = self.at;
        if self.take("!") {
            return self.under(sign, NodeKind::Not);
        }
        if !self.take("-") {
            return self.member();
        }
        match self.token()?.kind {
            TokenKind::Number => {
                let number = self.number(sign)?;
                self.parts_of(number)
            }
            _ => self.under(sign, NodeKind::Negate),
        }
    }

    /// The value that a sign is about, which was read.
    fn under(&mut self, sign: usize, kind: fn(Box<ExpressionNode>) -> NodeKind) -> Option<Read> {
        let (inner, _, last) = self.member()?;
        Some(self.made(kind(Box::new(inner)), sign, last, sign))
    }

    /// A value and what is taken of it.
    fn member(&mut self) -> Option<Read> {
        let value = self.primary()?;
        self.parts_of(value)
    }

    /// Fields, elements and calls, one after the other: `a.b[0].c()`.
    fn parts_of(&mut self, value: Read) -> Option<Read> {
        let mut read = value;
        while let Some(word @ ("." | "[")) = self.word() {
            let open = self.at;
            let (of, first, _) = read;
            self.at += 1;
            read = match word {
                "[" => {
                    let (index, ..) = self.expression()?;
                    let last = self.expect("]")?;
                    self.made(NodeKind::Index(Box::new(of), Box::new(index)), first, last, open)
                }
                _ => self.part(of, first)?,
            };
        }
        Some(read)
    }

    /// A field or a call, from its name on.
    fn part(&mut self, of: ExpressionNode, first: usize) -> Option<Read> {
        let (name, at) = (self.word()?.to_owned(), self.at);
        self.at += 1;
        if !self.take("(") {
            return Some(self.made(NodeKind::Field(Box::new(of), name), first, at, at));
        }
        let receiver = Some(Box::new(of));
        let (args, last) = self.elements(")")?;
        Some(self.made(NodeKind::Call { name, receiver, args }, first, last, at))
    }

    /// A name, a literal, a call, or what stands in brackets.
    fn primary(&mut self) -> Option<Read> {
        let (at, word) = (self.at, self.word()?);
        match self.token()?.kind {
            TokenKind::Name => return self.named(word),
            TokenKind::Number => return self.number(at),
            _ => self.at += 1,
        }
        let (kind, last) = match word {
            "(" => {
                let (inner, ..) = self.expression()?;
                return Some((inner, at, self.expect(")")?));
            }
            "[" => {
                let (elements, last) = self.elements("]")?;
                (NodeKind::List(elements), last)
            }
            "{" => {
                let (fields, last) = self.fields()?;
                (NodeKind::Record(fields), last)
            }
            text => (NodeKind::Text(unescaped(text)), at),
        };
        Some(self.made(kind, at, last, at))
    }

    /// What begins with a word.
    fn named(&mut self, word: &str) -> Option<Read> {
        let at = self.at;
        self.at += 1;
        let (kind, last) = match word {
            "true" => (NodeKind::Bool(true), at),
            "false" => (NodeKind::Bool(false), at),
            "null" => (NodeKind::Null, at),
            _ if self.take("(") => {
                let (args, last) = self.elements(")")?;
                let (name, receiver) = (word.to_owned(), None);
                (NodeKind::Call { name, receiver, args }, last)
            }
            _ if self.take("{") => {
                let (fields, last) = self.fields()?;
                let entity = word.to_owned();
                (NodeKind::Key { entity, fields }, last)
            }
            _ => (NodeKind::Name(word.to_owned()), at),
        };
        Some(self.made(kind, at, last, at))
    }

    /// A number, all digits of it; `first` is its sign, where it has one.
    fn number(&mut self, first: usize) -> Option<Read> {
        let (at, written) = (self.at, self.word()?);
        self.at += 1;
        let value = match first < at {
            true => format!("-{written}").parse().ok()?,
            false => written.parse().ok()?,
        };
        let whole = !written.contains('.');
        Some(self.made(NodeKind::Number { value, whole }, first, at, at))
    }

    /// Expressions with commas between them, and the bracket that ends them.
    fn elements(&mut self, end: &str) -> Option<(Vec<ExpressionNode>, usize)> {
        let mut all = Vec::new();
        while !self.is(end) {
            all.push(self.expression()?.0);
            if !self.take(",") {
                break;
            }
        }
        Some((all, self.expect(end)?))
    }

    /// Names with their values, and the bracket that ends them.
    fn fields(&mut self) -> Option<(Vec<FieldNode>, usize)> {
        let mut all = Vec::new();
        while !self.is("}") {
            let (token, word) = (*self.token()?, self.word()?);
            self.at += 1;
            self.expect(":")?;
            all.push(FieldNode {
                field: match token.kind {
                    TokenKind::Text => unescaped(word),
                    _ => word.to_owned(),
                },
                range: token.start..token.end,
                value: self.expression()?.0,
            });
            if !self.take(",") {
                break;
            }
        }
        Some((all, self.expect("}")?))
    }

    fn made(&self, kind: NodeKind, first: usize, last: usize, name: usize) -> Read {
        let bytes = |from: usize, to: usize| {
            let start = self.tokens.get(from).map_or(0, |token| token.start);
            start..self.tokens.get(to).map_or(start, |token| token.end)
        };
        let node = ExpressionNode {
            kind,
            range: bytes(first, last),
            name: bytes(name, name),
        };
        (node, first, last)
    }

    fn token(&self) -> Option<&'a ScannedToken> {
        self.tokens.get(self.at)
    }

    fn word(&self) -> Option<&'a str> {
        self.token().map(|token| self.slice(token))
    }

    fn slice(&self, token: &ScannedToken) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn is(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    /// The token of that word, which must come next.
    fn expect(&mut self, word: &str) -> Option<usize> {
        let at = self.at;
        self.take(word).then_some(at)
    }
}

/// What a text in quotes says. Its escapes are known ones, since the tokens were looked at before.
fn unescaped(quoted: &str) -> String {
    let mut chars = quoted.chars();
    chars.next();
    chars.next_back();
    let mut result = String::with_capacity(quoted.len());
    while let Some(char) = chars.next() {
        let decoded = match char {
            '\\' => escape(&mut chars),
            other => Some(other),
        };
        result.extend(decoded);
    }
    result
}

fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => {
            let digits: String = chars.by_ref().take(4).collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
        }
        other => Some(other),
    }
}
