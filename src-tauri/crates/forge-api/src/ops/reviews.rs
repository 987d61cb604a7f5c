//! Reviews and a person's decisions.

use forge_engine::{Decision, DecisionRequest};
use forge_model::actor::Actor;
use forge_model::comment::NewComment;
use forge_model::ids::TaskId;
use forge_model::review::Review;

use super::{Page, TaskAndReview, TaskPath, Wait, input, settled};
use crate::{Api, ApiError};

input! {
    /// A decision on the review.
    pub struct DecideReview {
        /// The task.
        pub task_id: TaskId,
        /// Reason. A rejection sends the reason and the comments to the agent; both may be absent.
        #[serde(default)]
        pub reason: Option<String>,
        /// With an approval: the reviewed commit that the person saw, at least seven digits of it. If it is out of date,
        /// the approval is refused with `work_changed_since_review`.
        #[serde(default)]
        pub commit: Option<String>,
        /// With a rejection: comments on lines of the diff, in addition to the drafts.
        #[serde(default)]
        pub comments: Vec<NewComment>,
        /// The task's version, as read; not compared when absent.
        #[serde(default)]
        pub version: Option<u32>,
        /// Whether the answer waits for the steps that follow.
        #[serde(default)]
        pub wait: Option<Wait>,
    }

    /// A decision at one gate.
    pub struct DecideGate {
        /// The task.
        pub task_id: TaskId,
        /// The gate's state.
        pub state: String,
        /// Reason. A rejection sends the reason and the comments to the agent; both may be absent.
        #[serde(default)]
        pub reason: Option<String>,
        /// With an approval: the reviewed commit that the person saw, at least seven digits of it. If it is out of date,
        /// the approval is refused with `work_changed_since_review`.
        #[serde(default)]
        pub commit: Option<String>,
        /// With a rejection: comments on lines of the diff, in addition to the drafts.
        #[serde(default)]
        pub comments: Vec<NewComment>,
        /// The task's version, as read; not compared when absent.
        #[serde(default)]
        pub version: Option<u32>,
        /// Whether the answer waits for the steps that follow.
        #[serde(default)]
        pub wait: Option<Wait>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Page<Review>, ApiError> {
    Ok(Page::whole(api.engine().reviews(&path.task_id).await?))
}

async fn decide(
    api: &Api,
    actor: Actor,
    at: DecideGate,
    gate: bool,
    decision: Decision,
) -> Result<TaskAndReview, ApiError> {
    let DecideGate { task_id, state, reason, commit, comments, version, wait } = at;
    let gate = gate.then_some(state);
    let request = DecisionRequest { gate, decision, version, reason, commit, comments };
    api.engine().decide(actor, &task_id, request).await?;
    settled(api, &task_id, wait).await
}

fn anywhere(review: DecideReview) -> DecideGate {
    let DecideReview { task_id, reason, commit, comments, version, wait } = review;
    DecideGate { task_id, state: String::new(), reason, commit, comments, version, wait }
}

pub(crate) async fn approve(api: Api, actor: Actor, review: DecideReview) -> Result<TaskAndReview, ApiError> {
    decide(&api, actor, anywhere(review), false, Decision::Approve).await
}

pub(crate) async fn reject(api: Api, actor: Actor, review: DecideReview) -> Result<TaskAndReview, ApiError> {
    decide(&api, actor, anywhere(review), false, Decision::Reject).await
}

pub(crate) async fn approve_gate(
    api: Api,
    actor: Actor,
    gate: DecideGate,
) -> Result<TaskAndReview, ApiError> {
    decide(&api, actor, gate, true, Decision::Approve).await
}

pub(crate) async fn reject_gate(api: Api, actor: Actor, gate: DecideGate) -> Result<TaskAndReview, ApiError> {
    decide(&api, actor, gate, true, Decision::Reject).await
}

pub(crate) async fn cancel(api: Api, actor: Actor, path: TaskPath) -> Result<TaskAndReview, ApiError> {
    api.engine().cancel_review(actor, &path.task_id).await?;
    settled(&api, &path.task_id, None).await
}
