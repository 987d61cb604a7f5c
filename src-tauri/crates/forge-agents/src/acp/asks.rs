//! What the program asks to be allowed, and what is answered without a person.
//!
//! An answer is chosen by its kind. What nobody asked a person about is allowed once, never for longer. A file is
//! inside the worktree when it is there with all links followed; what lies in a `.git` is not.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use forge_model::{
    agent::PermissionMode,
    approval::{ApprovalChoice, ApprovalKind, ApprovalOption},
};
use serde_json::{Map, Value, json};

use crate::{Ask, json::text};

use super::{
    entries::{Tools, targets},
    wire::{Permission, PermissionChoice, PermissionOptionKind, ToolKind, ToolPatch},
};

const MAY_ONLY_READ: &str = "This run is read-only.";
const NOBODY_ALLOWS: &str = "No user is available to allow this.";
const REFUSED: &str = "The user refused this.";
const NO_ANSWER: &str = "The program offers no options.";

/// Our own answer beside the program's: refuse, and stop.
const STOP: &str = "forge:stop";

/// The questions that wait.
#[derive(Debug)]
pub(super) struct Asks {
    permissions: PermissionMode,
    worktree: PathBuf,
    asked: u32,
    /// By [`Ask::id`].
    open: BTreeMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    request: Value,
    call: String,
    options: Vec<PermissionChoice>,
}

/// What comes of a request.
#[derive(Debug)]
pub(super) enum Step {
    /// A person is asked.
    Ask(Ask),
    /// The program is answered by this option; none means that it gets no answer.
    Reply {
        option: Option<String>,
        /// Why it was refused.
        declined: Option<&'static str>,
    },
}

/// An answer that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    pub request: Value,
    pub call: String,
    /// The program's option; none means that it gets no answer.
    pub option: Option<String>,
    pub declined: Option<&'static str>,
    /// The run shall stop.
    pub stops: bool,
}

enum Ruling {
    Allow,
    Refuse(&'static str),
    Ask,
}

impl Asks {
    pub(super) const fn new(permissions: PermissionMode, worktree: PathBuf) -> Self {
        Self { permissions, worktree, asked: 0, open: BTreeMap::new() }
    }

    /// The program asks.
    pub(super) fn requested(&mut self, request: Value, permission: Permission, tools: &Tools) -> Step {
        let Permission { tool, options } = permission;
        if options.is_empty() {
            return Step::Reply { option: None, declined: Some(NO_ANSWER) };
        }
        let known = tools.get(&tool.id);
        let kind = tool.kind.or_else(|| known.map(super::entries::Tool::kind)).unwrap_or_default();
        let files = files_of(&tool, known.map(super::entries::Tool::targets));
        let once = pick(&options, &[PermissionOptionKind::AllowOnce]);
        match (self.rule(kind, &files), once) {
            (Ruling::Allow, Some(once)) => Step::Reply { option: Some(once), declined: None },
            (Ruling::Allow, None) if self.permissions == PermissionMode::Edit => {
                self.ask(request, &tool, kind, &files, options, tools)
            }
            (Ruling::Allow, None) => refuse(&options, NOBODY_ALLOWS),
            (Ruling::Refuse(why), _) => refuse(&options, why),
            (Ruling::Ask, _) => self.ask(request, &tool, kind, &files, options, tools),
        }
    }

    fn rule(&self, kind: ToolKind, files: &[String]) -> Ruling {
        let reads = matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Think);
        let writes = matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        let writes_inside = writes
            && !files.is_empty()
            && files.iter().all(|file| is_inside(&self.worktree, Path::new(file)));
        match self.permissions {
            PermissionMode::Ask => Ruling::Ask,
            _ if reads => Ruling::Allow,
            PermissionMode::ReadOnly => Ruling::Refuse(MAY_ONLY_READ),
            PermissionMode::Edit | PermissionMode::Unattended if writes_inside => Ruling::Allow,
            PermissionMode::Edit => Ruling::Ask,
            PermissionMode::Unattended if kind == ToolKind::Execute => Ruling::Allow,
            PermissionMode::Unattended => Ruling::Refuse(NOBODY_ALLOWS),
        }
    }

    fn ask(
        &mut self,
        request: Value,
        tool: &ToolPatch,
        kind: ToolKind,
        files: &[String],
        options: Vec<PermissionChoice>,
        tools: &Tools,
    ) -> Step {
        self.asked = self.asked.saturating_add(1);
        let id = format!("permission-{}", self.asked);
        let ask = question(&id, tool, kind, files, &options, tools);
        self.open.insert(id, Open { request, call: tool.id.clone(), options });
        Step::Ask(ask)
    }

    /// The question of this id is answered; none when it does not wait, or has no such option.
    pub(super) fn answered(&mut self, ask: &str, option: &str) -> Option<Taken> {
        let open = self.open.get(ask)?;
        let chosen = open.options.iter().find(|it| it.id == option);
        let stops = option == STOP && chosen.is_none();
        if chosen.is_none() && !stops {
            return None;
        }
        let is_refusal = chosen.is_none_or(|it| is_refusal(it.kind));
        let Open { request, call, .. } = self.open.remove(ask)?;
        let option = (!stops).then(|| option.to_owned());
        Some(Taken { request, call, option, declined: is_refusal.then_some(REFUSED), stops })
    }

    /// The program gave this request up: the question that needs no answer any more.
    pub(super) fn withdrawn(&mut self, request: &Value) -> Option<String> {
        let id = self.open.iter().find(|(_, open)| open.request == *request)?.0.clone();
        self.open.remove(&id);
        Some(id)
    }

