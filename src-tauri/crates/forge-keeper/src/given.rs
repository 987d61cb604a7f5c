//! What a program was given to read, message by message.
//!
//! The keeper tells it to whoever opens the program again. An engine of another version may word a message differently:
//! it goes on behind the last message that was given, and never in the middle of one.

use serde::{Deserialize, Serialize};

/// One message that a program was given: what was fed at once. Its text may hold secrets and is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    length: u64,
    hash: u64,
}

impl Given {
    /// A message as it is told apart from others.
    #[must_use]
    pub fn of(message: &[u8]) -> Self {
        // FNV-1a: an engine of another version must come to the same number.
        let hash = message.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { length: message.len() as u64, hash }
    }

    /// All that was typed to a terminal, as one message: it is never said again, so what it was does not matter.
    pub(crate) const fn typed(length: u64) -> Self {
        Self { length, hash: 0 }
    }

    /// How long it is, in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_of_a_message_is_the_same_in_every_version() {
        assert_eq!(Given::of(b""), Given { length: 0, hash: 0xcbf2_9ce4_8422_2325 });
        assert_eq!(Given::of(b"foobar"), Given { length: 6, hash: 0x8594_4171_f739_67e8 });
    }
}
