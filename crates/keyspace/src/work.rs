//! What a caller hands in: a function over a draft, and the duty to answer it.

use crate::answer::{Promise, WorkAnswer};
use crate::draft::Draft;
use crate::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A work that waits for the writer.
pub(crate) struct Job {
    /// What it holds while it waits, as its caller says.
    pub(crate) bytes: usize,
    run: Box<dyn Work>,
}

/// A work that was run, and waits until what it saw is durable.
pub(crate) type Ran = Box<dyn FnOnce(Result<()>) + Send>;

trait Work: Send {
    /// Runs it. The second is whether its changes are to be kept.
    fn run(self: Box<Self>, draft: &mut Draft<'_>) -> (Ran, bool);
    fn refuse(self: Box<Self>, error: Error);
}

struct PromisedWork<W, R, E: From<Error>> {
    work: W,
    promise: Promise<R, E>,
}

impl Job {
    pub(crate) fn new<R, E, W>(bytes: usize, work: W) -> (Self, Arc<WorkAnswer<std::result::Result<R, E>>>)
    where
        W: FnOnce(&mut Draft<'_>) -> std::result::Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let answer = WorkAnswer::new();
        let run = Box::new(PromisedWork {
            work,
            promise: Promise::new(Arc::clone(&answer)),
        });
        (Self { bytes, run }, answer)
    }

    pub(crate) fn run(self, draft: &mut Draft<'_>) -> (Ran, bool) {
        self.run.run(draft)
    }

    pub(crate) fn refuse_job(self, error: &Error) {
        self.run.refuse(error.clone());
    }
}

impl<W, R, E> Work for PromisedWork<W, R, E>
where
    W: FnOnce(&mut Draft<'_>) -> std::result::Result<R, E> + Send + 'static,
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    fn run(self: Box<Self>, draft: &mut Draft<'_>) -> (Ran, bool) {
        let Self { work, promise } = *self;
        // A draft that a panic left half done is dropped with all that it holds.
        // Within the work: a panic that left the writer would take the works of others along.
        let done = catch_unwind(AssertUnwindSafe(|| work(draft)))
            .unwrap_or_else(|panic| Err(E::from(Error::panicked(panic_message(&*panic)))));
        let keep = done.is_ok();
        // What became of the group comes first: what the work says was seen on a state that may not be kept.
        let ran = move |durable: Result<()>| promise.keep(durable.map_err(E::from).and(done));
        (Box::new(ran), keep)
    }

    fn refuse(self: Box<Self>, error: Error) {
        self.promise.keep(Err(E::from(error)));
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
