//! Thirty-two agents that print 40 KB a second each, beside one alone: what each costs the engine, and how long a
//! line is on its way to a reader that reads when it is told to.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_agents::LogReader;
use forge_api::Api;
use forge_model::{
    ids::TaskId,
    log::{EntryKind, LogEntry},
};
use tokio::task::JoinHandle;

use crate::{
    measure::{Promise, Row},
    meter::processor_time,
    printer::{BYTES_A_SECOND, LINE_BYTES, now_us},
    stage::{Stage, Work},
};

const AGENTS: u32 = 32;
/// How long is measured, once all of them print.
const MEASURED: Duration = Duration::from_secs(8);
/// How long they print: their start takes its time.
const PRINTS_MS: &str = "30000";
/// Entries of a page, as the window asks for them.
const PAGE: usize = 500;

/// The rows of a fleet.
pub async fn measure(folder: &Path, rounds: usize) -> Result<[Row; 3]> {
    let stage = Stage::start(&folder.join("fleet"), AGENTS).await?;
    let agent = stage.agent("streams", &["stream", PRINTS_MS], AGENTS).await?;
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        one.push(stream(&stage, &agent, 1, round).await?);
        many.push(stream(&stage, &agent, AGENTS, round).await?);
    }
    stage.api.engine().stop().await;
    let figures = |of: &[Streamed], figure: fn(&Streamed) -> f64| of.iter().map(figure).collect::<Vec<_>>();
    let of = |what: &str| format!("{AGENTS} agents, {} KB/s each: {what}", BYTES_A_SECOND / 1000);
    let alone = "one alone";
    Ok([
        Row::of(
            of("engine's processor time for one agent's second, nothing lost"),
            alone,
            ("ms", Promise::Ratio(1.2)),
            figures(&many, |it| it.processor_ms),
            figures(&one, |it| it.processor_ms),
        ),
        Row::of(
            of("line printed to read, 99 of 100"),
            alone,
            ("ms", Promise::Most(100.0)),
            figures(&many, |it| it.p99_ms),
            figures(&one, |it| it.p99_ms),
        ),
        Row::of(
            of("line printed to read, half"),
            alone,
            ("ms", Promise::Told),
            figures(&many, |it| it.p50_ms),
            figures(&one, |it| it.p50_ms),
        ),
    ])
}

struct Streamed {
    /// For each agent in each second.
    processor_ms: f64,
    p50_ms: f64,
    p99_ms: f64,
}

async fn stream(stage: &Stage, agent: &str, agents: u32, round: usize) -> Result<Streamed> {
    let reader = Arc::new(Reader::default());
    let reading = tokio::spawn(Arc::clone(&reader).read(stage.api.clone()));
    let mut works = Vec::new();
    for number in 0..agents {
        works.push(stage.begin(agent, &format!("stream {agents} {round} {number}")).await?);
    }
    reader.wait_for_all(&works).await?;
    reader.delays().clear();
    let before = processor_time()?;
    tokio::time::sleep(MEASURED).await;
    let spent = processor_time()?.saturating_sub(before);
    let mut delays = std::mem::take(&mut *reader.delays());
    for work in &works {
        stage.done(work).await?;
        check(&stage.logs_of(work), work)?;
    }
    reading.abort();
    // Everybody printed all the time, and all of it was read.
    let lines = MEASURED.as_secs() * BYTES_A_SECOND / LINE_BYTES as u64 * u64::from(agents);
    ensure!(delays.len() as u64 > lines * 8 / 10, "only {} of {lines} lines were read", delays.len());
    delays.sort_unstable();
    let at = |part: usize| delays.get(delays.len() * part / 100).map_or(0.0, |us| *us as f64 / 1000.0);
    let processor_ms = spent.as_secs_f64() * 1000.0 / MEASURED.as_secs_f64() / f64::from(agents);
    Ok(Streamed { processor_ms, p50_ms: at(50), p99_ms: at(99) })
}

/// The window's part: it hears what grew and reads that on.
#[derive(Default)]
struct Reader {
    /// How far each log was read.
    seen: Mutex<HashMap<String, u64>>,
    /// Of each line, in microseconds.
    delays: Mutex<Vec<u64>>,
}

impl Reader {
    fn delays(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.delays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(self: Arc<Self>, api: Api) -> Result<()> {
        let mut feed = api.feed();
        // One request at a time for each log, as a page asks.
        let mut asked: HashMap<String, JoinHandle<Result<()>>> = HashMap::new();
        while let Some(batch) = feed.next().await {
            for change in batch.changes.into_iter().filter(|change| change.kind == "execution.log") {
                let (Some(task), log) = (change.task_id, change.entity_id) else { continue };
                let before = asked.remove(&log);
                let (reader, api, of) = (Arc::clone(&self), api.clone(), log.clone());
                let asking = tokio::spawn(async move {
                    if let Some(before) = before {
                        before.await??;
                    }
                    reader.read_on(&api, &TaskId(task), &of).await
                });
                asked.insert(log, asking);
            }
        }
        Ok(())
    }

    async fn read_on(&self, api: &Api, task: &TaskId, log: &str) -> Result<()> {
        loop {
            let after = self.seen().get(log).copied().unwrap_or_default();
            let page = api.engine().log_page(task, log, Some(after), None, PAGE).await?;
            let now = now_us();
            let mut delays = self.delays();
            for (printed, _) in page.entries.iter().flat_map(lines_of) {
                delays.push(now.saturating_sub(printed));
            }
            drop(delays);
            self.seen().insert(log.to_owned(), page.last_seq.max(after));
            if page.last_seq == page.total || page.entries.is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns when something of every log was read.
    async fn wait_for_all(&self, works: &[Work]) -> Result<()> {
        let patience = tokio::time::Instant::now() + Duration::from_secs(20);
        // The first entries tell of the start.
        while !works.iter().all(|work| self.seen().get(&work.run).is_some_and(|seen| *seen > 2)) {
            ensure!(tokio::time::Instant::now() < patience, "not all agents print");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

/// When each line of an entry was printed, and its number.
fn lines_of(entry: &LogEntry) -> Vec<(u64, u64)> {
    if entry.kind != EntryKind::Stdout {
        return Vec::new();
    }
    let line = |line: &str| {
        let mut parts = line.split(' ');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    entry.body["text"].as_str().unwrap_or_default().lines().filter_map(line).collect()
}

/// Every line is in the log, in its place.
fn check(logs: &Path, work: &Work) -> Result<()> {
    let (mut next, mut wrong) = (0, 0_u64);
    LogReader::each(logs, &work.run, |entry| {
        for (_, number) in lines_of(entry) {
            wrong += u64::from(number != next);
            next = number + 1;
        }
    })?;
    let end = LogReader::raw(logs, &work.run, 0, 1).context("no raw log")?;
    ensure!(
        wrong == 0 && next > 1 && !end.is_empty(),
        "{wrong} lines of {} are not in their place",
        work.run
    );
    Ok(())
}
