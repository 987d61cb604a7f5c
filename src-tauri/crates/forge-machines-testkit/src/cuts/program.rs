//! One program that prints and reads while connections are cut, and what is checked of it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use forge_exec::{Exit, Finished, Stdin, Stream};
use forge_keeper::{Connector, Keeper, KeptRun, KeptSink, LimitHit, NoteSender, Opened, Output, Session};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::kept_script;

/// How many lines are printed at once.
const BLOCK_LINES: u64 = 70_000;

/// From one word to the next one that is sent.
const WORD_EVERY: Duration = Duration::from_millis(25);

/// How many words come with one note.
const WORDS_A_NOTE: u64 = 20;

/// A program of the course.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) id: String,
    pub(super) mark: String,
    /// Where it leaves a trace of each start and each end.
    pub(super) folder: PathBuf,
    /// How often it prints a block of numbered lines.
    pub(super) blocks: u64,
    /// How many words it is sent at most; fewer when the course ends before.
    pub(super) words: u64,
    /// The code that it ends with.
    pub(super) code: u8,
}

/// What went through one program.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    pub(super) bytes: u64,
    pub(super) words: u64,
}

impl Program {
    fn run(&self) -> (KeptRun, mpsc::Sender<Vec<u8>>) {
        let Self { id, blocks, code, .. } = self;
        let (starts, ends) = (self.trace("starts"), self.trace("ends"));
        let (starts, ends) = (starts.display(), ends.display());
        let script = format!(
            "echo >> {starts}; (i=0; while [ $i -lt {blocks} ]; do \
             seq $((i*{BLOCK_LINES})) $((i*{BLOCK_LINES}+{BLOCK_LINES}-1)); sleep 0.2; i=$((i+1)); done) & \
             while read word; do echo got $word >&2; done; wait; echo >> {ends}; exit {code}"
        );
        let mut run = kept_script(id, &self.mark, "/tmp", &script);
        let (input, stdin) = mpsc::channel(1);
        run.command.stdin = Stdin::Stream(stdin);
        (run, input)
    }

