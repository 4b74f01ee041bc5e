//! What stores can do that speak DynamoDB's protocol and are not DynamoDB: a table, and what of a model asks for more than that.
//!
//! A kind of store is a row of [`STORE_KINDS`]: what it lacks, each with the reason that its makers document. What a model asks of a store
//! ([`Capability`]) is told from its plans, once for all kinds.

use singlet_model::model::{Billing, IdempotencyNeed, Index, Projection, Read, Step, StepKind, Write};
use singlet_model::{Diagnostic, Diagnostics, Loaded, Model, Rule, Severity, Span};
use singlet_plan::write::{PartKind, WriteCosts, transaction_actions};

/// A kind of store.
#[derive(Debug)]
pub struct StoreKind {
    /// How it is called on the command line.
    pub name: &'static str,
    /// How it is called in a sentence.
    pub title: &'static str,
    /// What it lacks.
    lacks: &'static [Lack],
}

/// Something that a store cannot do, or does otherwise.
#[derive(Debug)]
struct Lack {
    capability: Capability,
    rule: &'static Rule,
    /// What is so there, as its makers document it.
    because: &'static str,
    help: &'static str,
}

/// Something that a model may ask of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Capability {
    /// Several items are written as one, or a write checks a row that it does not write.
    TransactionWrites,
    /// A request's record is written with what it did, where the caller sends a key for it.
    RecordsOfRequests,
    /// Several items are read as of one moment.
    TransactionReads,
    /// What runs by itself is recorded with what it did.
    RecordsOfRuns,
    /// The stream tells what happened to rows.
    Streams,
    /// An index has several attributes on a side of its key.
    MultiAttributeIndexKeys,
    /// An index holds less than whole items.
    IndexProjections,
    /// The table can be brought back as it was at any instant.
    PointInTimeRecovery,
    /// The table has a number of units a second.
    ProvisionedUnits,
}

/// A place of a model that asks for something.
struct Ask {
    span: Span,
    subject: String,
    /// What it asks for, to begin a message.
    what: String,
}

/// The kinds of stores there are. DynamoDB and the embedded store lack nothing that a model can ask for.
pub static STORE_KINDS: &[StoreKind] = &[
    StoreKind {
        name: "alternator",
        title: "Alternator",
        lacks: ALTERNATOR,
    },
    StoreKind {
        name: "dynamodb",
        title: "DynamoDB",
        lacks: &[],
    },
    StoreKind {
        name: "embedded",
        title: "the embedded store",
        lacks: &[],
    },
];

/// What ScyllaDB documents of Alternator (`docs/alternator/compatibility.md`), and the issues that it names.
static ALTERNATOR: &[Lack] = &[
    Lack {
        capability: Capability::TransactionWrites,
        rule: &NO_TRANSACTIONS,
        because: "has no `TransactWriteItems` (scylladb #5064)",
        help: "only a write that touches one item runs there: one row, without mirrors, guards or rows that it looks at",
    },
    Lack {
        capability: Capability::RecordsOfRequests,
        rule: &NO_RECORDS,
        because: "has no `TransactWriteItems` (scylladb #5064)",
        help: "a request without `Idempotency-Key` runs there; say `idempotency: none` where that is all that is meant",
    },
    Lack {
        capability: Capability::TransactionReads,
        rule: &NO_TRANSACTIONS,
        because: "has no `TransactGetItems` (scylladb #5064)",
        help: "drop `together`: each row is then read strongly by itself where the read says `consistent: true`",
    },
    Lack {
        capability: Capability::RecordsOfRuns,
        rule: &NO_TRANSACTIONS,
        because: "has no `TransactWriteItems` (scylladb #5064)",
        help: "what runs by itself is recorded in the transaction of what it does, so that it is done once: have a program of your own do it there",
    },
    Lack {
        capability: Capability::Streams,
        rule: &OTHER_STREAMS,
        because: "has streams that differ from DynamoDB's: they may have to be enabled as experimental, and removals by time are told as others (scylladb #5060)",
        help: "try what follows changes against the version that you run",
    },
    Lack {
        capability: Capability::MultiAttributeIndexKeys,
        rule: &OTHER_INDEXES,
        because: "has index keys of several attributes in its newest versions only (scylladb #27182)",
        help: "join the attributes in one: `\"{status}#{due}\"`",
    },
    Lack {
        capability: Capability::IndexProjections,
        rule: &OTHER_INDEXES,
        because: "puts whole items into every index (scylladb #5036)",
        help: "reads answer the same; the index takes the room of whole items",
    },
    Lack {
        capability: Capability::PointInTimeRecovery,
        rule: &IGNORED_SETTING,
        because: "has no point-in-time recovery",
        help: "use ScyllaDB's own backups",
    },
    Lack {
        capability: Capability::ProvisionedUnits,
        rule: &IGNORED_SETTING,
        because: "takes provisioned units and limits nothing by them",
        help: "its nodes are what it can do",
    },
];

