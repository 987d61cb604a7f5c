//! Issues of code hosts and of files: what an import brings, and what a second import of the same issue changes.
//!
//! A task that was imported keeps the text that was imported last. A second import compares three texts: that one, the
//! task's and the issue's ([`merge_text`]). What was changed on one side only is taken from that side. What was changed on
//! both sides stays as it is in the task, and the issue's text is kept beside it until a person decides.

use crate::{
    contract, names,
    pull_request::{HostConfig, HostKind},
    time::Timestamp,
};

/// The longest title of a task, in characters.
const LONGEST_TITLE: usize = 500;
/// The longest description of a task, in bytes.
const LONGEST_DESCRIPTION: usize = 256 * 1024;

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
    pub enum IssueFilter {
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
    /// What an import did with an issue.
    pub enum ImportOutcome {
        /// It became a task.
        Created = "created",
        /// Its task was changed.
        Updated = "updated",
        /// Its task is up to date.
        Unchanged = "unchanged",
        /// It and its task were both changed; the task stayed as it is.
        Differs = "differs",
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
    #[derive(Eq)]
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

    /// An issue of this source as people name it: `GitHub octo/app#12`.
    #[must_use]
    pub fn name_of(&self, reference: &str) -> String {
        match self {
            Self::Host { host } => {
                format!("{} {}/{}#{reference}", self.kind().label(), host.owner, host.repo)
            }
            Self::File { kind, name } => format!("{} {name}", kind.label()),
        }
    }
}

/// Title and description, of a task or as a task would have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskText {
    /// One line.
    pub title: String,
    /// Markdown.
    pub description: String,
}

impl TaskText {
    /// What a task says that is made of an issue: a title of one line, and everything within the limits of tasks.
    #[must_use]
    pub fn of(issue: &Issue) -> Self {
        let shown: String = issue.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if line.is_empty() { format!("Issue {}", issue.reference) } else { line };
        let body = issue.body.replace("\r\n", "\n");
        let end = body.floor_char_boundary(LONGEST_DESCRIPTION);
        Self {
            title: title.chars().take(LONGEST_TITLE).collect(),
            description: body.get(..end).unwrap_or_default().trim().to_owned(),
        }
    }
}

/// What a second import makes of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedText {
    /// What the task says from now on.
    pub task: TaskText,
    /// What counts as imported from now on.
    pub imported: TaskText,
    /// What the issue says where both were changed; none when they agree.
    pub pending: Option<PendingText>,
}

/// Compares what was imported last with the task and the issue of today, field by field.
#[must_use]
pub fn merge_text(imported: &TaskText, task: &TaskText, issue: &TaskText) -> MergedText {
    let title = merge_field(&imported.title, &task.title, &issue.title);
    let description = merge_field(&imported.description, &task.description, &issue.description);
    let pending = PendingText { title: title.pending, description: description.pending };
    MergedText {
        task: TaskText { title: title.task, description: description.task },
        imported: TaskText { title: title.imported, description: description.imported },
        pending: (pending != PendingText::default()).then_some(pending),
    }
}

struct Field {
    task: String,
    imported: String,
    pending: Option<String>,
}

fn merge_field(imported: &str, task: &str, issue: &str) -> Field {
    let of = |task: &str, imported: &str, pending: Option<&str>| Field {
        task: task.to_owned(),
        imported: imported.to_owned(),
        pending: pending.map(str::to_owned),
    };
    if issue == imported || issue == task {
        // Nothing new, or the same change on both sides.
        of(task, issue, None)
    } else if task == imported {
        of(issue, issue, None)
    } else {
        // The old text stays the common one, so that the difference is found again.
        of(task, imported, Some(issue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(title: &str, description: &str) -> TaskText {
        TaskText { title: title.to_owned(), description: description.to_owned() }
    }

    #[test]
    fn field_changed_on_one_side_is_taken_and_on_both_sides_is_pending() {
        // imported, task, issue: task afterwards, imported afterwards, pending
        for (imported, task, issue, expected) in [
            ("a", "a", "a", ("a", "a", None)),
            ("a", "a", "b", ("b", "b", None)),
            ("a", "b", "a", ("b", "a", None)),
            ("a", "b", "b", ("b", "b", None)),
            ("a", "b", "c", ("b", "a", Some("c"))),
            ("a", "", "c", ("", "a", Some("c"))),
        ] {
            let merged = merge_text(&text(imported, ""), &text(task, ""), &text(issue, ""));
            let pending = merged.pending.as_ref().and_then(|pending| pending.title.as_deref());
            let found = (merged.task.title.as_str(), merged.imported.title.as_str(), pending);
            assert_eq!(found, expected, "{imported} {task} {issue}");
        }
    }

    #[test]
    fn fields_are_merged_apart_from_each_other() {
        let merged = merge_text(&text("a", "d"), &text("mine", "d"), &text("theirs", "new"));
        assert_eq!(merged.task, text("mine", "new"));
        assert_eq!(merged.imported, text("a", "new"));
        assert_eq!(merged.pending, Some(PendingText { title: Some("theirs".to_owned()), description: None }));
    }

    #[test]
    fn difference_stays_until_one_side_gives_way() {
        let (imported, mine) = (text("a", ""), text("mine", ""));
        let first = merge_text(&imported, &mine, &text("theirs", ""));
        let again = merge_text(&first.imported, &first.task, &text("theirs", ""));
        assert_eq!(again, first);
        let taken_back = merge_text(&again.imported, &again.task, &imported);
        assert_eq!((taken_back.task, taken_back.pending), (mine, None));
    }

    fn issue(title: &str, body: &str) -> Issue {
        Issue {
            reference: "7".to_owned(),
            url: None,
            title: title.to_owned(),
            body: body.to_owned(),
            state: IssueState::Open,
            labels: Vec::new(),
            author: None,
            comment_count: 0,
            updated_at: None,
        }
    }

    #[test]
    fn text_of_an_issue_fits_a_task() {
        assert_eq!(TaskText::of(&issue(" a\n\tb\u{7} ", "x\r\ny\n")), text("a b", "x\ny"));
        assert_eq!(TaskText::of(&issue(" ", "")), text("Issue 7", ""));
        let long = TaskText::of(&issue(&"ä".repeat(600), &"ä".repeat(200_000)));
        assert_eq!(long.title.chars().count(), LONGEST_TITLE);
        assert!(long.description.len() <= LONGEST_DESCRIPTION);
    }

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
        assert_eq!(file(IssueKind::Markdown, "TODO.md").name_of("x"), "Markdown TODO.md");
    }
}
