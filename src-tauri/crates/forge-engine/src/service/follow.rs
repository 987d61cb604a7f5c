//! Following a service from its start to its end, in this engine or as one that an earlier engine started.

use std::sync::Arc;

use forge_agents::LogWriter;
use forge_exec::{Finished, HeadTail, Marker, sweep};
use forge_keeper::{KeepError, KeptRun, Limits, Session};
use forge_model::service::{PatternWatch, Service};
use forge_store::table::services::{ServiceEnd, ServiceRow};
use tokio::sync::watch;

use super::{
    ends::write_end,
    policy::{end_of, failed, stopped, taken_by},
    prepared::{Place, Prepared, place_of, prepare},
    readiness,
    running::{Found, Running, services},
    sink::ServiceSink,
};
use crate::{
    EngineError, World,
    core::{self, redaction::Redacting},
    error::{Result, whole},
    program::{self, output::CheckOutput},
};

/// How much of each stream is kept for the reason of a failure.
const TAIL_BYTES: usize = 2048;

/// The longest line of output in a reason, in characters.
const REASON_CHARS: usize = 300;

/// From the gentle signal to the kill of what a keeper left that was killed.
const SWEEP_GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// How following ended.
enum Followed {
    Ended(ServiceEnd),
    /// The next engine goes on with it.
    Left,
}

/// Follows a service beside everything else.
pub(super) fn begin(world: &World, row: ServiceRow, found: Found) {
    let Some(running) = services(world).follow(&row, world.now()) else { return };
    let world = world.clone();
    world.clone().inner.tracker.spawn(async move {
        let followed = core::guarded::guarded(follow(&world, &row, &running, found)).await;
        let end = match followed {
            Ok(Ok(Followed::Ended(end))) => Some(end),
            Ok(Ok(Followed::Left)) => None,
            // Forge leaves it to the next engine, which finds the same trouble or none.
            Ok(Err(error)) if world.inner.leave.is_cancelled() => {
                tracing::warn!(%error, service = %row.service.id, "left a service to the next engine");
                None
            }
            Ok(Err(error)) => Some(failed(whole(&error))),
            Err(panic) => Some(failed(panic.to_string())),
        };
        if let Some(end) = end {
            over(&world, &row.service, &end).await;
        }
        services(&world).forget(&row.service.id);
    });
}

/// Writes the end of a service of which nothing is to go on.
async fn over(world: &World, service: &Service, end: &ServiceEnd) {
    if let Err(error) = world.keeper().forget(&service.log_id).await {
        tracing::warn!(%error, service = %service.id, "failed to drop a service that ended");
    }
    // The next start finds that nothing of it runs.
    if let Err(error) = write_end(world, service, end).await {
        tracing::error!(%error, service = %service.id, "failed to write the end of a service");
    }
}

async fn follow(world: &World, row: &ServiceRow, running: &Running, found: Found) -> Result<Followed> {
    if found == Found::Lost {
        return Ok(Followed::Ended(lost(&row.service).await));
    }
    // From here on whoever ends it finds it here; one that was ended before that is not begun.
    if !is_active(world, &row.service).await? {
        return Ok(Followed::Ended(closed()));
    }
    // One that it takes the place of may still be on its way out.
    for other in services(world).others_at(&row.service.id, &row.service.task_id, row.service.port) {
        tokio::select! {
            biased;
            () = other.over.cancelled() => {}
            () = running.stop.cancelled() => return Ok(Followed::Ended(closed())),
            () = world.inner.leave.cancelled() => return Ok(Followed::Left),
            () = world.inner.shutdown.cancelled() => return Ok(Followed::Ended(closed())),
        }
    }
    let place = place_of(world, &row.service.task_id).await?;
    // A full disk is no reason to end one that runs.
    let prepare = || prepare(world, row, &place, running, found);
    let Some(prepared) = core::disk::with_patience(world, prepare).await? else {
        return Ok(Followed::Ended(closed()));
    };
    if found == Found::New {
        // Of an engine that was killed before it wrote that it had started the service.
        sweep(&Marker(row.service.log_id.clone()), SWEEP_GRACE).await;
        if let Some(other) = port_taken(row, None).await {
            return Ok(Followed::Ended(failed(other)));
        }
    }
    if running.stop.is_cancelled() {
        return Ok(Followed::Ended(closed()));
    }
    with_log(world, row, running, &place, prepared, found).await
}

/// What is written of a service whose keeper is gone; nothing of it is left when this returns.
pub(super) async fn lost(service: &Service) -> ServiceEnd {
    sweep(&Marker(service.log_id.clone()), SWEEP_GRACE).await;
    failed("Lost: the program that runs services was ended")
}

/// Whether no end of a service is written.
async fn is_active(world: &World, service: &Service) -> Result<bool> {
    let rows = world.store().read().await?.services().active().await?;
    Ok(rows.iter().any(|row| row.service.id == service.id))
}

fn closed() -> ServiceEnd {
    stopped("Stopped with Forge")
}

