//! The connection to a machine is cut in every phase of a task and at random bytes: the task comes to what it comes to on
//! this computer, and nothing is left on the machine.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::Observer;
use forge_machines_testkit::Random;
use forge_testkit::{Sandbox, serve::marked_processes};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{
    machine_sameness::outcome,
    on_machines::{OnMachine, eventually},
    ssh_server::{Server, board},
};

/// How many tasks are cut at random.
const RANDOM_TASKS: u64 = 8;

/// How much is carried at once.
const PIECE_BYTES: usize = 16 * 1024;

/// What breaks a way, and what it has carried: bytes of both directions and of all connections.
#[derive(Debug, Default)]
struct Cuts {
    carried: AtomicU64,
    /// At how many bytes it breaks, in order.
    at: Mutex<VecDeque<u64>>,
    /// Bumped when it breaks.
    broken: watch::Sender<u64>,
}

impl Cuts {
    fn carried(&self) -> u64 {
        self.carried.load(Ordering::SeqCst)
    }

    fn happened(&self) -> u64 {
        *self.broken.borrow()
    }

    /// Breaks every connection that is open now.
    fn cut(&self) {
        self.broken.send_modify(|times| *times += 1);
    }

    fn set(&self, at: impl IntoIterator<Item = u64>) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = at.into_iter().collect();
    }

    /// Counts bytes that are about to be carried. Of those, how many still are, when it breaks there.
    fn count(&self, bytes: usize) -> Option<usize> {
        let before = self.carried.fetch_add(bytes as u64, Ordering::SeqCst);
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = *at.front()?;
        if before + (bytes as u64) < next {
            return None;
        }
        at.pop_front();
        usize::try_from(next.saturating_sub(before)).ok()
    }
}

/// A way to a port on this computer, which breaks when it is told. Returns its own port.
async fn way_to(port: u16, cuts: Arc<Cuts>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let cuts = Arc::clone(&cuts);
            tokio::spawn(async move {
                let mut broken = cuts.broken.subscribe();
                let joined = async {
                    let far = TcpStream::connect(("127.0.0.1", port)).await?;
                    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
                    tokio::try_join!(carry(from_near, to_far, &cuts), carry(from_far, to_near, &cuts))
                };
                tokio::select! {
                    // Either end sees that the other one is gone.
                    _ = joined => {}
                    _ = broken.changed() => {}
                }
            });
        }
    });
    Ok(own)
}

async fn carry(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    cuts: &Cuts,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        let last = cuts.count(read);
        to.write_all(piece.get(..last.unwrap_or(read)).unwrap_or(&piece)).await?;
        if last.is_some() {
            cuts.cut();
        }
    }
}

/// Cuts a way when the engine passes a point for the n-th time.
#[derive(Debug)]
struct CutAt {
    cuts: Arc<Cuts>,
    armed: Mutex<Option<(String, u32)>>,
    passed: Mutex<Vec<String>>,
}

impl Observer for CutAt {
    fn at(&self, point: &str) {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).push(point.to_owned());
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((wanted, left)) = armed.as_mut()
            && wanted == point
        {
            *left -= 1;
            if *left == 0 {
                *armed = None;
                self.cuts.cut();
            }
        }
    }
}

/// A board whose machine is reached by a way that breaks, and one without a machine.
struct Pair {
    far: OnMachine,
    near: Sandbox,
    cuts: Arc<Cuts>,
    points: Arc<CutAt>,
    /// How many tasks there were.
    tasks: u32,
    _near_server: (tempfile::TempDir, Server),
}

