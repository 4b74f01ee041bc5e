//! Rows that come and go between the pages of a list. What each page must have cannot be said; but what is there all the while comes
//! exactly once, and nothing comes twice or is not meant.

use singlet_item::{Item, Value};
use singlet_model::model::{Read, Return, SelectionKind};
use singlet_runtime::{Request, RuntimeError, load};
use singlet_store::DeleteRequest;

use crate::VerifyError;
use crate::answer::meant_read;
use crate::bench::{Bench, Case, PAGES_MAX, Row, bench_scope};
use crate::writes::world;

/// The items of one row, and whether they are in the table now.
struct Restless {
    items: Vec<Item>,
    is_there: bool,
}

impl Bench {
    /// Walks the pages of a list while every other row comes and goes; none where the read is no plain list. The table is then as
    /// it was.
    ///
    /// # Errors
    ///
    /// What is wrong with the pages.
    pub(crate) async fn check_changing(&self, case: &Case, seed: u64) -> Option<Result<(), VerifyError>> {
        let model = self.engine().model();
        let read = model.reads.iter().find(|read| read.name == case.read)?;
        if !is_plain_list(read) || self.planner_refusal(read, &case.args).is_some() {
            return None;
        }
        let scope = bench_scope(self.engine(), case.now, &case.args, &case.caller);
        let all = meant_read(model, read, self.rows(), scope).ok()?;
        // The versions of one thing stay or change together: which one is the current one hangs on the others.
        let first_version = |at: usize| {
            let (name, row) = self.rows().get(at)?;
            let entity = model.entity_named(name).filter(|entity| entity.history.is_some())?;
            let identity = world::row_identity(model, entity.id, row);
            let is_it =
                |(known, other): &Row| known == name && world::row_identity(model, entity.id, other) == identity;
            self.rows().iter().position(is_it)
        };
        let is_restless = |at: usize| {
            let at = first_version(at).unwrap_or(at);
            (at as u64 ^ seed).count_ones().is_multiple_of(2)
        };
        let rows = self.rows().iter().enumerate();
        let kept: Vec<_> = rows
            .filter(|(at, _)| !is_restless(*at))
            .map(|(_, row)| row.clone())
            .collect();
        let kept = meant_read(model, read, &kept, scope).ok()?;
        if all.refusal.is_some() || kept.refusal.is_some() || all.rows.is_empty() {
            return None;
        }
        let mut restless = Vec::new();
        for (at, (name, row)) in self.rows().iter().enumerate() {
            let entity = model.entity_named(name).filter(|_| is_restless(at));
            if let Some(entity) = entity {
                let items = load::items_of_row(model, entity, row, scope).ok()?;
                restless.push(Restless { items, is_there: true });
            }
        }
        let walked = self.walk_changing(case, seed, &mut restless).await;
        for gone in restless.iter_mut().filter(|row| !row.is_there) {
            if let Err(error) = self.turn(gone).await {
                return Some(Err(VerifyError::Failed(format!("a row cannot be put back: {error}"))));
            }
        }
        match walked {
            // A request that asks for too much does so with every table.
            Err(RuntimeError::Request(_)) => None,
            Err(error) => Some(Err(VerifyError::Differs(format!(
                "the pages fail while rows change: {error}"
            )))),
            Ok(got) => Some(compare(
                &got,
                &all.rows.iter().cloned().map(Value::M).collect::<Vec<_>>(),
                &kept.rows,
            )),
        }
    }

    async fn walk_changing(
        &self,
        case: &Case,
        seed: u64,
        restless: &mut [Restless],
    ) -> Result<Vec<Value>, RuntimeError> {
        let mut got = Vec::new();
        let mut cursor = None;
        for page in 0..PAGES_MAX as u64 {
            let request = Request {
                args: case.args.clone(),
                caller: case.caller.clone(),
                limit: Some(case.page),
                cursor: cursor.take(),
                now: case.now,
            };
            let answer = self.engine().read(&case.read, &request).await?;
            if let Some(Value::L(rows)) = answer.value {
                got.extend(rows);
            }
            cursor = answer.next;
            if cursor.is_none() {
                return Ok(got);
            }
            for (at, row) in restless.iter_mut().enumerate() {
                let drawn = (at as u64).wrapping_mul(31).wrapping_add(page).wrapping_add(seed);
                if drawn.is_multiple_of(3) {
                    self.turn(row).await?;
                }
            }
        }
        Err(RuntimeError::Stored(format!("there are more than {PAGES_MAX} pages")))
    }

    /// Takes a row away, or puts it back.
    async fn turn(&self, row: &mut Restless) -> Result<(), RuntimeError> {
        let (model, store) = (self.engine().model(), self.engine().store());
        if row.is_there {
            for item in &row.items {
                let names = model.table.key.iter().map(|key| &key.name);
                let key = names.filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
                let request = DeleteRequest {
                    table: model.table.name.clone(),
                    key: key.collect(),
                    condition: None,
                    return_old: false,
                };
                store.delete(&request).await?;
            }
        } else {
            load::put_all(store, &model.table.name, row.items.clone(), |_| {}).await?;
        }
        row.is_there = !row.is_there;
        Ok(())
    }
}

/// Whether a read answers rows and nothing else, as many as there are.
fn is_plain_list(read: &Read) -> bool {
    let selection = read.selection.as_ref();
    let finds = selection.is_some_and(|selection| selection.kind == SelectionKind::Find && selection.limit.is_none());
    finds
        && read.each.is_none()
        && read.lets.is_empty()
        && read.with.is_empty()
        && read.empty.is_none()
        && matches!(read.returns, Return::Usual)
}

fn compare(got: &[Value], all: &[Value], kept: &[singlet_runtime::Attributes]) -> Result<(), VerifyError> {
    for (at, row) in got.iter().enumerate() {
        if !all.contains(row) {
            return Err(VerifyError::Differs(format!("a row comes that is not meant: {row:?}")));
        }
        if got.iter().skip(at + 1).any(|other| other == row) {
            return Err(VerifyError::Differs(format!(
                "a row comes twice while others change: {row:?}"
            )));
        }
    }
    let missing = kept.iter().find(|row| !got.contains(&Value::M((*row).clone())));
    match missing {
        Some(row) => Err(VerifyError::Differs(format!(
            "a row that was there all the while is on no page: {row:?}"
        ))),
        None => Ok(()),
    }
}
