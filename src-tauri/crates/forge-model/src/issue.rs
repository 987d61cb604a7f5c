//! Issues of code hosts and of files: what an import brings, and what a second import of the same issue changes.

mod report;
mod text;

use crate::{
    contract,
    ids::{IssueImportId, ProjectId, TaskId},
    names,
    pull_request::{HostConfig, HostKind},
    time::Timestamp,
};

pub use report::{
    COMMENT_MARK, IssueReports, IssueRule, IssueSettings, LabelChange, ReportKind, UnsentReport,
};
pub use text::{MergedText, Takes, TaskText, merge_text};

names! {
    /// Where issues come from.
    pub enum IssueKind {
        /// GitHub.
        Github = "github",
        /// GitLab.
        Gitlab = "gitlab",
        /// Gitea or Forgejo.
        Gitea = "gitea",
        /// A task list in a Markdown file.
        Markdown = "markdown",
        /// A CSV file.
        Csv = "csv",
        /// The database or an export of vibe-kanban.
        VibeKanban = "vibe_kanban",
    }
}

names! {
    /// State of an issue.
    pub enum IssueState {
        /// It is to be done.
        Open = "open",
        /// It is done, or was given up.
        Closed = "closed",
    }
}

names! {
    /// Which issues a list has, by their state.
    #[derive(Default)]
    pub enum IssueFilter {
        #[default]
        /// Open ones.
        Open = "open",
        /// Closed ones.
        Closed = "closed",
        /// All.
        All = "all",
    }
}

names! {
    /// State of an import.
    pub enum ImportStatus {
        /// It is under way.
        Running = "running",
        /// It continues automatically: the code host asked to wait, or cannot be reached.
        Waiting = "waiting",
        /// Every issue has a result.
        Done = "done",
        /// A person must do something before it can continue.
        Failed = "failed",
        /// A person stopped it.
        Cancelled = "cancelled",
    }
}

names! {
    /// Which text a task keeps where its issue says something else.
    pub enum IssueChoice {
        /// That of the issue.
        Issue = "issue",
        /// Its own.
        Task = "task",
    }
}

names! {
    /// What an import did with an issue.
    pub enum ImportOutcome {
        /// It became a task.
        Created = "created",
        /// Its task was changed.
        Updated = "updated",
        /// Its task is up to date.
        Unchanged = "unchanged",
        /// It differs from its task, which stayed as it is until a person decides.
        Differs = "differs",
        /// It is closed, and was no task.
        Skipped = "skipped",
        /// It could not be imported.
        Failed = "failed",
    }
}

contract! {
    /// A comment on an issue.
    #[derive(Eq)]
    pub struct IssueComment {
        /// The account that wrote it.
        pub author: String,
        /// Markdown.
        pub body: String,
        /// Its address for people.
        pub url: Option<String>,
        /// When it was written.
        pub at: Option<Timestamp>,
    }

    /// An issue as its source shows it.
    #[derive(Eq)]
    pub struct Issue {
        /// What names it in its source: a number, a key, or the text of an entry.
        #[serde(rename = "ref")]
        pub reference: String,
        /// Its address for people.
        pub url: Option<String>,
        /// One line.
        pub title: String,
        /// Markdown.
        pub body: String,
        /// Its state.
        pub state: IssueState,
        /// Its labels.
        pub labels: Vec<String>,
        /// The account that wrote it.
        pub author: Option<String>,
        /// How many comments it has.
        pub comment_count: u32,
        /// When it last changed.
        pub updated_at: Option<Timestamp>,
    }

    /// What a list of issues is narrowed by.
    #[derive(Default, Eq)]
    pub struct IssueQuery {
        /// Words to search for.
        pub text: Option<String>,
        /// Labels that an issue must all have.
        pub labels: Vec<String>,
        /// State of the issues.
        pub state: IssueFilter,
    }

    /// Text of an issue that differs from its task, by field; null where it does not.
    #[derive(Default, Eq)]
    pub struct PendingText {
        /// Title of the issue.
        pub title: Option<String>,
        /// Description of the issue.
        pub description: Option<String>,
    }

    /// The issue that a task was imported from, as the task's card shows it.
    #[derive(Eq)]
    pub struct IssueLink {
        /// Kind of the source.
        pub kind: IssueKind,
        /// Name for people, such as `GitHub octo/app#12`.
        pub name: String,
        /// Its address for people.
        pub url: Option<String>,
        /// Whether people who are not members may have written it. Such a task starts only when a person starts it.
        pub is_public: bool,
        /// State of the issue at the last import.
        pub state: IssueState,
        /// Whether the issue differs from the task, and a person has to decide.
        pub differs: bool,
    }

    /// The issue that a task was imported from.
    #[derive(Eq)]
    pub struct TaskIssue {
        /// The issue.
        pub issue: IssueLink,
        /// Its labels.
        pub labels: Vec<String>,
        /// Its last comments, oldest first.
        pub comments: Vec<IssueComment>,
        /// Text of the issue that differs from the task.
        pub pending: Option<PendingText>,
        /// When it was last imported.
        pub imported_at: Timestamp,
        /// What is still to be written to it, in order.
        pub unsent: Vec<UnsentReport>,
    }

    /// An issue in a list to choose from.
    #[derive(Eq)]
    pub struct ListedIssue {
        /// The issue.
        pub issue: Issue,
        /// The task that it was imported as.
        pub task_id: Option<TaskId>,
        /// Number of that task.
        pub task_number: Option<u32>,
    }

    /// A page of the issues of a project's code host.
    #[derive(Eq)]
    pub struct IssueListing {
        /// Kind of the source.
        pub kind: IssueKind,
        /// Name of the source for people, such as `GitHub octo/app`.
        pub source: String,
        /// The issues, newest first.
        pub items: Vec<ListedIssue>,
        /// Number of the next page; null on the last one.
        pub next_page: Option<u32>,
    }

    /// How many issues of an import have each outcome.
    #[derive(Copy, Default, Eq)]
    pub struct ImportCounts {
        /// All that were listed so far.
        pub total: u32,
        /// Tasks that were created.
        pub created: u32,
        /// Tasks that were changed.
        pub updated: u32,
        /// Tasks that are up to date.
        pub unchanged: u32,
        /// Tasks that differ from their issue.
        pub differs: u32,
        /// Closed issues that were no tasks.
        pub skipped: u32,
        /// Issues that could not be imported.
        pub failed: u32,
    }

    /// An import of issues.
    #[derive(Eq)]
    pub struct IssueImport {
        /// Identity.
        pub id: IssueImportId,
        /// The project that gets the tasks.
        pub project_id: ProjectId,
        /// Kind of the source.
        pub kind: IssueKind,
        /// Name of the source for people.
        pub source: String,
        /// The state of the workflow that new tasks are created in.
        pub state: String,
        /// Its progress.
        pub status: ImportStatus,
        /// Why it waits or failed.
        pub problem: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
        /// When it continues automatically.
        pub retry_at: Option<Timestamp>,
        /// Outcomes so far.
        pub counts: ImportCounts,
        /// Issues that could not be imported, with the reason; the first 20.
        pub failures: Vec<ImportFailure>,
        /// When it was started.
        pub created_at: Timestamp,
        /// When it ended.
        pub finished_at: Option<Timestamp>,
    }

    /// An issue that could not be imported.
    #[derive(Eq)]
    pub struct ImportFailure {
        /// The issue in its source.
        #[serde(rename = "ref")]
        pub reference: String,
        /// The reason, one sentence.
        pub message: String,
    }

    /// Where an import takes its issues from.
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum IssueOrigin {
        /// A repository at a code host.
        Host {
            /// The repository.
            host: HostConfig,
        },
        /// A file.
        File {
            /// Its format.
            kind: IssueKind,
            /// Its name, without folders.
            name: String,
        },
    }
}

