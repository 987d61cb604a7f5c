//! Checks of a piece of work, and what is kept of attempts at it. Names are in camelCase, as in every interface.

use forge_engine::WhichProject;
use forge_model::actor::Actor;
use forge_model::ids::ProjectId;
use forge_model::validate::{IterationState, LogEvents, ValidateInput, ValidateReport};

use super::{Done, input, limit};
use crate::{Api, ApiError};

input! {
    /// A module whose attempts are counted.
    #[serde(rename_all = "camelCase")]
    pub struct IterationsOf {
        /// The module.
        pub module_id: String,
        /// The run.
        #[serde(default)]
        pub run_id: Option<String>,
        /// The project; the one whose repository or worktree contains `cwd` when absent.
        #[serde(rename = "project_id", default)]
        pub project_id: Option<ProjectId>,
        /// Absolute path of a folder in the project; when absent, `FORGE_CWD` or the program's current folder.
        #[serde(default)]
        pub cwd: Option<String>,
    }

    /// Which calls and verdicts to list.
    #[serde(rename_all = "camelCase")]
    pub struct LogOf {
        /// Only this run.
        #[serde(default)]
        pub run_id: Option<String>,
        /// Only this module.
        #[serde(default)]
        pub module_id: Option<String>,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
        /// The project; the one whose repository or worktree contains `cwd` when absent.
        #[serde(rename = "project_id", default)]
        pub project_id: Option<ProjectId>,
        /// Absolute path of a folder in the project; when absent, `FORGE_CWD` or the program's current folder.
        #[serde(default)]
        pub cwd: Option<String>,
    }
}

pub(crate) async fn validate(api: Api, _: Actor, input: ValidateInput) -> Result<ValidateReport, ApiError> {
    Ok(api.engine().validate(input).await?)
}

pub(crate) async fn state(api: Api, _: Actor, of: IterationsOf) -> Result<IterationState, ApiError> {
    let which = WhichProject { id: of.project_id, cwd: of.cwd };
    Ok(api.engine().iteration_state(&which, &of.module_id, of.run_id.as_deref()).await?)
}

pub(crate) async fn reset(api: Api, _: Actor, of: IterationsOf) -> Result<IterationState, ApiError> {
    let which = WhichProject { id: of.project_id, cwd: of.cwd };
    Ok(api.engine().reset_iterations(&which, &of.module_id, of.run_id.as_deref()).await?)
}

pub(crate) async fn cancel(api: Api, _: Actor, of: IterationsOf) -> Result<Done, ApiError> {
    let which = WhichProject { id: of.project_id, cwd: of.cwd };
    api.engine().cancel_validation(&which, &of.module_id, of.run_id.as_deref()).await?;
    Ok(Done::yes())
}

pub(crate) async fn log(api: Api, _: Actor, of: LogOf) -> Result<LogEvents, ApiError> {
    let which = WhichProject { id: of.project_id, cwd: of.cwd };
    let most = usize::try_from(limit(of.limit)?).unwrap_or(usize::MAX);
    Ok(api.engine().validate_log(&which, of.run_id, of.module_id, most).await?)
}
