use super::{Engine, Rows, Space};
use crate::error::{Failure, Outcome};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread::JoinHandle;

/// An engine whose writes go through one thread, which takes all that wait.
pub(super) struct Grouped<E: Engine> {
    engine: Arc<E>,
    queue: Option<Sender<Waiting>>,
    writer: Option<JoinHandle<()>>,
}

type Waiting = (Rows, SyncSender<Result<(), String>>);

impl<E: Engine> Grouped<E> {
    pub(super) fn new(engine: E) -> Self {
        let engine = Arc::new(engine);
        let (queue, waiting) = mpsc::channel::<Waiting>();
        let writes = Arc::clone(&engine);
        let writer = std::thread::spawn(move || {
            while let Ok(first) = waiting.recv() {
                let (rows, answers): (Vec<Rows>, Vec<_>) = std::iter::once(first).chain(waiting.try_iter()).unzip();
                let written = writes.write(&rows).map_err(|error| error.to_string());
                for answer in answers {
                    let _ = answer.send(written.clone());
                }
            }
        });
        Self {
            engine,
            queue: Some(queue),
            writer: Some(writer),
        }
    }
}

impl<E: Engine> Drop for Grouped<E> {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl<E: Engine> Space for Grouped<E> {
    fn put(&self, rows: Rows) -> Outcome<()> {
        let (answer, answered) = mpsc::sync_channel(1);
        let queue = self.queue.as_ref().ok_or_else(|| Failure("it is closed".to_owned()))?;
        queue
            .send((rows, answer))
            .map_err(|_| Failure("the writer is gone".to_owned()))?;
        answered.recv()?.map_err(Failure)
    }

    fn get(&self, key: &[u8]) -> Outcome<Option<usize>> {
        self.engine.get(key)
    }

    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize> {
        self.engine.range(from, limit)
    }

    fn compact(&self) -> Outcome<()> {
        self.engine.compact()
    }
}
