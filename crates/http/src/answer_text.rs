//! The text of an answer: whole where it is short, else made while it is sent.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;
use singlet_item::Value;
use singlet_values::JsonPieces;

use crate::admission::{RequestBytes, SMALL_BYTES};
use crate::problem::Problem;

/// Bytes of the pieces in which a long answer is sent.
const PIECE_BYTES: usize = 32 * 1024;

/// Bytes that a value takes beside its text, about.
const VALUE_BYTES: usize = 40;

/// What is said before a value, the value, and what is said after it.
#[derive(Debug)]
pub(crate) struct AnswerText {
    before: Vec<u8>,
    pieces: JsonPieces,
    after: Vec<u8>,
    /// Bytes that the value takes in memory, about.
    weight: usize,
}

impl AnswerText {
    /// A value with nothing around it.
    pub(crate) fn of(value: Value) -> Self {
        AnswerText {
            before: Vec::new(),
            weight: weight(&value),
            pieces: JsonPieces::of(value),
            after: Vec::new(),
        }
    }

    /// Members of an object without its brackets.
    pub(crate) fn of_members(members: singlet_runtime::Attributes) -> Self {
        let each = members.iter().map(|(name, value)| name.len() + weight(value));
        AnswerText {
            before: Vec::new(),
            weight: each.sum(),
            pieces: JsonPieces::of_open_object(members),
            after: Vec::new(),
        }
    }

    /// With something around it.
    pub(crate) fn wrapped_in(self, before: &[u8], after: Vec<u8>) -> Self {
        AnswerText {
            before: before.to_vec(),
            after,
            ..self
        }
    }

    /// The body, which holds its bytes until it is sent.
    ///
    /// # Errors
    ///
    /// Where they do not fit beside what other requests hold.
    pub(crate) fn into_body(self, held: Arc<RequestBytes>) -> Result<Body, Problem> {
        held.cover_bytes(self.weight)?;
        Ok(self.sent(held))
    }

    /// The body of what was done, whatever others hold.
    pub(crate) fn into_body_anyway(self, held: Arc<RequestBytes>) -> Body {
        held.cover_anyway(self.weight);
        self.sent(held)
    }

    fn sent(mut self, held: Arc<RequestBytes>) -> Body {
        if self.weight <= SMALL_BYTES {
            let mut text = Vec::with_capacity(self.weight + self.before.len() + self.after.len());
            text.append(&mut self.before);
            self.pieces.write_more(&mut text, usize::MAX);
            text.append(&mut self.after);
            return Body::from(text);
        }
        let mut left = Some((self, held));
        Body::from_stream(stream::iter(std::iter::from_fn(move || {
            let (text, _) = left.as_mut()?;
            let mut piece = std::mem::take(&mut text.before);
            if text.pieces.write_more(&mut piece, PIECE_BYTES) {
                piece.append(&mut text.after);
                left = None;
            }
            Some(Ok::<_, Infallible>(Bytes::from(piece)))
        })))
    }
}

fn weight(value: &Value) -> usize {
    let own = match value {
        Value::S(text) => text.len(),
        Value::B(bytes) => bytes.len(),
        Value::N(_) | Value::Bool(_) | Value::Null => 0,
        Value::L(elements) => elements.iter().map(weight).sum(),
        Value::M(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
        Value::Ss(words) => words.iter().map(|word| word.len() + VALUE_BYTES).sum(),
        Value::Ns(numbers) => numbers.len() * VALUE_BYTES,
        Value::Bs(all) => all.iter().map(|bytes| bytes.len() + VALUE_BYTES).sum(),
    };
    own + VALUE_BYTES
}
