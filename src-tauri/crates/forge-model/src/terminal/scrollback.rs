//! The end of what a terminal printed, in bounded memory. Offsets count from the first byte, also from those that are not
//! kept any more.

use std::collections::{BTreeSet, VecDeque};

/// How many lines are kept of what a terminal printed.
pub const SCROLLBACK_LINES: usize = 10_000;
/// How many bytes at most, whatever the lines.
pub const SCROLLBACK_BYTES: usize = 2 * 1024 * 1024;

/// Modes that a program switches for as long as it has the screen: those of keys and mouse, of the cursor and of wrapping,
/// and the second screen.
const MODES: [u16; 12] = [1, 7, 25, 47, 1000, 1002, 1003, 1004, 1006, 1047, 1049, 2004];
/// Those that are on where nobody switched them.
const USUALLY_ON: [u16; 2] = [7, 25];

/// What begins a sequence.
const ESC: u8 = 0x1b;

/// Output of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The offset of the first byte.
    pub from: u64,
    /// The bytes. Before the first that is kept come the modes that were switched before it, which have no offsets.
    pub bytes: Vec<u8>,
    /// The offset behind the last byte.
    pub next: u64,
}

/// The end of what a terminal printed.
#[derive(Debug, Default)]
pub struct Scrollback {
    kept: VecDeque<u8>,
    /// The offset of the first byte that is kept.
    start: u64,
    lines: usize,
    /// Modes that are not as usual at the first byte that is kept.
    switched: BTreeSet<u16>,
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
            // Behind a line or before a sequence: the rest of one would be shown as text.
            let cut = self.kept.iter().enumerate().skip(excess).find_map(|(at, byte)| match *byte {
                b'\n' => Some(at + 1),
                ESC => Some(at),
                _ => None,
            });
            self.forget(cut.unwrap_or(excess));
        }
    }

    fn forget(&mut self, count: usize) {
        let forgotten: Vec<u8> = self.kept.drain(..count).collect();
        self.lines -= lines_in(forgotten.iter().copied());
        self.start += count as u64;
        for sequence in forgotten.split(|byte| *byte == ESC).skip(1) {
            self.switch(sequence);
        }
    }

    /// The offset behind the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.kept.len() as u64
    }

    /// Takes note of what a sequence that is forgotten switches.
    fn switch(&mut self, sequence: &[u8]) {
        if sequence.first() == Some(&b'c') {
            self.switched.clear();
            return;
        }
        let Some(rest) = sequence.strip_prefix(b"[?") else { return };
        let Some(end) = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';')) else { return };
        let on = match rest.get(end) {
            Some(b'h') => true,
            Some(b'l') => false,
            _ => return,
        };
        let modes = rest.get(..end).and_then(|modes| std::str::from_utf8(modes).ok()).unwrap_or_default();
        for mode in modes.split(';').filter_map(|mode| mode.parse().ok()).filter(|mode| MODES.contains(mode))
        {
            if on == USUALLY_ON.contains(&mode) {
                self.switched.remove(&mode);
            } else {
                self.switched.insert(mode);
            }
        }
    }

    /// At most so many bytes from an offset on, or from the first that is kept.
    #[must_use]
    pub fn read(&self, from: u64, most: usize) -> Printed {
        let mut bytes = Vec::new();
        if from < self.start {
            for mode in &self.switched {
                let how = if USUALLY_ON.contains(mode) { 'l' } else { 'h' };
                bytes.extend_from_slice(format!("\x1b[?{mode}{how}").as_bytes());
            }
        }
        let from = from.clamp(self.start, self.end());
        let skipped = usize::try_from(from - self.start).unwrap_or(usize::MAX);
        let before = bytes.len();
        bytes.extend(self.kept.iter().skip(skipped).take(most));
        let next = from + (bytes.len() - before) as u64;
        Printed { from, bytes, next }
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
        let Printed { from, bytes: kept, next } = all.read(0, usize::MAX);
        assert!(kept.starts_with(b"line 500\n"), "the oldest go");
        let at = usize::try_from(from).unwrap();
        assert_eq!(kept, printed[at..]);
        assert_eq!((all.end(), next), (printed.len() as u64, printed.len() as u64));
        let end = all.end();
        assert_eq!(all.read(end - 2, 1), Printed { from: end - 2, bytes: b"$".to_vec(), next: end - 1 });
        assert_eq!(all.read(u64::MAX, 9), Printed { from: end, bytes: Vec::new(), next: end });
    }

    #[test]
    fn bytes_that_are_too_many_go_with_the_rest_of_their_line() {
        let mut all = Scrollback::default();
        all.push(&[b'a'; 100]);
        all.push(b"\nsecond\n");
        all.push(&vec![b'x'; SCROLLBACK_BYTES - 50]);
        let Printed { from, bytes: kept, next } = all.read(0, 7);
        assert_eq!((from, kept.as_slice(), next), (101, b"second\n".as_slice(), 108));
        all.push(&vec![b'y'; SCROLLBACK_BYTES]);
        assert_eq!(all.read(0, usize::MAX).bytes, vec![b'y'; SCROLLBACK_BYTES]);
    }

    #[test]
    fn nothing_is_cut_inside_a_sequence_and_what_was_switched_before_is_told() {
        let mut all = Scrollback::default();
        all.push(b"\x1b[?1049h\x1b[?1000;1006;25;9999h\x1b[?25l\x1b[?2004h\x1b[?2004l");
        let piece = b"\x1b[12;34Hsome text";
        while all.start < 1000 {
            all.push(piece);
        }
        let told = all.read(0, usize::MAX);
        let modes = b"\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[?1049h";
        let rest = told.bytes.strip_prefix(modes).expect("the modes come first");
        assert!(rest.starts_with(piece));
        assert_eq!(told.next, all.end());
        assert!(all.read(all.start, usize::MAX).bytes.starts_with(piece), "whoever reads on knows them");
        all.push(b"\x1bc");
        all.push(&vec![b'\n'; SCROLLBACK_LINES + 1]);
        assert_eq!(all.read(0, 1).bytes, b"\n");
    }
}
