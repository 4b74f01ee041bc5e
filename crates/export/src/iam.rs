//! Policies: what the service needs of a table, and what a caller may be given of it without the service.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{IndexId, KeyTemplate, LetValue, Read, Write};
use singlet_plan::read::{Query, ReadPlan, SelectionPlan, plan_read, plan_reversed, plan_selection};
use singlet_plan::write::{RowPlan, StepPlan, plan_write};

use crate::TableDesign;

/// A policy's version of the language: without it variables are text.
const LANGUAGE: &str = "2012-10-17";
/// What stands for the partition, the region and the account of whoever the policy is given to.
const PLACE: &str = "arn:aws:dynamodb:*:*:table";

/// What the plans of a model ask of its table.
#[derive(Debug, Default)]
struct Asked {
    indexes: BTreeSet<IndexId>,
    scans: bool,
}

impl Asked {
    fn of(model: &Model) -> Self {
        let mut asked = Asked {
            // Tallies are counted anew, and words read again, from all rows.
            scans: !model.tallies.is_empty() || !model.searches.is_empty(),
            ..Asked::default()
        };
        for read in &model.reads {
            asked.add_read(model, read);
        }
        for write in &model.writes {
            asked.add_write(model, write);
        }
        asked
    }

    fn add_read(&mut self, model: &Model, read: &Read) {
        self.add_plan(&plan_read(model, read));
        if read.reverse.is_some() {
            self.add_plan(&plan_reversed(model, read).1);
        }
        for bound in &read.lets {
            self.add_let(model, &bound.value);
        }
    }

    fn add_write(&mut self, model: &Model, write: &Write) {
        for bound in &write.lets {
            self.add_let(model, &bound.value);
        }
        let plan = plan_write(model, write);
        plan.rows.values().for_each(|row| self.add_row(row));
        plan.steps.iter().for_each(|step| self.add_step(step));
    }

    fn add_let(&mut self, model: &Model, value: &LetValue) {
        if let LetValue::Read(selection) = value
            && let Some(plan) = plan_selection(model, selection, None, None, &|_| true)
        {
            self.add_selection(&plan);
        }
    }

    fn add_step(&mut self, step: &StepPlan) {
        self.add_row(&step.own);
        if let Some(rows) = &step.rows {
            self.add_selection(rows);
        }
        step.inner.iter().for_each(|inner| self.add_step(inner));
    }

    fn add_row(&mut self, row: &RowPlan) {
        if let Some(found) = &row.found {
            self.add_selection(found);
        }
    }

    fn add_plan(&mut self, plan: &ReadPlan) {
        for combination in &plan.combinations {
            let neighbours = combination.neighbours.iter().flat_map(|neighbours| &neighbours.parts);
            neighbours.for_each(|neighbour| self.add_query(&neighbour.query));
            combination.parts.iter().for_each(|part| self.add_selection(&part.plan));
        }
    }

    fn add_selection(&mut self, plan: &SelectionPlan) {
        plan.queries
            .iter()
            .chain(&plan.covers)
            .for_each(|query| self.add_query(query));
    }

    fn add_query(&mut self, query: &Query) {
        self.scans |= query.scan;
        self.indexes.extend(query.index);
    }
}

/// The policy of the service: what the plans of the model need, and what it takes to open the table.
pub fn service_policy(model: &Model, design: &TableDesign) -> Value {
    let asked = Asked::of(model);
    let table = format!("{PLACE}/{}", design.spec.name);
    let mut actions = vec![
        "BatchGetItem",
        "DescribeTable",
        "DescribeTimeToLive",
        "GetItem",
        "Query",
    ];
    if asked.scans {
        actions.push("Scan");
    }
    // The row by which the table knows its model is written, and those of models that wrote no row any more go. Processes say that they
    // are there.
    actions.extend(["PutItem", "DeleteItem", "UpdateItem"]);
    if !model.writes.is_empty() || model.has_runs() {
        actions.push("ConditionCheckItem");
    }
    actions.sort_unstable();
    let mut statements = vec![
        statement("Table", &actions, json!(table)),
        statement("WhichTables", &["ListTables"], json!("*")),
        statement(
            "TableBeside",
            &[
                "CreateTable",
                "DeleteItem",
                "DescribeTable",
                "GetItem",
                "PutItem",
                "UpdateItem",
            ],
            json!(format!("{table}.singlet")),
        ),
    ];
    let indexes = asked.indexes.iter().filter_map(|id| model.index(*id));
    let indexes: Vec<String> = indexes.map(|index| format!("{table}/index/{}", index.name)).collect();
    if !indexes.is_empty() {
        statements.push(statement("Indexes", &["Query"], json!(indexes)));
    }
    if design.spec.stream.is_some() {
        let actions = ["DescribeStream", "GetRecords", "GetShardIterator"];
        statements.push(statement("Stream", &actions, json!(format!("{table}/stream/*"))));
    }
    json!({"Version": LANGUAGE, "Statement": statements})
}

