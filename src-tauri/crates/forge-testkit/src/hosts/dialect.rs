//! Answers a request in the dialect of the host.

use anyhow::Result;
use forge_model::pull_request::HostKind;

use super::{
    gitea, github, gitlab, issues,
    state::{Answer, Asked, State},
};

/// The answer to a request, with what was pushed since the last one.
pub(super) fn answer(state: &mut State, asked: &Asked) -> Result<Answer> {
    if let Some(answer) = issues::answer(state, asked) {
        return Ok(answer);
    }
    state.see_pushes()?;
    match state.kind {
        HostKind::Github => github::answer(state, asked),
        HostKind::Gitea => gitea::answer(state, asked),
        HostKind::Gitlab => gitlab::answer(state, asked),
    }
}