impl From<HostKind> for IssueKind {
    fn from(kind: HostKind) -> Self {
        match kind {
            HostKind::Github => Self::Github,
            HostKind::Gitea => Self::Gitea,
            HostKind::Gitlab => Self::Gitlab,
        }
    }
}

impl IssueKind {
    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Github => "GitHub",
            Self::Gitlab => "GitLab",
            Self::Gitea => "Gitea",
            Self::Markdown => "Markdown",
            Self::Csv => "CSV",
            Self::VibeKanban => "vibe-kanban",
        }
    }
}

impl IssueKind {
    /// Whether it is a code host.
    #[must_use]
    pub const fn is_host(self) -> bool {
        match self {
            Self::Github | Self::Gitlab | Self::Gitea => true,
            Self::Markdown | Self::Csv | Self::VibeKanban => false,
        }
    }

    /// Whether others than the user may have written its issues.
    #[must_use]
    pub const fn is_foreign(self) -> bool {
        match self {
            Self::Github | Self::Gitlab | Self::Gitea | Self::Csv => true,
            Self::Markdown | Self::VibeKanban => false,
        }
    }
}

impl IssueOrigin {
    /// The kind of the source.
    #[must_use]
    pub fn kind(&self) -> IssueKind {
        match self {
            Self::Host { host } => host.kind.into(),
            Self::File { kind, .. } => *kind,
        }
    }

    /// What distinguishes this source from others of the same project. A second import finds its tasks by it.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Host { host } => {
                let base = host.base_url.as_deref().map(|url| url.trim_end_matches('/'));
                let key = format!("{}:{}/{}/{}", host.kind, base.unwrap_or_default(), host.owner, host.repo);
                key.to_lowercase()
            }
            // Its keys are unique, whatever the file is called.
            Self::File { kind: IssueKind::VibeKanban, .. } => IssueKind::VibeKanban.to_string(),
            Self::File { kind, name } => format!("{kind}:{name}"),
        }
    }

    /// The source as people name it: `GitHub octo/app`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Host { host } => format!("{} {}/{}", self.kind().label(), host.owner, host.repo),
            Self::File { kind, name } => format!("{} {name}", kind.label()),
        }
    }

    /// An issue of this source as people name it: `GitHub octo/app#12`.
    #[must_use]
    pub fn name_of(&self, reference: &str) -> String {
        match self {
            Self::Host { .. } => format!("{}#{reference}", self.name()),
            Self::File { .. } => self.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_keys_and_issues_have_names() {
        let host = |base_url: Option<&str>| IssueOrigin::Host {
            host: HostConfig {
                kind: HostKind::Github,
                base_url: base_url.map(str::to_owned),
                owner: "Octo".to_owned(),
                repo: "app".to_owned(),
                remote: "origin".to_owned(),
            },
        };
        let file = |kind, name: &str| IssueOrigin::File { kind, name: name.to_owned() };
        assert_eq!(host(None).key(), "github:/octo/app");
        assert_eq!(host(Some("https://git.example.org/")).key(), "github:https://git.example.org/octo/app");
        assert_eq!(host(None).name_of("12"), "GitHub Octo/app#12");
        assert_eq!(file(IssueKind::Csv, "a.csv").key(), "csv:a.csv");
        assert_eq!(file(IssueKind::VibeKanban, "db.sqlite").key(), "vibe_kanban");
        assert_eq!(file(IssueKind::Markdown, "plan.md").name_of("x"), "Markdown plan.md");
    }
}
