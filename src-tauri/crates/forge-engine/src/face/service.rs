//! Public methods of [`Engine`] for services.

use forge_model::actor::Actor;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::service::{Service, ServiceOffer, TaskService};

use crate::{
    Engine,
    error::Result,
    service::{command, limit, offers},
};

impl Engine {
    /// Services that run or are about to, of all tasks, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn services(&self) -> Result<Vec<Service>> {
        command::active(&self.world).await
    }

    /// The services that the project of a task names, with their latest start in the task.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn task_services(&self, task: &TaskId) -> Result<Vec<TaskService>> {
        command::of_task(&self.world, task).await
    }

    /// Starts a service in a task's worktree: the first that the project names when none is named. One that runs is
    /// answered as it is.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` when the project names no such service; `WorkspaceMissing`; `ServiceElsewhere` when the
    /// worktree is on another machine; `ServicesFull` when as many run as may, and all are in use; `TrustRequired`.
    pub async fn start_service(&self, actor: &Actor, task: &TaskId, name: Option<&str>) -> Result<Service> {
        command::start(&self.world, actor, task, name).await
    }

    /// Stops a service of a task, or all of them. Nothing of them runs when this returns.
    ///
    /// # Errors
    /// `NotFound`; `NothingRunning`.
    pub async fn stop_service(
        &self,
        actor: &Actor,
        task: &TaskId,
        name: Option<&str>,
    ) -> Result<Vec<TaskService>> {
        command::stop(&self.world, actor, task, name).await
    }

    /// Services that the files of a project's repository imply and that it does not name.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn service_offers(&self, project: &ProjectId) -> Result<Vec<ServiceOffer>> {
        offers::offered(&self.world, project).await
    }

    /// Adds services to a project that it is offered, by their names. Nothing is started.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` when one is not offered.
    pub async fn take_services(&self, project: &ProjectId, names: &[String]) -> Result<()> {
        offers::take(&self.world, project, names).await
    }

    /// How many services may run at once.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn services_max(&self) -> Result<u32> {
        limit::services_max_of(&self.world).await
    }

    /// Sets how many services may run at once. Those that run go on.
    ///
    /// # Errors
    /// `Invalid` for none or too many.
    pub async fn set_services_max(&self, most: u32) -> Result<()> {
        limit::set_services_max(&self.world, most).await
    }
}
