//! Calls in progress, so that somebody other than their caller can cancel them: a window cannot hang up.

use std::sync::Mutex;

use forge_model::ids::ProjectId;
use tokio_util::sync::CancellationToken;

use super::{WhichProject, place};
use crate::{ConflictCode, EngineError, World, core::sync::locked, error::Result, validate::call::Call};

/// The calls of an engine.
#[derive(Default)]
pub(crate) struct Validations(Mutex<Vec<Running>>);

struct Running {
    id: String,
    project: Option<ProjectId>,
    module: String,
    run: Option<String>,
    cancel: CancellationToken,
}

/// A call is known while this lives.
pub(super) struct Known<'v> {
    all: &'v Validations,
    id: String,
}

impl Validations {
    /// Lets others end a call.
    pub(super) fn know(&self, call: &Call, cancel: CancellationToken) -> Known<'_> {
        locked(&self.0).push(Running {
            id: call.id.clone(),
            project: call.at.context.as_ref().map(|context| context.project.id.clone()),
            module: call.input.module_id.clone(),
            run: call.input.run_id.clone(),
            cancel,
        });
        Known { all: self, id: call.id.clone() }
    }
}

impl Drop for Known<'_> {
    fn drop(&mut self) {
        locked(&self.all.0).retain(|running| running.id != self.id);
    }
}

/// Ends what runs for a module. Its callers are refused with `cancelled`, and nothing is counted.
pub(crate) async fn cancel_validation(
    world: &World,
    project: &WhichProject,
    module: &str,
    run: Option<&str>,
) -> Result<()> {
    place::check_ids(Some(module), run)?;
    let context = place::project_at(world, project).await?;
    let mut ended = 0;
    let validations = world.part::<Validations>();
    for running in &*locked(&validations.0) {
        let is_meant = running.project.as_ref() == Some(&context.project.id)
            && running.module == module
            && running.run.as_deref() == run;
        if is_meant {
            running.cancel.cancel();
            ended += 1;
        }
    }
    if ended == 0 {
        let message = format!("no validation of {module} is running");
        return Err(EngineError::conflict(ConflictCode::NothingRunning, message));
    }
    Ok(())
}
