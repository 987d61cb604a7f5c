//! Connections that are cut while programs print and read on a second host: nothing is lost, nothing comes twice, each
//! end is told once, and nothing is left.
//!
//! A [`Course`] is what is done, [`perform`] does it. What a seed decides (which cut comes when, how much a program prints)
//! is the same in each run with that seed; when a cut hits a program is the machine's affair.

mod program;
mod way;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_keeper::{Keeper, Place};
use forge_machines::{Contact, SshMachine};
use tokio::{sync::watch, time::Instant};

use crate::{Host, Random, processes};

use program::{Carried, Program, left_in};
use way::Way;

/// Programs go on for longer than any outage of a course.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How long a connection may take to come back when nothing is in its way. The machine is tried again each minute.
const BACK_WITHIN: Duration = Duration::from_secs(180);

/// How long what is left there may take to go: a relay whose engine went without a word waits for a minute.
const GONE_WITHIN: Duration = Duration::from_secs(180);

/// The longest that the next cut waits for, in milliseconds.
const PAUSE_MS: u64 = 120;

/// One of so many cuts may hit a connection that is just being made.
const EARLY_ONE_OF: u64 = 12;

/// A way to lose a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// `ssh` here is killed.
    Client,
    /// What serves the session there is killed.
    Session,
    /// The relay there is killed.
    Relay,
    /// The streams to the keeper break, and the session goes on.
    Stream,
    /// The link is down for a while; sometimes `ssh` is killed meanwhile.
    Link,
}

impl Cut {
    /// The ways to end a session.
    pub const SUDDEN: &[Self] = &[Self::Client, Self::Session, Self::Relay];

    /// All ways that take no time.
    pub const QUICK: &[Self] = &[Self::Client, Self::Session, Self::Relay, Self::Stream];
}

/// When a course is over.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After so many cuts.
    Cuts(u64),
    /// After so long.
    Time(Duration),
}

/// What is done.
#[derive(Debug, Clone)]
pub struct Course {
    /// What decides about everything that is random.
    pub seed: u64,
    /// The ways that are chosen from.
    pub cuts: &'static [Cut],
    /// One of so many cuts takes the link down instead; none without a number.
    pub link_one_of: Option<u64>,
    /// How many programs run at once.
    pub at_once: u64,
    /// The most blocks of 70,000 lines that one prints; nothing is random about the only one.
    pub blocks: u64,
    /// When it is over. Programs that run then end by themselves.
    pub until: Until,
    /// The longest that the link is down, in seconds.
    pub link_down: u64,
    /// One time that the link is down for much longer.
    pub outage: Option<Duration>,
}

/// What happened.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How often each way was taken.
    pub cuts: BTreeMap<Cut, u64>,
    /// How many programs ran to their ends.
    pub programs: u64,
    /// What they printed.
    pub bytes: u64,
    /// How many words they read.
    pub words: u64,
    /// How long the link was down in all.
    pub down: Duration,
    /// How often the machine was connected with.
    pub sessions: usize,
    /// The memory of this process in the end, in KiB.
    pub memory: u64,
    /// The memory of the keeper before the last program ended, in KiB.
    pub keeper_memory: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { programs, bytes, words, sessions, .. } = self;
        let all: u64 = self.cuts.values().sum();
        writeln!(f, "{all} cuts {:?}, link down for {} s in all", self.cuts, self.down.as_secs())?;
        writeln!(f, "{programs} programs, {bytes} bytes printed, {words} words read, {sessions} sessions")?;
        write!(f, "memory: {} KiB here, {} KiB of the keeper", self.memory, self.keeper_memory)
    }
}

/// What the markers of all programs end with.
fn mark() -> String {
    format!("cuts-{}", std::process::id())
}

/// What goes on.
struct Going<'h> {
    host: &'h Host,
    course: Course,
    machine: SshMachine,
    way: Arc<Way>,
    keeper: Keeper,
    /// How many programs were begun.
    begun: AtomicU64,
    over: watch::Sender<bool>,
}

/// Cuts connections until the course is over, and checks that nothing else is lost.
///
/// # Errors
/// When something is.
pub async fn perform(host: &Host, course: Course) -> Result<Report> {
    let machine = SshMachine::new(host.config());
    let way = Arc::new(Way::new(machine.clone()));
    let keeper = Keeper::new(std::path::PathBuf::new(), Place::Far(Arc::clone(&way) as _), 1, PATIENCE);
    let traces = host.home().join("traces");
    std::fs::create_dir(&traces)?;
    host.give(&traces)?;
    let over = watch::Sender::new(false);
    let going = Going { host, course, machine, way, keeper, begun: AtomicU64::new(0), over };
    let mut report = Report::default();
    let carried = going.carry(&mut report).await?;
    for one in carried {
        report.programs += 1;
        report.bytes += one.bytes;
        report.words += one.words;
    }
    report.sessions = host.sign_ins();
    report.memory = processes::resident("self").unwrap_or_default();
    going.nothing_is_left().await?;
    Ok(report)
}

