//! A number that stands for values, the same in every process: the standard library's hashers promise that to nobody.

use std::hash::Hasher;

/// Fowler, Noll and Vo's hash of 64 bits. It tells values apart that differ by chance; it resists nobody.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
