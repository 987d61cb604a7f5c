//! Questions of an agent program that a person answers: may it run this, may it write there, which of these.
//!
//! A question is stored before it is shown and its answer before it is passed on, so that neither is lost with
//! the window. A question dies with its run: the program that asked is gone, and asks again when it is resumed.

use serde_json::Value;

use crate::{
    contract,
    ids::{AgentId, ApprovalId, ExecutionId, ProjectId, TaskId},
    names,
    time::Timestamp,
};

names! {
    /// Subject of an agent's request.
    pub enum ApprovalKind {
        /// To run a command.
        Command = "command",
        /// To change files.
        FileChange = "file_change",
        /// To use another tool.
        Tool = "tool",
        /// To get more permissions: a folder, the network.
        Permission = "permission",
        /// Something that only a person knows.
        Question = "question",
    }
}

names! {
    /// Meaning of an option.
    pub enum ApprovalChoice {
        /// Yes, this once.
        AllowOnce = "allow_once",
        /// Yes, and do not ask again for similar requests.
        AllowAlways = "allow_always",
        /// No; the agent continues without.
        RejectOnce = "reject_once",
        /// No, and do not ask again for similar requests.
        RejectAlways = "reject_always",
        /// No, and the agent stops.
        Stop = "stop",
        /// An answer to a question.
        Answer = "answer",
    }
}

names! {
    /// State of an approval.
    pub enum ApprovalStatus {
        /// It waits for an answer.
        Pending = "pending",
        /// It was answered.
        Answered = "answered",
        /// Its run ended, or the program no longer needs an answer.
        Expired = "expired",
    }
}

contract! {
    /// One of the possible answers.
    #[derive(Eq)]
    pub struct ApprovalOption {
        /// Its name within the question.
        pub id: String,
        /// What people read.
        pub label: String,
        /// What it means.
        pub choice: ApprovalChoice,
    }

    /// Which entry of a race asks.
    #[derive(Eq)]
    pub struct AskingEntry {
        /// The task of the race.
        pub task_id: TaskId,
        /// The strategy's name.
        pub name: String,
    }

    /// An approval that an agent requests.
    pub struct Approval {
        /// Identity.
        pub id: ApprovalId,
        /// The project.
        pub project_id: ProjectId,
        /// The task; of a race's entry the one that it is worked on as.
        pub task_id: TaskId,
        /// The race's entry that asks, if one does.
        pub raced: Option<AskingEntry>,
        /// The run that asks.
        pub execution_id: ExecutionId,
        /// Its agent.
        pub agent_id: AgentId,
        /// Subject.
        pub kind: ApprovalKind,
        /// The id of the request within its run; the `id` of its entry in the run's log.
        pub ask: String,
        /// One line: the command, the path or the question.
        pub title: String,
        /// Why, where, the change: `{reason?, command?, cwd?, paths?, diff?, input?}`, text of at most 64 KiB each.
        #[specta(type = specta_typescript::Unknown)]
        pub detail: Value,
        /// The possible answers.
        pub options: Vec<ApprovalOption>,
        /// Where it is.
        pub status: ApprovalStatus,
        /// The option that was chosen.
        pub answer: Option<String>,
        /// Message sent with it.
        pub note: Option<String>,
        /// Who answered, in the form of a transition's actor.
        pub answered_by: Option<String>,
        /// When it was requested.
        pub asked_at: Timestamp,
        /// When it was answered or expired.
        pub answered_at: Option<Timestamp>,
    }
}
