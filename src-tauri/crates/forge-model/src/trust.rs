//! Startup files: what of a repository runs code as soon as a program starts in it, and what a person trusted of that.
//!
//! Agent programs, direnv and Forge itself read commands from files of the repository. A person accepts each content of
//! each file once, for a project. A run needs every startup file that it would start with to be accepted; a file that
//! was accepted and is gone needs a word, too, since it may have held limits.

use std::collections::BTreeSet;

use crate::{contract, ids::TaskId, names};

/// Files of the root.
pub const ROOT_FILES: [&str; 5] = [DIRENV, ".forge.json", ".mcp.json", "opencode.json", "opencode.jsonc"];

/// Folders of the root that hold startup files.
pub const FOLDERS: [&str; 6] = [".claude", ".codex", ".cursor", ".forge", ".gemini", ".opencode"];

/// direnv runs it in whichever folder a command works, so it counts in all of them.
pub const DIRENV: &str = ".envrc";

/// What Forge itself reads, from the default branch.
pub const OWN_FILES: [&str; 2] = [".forge.json", ".forge/workflow.json"];

names! {
    /// How a startup file compares with the accepted content.
    pub enum TrustState {
        /// A person accepted this content.
        Accepted = "accepted",
        /// No content of this file was accepted.
        New = "new",
        /// Another content of this file was accepted.
        Changed = "changed",
        /// It was accepted, and has been removed.
        Removed = "removed",
    }
}

contract! {
    /// A startup file of a repository.
    pub struct TrustFile {
        /// From the repository's root.
        pub path: String,
        /// The hash of its content, in hex; none if it was removed.
        pub sha256: Option<String>,
        /// Whether a person accepted this content.
        pub accepted: bool,
        /// How it compares with the accepted content.
        pub state: TrustState,
        /// The commit that has it; none if it is uncommitted in a worktree.
        pub commit: Option<String>,
        /// The task whose branch or worktree has it; none for the branch that tasks start on.
        pub task_id: Option<TaskId>,
        /// The size of its content, in bytes.
        #[specta(type = u32)]
        pub size: u64,
        /// Its text, truncated if long; none for other content.
        pub content: Option<String>,
        /// Whether the text is truncated.
        pub cut: bool,
        /// Removed and added lines since the content that was accepted last; empty for a new file.
        pub diff: String,
    }

    /// The startup files of a project.
    pub struct TrustListing {
        /// Whether all of them are accepted.
        pub trusted: bool,
        /// The commit that tasks start on; with a task, its own.
        pub commit: String,
        /// The files, by path.
        pub files: Vec<TrustFile>,
    }

    /// Content that a person has reviewed.
    pub struct TrustedContent {
        /// The file.
        pub path: String,
        /// The hash of the content; none if the file was removed.
        #[serde(default)]
        pub sha256: Option<String>,
    }
}

/// What is found out about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The file.
    pub path: String,
    /// The hash of its content; nothing for one that was removed.
    pub sha256: Option<String>,
    /// How it is to what was accepted.
    pub state: TrustState,
}

/// Whether a path names a startup file.
#[must_use]
pub fn is_startup_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let top = path.split('/').next().unwrap_or_default();
    match (top, folder) {
        _ if name == DIRENV => true,
        (_, "") => ROOT_FILES.contains(&name),
        // Beside its settings this folder holds texts alone, and the user's own local settings.
        (".claude", ".claude") => name.starts_with("settings") && name.ends_with(".json"),
        (".forge", ".forge") => name == "workflow.json",
        (".codex" | ".cursor" | ".gemini" | ".opencode", _) => true,
        _ => false,
    }
}