/// The rules of this file: they are found only where a kind of store is named.
pub(crate) static RULES: &[&Rule] = &[
    &NO_TRANSACTIONS,
    &NO_RECORDS,
    &OTHER_STREAMS,
    &OTHER_INDEXES,
    &IGNORED_SETTING,
];

static NO_TRANSACTIONS: Rule = Rule {
    code: "P001",
    name: "store-without-transactions",
    severity: Severity::Error,
    page: "The store has no transactions, and something needs one.

Found by `singlet check --store alternator`. A write is a transaction as soon as it touches more than one item: mirrors, guards of unique
values, rows that are looked at or copied from, versions and the record of a request count. What runs after changes or by the clock, tallies, webhooks
and copies that follow are recorded with what they do, in one transaction each.

```yaml
entities:
  User:
    unique: {mail: lower(mail)}      # a guard beside every row
```

Way out: such a write runs on DynamoDB and on the embedded store. On a store without transactions only writes of one item run.",
};

static NO_RECORDS: Rule = Rule {
    code: "P002",
    name: "store-without-records",
    severity: Severity::Warning,
    page: "A write runs on the store only for requests without a key.

Found by `singlet check --store alternator`. A request that comes with `Idempotency-Key` is recorded in the transaction of what it does, so that it
is done once however often it is sent. The store has no transactions; a request without a key is a single conditional write, and runs.

Way out: say `idempotency: none` where callers send no key, so that one who does is told.",
};

static OTHER_STREAMS: Rule = Rule {
    code: "P003",
    name: "store-with-other-streams",
    severity: Severity::Warning,
    page: "The store's change stream is not as DynamoDB's.

Found by `singlet check --store alternator`. Streams of ScyllaDB's Alternator have many more shards, may have to be enabled as an experimental feature,
and tell a row that was removed after its time as any other removal, so that `expired` is told as `deleted`.

Way out: try lake, search and `singlet changes` against the version that you run. Nobody has tried them here.",
};

static OTHER_INDEXES: Rule = Rule {
    code: "P004",
    name: "store-with-other-indexes",
    severity: Severity::Warning,
    page: "The store keeps an index otherwise than the model says.

Found by `singlet check --store alternator`. Alternator puts whole items into every index, whatever its projection, and takes keys of several
attributes in its newest versions only.

Way out: leave the projection, and know what it takes; join the attributes of a key in one.",
};

static IGNORED_SETTING: Rule = Rule {
    code: "P005",
    name: "store-ignores-setting",
    severity: Severity::Hint,
    page: "The store has no such setting of a table.

Found by `singlet check --store alternator`. Point-in-time recovery and provisioned units are DynamoDB's; elsewhere nothing comes of them.

Way out: the store's own backups, and its own limits.",
};

/// The kind of that name.
pub fn store_kind(name: &str) -> Option<&'static StoreKind> {
    STORE_KINDS.iter().find(|kind| kind.name == name)
}