impl Pair {
    async fn new() -> Result<Option<Self>> {
        let (folder, near_folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let Some(server) = Server::start(folder.path())? else { return Ok(None) };
        let Some(near_server) = Server::start(near_folder.path())? else { return Ok(None) };
        let checks = json!({ "review_config": { "ci_steps": ["ls -a; git ls-files -s"] } });
        let cuts = Arc::<Cuts>::default();
        let port = way_to(server.port(), Arc::clone(&cuts)).await?;
        let points =
            Arc::new(CutAt { cuts: Arc::clone(&cuts), armed: Mutex::default(), passed: Mutex::default() });
        let (configuration, observer) = (server.configuration_at("far", port), Arc::clone(&points));
        let observed = |config: &mut forge_engine::EngineConfig| config.observer = Some(observer);
        let far = OnMachine::by_way(folder, server, &configuration, checks.clone(), observed).await?;
        let mut all = json!({ "auto_approve": true, "sandbox": { "mode": "off" } });
        forge_model::settings::merge_patch(&mut all, &checks);
        let near = board(&near_server.configuration("far"), all).await?;
        Ok(Some(Self { far, near, cuts, points, tasks: 0, _near_server: (near_folder, near_server) }))
    }

    /// Runs a task on the machine and here, and compares. What is sent, printed and fetched takes some time each.
    async fn task(&mut self, prepare: impl FnOnce(&Self)) -> Result<()> {
        self.tasks += 1;
        let number = self.tasks;
        let line = |line: u64| format!("{}\n", (line + 1) * 7919 * u64::from(number) % 1_000_003);
        let given: String = (0..6000).map(line).collect();
        for repo in [&self.near.repo, &self.far.board.repo] {
            repo.write(&format!("given-{number}.txt"), &given)?;
            repo.commit("given")?;
        }
        let script = format!(
            "awk 'BEGIN {{ srand({number}); for (i = 0; i < 6000; i++) print int(rand() * 1e9) }}' > made-{number}.txt\n\
             git add -A; git commit -qm 'by the agent'\n\
             i=0; while [ $i -lt 20 ]; do seq $((i * 100)) $((i * 100 + 99)); sleep 0.01; i=$((i + 1)); done\n\
             rm given-{number}.txt; ln -s made-{number}.txt link-{number}; chmod +x made-{number}.txt; echo end"
        );
        let name = format!("cut {number}");
        let behaviour = (name.as_str(), script.as_str());
        let here = outcome(&mut self.near, behaviour, |_| None).await?;
        prepare(self);
        let elsewhere = self.far.elsewhere();
        let there = outcome(&mut self.far.board, behaviour, elsewhere).await?;
        let differ = here.compared(&there);
        ensure!(differ.is_empty(), "{}", differ.join("\n"));
        Ok(())
    }

    /// Checks that the machine has nothing any more of all the tasks.
    async fn check_nothing_left(&self) -> Result<()> {
        let tasks = self
            .far
            .board
            .call("task_list", json!({ "project_id": self.far.board.project, "limit": 200 }))
            .await?;
        for task in tasks["items"].as_array().context("no tasks")? {
            let settled =
                |now: &Value| ["cleaned", "error"].iter().any(|it| now["workspace"]["status"] == *it);
            let now = self.far.board.wait(task, "cleaned, or kept for now", settled).await?;
            if now["workspace"]["status"] == "error" {
                // The link was cut just then: it is tried again some minutes later, or when a person says so.
                let why = now["workspace"]["error"].as_str().unwrap_or_default();
                ensure!(why.contains("its machine cannot be reached"), "{now:#}");
                self.far.board.call("workspace_remove", json!({ "task_id": task["id"] })).await?;
            }
            let cleaned = |now: &Value| now["workspace"]["status"] == "cleaned";
            self.far.board.wait(task, "cleaned", cleaned).await?;
        }
        eventually("the copies are removed", || Ok(self.far.server.copies().is_empty())).await?;
        let left = || Ok(marked_processes(self.far.folder.path())?.is_empty());
        eventually("no program is left", left).await?;
        let owners = self.far.folder.path().join("forge/keepers").read_dir()?;
        for owner in owners.flatten() {
            let own = ["lock", "keeper.log", "marks", "socket", "tasks", "mirrors"];
            for entry in owner.path().read_dir()?.flatten() {
                let name = entry.file_name();
                ensure!(own.iter().any(|own| *name == **own), "{} is left", entry.path().display());
            }
            ensure!(owner.path().join("marks").read_dir()?.next().is_none(), "a mark is left");
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn link_that_is_cut_in_any_phase_changes_nothing() -> Result<()> {
    let Some(mut pair) = Pair::new().await? else { return Ok(()) };
    // The first task puts the keeper there.
    pair.task(|_| {}).await?;
    pair.points.passed.lock().unwrap_or_else(PoisonError::into_inner).clear();
    pair.task(|_| {}).await?;
    let passed = std::mem::take(&mut *pair.points.passed.lock().unwrap_or_else(PoisonError::into_inner));
    for phase in
        ["transfer.sent", "execution.starting", "execution.started", "transfer.fetched", "execution.ended"]
    {
        ensure!(passed.iter().any(|point| point == phase), "{phase} is not among {passed:?}");
    }
    let mut cases: Vec<(String, u32)> = Vec::new();
    let is_of_machines =
        |point: &&String| ["transfer.", "execution.", "process."].iter().any(|of| point.starts_with(of));
    for point in passed.iter().filter(is_of_machines) {
        let times = passed.iter().filter(|other| *other == point).count();
        let known = cases.iter().any(|(known, _)| known == point);
        if !known {
            cases.push((point.clone(), 1));
            if times > 1 {
                cases.push((point.clone(), u32::try_from(times)?));
            }
        }
    }
    for (point, times) in cases {
        let case = format!("cut at {point}#{times}");
        let arm = |pair: &Pair| {
            *pair.points.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((point.clone(), times));
        };
        pair.task(arm).await.with_context(|| case.clone())?;
        let is_armed = pair.points.armed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        ensure!(!is_armed, "{case}: it was never passed");
    }
    println!("{} cuts in {} tasks", pair.cuts.happened(), pair.tasks);
    pair.check_nothing_left().await
}

#[tokio::test(flavor = "multi_thread")]
async fn link_that_is_cut_at_random_bytes_changes_nothing() -> Result<()> {
    let Some(mut pair) = Pair::new().await? else { return Ok(()) };
    pair.task(|_| {}).await?;
    let before = pair.cuts.carried();
    pair.task(|_| {}).await?;
    let whole = pair.cuts.carried() - before;
    let seed = 20_261_127;
    let mut random = Random::new(seed);
    for round in 0..RANDOM_TASKS {
        let mut at: Vec<u64> = (0..=round % 3).map(|_| random.below(whole)).collect();
        at.sort_unstable();
        let begin = pair.cuts.carried();
        let set = |pair: &Pair| pair.cuts.set(at.iter().map(|at| begin + at));
        pair.task(set)
            .await
            .with_context(|| format!("seed {seed}, task {round}, {at:?} of {whole} bytes"))?;
    }
    pair.cuts.set([]);
    println!("{} cuts in {RANDOM_TASKS} tasks of {whole} bytes each", pair.cuts.happened());
    ensure!(pair.cuts.happened() >= RANDOM_TASKS, "{} cuts", pair.cuts.happened());
    pair.check_nothing_left().await
}
