//! The typed tree of an expression: what the evaluator, the lowering to DynamoDB and the planner work on.

use singlet_item::Number;

use super::functions::FunctionId;
use crate::source::Span;
use crate::types::{EntityId, Type};

/// An expression that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The type of its value; unknown after a reported mistake.
    pub ty: Type,
    /// Whether the value may be absent, as far as the tests around it tell.
    pub optional: bool,
    /// The whole expression in the source.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A value written out.
    Literal(Literal),
    /// An attribute of the row in scope: a bare name, `row.name` or `row["na-me"]`.
    Attribute(String),
    /// `row` itself.
    Row,
    /// `args.name`.
    Arg(String),
    /// `caller.name`.
    Caller(String),
    /// The instant of the operation.
    Now,
    /// The day of that instant in the model's zone.
    Today,
    /// `settings.name`.
    Setting(String),
    /// A name bound by `let`, `for`, `as`, `each`, or as the variable of a function over a list.
    Bound(String),
    /// A word that only some places know.
    Word(Word),
    /// A field of a row, an object or a group.
    Field(Box<Expr>, String),
    /// An element of a list or an entry of a map.
    Index(Box<Expr>, Box<Expr>),
    /// `!x`.
    Not(Box<Expr>),
    /// `-x`.
    Negate(Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `test ? then : otherwise`.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{a: b}`.
    Record(Vec<(String, Expr)>),
    /// A function's call, the receiver of a method first.
    Call(FunctionId, Vec<Expr>),
    /// A function that looks at each element of a list.
    Each {
        /// Which function.
        op: EachOp,
        /// The list or set.
        list: Box<Expr>,
        /// The name of an element within `body`.
        var: String,
        /// What is computed of each element.
        body: Box<Expr>,
    },
    /// `Task(a, b)` or `Task{a: b}`: the row with that key.
    Entity {
        /// Which entity.
        entity: EntityId,
        /// The key variables, in the key's order.
        key: Vec<(String, Expr)>,
    },
    /// What stands where a mistake was reported.
    Invalid,
}

/// A value written out.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// An exact decimal.
    Number(Number),
    /// Text; also a date, a time, an id or a member of an enum, as the type says.
    Text(String),
    /// `absent`.
    Absent,
}

/// Words that only some places know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// `rows`: what a `find` found.
    Rows,
    /// `source`: the row that a copy comes from.
    Source,
    /// `done`: how many rows a bulk write changed.
    Done,
    /// `request.key`: the idempotency key.
    RequestKey,
    /// `request.hash`: the hash of operation, path and body.
    RequestHash,
    /// `response.status`.
    ResponseStatus,
    /// `response.body`.
    ResponseBody,
    /// `row`: what the row became by the change after which a write runs.
    Changed,
    /// `before`: what that row was.
    Before,
}

impl Word {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Word::Rows => "rows",
            Word::Source => "source",
            Word::Done => "done",
            Word::RequestKey => "request.key",
            Word::RequestHash => "request.hash",
            Word::ResponseStatus => "response.status",
            Word::ResponseBody => "response.body",
            Word::Changed => "row",
            Word::Before => "before",
        }
    }
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, only within `round`.
    Div,
    /// `%`
    Rem,
}

impl BinaryOp {
    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::In => "in",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }

    /// Whether it asks which of two values comes first.
    pub fn is_ordering(self) -> bool {
        matches!(self, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
    }

    /// Whether it compares, and so is false (`!=`: true) with an absent operand.
    pub fn is_comparison(self) -> bool {
        self.is_ordering() || matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In)
    }

    /// The comparison that means this one with its operands swapped: `a < b` is `b > a`.
    pub fn swapped(self) -> BinaryOp {
        match self {
            BinaryOp::Lt => BinaryOp::Gt,
            BinaryOp::Le => BinaryOp::Ge,
            BinaryOp::Gt => BinaryOp::Lt,
            BinaryOp::Ge => BinaryOp::Le,
            other => other,
        }
    }
}

/// Functions that look at each element of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EachOp {
    /// Whether one holds.
    Exists,
    /// Whether all hold.
    All,
    /// What each gives.
    Map,
    /// Those that hold.
    Filter,
    /// The sum of what each gives.
    Sum,
    /// The elements by what each gives.
    Group,
}

impl Expr {
    /// What stands where a mistake was reported.
    pub fn invalid_at(span: Span) -> Expr {
        Expr {
            kind: ExprKind::Invalid,
            ty: Type::Unknown,
            optional: false,
            span,
        }
    }

    /// Calls `f` on each direct part, in the order written.
    pub fn for_each_part<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Field(a, _) | ExprKind::Not(a) | ExprKind::Negate(a) => f(a),
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => {
                f(a);
                f(b);
            }
            ExprKind::Conditional(test, then, otherwise) => {
                f(test);
                f(then);
                f(otherwise);
            }
            ExprKind::List(parts) | ExprKind::Call(_, parts) => parts.iter().for_each(f),
            ExprKind::Record(fields) | ExprKind::Entity { key: fields, .. } => {
                fields.iter().for_each(|(_, part)| f(part));
            }
            ExprKind::Each { list, body, .. } => {
                f(list);
                f(body);
            }
            ExprKind::Literal(_)
            | ExprKind::Attribute(_)
            | ExprKind::Row
            | ExprKind::Arg(_)
            | ExprKind::Caller(_)
            | ExprKind::Now
            | ExprKind::Today
            | ExprKind::Setting(_)
            | ExprKind::Bound(_)
            | ExprKind::Word(_)
            | ExprKind::Invalid => {}
        }
    }

    /// Calls `f` on the expression and on everything in it, outermost first, to change it.
    pub fn walk_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        f(self);
        match &mut self.kind {
            ExprKind::Field(a, _) | ExprKind::Not(a) | ExprKind::Negate(a) => a.walk_mut(f),
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => {
                a.walk_mut(f);
                b.walk_mut(f);
            }
            ExprKind::Conditional(test, then, otherwise) => {
                test.walk_mut(f);
                then.walk_mut(f);
                otherwise.walk_mut(f);
            }
            ExprKind::List(parts) | ExprKind::Call(_, parts) => parts.iter_mut().for_each(|part| part.walk_mut(f)),
            ExprKind::Record(fields) | ExprKind::Entity { key: fields, .. } => {
                fields.iter_mut().for_each(|(_, part)| part.walk_mut(f));
            }
            ExprKind::Each { list, body, .. } => {
                list.walk_mut(f);
                body.walk_mut(f);
            }
            ExprKind::Attribute(_)
            | ExprKind::Literal(_)
            | ExprKind::Row
            | ExprKind::Arg(_)
            | ExprKind::Caller(_)
            | ExprKind::Now
            | ExprKind::Today
            | ExprKind::Setting(_)
            | ExprKind::Bound(_)
            | ExprKind::Word(_)
            | ExprKind::Invalid => {}
        }
    }

    /// Calls `f` on the expression and on everything in it, outermost first.
    pub fn walk<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        f(self);
        self.for_each_part(&mut |part| part.walk_dyn(f));
    }

    /// Walks as [`Expr::walk`] does, without a type parameter, which would grow with each level.
    fn walk_dyn<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.for_each_part(&mut |part| part.walk_dyn(f));
    }

    /// Whether `test` holds for the expression or anything in it.
    pub fn any(&self, mut test: impl FnMut(&Expr) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |part| found = found || test(part));
        found
    }

    /// The name by which the same value is recognised elsewhere: `due_date`, `auction.leaderId`, `args.from`,
    /// `counts[args.kind]`.
    pub fn path(&self) -> Option<String> {
        Some(match &self.kind {
            ExprKind::Attribute(name) | ExprKind::Bound(name) => name.clone(),
            ExprKind::Row => "row".to_owned(),
            ExprKind::Arg(name) => format!("args.{name}"),
            ExprKind::Caller(name) => format!("caller.{name}"),
            ExprKind::Setting(name) => format!("settings.{name}"),
            ExprKind::Now => "now".to_owned(),
            ExprKind::Today => "today".to_owned(),
            ExprKind::Word(word) => word.as_str().to_owned(),
            ExprKind::Field(of, name) => format!("{}.{name}", of.path()?),
            ExprKind::Index(of, at) => format!("{}[{}]", of.path()?, at.index_path()?),
            _ => return None,
        })
    }

    fn index_path(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Literal(Literal::Text(text)) => Some(format!("{text:?}")),
            ExprKind::Literal(Literal::Number(number)) => Some(number.to_string()),
            _ => self.path(),
        }
    }

    /// The parts of a conjunction, in the order written; the expression itself where it is none.
    pub fn conjuncts(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        self.split(BinaryOp::And, &mut found);
        found
    }

    /// The branches of a disjunction, in the order written; the expression itself where it is none.
    pub fn disjuncts(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        self.split(BinaryOp::Or, &mut found);
        found
    }

    fn split<'a>(&'a self, by: BinaryOp, found: &mut Vec<&'a Expr>) {
        match &self.kind {
            ExprKind::Binary(op, left, right) if *op == by => {
                left.split(by, found);
                right.split(by, found);
            }
            _ => found.push(self),
        }
    }

    /// The attributes of the row in scope that it mentions, each once.
    pub fn attributes(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        self.walk(&mut |part| {
            if let ExprKind::Attribute(name) = &part.kind
                && !found.contains(&name.as_str())
            {
                found.push(name);
            }
        });
        found
    }

    /// The arguments that it mentions, each once.
    pub fn mentioned_arguments(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        self.walk(&mut |part| {
            if let ExprKind::Arg(name) = &part.kind
                && !found.contains(&name.as_str())
            {
                found.push(name);
            }
        });
        found
    }

    /// Whether it mentions that attribute of the row in scope.
    pub fn mentions_attribute(&self, name: &str) -> bool {
        self.any(|part| matches!(&part.kind, ExprKind::Attribute(known) if known == name))
    }

    /// Whether it is made of literals alone.
    pub fn is_constant(&self) -> bool {
        !self.any(|part| {
            let names = matches!(
                &part.kind,
                ExprKind::Attribute(_)
                    | ExprKind::Row
                    | ExprKind::Arg(_)
                    | ExprKind::Caller(_)
                    | ExprKind::Now
                    | ExprKind::Today
                    | ExprKind::Setting(_)
                    | ExprKind::Bound(_)
                    | ExprKind::Word(_)
                    | ExprKind::Entity { .. }
                    | ExprKind::Invalid
            );
            names || part.is_generated()
        })
    }

    /// Whether the request alone decides it: no row, no name that is bound outside, no row's key.
    pub fn is_of_request(&self) -> bool {
        let mut variables: Vec<&str> = Vec::new();
        let mut alone = true;
        self.walk(&mut |part| match &part.kind {
            ExprKind::Each { var, .. } => variables.push(var),
            ExprKind::Bound(name) => alone &= variables.contains(&name.as_str()),
            ExprKind::Attribute(_) | ExprKind::Row | ExprKind::Entity { .. } | ExprKind::Invalid => {
                alone = false;
            }
            // A change is known before anything is read, as a request is.
            ExprKind::Word(word) => {
                alone &= matches!(
                    word,
                    Word::RequestKey | Word::RequestHash | Word::Changed | Word::Before
                );
            }
            _ => {}
        });
        alone
    }

    /// Whether the row in scope alone decides it: the same row gives the same value at any time, for any caller.
    pub fn is_of_row(&self) -> bool {
        let mut variables: Vec<&str> = Vec::new();
        let mut alone = true;
        self.walk(&mut |part| match &part.kind {
            ExprKind::Each { var, .. } => variables.push(var),
            ExprKind::Bound(name) => alone &= variables.contains(&name.as_str()),
            ExprKind::Arg(_)
            | ExprKind::Caller(_)
            | ExprKind::Now
            | ExprKind::Today
            | ExprKind::Setting(_)
            | ExprKind::Word(_)
            | ExprKind::Entity { .. }
            | ExprKind::Invalid => alone = false,
            _ => alone &= !part.is_generated(),
        });
        alone
    }

    /// Whether it is a call that gives another value each time.
    pub fn is_generated(&self) -> bool {
        matches!(
            &self.kind,
            ExprKind::Call(
                FunctionId::Ulid | FunctionId::Ksuid | FunctionId::Uuid | FunctionId::Digits | FunctionId::Random,
                _
            )
        )
    }

    /// The literal, where it is one.
    pub fn as_literal(&self) -> Option<&Literal> {
        match &self.kind {
            ExprKind::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// Whether it is `absent`.
    pub fn is_absent(&self) -> bool {
        self.as_literal() == Some(&Literal::Absent)
    }

    /// Whether a mistake was reported in it.
    pub fn is_invalid(&self) -> bool {
        self.any(|part| part.kind == ExprKind::Invalid)
    }
}
