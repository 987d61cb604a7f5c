//! What a person can do about a task. Computed here alone, so every interface shows the same list and the
//! engine accepts nothing else.

use crate::{
    contract, names,
    wait::{AnnotationType, WaitReason},
};

names! {
    /// An action's name.
    pub enum Verb {
        /// Reruns the failed step.
        Retry = "retry",
        /// The same, with a message to the agent.
        ResumeSession = "resume_session",
        /// Back to work with a reason; no budget is spent.
        SendBack = "send_back",
        /// Passes the gate as a person.
        Approve = "approve",
        /// Moves to the initial state with a fresh worktree; the old content is backed up.
        Restart = "restart",
        /// The same, but keeps the worktree.
        RestartWithChanges = "restart_with_changes",
        /// Resets the budgets, then does `retry`.
        ResetBudget = "reset_budget",
        /// Reruns the hook that holds up the task.
        RetryHook = "retry_hook",
        /// Continues without that hook, once.
        SkipHookOnce = "skip_hook_once",
        /// A new worktree from the default branch; the old content is backed up.
        ResetWorkspace = "reset_workspace",
        /// Accepts the repository's configuration as it is now.
        AcceptRepository = "accept_repository",
        /// Restores the accepted configuration of the repository.
        UndoRepository = "undo_repository",
        /// Trusts the startup files that the task names.
        TrustFiles = "trust_files",
        /// Adds the files of embedded repositories to the worktree's files.
        AddEmbedded = "add_embedded",
        /// Makes git ignore embedded repositories.
        IgnoreEmbedded = "ignore_embedded",
        /// Continues without the task's unreachable machine.
        GiveUpMachine = "give_up_machine",
        /// Cancels the task.
        Cancel = "cancel",
        /// Puts the task on hold: the engine starts nothing for it.
        Hold = "hold",
        /// Releases the task from hold.
        Release = "release",
        /// Makes an entry of the race the winner.
        Crown = "crown",
        /// Starts another race.
        RaceAgain = "race_again",
        /// Continues with one agent, without a race.
        SingleAgent = "single_agent",
        /// Reviews the current work, as a new attempt.
        ReviewAgain = "review_again",
        /// Merges only the reviewed commit; later work stays on the task's branch.
        MergeReviewed = "merge_reviewed",
        /// Restores the task's branch at the reviewed commit, then retries.
        RestoreBranch = "restore_branch",
    }
}

contract! {
    /// One thing a person can do.
    pub struct Offer {
        /// What it does.
        pub verb: Verb,
        /// Label of its button.
        pub label: String,
        /// Fields that it requires.
        pub fields: Vec<String>,
        /// Its effect here.
        pub why: String,
    }
}

/// What the offers depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Whether the task is closed.
    pub terminal: bool,
    /// Whether a person asked to start nothing.
    pub held: bool,
    /// Why the task needs a person, if it does.
    pub annotation: Option<AnnotationType>,
    /// Whether an agent holds the working role.
    pub has_agent: bool,
    /// What it waits for, if it goes on by itself.
    pub waiting: Option<WaitReason>,
    /// Whether it stands at a gate.
    pub at_gate: bool,
    /// Whether its work changed since the review that a person is to decide.
    pub work_changed: bool,
    /// Whether a commit is known from which its missing branch can be restored.
    pub restorable: bool,
}

