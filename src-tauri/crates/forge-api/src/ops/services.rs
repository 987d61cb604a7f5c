//! Services of tasks.

use forge_model::actor::Actor;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::service::{Service, ServiceOffer, TaskService};

use super::{Done, Empty, Page, TaskPath, input, projects::ProjectPath};
use crate::{Api, ApiError};

input! {
    /// A service to start.
    pub struct StartService {
        /// The task in whose worktree it runs.
        pub task_id: TaskId,
        /// Name of the service; the project's first one when absent.
        #[serde(default)]
        pub name: Option<String>,
    }

    /// A service to stop.
    pub struct StopService {
        /// The task.
        pub task_id: TaskId,
        /// Name of the service; all services of the task when absent.
        #[serde(default)]
        pub name: Option<String>,
    }

    /// Suggested services to add.
    pub struct TakeServices {
        /// The project.
        pub project_id: ProjectId,
        /// Their names.
        pub names: Vec<String>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, _: Empty) -> Result<Page<Service>, ApiError> {
    Ok(Page::whole(api.engine().services().await?))
}

pub(crate) async fn of_task(api: Api, _: Actor, path: TaskPath) -> Result<Page<TaskService>, ApiError> {
    Ok(Page::whole(api.engine().task_services(&path.task_id).await?))
}

pub(crate) async fn start(api: Api, actor: Actor, start: StartService) -> Result<Service, ApiError> {
    Ok(api.engine().start_service(&actor, &start.task_id, start.name.as_deref()).await?)
}

pub(crate) async fn stop(api: Api, actor: Actor, stop: StopService) -> Result<Page<TaskService>, ApiError> {
    Ok(Page::whole(api.engine().stop_service(&actor, &stop.task_id, stop.name.as_deref()).await?))
}

pub(crate) async fn offers(api: Api, _: Actor, path: ProjectPath) -> Result<Page<ServiceOffer>, ApiError> {
    Ok(Page::whole(api.engine().service_offers(&path.project_id).await?))
}

pub(crate) async fn take(api: Api, _: Actor, take: TakeServices) -> Result<Done, ApiError> {
    api.engine().take_services(&take.project_id, &take.names).await?;
    Ok(Done::yes())
}
