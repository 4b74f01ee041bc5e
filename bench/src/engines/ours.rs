use super::{CACHE_BYTES, Rows, Space};
use crate::error::Outcome;
use singlet_keyspace::{Direction, Draft, Error, Keyspace, Options};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

pub(super) struct Ours(Keyspace);

impl Ours {
    pub(super) fn open(folder: &Path) -> Outcome<Self> {
        let mut options = Options::default();
        options.cache_bytes = CACHE_BYTES;
        Ok(Self(Keyspace::open(folder, options)?))
    }
}

impl Space for Ours {
    fn put(&self, rows: Rows) -> Outcome<()> {
        let committed = self.0.commit(move |draft: &mut Draft<'_>| {
            for (key, value) in rows {
                draft.put(key, value)?;
            }
            Ok::<_, Error>(())
        });
        Ok(block_on(committed)?)
    }

    fn get(&self, key: &[u8]) -> Outcome<Option<usize>> {
        Ok(self.0.snapshot().get(key)?.map(|value| value.len()))
    }

    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize> {
        let snapshot = self.0.snapshot();
        let mut bytes = 0;
        for row in snapshot
            .range((Bound::Included(from), Bound::Unbounded), Direction::Forward)
            .take(limit)
        {
            let (key, value) = row?;
            bytes += key.len() + value.len();
        }
        Ok(bytes)
    }

    fn compact(&self) -> Outcome<()> {
        Ok(self.0.compact()?)
    }
}

/// Waits on this thread, as a caller without a runtime does.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}
