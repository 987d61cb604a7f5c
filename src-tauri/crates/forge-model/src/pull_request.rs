//! Pull requests as a code host shows them. GitLab's merge requests are pull requests here.

use crate::{contract, ids::TaskId, names, time::Timestamp, workflow::Finding};

names! {
    /// The software a code host runs.
    pub enum HostKind {
        /// github.com or GitHub Enterprise.
        Github = "github",
        /// Gitea or Forgejo.
        Gitea = "gitea",
        /// gitlab.com or a self-hosted GitLab.
        Gitlab = "gitlab",
    }
}

names! {
    /// State of a pull request.
    pub enum PullRequestState {
        /// It waits for a decision.
        Open = "open",
        /// Its work is in the base branch.
        Merged = "merged",
        /// It was closed and its work is not in the base branch.
        Closed = "closed",
    }
}

names! {
    /// Whether the head can be merged into the base.
    pub enum Mergeable {
        /// They do.
        Yes = "yes",
        /// They conflict, or the head must be rebased first.
        No = "no",
        /// The host does not know, or not yet.
        Unknown = "unknown",
    }
}

names! {
    /// State of a check on the code host.
    pub enum HostCheckStatus {
        /// It waits or runs.
        Pending = "pending",
        /// It passed.
        Passed = "passed",
        /// It failed, was cancelled or timed out.
        Failed = "failed",
        /// It did not run, or its result is ignored.
        Skipped = "skipped",
    }
}

names! {
    /// A reviewer's decision.
    pub enum HostVerdict {
        /// The work may be merged.
        Approved = "approved",
        /// The work must change first.
        ChangesRequested = "changes_requested",
    }
}

contract! {
    /// One check of the head commit: a commit status, a check run, a job or a pipeline.
    #[derive(Eq)]
    pub struct HostCheck {
        /// Its name on the code host.
        pub name: String,
        /// Its status.
        pub status: HostCheckStatus,
        /// Address with more details.
        pub url: Option<String>,
        /// Its description, one line.
        pub summary: Option<String>,
    }

    /// A comment by a person or a program on the pull request.
    #[derive(Eq)]
    pub struct HostComment {
        /// Unique within the pull request; stays the same.
        pub id: String,
        /// The account that wrote it.
        pub author: String,
        /// Markdown as written; empty when a verdict came without words.
        pub body: String,
        /// Its decision, if it is a review.
        pub verdict: Option<HostVerdict>,
        /// The file that it refers to.
        pub path: Option<String>,
        /// The line of the file's new side, from 1; the old side's when only that exists.
        pub line: Option<u32>,
        /// Its address for people.
        pub url: Option<String>,
        /// When it was written.
        pub at: Timestamp,
    }

    /// A part of a pull request that could not be read, and why. The other parts are complete.
    #[derive(Eq)]
    pub struct Unread {
        /// What: "check runs", "reviews".
        pub what: String,
        /// Why not.
        pub why: String,
    }

    /// A pull request that exists.
    #[derive(Eq)]
    pub struct PullRequestLink {
        /// Its number within the repository.
        pub number: u32,
        /// Its address for people.
        pub url: String,
        /// Where it is.
        pub state: PullRequestState,
    }

    /// A pull request with its comments and checks.
    #[derive(Eq)]
    pub struct PullRequest {
        /// Its number within the repository.
        pub number: u32,
        /// Its address for people.
        pub url: String,
        /// Title, without the draft prefix of some hosts.
        pub title: String,
        /// Where it is.
        pub state: PullRequestState,
        /// Whether it is a draft.
        pub draft: bool,
        /// The branch with the work.
        pub head: String,
        /// The branch that the work goes into.
        pub base: String,
        /// The newest commit of the head that the host knows.
        pub head_commit: String,
        /// The commit that brought the work into the base; only when merged.
        pub merge_commit: Option<String>,
        /// Whether the head can be merged into the base.
        pub mergeable: Mergeable,
        /// Checks of the head commit, by name.
        pub checks: Vec<HostCheck>,
        /// What was written, oldest first.
        pub comments: Vec<HostComment>,
        /// Parts that could not be read from the code host.
        pub unread: Vec<Unread>,
        /// When it last changed at the host.
        pub updated_at: Timestamp,
    }

    /// The code host and repository for a project's pull requests.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct HostConfig {
        /// The software the host runs.
        pub kind: HostKind,
        /// The host's address as a browser opens it (`https://git.example.org`), or that of its programming
        /// interface. When absent: github.com, codeberg.org or gitlab.com by the kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub base_url: Option<String>,
        /// The account or group that owns the repository; GitLab's sub-groups are separated by `/`.
        pub owner: String,
        /// The repository's name.
        pub repo: String,
        /// The git remote that branches are pushed to.
        #[serde(default = "HostConfig::default_remote")]
        pub remote: String,
    }
}