/// Compares the files that a run would start with with what was accepted. `earlier` names files that were there
/// before: those that are gone, and were accepted, count as removed.
#[must_use]
pub fn judge(
    accepted: &[TrustedContent],
    present: &[(&str, &str)],
    earlier: &BTreeSet<String>,
) -> Vec<Judged> {
    let is_accepted = |path: &str, sha256: Option<&str>| {
        accepted.iter().any(|it| it.path == path && it.sha256.as_deref() == sha256)
    };
    let has_content = |path: &str| accepted.iter().any(|it| it.path == path && it.sha256.is_some());
    let found = present.iter().map(|(path, sha256)| {
        let state = match () {
            () if is_accepted(path, Some(sha256)) => TrustState::Accepted,
            () if has_content(path) => TrustState::Changed,
            () => TrustState::New,
        };
        Judged { path: (*path).to_owned(), sha256: Some((*sha256).to_owned()), state }
    });
    let is_gone = |path: &&String| {
        present.iter().all(|(other, _)| other != path) && has_content(path) && !is_accepted(path, None)
    };
    let gone = earlier.iter().filter(is_gone).map(|path| Judged {
        path: path.clone(),
        sha256: None,
        state: TrustState::Removed,
    });
    let mut all: Vec<Judged> = found.chain(gone).collect();
    all.sort_by(|a, b| (&a.path, &a.sha256).cmp(&(&b.path, &b.sha256)));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(all: &[(&str, Option<&str>)]) -> Vec<TrustedContent> {
        let of = |(path, sha256): &(&str, Option<&str>)| TrustedContent {
            path: (*path).to_owned(),
            sha256: sha256.map(str::to_owned),
        };
        all.iter().map(of).collect()
    }

    fn states(given: &[(&str, Option<&str>)], present: &[(&str, &str)], earlier: &[&str]) -> Vec<TrustState> {
        let earlier = earlier.iter().map(|path| (*path).to_owned()).collect();
        judge(&accepted(given), present, &earlier).into_iter().map(|it| it.state).collect()
    }

    #[test]
    fn startup_files_are_told_by_their_paths() {
        for path in [
            ".mcp.json",
            ".envrc",
            "packages/one/.envrc",
            ".forge.json",
            ".forge/workflow.json",
            "opencode.json",
            "opencode.jsonc",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".codex/config.toml",
            ".opencode/plugin/one.ts",
            ".gemini/settings.json",
            ".cursor/mcp.json",
        ] {
            assert!(is_startup_file(path), "{path}");
        }
        for path in [
            "README.md",
            ".claude/agents/one.md",
            ".claude/deep/settings.json",
            ".forge/iterations/one.json",
            "packages/one/.mcp.json",
            "packages/.codex/config.toml",
            "docs/opencode.json",
            "x.envrc",
            ".codex",
        ] {
            assert!(!is_startup_file(path), "{path}");
        }
    }

    #[test]
    fn a_repository_without_startup_files_needs_no_question() {
        assert_eq!(states(&[], &[], &[]), []);
    }

    #[test]
    fn contents_are_new_then_accepted_then_changed() {
        let file = (".mcp.json", "one");
        assert_eq!(states(&[], &[file], &[]), [TrustState::New]);
        assert_eq!(states(&[(".mcp.json", Some("one"))], &[file], &[]), [TrustState::Accepted]);
        assert_eq!(states(&[(".mcp.json", Some("zero"))], &[file], &[]), [TrustState::Changed]);
        // The same content at another path is another file.
        assert_eq!(states(&[(".envrc", Some("one"))], &[file], &[]), [TrustState::New]);
    }

    #[test]
    fn every_content_that_was_accepted_stays_accepted() {
        let both = [(".mcp.json", Some("one")), (".mcp.json", Some("two"))];
        for content in ["one", "two"] {
            assert_eq!(states(&both, &[(".mcp.json", content)], &[]), [TrustState::Accepted]);
        }
    }

    #[test]
    fn a_file_with_two_contents_needs_both_to_be_accepted() {
        let present = [(".mcp.json", "committed"), (".mcp.json", "uncommitted")];
        assert_eq!(
            states(&[(".mcp.json", Some("committed"))], &present, &[]),
            [TrustState::Accepted, TrustState::Changed]
        );
    }

    #[test]
    fn an_accepted_file_that_is_gone_is_asked_about_once() {
        let given = [(".mcp.json", Some("one"))];
        assert_eq!(states(&given, &[], &[".mcp.json"]), [TrustState::Removed]);
        assert_eq!(states(&given, &[], &[]), [], "it was never there");
        assert_eq!(states(&[], &[], &[".mcp.json"]), [], "nobody trusted it");
        let both = [(".mcp.json", Some("one")), (".mcp.json", None)];
        assert_eq!(states(&both, &[], &[".mcp.json"]), []);
        // Its return with the same content needs no word either.
        assert_eq!(states(&both, &[(".mcp.json", "one")], &[".mcp.json"]), [TrustState::Accepted]);
    }
}
