//! Public methods of [`Engine`] for runs, agents, approvals and attachments.

use std::sync::Weak;

use forge_agents::AgentError;
use forge_agents::Detected;
use forge_model::actor::Actor;
use forge_model::agent::AdapterKind;
use forge_model::agent::Agent;
use forge_model::agent::AgentLimits;
use forge_model::agent::AgentModel;
use forge_model::approval::Approval;
use forge_model::attachment::Attachment;
use forge_model::ids::AgentId;
use forge_model::ids::ApprovalId;
use forge_model::ids::AttachmentId;
use forge_model::ids::ExecutionId;
use forge_model::ids::TaskId;
use forge_model::run::RunInfo;
use serde_json::Value;

use crate::{
    Engine,
    error::Result,
    run::{
        self,
        attachments::FileSource,
        plan::Plan,
        profiles::NewAgent,
        programs::{KnownProgram, Trial},
        tokens::RunScope,
        tools::ToolServer,
    },
};

impl Engine {
    /// What agents ask: of one task or of all, all of it or what waits for an answer; oldest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn approvals(&self, task: Option<&TaskId>, pending_only: bool) -> Result<Vec<Approval>> {
        run::approval::approvals(&self.world, task, pending_only).await
    }

    /// Answers a question of a run. The answer is stored before it is passed on.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` for an option that is none of the question's, `NotAwaiting` when it was answered already
    /// or its run is over.
    pub async fn answer_approval(
        &self,
        actor: Actor,
        execution: &ExecutionId,
        id: &ApprovalId,
        option: &str,
        note: Option<String>,
    ) -> Result<Approval> {
        run::approval::answer_approval(&self.world, actor, execution, id, option, note).await
    }

    /// A task's files that wait for their message, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn attachments(&self, task: &TaskId) -> Result<Vec<Attachment>> {
        run::attachments::attachments(&self.world, task).await
    }

    /// Keeps a file for the next message to a task's agent.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` for what is no file, too large, or too many.
    pub async fn attach(&self, task: &TaskId, name: &str, source: FileSource) -> Result<Attachment> {
        run::attachments::attach(&self.world, task, name, source).await
    }

    /// Takes a file back that waits for its message.
    ///
    /// # Errors
    /// `NotFound`, `AlreadySent`.
    pub async fn detach(&self, id: &AttachmentId) -> Result<()> {
        run::attachments::detach(&self.world, id).await
    }

    /// Everything that runs on behalf of tasks, the longest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn runs(&self) -> Result<Vec<RunInfo>> {
        run::list::runs(&self.world).await
    }

    /// A task's plan.
    ///
    /// # Errors
    /// `NotFound`, also when the task never had a worktree.
    pub async fn plan(&self, id: &TaskId) -> Result<Plan> {
        run::plan::plan(&self.world, id).await
    }

    /// Writes a task's plan by a person's hand.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` for a text that is too long, `WorkspaceMissing`.
    pub async fn put_plan(&self, id: &TaskId, text: &str) -> Result<Plan> {
        run::plan::put_plan(&self.world, id, text).await
    }

    /// Adds an agent profile.
    ///
    /// # Errors
    /// `Invalid`, `NameTaken`.
    pub async fn create_agent(&self, new: NewAgent) -> Result<Agent> {
        run::profiles::create_agent(&self.world, new).await
    }

    /// Changes an agent profile.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `NameTaken`.
    pub async fn update_agent(&self, id: &AgentId, change: NewAgent) -> Result<Agent> {
        run::profiles::update_agent(&self.world, id, change).await
    }

    /// Removes an agent profile.
    ///
    /// # Errors
    /// `NotFound`, `InUse` while tasks or their history name it.
    pub async fn delete_agent(&self, id: &AgentId) -> Result<()> {
        run::profiles::delete_agent(&self.world, id).await
    }

    /// One agent profile.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn agent(&self, id: &AgentId) -> Result<Agent> {
        run::profiles::agent(&self.world, id).await
    }

    /// All agent profiles, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn agents(&self) -> Result<Vec<Agent>> {
        run::profiles::agents(&self.world).await
    }

    /// Looks for an agent's program on the login shell's path. The error is for people to read.
    ///
    /// # Errors
    /// `NotFound` when there is no such profile.
    pub async fn detect_agent(&self, id: &AgentId) -> Result<Result<Detected, AgentError>> {
        run::profiles::detect_agent(&self.world, id).await
    }

    /// Looks for the program of a profile that need not be stored. The inner error is for people to read.
    ///
    /// # Errors
    /// Never today; the outer error is that of its siblings.
    pub async fn probe_program(
        &self,
        kind: AdapterKind,
        config: &Value,
    ) -> Result<Result<Detected, AgentError>> {
        run::profiles::probe_program(&self.world, kind, config).await
    }

    /// Looks for the programs that Forge knows.
    ///
    /// # Errors
    /// When the profiles cannot be read.
    pub async fn known_programs(&self) -> Result<Vec<KnownProgram>> {
        run::programs::known_programs(&self.world).await
    }

    /// The models that a program offers; empty for adapters that cannot tell. The inner error is for people to read.
    ///
    /// # Errors
    /// Never today; the outer error is that of its siblings.
    pub async fn models_of(
        &self,
        kind: AdapterKind,
        config: &Value,
    ) -> Result<std::result::Result<Vec<AgentModel>, AgentError>> {
        run::programs::models_of(&self.world, kind, config).await
    }

    /// Lets an agent answer one word, in an empty folder of its own, without permission to change anything. What it
    /// costs is the user's, is told with the answer, and is in no task's, project's or day's sum: it belongs to none.
    ///
    /// # Errors
    /// `NotFound`; when the folder or the log cannot be made.
    pub async fn try_agent(&self, id: &AgentId) -> Result<Trial> {
        run::programs::try_agent(&self.world, id).await
    }

    /// Says where the agents that are started find this engine's MCP server; none while there is none.
    pub fn set_mcp_url(&self, url: Option<String>) {
        run::tokens::set_mcp_url(&self.world, url);
    }

    /// Says what answers the calls of tools by agents on other machines. It is not held by this engine, which it knows.
    pub fn set_tool_server(&self, server: Weak<dyn ToolServer>) {
        run::tools::set_tool_server(&self.world, server);
    }

    /// What a token reaches; none when it is no run's, or its run is over.
    ///
    /// # Errors
    /// When it cannot be looked up.
    pub async fn scope_of_token(&self, token: &str) -> Result<Option<RunScope>> {
        run::tokens::scope_of_token(&self.world, token).await
    }

    /// Whether a scope reaches a task: its own, or a part of it at any depth.
    ///
    /// # Errors
    /// When it cannot be looked up.
    pub async fn reaches(&self, scope: &RunScope, task: &TaskId) -> Result<bool> {
        run::tokens::reaches(&self.world, scope, task).await
    }

    /// The commands that a project declares for a task: its checks, those of its gate, and the set-up.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn declared_commands(&self, id: &TaskId) -> Result<Vec<String>> {
        run::tokens::declared_commands(&self.world, id).await
    }

    /// Whether a run may move a task by its own word: its own task to where it waits for a person, a part wherever the
    /// workflow lets an agent go, but past no gate.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn may_move(&self, scope: &RunScope, id: &TaskId, to: &str) -> Result<bool> {
        run::tokens::may_move(&self.world, scope, id, to).await
    }

    /// How the providers of all agents limit them, by the agents' names.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn agent_limits(&self) -> Result<Vec<AgentLimits>> {
        run::profiles::agent_limits(&self.world).await
    }
}
