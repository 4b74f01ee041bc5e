//! From text to an untyped tree. The only place that knows the `cel` crate.
//!
//! The parser gives each node the place of one token; with the tokens at hand, every node here knows all of its text. Numbers
//! are taken from the text too, since the parser's are doubles and 64-bit integers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use cel::common::ast::{self, EntryExpr, IdedExpr, LiteralValue, SourceInfo, operators};
use singlet_item::Number;

use super::scan::{Token, TokenKind};
use super::tree::BinaryOp;
use super::{rules, syntax, tokens};
use crate::diagnostic::Diagnostic;
use crate::text::Text;

/// An untyped expression.
#[derive(Debug)]
pub(super) struct Node {
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
    Field(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary(BinaryOp, Box<Node>, Box<Node>),
    Conditional(Box<Node>, Box<Node>, Box<Node>),
    List(Vec<Node>),
    Record(Vec<FieldNode>),
    Call {
        name: String,
        receiver: Option<Box<Node>>,
        args: Vec<Node>,
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
    pub value: Node,
}

/// How many parsed expressions a thread keeps: many places of a model say the same.
const PARSED_KEPT_MAX: usize = 1_024;

thread_local! {
    static PARSED: RefCell<HashMap<String, Rc<Node>>> = RefCell::default();
}

/// Parses an expression, or says what is wrong with how it is written.
pub(super) fn parse(text: &Text) -> Result<Rc<Node>, Box<Diagnostic>> {
    if let Some(known) = PARSED.with_borrow(|parsed| parsed.get(&text.text).cloned()) {
        return Ok(known);
    }
    let written = syntax::tokens(text)?;
    let node = Rc::new(read(&text.text, &written).ok_or_else(|| unreadable(text))?);
    PARSED.with_borrow_mut(|parsed| {
        if parsed.len() >= PARSED_KEPT_MAX {
            parsed.clear();
        }
        parsed.insert(text.text.clone(), Rc::clone(&node));
    });
    Ok(node)
}

fn unreadable(text: &Text) -> Box<Diagnostic> {
    let message = format!(
        "the expression {} cannot be read",
        tokens::quoted(&text.text)
    );
    Box::new(Diagnostic::new(&rules::UNEXPECTED, text.span, message))
}

/// Without the standard macros, `rows.exists(e, …)` stays a call.
fn read(text: &str, tokens: &[Token]) -> Option<Node> {
    let stood_in = with_stand_ins(text, tokens);
    let parser = cel::Env::default().with_optional_support(false).parser();
    let (tree, info) = parser.parse_with_source_info(&stood_in).ok()?;
    Reader::new(text, tokens, &info)
        .node(&tree)
        .map(|(node, ..)| node)
}

/// A number that the parser would not take becomes a `1` of the same length; its value is read from the text later. Its sign
/// is not lost: the parser makes a negative literal of `-1`.
fn with_stand_ins(text: &str, tokens: &[Token]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for token in tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Number)
    {
        result.push_str(text.get(done..token.start).unwrap_or_default());
        result.push('1');
        result.extend(std::iter::repeat_n(
            ' ',
            (token.end - token.start).saturating_sub(1),
        ));
        done = token.end;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

/// A node with its first and last token.
type Read = (Node, usize, usize);

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    info: &'a SourceInfo,
    /// For each bracket, the index of its partner.
    partners: HashMap<usize, usize>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, tokens: &'a [Token], info: &'a SourceInfo) -> Self {
        let mut partners = HashMap::new();
        let mut open = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Open => open.push(at),
                TokenKind::Close => {
                    if let Some(start) = open.pop() {
                        partners.insert(start, at);
                        partners.insert(at, start);
                    }
                }
                _ => {}
            }
        }
        Reader {
            text,
            tokens,
            info,
            partners,
        }
    }

    fn node(&self, tree: &IdedExpr) -> Option<Read> {
        let at = self.token_of(tree.id)?;
        match &tree.expr {
            ast::Expr::Literal(literal) => self.literal(literal, at),
            ast::Expr::Ident(name) => Some(self.made(NodeKind::Name(name.clone()), at, at, at)),
            ast::Expr::Select(select) => {
                let (of, first, _) = self.node(&select.operand)?;
                let first = self.with_parentheses(first, at.checked_sub(1)?);
                let kind = NodeKind::Field(Box::new(of), select.field.clone());
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
                let kind = NodeKind::Key {
                    entity: key.type_name.clone(),
                    fields: self.fields(&key.entries)?,
                };
                let name = at.checked_sub(1)?;
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
            (operators::CONDITIONAL, [test, then, otherwise]) => {
                self.conditional(test, then, otherwise, at)
            }
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
            name: call.func_name.clone(),
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

    fn sign(&self, inner: &IdedExpr, at: usize, kind: fn(Box<Node>) -> NodeKind) -> Option<Read> {
        let (inner, _, last) = self.operand(inner)?;
        Some(self.made(kind(Box::new(inner)), at, last, at))
    }

    fn conditional(
        &self,
        test: &IdedExpr,
        then: &IdedExpr,
        otherwise: &IdedExpr,
        at: usize,
    ) -> Option<Read> {
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
            && self.partners.get(&before) == Some(&(last + 1))
        {
            first = before;
            last += 1;
        }
        Some((node, first, last))
    }

    /// The first token of what ends at `last`, where that is a grouping parenthesis.
    fn with_parentheses(&self, first: usize, last: usize) -> usize {
        match self.partners.get(&last) {
            Some(open) if self.is_grouping(*open) => first.min(*open),
            _ => first,
        }
    }

    /// Whether a parenthesis groups, rather than holding the arguments of a call.
    fn is_grouping(&self, at: usize) -> bool {
        let named = at
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
            .is_some_and(|before| before.kind == TokenKind::Name && self.slice(before) != "in");
        self.tokens
            .get(at)
            .is_some_and(|token| self.slice(token) == "(")
            && !named
    }

    fn literal(&self, literal: &LiteralValue, at: usize) -> Option<Read> {
        let kind = match literal {
            LiteralValue::Boolean(value) => NodeKind::Bool(*value.inner()),
            LiteralValue::String(text) => NodeKind::Text(text.inner().to_owned()),
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

    fn nodes(&self, trees: &[IdedExpr]) -> Option<Vec<Node>> {
        trees
            .iter()
            .map(|tree| self.node(tree).map(|(node, ..)| node))
            .collect()
    }

    /// The place of an entry is its `:`, and its name the token before.
    fn fields(&self, entries: &[ast::IdedEntryExpr]) -> Option<Vec<FieldNode>> {
        let field = |entry: &ast::IdedEntryExpr| {
            let (field, value) = match &entry.expr {
                EntryExpr::StructField(field) => (field.field.clone(), &field.value),
                EntryExpr::MapEntry(entry) => (name_of_key(&entry.key)?, &entry.value),
            };
            let token = self.tokens.get(self.token_of(entry.id)?.checked_sub(1)?)?;
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
        let node = Node {
            kind,
            range: bytes(first, last),
            name: bytes(name, name),
        };
        (node, first, last)
    }

    fn token_of(&self, id: u64) -> Option<usize> {
        let (start, _) = self.info.offset_for(id)?;
        self.tokens
            .binary_search_by_key(&(start as usize), |token| token.start)
            .ok()
    }

    fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(&at).copied()
    }

    fn slice(&self, token: &Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }
}

fn name_of_key(key: &IdedExpr) -> Option<String> {
    match &key.expr {
        ast::Expr::Ident(name) => Some(name.clone()),
        ast::Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
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