contract! {
    /// A task's pull request as Forge last saw it.
    #[derive(Eq)]
    pub struct TaskPullRequest {
        /// The task.
        pub task_id: TaskId,
        /// Where it is.
        pub host: HostConfig,
        /// The branch at the remote.
        pub head: String,
        /// The commit that was pushed last; null when none was.
        pub pushed_commit: Option<String>,
        /// The pull request; null while it is being made.
        pub pull_request: Option<PullRequest>,
        /// Ids of comments that were sent to the agent.
        pub told: Vec<String>,
        /// When the host was last polled successfully.
        pub checked_at: Option<Timestamp>,
        /// When it is polled next.
        pub next_check_at: Option<Timestamp>,
        /// Why the last poll failed.
        pub trouble: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
    }

    /// Whether a project's code host can be used.
    #[derive(Eq)]
    pub struct HostStanding {
        /// Code host and repository: as configured, otherwise from the git remotes.
        pub host: Option<HostConfig>,
        /// Whether that is configured, not guessed.
        pub configured: bool,
        /// Where the token was found: "keychain", "GITHUB_TOKEN", "gh".
        pub token: Option<String>,
        /// Whether the host answered with that token.
        pub reachable: bool,
        /// The obstacle.
        pub problem: Option<String>,
        /// Remedy.
        pub remedy: Option<String>,
    }
}

impl HostConfig {
    /// The remote when none is named.
    #[must_use]
    pub fn default_remote() -> String {
        "origin".to_owned()
    }

    /// What is wrong with it, each with the path of its field in a project's settings.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |field: &str, message: &str| {
            findings.push(Finding { path: format!("code_host.{field}"), message: message.to_owned() });
        };
        if self.base_url.as_deref().is_some_and(|url| !is_web_address(url)) {
            add("base_url", "must be an address such as https://git.example.org, without a name or password");
        }
        let deep = self.kind == HostKind::Gitlab;
        if !self.owner.split('/').all(is_name) || (!deep && self.owner.contains('/')) {
            add("owner", "must be the account or group that owns the repository, such as `octocat`");
        }
        if !is_name(&self.repo) {
            add("repo", "must be only the repository's name, such as `hello-world`");
        }
        if !self.remote.split('/').all(is_name) || self.remote.starts_with('-') {
            add("remote", "must be the name of a git remote, such as `origin`");
        }
        findings
    }
}

fn is_name(text: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/\\?#:@".contains(c);
    !text.is_empty() && !matches!(text, "." | "..") && !text.contains(odd)
}

fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#');
    !authority.is_empty() && !authority.starts_with(':') && !authority.contains('@') && !rest.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_host_is_told_by_its_fields() {
        let paths = |value: serde_json::Value| {
            let config: HostConfig = serde_json::from_value(value).unwrap();
            config.findings().into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        let good = serde_json::json!({ "kind": "github", "owner": "octo", "repo": "app.js" });
        let with = |field: &str, text: &str| {
            let mut value = good.clone();
            value[field] = text.into();
            paths(value)
        };
        assert!(paths(good.clone()).is_empty());
        assert!(with("base_url", "http://127.0.0.1:3000/git").is_empty());
        for (field, text) in [
            ("base_url", "git.example.org"),
            ("base_url", "https://me:secret@git.example.org"),
            ("base_url", "https://"),
            ("owner", ""),
            ("owner", "a/b"),
            ("repo", "a/b"),
            ("repo", ".."),
            ("remote", "--upload-pack=x"),
            ("remote", ""),
        ] {
            assert_eq!(with(field, text), [format!("code_host.{field}")], "{text}");
        }
        let groups = serde_json::json!({ "kind": "gitlab", "owner": "a/b", "repo": "c" });
        assert!(paths(groups).is_empty());
    }

    #[test]
    fn a_host_is_configured_strictly() {
        let minimal = r#"{"kind":"gitlab","owner":"group/sub","repo":"app"}"#;
        let config: HostConfig = serde_json::from_str(minimal).unwrap();
        assert_eq!(
            config,
            HostConfig {
                kind: HostKind::Gitlab,
                base_url: None,
                owner: "group/sub".to_owned(),
                repo: "app".to_owned(),
                remote: "origin".to_owned(),
            }
        );
        let misspelt = r#"{"kind":"gitlab","owner":"a","repo":"b","base":"https://x"}"#;
        let refusal = serde_json::from_str::<HostConfig>(misspelt).unwrap_err();
        assert!(refusal.to_string().contains("unknown field `base`"), "{refusal}");
    }
}