/// What of a model asks for more than a kind of store can do, beside what the design rules find.
pub fn check_for_store(loaded: Loaded, kind: &StoreKind) -> Diagnostics {
    let found = match &loaded.model {
        Some(model) if !loaded.diagnostics.has_errors() => findings_for(model, kind),
        _ => Vec::new(),
    };
    let mut diagnostics = crate::check_design(loaded);
    for finding in found {
        diagnostics.push(finding);
    }
    diagnostics
}

fn findings_for(model: &Model, kind: &StoreKind) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for lack in kind.lacks {
        for ask in asks(model, lack.capability) {
            let message = format!("{}, and {} {}", ask.what, kind.title, lack.because);
            found.push(
                Diagnostic::new(lack.rule, ask.span, message)
                    .about(ask.subject)
                    .help(lack.help),
            );
        }
    }
    found
}

/// Where a model asks for something.
fn asks(model: &Model, capability: Capability) -> Vec<Ask> {
    match capability {
        Capability::TransactionWrites => transaction_writes(model),
        Capability::RecordsOfRequests => recorded_requests(model),
        Capability::TransactionReads => {
            let reads = model.reads.iter().filter_map(|read| Some((read, read.together?)));
            let ask = |(read, span): (&Read, Span)| Ask {
                span,
                subject: read.name.clone(),
                what: format!("`{}` reads its rows in one transaction", read.name),
            };
            reads.map(ask).collect()
        }
        Capability::RecordsOfRuns => recorded_runs(model),
        Capability::Streams => {
            let ask = |_: &String| Ask {
                span: model.table.spans.stream.unwrap_or(model.table.span),
                subject: "table".to_owned(),
                what: format!("`{}` has a change stream", model.table.name),
            };
            model.table.stream.iter().map(ask).collect()
        }
        Capability::MultiAttributeIndexKeys => {
            let several = model.table.indexes.iter();
            let several = several.filter(|index| index.partition.len() > 1 || index.sort.len() > 1);
            let ask = |index: &Index| Ask {
                span: index.span,
                subject: index.name.clone(),
                what: format!("the key of index `{}` has several attributes on a side", index.name),
            };
            several.map(ask).collect()
        }
        Capability::IndexProjections => {
            let partial = model.table.indexes.iter();
            let partial = partial.filter(|index| !matches!(index.projection, Projection::All));
            let ask = |index: &Index| Ask {
                span: index.span,
                subject: index.name.clone(),
                what: format!("index `{}` holds less than whole items", index.name),
            };
            partial.map(ask).collect()
        }
        Capability::PointInTimeRecovery => {
            let span = model.table.spans.recovery.unwrap_or(model.table.span);
            let what = format!("`{}` has point-in-time recovery", model.table.name);
            of_table(model.table.recovery, span, what)
        }
        Capability::ProvisionedUnits => {
            let is_provisioned = matches!(model.table.billing, Billing::Provisioned { .. });
            let span = model.table.spans.billing.unwrap_or(model.table.span);
            of_table(
                is_provisioned,
                span,
                format!("`{}` has provisioned units", model.table.name),
            )
        }
    }
}

fn of_table(is_asked: bool, span: Span, what: String) -> Vec<Ask> {
    let ask = Ask {
        span,
        subject: "table".to_owned(),
        what,
    };
    is_asked.then_some(ask).into_iter().collect()
}

/// How many items one transaction of a write can have beside the record of its request.
fn items_beside_record(model: &Model, write: &Write) -> u64 {
    let all = transaction_actions(model, write);
    match (all, write.idempotency.need) {
        (u64::MAX, _) | (_, IdempotencyNeed::None) => all,
        (all, IdempotencyNeed::Optional | IdempotencyNeed::Required) => all.saturating_sub(1),
    }
}

