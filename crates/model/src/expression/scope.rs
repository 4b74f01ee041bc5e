//! What the names in an expression mean at one place of the model.

use std::cell::{Cell, RefCell};

use super::facts::PresenceFacts;
use super::tree::Expr;
use crate::catalog::Catalog;
use crate::source::Span;
use crate::types::{EntityId, LengthLimits, TextLimits, Type};

/// What an expression can see.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// The entities, their attributes and keys.
    pub catalog: &'a Catalog,
    /// The entity whose attributes the bare names are.
    pub attributes: Option<EntityId>,
    /// What `row` is.
    pub row: RowWord,
    /// Whether there may be no such row: then its attributes are absent.
    pub row_may_be_absent: bool,
    /// Whether that row may be missing, as one that is upserted: then only what its key says is there.
    pub row_may_be_missing: bool,
    /// The arguments; none where there is no request.
    pub args: Option<&'a Args>,
    /// The claims of the caller; none where there is no caller.
    pub caller: Option<&'a [Claim]>,
    /// The values given at deployment.
    pub settings: &'a [DeploymentSetting],
    /// The names that are bound, the innermost last.
    pub bound: Vec<BoundName>,
    /// Words that only some places know.
    pub words: Words,
    /// What the conditions around it prove.
    pub facts: PresenceFacts,
    /// What becomes of optional arguments.
    pub optional_args: OptionalArgs,
    /// What becomes of computing with an absent value.
    pub absence: Absence,
    /// Whether it stands in a key template, which knows more functions.
    pub in_key: bool,
}

/// What `row` is at some place.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowWord {
    /// There is none.
    #[default]
    None,
    /// The row whose attributes the bare names are.
    Same,
    /// Another one: a parent's, or the row that a write returns.
    Other(Type),
}

/// Words that only some places know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// The type of `rows`.
    pub rows: Option<Type>,
    /// The type of `source`.
    pub source: Option<Type>,
    /// Whether `done` is known.
    pub done: bool,
    /// Whether `request.key` and `request.hash` are known.
    pub request: WordPresence,
    /// Whether `response.status` and `response.body` are known.
    pub response: WordPresence,
    /// The type of the row that changed, in a write that runs after a change: then `row` is that row, everywhere.
    pub changed: Option<Type>,
    /// Whether `before` is known: what that row was.
    pub before: WordPresence,
}

/// Whether a word is known, and always has a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordPresence {
    /// It is not known here.
    #[default]
    No,
    /// It is known, and may be absent.
    Maybe,
    /// It is known, and always there.
    Always,
}

/// What becomes of an optional argument that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionalArgs {
    /// It must be tested first.
    #[default]
    Tested,
    /// A top-level conjunct `attribute OP args.x` is left out where `x` was not sent.
    LeftOut,
}

/// What becomes of computing with a value that may be absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absence {
    /// It must be tested first.
    #[default]
    Tested,
    /// The result may be absent too: key parts and `unique`, which then have no entry.
    Spreads,
}

/// A name bound by `let`, `for`, `as` or `each`.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundName {
    /// The name.
    pub name: String,
    /// The type of its value.
    pub ty: Type,
    /// Whether the value may be absent.
    pub optional: bool,
}

/// A claim of the caller. Claims may be missing; a comparison with a missing one is false, `!=` too.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The name after `caller.`.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A value given at deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentSetting {
    /// The name after `settings.`.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it may be left out.
    pub optional: bool,
}

impl<'a> Scope<'a> {
    /// A scope in which only `now`, `today` and the entities are known.
    pub fn new(catalog: &'a Catalog) -> Self {
        Scope {
            catalog,
            attributes: None,
            row: RowWord::None,
            row_may_be_absent: false,
            row_may_be_missing: false,
            args: None,
            caller: None,
            settings: &[],
            bound: Vec::new(),
            words: Words::default(),
            facts: PresenceFacts::default(),
            optional_args: OptionalArgs::Tested,
            absence: Absence::Tested,
            in_key: false,
        }
    }