    /// Nothing is waited for any more: the questions, each with its request.
    pub(super) fn abandoned(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.open).into_iter().map(|(id, open)| (id, open.request)).collect()
    }
}

/// The files that a request is about; those of its call when it names none.
fn files_of(tool: &ToolPatch, known: Option<Vec<String>>) -> Vec<String> {
    let input = tool.input.as_ref().unwrap_or(&Value::Null);
    let own = targets(&tool.changes, tool.paths.as_deref().unwrap_or_default(), input);
    if own.is_empty() { known.unwrap_or_default() } else { own }
}

fn refuse(options: &[PermissionChoice], why: &'static str) -> Step {
    let option = pick(options, &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]);
    Step::Reply { option, declined: Some(why) }
}

fn pick(options: &[PermissionChoice], kinds: &[PermissionOptionKind]) -> Option<String> {
    kinds.iter().find_map(|kind| Some(options.iter().find(|it| it.kind == *kind)?.id.clone()))
}

const fn is_refusal(kind: PermissionOptionKind) -> bool {
    !matches!(kind, PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways)
}

/// Whether a file is in a folder, all links followed, and not in a `.git` there. A path with `..` is not: where that
/// leads depends on links.
fn is_inside(folder: &Path, file: &Path) -> bool {
    if file.components().any(|it| it == Component::ParentDir) {
        return false;
    }
    let (Some(folder), Some(file)) = (real(folder), real(&folder.join(file))) else { return false };
    let Ok(rest) = file.strip_prefix(&folder) else { return false };
    rest.components().next().is_some()
        && !rest.components().any(|it| it.as_os_str().eq_ignore_ascii_case(".git"))
}

/// A path with the links of what exists of it followed; none when one of them leads nowhere.
fn real(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|it| fs::symlink_metadata(it).is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    let there = fs::canonicalize(there).ok()?;
    Some(if rest.as_os_str().is_empty() { there } else { there.join(rest) })
}

fn question(
    id: &str,
    tool: &ToolPatch,
    kind: ToolKind,
    files: &[String],
    choices: &[PermissionChoice],
    tools: &Tools,
) -> Ask {
    let input = tool.input.as_ref().unwrap_or(&Value::Null);
    let title = tool.title.as_deref().filter(|title| !title.trim().is_empty());
    let files: Vec<String> = files.iter().map(|file| tools.path(file)).collect();
    let mut detail = Map::new();
    let mut add = |field: &str, value: Value| {
        if !value.is_null() {
            detail.insert(field.to_owned(), value);
        }
    };
    add("reason", json!(tool.words.as_deref().filter(|words| !words.trim().is_empty())));
    let (about, title) = match kind {
        ToolKind::Execute => {
            let command = text(input, "command").or(title).unwrap_or("a command");
            add("command", json!(command));
            add("cwd", json!(text(input, "cwd")));
            (ApprovalKind::Command, command.to_owned())
        }
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move if !files.is_empty() => {
            let diffs: Vec<_> = tool.changes.iter().filter_map(|change| tools.diff(change)).collect();
            add("paths", json!(files));
            add("diff", if diffs.is_empty() { Value::Null } else { json!(diffs.concat()) });
            (ApprovalKind::FileChange, files.join(", "))
        }
        _ => {
            add("paths", if files.is_empty() { Value::Null } else { json!(files) });
            add("input", input.clone());
            (ApprovalKind::Tool, tools.path(title.unwrap_or("a tool")))
        }
    };
    let mut options: Vec<ApprovalOption> = choices.iter().map(option).collect();
    options.push(ApprovalOption {
        id: STOP.to_owned(),
        label: "Refuse and stop".to_owned(),
        choice: ApprovalChoice::Stop,
    });
    Ask { id: id.to_owned(), kind: about, title, detail: Value::Object(detail), options }
}

fn option(choice: &PermissionChoice) -> ApprovalOption {
    let means = match choice.kind {
        PermissionOptionKind::AllowOnce => ApprovalChoice::AllowOnce,
        PermissionOptionKind::AllowAlways => ApprovalChoice::AllowAlways,
        PermissionOptionKind::RejectAlways => ApprovalChoice::RejectAlways,
        _ => ApprovalChoice::RejectOnce,
    };
    ApprovalOption { id: choice.id.clone(), label: choice.name.clone(), choice: means }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_means_inside_with_links_followed() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let worktree = folder.path().join("w");
        fs::create_dir_all(worktree.join("src"))?;
        let inside = |path: &str| is_inside(&worktree, Path::new(path));
        assert!(inside("a.rs") && inside("src/new/a.rs") && inside("./a.rs"));
        assert!(inside(&worktree.join("src/a.rs").to_string_lossy()));
        assert!(!inside("../w/a.rs") && !inside("/etc/passwd") && !inside(""));
        assert!(!inside(&worktree.to_string_lossy()), "the folder itself");
        assert!(!inside(&folder.path().join("w2/a").to_string_lossy()), "a name that begins alike");
        assert!(!inside(".git") && !inside(".git/hooks/pre-commit") && !inside("sub/.git/config"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc", worktree.join("out"))?;
            std::os::unix::fs::symlink("/nowhere/at/all", worktree.join("dangling"))?;
            std::os::unix::fs::symlink("src", worktree.join("in"))?;
            assert!(!inside("out/passwd") && !inside("dangling") && !inside("dangling/x"));
            assert!(inside("in/a.rs"));
        }
        Ok(())
    }
}
