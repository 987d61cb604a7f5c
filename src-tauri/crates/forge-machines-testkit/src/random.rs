//! Numbers without a pattern that a seed makes again.

use std::{collections::hash_map::RandomState, hash::BuildHasher as _};

/// Numbers without a pattern. The same seed makes the same ones.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // The numbers of nearby seeds have nothing in common, and the state is never 0.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A seed that nobody chose.
    #[must_use]
    pub fn seed() -> u64 {
        RandomState::new().hash_one(0) >> 32
    }

    /// A number from 0 up to, but not including, `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
