//! Writes: one business operation each.

use super::entity::Was;
use super::read::{Argument, DocumentedClaim, Let, LetValue, Return, Route};
use super::schedule::Schedule;
use crate::expression::Expr;
use crate::source::Span;
use crate::types::EntityId;

/// One business operation.
#[derive(Clone, Debug)]
pub struct Write {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// Its arguments: path variables, declared ones, and those that `take` and `patch` make.
    pub args: Vec<Argument>,
    /// Names for values and rows.
    pub lets: Vec<Let>,
    /// The change after which it runs by itself.
    pub after: Option<Trigger>,
    /// When it runs by the clock.
    pub every: Option<Schedule>,
    /// Who may; nobody, where nobody calls it.
    pub allow: Expr,
    /// What must hold.
    pub requirements: Vec<Requirement>,
    /// The steps.
    pub steps: Vec<Step>,
    /// The answer.
    pub returns: Return,
    /// How a retry is told from a new request.
    pub idempotency: Idempotency,
    /// Whether the caller must say which version of the row is changed.
    pub if_match_required: bool,
    /// Whether it may be more than a transaction holds.
    pub bulk: bool,
    /// Of a copy that follows through the stream: whether the rows that hold it are found by an index, which may be behind.
    pub looks_again: bool,
    /// The route.
    pub http: Option<Route>,
    /// What a document says of it.
    pub claim: DocumentedClaim,
    /// The name that it had before.
    pub was: Option<Was>,
}

/// The most runs of one write after changes of one row in a minute; what comes then is taken for a loop.
pub const RUNS_PER_MINUTE_MAX: u32 = 100;

/// After changes of how many rows one process runs writes at once.
pub const TRIGGER_ROWS_AT_ONCE: usize = 16;

/// The change after which a write runs.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// What happens to a row.
    pub event: TriggerEvent,
    /// Of which entity.
    pub entity: EntityId,
    /// Whether it runs, by the change alone.
    pub when: Option<Expr>,
    /// The arguments of the write.
    pub args: Vec<(String, Expr)>,
    /// Whether a run that a rule refuses is tried again later, and is no outcome.
    pub retries_refusals: bool,
    /// Where it stands.
    pub span: Span,
}

/// What happens to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// It is created.
    Create,
    /// It is updated; only where that attribute differs, if one is named.
    Update(Option<String>),
    /// It is deleted.
    Delete,
    /// It comes to a state, or is created in it.
    Enter(String),
    /// It expires.
    Expire,
    /// The instant that an attribute of it holds comes.
    Reach(String),
}

impl TriggerEvent {
    /// The word of the language.
    pub fn word(&self) -> &'static str {
        match self {
            TriggerEvent::Create => "create",
            TriggerEvent::Update(_) => "update",
            TriggerEvent::Delete => "delete",
            TriggerEvent::Enter(_) => "enter",
            TriggerEvent::Expire => "expire",
            TriggerEvent::Reach(_) => "reach",
        }
    }
}

impl Trigger {
    /// As the model says it: `update: Auction.leaderId`.
    pub fn shown(&self, entity: &str) -> String {
        let word = self.event.word();
        match &self.event {
            TriggerEvent::Update(Some(part)) | TriggerEvent::Enter(part) | TriggerEvent::Reach(part) => {
                format!("{word}: {entity}.{part}")
            }
            TriggerEvent::Create | TriggerEvent::Update(None) | TriggerEvent::Delete | TriggerEvent::Expire => {
                format!("{word}: {entity}")
            }
        }
    }
}

impl Write {
    /// Whether nobody calls it, but only a change or the clock: then its steps know the row that changed, and nobody is there who may.
    pub fn is_uncalled(&self) -> bool {
        self.runs_by_itself() && self.http.is_none()
    }

    /// Whether it runs after a change or by the clock, whoever else may call it.
    pub fn runs_by_itself(&self) -> bool {
        self.after.is_some() || self.every.is_some()
    }

    /// Every step, those inside groups included.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        collect(&self.steps, &mut all);
        all
    }

    /// The steps of which the first that is taken changes the row whose version a caller may name.
    pub fn steps_on_versions(&self) -> impl Iterator<Item = &Step> {
        let changes = |step: &&Step| {
            matches!(
                step.kind,
                StepKind::Update(_) | StepKind::Delete(_) | StepKind::Upsert(_)
            )
        };
        self.steps.iter().filter(|step| step.repeat.is_none()).filter(changes)
    }

    /// Whether it is known before any step is taken that no other step changes a row: not so of loops, groups and named steps.
    pub fn changes_rows_by_single_steps(&self) -> bool {
        let is_single = |step: &Step| !matches!(step.kind, StepKind::Group(_) | StepKind::Call { .. });
        self.steps.iter().all(|step| step.repeat.is_none() && is_single(step))
    }
}

