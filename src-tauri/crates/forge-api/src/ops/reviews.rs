//! Reviews and a person's decisions.

use forge_engine::{Decision, DecisionRequest};
use forge_model::actor::Via;
use forge_model::comment::NewComment;
use forge_model::ids::TaskId;
use forge_model::review::Review;

use super::{Page, TaskAndReview, TaskPath, Wait, input, person, settled};
use crate::{Api, ApiError};

input! {
    /// A decision on the review.
    pub struct DecideReview {
        /// The task.
        pub task_id: TaskId,
        /// Why; a rejection needs it or a comment, both go to the agent.
        #[serde(default)]
        pub reason: Option<String>,
        /// With a rejection: comments on lines of the diff, besides the drafts that were made.
        #[serde(default)]
        pub comments: Vec<NewComment>,
        /// The task's version that the person saw; not checked when absent.
        #[serde(default)]
        pub version: Option<u32>,
        /// Whether the answer waits for what follows.
        #[serde(default)]
        pub wait: Option<Wait>,
    }

    /// A decision at one gate.
    pub struct DecideGate {
        /// The task.
        pub task_id: TaskId,
        /// The gate's state.
        pub state: String,
        /// Why; a rejection needs it or a comment, both go to the agent.
        #[serde(default)]
        pub reason: Option<String>,
        /// With a rejection: comments on lines of the diff, besides the drafts that were made.
        #[serde(default)]
        pub comments: Vec<NewComment>,
        /// The task's version that the person saw; not checked when absent.
        #[serde(default)]
        pub version: Option<u32>,
        /// Whether the answer waits for what follows.
        #[serde(default)]
        pub wait: Option<Wait>,
    }
}

pub(crate) async fn list(api: Api, _: Via, path: TaskPath) -> Result<Page<Review>, ApiError> {
    Ok(Page::whole(api.engine().reviews(&path.task_id).await?))
}

async fn decide(
    api: &Api,
    via: Via,
    at: DecideGate,
    gate: bool,
    decision: Decision,
) -> Result<TaskAndReview, ApiError> {
    let DecideGate { task_id, state, reason, comments, version, wait } = at;
    let gate = gate.then_some(state);
    let request = DecisionRequest { gate, decision, version, reason, comments };
    api.engine().decide(person(via), &task_id, request).await?;
    settled(api, &task_id, wait).await
}

fn anywhere(review: DecideReview) -> DecideGate {
    let DecideReview { task_id, reason, comments, version, wait } = review;
    DecideGate { task_id, state: String::new(), reason, comments, version, wait }
}

pub(crate) async fn approve(api: Api, via: Via, review: DecideReview) -> Result<TaskAndReview, ApiError> {
    decide(&api, via, anywhere(review), false, Decision::Approve).await
}

pub(crate) async fn reject(api: Api, via: Via, review: DecideReview) -> Result<TaskAndReview, ApiError> {
    decide(&api, via, anywhere(review), false, Decision::Reject).await
}

pub(crate) async fn approve_gate(api: Api, via: Via, gate: DecideGate) -> Result<TaskAndReview, ApiError> {
    decide(&api, via, gate, true, Decision::Approve).await
}

pub(crate) async fn reject_gate(api: Api, via: Via, gate: DecideGate) -> Result<TaskAndReview, ApiError> {
    decide(&api, via, gate, true, Decision::Reject).await
}

pub(crate) async fn cancel(api: Api, via: Via, path: TaskPath) -> Result<TaskAndReview, ApiError> {
    api.engine().cancel_review(person(via), &path.task_id).await?;
    settled(&api, &path.task_id, None).await
}
