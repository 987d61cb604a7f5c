//! Why a job waits, in words.

/// A sentence's end, and what a person can do about it; nothing where waiting helps.
pub(super) fn told(reason: &str) -> (String, String) {
    let name = reason.split(',').next().unwrap_or(reason);
    let nodes = reason.split_once("UnavailableNodes:").map(|(_, nodes)| nodes).filter(|it| !it.is_empty());
    let (why, remedy) = match name {
        "Resources" => ("the resources that it requests are not free".to_owned(), ""),
        "Priority" => ("jobs with a higher priority are ahead of it".to_owned(), ""),
        "" | "None" | "(null)" => ("Slurm has not looked at it yet".to_owned(), ""),
        "BeginTime" => ("it may not begin yet".to_owned(), ""),
        "Prolog" | "Configuring" => ("its node is being made ready".to_owned(), ""),
        "Licenses" => ("a licence that it asks for is not free".to_owned(), ""),
        "Reservation" => ("it waits for a reservation".to_owned(), ""),
        "ReqNodeNotAvail" | "NodeDown" | "Nodes_required_for_job_are_DOWN" => {
            let which = nodes.map(|nodes| format!(" ({nodes})")).unwrap_or_default();
            (format!("the nodes that it needs are down, drained or reserved{which}"), NODES)
        }
        "PartitionDown" | "PartitionInactive" => ("its partition is down".to_owned(), PARTITION),
        "PartitionTimeLimit" => ("its time limit is longer than the partition allows".to_owned(), TIME),
        "PartitionNodeLimit" | "PartitionConfig" | "BadConstraints" => {
            ("no node of the partition has what it asks for".to_owned(), ASKS)
        }
        "InvalidAccount" | "AccountNotAllowed" => ("its account is not valid".to_owned(), ACCOUNT),
        "InvalidQOS" | "QOSNotAllowed" | "QOSTimeLimit" => ("its QOS does not allow it".to_owned(), ACCOUNT),
        "JobHeldUser" => ("it is held".to_owned(), HELD),
        "JobHeldAdmin" => ("an administrator holds it".to_owned(), ADMINISTRATOR),
        "DependencyNeverSatisfied" => ("what it depends on will not happen".to_owned(), ADMINISTRATOR),
        other if is_limit(other) => {
            let remedy = if other.contains("PerJob") { ASKS } else { "" };
            (format!("a limit of its account or QOS is reached ({other})"), remedy)
        }
        other => (format!("Slurm gives the reason {other}"), ""),
    };
    (why, remedy.to_owned())
}

fn is_limit(reason: &str) -> bool {
    ["QOSMax", "QOSGrp", "QOSMin", "AssocMax", "AssocGrp", "Assoc", "MaxJobs"]
        .iter()
        .any(|begin| reason.starts_with(begin))
}

const NODES: &str =
    "Ask the cluster's administrator for the nodes, or choose another partition for the machine.";
const PARTITION: &str = "Choose another partition for the machine, or ask the cluster's administrator.";
const TIME: &str = "Lower the time limit of the machine, and cancel the job with `scancel`.";
const ASKS: &str = "Lower what the machine asks for, and cancel the job with `scancel`.";
const ACCOUNT: &str = "Correct the account of the machine, and cancel the job with `scancel`.";
const HELD: &str = "Release the job with `scontrol release`.";
const ADMINISTRATOR: &str = "Ask the cluster's administrator.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_that_only_a_person_can_mend_has_a_remedy() {
        for (reason, has, is_persons) in [
            ("Resources", "not free", false),
            ("Priority", "ahead", false),
            ("None", "not looked", false),
            ("QOSMaxJobsPerUserLimit", "QOSMaxJobsPerUserLimit", false),
            ("QOSMaxCpuPerJobLimit", "QOSMaxCpuPerJobLimit", true),
            ("ReqNodeNotAvail,_UnavailableNodes:n1", "(n1)", true),
            ("PartitionDown", "partition is down", true),
            ("InvalidAccount", "account", true),
            ("PartitionTimeLimit", "longer", true),
            ("JobHeldUser", "held", true),
            ("SomethingNew", "SomethingNew", false),
        ] {
            let (why, remedy) = told(reason);
            assert!(why.contains(has), "{reason}: {why}");
            assert_eq!(!remedy.is_empty(), is_persons, "{reason}: {remedy}");
        }
    }
}