/// Who else listens at the port of a service.
async fn port_taken(row: &ServiceRow, own_marker: Option<String>) -> Option<String> {
    let port = row.service.port;
    let look = move || {
        let found = forge_exec::listeners(u16::try_from(port).unwrap_or_default());
        taken_by(port, &found, own_marker.as_deref())
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

async fn with_log(
    world: &World,
    row: &ServiceRow,
    running: &Running,
    place: &Place,
    prepared: Prepared,
    found: Found,
) -> Result<Followed> {
    let Prepared { command, environment, mut confinement, log_dir } = prepared;
    let log_id = &row.service.log_id;
    let redactor = Arc::clone(environment.redactor());
    let cap = forge_agents::log::DEFAULT_CAP_BYTES;
    let open = async || Ok(LogWriter::open(&log_dir, log_id, log_id, cap, Arc::clone(&redactor))?);
    let log = core::disk::with_patience(world, open).await?;
    // An engine that was killed may have begun the log of a service that the keeper never got, too.
    log.tell_again();
    environment.note_withheld(&log);
    confinement.begin_log(&log);
    let follows = program::log::follow_log(world, &place.task.project_id, Some(&place.task.id), log_id, &log);
    let goes_on = found == Found::Kept;
    let kept = KeptRun {
        id: log_id.clone(),
        task: place.task.id.0.clone(),
        command,
        limits: Limits::default(),
        memo: Vec::new(),
        goes_on,
        tools: None,
    };
    let followed = match world.keeper().open(kept).await {
        Ok(session) => {
            if !goes_on {
                world.point("service.started");
                write_spawned(world, row).await?;
                world.point("service.spawned");
            }
            in_session(world, row, running, session, (&log, &redactor)).await
        }
        Err(error) => Ok(Followed::Ended(failed(error.to_string()))),
    };
    confinement.note_refusals(&log);
    confinement.end(world, &log).await?;
    program::log::close_log(world, log).await?;
    drop(follows);
    followed
}

async fn write_spawned(world: &World, row: &ServiceRow) -> Result<()> {
    core::disk::with_patience(world, || async {
        let mut tx = world.store().write().await?;
        tx.services_mut().set_spawned(&row.service.id).await?;
        Ok(tx.commit().await?)
    })
    .await
}

/// Follows the process, and ends it when it is not ready in time, was idle for too long, or Forge is closed.
async fn in_session(
    world: &World,
    row: &ServiceRow,
    running: &Running,
    session: Session,
    (log, redactor): (&LogWriter, &Arc<forge_model::redact::Redactor>),
) -> Result<Followed> {
    let pattern = row.definition.ready.as_ref().and_then(|ready| ready.pattern.as_deref());
    let (matched, found) = watch::channel(false);
    let mut output = CheckOutput { log: log.clone(), kept: HeadTail::new(TAIL_BYTES) };
    let mut sink = ServiceSink {
        world,
        running,
        log: log.clone(),
        output: Redacting::new(&mut output, redactor),
        pattern: pattern.and_then(PatternWatch::new),
        matched,
        is_live: false,
        is_full: false,
    };
    let mut due = None;
    let finished = {
        let mut process = std::pin::pin!(session.run(&running.stop, &mut sink));
        let mut watched = std::pin::pin!(due_end(world, row, running, found));
        loop {
            tokio::select! {
                biased;
                () = world.inner.leave.cancelled() => break None,
                finished = &mut process => break Some(finished),
                end = &mut watched, if due.is_none() => {
                    // The first end counts: what is written here is not what the process comes to now.
                    write_end(world, &row.service, &end).await?;
                    running.stop.cancel();
                    due = Some(end);
                }
            }
        }
    };
    log.set_time(None);
    // The next engine is told everything again, also the line that has no end yet.
    let Some(finished) = finished else { return Ok(Followed::Left) };
    let is_full = sink.is_full;
    sink.output.finish().await.map_err(EngineError::io("write the output of a service"))?;
    let said = last_line(output);
    Ok(Followed::Ended(match (due, finished) {
        (Some(end), _) => end,
        (None, Ok(_)) if is_full => failed("Stopped since it printed more than Forge keeps of a program"),
        (None, Ok(finished)) => explained(row, &finished, said).await,
        (None, Err(KeepError::Lost { .. })) => failed("Lost: the program that runs services was ended"),
        (None, Err(error)) => failed(error.to_string()),
    }))
}

/// Returns when the service is to end.
async fn due_end(
    world: &World,
    row: &ServiceRow,
    running: &Running,
    found: watch::Receiver<bool>,
) -> ServiceEnd {
    tokio::select! {
        biased;
        () = world.inner.shutdown.cancelled() => closed(),
        end = readiness::watch(world, row, running, found) => end,
    }
}

/// What the end of a process means. One that failed while another program has its port most likely failed for that.
async fn explained(row: &ServiceRow, finished: &Finished, said: Option<String>) -> ServiceEnd {
    let mut end = end_of(finished, said.as_deref());
    if !finished.is_success()
        && let Some(other) = port_taken(row, None).await
    {
        end.reason = format!("{}. {other}", end.reason);
    }
    end
}

/// The last line that a program printed, of its errors where there are some.
fn last_line(output: CheckOutput) -> Option<String> {
    let kept = output.kept.into_strings();
    let last = |text: &str| {
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().take(REASON_CHARS).collect())
    };
    last(&kept.stderr).or_else(|| last(&kept.stdout))
}