    /// The scope with a row of `entity`, which is also `row`.
    pub fn with_row(&self, entity: EntityId) -> Scope<'a> {
        Scope {
            attributes: Some(entity),
            row: RowWord::Same,
            row_may_be_missing: false,
            ..self.clone()
        }
    }

    /// The scope with a row of `entity` that may be missing.
    pub(crate) fn with_row_maybe(&self, entity: EntityId) -> Scope<'a> {
        Scope {
            row_may_be_missing: true,
            ..self.with_row(entity)
        }
    }

    /// The scope with one more bound name.
    pub(crate) fn with_bound(&self, name: impl Into<String>, ty: Type, optional: bool) -> Scope<'a> {
        let mut scope = self.clone();
        scope.bound.push(BoundName {
            name: name.into(),
            ty,
            optional,
        });
        scope
    }

    /// The scope with what is proven where `condition` came out as `truth`.
    pub(crate) fn with_facts_of(&self, condition: &Expr, truth: bool) -> Scope<'a> {
        let mut scope = self.clone();
        scope.facts.extend(PresenceFacts::of(condition, truth));
        scope
    }

    /// The scope with optional arguments left out, as in a `where`.
    pub(crate) fn with_arguments_left_out(&self) -> Scope<'a> {
        Scope {
            optional_args: OptionalArgs::LeftOut,
            ..self.clone()
        }
    }
}

/// The arguments of an operation.
#[derive(Debug, Default)]
pub struct Args {
    list: Vec<Arg>,
}

/// One argument. The type of a path variable follows from its uses, so it changes while expressions are checked.
#[derive(Debug)]
pub struct Arg {
    /// The name after `args.`.
    pub name: String,
    /// Whether it may be left out of a request.
    pub optional: bool,
    /// Where it is declared.
    pub span: Span,
    ty: RefCell<Type>,
    inferred: bool,
    used: Cell<bool>,
}

impl Args {
    /// Adds a declared argument; a second one of that name is not added.
    pub(crate) fn declare_argument(&mut self, name: impl Into<String>, ty: Type, optional: bool, span: Span) {
        self.add(name.into(), ty, optional, span, false);
    }

    /// Adds a path variable, whose first typed use decides its type.
    pub(crate) fn declare_path_variable(&mut self, name: impl Into<String>, span: Span) {
        self.add(name.into(), Type::Unknown, false, span, true);
    }

    fn add(&mut self, name: String, ty: Type, optional: bool, span: Span, inferred: bool) {
        if self.get(&name).is_none() {
            self.list.push(Arg {
                name,
                optional,
                span,
                ty: RefCell::new(ty),
                inferred,
                used: Cell::new(false),
            });
        }
    }

    /// The argument of that name.
    pub fn get(&self, name: &str) -> Option<&Arg> {
        self.list.iter().find(|arg| arg.name == name)
    }

    /// All arguments, in the order declared.
    pub fn iter(&self) -> impl Iterator<Item = &Arg> {
        self.list.iter()
    }
}

impl Arg {
    /// Its type; unknown for a path variable that was not used yet.
    pub fn known_type(&self) -> Type {
        self.ty.borrow().clone()
    }

    /// Whether an expression mentions it.
    pub(crate) fn is_used(&self) -> bool {
        self.used.get()
    }

    /// Whether its type follows from its uses.
    pub(crate) fn is_inferred(&self) -> bool {
        self.inferred
    }

    /// Records a use that is not an expression, such as `take`.
    pub(crate) fn mark_used(&self) {
        self.used.set(true);
    }

    /// Learns from a use. Text without limits, as a claim has, gives way to anything that is more particular.
    pub fn learn_type(&self, ty: &Type) {
        if !self.inferred || matches!(ty, Type::Unknown | Type::Absent) {
            return;
        }
        let mut known = self.ty.borrow_mut();
        let vague = is_plain_text(&known) && ty.is_textual() && !is_plain_text(ty);
        if known.is_unknown() || vague {
            *known = match ty {
                Type::Now => Type::Time,
                other => other.clone(),
            };
        }
    }
}

/// Whether a type is text without limits.
pub(super) fn is_plain_text(ty: &Type) -> bool {
    let unlimited = LengthLimits::default();
    matches!(ty, Type::Text(TextLimits { length, pattern: None }) if *length == unlimited)
}