/// Writes that callers call and that are more than one conditional write of one item.
fn transaction_writes(model: &Model) -> Vec<Ask> {
    let costs = WriteCosts::new(model);
    let called = model.writes.iter().filter(|write| !write.runs_by_itself());
    let ask = |write: &Write| {
        let name = &write.name;
        let items = items_beside_record(model, write);
        let what = if write.bulk {
            format!("`{name}` moves its progress on with each turn, in one transaction")
        } else if items > 1 {
            let count = match items {
                u64::MAX => "any number of items".to_owned(),
                items => format!("up to {items} items"),
            };
            let parts = written_parts(&costs, write);
            format!("`{name}` writes {count} in one transaction{parts}")
        } else if write.idempotency.need == IdempotencyNeed::Required {
            format!(
                "`{name}` needs a key for each request, and writes the record of it in one transaction with its row"
            )
        } else if only_looks(model, &write.steps) {
            format!("`{name}` only checks what is there, which is a transaction of one item")
        } else {
            return None;
        };
        Some(Ask {
            span: write.span,
            subject: name.clone(),
            what,
        })
    };
    called.filter_map(ask).collect()
}

/// What makes a write more than one item, in words.
fn written_parts<'a>(costs: &WriteCosts<'a>, write: &'a Write) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in costs.written_parts(write).iter().filter(|part| part.index.is_none()) {
        let entity = part.entity.map(|entity| entity.name.as_str());
        let word = match (part.kind, entity) {
            (PartKind::Row, Some(entity)) => format!("`{entity}`"),
            (PartKind::Guards, Some(entity)) => format!("guards of `{entity}`"),
            (PartKind::Looked, Some(entity)) => format!("`{entity}`, looked at"),
            (PartKind::Row | PartKind::Guards | PartKind::Looked, None) => "rows that are looked at".to_owned(),
            // They are counted apart.
            (PartKind::Record | PartKind::Progress, _) => continue,
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", words.join("; ")),
    }
}

/// Whether a write puts, changes and deletes nothing.
fn only_looks(model: &Model, steps: &[Step]) -> bool {
    steps.iter().all(|step| match &step.kind {
        StepKind::Present(_) | StepKind::Absent(_) => true,
        StepKind::Group(inner) => only_looks(model, inner),
        StepKind::Call { step: name, .. } => {
            let named = model.steps.iter().find(|named| named.name == *name);
            named.is_some_and(|named| only_looks(model, &named.steps))
        }
        StepKind::Create(_) | StepKind::Update(_) | StepKind::Delete(_) | StepKind::Upsert(_) => false,
    })
}

/// Writes of one item for which a caller may send a key.
fn recorded_requests(model: &Model) -> Vec<Ask> {
    let called = model
        .writes
        .iter()
        .filter(|write| !write.runs_by_itself() && !write.bulk);
    let single = called.filter(|write| {
        write.idempotency.need == IdempotencyNeed::Optional
            && items_beside_record(model, write) <= 1
            && !only_looks(model, &write.steps)
    });
    let ask = |write: &Write| Ask {
        span: write.span,
        subject: write.name.clone(),
        what: format!(
            "`{}` records a request that comes with a key, in one transaction with its row",
            write.name
        ),
    };
    single.map(ask).collect()
}

/// Everything that follows changes or a clock and writes what it did; copies that follow are such writes.
fn recorded_runs(model: &Model) -> Vec<Ask> {
    let runs = model
        .writes
        .iter()
        .filter(|write| write.runs_by_itself())
        .map(|write| Ask {
            span: write.span,
            subject: write.name.clone(),
            what: format!(
                "`{}` runs by itself, with a record of the run in its transaction",
                write.name
            ),
        });
    let webhooks = model.webhooks.iter().map(|webhook| Ask {
        span: webhook.span,
        subject: webhook.name.clone(),
        what: format!(
            "`{}` writes a delivery and a record of the change in one transaction",
            webhook.name
        ),
    });
    let tallies = model.tallies.iter().map(|tally| Ask {
        span: tally.span,
        subject: tally.name.clone(),
        what: format!(
            "tally `{}` is written in one transaction with how far changes were counted",
            tally.name
        ),
    });
    runs.chain(webhooks).chain(tallies).collect()
}
