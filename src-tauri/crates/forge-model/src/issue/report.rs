//! What a project does with issues automatically: which it imports, and what it writes back.

use std::collections::BTreeMap;

use crate::{
    contract, names,
    time::Timestamp,
    workflow::{Finding, State, Workflow},
};

/// The name of the setting.
pub const KEY: &str = "issues";
/// What a comment of Forge ends with, before its own name.
pub const COMMENT_MARK: &str = "<!-- forge:report:";
/// The fewest and the most minutes between two looks at the code host.
const MINUTES: std::ops::RangeInclusive<u32> = 5..=24 * 60;

names! {
    /// What is written to the issue of a task.
    pub enum ReportKind {
        /// A comment: work on the task began.
        Started = "started",
        /// A comment: the task is done, by which commit or pull request.
        Done = "done",
        /// The issue is closed.
        Close = "close",
        /// The issue gets the label of the task's state.
        Label = "label",
    }
}

contract! {
    /// Which issues are imported automatically.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct IssueRule {
        /// Labels that an issue must all have; at least one.
        pub labels: Vec<String>,
        /// State of the workflow for new tasks; the backlog when absent.
        #[serde(default)]
        pub into: Option<String>,
        /// Minutes between two looks at the code host, 5 to 1440.
        #[serde(default = "IssueRule::default_minutes")]
        pub every_minutes: u32,
    }

    /// What is written to the issues of tasks.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct IssueReports {
        /// Whether a comment says that work began.
        pub comment_start: bool,
        /// Whether a comment names the merge commit or the pull request when the task is done.
        pub comment_done: bool,
        /// Whether the issue is closed when the task is done.
        pub close_done: bool,
        /// Labels of issues by the state of their task; the labels of other states are removed.
        pub labels: BTreeMap<String, String>,
    }

    /// What a project does with issues automatically.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct IssueSettings {
        /// Which issues are imported automatically; none when absent.
        pub rule: Option<IssueRule>,
        /// What is written to the issues of tasks.
        pub reports: IssueReports,
    }

    /// Labels that an issue gets and loses.
    #[derive(Eq)]
    pub struct LabelChange {
        /// The new one.
        pub add: Option<String>,
        /// Those that it loses.
        pub remove: Vec<String>,
    }

    /// Something that is still to be written to an issue.
    #[derive(Eq)]
    pub struct UnsentReport {
        /// What.
        pub kind: ReportKind,
        /// Why it could not be written.
        pub problem: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
        /// When it is tried again.
        pub retry_at: Option<Timestamp>,
    }
}

impl IssueRule {
    const fn default_minutes() -> u32 {
        10
    }
}

impl IssueSettings {
    /// What is wrong with them.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(rule) = &self.rule {
            if rule.labels.is_empty() {
                findings.push(Finding::new(format!("{KEY}.rule.labels"), "must have at least one label"));
            }
            for (index, label) in rule.labels.iter().enumerate().filter(|(_, label)| is_no_label(label)) {
                let path = format!("{KEY}.rule.labels[{index}]");
                findings.push(Finding::new(path, format!("must be a label without commas, not `{label}`")));
            }
            if !MINUTES.contains(&rule.every_minutes) {
                findings.push(Finding::new(format!("{KEY}.rule.every_minutes"), "must be 5 to 1440"));
            }
        }
        for (state, label) in self.reports.labels.iter().filter(|(_, label)| is_no_label(label)) {
            let path = crate::workflow::key_path(&format!("{KEY}.reports.labels"), state);
            findings.push(Finding::new(path, format!("must be a label without commas, not `{label}`")));
        }
        findings
    }
}

fn is_no_label(label: &str) -> bool {
    label.trim().is_empty() || label.contains(',') || label.chars().any(char::is_control)
}

impl IssueReports {
    /// What is to be written when a task comes to a state, in order.
    #[must_use]
    pub fn at(&self, workflow: &Workflow, state: &State) -> Vec<(ReportKind, Option<LabelChange>)> {
        let is_work = workflow.work_state().is_some_and(|work| work.name == state.name);
        let is_done = state.is_terminal() && state.name != workflow.cancellation_state;
        let mut reports = Vec::new();
        if !self.labels.is_empty() {
            let add = self.labels.get(&state.name).cloned();
            let mut remove: Vec<String> = self.labels.values().cloned().collect();
            remove.retain(|label| Some(label) != add.as_ref());
            remove.sort();
            remove.dedup();
            reports.push((ReportKind::Label, Some(LabelChange { add, remove })));
        }
        for (kind, is_wanted) in [
            (ReportKind::Started, self.comment_start && is_work),
            (ReportKind::Done, self.comment_done && is_done),
            (ReportKind::Close, self.close_done && is_done),
        ] {
            if is_wanted {
                reports.push((kind, None));
            }
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::default_workflow;

    #[test]
    fn reports_follow_the_states_of_a_task() {
        let workflow = default_workflow();
        let labels = [("in_progress", "doing"), ("review", "doing"), ("blocked", "stuck")];
        let labels = labels.map(|(state, label)| (state.to_owned(), label.to_owned()));
        let all = IssueReports {
            comment_start: true,
            comment_done: true,
            close_done: true,
            labels: BTreeMap::from(labels),
        };
        let at = |state: &str| all.at(workflow, workflow.state(state).unwrap());
        let label = |add: Option<&str>, remove: &[&str]| {
            let remove = remove.iter().map(|label| (*label).to_owned()).collect();
            (ReportKind::Label, Some(LabelChange { add: add.map(str::to_owned), remove }))
        };
        assert_eq!(at("in_progress"), [label(Some("doing"), &["stuck"]), (ReportKind::Started, None)]);
        assert_eq!(at("review"), [label(Some("doing"), &["stuck"])]);
        let none = label(None, &["doing", "stuck"]);
        assert_eq!(at("done"), [none.clone(), (ReportKind::Done, None), (ReportKind::Close, None)]);
        assert_eq!(at("cancelled"), [none]);
        let off = IssueReports::default();
        assert!(workflow.states.iter().all(|state| off.at(workflow, state).is_empty()));
    }

    #[test]
    fn settings_that_cannot_be_followed_are_refused() {
        let read = |text| serde_json::from_str::<IssueSettings>(text).unwrap().findings();
        let paths = |text| read(text).into_iter().map(|finding| finding.path).collect::<Vec<_>>();
        assert_eq!(paths("{}"), [""; 0]);
        assert_eq!(paths(r#"{"rule":{"labels":["agent"]},"reports":{"labels":{"done":"ready"}}}"#), [""; 0]);
        assert_eq!(paths(r#"{"rule":{"labels":[]}}"#), ["issues.rule.labels"]);
        assert_eq!(
            paths(r#"{"rule":{"labels":["a","b,c"," "],"every_minutes":1}}"#),
            ["issues.rule.labels[1]", "issues.rule.labels[2]", "issues.rule.every_minutes"]
        );
        assert_eq!(paths(r#"{"reports":{"labels":{"done":""}}}"#), ["issues.reports.labels.done"]);
    }
}
