//! From a case that differs to the fewest rows and calls and the simplest values that still do.

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_runtime::{Attributes, Caller};

use super::reads::{self, ReadCase, TriedRead};
use super::table::{Judge, ProbeTable};
use super::worker::Worker;
use super::writes::{self, WriteCase};
use crate::writes::world;

/// The most variants of a case that are tried.
const TRIES_MAX: usize = 900;

/// How often everything is tried again: what became simpler may let something else go.
const ROUNDS_MAX: usize = 4;

/// A case that can be made smaller.
pub(super) trait Shrinks: Clone {
    fn table(&self) -> &ProbeTable;
    fn table_mut(&mut self) -> &mut ProbeTable;
    /// Arguments and claims of every call.
    fn bags_mut(&mut self) -> Vec<&mut Attributes>;
    /// Variants that ask less, the simplest first.
    fn simpler_calls(&self) -> Vec<Self>;
}

impl Shrinks for ReadCase {
    fn table(&self) -> &ProbeTable {
        &self.table
    }

    fn table_mut(&mut self) -> &mut ProbeTable {
        &mut self.table
    }

    fn bags_mut(&mut self) -> Vec<&mut Attributes> {
        vec![&mut self.request.args, &mut self.request.caller.claims]
    }

    fn simpler_calls(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.request.limit.is_some() {
            let mut simpler = self.clone();
            simpler.request.limit = None;
            all.push(simpler);
        }
        for name in self.request.args.keys() {
            let mut simpler = self.clone();
            simpler.request.args.remove(name);
            all.push(simpler);
        }
        for caller in fewer_claims(&self.request.caller) {
            let mut simpler = self.clone();
            simpler.request.caller = caller;
            all.push(simpler);
        }
        all
    }
}

impl Shrinks for WriteCase {
    fn table(&self) -> &ProbeTable {
        &self.table
    }

    fn table_mut(&mut self) -> &mut ProbeTable {
        &mut self.table
    }

    fn bags_mut(&mut self) -> Vec<&mut Attributes> {
        let requests = self.ops.iter_mut().map(|op| &mut op.request);
        requests
            .flat_map(|request| [&mut request.args, &mut request.caller.claims])
            .collect()
    }

    fn simpler_calls(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in (0..self.ops.len()).rev() {
            let mut simpler = self.clone();
            simpler.ops.remove(at);
            all.push(simpler);
        }
        for (at, op) in self.ops.iter().enumerate() {
            let change = |change: &dyn Fn(&mut crate::writes::Op)| {
                let mut simpler = self.clone();
                simpler.ops.get_mut(at).into_iter().for_each(change);
                simpler
            };
            if op.request.idempotency_key.is_some() {
                all.push(change(&|op| op.request.idempotency_key = None));
            }
            all.push(change(&|op| op.request.precondition = None.into()));
            for name in op.request.args.keys() {
                all.push(change(&|op| {
                    op.request.args.remove(name);
                }));
            }
            for caller in fewer_claims(&op.request.caller) {
                all.push(change(&|op| op.request.caller = caller.clone()));
            }
        }
        all
    }
}

fn fewer_claims(caller: &Caller) -> Vec<Caller> {
    let others = caller.claims.keys().filter(|name| *name != "id");
    let fewer = others.map(|name| {
        let mut fewer = caller.clone();
        fewer.claims.remove(name);
        fewer
    });
    fewer.collect()
}

/// The smallest case of a read.
pub(super) async fn smallest_read(worker: &mut Worker<'_>, tried: TriedRead<'_>, case: ReadCase) -> ReadCase {
    let judge = tried.judge;
    let mut differs = async |case: &ReadCase| {
        if worker.fill_subject(judge, &case.table).await.is_err() {
            return false;
        }
        reads::compare_read(worker, tried, case).await.difference.is_some()
    };
    smallest(judge, case, &mut differs).await
}

/// The smallest case of a write.
pub(super) async fn smallest_write(worker: &mut Worker<'_>, judge: &Judge<'_>, case: WriteCase) -> WriteCase {
    let mut differs = async |case: &WriteCase| writes::first_difference(worker, judge, case).await.is_some();
    smallest(judge, case, &mut differs).await
}

async fn smallest<C: Shrinks>(judge: &Judge<'_>, case: C, differs: &mut impl AsyncFnMut(&C) -> bool) -> C {
    let mut search = ShrinkSearch {
        judge,
        case,
        tries: TRIES_MAX,
    };
    for _ in 0..ROUNDS_MAX {
        let mut changed = search.drop_rows(differs).await;
        changed |= search.simplify_calls(differs).await;
        changed |= search.drop_attributes(differs).await;
        changed |= search.simplify_values(differs).await;
        if !changed || search.tries == 0 {
            break;
        }
    }
    search.case
}

struct ShrinkSearch<'j, C> {
    judge: &'j Judge<'j>,
    case: C,
    tries: usize,
}

