//! Operations that are begun together: what came of them must be what some order of them comes to, one after the other.
//!
//! An operation that gave up because others were in its way has done nothing, and is in no order. Rows that a write finds, and does not
//! name, may appear while it looks (rule `rows-appear`): such writes are not drawn here, nor bulk ones, which are no transaction.

use std::sync::Arc;

use singlet_model::model::{LetValue, Step, StepKind, Write};
use singlet_runtime::{RuntimeError, Written};

use super::sequence::{Op, WriteSequence, compare_outcome, translate_error, write_named};
use super::unify::Made;
use crate::VerifyError;

/// The most operations at once: all their orders are tried.
pub const AT_ONCE_MAX: usize = 4;

/// What came of operations that were begun together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtOnce {
    /// How many were done.
    pub done: usize,
    /// How many gave up, with others in their way.
    pub gave_up: usize,
    /// Whether the order in which they were drawn explains it.
    pub in_order: bool,
}

/// Whether what a write comes to follows from rows that it names.
pub fn names_its_rows(write: &Write) -> bool {
    let names = |value: &LetValue| matches!(value, LetValue::Value(_));
    let steps = write.all_steps();
    let called = |step: &&Step| matches!(step.kind, StepKind::Call { .. });
    !write.bulk
        && write.lets.iter().all(|bound| names(&bound.value))
        && !steps.iter().any(called)
        && steps
            .iter()
            .all(|step| step.repeat.as_ref().is_none_or(|(_, list)| names(list)))
}

impl WriteSequence {
    /// Does operations at once. What they come to becomes what must be in the table.
    ///
    /// # Errors
    ///
    /// Where no order of them comes to it.
    pub async fn step_at_once(&mut self, ops: &[Op]) -> Result<AtOnce, VerifyError> {
        let mut known = Made::default();
        known.known = self.made.clone();
        let requests = ops.iter().map(|op| translate_error(&known, op.request.clone()));
        let requests: Vec<_> = requests.collect();
        let begun = ops.iter().zip(&requests).map(|(op, request)| {
            let (engine, name, request) = (Arc::clone(&self.engine), op.write.clone(), request.clone());
            tokio::spawn(async move { engine.write(&name, &request).await })
        });
        let begun: Vec<_> = begun.collect();
        let mut got: Vec<Result<Written, RuntimeError>> = Vec::new();
        for one in begun {
            got.push(
                one.await
                    .map_err(|error| VerifyError::failed("an operation does not end", error))?,
            );
        }
        let is_out = |at: &usize| matches!(got.get(*at), Some(Err(RuntimeError::Conflict)));
        let there: Vec<usize> = (0..ops.len()).filter(|at| !is_out(at)).collect();
        let mut reasons = Vec::new();
        for order in orders(&there) {
            match self.explained(ops, &requests, &got, &order).await {
                Ok((oracle, made)) => {
                    let done = got.iter().filter(|got| got.is_ok()).count();
                    self.oracle = oracle;
                    self.made.extend(made.known);
                    return Ok(AtOnce {
                        done,
                        gave_up: ops.len() - there.len(),
                        in_order: order == there,
                    });
                }
                Err(reason) => reasons.push(format!("in the order {order:?}: {reason}")),
            }
        }
        Err(VerifyError::Differs(format!(
            "no order of them comes to it\n{}",
            reasons.join("\n")
        )))
    }

    /// Whether operations in an order come to what came of them.
    async fn explained(
        &self,
        ops: &[Op],
        requests: &[singlet_runtime::WriteRequest],
        got: &[Result<Written, RuntimeError>],
        order: &[usize],
    ) -> Result<(super::oracle::Oracle, Made), VerifyError> {
        let model = Arc::clone(&self.judge);
        let mut oracle = self.oracle.clone();
        let mut made = Made::default();
        made.known = self.made.clone();
        let mut now = i64::MIN;
        for at in order {
            let (Some(op), Some(request), Some(got)) = (ops.get(*at), requests.get(*at), got.get(*at)) else {
                return Err(VerifyError::Failed("there is no such operation".to_owned()));
            };
            let write = write_named(&model, &op.write)?;
            let mut meant = oracle.meant_outcome(&model, self.engine.setting(), write, request, op.number);
            made.add_open(std::mem::take(&mut meant.made));
            compare_outcome(&mut made, &meant.outcome, got)?;
            meant.put(&made);
            oracle.accept_meant(meant);
            now = request.now.max(now);
        }
        self.compare_rows(&mut made, &oracle.rows, now).await?;
        for (_, row) in &mut oracle.rows {
            *row = made.put_row(row);
        }
        Ok((oracle, made))
    }
}

/// Every order of some numbers, the one that they are in first.
fn orders(all: &[usize]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new()];
    for _ in all {
        let longer = found.iter().flat_map(|known: &Vec<usize>| {
            let left = all.iter().filter(|at| !known.contains(at));
            left.map(|at| known.iter().copied().chain([*at]).collect::<Vec<usize>>())
        });
        found = longer.collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn every_order_is_tried_the_drawn_one_first() {
        assert_eq!(orders(&[]), [Vec::<usize>::new()]);
        assert_eq!(orders(&[3, 1]), [vec![3, 1], vec![1, 3]]);
        assert_eq!(orders(&[0, 1, 2, 3]).len(), 24);
    }
}
