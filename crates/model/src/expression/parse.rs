//! From text to an untyped tree. The only place that knows the `cel` crate.
//!
//! The parser decides the structure and nothing else: it sees the *shape* of an expression, in which every name is `a`, every
//! text `""` and every number `1`, and the rest is taken from the tokens. So numbers keep all their digits, every node knows
//! all of its text, and a model with thousands of expressions has few shapes to parse.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use cel::common::ast::{self, EntryExpr, IdedExpr, LiteralValue, SourceInfo, operators};
use singlet_item::Number;

use super::scan::{ScannedToken, TokenKind};
use super::tree::BinaryOp;
use super::words::is_literal;
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
    let node = ExpressionShape::of(&text.text, &written)
        .and_then(|shape| ExpressionReader::new(&text.text, &written, &shape).node(&shape.tree));
    node.map(|(node, ..)| node).ok_or_else(|| unreadable(text))
}

fn unreadable(text: &Text) -> Box<Diagnostic> {
    let shown = tokens::quote_input(&text.text);
    let message = format!("the expression {shown} cannot be read");
    Box::new(Diagnostic::new(&rules::UNEXPECTED, text.span, message))
}

/// How many shapes a thread keeps.
const SHAPES_KEPT_MAX: usize = 1_024;

thread_local! {
    static SHAPES: RefCell<HashMap<String, Rc<ExpressionShape>>> = RefCell::default();
}

/// The structure of an expression, whatever its names and values are.
struct ExpressionShape {
    tree: IdedExpr,
    info: SourceInfo,
    /// Where each token begins in the text that was parsed.
    starts: Vec<usize>,
}

impl ExpressionShape {
    fn of(text: &str, tokens: &[ScannedToken]) -> Option<Rc<ExpressionShape>> {
        let (shape, starts) = stand_in(text, tokens);
        if let Some(known) = SHAPES.with_borrow(|shapes| shapes.get(&shape).cloned()) {
            return Some(known);
        }
        // Without the standard macros, `rows.exists(e, …)` stays a call.
        let parser = cel::Env::default().with_optional_support(false).parser();
        let (tree, info) = parser.parse_with_source_info(&shape).ok()?;
        let parsed = Rc::new(ExpressionShape { tree, info, starts });
        SHAPES.with_borrow_mut(|shapes| {
            if shapes.len() >= SHAPES_KEPT_MAX {
                shapes.clear();
            }
            shapes.insert(shape, Rc::clone(&parsed));
        });
        Some(parsed)
    }

    /// The token that the parser has for a node: its operator, its opening bracket, or itself.
    fn token_of(&self, id: u64) -> Option<usize> {
        let (start, _) = self.info.offset_for(id)?;
        self.starts.binary_search(&(start as usize)).ok()
    }
}

/// The text of a shape, and where each token begins in it. The sign of a number is not lost: the parser makes a negative
/// literal of `- 1`.
fn stand_in(text: &str, tokens: &[ScannedToken]) -> (String, Vec<usize>) {
    let mut shape = String::with_capacity(tokens.len() * 3);
    let mut starts = Vec::with_capacity(tokens.len());
    for token in tokens {
        let word = text.get(token.start..token.end).unwrap_or_default();
        starts.push(shape.len());
        shape.push_str(match token.kind {
            TokenKind::Name if !is_literal(word) => "a",
            TokenKind::Number => "1",
            TokenKind::Text => "\"\"",
            _ => word,
        });
        shape.push(' ');
    }
    (shape, starts)
}

/// A node with its first and last token.
type Read = (ExpressionNode, usize, usize);

struct ExpressionReader<'a> {
    text: &'a str,
    tokens: &'a [ScannedToken],
    shape: &'a ExpressionShape,
    /// For each bracket, the index of its partner.
    partners: Vec<Option<usize>>,
}

impl<'a> ExpressionReader<'a> {
    fn new(text: &'a str, tokens: &'a [ScannedToken], shape: &'a ExpressionShape) -> Self {
        let mut partners = vec![None; tokens.len()];
        let mut open = Vec::new();
        let mut pair = |at: usize, partner: usize| {
            if let Some(entry) = partners.get_mut(at) {
                *entry = Some(partner);
            }
        };
        for (at, token) in tokens.iter().enumerate() {
            if token.kind == TokenKind::Open {
                open.push(at);
            } else if token.kind == TokenKind::Close
                && let Some(start) = open.pop()
            {
                pair(start, at);
                pair(at, start);
            }
        }
        ExpressionReader {
            text,
            tokens,
            shape,
            partners,
        }
    }