impl<C: Shrinks> ShrinkSearch<'_, C> {
    /// Takes a variant, if its rows are allowed and it still differs.
    async fn take(&mut self, variant: C, differs: &mut impl AsyncFnMut(&C) -> bool) -> bool {
        if self.tries == 0 || !self.judge.allows_table(variant.table()) {
            return false;
        }
        self.tries -= 1;
        if !differs(&variant).await {
            return false;
        }
        self.case = variant;
        true
    }

    /// Halves first, then one row after the other.
    async fn drop_rows(&mut self, differs: &mut impl AsyncFnMut(&C) -> bool) -> bool {
        let before = self.case.table().rows.len();
        let mut size = before.div_ceil(2);
        while size > 0 {
            let mut at = self.case.table().rows.len();
            while at > 0 {
                let from = at.saturating_sub(size);
                let mut fewer = self.case.clone();
                fewer.table_mut().rows.drain(from..at);
                self.take(fewer, differs).await;
                at = from.min(self.case.table().rows.len());
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        self.case.table().rows.len() < before
    }

    async fn simplify_calls(&mut self, differs: &mut impl AsyncFnMut(&C) -> bool) -> bool {
        let mut changed = false;
        'again: loop {
            for variant in self.case.simpler_calls() {
                if self.take(variant, differs).await {
                    changed = true;
                    continue 'again;
                }
            }
            return changed;
        }
    }

    async fn drop_attributes(&mut self, differs: &mut impl AsyncFnMut(&C) -> bool) -> bool {
        let mut changed = false;
        for at in 0..self.case.table().rows.len() {
            let Some((id, row)) = self.case.table().rows.get(at).cloned() else {
                break;
            };
            let Some(entity) = self.judge.model.entity(id) else {
                continue;
            };
            let optional = |name: &&String| entity.attribute(name).is_some_and(|attribute| attribute.optional);
            for name in row.keys().filter(optional) {
                let mut variant = self.case.clone();
                if let Some((_, row)) = variant.table_mut().rows.get_mut(at) {
                    row.remove(name);
                }
                recompute(self.judge, variant.table_mut());
                changed |= self.take(variant, differs).await;
            }
        }
        changed
    }

    /// Puts a simpler value wherever a value stands.
    async fn simplify_values(&mut self, differs: &mut impl AsyncFnMut(&C) -> bool) -> bool {
        let mut changed = false;
        let mut copy = self.case.clone();
        let mut known: Vec<Value> = Vec::new();
        for (_, row) in &copy.table().rows {
            row.values().for_each(|value| collect(value, &mut known));
        }
        for bag in copy.bags_mut() {
            bag.values().for_each(|value| collect(value, &mut known));
        }
        for value in known {
            for simpler in simpler_values(&value) {
                let mut variant = self.case.clone();
                for (_, row) in &mut variant.table_mut().rows {
                    row.values_mut().for_each(|at| replace(at, &value, &simpler));
                }
                for bag in variant.bags_mut() {
                    bag.values_mut().for_each(|at| replace(at, &value, &simpler));
                }
                recompute(self.judge, variant.table_mut());
                if self.take(variant, differs).await {
                    changed = true;
                    break;
                }
            }
        }
        changed
    }
}

/// What follows from other attributes follows again.
fn recompute(judge: &Judge<'_>, table: &mut ProbeTable) {
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let now = table.now;
    let model: &Model = judge.model;
    for (id, row) in &mut table.rows {
        let Some(entity) = model.entity(*id) else { continue };
        if let Ok(computed) = world::compute_row(entity, row.clone(), judge.scope(now, &nothing, &nobody)) {
            *row = computed;
        }
    }
}

/// Every text and number in a value, each once.
fn collect(value: &Value, known: &mut Vec<Value>) {
    match value {
        Value::S(_) | Value::N(_) if !known.contains(value) => known.push(value.clone()),
        Value::L(elements) => elements.iter().for_each(|element| collect(element, known)),
        Value::M(fields) => fields.values().for_each(|field| collect(field, known)),
        _ => {}
    }
}

fn replace(at: &mut Value, from: &Value, to: &Value) {
    match at {
        Value::L(elements) => elements.iter_mut().for_each(|element| replace(element, from, to)),
        Value::M(fields) => fields.values_mut().for_each(|field| replace(field, from, to)),
        Value::Ss(words) => {
            if let (Value::S(from), Value::S(to)) = (from, to)
                && words.remove(from)
            {
                words.insert(to.clone());
            }
        }
        value if value == from => *value = to.clone(),
        _ => {}
    }
}

fn simpler_values(value: &Value) -> Vec<Value> {
    match value {
        Value::S(text) => {
            let chars: Vec<char> = text.chars().collect();
            let part = |from: usize, to: usize| chars.get(from..to).unwrap_or_default().iter().collect::<String>();
            let count = chars.len();
            let mut simpler: Vec<String> = Vec::new();
            if count > 1 {
                simpler.extend(["a", "b", "a@b"].map(str::to_owned));
                simpler.push("abcdefgh".chars().take(count).collect());
                simpler.extend([part(0, count.div_ceil(2)), part(count / 2, count)]);
                simpler.extend([part(0, count - 1), part(1, count)]);
                simpler.push(part(0, count / 4) + &part(count - count / 4, count));
            }
            simpler.retain(|other| other != text && other.chars().count() <= text.chars().count());
            simpler.into_iter().map(Value::S).collect()
        }
        Value::N(number) => {
            let near = [0, 1, 2].map(Number::from);
            near.into_iter().filter(|other| other < number).map(Value::N).collect()
        }
        _ => Vec::new(),
    }
}
