//! What is read from this terminal, on its way to the terminal that is shown: typed keys are sent, the key that leaves is
//! obeyed, and answers to questions of the past are dropped.

use std::{
    cell::Cell,
    io::{self, Read as _},
    pin::pin,
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use super::{
    Left,
    sequence::{Input, first},
};
use crate::error::CliError;

/// The most bytes that are sent at once; the engine takes four times as many.
const MOST_AT_ONCE: usize = 256 * 1024;

/// The rest of a sequence follows within this, or there is none: an Esc that was typed is delayed as long.
const REST_WITHIN: Duration = Duration::from_millis(25);

/// Whoever leaves a terminal whose program reads nothing waits for no more than this.
const LAST_WITHIN: Duration = Duration::from_millis(500);

/// What becomes of the answers that this terminal gives by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Dropped: output of the past is shown, whose programs got their answers when they asked.
    Dropped,
    /// Dropped until then, or until something else is read: that output is shown, but answers to it may be on their way.
    LateUntil(Instant),
    /// Sent.
    Sent,
}

impl Answers {
    fn are_dropped(self, now: Instant) -> bool {
        match self {
            Self::Dropped => true,
            Self::LateUntil(until) => now < until,
            Self::Sent => false,
        }
    }
}

/// Sends what is typed here, until the key that leaves the terminal. That is looked at always: while what the terminal
/// printed before is shown, when nothing else is sent, and while a program reads nothing.
pub(super) async fn pass_on(
    typed: &mut mpsc::Receiver<Vec<u8>>,
    answers: &Cell<Answers>,
    send: impl AsyncFn(Vec<u8>) -> Result<(), CliError>,
) -> Result<Left, CliError> {
    let mut keys = Keys::default();
    loop {
        if keys.waiting.is_empty() {
            if keys.leaves {
                return Ok(Left::Detached);
            }
            tokio::select! {
                biased;
                more = typed.recv() => keys.take(more, answers, Instant::now()),
                () = tokio::time::sleep(REST_WITHIN), if !keys.unfinished.is_empty() => keys.finish(),
            }
            continue;
        }
        let mut sending = pin!(send(keys.portion()));
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => break sent?,
                more = typed.recv(), if !keys.leaves => keys.take(more, answers, Instant::now()),
                () = tokio::time::sleep(LAST_WITHIN), if keys.leaves => return Ok(Left::Detached),
            }
        }
    }
}

/// What was typed and not sent yet.
#[derive(Debug, Default)]
struct Keys {
    waiting: Vec<u8>,
    /// The beginning of a sequence whose rest was not read yet.
    unfinished: Vec<u8>,
    /// The key was typed that leaves the terminal.
    leaves: bool,
}

impl Keys {
    /// Takes what is read next; nothing when nothing more comes.
    fn take(&mut self, bytes: Option<Vec<u8>>, answers: &Cell<Answers>, now: Instant) {
        let Some(bytes) = bytes else {
            self.finish();
            self.leaves = true;
            return;
        };
        let drops = answers.get().are_dropped(now);
        let mut read = std::mem::take(&mut self.unfinished);
        read.extend(bytes);
        let mut rest = read.as_slice();
        let mut has_answer = false;
        while !rest.is_empty() {
            let (input, length) = first(rest, drops);
            let (bytes, behind) = rest.split_at(length.min(rest.len()));
            match input {
                Input::Typed => self.waiting.extend_from_slice(bytes),
                Input::Answer => has_answer = true,
                Input::Unfinished => self.unfinished = bytes.to_vec(),
                Input::Detach => {
                    self.leaves = true;
                    return;
                }
            }
            rest = behind;
        }
        let is_late = matches!(answers.get(), Answers::LateUntil(_));
        if is_late && !has_answer && self.unfinished.is_empty() {
            // What is typed now may start a program, whose questions come later.
            answers.set(Answers::Sent);
        }
    }

    /// Takes the beginning of a sequence as typed, since its rest does not come.
    fn finish(&mut self) {
        self.waiting.append(&mut self.unfinished);
    }

    /// What is sent next.
    fn portion(&mut self) -> Vec<u8> {
        let length = self.waiting.len().min(MOST_AT_ONCE);
        self.waiting.drain(..length).collect()
    }
}

