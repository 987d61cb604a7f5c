//! Decisions about services: which port one gets, whether there is room for one more, and what its end means.

use forge_exec::{Exit, Finished, Listener};
use forge_model::ids::{ServiceId, TaskId};
use forge_model::service::ServiceState;
use forge_model::time::Timestamp;
use forge_store::table::services::ServiceEnd;

/// How many ports a task has.
const PORTS: u32 = 10;

/// How long a service must have been unused for another one to take its place.
const IDLE_MS: i64 = 60_000;

/// A service that runs, as far as the choice of one that makes room needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub id: ServiceId,
    pub task: TaskId,
    /// What people call it, such as `web of #12`.
    pub name: String,
    pub state: ServiceState,
    /// Since when nobody used it, as far as that is known.
    pub unused_since: Option<Timestamp>,
}

/// Whether one more service may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// This one stops for it.
    InPlaceOf(ServiceId),
    /// All that run are in use: these.
    None(Vec<String>),
}

/// Whether there is room for one more than those that run. `only_of`: an agent starts it, for which no other task's
/// service stops.
pub(super) fn room(running: &[Candidate], most: u32, only_of: Option<&TaskId>, now: Timestamp) -> Room {
    if running.len() < usize::try_from(most).unwrap_or(usize::MAX) {
        return Room::Free;
    }
    let may_stop = |one: &&Candidate| only_of.is_none_or(|task| one.task == *task);
    let idle = running.iter().filter(may_stop).filter(|one| one.state == ServiceState::Ready);
    let idle = idle.filter_map(|one| Some((one.unused_since.filter(|at| now.since(*at) >= IDLE_MS)?, one)));
    match idle.min_by_key(|(since, _)| *since) {
        Some((_, oldest)) => Room::InPlaceOf(oldest.id.clone()),
        None => Room::None(running.iter().map(|one| one.name.clone()).collect()),
    }
}

/// The port of a service: that of its place in the project's list, or the first free one of the task.
pub(super) fn port(base: u32, place: usize, taken: &[u32]) -> Option<u32> {
    let own = u32::try_from(place).ok().filter(|place| *place < PORTS).map(|place| base + place);
    own.into_iter().chain(base..base + PORTS).find(|port| !taken.contains(port))
}

/// What the end of a program means that nobody asked for; `said` is the last line that it printed.
pub(super) fn end_of(finished: &Finished, said: Option<&str>) -> ServiceEnd {
    let after = said.map(|line| format!(": {line}")).unwrap_or_default();
    match finished.exit {
        Exit::Code(0) => ServiceEnd {
            state: ServiceState::Stopped,
            reason: "Ended by itself (exit code 0)".to_owned(),
            exit_code: Some(0),
        },
        Exit::Code(code) => ServiceEnd {
            state: ServiceState::Failed,
            reason: format!("Ended with exit code {code}{after}"),
            exit_code: Some(code),
        },
        Exit::Signal(signal) => failed(format!("Ended by signal {signal}{after}")),
    }
}

pub(super) fn failed(reason: impl Into<String>) -> ServiceEnd {
    ServiceEnd { state: ServiceState::Failed, reason: reason.into(), exit_code: None }
}

pub(super) fn stopped(reason: impl Into<String>) -> ServiceEnd {
    ServiceEnd { state: ServiceState::Stopped, reason: reason.into(), exit_code: None }
}

/// Who keeps a service from its port; none when nobody does. Of those that listen there, a program without a marker of
/// Forge may be the service's own once it was started, such as a container's proxy.
pub(super) fn taken_by(port: u32, found: &[Listener], own_marker: Option<&str>) -> Option<String> {
    let is_own = |one: &Listener| one.marker.as_deref() == own_marker || one.marker.is_none();
    let other = match own_marker {
        Some(_) if found.iter().any(is_own) => None,
        Some(_) | None => found.first(),
    }?;
    let who =
        other.process.as_ref().map_or_else(|| "a process of another user".to_owned(), ToString::to_string);
    let of_service = other.marker.as_deref().is_some_and(|marker| marker.starts_with("service-"));
    let what = if of_service { ", a service that Forge started" } else { "" };
    Some(format!("Port {port} is in use by {who}{what}"))
}