    fn trace(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}-{what}", self.id))
    }

    /// Starts the program, follows it to its end, and checks that it ran exactly once with all of its input and output.
    pub(super) async fn perform(
        &self,
        keeper: &Keeper,
        way: &dyn Connector,
        over: watch::Receiver<bool>,
    ) -> Result<Carried> {
        let (session, input) = self.open(keeper, way).await?;
        let feeding = tokio::spawn(feed(input, session.notes(), self.words, over));
        let mut checked = Checked::default();
        let finished = session.run(&CancellationToken::new(), &mut checked).await;
        let words = feeding.await?;
        let carried = Carried { bytes: checked.out.length + checked.err.length, words };
        self.check(&finished.context("its end was not told")?, &checked, words)?;
        let again = self.opened_again(keeper, way).await?;
        ensure!(!again.is_new, "it was started again");
        let given: u64 = again.given.iter().map(forge_keeper::Given::length).sum();
        let sent: usize = (0..words).map(|number| word(number).len()).sum();
        ensure!(given == sent as u64, "it was given {given} of {sent} bytes");
        let notes: Vec<Vec<u8>> = (0..words).filter_map(note).collect();
        ensure!(again.notes == notes, "{} of {} notes are kept", again.notes.len(), notes.len());
        let kept = retried(way, || keeper.runs()).await;
        let state = kept.iter().find(|run| run.id == self.id).context("it is not kept")?;
        ensure!(!state.is_running, "it runs after its end");
        retried(way, || keeper.forget(&self.id)).await;
        for what in ["starts", "ends"] {
            let trace = self.trace(what);
            let times = fs::read(&trace).with_context(|| format!("no {what}"))?.len();
            ensure!(times == 1, "{what}: {times}");
            fs::remove_file(trace)?;
        }
        Ok(carried)
    }

    fn check(&self, finished: &Finished, checked: &Checked, words: u64) -> Result<()> {
        let Checked { out, err, .. } = checked;
        let lines = self.blocks * BLOCK_LINES;
        ensure!(out.is_whole() && out.number == lines, "{} of {lines} lines were printed", out.number);
        ensure!(err.is_whole() && err.number == words, "{} of {words} words were read", err.number);
        ensure!(finished.exit == Exit::Code(i32::from(self.code)), "it ended otherwise: {finished:?}");
        ensure!(checked.lives == 1, "it was said {} times that everything earlier was told", checked.lives);
        ensure!(!finished.cancelled && !finished.timed_out, "it was ended: {finished:?}");
        Ok(())
    }

    /// Starts it, however often the machine is away just then.
    async fn open(&self, keeper: &Keeper, way: &dyn Connector) -> Result<(Session, mpsc::Sender<Vec<u8>>)> {
        loop {
            let (run, input) = self.run();
            match keeper.open(run).await {
                Ok(session) => return Ok((session, input)),
                Err(forge_keeper::KeepError::NoKeeper { .. }) => {
                    ensure!(!self.trace("starts").exists(), "it was started, and that was not told");
                    way.reachable().await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What the keeper says to whoever asks for the start again.
    async fn opened_again(&self, keeper: &Keeper, way: &dyn Connector) -> Result<Opened> {
        self.open(keeper, way).await.map(|(session, _)| session.opened().clone())
    }
}

/// Asks until the machine answers.
async fn retried<T>(way: &dyn Connector, ask: impl AsyncFn() -> io::Result<T>) -> T {
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(_) => way.reachable().await,
        }
    }
}

fn word(number: u64) -> String {
    format!("word{number}\n")
}

/// The note that goes before a word.
fn note(number: u64) -> Option<Vec<u8>> {
    number.is_multiple_of(WORDS_A_NOTE).then(|| format!("before word {number}").into_bytes())
}

/// Sends words until there are enough of them or the course is over. How many that were.
async fn feed(
    input: mpsc::Sender<Vec<u8>>,
    notes: NoteSender,
    words: u64,
    mut over: watch::Receiver<bool>,
) -> u64 {
    let mut sent = 0;
    while sent < words && !*over.borrow() {
        note(sent).into_iter().for_each(|note| notes.note(note));
        // Nobody reads any more when the check failed.
        if input.send(word(sent).into_bytes()).await.is_err() {
            break;
        }
        sent += 1;
        let _ = tokio::time::timeout(WORD_EVERY, over.wait_for(|over| *over)).await;
    }
    sent
}

/// Lines as they must come, one after the other.
#[derive(Debug)]
struct Lines {
    line: fn(u64) -> String,
    /// How many were begun.
    number: u64,
    /// What is missing of the last one.
    rest: Vec<u8>,
    /// How much came in all.
    length: u64,
}

impl Lines {
    const fn of(line: fn(u64) -> String) -> Self {
        Self { line, number: 0, rest: Vec::new(), length: 0 }
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.rest.is_empty() {
                self.rest = (self.line)(self.number).into_bytes();
                self.number += 1;
            }
            let length = self.rest.len().min(bytes.len());
            let (now, later) = bytes.split_at(length);
            if !self.rest.starts_with(now) {
                let came = String::from_utf8_lossy(bytes.get(..60).unwrap_or(bytes)).into_owned();
                let why = format!("at byte {}, in line {}, came {came:?}", self.length, self.number - 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            self.rest.drain(..length);
            self.length += length as u64;
            bytes = later;
        }
        Ok(())
    }

    const fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Compares what comes with what must come.
struct Checked {
    out: Lines,
    err: Lines,
    lives: u64,
}

impl Default for Checked {
    fn default() -> Self {
        let out = Lines::of(|number| format!("{number}\n"));
        Self { out, err: Lines::of(|number| format!("got {}", word(number))), lives: 0 }
    }
}

#[async_trait]
impl KeptSink for Checked {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        match output.stream {
            Stream::Stdout => self.out.take(output.bytes),
            Stream::Stderr => self.err.take(output.bytes),
        }
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {
        self.lives += 1;
    }
}

/// What is in a folder of the keeper besides what it always leaves.
pub(super) fn left_in(folder: &Path) -> Result<Vec<String>> {
    const OWN: &[&str] = &["lock", "keeper.log", "marks"];
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| !OWN.contains(&name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_lost_doubled_or_changed_are_seen() {
        let take = |pieces: &[&str]| {
            let mut lines = Lines::of(|number| format!("{number}\n"));
            pieces.iter().try_for_each(|piece| lines.take(piece.as_bytes())).map(|()| lines)
        };
        let whole = take(&["0\n1", "\n2\n", ""]).unwrap();
        assert!(whole.is_whole() && whole.number == 3 && whole.length == 6);
        assert!(!take(&["0\n1"]).unwrap().is_whole());
        for wrong in [["0\n", "2\n"], ["0\n", "0\n"], ["0\n1", "1\n"], ["0", "1\n"]] {
            assert!(take(&wrong).is_err(), "{wrong:?}");
        }
    }
}
