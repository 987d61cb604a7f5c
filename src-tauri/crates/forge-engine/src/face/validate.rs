//! Public methods of [`Engine`] for `validate` and its attempts.

use forge_model::validate::IterationState;
use forge_model::validate::LogEvents;
use forge_model::validate::ValidateInput;
use forge_model::validate::ValidateReport;

use crate::{
    Engine,
    error::Result,
    validate::{self, WhichProject},
};

impl Engine {
    /// Checks a piece of work and counts the attempt. Dropping the future ends what runs.
    ///
    /// # Errors
    /// `Invalid` with every field that is wrong; `NotFound` for the project; `Cancelled`.
    pub async fn validate(&self, input: ValidateInput) -> Result<ValidateReport> {
        validate::validate(&self.world, input).await
    }

    /// The attempts of a module; none of them is counted by this.
    ///
    /// # Errors
    /// `Invalid`, `NotFound` for the project.
    pub async fn iteration_state(
        &self,
        project: &WhichProject,
        module: &str,
        run: Option<&str>,
    ) -> Result<IterationState> {
        validate::iteration_state(&self.world, project, module, run).await
    }

    /// Forgets the attempts of a module.
    ///
    /// # Errors
    /// `Invalid`, `NotFound` for the project.
    pub async fn reset_iterations(
        &self,
        project: &WhichProject,
        module: &str,
        run: Option<&str>,
    ) -> Result<IterationState> {
        validate::reset_iterations(&self.world, project, module, run).await
    }

    /// The latest calls and verdicts, oldest first: of a run, or of all of them.
    ///
    /// # Errors
    /// `Invalid`, `NotFound` for the project.
    pub async fn validate_log(
        &self,
        project: &WhichProject,
        run: Option<String>,
        module: Option<String>,
        limit: usize,
    ) -> Result<LogEvents> {
        validate::validate_log(&self.world, project, run, module, limit).await
    }

    /// Ends what runs for a module. Its callers are refused with `cancelled`, and nothing is counted.
    ///
    /// # Errors
    /// `Invalid`, `NotFound` for the project, `NothingRunning`.
    pub async fn cancel_validation(
        &self,
        project: &WhichProject,
        module: &str,
        run: Option<&str>,
    ) -> Result<()> {
        validate::running::cancel_validation(&self.world, project, module, run).await
    }
}