/// The offers for a task.
#[must_use]
pub fn offers(facts: Facts) -> Vec<Offer> {
    if facts.terminal {
        return Vec::new();
    }
    let mut offers: Vec<Offer> = facts
        .annotation
        .map(|kind| recovery(kind, facts.at_gate))
        .unwrap_or_default()
        .iter()
        .filter(|verb| facts.has_agent || !matches!(verb, Verb::ResumeSession | Verb::SendBack))
        .filter(|verb| facts.restorable || **verb != Verb::RestoreBranch)
        .map(|verb| describe(*verb))
        .collect();
    if facts.work_changed && facts.annotation != Some(AnnotationType::WorkChanged) {
        // The likely way on comes first.
        offers.insert(0, describe(Verb::MergeReviewed));
        offers.insert(0, describe(Verb::ReviewAgain));
    }
    // Nobody has to believe a provider that asks for a day.
    if facts.annotation.is_none() && facts.waiting == Some(WaitReason::RateLimited) {
        offers.push(Offer {
            why: "Asks the provider at once instead of waiting.".to_owned(),
            ..describe(Verb::Retry)
        });
    }
    if facts.annotation.is_none() && facts.waiting == Some(WaitReason::RaceCrown) {
        offers.push(describe(Verb::Crown));
    }
    let waits_for_machine = matches!(
        facts.waiting,
        Some(WaitReason::MachineUnreachable | WaitReason::JobPending | WaitReason::MachineDiskFull)
    );
    if facts.annotation.is_none() && waits_for_machine {
        offers.push(describe(Verb::GiveUpMachine));
    }
    offers.push(describe(if facts.held { Verb::Release } else { Verb::Hold }));
    offers.push(describe(Verb::Cancel));
    offers
}

/// Whether a person may approve the work of a task with this trouble.
#[must_use]
pub fn may_approve(kind: AnnotationType) -> bool {
    recovery(kind, false).contains(&Verb::Approve)
}

/// The table: what helps against which trouble, most likely first.
const fn recovery(kind: AnnotationType, at_gate: bool) -> &'static [Verb] {
    use AnnotationType as T;
    use Verb as V;
    match kind {
        T::ReviewBudgetExhausted | T::ReviewStagnant => {
            &[V::SendBack, V::ResetBudget, V::Approve, V::Restart, V::RestartWithChanges]
        }
        T::CiFailedAfterMergeFix => &[V::SendBack, V::Retry, V::Restart, V::RestartWithChanges],
        T::ExecutorFailed => &[V::Retry, V::ResumeSession, V::Restart, V::RestartWithChanges],
        T::ExecutorUnavailable => &[V::Retry, V::Restart, V::RestartWithChanges],
        T::EnvironmentNotReady => &[V::Retry, V::Restart, V::RestartWithChanges, V::ResetWorkspace],
        T::CommitRefused => &[V::ResumeSession, V::Retry, V::Restart, V::RestartWithChanges],
        T::GuardRejected => &[V::ResumeSession, V::Retry, V::Restart, V::RestartWithChanges],
        T::RepositoryChanged => &[V::UndoRepository, V::AcceptRepository],
        T::TrustRequired => &[V::TrustFiles, V::Retry, V::Restart, V::ResetWorkspace],
        T::EmbeddedRepository => &[V::AddEmbedded, V::IgnoreEmbedded, V::SendBack],
        T::SubmoduleNotPushed => &[V::Retry, V::SendBack, V::Restart, V::RestartWithChanges],
        T::TargetUnstable | T::MergeError => &[V::Retry, V::SendBack],
        T::WorkMissing => &[V::RestoreBranch, V::Retry, V::ResetWorkspace],
        T::WorkChanged => &[V::ReviewAgain, V::MergeReviewed, V::SendBack, V::Restart],
        T::WorkspaceResetRequired => &[V::RestoreBranch, V::ResetWorkspace],
        T::WorkspaceError => &[V::Retry, V::ResetWorkspace],
        T::BeforeWorkHookFailed | T::BeforeWorkHookTimeout => {
            &[V::RetryHook, V::SkipHookOnce, V::Restart, V::RestartWithChanges]
        }
        T::SubtaskPaused => &[V::Retry, V::ResumeSession, V::Restart, V::RestartWithChanges],
        // A person stopped what the gate does.
        T::Manual if at_gate => &[V::Retry, V::SendBack, V::Restart, V::RestartWithChanges],
        T::DependencyCancelled => &[V::Restart],
        T::Manual => &[V::Restart, V::RestartWithChanges],
        T::CascadeLimit | T::RecoveryRequired => &[V::Retry, V::SendBack, V::Restart, V::RestartWithChanges],
        T::ReviewerUnusable => &[V::Approve, V::SendBack, V::Retry],
        T::MergeConflict => &[V::Retry, V::SendBack, V::ResetBudget, V::Restart, V::RestartWithChanges],
        T::RaceNoWinner => &[V::RaceAgain, V::SingleAgent, V::Crown, V::Restart, V::RestartWithChanges],
        T::RaceNotPromoted => &[V::Retry, V::RaceAgain, V::SingleAgent, V::Restart, V::RestartWithChanges],
        T::PrFailed | T::PrClosedWithoutMerge => &[V::Retry, V::SendBack, V::Restart, V::RestartWithChanges],
    }
}

