//! In-app notifications; the window raises the native ones from the same rows.

use crate::{
    contract,
    ids::{NotificationId, ProjectId, TaskId},
    names,
    time::Timestamp,
};

names! {
    /// Why a person is notified.
    pub enum NotificationKind {
        /// A task is blocked.
        Blocked = "blocked",
        /// A task waits for a person's decision.
        AwaitingHuman = "awaiting_human",
        /// A task waits for something a person can clear, such as a dirty checkout.
        Waiting = "waiting",
        /// A task reached a terminal state.
        Done = "done",
        /// A project's worktrees take more disk space than they are allowed to.
        Disk = "disk",
        /// An agent asks something and waits for the answer.
        AgentAsks = "agent_asks",
        /// A limit of cost is near or reached.
        Cost = "cost",
        /// A race is decided, or waits to be.
        RaceDecided = "race_decided",
        /// A run cost more than is usual.
        CostAnomaly = "cost_anomaly",
    }
}

contract! {
    /// One notification.
    pub struct Notification {
        /// Identity.
        pub id: NotificationId,
        /// Why.
        pub kind: NotificationKind,
        /// The project concerned.
        pub project_id: ProjectId,
        /// The task concerned.
        pub task_id: TaskId,
        /// The task's number, for people.
        pub task_number: u32,
        /// The task's title.
        pub title: String,
        /// The reason in one or two sentences.
        pub body: String,
        /// Whether it has been seen.
        pub read: bool,
        /// When it was created.
        pub created_at: Timestamp,
    }
}
