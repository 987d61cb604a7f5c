//! How a job is, as `scontrol show job` and `sacct` tell it.

use super::reason;
use crate::job::{JobEnd, JobFault, JobOver, JobRef, Look, Place};

/// The values that are looked at, by their names.
fn value<'t>(told: &'t str, name: &str) -> &'t str {
    let mut words = told.split_whitespace().filter_map(|word| word.split_once('='));
    let found = words.find(|(key, _)| *key == name).map(|(_, value)| value);
    found.filter(|value| *value != "(null)").unwrap_or_default()
}

/// Reads what `scontrol --oneliner show job` tells.
pub(super) fn look_of(job: &JobRef, told: &str) -> Option<Look> {
    let of = |name: &str| value(told, name);
    let state = of("JobState");
    if state.is_empty() {
        return None;
    }
    let (time, memory) = (of("TimeLimit"), memory_of(of("MinMemoryNode"), of("MinMemoryCPU")));
    look(job, state, of("Reason"), of("NodeList"), [time, &memory])
}

/// Reads a line of `sacct --parsable2` with state, nodes, time limit and memory asked for.
pub(super) fn look_of_account(job: &JobRef, line: &str) -> Option<Look> {
    let mut words = line.split('|');
    let state = words.next()?.split(' ').next().filter(|state| !state.is_empty())?;
    let node = words.next().unwrap_or_default();
    let (time, memory) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    look(job, state, "", node, [time, memory])
}

fn look(job: &JobRef, state: &str, why: &str, node: &str, [time, memory]: [&str; 2]) -> Option<Look> {
    let waits = |why: String, remedy: String| Look::Waiting {
        fault: JobFault::Waiting { job: job.clone(), why, remedy },
    };
    let stalls = |why: &str, remedy: &str| {
        let (job, why, remedy) = (job.clone(), why.to_owned(), remedy.to_owned());
        Some(Look::Waiting { fault: JobFault::Stalled { job, why, remedy } })
    };
    let end = match state {
        "RUNNING" => return Some(Look::Ready { place: Place { node: node.to_owned(), pod: None } }),
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" => {
            let (why, remedy) = reason::told(why);
            return Some(waits(why, remedy));
        }
        "CONFIGURING" => return Some(waits("its node is being made ready".to_owned(), String::new())),
        "RESIZING" | "SIGNALING" => return stalls("it is being changed", "Wait until that is done."),
        "COMPLETING" | "STAGE_OUT" => return stalls("it is ending", "Wait until it has ended."),
        "SUSPENDED" | "STOPPED" => {
            let remedy = "Resume the job with `scontrol resume`, or ask who suspended it.";
            return stalls("it is suspended", remedy);
        }
        "TIMEOUT" | "DEADLINE" => JobEnd::TimeLimit,
        "OUT_OF_MEMORY" => JobEnd::OutOfMemory,
        "NODE_FAIL" => JobEnd::NodeFailed,
        "PREEMPTED" => JobEnd::Preempted,
        "BOOT_FAIL" => JobEnd::BootFailed,
        _ if state.starts_with("CANCELLED") => JobEnd::Cancelled,
        "COMPLETED" | "FAILED" | "REVOKED" | "SPECIAL_EXIT" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => {
            JobEnd::Ended
        }
        // What is not known is not taken for an end.
        _ => return None,
    };
    let limit = match end {
        JobEnd::TimeLimit => time,
        JobEnd::OutOfMemory => memory,
        _ => "",
    };
    let known = !limit.is_empty() && !["UNLIMITED", "0"].contains(&limit);
    let limit = if known { limit.to_owned() } else { String::new() };
    Some(Look::Over(JobOver { node: node.to_owned(), limit, ..JobOver::new(job.clone(), end) }))
}

fn memory_of(of_node: &str, of_cpu: &str) -> String {
    match (of_node, of_cpu) {
        ("" | "0", "" | "0") => String::new(),
        ("" | "0", cpu) => format!("{cpu} a processor"),
        (node, _) => node.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobRef {
        JobRef("7".to_owned())
    }

    fn line(state: &str, reason: &str, node: &str) -> String {
        format!(
            "JobId=7 JobName=forge-o-a JobState={state} Reason={reason} TimeLimit=01:30:00 NodeList={node} \
             MinCPUsNode=1 MinMemoryNode=100M Command=(null)"
        )
    }

    #[test]
    fn state_is_read_with_its_reason_node_and_limit() {
        assert_eq!(
            look_of(&job(), &line("RUNNING", "None", "n1")),
            Some(Look::Ready { place: Place { node: "n1".to_owned(), pod: None } })
        );
        let Some(Look::Waiting { fault }) = look_of(&job(), &line("PENDING", "Resources", "(null)")) else {
            panic!("it waits")
        };
        assert_eq!(
            fault.to_string(),
            "Could not start job 7 yet: the resources that it requests are not free."
        );
        for (state, text) in [
            ("TIMEOUT", "Could not continue in job 7 on n1: it reached its time limit of 01:30:00."),
            (
                "OUT_OF_MEMORY",
                "Could not continue in job 7 on n1: it was killed at its memory limit of 100M.",
            ),
            ("CANCELLED", "Could not continue in job 7 on n1: somebody cancelled it."),
            (
                "NODE_FAIL",
                "Could not continue in job 7 on n1: its node failed, and the cluster cannot tell whether programs still run there.",
            ),
            ("COMPLETED", "Could not continue in job 7 on n1: it ended."),
        ] {
            let Some(Look::Over(over)) = look_of(&job(), &line(state, "None", "n1")) else {
                panic!("{state}")
            };
            assert_eq!(over.is_certain(), state != "NODE_FAIL");
            let fault = JobFault::Over(over);
            assert_eq!(fault.to_string(), text);
            assert!(fault.remedy().ends_with('.'));
        }
        assert!(matches!(look_of(&job(), &line("COMPLETING", "None", "n1")), Some(Look::Waiting { .. })));
        assert_eq!(look_of(&job(), "nonsense"), None);
        assert_eq!(look_of(&job(), &line("SOMETHING_NEW", "None", "n1")), None, "it is not taken for an end");
        let account = look_of_account(&job(), "CANCELLED by 0|n1|01:30:00|100M");
        let Some(Look::Over(over)) = account else { panic!("{account:?}") };
        assert_eq!(over.end, JobEnd::Cancelled);
    }
}