fn describe(verb: Verb) -> Offer {
    let (label, fields, why): (&str, &[&str], &str) = match verb {
        Verb::Retry => ("Try again", &[], "Reruns the failed step in the same worktree."),
        Verb::ResumeSession => ("Message agent", &["message"], "The agent continues with your message."),
        Verb::SendBack => {
            ("Send back", &["reason"], "Sends the task back to the agent with your reason; uses no retry.")
        }
        Verb::Approve => ("Approve anyway", &["reason"], "Passes the gate on your decision."),
        Verb::Restart => (
            "Start over",
            &[],
            "Moves the task to the first column with fresh budgets and a fresh worktree, after a backup.",
        ),
        Verb::RestartWithChanges => (
            "Retry with changes",
            &[],
            "Moves the task to the first column with fresh budgets; the next agent continues in this worktree.",
        ),
        Verb::ResetBudget => ("Reset retries", &[], "Resets the retry count and tries again."),
        Verb::ResetWorkspace => {
            ("Reset worktree", &[], "Creates a fresh worktree from the default branch, after a backup.")
        }
        Verb::RetryHook => ("Rerun hook", &[], "Reruns the failed hook; work starts when it passes."),
        Verb::SkipHookOnce => {
            ("Skip hook once", &["reason"], "Starts work without this hook once; your reason is recorded.")
        }
        Verb::AcceptRepository => (
            "Accept changes",
            &[],
            "Lets git run the programs that the configuration now names; waiting tasks continue.",
        ),
        Verb::UndoRepository => (
            "Undo changes",
            &[],
            "Restores the accepted configuration and keeps a copy of the changed one; waiting tasks continue.",
        ),
        Verb::TrustFiles => {
            ("Trust these files", &[], "Lets programs start with these files; waiting tasks continue.")
        }
        Verb::AddEmbedded => (
            "Add files",
            &[],
            "Adds the files of the embedded repository to the task; its history is kept in a backup.",
        ),
        Verb::IgnoreEmbedded => (
            "Ignore folder",
            &[],
            "Adds the folder to the repository's info/exclude; the files stay in place.",
        ),
        Verb::GiveUpMachine => (
            "Give up machine",
            &[],
            "Continues elsewhere from the files as they were last fetched; newer files on the machine become a backup \
             when it is back.",
        ),
        Verb::Cancel => ("Cancel task", &[], "Closes the task; its worktree is removed later."),
        Verb::Hold => ("Hold", &[], "Starts nothing new for the task."),
        Verb::Release => ("Release", &[], "Lets work start again."),
        Verb::Crown => ("Pick as winner", &["entry"], "Takes over the work of the chosen entry."),
        Verb::RaceAgain => ("Race again", &[], "Starts all entries again; earlier ones are removed later."),
        Verb::SingleAgent => ("Use one agent", &[], "Starts the assigned agent without a race."),
        Verb::ReviewAgain => {
            ("Review again", &[], "Starts a new review of the current work; reuses passed checks.")
        }
        Verb::MergeReviewed => (
            "Merge reviewed commit",
            &[],
            "Merges only the reviewed commit; later work stays on the task's branch.",
        ),
        Verb::RestoreBranch => {
            ("Restore branch", &[], "Restores the task's branch at the reviewed commit, then retries.")
        }
    };
    Offer {
        verb,
        label: label.to_owned(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs(facts: Facts) -> Vec<Verb> {
        offers(facts).into_iter().map(|offer| offer.verb).collect()
    }

    const OPEN: Facts = Facts {
        terminal: false,
        held: false,
        annotation: None,
        has_agent: true,
        waiting: None,
        at_gate: false,
        work_changed: false,
        restorable: false,
    };

    #[test]
    fn an_open_task_can_be_held_and_cancelled() {
        assert_eq!(verbs(OPEN), [Verb::Hold, Verb::Cancel]);
        assert_eq!(verbs(Facts { held: true, ..OPEN }), [Verb::Release, Verb::Cancel]);
        assert_eq!(verbs(Facts { terminal: true, ..OPEN }), []);
    }

    #[test]
    fn a_wait_for_the_provider_can_be_cut_short() {
        let limited = Facts { waiting: Some(WaitReason::RateLimited), ..OPEN };
        assert_eq!(verbs(limited), [Verb::Retry, Verb::Hold, Verb::Cancel]);
        for reason in [WaitReason::MachineUnreachable, WaitReason::JobPending, WaitReason::MachineDiskFull] {
            let waits = Facts { waiting: Some(reason), ..OPEN };
            assert_eq!(verbs(waits), [Verb::GiveUpMachine, Verb::Hold, Verb::Cancel]);
        }
        assert_eq!(verbs(Facts { waiting: Some(WaitReason::AgentBusy), ..OPEN }), [Verb::Hold, Verb::Cancel]);
    }

    #[test]
    fn a_gate_that_a_person_stopped_can_go_on() {
        let stopped = Facts { annotation: Some(AnnotationType::Manual), ..OPEN };
        assert_eq!(verbs(stopped), [Verb::Restart, Verb::RestartWithChanges, Verb::Hold, Verb::Cancel]);
        let at_gate = verbs(Facts { at_gate: true, ..stopped });
        assert_eq!(
            at_gate,
            [Verb::Retry, Verb::SendBack, Verb::Restart, Verb::RestartWithChanges, Verb::Hold, Verb::Cancel]
        );
    }

    #[test]
    fn every_trouble_has_a_way_out() {
        for kind in AnnotationType::ALL {
            let offered = verbs(Facts { annotation: Some(*kind), has_agent: false, ..OPEN });
            assert!(offered.len() > 2, "{kind} offers nothing but hold and cancel");
        }
    }

    #[test]
    fn changed_work_offers_a_new_review_first() {
        let facts = Facts { at_gate: true, work_changed: true, ..OPEN };
        assert_eq!(verbs(facts), [Verb::ReviewAgain, Verb::MergeReviewed, Verb::Hold, Verb::Cancel]);
        let blocked = Facts { annotation: Some(AnnotationType::ReviewBudgetExhausted), ..facts };
        assert_eq!(verbs(blocked).first(), Some(&Verb::ReviewAgain));
    }

    #[test]
    fn a_missing_branch_is_restored_only_from_a_known_commit() {
        let missing = Facts { annotation: Some(AnnotationType::WorkMissing), ..OPEN };
        let ways = [Verb::Retry, Verb::ResetWorkspace, Verb::Hold, Verb::Cancel];
        assert_eq!(verbs(missing), ways);
        let restorable = verbs(Facts { restorable: true, ..missing });
        assert_eq!(restorable.first(), Some(&Verb::RestoreBranch));
    }

    #[test]
    fn a_task_without_agent_is_not_sent_back_to_one() {
        let facts = Facts { annotation: Some(AnnotationType::ExecutorFailed), has_agent: false, ..OPEN };
        assert_eq!(
            verbs(facts),
            [Verb::Retry, Verb::Restart, Verb::RestartWithChanges, Verb::Hold, Verb::Cancel]
        );
    }
}
