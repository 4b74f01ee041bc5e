//! Chance that is the same in every run: a trial finds today what it found yesterday.

/// A sequence of numbers that look random (xorshift).
pub(super) struct Chance(u64);

impl Chance {
    /// A sequence that follows from a name.
    pub(super) fn named(name: &str) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Chance(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of some values, the first ones more often: they are the ordinary ones.
    pub(super) fn pick<'v, T>(&mut self, values: &'v [T]) -> Option<&'v T> {
        let count = values.len() as u64;
        let low = self.next().is_multiple_of(2);
        let at = self.next() % if low { count.clamp(1, 4) } else { count.max(1) };
        values.get(usize::try_from(at).ok()?)
    }
}
