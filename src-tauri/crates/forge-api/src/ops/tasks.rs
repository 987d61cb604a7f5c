//! Tasks.

use std::collections::BTreeMap;

use forge_engine::{ActionRequest, ClaimRequest, IfLocked, MoveRequest, NewTask, Place, Plan, TaskEdit};
use forge_model::actor::Actor;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::TaskRace;
use forge_model::layer::{Layer, prompt_of};
use forge_model::machine::fleet::TaskPlacement;
use forge_model::offer::Verb;
use forge_model::review::ReviewConfig;
use forge_model::settings::MergeConfig;
use forge_model::task::{ExecutionMode, Task, TaskStateConfig};
use forge_model::time::Timestamp;
use forge_model::transition::Transition;

use super::{Before, Done, OnLock, Page, TaskAndReview, TaskPath, Wait, answer, holder, input, limit};
use crate::{Api, ApiError, input::nullable, paging::PageRange};

input! {
    /// A list of tasks to read.
    pub struct ListTasks {
        /// The project.
        pub project_id: ProjectId,
        /// Only tasks in one of these states.
        #[serde(default)]
        pub status: Option<Vec<String>>,
        /// Filter: substring of title, description or number.
        #[serde(default)]
        pub q: Option<String>,
        /// Only tasks whose worktree is on this machine, by id or name; `local` for this computer.
        #[serde(default)]
        pub machine: Option<String>,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`.
        #[serde(default)]
        pub cursor: Option<String>,
    }

    /// A task to create.
    pub struct CreateTask {
        /// The project.
        pub project_id: ProjectId,
        /// Title, one line.
        pub title: String,
        /// Markdown.
        #[serde(default)]
        pub description: Option<String>,
        /// Priority; higher runs first.
        #[serde(default)]
        pub priority: Option<i32>,
        /// Checks that override the project's.
        #[serde(default)]
        pub review_config: Option<ReviewConfig>,
        /// Merge settings that override the project's.
        #[serde(default)]
        pub merge_config: Option<MergeConfig>,
        /// Limits of the task.
        #[serde(default)]
        pub task_state_config: Option<TaskStateConfig>,
        /// Race settings that override the project's.
        #[serde(default)]
        pub race: Option<TaskRace>,
        /// Labels that the task's machine must all have, none for this computer; the agent's or the project's when
        /// absent.
        #[serde(default)]
        pub machines: Option<Vec<String>>,
        /// Roles and their holders: an agent's id or `"user"`.
        #[serde(default)]
        pub roles: Option<BTreeMap<String, Option<String>>>,
        /// Tasks that this one depends on.
        #[serde(default)]
        pub depends_on: Option<Vec<TaskId>>,
        /// Parent task.
        #[serde(default)]
        pub parent_id: Option<TaskId>,
        /// Where a subtask works; in its own worktree when absent.
        #[serde(default)]
        pub execution_mode: Option<ExecutionMode>,
        /// Position among the parent's ordered subtasks; last when absent.
        #[serde(default)]
        pub subtask_order: Option<u32>,
    }

    /// A task by its number.
    pub struct FindTask {
        /// The project.
        pub project_id: ProjectId,
        /// The number.
        pub number: u32,
    }

    /// Changes to a task.
    pub struct UpdateTask {
        /// The task.
        pub task_id: TaskId,
        /// The task's version, as read.
        pub version: u32,
        /// Title, one line.
        #[serde(default)]
        pub title: Option<String>,
        /// Description, Markdown; null removes it.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<String>)]
        #[schemars(with = "Option<String>")]
        pub description: Option<Option<String>>,
        /// Priority; higher runs first.
        #[serde(default)]
        pub priority: Option<i32>,
        /// Checks; null uses the project's.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<ReviewConfig>)]
        #[schemars(with = "Option<ReviewConfig>")]
        pub review_config: Option<Option<ReviewConfig>>,
        /// Merge settings; null uses the project's.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<MergeConfig>)]
        #[schemars(with = "Option<MergeConfig>")]
        pub merge_config: Option<Option<MergeConfig>>,
        /// Limits of the task; null uses the workflow's.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<TaskStateConfig>)]
        #[schemars(with = "Option<TaskStateConfig>")]
        pub task_state_config: Option<Option<TaskStateConfig>>,
        /// Race settings; null removes them.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<TaskRace>)]
        #[schemars(with = "Option<TaskRace>")]
        pub race: Option<Option<TaskRace>>,
        /// Labels that the task's machine must all have, none for this computer; null uses the agent's or the
        /// project's.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
        #[specta(type = Option<Vec<String>>)]
        #[schemars(with = "Option<Vec<String>>")]
        pub machines: Option<Option<Vec<String>>>,
        /// Position among the parent's ordered subtasks.
        #[serde(default)]
        pub subtask_order: Option<u32>,
    }

    /// A task to delete.
    pub struct DeleteTask {
        /// The task.
        pub task_id: TaskId,
        /// The task's version, as read.
        #[serde(default)]
        pub version: Option<u32>,
        /// Whether to end programs that run in the task's terminals; refused with `terminal_busy` otherwise.
        #[serde(default)]
        pub end_terminals: Option<bool>,
    }

    /// A task to claim.
    pub struct ClaimTask {
        /// The task.
        pub task_id: TaskId,
        /// An agent's id, or `"user"`.
        pub agent_id: String,
        /// The task's version, as read.
        pub version: u32,
        /// Whether to queue if the agent is busy; true when absent.
        #[serde(default)]
        pub queue: Option<bool>,
        /// What to do while the worktree is in use.
        #[serde(default)]
        pub if_locked: Option<OnLock>,
    }

    /// A task to move to another state.
    pub struct TransitionTask {
        /// The task.
        pub task_id: TaskId,
        /// The state.
        pub to: String,
        /// The task's version, as read.
        pub version: u32,
        /// Why.
        #[serde(default)]
        pub reason: Option<String>,
        /// Whether the answer waits for the steps that follow.
        #[serde(default)]
        pub wait: Option<Wait>,
        /// What to do while the worktree is in use.
        #[serde(default)]
        pub if_locked: Option<OnLock>,
        /// Whether to end programs that run in the task's terminals when it is closed; refused with `terminal_busy`
        /// otherwise.
        #[serde(default)]
        pub end_terminals: Option<bool>,
    }

    /// A card to move.
    pub struct MoveTask {
        /// The task.
        pub task_id: TaskId,
        /// The state; the current one to change only the position.
        pub to: String,
        /// Place the card above this task.
        #[serde(default)]
        pub before_id: Option<TaskId>,
        /// Place the card below this task.
        #[serde(default)]
        pub after_id: Option<TaskId>,
        /// The task's version, as read.
        pub version: u32,
        /// Why.
        #[serde(default)]
        pub reason: Option<String>,
        /// Whether the answer waits for the steps that follow.
        #[serde(default)]
        pub wait: Option<Wait>,
        /// Whether to end programs that run in the task's terminals when it is closed; refused with `terminal_busy`
        /// otherwise.
        #[serde(default)]
        pub end_terminals: Option<bool>,
    }

    /// An action to perform.
    pub struct TakeOffer {
        /// The task.
        pub task_id: TaskId,
        /// The action's `verb`.
        pub verb: Verb,
        /// The task's version, as read.
        pub version: u32,
        /// Reason, for actions that ask for one.
        #[serde(default)]
        pub reason: Option<String>,
        /// Message to the agent, for actions that ask for one.
        #[serde(default)]
        pub message: Option<String>,
        /// Entry of the race, for actions that ask for one.
        #[serde(default)]
        pub entry: Option<String>,
        /// With `approve`: the reviewed commit that the person saw, at least seven digits of it. If it is out of date,
        /// the approval is refused with `work_changed_since_review`.
        #[serde(default)]
        pub commit: Option<String>,
        /// Whether the answer waits for the steps that follow.
        #[serde(default)]
        pub wait: Option<Wait>,
        /// With `cancel`, `restart` and `reset_workspace`: whether to end programs that run in the task's terminals; refused
        /// with `terminal_busy` otherwise.
        #[serde(default)]
        pub end_terminals: Option<bool>,
    }

    /// A role to assign.
    pub struct AssignRole {
        /// The task.
        pub task_id: TaskId,
        /// The role.
        pub role: String,
        /// An agent's id, `"user"`, or null to clear the role.
        pub holder: Option<String>,
        /// The task's version, as read.
        #[serde(default)]
        pub version: Option<u32>,
    }

    /// A dependency.
    pub struct Dependency {
        /// The dependent task.
        pub task_id: TaskId,
        /// The task that it depends on.
        pub depends_on: TaskId,
    }

    /// A page of a list.
    pub struct Limited {
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`.
        #[serde(default)]
        pub cursor: Option<String>,
    }
}