    fn node(&self, tree: &IdedExpr) -> Option<Read> {
        let at = self.shape.token_of(tree.id)?;
        match &tree.expr {
            ast::Expr::Literal(literal) => self.literal(literal, at),
            ast::Expr::Ident(_) => Some(self.made(NodeKind::Name(self.word(at)?), at, at, at)),
            ast::Expr::Select(select) => {
                let (of, first, _) = self.node(&select.operand)?;
                let first = self.with_parentheses(first, at.checked_sub(1)?);
                let kind = NodeKind::Field(Box::new(of), self.word(at + 1)?);
                Some(self.made(kind, first, at + 1, at + 1))
            }
            ast::Expr::List(list) => {
                let elements = self.nodes(&list.elements)?;
                Some(self.made(NodeKind::List(elements), at, self.partner(at)?, at))
            }
            ast::Expr::Map(map) => {
                let fields = self.fields(&map.entries)?;
                Some(self.made(NodeKind::Record(fields), at, self.partner(at)?, at))
            }
            ast::Expr::Struct(key) => {
                let name = at.checked_sub(1)?;
                let kind = NodeKind::Key {
                    entity: self.word(name)?,
                    fields: self.fields(&key.entries)?,
                };
                Some(self.made(kind, name, self.partner(at)?, name))
            }
            ast::Expr::Call(call) => self.call(call, at),
            ast::Expr::Comprehension(_) | ast::Expr::Unspecified => None,
        }
    }

