//! A row by its key, from a store that gives it at once: most reads ask for one, and nobody waits, so no future is made for it.

use singlet_model::model::{Read, SelectionKind};

use super::read_call::ReadCall;
use super::{Answer, Engine, Request};
use crate::budget::ReadBudget;
use crate::error::RuntimeError;
use crate::keyed::Keyed;

impl Engine {
    /// Answers a read of one row by its key, where the store gives it at once. None where it is another read, or may take a while:
    /// then [`Engine::read`] answers.
    ///
    /// # Errors
    ///
    /// As [`Engine::read`].
    pub fn read_at_once(&self, name: &str, request: &Request) -> Option<Result<Answer, RuntimeError>> {
        // Where the store has nothing at hand, all that is done here would be done a second time.
        if !self.store.gives_at_once() {
            return None;
        }
        let prepared = self.reads.get(name)?;
        // A cursor has to be opened, which the long way does.
        if !is_of_one_row(&prepared.forward.read) || request.cursor.is_some() {
            return None;
        }
        let answered = || {
            let asked = self.asked(prepared, name, request)?;
            let mut call = ReadCall::new(self, &asked, request, ReadBudget::new(&self.turns, None));
            let Some(answer) = call.row_at_once()? else {
                return Ok(None);
            };
            Ok(Some(Answer {
                consumed: call.consumed,
                ..answer
            }))
        };
        answered().transpose()
    }
}

/// Whether a read is of one row, and of nothing else.
fn is_of_one_row(read: &Read) -> bool {
    let selection = read.selection.as_ref();
    selection.is_some_and(|selection| matches!(selection.kind, SelectionKind::Get { .. }))
        && read.lets.is_empty()
        && read.with.is_empty()
        && read.each.is_none()
}

impl ReadCall<'_> {
    /// The answer, if one key is asked for and the store has its item at hand.
    fn row_at_once(&mut self) -> Result<Option<Answer>, RuntimeError> {
        let combination = self.begin()?;
        // In the order of the long way, or the two would refuse differently.
        self.admit_by_rows()?;
        let (Some(selection), [part]) = (&self.read.selection, combination.parts.as_slice()) else {
            return Ok(None);
        };
        // What is to be read at one instant must not be read apart because it is faster.
        if combination.together.is_some() || combination.neighbours.is_some() {
            return Ok(None);
        }
        let row = match self
            .reading(selection, &part.plan, self.admission.to_a_row.as_ref())
            .keyed()?
        {
            Keyed::Several => return Ok(None),
            Keyed::Nothing => None,
            Keyed::Row(keyed) => match self.engine.store.get_at_once(keyed.item_lookup()) {
                Some(Ok(mut answer)) => {
                    let row = keyed.of_lookup(&mut answer)?;
                    self.consumed = answer.consumed;
                    row
                }
                // What fails may be tried again, and that takes a while.
                Some(Err(_)) | None => return Ok(None),
            },
        };
        self.answer_of(selection, row).map(Some)
    }
}