input! {
    /// A plan to write.
    pub struct PutPlan {
        /// The task.
        pub task_id: TaskId,
        /// Markdown.
        pub text: String,
    }
}

answer! {
    /// A task's plan.
    pub struct PlanView {
        /// Markdown; empty if there is no plan yet.
        pub text: String,
        /// Path of the plan's file.
        pub path: String,
        /// Time of the last change.
        pub written_at: Option<Timestamp>,
    }

    /// A prompt.
    pub struct Prompt {
        /// The text.
        pub text: String,
        /// Sections of the text, in order.
        pub layers: Vec<Layer>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, list: ListTasks) -> Result<Page<Task>, ApiError> {
    let limit = limit(list.limit)?;
    let machine = list.machine.as_deref();
    let text = list.q.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let page = api
        .engine()
        .tasks(
            &list.project_id,
            list.status.unwrap_or_default(),
            text,
            machine,
            list.cursor.as_deref(),
            limit,
        )
        .await?;
    Ok(Page { items: page.items, next_cursor: page.next_cursor })
}

pub(crate) async fn create(api: Api, _: Actor, new: CreateTask) -> Result<Task, ApiError> {
    let roles = new
        .roles
        .unwrap_or_default()
        .into_iter()
        .map(|(role, id)| (role, id.as_deref().map(holder)))
        .collect();
    let task = NewTask {
        title: new.title,
        description: new.description.unwrap_or_default(),
        priority: new.priority.unwrap_or_default(),
        review_config: new.review_config,
        merge_config: new.merge_config,
        task_state_config: new.task_state_config,
        race: new.race,
        machines: new.machines,
        roles,
        depends_on: new.depends_on.unwrap_or_default(),
        parent_id: new.parent_id,
        execution_mode: new.execution_mode,
        subtask_order: new.subtask_order,
    };
    Ok(api.engine().create_task(&new.project_id, task).await?)
}

pub(crate) async fn find(api: Api, _: Actor, find: FindTask) -> Result<Task, ApiError> {
    Ok(api.engine().task_by_number(&find.project_id, find.number).await?)
}

pub(crate) async fn get(api: Api, _: Actor, path: TaskPath) -> Result<Task, ApiError> {
    Ok(api.engine().task(&path.task_id).await?)
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateTask) -> Result<Task, ApiError> {
    let edit = TaskEdit {
        title: change.title,
        description: change.description.map(Option::unwrap_or_default),
        priority: change.priority,
        review_config: change.review_config,
        merge_config: change.merge_config,
        task_state_config: change.task_state_config,
        race: change.race,
        machines: change.machines,
        subtask_order: change.subtask_order,
    };
    Ok(api.engine().update_task(&change.task_id, change.version, edit).await?)
}

pub(crate) async fn delete(api: Api, _: Actor, task: DeleteTask) -> Result<Done, ApiError> {
    let end_terminals = task.end_terminals.unwrap_or(false);
    api.engine().delete_task(&task.task_id, task.version, end_terminals).await?;
    Ok(Done::yes())
}

pub(crate) async fn claim(api: Api, actor: Actor, claim: ClaimTask) -> Result<Task, ApiError> {
    let queue = claim.queue.unwrap_or(true);
    let request = ClaimRequest {
        version: Some(claim.version),
        holder: holder(&claim.agent_id),
        queue,
        if_locked: claim.if_locked.unwrap_or_default().into(),
    };
    api.engine().claim(actor, &claim.task_id, request).await?;
    Ok(api.engine().task(&claim.task_id).await?)
}

pub(crate) async fn transition(
    api: Api,
    actor: Actor,
    transition: TransitionTask,
) -> Result<TaskAndReview, ApiError> {
    let request = MoveRequest {
        to: transition.to,
        version: Some(transition.version),
        reason: transition.reason,
        place: None,
        if_locked: transition.if_locked.unwrap_or_default().into(),
        end_terminals: transition.end_terminals.unwrap_or(false),
    };
    let before = Before::now(&api, &transition.task_id).await?;
    api.engine().move_task(actor, &transition.task_id, request).await?;
    before.settled(&api, &transition.task_id, transition.wait).await
}

pub(crate) async fn move_card(api: Api, actor: Actor, card: MoveTask) -> Result<TaskAndReview, ApiError> {
    let place = Place { before: card.before_id, after: card.after_id };
    let request = MoveRequest {
        to: card.to,
        version: Some(card.version),
        reason: card.reason,
        place: Some(place),
        if_locked: IfLocked::Wait,
        end_terminals: card.end_terminals.unwrap_or(false),
    };
    let before = Before::now(&api, &card.task_id).await?;
    api.engine().move_task(actor, &card.task_id, request).await?;
    before.settled(&api, &card.task_id, card.wait).await
}

pub(crate) async fn undo(api: Api, actor: Actor, path: TaskPath) -> Result<Task, ApiError> {
    api.engine().undo_move(actor, &path.task_id).await?;
    Ok(api.engine().task(&path.task_id).await?)
}

pub(crate) async fn action(api: Api, actor: Actor, offer: TakeOffer) -> Result<TaskAndReview, ApiError> {
    let request = ActionRequest {
        verb: offer.verb,
        version: Some(offer.version),
        reason: offer.reason,
        message: offer.message,
        entry: offer.entry,
        commit: offer.commit,
        end_terminals: offer.end_terminals.unwrap_or(false),
    };
    let before = Before::now(&api, &offer.task_id).await?;
    api.engine().act_on(actor, &offer.task_id, request).await?;
    // Nothing follows from a hold; what goes on is not waited for.
    let wait = if offer.verb == Verb::Hold { Some(Wait::None) } else { offer.wait };
    before.settled(&api, &offer.task_id, wait).await
}

pub(crate) async fn assign(api: Api, _: Actor, role: AssignRole) -> Result<Task, ApiError> {
    let who = role.holder.as_deref().map(holder);
    Ok(api.engine().assign(&role.task_id, role.version, &role.role, who).await?)
}

pub(crate) async fn add_dependency(api: Api, _: Actor, dependency: Dependency) -> Result<Task, ApiError> {
    Ok(api.engine().add_dependency(&dependency.task_id, &dependency.depends_on).await?)
}

pub(crate) async fn remove_dependency(api: Api, _: Actor, dependency: Dependency) -> Result<Task, ApiError> {
    Ok(api.engine().remove_dependency(&dependency.task_id, &dependency.depends_on).await?)
}

pub(crate) async fn subtasks(api: Api, _: Actor, path: TaskPath) -> Result<Page<Task>, ApiError> {
    Ok(Page::whole(api.engine().subtasks(&path.task_id).await?))
}

pub(crate) async fn transitions(api: Api, _: Actor, path: TaskPath) -> Result<Page<Transition>, ApiError> {
    Ok(Page::whole(api.engine().transitions(&path.task_id).await?))
}

pub(crate) async fn plan(api: Api, _: Actor, path: TaskPath) -> Result<PlanView, ApiError> {
    Ok(shown(api.engine().plan(&path.task_id).await?))
}

pub(crate) async fn put_plan(api: Api, _: Actor, plan: PutPlan) -> Result<PlanView, ApiError> {
    Ok(shown(api.engine().put_plan(&plan.task_id, &plan.text).await?))
}

fn shown(plan: Plan) -> PlanView {
    PlanView { text: plan.text, path: plan.path, written_at: plan.written_at }
}

pub(crate) async fn placement(api: Api, _: Actor, path: TaskPath) -> Result<TaskPlacement, ApiError> {
    Ok(api.engine().task_placement(&path.task_id).await?)
}

pub(crate) async fn prompt_preview(api: Api, _: Actor, path: TaskPath) -> Result<Prompt, ApiError> {
    let layers = api.engine().prompt_preview(&path.task_id).await?;
    Ok(Prompt { text: prompt_of(&layers), layers })
}

pub(crate) async fn attention(api: Api, _: Actor, list: Limited) -> Result<Page<Task>, ApiError> {
    let range = PageRange::asked(list.limit, list.cursor.as_deref())?;
    Ok(range.of(api.engine().attention(range.reach()).await?))
}
