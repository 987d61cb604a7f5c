//! `forge task terminal`, in a terminal: what is typed reaches the task's shell, and leaving it leaves it open.

use std::{io, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use forge_exec::{Command, Exit, Finished, Marker, OutputSink, Stdin, Stream, Terminal, TerminalSize, run};
use forge_testkit::{Folder, program};
use serde_json::json;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Default)]
struct Screen(watch::Sender<String>);

#[async_trait]
impl OutputSink for Screen {
    async fn write(&mut self, _: Stream, bytes: &[u8]) -> io::Result<()> {
        self.0.send_modify(|shown| shown.push_str(&String::from_utf8_lossy(bytes)));
        Ok(())
    }
}

/// The program, as a person has it in a terminal.
struct Typed {
    screen: Screen,
    input: mpsc::Sender<Vec<u8>>,
    ended: JoinHandle<Result<Finished>>,
}

impl Typed {
    fn start(folder: &Folder, args: &[&str]) -> Result<Self> {
        let (input, stdin) = mpsc::channel(8);
        let described = folder.command(args)?;
        let set = |(name, value): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| {
            Some((name.to_owned(), value?.to_owned()))
        };
        let marker = Marker(format!("typed-{}", folder.dir.path().display()));
        let command = Command::new(program("forge")?, folder.dir.path(), marker)
            .args(args)
            .base(Arc::new(described.get_envs().filter_map(set).collect()))
            .stdin(Stdin::Stream(stdin))
            .in_terminal(Terminal::new(TerminalSize { columns: 90, rows: 20 }));
        let screen = Screen::default();
        let mut shown = screen.clone();
        let ended =
            tokio::spawn(
                async move { Ok(run(command, &CancellationToken::new(), |_| {}, &mut shown).await?) },
            );
        Ok(Self { screen, input, ended })
    }

    async fn shows(&self, expected: &str) -> Result<()> {
        let mut shown = self.screen.0.subscribe();
        let there = shown.wait_for(|shown| shown.contains(expected));
        let there = tokio::time::timeout(Duration::from_secs(30), there).await.map(drop);
        ensure!(there.is_ok(), "not shown: {expected:?} in {:?}", *self.screen.0.borrow());
        Ok(())
    }

    async fn types(&self, text: &str) -> Result<()> {
        self.input.send(text.as_bytes().to_vec()).await.context("it reads no more")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_of_a_task_is_typed_to_left_and_closed() -> Result<()> {
    let folder = Folder::new()?;
    let _server = folder.serve()?;
    let repo = folder.repo.path().to_string_lossy().into_owned();
    folder.run(&["project", "add", &repo, "--name", "thing"])?.succeeded()?;
    folder.run(&["agent", "add", "Writer", "--command", "echo made > made.txt"])?.succeeded()?;
    folder.run(&["task", "create", "Make", "--agent", "Writer"])?.succeeded()?;
    folder.run(&["task", "start", "1", "--wait"])?.succeeded()?;
    let refused = folder.run(&["task", "terminal", "1", "--list"])?;
    ensure!(refused.stderr.contains("terminal_remote_off"), "{refused:?}");
    folder.run(&["settings", "set", "terminal_remote", "1"])?.succeeded()?;

    let typed = Typed::start(&folder, &["task", "terminal", "1"])?;
    typed.shows("Ctrl+] leaves it").await?;
    typed.types("stty size; cat made.txt; echo is $((6*7))\r").await?;
    typed.shows("20 90\r\nmade\r\nis 42\r\n").await?;
    typed.types("\x1d").await?;
    let finished = typed.ended.await??;
    ensure!(finished.exit == Exit::Code(0), "{finished:?}: {:?}", *typed.screen.0.borrow());
    let listed = folder.json(&["task", "terminal", "1", "--list"])?;
    ensure!(listed["items"][0]["ended_at"] == json!(null), "{listed:#}");

    // The same again, with what it showed.
    let again = Typed::start(&folder, &["task", "terminal", "1"])?;
    again.shows("made\r\nis 42\r\n").await?;
    again.types("exit\r").await?;
    again.shows("Terminal 1 has ended.").await?;
    again.ended.await??;
    folder.run(&["task", "terminal", "1", "--close", "1"])?.succeeded()?;
    let listed = folder.json(&["task", "terminal", "1", "--list"])?;
    ensure!(listed["items"] == json!([]), "{listed:#}");
    Ok(())
}
