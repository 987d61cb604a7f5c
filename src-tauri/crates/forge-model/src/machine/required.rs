//! The machines that a task requires: labels that a machine must all have. A machine's name counts as one of its labels,
//! and an empty list is the computer that the engine is on.

use super::{LOCAL, MAX_LABELS, MAX_NAME, Machine, is_line};
use crate::workflow::Finding;

impl Machine {
    /// Whether it has all of these labels.
    #[must_use]
    pub fn has_labels(&self, required: &[String]) -> bool {
        required.iter().all(|label| *label == self.name || self.labels.contains(label))
    }
}

/// The labels that a task requires of its machine: its own, else its agent's, else its project's.
#[must_use]
pub fn effective<'l>(
    task: Option<&'l [String]>,
    agent: Option<&'l [String]>,
    project: &'l [String],
) -> &'l [String] {
    task.or(agent).unwrap_or(project)
}

/// What is wrong with the labels that a project, an agent or a task requires of a machine.
#[must_use]
pub fn findings(labels: &[String], path: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if labels.len() > MAX_LABELS {
        findings.push(Finding::new(path, "must be at most 20 labels"));
    }
    for (index, label) in labels.iter().enumerate() {
        let message = if !is_line(label) || label.trim() != label || label.chars().count() > MAX_NAME {
            "must be a label or the name of a machine: 1 to 60 characters on one line"
        } else if label == LOCAL {
            "is no label: an empty list is this computer"
        } else {
            continue;
        };
        findings.push(Finding::new(format!("{path}[{index}]"), message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[&str]) -> Vec<String> {
        all.iter().map(|label| (*label).to_owned()).collect()
    }

    #[test]
    fn what_a_task_says_itself_goes_before_its_agent_and_that_before_the_project() {
        let (task, agent, project) = (labels(&["t"]), labels(&["a"]), labels(&["p"]));
        assert_eq!(effective(Some(&task), Some(&agent), &project), task);
        assert_eq!(effective(None, Some(&agent), &project), agent);
        assert_eq!(effective(None, None, &project), project);
        let local: [String; 0] = [];
        assert_eq!(effective(Some(&[]), Some(&agent), &project), local, "an empty list is this computer");
        assert_eq!(effective(None, Some(&[]), &project), local);
    }

    #[test]
    fn labels_that_no_machine_can_have_are_refused_by_their_place() {
        assert_eq!(findings(&labels(&["gpu", "Big box", "10.0.0.1"]), "machines"), []);
        let wrong = findings(&labels(&["", "gpu", " gpu", "a\nb", &"x".repeat(61), "local"]), "machines");
        let paths: Vec<&str> = wrong.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, [0, 2, 3, 4, 5].map(|index| format!("machines[{index}]")));
        let many = findings(&vec!["a".to_owned(); 21], "config.machines");
        assert_eq!(many.iter().map(|finding| &*finding.path).collect::<Vec<_>>(), ["config.machines"]);
    }
}
