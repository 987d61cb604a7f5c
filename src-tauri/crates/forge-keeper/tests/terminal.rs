//! A shell in a terminal, kept: it is typed to, resized, outlives its engine, and ends when it is closed.

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Finished, Marker, Stdin, Terminal, TerminalSize};
use forge_keeper::{
    KeepError, Keeper, KeptRun, KeptSink, LimitHit, Limits, NoteSender, Output, Place, Session,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixListener,
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);
const SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

#[derive(Debug, Clone, Default)]
struct Screen(watch::Sender<Vec<u8>>);

#[async_trait]
impl KeptSink for Screen {
    async fn output(&mut self, output: Output<'_>) -> std::io::Result<()> {
        self.0.send_modify(|shown| shown.extend_from_slice(output.bytes));
        Ok(())
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

impl Screen {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }

    async fn shows(&self, expected: &str) {
        let mut shown = self.0.subscribe();
        let there = shown.wait_for(|shown| String::from_utf8_lossy(shown).contains(expected));
        let waited = tokio::time::timeout(Duration::from_secs(30), there).await.map(drop);
        assert!(waited.is_ok(), "not shown: {expected:?} in {:?}", self.text());
    }
}

/// A shell that somebody types to.
struct Typed {
    keeper: Keeper,
    screen: Screen,
    input: mpsc::Sender<Vec<u8>>,
    notes: NoteSender,
    stop: CancellationToken,
    followed: JoinHandle<Result<Finished, KeepError>>,
}

#[expect(clippy::unwrap_used, reason = "a helper of a test")]
impl Typed {
    async fn open(root: &Path, epoch: u64, goes_on: bool) -> Self {
        let place = Place::Program(env!("CARGO_BIN_EXE_forge-keeper").into());
        let keeper = Keeper::new(root.join("keeper"), place, epoch, LONG);
        let (input, stdin) = mpsc::channel(8);
        let base = [("PATH".into(), "/usr/bin:/bin".into()), ("PS1".into(), "> ".into())];
        let command = Command::new("sh", root, Marker(format!("terminal-{}", root.display())))
            .base(Arc::new(base.into()))
            .stdin(Stdin::Stream(stdin))
            .in_terminal(Terminal::new(SIZE))
            .grace(Duration::from_secs(60));
        let run = KeptRun {
            id: "terminal".to_owned(),
            task: "t".to_owned(),
            command,
            limits: Limits::default(),
            memo: Vec::new(),
            goes_on,
            tools: None,
        };
        let session = keeper.open(run).await.unwrap();
        assert_eq!(session.opened().is_new, !goes_on);
        let (screen, stop, notes) = (Screen::default(), CancellationToken::new(), session.notes());
        let followed = tokio::spawn(follow(session, stop.clone(), screen.clone()));
        Self { keeper, screen, input, notes, stop, followed }
    }

    async fn types(&self, text: &str) {
        self.input.send(text.as_bytes().to_vec()).await.unwrap();
    }

