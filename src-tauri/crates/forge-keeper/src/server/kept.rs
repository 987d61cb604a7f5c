//! One program that is kept: its process, its spool, its input, its notes and its end.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{
    ExecError, Exit, Finished, Marker, NamedProcess, OutputSink, ProcessIdentity, Stdin, Stream, Terminal,
    TerminalSize, sweep,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{calls::Calls, limits};
use crate::{
    given::Given,
    record::Content,
    spool::{Caps, Spool},
    task::{Failure, LimitHit, Spec},
    tools::Secret,
    wire::{OpenedRun, RunState},
};

/// How long a program that reached a limit has until the keeper ends it, if no engine does. An engine asks the program
/// first, by its protocol and by the end of its input.
const LIMIT_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: String,
    pub(super) task: String,
    memo: Vec<u8>,
    marker: Marker,
    pub(super) spool: Arc<Spool>,
    terminal: Option<Terminal>,
    notes: Mutex<Vec<Vec<u8>>>,
    input: tokio::sync::Mutex<FedInput>,
    stop: CancellationToken,
    kill: CancellationToken,
    identity: watch::Sender<Option<ProcessIdentity>>,
    ended: watch::Sender<Option<Result<Finished, Failure>>>,
    waiting: watch::Sender<bool>,
    /// What it shows to call tools.
    secret: Option<Secret>,
    calls: Arc<Calls>,
    /// How much an engine has read.
    read: watch::Sender<u64>,
    caps: Caps,
    /// Fired when as much was printed as is kept.
    full: CancellationToken,
    /// Whether the disk refuses what it prints.
    refused: watch::Sender<bool>,
    /// Ends the connection that follows; a later one takes its place.
    follower: Mutex<CancellationToken>,
}

/// What the program is to read.
#[derive(Debug)]
struct FedInput {
    sender: Option<mpsc::Sender<Vec<u8>>>,
    taken: u64,
    /// The messages that these bytes are.
    given: Vec<Given>,
}

impl Kept {
    pub(super) fn new(
        spec: &Spec,
        folder: &Path,
        input: Option<mpsc::Sender<Vec<u8>>>,
        caps: Caps,
        calls: Arc<Calls>,
    ) -> io::Result<Self> {
        Ok(Self {
            id: spec.id.clone(),
            task: spec.task.clone(),
            memo: spec.memo.clone(),
            marker: spec.marker.clone(),
            spool: Arc::new(Spool::new(folder)?),
            terminal: spec.terminal.map(Terminal::new),
            notes: Mutex::default(),
            input: tokio::sync::Mutex::new(FedInput { sender: input, taken: 0, given: Vec::new() }),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            identity: watch::Sender::new(None),
            ended: watch::Sender::new(None),
            waiting: watch::Sender::new(false),
            secret: spec.tools.as_ref().map(|tools| tools.secret.clone()),
            calls,
            read: watch::Sender::new(0),
            caps,
            full: CancellationToken::new(),
            refused: watch::Sender::new(false),
            follower: Mutex::default(),
        })
    }

    /// Runs the program to its end.
    pub(super) async fn run(&self, spec: &Spec, stdin: Stdin) {
        let begun = Instant::now();
        let heard = watch::Sender::new(begun);
        let mut sink = SpoolSink { kept: self, heard: &heard };
        let started = |identity| {
            self.identity.send_replace(Some(identity));
        };
        let mut command = spec.command(stdin);
        command.terminal.clone_from(&self.terminal);
        let run = forge_exec::run(command, &self.stop, started, &mut sink);
        let waiting = [self.waiting.subscribe(), self.calls.unattended()];
        let limit = async {
            let hit = tokio::select! {
                hit = limits::reached(spec.limits, waiting, &heard) => hit,
                () = self.full.cancelled() => LimitHit::Output,
            };
            let tell = async {
                if let Err(error) = self.spool.append(Content::Limit(hit), || {}).await {
                    tracing::error!(%error, "failed to say that a limit was reached");
                }
                std::future::pending::<()>().await;
            };
            // A disk that refuses the word does not lift the limit.
            tokio::select! {
                () = tell => {}
                () = tokio::time::sleep(LIMIT_PATIENCE) => {}
            }
            self.stop.cancel();
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            ended = run => Some(ended),
            () = self.kill.cancelled() => None,
            () = limit => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            // The run was dropped, which killed its family.
            None => {
                let left_behind = sweep(&self.marker, Duration::ZERO).await;
                let exit = Exit::Signal(nix::libc::SIGKILL);
                let duration = begun.elapsed();
                Ok(Finished { exit, timed_out: false, cancelled: true, duration, left_behind })
            }
        };
        self.ended.send_replace(Some(ended.map_err(|error: ExecError| Failure::of(&error))));
    }