#[cfg(test)]
mod tests {
    use forge_exec::NamedProcess;

    use super::*;

    fn candidate(id: &str, task: &str, state: ServiceState, unused_since: Option<i64>) -> Candidate {
        let unused_since = unused_since.map(Timestamp);
        Candidate { id: id.into(), task: task.into(), name: format!("{id} of {task}"), state, unused_since }
    }

    #[test]
    fn oldest_idle_service_makes_room_and_none_that_is_used() {
        use ServiceState::{Ready, Starting};
        let now = Timestamp(1_000_000);
        let running = [
            candidate("used", "t", Ready, Some(999_000)),
            candidate("younger", "t", Ready, Some(900_000)),
            candidate("older", "u", Ready, Some(500_000)),
            candidate("starting", "u", Starting, Some(1)),
            candidate("unknown", "u", Ready, None),
        ];
        assert_eq!(room(&running, 6, None, now), Room::Free);
        assert_eq!(room(&running, 5, None, now), Room::InPlaceOf("older".into()));
        let names = running.iter().map(|one| one.name.clone()).collect();
        let in_use: Vec<_> =
            running.iter().filter(|one| !["younger", "older"].contains(&one.id.as_str())).cloned().collect();
        assert_eq!(
            room(&in_use, 3, None, now),
            Room::None(in_use.iter().map(|it| it.name.clone()).collect())
        );
        assert_eq!(room(&running, 5, Some(&"v".into()), now), Room::None(names));
    }

    #[test]
    fn agent_stops_services_of_its_own_task_alone() {
        let now = Timestamp(1_000_000);
        let ready = ServiceState::Ready;
        let running = [candidate("theirs", "u", ready, Some(1)), candidate("own", "t", ready, Some(500_000))];
        assert_eq!(room(&running, 2, Some(&"t".into()), now), Room::InPlaceOf("own".into()));
        assert_eq!(room(&running, 2, None, now), Room::InPlaceOf("theirs".into()));
    }

    #[test]
    fn service_keeps_the_port_of_its_place_unless_it_is_taken() {
        assert_eq!(port(4000, 0, &[]), Some(4000));
        assert_eq!(port(4000, 3, &[4000]), Some(4003));
        assert_eq!(port(4000, 1, &[4001, 4000]), Some(4002));
        assert_eq!(port(4000, 12, &[]), Some(4000));
        let all: Vec<u32> = (4000..4010).collect();
        assert_eq!(port(4000, 0, &all), None);
    }

    #[test]
    fn end_without_an_error_is_no_failure() {
        let finished = |exit| Finished {
            exit,
            timed_out: false,
            cancelled: false,
            duration: std::time::Duration::ZERO,
            left_behind: 0,
        };
        assert_eq!(end_of(&finished(Exit::Code(0)), Some("bye")).state, ServiceState::Stopped);
        let end = end_of(&finished(Exit::Code(3)), Some("no such module"));
        assert_eq!((end.state, end.exit_code), (ServiceState::Failed, Some(3)));
        assert_eq!(end.reason, "Ended with exit code 3: no such module");
        assert_eq!(end_of(&finished(Exit::Signal(9)), None).reason, "Ended by signal 9");
    }

    #[test]
    fn whoever_has_the_port_is_named() {
        let node = |marker: Option<&str>| Listener {
            process: Some(NamedProcess { pid: 7, name: "node".to_owned() }),
            marker: marker.map(str::to_owned),
        };
        assert_eq!(taken_by(80, &[], None), None);
        assert_eq!(taken_by(80, &[node(None)], None).unwrap(), "Port 80 is in use by node (process 7)");
        let other = taken_by(80, &[node(Some("service-a"))], Some("service-b")).unwrap();
        assert_eq!(other, "Port 80 is in use by node (process 7), a service that Forge started");
        assert_eq!(taken_by(80, &[node(Some("service-b"))], Some("service-b")), None);
        assert_eq!(taken_by(80, &[node(None)], Some("service-b")), None, "a proxy that it started");
        let hidden = [Listener { process: None, marker: None }];
        assert_eq!(taken_by(80, &hidden, None).unwrap(), "Port 80 is in use by a process of another user");
    }
}