    /// As if the engine were killed: nothing says goodbye.
    async fn leave(self) -> String {
        self.keeper.leave_running();
        self.followed.abort();
        let _ = self.followed.await;
        self.screen.text()
    }
}

async fn follow(
    session: Session,
    stop: CancellationToken,
    mut screen: Screen,
) -> Result<Finished, KeepError> {
    session.run(&stop, &mut screen).await
}

#[tokio::test]
async fn shell_is_typed_to_resized_and_goes_on_with_the_next_engine() {
    let root = tempfile::tempdir().unwrap();
    let first = Typed::open(root.path(), 1, false).await;
    first.types("test -t 0 -a -t 1 -a -t 2 && echo is $((40+2)); stty size\n").await;
    first.screen.shows("is 42\r\n24 80\r\n").await;
    first.notes.resize(TerminalSize { columns: 132, rows: 50 });
    first.types("stty size\n").await;
    first.screen.shows("50 132\r\n").await;
    assert_eq!(first.keeper.foreground("terminal").await.unwrap(), None, "the shell waits");
    first.types("cat\n").await;
    first.types("to cat\n").await;
    first.screen.shows("to cat\r\nto cat\r\n").await;
    let runs = first.keeper.foreground("terminal").await.unwrap();
    assert_eq!(runs.map(|it| it.name).as_deref(), Some("cat"));
    let shown = first.leave().await;

    let next = Typed::open(root.path(), 2, true).await;
    next.screen.shows(&shown).await;
    // Ctrl+C reaches the program in the foreground and not the shell.
    next.types("\x03").await;
    // A shell that is interrupted forgets what was typed before its prompt.
    next.screen.shows("^C\r\n> ").await;
    next.types("echo back; exit 3\n").await;
    next.screen.shows("back\r\n").await;
    let finished = next.followed.await.unwrap().unwrap();
    assert_eq!(finished.exit, Exit::Code(3));
    assert!(next.screen.text().starts_with(&shown), "{:?}", next.screen.text());
    next.keeper.forget("terminal").await.unwrap();
}

#[tokio::test]
async fn closed_shell_ends_at_once_with_what_it_runs() {
    let root = tempfile::tempdir().unwrap();
    let typed = Typed::open(root.path(), 1, false).await;
    typed.types("trap '' TERM; sleep 600\n").await;
    typed.screen.shows("sleep 600\r\n").await;
    typed.stop.cancel();
    let finished = tokio::time::timeout(Duration::from_secs(40), typed.followed).await;
    assert!(finished.unwrap().unwrap().unwrap().cancelled);
    let marker = format!("terminal-{}", root.path().display());
    assert_eq!(forge_exec::look().get(&marker).map_or(0, Vec::len), 0);
}

#[tokio::test]
async fn of_what_is_printed_for_long_the_end_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let first = Typed::open(root.path(), 1, false).await;
    first.types("stty -echo; seq 3000000; echo that is $((6*7))\n").await;
    first.screen.shows("that is 42\r\n").await;
    let whole = first.leave().await;
    assert!(whole.len() > 20 << 20, "{}", whole.len());

    let next = Typed::open(root.path(), 2, true).await;
    next.screen.shows("that is 42\r\n").await;
    let kept = next.screen.text();
    assert!(whole.contains(&kept), "it is the end, in one piece");
    assert!((3 << 20..5 << 20).contains(&kept.len()), "{}", kept.len());
    next.types("exit\n").await;
    next.followed.await.unwrap().unwrap();
}

#[tokio::test]
async fn keeper_that_is_older_than_terminals_is_named() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("keeper")).unwrap();
    let listener = UnixListener::bind(root.path().join("keeper/socket")).unwrap();
    // It greets, and goes at a message that it does not know.
    let older = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 512];
            let read = stream.read(&mut hello).await.unwrap();
            // `Welcome` with this protocol and a version of one letter.
            stream.write_all(&[0, 0, 0, 5, 0, 0, 5, 1, b'1']).await.unwrap();
            // The lease, which an earlier keeper grants.
            if hello[..read].len() < 40 {
                stream.write_all(&[0, 0, 0, 2, 0, 6]).await.unwrap();
                tokio::spawn(async move { stream.read(&mut [0; 64]).await });
            }
        }
    });
    let place = Place::Program("/nonexistent".into());
    let keeper = Keeper::new(root.path().join("keeper"), place, 1, LONG);
    let command = Command::new("sh", root.path(), Marker("older".to_owned()))
        .base(Arc::default())
        .in_terminal(Terminal::new(SIZE));
    let limits = Limits::default();
    let (id, task) = ("terminal".to_owned(), "t".to_owned());
    let run = KeptRun { id, task, command, limits, memo: Vec::new(), goes_on: false, tools: None };
    let refused = keeper.open(run).await.unwrap_err();
    let KeepError::NoKeeper { source, .. } = refused else { panic!("{refused}") };
    assert!(source.to_string().contains("runs no terminals"), "{source}");
    older.abort();
}