    pub(super) fn state(&self) -> RunState {
        RunState {
            id: self.id.clone(),
            task: self.task.clone(),
            is_running: self.ended.borrow().is_none(),
            identity: self.identity.borrow().clone(),
            memo: self.memo.clone(),
        }
    }

    /// Returns once there is a process, or will never be one.
    pub(super) async fn begun(&self) {
        let (mut identity, mut ended) = (self.identity.subscribe(), self.ended.subscribe());
        // The senders are this one's own.
        tokio::select! {
            _ = identity.wait_for(Option::is_some) => {}
            _ = ended.wait_for(Option::is_some) => {}
        }
    }

    /// What became of the start. Whoever followed before gives the program nothing more.
    pub(super) async fn opened(&self, is_new: bool) -> OpenedRun {
        let given = self.input.lock().await.given.clone();
        OpenedRun {
            given,
            is_new,
            identity: self.identity.borrow().clone(),
            notes: self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            spooled: if is_new { 0 } else { *self.spool.length().borrow() },
        }
    }

    pub(super) fn end(&self) -> watch::Receiver<Option<Result<Finished, Failure>>> {
        self.ended.subscribe()
    }

    /// Whether the disk refuses what it prints, as that changes.
    pub(super) fn refused(&self) -> watch::Receiver<bool> {
        self.refused.subscribe()
    }

    /// Returns when nothing of it runs.
    pub(super) async fn ended(&self) {
        // The sender is this one's own.
        let _ = self.ended.subscribe().wait_for(Option::is_some).await;
    }

    /// Whether it runs and may call tools with this secret.
    pub(super) fn has_secret(&self, secret: &Secret) -> bool {
        self.secret.as_ref() == Some(secret) && self.ended.borrow().is_none()
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) fn kill(&self) {
        self.kill.cancel();
    }

    pub(super) fn set_waiting(&self, waits: bool) {
        self.waiting.send_replace(waits);
    }

    pub(super) fn note(&self, note: Vec<u8>) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// Gives its terminal another size. The program is gone, or has none, where that fails.
    pub(super) fn resize(&self, size: TerminalSize) {
        if let Some(Err(error)) = self.terminal.as_ref().map(|terminal| terminal.resize(size)) {
            tracing::debug!(%error, "a terminal keeps its size");
        }
    }

    /// The program in the foreground of its terminal, unless it is this one.
    pub(super) fn foreground(&self) -> Option<NamedProcess> {
        let own = self.identity.borrow().as_ref()?.pid;
        self.terminal.as_ref()?.foreground(own)
    }

    fn refuses(&self, now: bool) {
        self.refused.send_if_modified(|refused| std::mem::replace(refused, now) != now);
    }

    /// An engine has read so much.
    pub(super) fn was_read(&self, offset: u64) {
        self.read.send_if_modified(|read| {
            let is_more = offset > *read;
            *read = offset.max(*read);
            is_more
        });
    }

    /// Gives the program a message, unless it was given what is at `offset` before. Returns how much it was given in
    /// all. Waits while it does not read.
    pub(super) async fn feed(&self, offset: u64, message: &[u8]) -> u64 {
        let mut input = self.input.lock().await;
        if offset == input.taken && !message.is_empty() {
            if let Some(sender) = &input.sender {
                // One that reads no more tells why by how it ends.
                let _ = sender.send(message.to_vec()).await;
            }
            input.taken += message.len() as u64;
            if self.terminal.is_some() {
                // One that is typed to for days has too many to be told.
                input.given = vec![Given::typed(input.taken)];
            } else {
                input.given.push(Given::of(message));
            }
        }
        input.taken
    }

    /// Ends the input, once everything before `offset` was given. That of a terminal ends with its program: whoever comes
    /// next types on.
    pub(super) async fn end_input(&self, offset: u64) {
        if self.terminal.is_some() {
            return;
        }
        let mut input = self.input.lock().await;
        if input.taken >= offset {
            input.sender = None;
        }
    }

    /// Takes the place of whoever follows. The token fires when somebody else does so.
    pub(super) fn follow(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *follower, token.clone()).cancel();
        token
    }
}

struct SpoolSink<'k> {
    kept: &'k Kept,
    heard: &'k watch::Sender<Instant>,
}

