//! Reads: what they mean, how they are asked for, and what documents say of them.

use super::entity::KeyTemplate;
use super::search::Matching;
use super::table::IndexId;
use super::tally::TallyUse;
use crate::expression::Expr;
use crate::source::Span;
use crate::types::{EntityId, Type};

/// One access pattern.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// Its arguments, path variables included.
    pub args: Vec<Argument>,
    /// Names for values and rows.
    pub lets: Vec<Let>,
    /// One answer for each element.
    pub each: Option<Each>,
    /// What is read; none where only `with` reads.
    pub selection: Option<Selection>,
    /// Rows that come with it.
    pub with: Vec<WithPart>,
    /// Which `with` list the pages are of.
    pub pages: Option<String>,
    /// Whether rows are answered as a bare array.
    pub bare: bool,
    /// The shape of the answer.
    pub returns: Return,
    /// Who may.
    pub allow: Expr,
    /// The route.
    pub http: Option<Route>,
    /// The instant of the version.
    pub at: Option<Expr>,
    /// Whether all versions are meant.
    pub all_versions: bool,
    /// Whether it reads strongly, and where it says so.
    pub consistent: Option<Span>,
    /// Whether it reads in one transaction.
    pub together: Option<Span>,
    /// Why it may read the whole table.
    pub scan: Option<(String, Span)>,
    /// The index that its rows are read from, and where it says so; the cheapest way, if there is none.
    pub pinned: Option<(IndexId, Span)>,
    /// Whether the order is turned round.
    pub reverse: Option<Expr>,
    /// Rows in a page.
    pub page: Option<u64>,
    /// The status when there is no row.
    pub empty: Option<u64>,
    /// Which optional arguments may be sent together.
    pub combinations: Vec<Vec<String>>,
    /// The most read units that a page may cost.
    pub budget: Option<(f64, Span)>,
    /// How many requests.
    pub requests: Option<(Bounds, Span)>,
    /// A condition written by hand.
    pub using: Option<Using>,
    /// What a document says it costs.
    pub claim: DocumentedClaim,
}

impl Read {
    /// Every selection: its own, and those that come with it.
    pub fn all_selections(&self) -> impl Iterator<Item = &Selection> {
        self.selection
            .iter()
            .chain(self.with.iter().map(|part| &part.selection))
    }

    /// The argument of that name.
    pub fn argument_named(&self, name: &str) -> Option<&Argument> {
        self.args.iter().find(|arg| arg.name == name)
    }
}

/// An argument, a setting or a parameter of a named step.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it may be left out.
    pub optional: bool,
    /// What it is when left out.
    pub default: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// A name for a value or a row.
#[derive(Clone, Debug)]
pub struct Let {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub value: LetValue,
    /// Whether it may be absent.
    pub optional: bool,
    /// Where the name stands.
    pub span: Span,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum LetValue {
    /// A value; a row, where the expression names an entity with its key.
    Value(Expr),
    /// A row or rows found by what is known of them.
    Read(Selection),
}

/// One answer for each element.
#[derive(Clone, Debug)]
pub struct Each {
    /// The element's name.
    pub name: String,
    /// The list.
    pub list: Expr,
    /// The most elements.
    pub at_most: u64,
}

/// Which rows.
#[derive(Clone, Debug)]
pub struct Selection {
    /// One row, rows, or how many.
    pub kind: SelectionKind,
    /// Of which entities.
    pub entities: Vec<EntityId>,
    /// Where the entity's name stands.
    pub span: Span,
    /// The meaning.
    pub filter: Option<Expr>,
    /// The order.
    pub order: Vec<Order>,
    /// The attributes by which rows are counted or grouped.
    pub by: Vec<String>,
    /// Sums beside a count.
    pub sums: Vec<(String, Expr)>,
    /// Rows in all.
    pub limit: Option<u64>,
    /// Whether it reads strongly.
    pub consistent: bool,
    /// The tally that answers it.
    pub tally: Option<TallyUse>,
    /// What its rows must have in their words.
    pub matching: Option<Box<Matching>>,
}

impl Selection {
    /// The entity, where there is one.
    pub fn entity(&self) -> Option<EntityId> {
        self.entities.first().copied()
    }
}

/// One row, rows, or how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionKind {
    /// One row.
    Get {
        /// Whether it may be missing.
        optional: bool,
    },
    /// Rows.
    Find,
    /// How many rows.
    Count,
}