/// What is typed here. Read on a thread of its own, which ends with this program: a read cannot be given up.
pub(super) fn typed() -> mpsc::Receiver<Vec<u8>> {
    let (sender, typed) = mpsc::channel(64);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = io::stdin().lock().read(&mut buffer) {
            if sender.blocking_send(buffer.get(..read).unwrap_or_default().to_vec()).is_err() {
                return;
            }
        }
    });
    typed
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// What is typed, and whoever may type more.
    async fn typed(pieces: &[&[u8]]) -> (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>) {
        let (sender, typed) = mpsc::channel(8);
        for piece in pieces {
            sender.send(piece.to_vec()).await.unwrap();
        }
        (sender, typed)
    }

    /// What is sent of these reads, and whether the terminal is left.
    fn taken(pieces: &[&[u8]], answers: &Cell<Answers>) -> (Vec<u8>, bool) {
        let mut keys = Keys::default();
        for piece in pieces {
            keys.take(Some(piece.to_vec()), answers, Instant::now());
        }
        (keys.waiting, keys.leaves)
    }

    fn late() -> Answers {
        Answers::LateUntil(Instant::now() + Duration::from_secs(60))
    }

    #[tokio::test]
    async fn terminal_is_left_while_its_program_reads_nothing() {
        let (_more, mut typed) = typed(&[b"a", b"b\x1dc"]).await;
        let send = async |_: Vec<u8>| std::future::pending::<Result<(), CliError>>().await;
        let left = pass_on(&mut typed, &Cell::new(Answers::Sent), send).await;
        assert_eq!(left.unwrap(), Left::Detached);
    }

    #[tokio::test]
    async fn keys_are_sent_until_the_key_that_leaves() {
        let (_more, mut typed) = typed(&[b"ls\n\x1b[93", b";5uls"]).await;
        let sent = RefCell::new(Vec::new());
        let send = async |bytes: Vec<u8>| -> Result<(), CliError> {
            sent.borrow_mut().extend(bytes);
            Ok(())
        };
        assert_eq!(pass_on(&mut typed, &Cell::new(Answers::Sent), send).await.unwrap(), Left::Detached);
        assert_eq!(sent.into_inner(), b"ls\n");
    }

    #[tokio::test]
    async fn escape_without_a_rest_is_sent() {
        let (more, mut typed) = typed(&[b"\x1b"]).await;
        let more = RefCell::new(Some(more));
        let sent = RefCell::new(Vec::new());
        let send = async |bytes: Vec<u8>| -> Result<(), CliError> {
            sent.borrow_mut().extend(bytes);
            // Nobody types more once it has arrived.
            drop(more.take());
            Ok(())
        };
        assert_eq!(pass_on(&mut typed, &Cell::new(Answers::Sent), send).await.unwrap(), Left::Detached);
        assert_eq!(sent.into_inner(), b"\x1b");
    }

    #[test]
    fn key_that_leaves_is_known_across_reads() {
        let keys: [&[u8]; 3] = [b"\x1d", b"\x1b[27;5;93~", b"\x1b[93;5u"];
        for key in keys {
            for at in 0..key.len() {
                let (begin, rest) = key.split_at(at);
                let before = [b"a".as_slice(), begin].concat();
                let pieces = [before.as_slice(), rest];
                assert_eq!(taken(&pieces, &Cell::new(Answers::Sent)), (b"a".to_vec(), true));
            }
        }
    }

    #[test]
    fn long_paste_is_sent_in_bounded_pieces() {
        let mut keys = Keys::default();
        let pasted = vec![b'x'; MOST_AT_ONCE + 7];
        keys.take(Some(pasted), &Cell::new(Answers::Sent), Instant::now());
        assert_eq!(keys.portion().len(), MOST_AT_ONCE);
        assert_eq!(keys.portion().len(), 7);
        assert!(keys.portion().is_empty());
    }

    #[test]
    fn answers_alone_are_dropped_during_a_replay() {
        let answers = Cell::new(Answers::Dropped);
        let pieces: [&[u8]; 3] = [b"l\x1b[?1;2", b"cs\x1b]11;rgb:0/0/0\x1b", b"\\\x1b[A\n"];
        assert_eq!(taken(&pieces, &answers), (b"ls\x1b[A\n".to_vec(), false));
        assert_eq!(taken(&[b"\x1b[0n\x1d"], &answers), (Vec::new(), true));
        assert_eq!(answers.get(), Answers::Dropped);
    }

    #[test]
    fn late_answers_are_dropped_until_something_else_is_read() {
        let answers = Cell::new(late());
        assert_eq!(taken(&[b"\x1b[?1;2c", b"\x1b[2;1R"], &answers).0, b"");
        assert_eq!(taken(&[b"vim\n", b"\x1b[?1;2c"], &answers).0, b"vim\n\x1b[?1;2c");
        assert_eq!(answers.get(), Answers::Sent);
    }

    #[test]
    fn answers_are_sent_once_none_is_late() {
        let answers = Cell::new(Answers::LateUntil(Instant::now()));
        assert_eq!(taken(&[b"\x1b[?1;2c"], &answers).0, b"\x1b[?1;2c");
    }
}