#[async_trait]
impl OutputSink for SpoolSink<'_> {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let (heard, kept) = (self.heard, self.kept);
        heard.send_replace(Instant::now());
        // A disk that refuses is no silence of the program's.
        let refused = || {
            heard.send_replace(Instant::now());
            kept.refuses(true);
        };
        if kept.spool.is_full(kept.caps)? {
            kept.full.cancel();
            // What it prints while it is stopped is not kept.
            kept.stop.cancelled().await;
            return Ok(());
        }
        kept.spool.append(Content::Output(stream, bytes), refused).await?;
        kept.refuses(false);
        let length = *kept.spool.length().borrow();
        if let Some(again) = kept.caps.again {
            let read = *kept.read.borrow();
            // More is kept then, until it can be.
            if let Err(error) = kept.spool.trim(read, again).await {
                tracing::warn!(%error, "what a terminal printed long ago stays on the disk");
            }
        }
        let mut read = kept.read.subscribe();
        tokio::select! {
            // The sender is the program's own.
            _ = read.wait_for(|read| length.saturating_sub(*read) < kept.caps.unread) => {}
            // The end of a program that is stopped waits for nobody to read.
            () = kept.stop.cancelled() => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use forge_exec::Command;

    use super::*;
    use crate::{KeptRun, Limits, record};

    /// Runs a script with small caps while `act` does something.
    async fn with_caps<T>(
        script: &str,
        caps: Caps,
        act: impl AsyncFnOnce(&Kept) -> T,
    ) -> (T, Result<Finished, Failure>, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let marker = Marker(format!("caps-{}", folder.path().display()));
        let path = ("PATH".into(), "/usr/bin:/bin".into());
        let command = Command::new("sh", folder.path(), marker)
            .args(["-c", script])
            .base(Arc::new([path].into()))
            .grace(Duration::from_millis(200));
        let run = KeptRun {
            id: "a".to_owned(),
            task: "t".to_owned(),
            command,
            limits: Limits::default(),
            memo: Vec::new(),
            goes_on: false,
            tools: None,
        };
        let (spec, _) = Spec::of(run).unwrap();
        let kept = Kept::new(&spec, folder.path(), None, caps, Arc::default()).unwrap();
        let ((), done) = tokio::join!(kept.run(&spec, Stdin::Null), async {
            let done = act(&kept).await;
            kept.stop();
            done
        });
        let ended = kept.end().borrow().clone().unwrap();
        (done, ended, spooled_by(&kept))
    }

    fn spooled_by(kept: &Kept) -> Vec<u8> {
        let mut spooled = vec![0; usize::try_from(*kept.spool.length().borrow()).unwrap()];
        kept.spool.read(0, &mut spooled).unwrap();
        spooled
    }

    fn contents(mut spooled: &[u8]) -> (usize, Vec<LimitHit>) {
        let (mut printed, mut hits) = (0, Vec::new());
        while let Some((record, length)) = record::first_of(spooled).unwrap() {
            match record.content {
                Content::Output(_, bytes) => printed += bytes.len(),
                Content::Limit(hit) => hits.push(hit),
            }
            spooled = spooled.get(length..).unwrap_or_default();
        }
        (printed, hits)
    }

    #[tokio::test]
    async fn program_that_floods_waits_at_the_cap_and_the_limit_is_told() {
        let caps = Caps { whole: 1 << 20, unread: 64 << 20, again: None };
        let ((), ended, spooled) = with_caps("yes", caps, async |kept| {
            kept.full.cancelled().await;
            // The record of the limit follows.
            let is_told = || contents(&spooled_by(kept)).1 == [LimitHit::Output];
            let mut length = kept.spool.length();
            while !is_told() {
                length.changed().await.unwrap();
            }
        })
        .await;
        let (printed, hits) = contents(&spooled);
        assert!((900_000..(1 << 20) + 70_000).contains(&printed), "{printed}");
        assert_eq!(hits, [LimitHit::Output]);
        assert!(ended.unwrap().cancelled);
    }

    #[tokio::test]
    async fn program_waits_while_no_engine_reads_and_goes_on_when_one_does() {
        let caps = Caps { whole: 64 << 20, unread: 1 << 20, again: None };
        let script = "head -c 3000000 /dev/zero; echo end";
        let (waited_at, ended, spooled) = with_caps(script, caps, async |kept| {
            let mut length = kept.spool.length();
            length.wait_for(|length| *length >= 1 << 20).await.unwrap();
            // Time in which it would print all of it.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let waited_at = *length.borrow();
            kept.was_read(waited_at);
            while kept.end().borrow().is_none() {
                kept.was_read(*length.borrow_and_update());
                let mut end = kept.end();
                tokio::select! {
                    grown = length.changed() => grown.unwrap(),
                    ended = end.wait_for(Option::is_some) => drop(ended.unwrap()),
                }
            }
            waited_at
        })
        .await;
        assert!(waited_at < (1 << 20) + 70_000, "{waited_at}");
        assert!(ended.unwrap().is_success());
        assert_eq!(contents(&spooled), (3_000_004, Vec::new()));
    }
}