fn statement(id: &str, actions: &[&str], resource: Value) -> Value {
    let actions: Vec<String> = actions.iter().map(|action| format!("dynamodb:{action}")).collect();
    json!({"Sid": id, "Effect": "Allow", "Action": actions, "Resource": resource})
}

/// Partitions that are all of one caller's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OwnPartition {
    /// The index; the table, if there is none.
    index: Option<IndexId>,
    /// The keys, as a condition of a policy has them.
    pattern: String,
}

/// The policy of a caller who reads the table without the service, confined to partitions whose keys have the caller's id, which stands in a
/// policy as `variable`, such as `${cognito-identity.amazonaws.com:sub}`. None where the model has no such partition.
///
/// A condition on leading keys is also true of a request that has none: so nothing is allowed that works without a key, neither `Scan` nor
/// PartiQL. Nothing is written so: what the model promises is kept by the service.
pub fn caller_policy(model: &Model, design: &TableDesign, variable: &str) -> Option<Value> {
    let mut owned: BTreeSet<OwnPartition> = BTreeSet::new();
    for read in model.reads.iter().filter(|read| is_for_every_caller(read)) {
        let plan = plan_read(model, read);
        let parts = plan.combinations.iter().flat_map(|combination| &combination.parts);
        let queries = parts.flat_map(|part| &part.plan.queries);
        owned.extend(queries.filter_map(|query| own_partition(model, query, variable)));
    }
    let table = format!("{PLACE}/{}", design.spec.name);
    let places: BTreeSet<Option<IndexId>> = owned.iter().map(|own| own.index).collect();
    let statements = places.into_iter().filter_map(|place| {
        let patterns = owned.iter().filter(|own| own.index == place);
        let patterns: Vec<&str> = patterns.map(|own| own.pattern.as_str()).collect();
        let (id, actions, resource) = match place {
            None => (
                "OwnItems".to_owned(),
                &["BatchGetItem", "GetItem", "Query"][..],
                table.clone(),
            ),
            Some(index) => {
                let name = &model.index(index)?.name;
                (
                    format!("OwnEntries{}", index.0),
                    &["Query"][..],
                    format!("{table}/index/{name}"),
                )
            }
        };
        let mut statement = statement(&id, actions, json!(resource));
        let condition = json!({"ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns}});
        statement.as_object_mut()?.insert("Condition".to_owned(), condition);
        Some(statement)
    });
    let statements: Vec<Value> = statements.collect();
    (!statements.is_empty()).then(|| json!({"Version": LANGUAGE, "Statement": statements}))
}

/// Whether whoever is known may read it.
fn is_for_every_caller(read: &Read) -> bool {
    let is_known = |expr: &Expr| matches!(&expr.kind, ExprKind::Caller(name) if name == "authenticated");
    read.allow.conjuncts().iter().all(|conjunct| is_known(conjunct))
}

/// The partition of a query whose key begins with fixed text and the caller's id.
fn own_partition(model: &Model, query: &Query, variable: &str) -> Option<OwnPartition> {
    if query.scan {
        return None;
    }
    let entity = model.entity(query.entity)?;
    let key = match query.index {
        None => entity.key.get(query.choice)?.keys.first()?,
        Some(index) => {
            // A condition is on one attribute: of several on one side it would see only the first.
            let known = model.index(index).filter(|known| known.partition.len() == 1)?;
            let choice = entity.index_entry(index)?.key_choices().get(query.choice)?;
            choice.attribute_template(&known.partition.first()?.name)?
        }
    };
    let first = key.parts.first()?;
    let is_caller = |expr: &Expr| matches!(&expr.kind, ExprKind::Caller(name) if name == "id");
    let is_own = query
        .meaning
        .iter()
        .flat_map(Expr::conjuncts)
        .any(|conjunct| match &conjunct.kind {
            ExprKind::Binary(BinaryOp::Eq, left, right) => {
                let is_part = |expr: &Expr| expr.path().as_deref() == Some(first.path.as_str());
                is_part(left) && is_caller(right) || is_part(right) && is_caller(left)
            }
            _ => false,
        });
    // Another form of the id is not what the variable stands for.
    if !is_own || first.function.is_some() {
        return None;
    }
    Some(OwnPartition {
        index: query.index,
        pattern: pattern(key, model.table.delimiter, variable)?,
    })
}

/// The keys of a template as a condition has them: its text up to the id, the id, and anything where more follows. None where an id could
/// go on into what follows it, so that one caller's keys would begin as another's.
fn pattern(key: &KeyTemplate, delimiter: char, variable: &str) -> Option<String> {
    let (before, rest) = key.text.split_once('{').unwrap_or(("", "}"));
    let (_, after) = rest.split_once('}')?;
    let (fixed, more) = match after.split_once('{') {
        Some((fixed, _)) => (fixed, "*"),
        None => (after, ""),
    };
    if !more.is_empty() && !fixed.starts_with(delimiter) {
        return None;
    }
    Some(format!("{}{variable}{}{more}", escaped(before), escaped(fixed)))
}

/// Text in which nothing means something else to a policy.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '$' | '*' | '?' => {
                escaped.push_str("${");
                escaped.push(letter);
                escaped.push('}');
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}
