//! The end of what a terminal printed, in bounded memory. Offsets count from the first byte, also from those that are not
//! kept any more.

use std::collections::VecDeque;

/// How many lines are kept of what a terminal printed.
pub const SCROLLBACK_LINES: usize = 10_000;
/// How many bytes at most, whatever the lines.
pub const SCROLLBACK_BYTES: usize = 2 * 1024 * 1024;

/// The end of what a terminal printed.
#[derive(Debug, Default)]
pub struct Scrollback {
    kept: VecDeque<u8>,
    /// The offset of the first byte that is kept.
    start: u64,
    lines: usize,
}

impl Scrollback {
    /// Takes what was printed, and forgets as many whole lines from the beginning as are too many.
    pub fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        self.lines += lines_in(bytes.iter().copied());
        while self.lines > SCROLLBACK_LINES {
            let line = self.kept.iter().position(|byte| *byte == b'\n').map_or(self.kept.len(), |at| at + 1);
            self.forget(line);
        }
        let excess = self.kept.len().saturating_sub(SCROLLBACK_BYTES);
        if excess > 0 {
            let line = self.kept.iter().skip(excess).position(|byte| *byte == b'\n');
            self.forget(line.map_or(excess, |at| excess + at + 1));
        }
    }

    fn forget(&mut self, count: usize) {
        self.lines -= lines_in(self.kept.drain(..count));
        self.start += count as u64;
    }

    /// The offset behind the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.kept.len() as u64
    }

    /// At most so many bytes from an offset on, or from the first that is kept; and the offset of the first.
    #[must_use]
    pub fn read(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        let from = from.clamp(self.start, self.end());
        let skipped = usize::try_from(from - self.start).unwrap_or(usize::MAX);
        (from, self.kept.iter().skip(skipped).take(most).copied().collect())
    }
}

fn lines_in(bytes: impl Iterator<Item = u8>) -> usize {
    bytes.filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_many_go_from_the_beginning_and_offsets_stay() {
        let mut all = Scrollback::default();
        let mut printed = Vec::new();
        for n in 0..SCROLLBACK_LINES + 500 {
            let line = format!("line {n}\n");
            all.push(line.as_bytes());
            printed.extend_from_slice(line.as_bytes());
        }
        all.push(b"$ ");
        printed.extend_from_slice(b"$ ");
        let (from, kept) = all.read(0, usize::MAX);
        assert!(kept.starts_with(b"line 500\n"), "the oldest go");
        let at = usize::try_from(from).unwrap();
        assert_eq!(kept, printed[at..]);
        assert_eq!(all.end(), printed.len() as u64);
        assert_eq!(all.read(all.end() - 2, 1), (all.end() - 2, b"$".to_vec()));
        assert_eq!(all.read(u64::MAX, 9), (all.end(), Vec::new()));
    }

    #[test]
    fn bytes_that_are_too_many_go_with_the_rest_of_their_line() {
        let mut all = Scrollback::default();
        all.push(&[b'a'; 100]);
        all.push(b"\nsecond\n");
        all.push(&vec![b'x'; SCROLLBACK_BYTES - 50]);
        let (from, kept) = all.read(0, 7);
        assert_eq!((from, kept.as_slice()), (101, b"second\n".as_slice()));
        all.push(&vec![b'y'; SCROLLBACK_BYTES]);
        assert_eq!(all.read(0, usize::MAX).1, vec![b'y'; SCROLLBACK_BYTES]);
    }
}