    fn call(&self, call: &ast::CallExpr, at: usize) -> Option<Read> {
        if let (None, Some(op)) = (&call.target, binary_op(&call.func_name)) {
            let [left, right] = call.args.as_slice() else {
                return None;
            };
            return self.binary(op, left, right, at);
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_NOT, [inner]) => self.sign(inner, at, NodeKind::Not),
            (operators::NEGATE, [inner]) => self.sign(inner, at, NodeKind::Negate),
            (operators::CONDITIONAL, [test, then, otherwise]) => self.conditional(test, then, otherwise, at),
            (operators::INDEX, [of, index]) => {
                let (of, first, _) = self.node(of)?;
                let first = self.with_parentheses(first, at.checked_sub(1)?);
                let (index, ..) = self.node(index)?;
                let kind = NodeKind::Index(Box::new(of), Box::new(index));
                Some(self.made(kind, first, self.partner(at)?, at))
            }
            _ => self.named_call(call, at),
        }
    }

    /// `at` is the opening parenthesis.
    fn named_call(&self, call: &ast::CallExpr, at: usize) -> Option<Read> {
        let name = at.checked_sub(1)?;
        let (receiver, first) = match &call.target {
            None => (None, name),
            Some(target) => {
                let (receiver, first, _) = self.node(target)?;
                let first = self.with_parentheses(first, name.checked_sub(2)?);
                (Some(Box::new(receiver)), first)
            }
        };
        let kind = NodeKind::Call {
            name: self.word(name)?,
            receiver,
            args: self.nodes(&call.args)?,
        };
        Some(self.made(kind, first, self.partner(at)?, name))
    }

    fn binary(&self, op: BinaryOp, left: &IdedExpr, right: &IdedExpr, at: usize) -> Option<Read> {
        let (left, left_first, left_last) = self.operand(left)?;
        let (right, right_first, right_last) = self.operand(right)?;
        let kind = NodeKind::Binary(op, Box::new(left), Box::new(right));
        let (first, last) = (left_first.min(right_first), left_last.max(right_last));
        Some(self.made(kind, first, last, at))
    }

    fn sign(&self, inner: &IdedExpr, at: usize, kind: fn(Box<ExpressionNode>) -> NodeKind) -> Option<Read> {
        let (inner, _, last) = self.operand(inner)?;
        Some(self.made(kind(Box::new(inner)), at, last, at))
    }

    fn conditional(&self, test: &IdedExpr, then: &IdedExpr, otherwise: &IdedExpr, at: usize) -> Option<Read> {
        let (test, first, _) = self.operand(test)?;
        let (then, ..) = self.operand(then)?;
        let (otherwise, _, last) = self.operand(otherwise)?;
        let kind = NodeKind::Conditional(Box::new(test), Box::new(then), Box::new(otherwise));
        Some(self.made(kind, first, last, at))
    }

    /// An operand with the parentheses around it, which the parser drops.
    fn operand(&self, tree: &IdedExpr) -> Option<Read> {
        let (node, mut first, mut last) = self.node(tree)?;
        while let Some(before) = first.checked_sub(1)
            && self.is_grouping(before)
            && self.partner(before) == Some(last + 1)
        {
            first = before;
            last += 1;
        }
        Some((node, first, last))
    }

    /// The first token of what ends at `last`, where that is a grouping parenthesis.
    fn with_parentheses(&self, first: usize, last: usize) -> usize {
        match self.partner(last) {
            Some(open) if self.is_grouping(open) => first.min(open),
            _ => first,
        }
    }

    /// Whether a parenthesis groups, rather than holding the arguments of a call.
    fn is_grouping(&self, at: usize) -> bool {
        let named = at
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
            .is_some_and(|before| before.kind == TokenKind::Name && self.slice(before) != "in");
        self.tokens.get(at).is_some_and(|token| self.slice(token) == "(") && !named
    }

    fn literal(&self, literal: &LiteralValue, at: usize) -> Option<Read> {
        let kind = match literal {
            LiteralValue::Boolean(value) => NodeKind::Bool(*value.inner()),
            LiteralValue::String(_) => NodeKind::Text(unescaped(&self.word(at)?)),
            LiteralValue::Null => NodeKind::Null,
            LiteralValue::Int(value) => return self.number(*value.inner() < 0, at),
            _ => return None,
        };
        Some(self.made(kind, at, at, at))
    }

    fn number(&self, negative: bool, at: usize) -> Option<Read> {
        let written = self.slice(self.tokens.get(at)?);
        let whole = !written.contains('.');
        let (first, value) = if negative {
            (at.checked_sub(1)?, format!("-{written}").parse().ok()?)
        } else {
            (at, written.parse().ok()?)
        };
        Some(self.made(NodeKind::Number { value, whole }, first, at, at))
    }

    fn nodes(&self, trees: &[IdedExpr]) -> Option<Vec<ExpressionNode>> {
        trees
            .iter()
            .map(|tree| self.node(tree).map(|(node, ..)| node))
            .collect()
    }

    /// The place of an entry is its `:`, and its name the token before.
    fn fields(&self, entries: &[ast::IdedEntryExpr]) -> Option<Vec<FieldNode>> {
        let field = |entry: &ast::IdedEntryExpr| {
            let value = match &entry.expr {
                EntryExpr::StructField(field) => &field.value,
                EntryExpr::MapEntry(entry) => &entry.value,
            };
            let at = self.shape.token_of(entry.id)?.checked_sub(1)?;
            let token = self.tokens.get(at)?;
            let field = match token.kind {
                TokenKind::Text => unescaped(&self.word(at)?),
                _ => self.word(at)?,
            };
            Some(FieldNode {
                field,
                range: token.start..token.end,
                value: self.node(value)?.0,
            })
        };
        entries.iter().map(field).collect()
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

    fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).copied().flatten()
    }

    fn word(&self, at: usize) -> Option<String> {
        self.tokens.get(at).map(|token| self.slice(token).to_owned())
    }

    fn slice(&self, token: &ScannedToken) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
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

fn binary_op(name: &str) -> Option<BinaryOp> {
    Some(match name {
        operators::LOGICAL_AND => BinaryOp::And,
        operators::LOGICAL_OR => BinaryOp::Or,
        operators::EQUALS => BinaryOp::Eq,
        operators::NOT_EQUALS => BinaryOp::Ne,
        operators::LESS => BinaryOp::Lt,
        operators::LESS_EQUALS => BinaryOp::Le,
        operators::GREATER => BinaryOp::Gt,
        operators::GREATER_EQUALS => BinaryOp::Ge,
        operators::IN => BinaryOp::In,
        operators::ADD => BinaryOp::Add,
        operators::SUBSTRACT => BinaryOp::Sub,
        operators::MULTIPLY => BinaryOp::Mul,
        operators::DIVIDE => BinaryOp::Div,
        operators::MODULO => BinaryOp::Rem,
        _ => return None,
    })
}