fn collect<'a>(steps: &'a [Step], all: &mut Vec<&'a Step>) {
    for step in steps {
        all.push(step);
        if let StepKind::Group(inner) = &step.kind {
            collect(inner, all);
        }
    }
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// What.
    pub condition: Expr,
    /// What is said when it does not.
    pub refusal: Refusal,
}

/// What is said when something does not hold.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Its name.
    pub name: String,
    /// Its status, where said.
    pub status: Option<u16>,
    /// Values that it shows.
    pub shown: Vec<(String, Expr)>,
    /// Where it stands.
    pub span: Span,
}

/// Steps that several writes share.
#[derive(Debug)]
pub struct NamedStep {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
    /// The arguments.
    pub args: Vec<Argument>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One change.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where its first word stands.
    pub span: Span,
    /// Only if.
    pub when: Option<Expr>,
    /// Once for each: the element's name and the list.
    pub repeat: Option<(String, LetValue)>,
    /// A name for the row as it becomes.
    pub named: Option<String>,
    /// New values.
    pub set: Vec<Assignment>,
    /// Numbers to add, elements to add to sets.
    pub add: Vec<Assignment>,
    /// Elements to remove from sets.
    pub remove: Vec<Assignment>,
    /// Elements to append to lists.
    pub append: Vec<Assignment>,
    /// Attributes that become arguments.
    pub take: Vec<Taken>,
    /// Attributes that become optional arguments.
    pub patch: Vec<Taken>,
    /// The element that `take` takes from.
    pub from: Option<Expr>,
    /// A move of the entity's states.
    pub moves: Option<MoveTo>,
    /// Whether the primary key may change.
    pub rekey: bool,
    /// What must hold of the row.
    pub requirements: Vec<Requirement>,
    /// What is said when the step cannot be done.
    pub refusals: Vec<(Cause, Refusal)>,
    /// Whether a step that cannot be done is passed over.
    pub or_skip: bool,
    /// The call that a document names.
    pub using: Option<UsingCall>,
}

impl Step {
    /// The entity that the step writes or looks at.
    pub fn entity(&self) -> Option<EntityId> {
        match &self.kind {
            StepKind::Create(entity) => Some(*entity),
            StepKind::Update(target)
            | StepKind::Delete(target)
            | StepKind::Upsert(target)
            | StepKind::Present(target)
            | StepKind::Absent(target) => match target.ty {
                crate::types::Type::Row(entity) => Some(entity),
                _ => None,
            },
            StepKind::Call { .. } | StepKind::Group(_) => None,
        }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// A new row.
    Create(EntityId),
    /// A change of a row that must be there.
    Update(Expr),
    /// The removal of a row that must be there.
    Delete(Expr),
    /// A create where the row is absent, else an update.
    Upsert(Expr),
    /// A row that must be there.
    Present(Expr),
    /// A row that must not be there.
    Absent(Expr),
    /// A named step.
    Call {
        /// Its name.
        step: String,
        /// Its arguments.
        args: Vec<(String, Expr)>,
    },
    /// Several steps.
    Group(Vec<Step>),
}

/// An attribute and what is put there.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The attribute.
    pub attribute: String,
    /// The entry of a map, for `"counts[args.kind]"`.
    pub entry: Option<Expr>,
    /// The value.
    pub value: Expr,
    /// Where the attribute's name stands.
    pub span: Span,
}

/// An attribute that becomes an argument.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The attribute.
    pub attribute: String,
    /// Whether it is required here though the entity has it optional.
    pub required: bool,
    /// Where it stands.
    pub span: Span,
}

/// A move of an entity's states.
#[derive(Clone, Debug)]
pub enum MoveTo {
    /// By its name.
    Named(String, Span),
    /// By its goal.
    To(Expr),
}

/// Why a step cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Any reason.
    Any,
    /// The row is missing.
    Absent,
    /// The row is there.
    Exists,
    /// The row is in another state.
    State,
    /// The row has another version.
    Version,
    /// A copy's source is not as it was.
    Source,
    /// A row that excludes this one is there.
    Excludes,
    /// An attribute's limit, a guard or a mirror, by its name.
    Named(String),
}

/// How a retry is told from a new request.
#[derive(Clone, Debug)]
pub struct Idempotency {
    /// Whether a key is needed.
    pub need: IdempotencyNeed,
    /// The status of a replayed answer.
    pub replay: Option<u64>,
    /// The caller's own id in place of the header.
    pub key: Option<Expr>,
    /// Where it stands, if it is said.
    pub span: Option<Span>,
}

/// Whether an idempotency key is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdempotencyNeed {
    /// It may be sent.
    Optional,
    /// It must be sent.
    Required,
    /// There is none.
    None,
}

/// The call that a document names for a step.
#[derive(Clone, Debug)]
pub struct UsingCall {
    /// The call.
    pub call: String,
    /// The attributes that it sets.
    pub set: Vec<(String, Span)>,
    /// Whether it has a condition.
    pub condition: bool,
    /// Where it stands.
    pub span: Span,
}