impl Going<'_> {
    /// Cuts while programs run. What went through each of them.
    async fn carry(&self, report: &mut Report) -> Result<Vec<Carried>> {
        let programs = async {
            let all = (0..self.course.at_once).map(|_| self.one_after_the_other());
            let all = futures::future::try_join_all(all).await?;
            anyhow::Ok(all.into_iter().flatten().collect())
        };
        tokio::pin!(programs);
        let cut = async {
            let cut = self.cut(report).await;
            self.over.send_replace(true);
            cut
        };
        // A check that fails ends everything at once.
        tokio::select! {
            ended = &mut programs => {
                let _: Vec<Carried> = ended?;
                bail!("all programs ended before the course was over");
            }
            cut = cut => cut?,
        }
        programs.await
    }

    /// Runs programs until the course is over, at least one.
    async fn one_after_the_other(&self) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        while carried.is_empty() || !*self.over.borrow() {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            let program = self.program(number);
            let done = program.perform(&self.keeper, &*self.way, self.over.subscribe());
            carried.push(done.await.with_context(|| format!("{program:?}"))?);
        }
        Ok(carried)
    }

    fn program(&self, number: u64) -> Program {
        let mut random = Random::new(self.course.seed.wrapping_add(1 + number));
        let (blocks, words) = match self.course.until {
            // It lasts for as long as the course does.
            Until::Cuts(_) => (self.course.blocks, u64::MAX),
            Until::Time(_) => (1 + random.below(self.course.blocks), 20 + random.below(2_000)),
        };
        Program {
            id: format!("program-{number}"),
            mark: mark(),
            folder: self.host.home().join("traces"),
            blocks,
            words,
            code: u8::try_from(random.below(4)).unwrap_or_default(),
        }
    }

    /// Cuts until the course is over.
    async fn cut(&self, report: &mut Report) -> Result<()> {
        let begun = Instant::now();
        let mut random = Random::new(self.course.seed);
        let mut contact = self.machine.contact();
        let mut outage = self.course.outage;
        let mut done = 0;
        loop {
            let is_over = match self.course.until {
                Until::Cuts(cuts) => done >= cuts,
                Until::Time(time) => begun.elapsed() >= time,
            };
            if is_over {
                return Ok(());
            }
            if random.below(EARLY_ONE_OF) != 0 {
                let live = contact.wait_for(Contact::is_live);
                let live = tokio::time::timeout(BACK_WITHIN, live).await;
                live.with_context(|| format!("no connection came back after {report}"))??;
            }
            tokio::time::sleep(Duration::from_millis(random.below(PAUSE_MS))).await;
            let is_live = contact.borrow_and_update().is_live();
            let index = usize::try_from(random.below(self.course.cuts.len() as u64))?;
            let is_link = self.course.link_one_of.is_some_and(|of| random.below(of) == 0);
            let cut =
                if is_link { Cut::Link } else { *self.course.cuts.get(index).context("no way to cut")? };
            let hit = match cut {
                Cut::Client => self.host.kill_clients() > 0,
                Cut::Session => self.host.kill_sessions() > 0,
                Cut::Relay => self.host.kill_relays() > 0,
                Cut::Stream => {
                    self.way.break_streams();
                    true
                }
                Cut::Link => {
                    let drawn = Duration::from_secs(1 + random.below(self.course.link_down));
                    let down = match outage.take_if(|_| done > 0) {
                        Some(outage) => outage,
                        None => drawn,
                    };
                    self.link_down(down, &mut random).await?;
                    report.down += down;
                    true
                }
            };
            if !hit {
                continue;
            }
            done += 1;
            *report.cuts.entry(cut).or_default() += 1;
            if let Some((pid, _)) = self.host.running("forge-keeper serve").first() {
                let memory = processes::resident(&pid.to_string());
                report.keeper_memory = memory.unwrap_or(report.keeper_memory);
            }
            // What ended is noticed, whether or not another one follows at once.
            if is_live && matches!(cut, Cut::Client | Cut::Session | Cut::Relay) {
                tokio::time::timeout(BACK_WITHIN, contact.changed())
                    .await
                    .context("a loss was not noticed")??;
            }
        }
    }

    /// Takes the link away for a while.
    async fn link_down(&self, time: Duration, random: &mut Random) -> Result<()> {
        self.host.set_link("down")?;
        tokio::time::sleep(time / 2).await;
        if random.below(2) == 0 {
            self.host.kill_clients();
        }
        tokio::time::sleep(time / 2).await;
        self.host.set_link("up")?;
        if random.below(2) == 0 {
            // A person says that the network is back.
            self.machine.nudge().await;
        }
        Ok(())
    }

    /// Checks that nothing is kept, and that everything goes that the course made.
    async fn nothing_is_left(self) -> Result<()> {
        let Self { host, machine, way, keeper, .. } = self;
        ensure!(keeper.runs().await?.is_empty(), "the keeper keeps something");
        let marks: Vec<String> =
            forge_exec::look().into_keys().filter(|name| name.ends_with(&mark())).collect();
        ensure!(marks.is_empty(), "programs are left: {marks:?}");
        drop((keeper, way, machine));
        let gone = async {
            host.clients_gone().await?;
            host.gone("forge-keeper").await
        };
        let gone = tokio::time::timeout(GONE_WITHIN, gone).await;
        gone.with_context(|| format!("processes are left: {:?}, {:?}", host.processes(), host.clients()))??;
        let left = left_in(&host.home().join(".forge/keepers/test"))?;
        ensure!(left.is_empty(), "the keeper left {left:?}");
        let traces = std::fs::read_dir(host.home().join("traces"))?.count();
        ensure!(traces == 0, "{traces} traces of programs are left");
        Ok(())
    }
}