/// An attribute by which rows come.
#[derive(Clone, Debug)]
pub struct Order {
    /// The attribute, or a path into one.
    pub path: String,
    /// Whether it descends.
    pub descending: bool,
    /// Where it stands.
    pub span: Span,
}

/// Rows that come with a read.
#[derive(Clone, Debug)]
pub struct WithPart {
    /// Their name in the answer.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// Which rows.
    pub selection: Selection,
    /// Who may, where it differs.
    pub allow: Option<Expr>,
}

/// The shape of an answer.
#[derive(Clone, Debug)]
pub enum Return {
    /// What the read or write gives by itself.
    Usual,
    /// Nothing.
    Nothing,
    /// A value.
    Value(Expr),
    /// Fields.
    Fields(Vec<(String, Expr)>),
}

/// A route.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: String,
    /// The path, variables in braces.
    pub path: String,
    /// The path's variables, in order.
    pub path_variables: Vec<String>,
    /// The query's parameters.
    pub query: Vec<(String, ParamValue)>,
    /// The status of success, where said.
    pub status: Option<u16>,
    /// Where it stands.
    pub span: Span,
}

/// What a query parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// An argument.
    Arg(String),
    /// A text that must match.
    Fixed(String),
}

/// A number or a range of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// At least.
    pub min: Option<f64>,
    /// At most.
    pub max: Option<f64>,
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => write!(out, "{min}"),
            (Some(min), Some(max)) => write!(out, "{min} to {max}"),
            (Some(min), None) => write!(out, "at least {min}"),
            (None, Some(max)) => write!(out, "at most {max}"),
            (None, None) => out.write_str("any"),
        }
    }
}

/// A condition written by hand.
#[derive(Clone, Debug)]
pub struct Using {
    /// The index; the table, if there is none.
    pub index: Option<IndexId>,
    /// A condition for each key attribute.
    pub key: Vec<UsingKey>,
    /// The filter.
    pub filter: Option<Expr>,
    /// Rows evaluated before the filter.
    pub limit: Option<(u64, Span)>,
    /// Whether it descends.
    pub descending: bool,
    /// How many such queries are said to cover the meaning.
    pub queries: Option<(u64, Span)>,
    /// Where it stands.
    pub span: Span,
}

/// A condition on one key attribute.
#[derive(Clone, Debug)]
pub struct UsingKey {
    /// The key attribute.
    pub attribute: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// Where it stands.
    pub span: Span,
}

/// How a key attribute is compared. The templates' parts are arguments and the caller, not attributes.
#[derive(Clone, Debug)]
pub enum Comparison {
    /// Equal.
    Equal(KeyTemplate),
    /// Before.
    Less(KeyTemplate),
    /// Before or equal.
    LessOrEqual(KeyTemplate),
    /// After.
    Greater(KeyTemplate),
    /// After or equal.
    GreaterOrEqual(KeyTemplate),
    /// With a prefix.
    BeginsWith(KeyTemplate),
    /// From, to, both included.
    Between(KeyTemplate, KeyTemplate),
}

/// What a document says of a read or a write.
#[derive(Clone, Debug, Default)]
pub struct DocumentedClaim {
    /// Read units.
    pub read: Option<(Bounds, Span)>,
    /// Write units.
    pub write: Option<(Bounds, Span)>,
    /// That all of it happens or nothing.
    pub atomic: Option<Span>,
    /// That one query answers it.
    pub one_query: Option<Span>,
    /// That a retry does no harm.
    pub idempotent: Option<Span>,
}
