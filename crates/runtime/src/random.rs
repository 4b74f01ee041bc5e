//! Random bytes of the system's own source, taken many at a time: asking the system takes longer than most of what they are needed for.

use std::sync::{Mutex, PoisonError};

/// Bytes that are taken at a time.
const STOCK_BYTES: usize = 1024;

/// Bytes that were taken and not given yet.
struct Stock {
    bytes: [u8; STOCK_BYTES],
    /// How many of them, from the first on, are still to be given.
    left: usize,
}

static STOCK: Mutex<Stock> = Mutex::new(Stock {
    bytes: [0; STOCK_BYTES],
    left: 0,
});

/// Bytes that nobody can guess: codes that open doors are made of them. None where the system has none.
///
/// **Invariant:** each byte is given once, and is not kept here afterwards.
pub(crate) fn random_bytes<const N: usize>() -> Option<[u8; N]> {
    const { assert!(N <= STOCK_BYTES) }
    let mut stock = STOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if stock.left < N {
        // What is left is of no use to anybody, should the system have none.
        stock.left = 0;
        getrandom::fill(&mut stock.bytes).ok()?;
        stock.left = STOCK_BYTES;
    }
    let rest = stock.left - N;
    let left = stock.left;
    let given = stock.bytes.get_mut(rest..left)?;
    let mut bytes = [0; N];
    bytes.copy_from_slice(given);
    given.fill(0);
    stock.left = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_bytes_are_given_twice_whoever_asks() {
        let given: Vec<Vec<[u8; 24]>> = std::thread::scope(|scope| {
            let ask = || (0..500).filter_map(|_| random_bytes()).collect();
            let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|asks| asks.join().unwrap()).collect()
        });
        let once: HashSet<[u8; 24]> = given.into_iter().flatten().collect();
        assert_eq!(once.len(), 2_000);
        assert!(!once.contains(&[0; 24]));
    }

    #[test]
    fn a_whole_stock_can_be_asked_for() {
        assert_ne!(random_bytes::<STOCK_BYTES>(), Some([0; STOCK_BYTES]));
        assert_ne!(random_bytes::<STOCK_BYTES>(), random_bytes());
    }
}
