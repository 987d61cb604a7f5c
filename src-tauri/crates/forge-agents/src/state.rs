//! What agent programs write of their own outside of the worktree, for their sandbox: sessions, histories, sign-ins.
//!
//! A program's settings, and whatever else tells it to run commands (hooks, plug-ins, commands of its own), are not
//! among it: with them, an agent could have the user's next session run what the sandbox refused. Gemini CLI is the
//! exception, since it cannot work otherwise.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use forge_model::environment::Variables;

/// Whether and how a program is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinable {
    /// The program and all that it starts, with what it writes of its own.
    Whole(ProgramState),
    /// It confines its commands by means that a confined program does not have, and remains as it is.
    Own,
}

/// Where a program keeps what it writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramState {
    folders: Vec<PathBuf>,
    /// Files, with what one that is new holds.
    files: Vec<(PathBuf, &'static str)>,
}

impl ProgramState {
    /// Makes what is missing, since only what is there can be opened to a confined program, and tells the paths.
    ///
    /// # Errors
    /// When something cannot be made.
    pub fn make(&self) -> io::Result<Vec<PathBuf>> {
        for folder in &self.folders {
            fs::create_dir_all(folder)?;
        }
        for (file, content) in &self.files {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            match OpenOptions::new().write(true).create_new(true).open(file) {
                Ok(mut made) => io::Write::write_all(&mut made, content.as_bytes())?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.folders.iter().chain(self.files.iter().map(|(file, _)| file)).cloned().collect())
    }

    /// The folders.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The files, with what one that is new holds.
    #[must_use]
    pub fn files(&self) -> &[(PathBuf, &'static str)] {
        &self.files
    }

    fn below(base: &Path, folders: &[&str], files: &[(&str, &'static str)]) -> Self {
        Self {
            folders: folders.iter().map(|name| base.join(name)).collect(),
            files: files.iter().map(|(name, content)| (base.join(name), *content)).collect(),
        }
    }
}

/// What Claude Code writes below its folder.
const CLAUDE_FOLDERS: &[&str] = &[
    "backups",
    "cache",
    "debug",
    "file-history",
    "ide",
    "logs",
    "paste-cache",
    "plans",
    "projects",
    "session-env",
    "sessions",
    "shell-snapshots",
    "statsig",
    "tasks",
    "telemetry",
    "todos",
    "usage-data",
];

/// What Claude Code is confined with.
pub(crate) fn claude(environment: &Variables) -> Confinable {
    let Some(home) = home(environment) else { return Confinable::Whole(ProgramState::default()) };
    let named = folder_in(environment, "CLAUDE_CONFIG_DIR");
    let base = named.clone().unwrap_or_else(|| home.join(".claude"));
    let files = [("history.jsonl", ""), (".credentials.json", "{}"), ("stats-cache.json", "{}")];
    let mut state = ProgramState::below(&base, CLAUDE_FOLDERS, &files);
    // Beside its folder, or in it where that is named.
    state.files.push((named.unwrap_or(home).join(".claude.json"), "{}"));
    Confinable::Whole(state)
}

/// What a program that speaks the Agent Client Protocol is confined with, as far as Forge knows the program: any of them
/// has folders of its name below those that the XDG specification has for data, state and caches.
pub(crate) fn acp(program: &str, environment: &Variables) -> Confinable {
    let name = Path::new(program).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let Some(home) = home(environment) else { return Confinable::Whole(ProgramState::default()) };
    match name {
        "codex-acp" => return Confinable::Own,
        "claude-agent-acp" | "claude-code-acp" => return claude(environment),
        // It replaces its files by way of others beside them, and locks them by folders: its settings lie among them.
        "gemini" => return Confinable::Whole(ProgramState::below(&home, &[".gemini"], &[])),
        _ => {}
    }
    if name.is_empty() {
        return Confinable::Whole(ProgramState::default());
    }
    let of = |variable: &str, usual: &str| {
        folder_in(environment, variable).unwrap_or_else(|| home.join(usual)).join(name)
    };
    let folders = vec![of("XDG_DATA_HOME", ".local/share"), of("XDG_STATE_HOME", ".local/state")];
    Confinable::Whole(ProgramState { folders, files: Vec::new() })
}

fn home(environment: &Variables) -> Option<PathBuf> {
    folder_in(environment, "HOME")
}

/// The folder that a variable names by an absolute path.
fn folder_in(environment: &Variables, name: &str) -> Option<PathBuf> {
    environment.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &Path)]) -> Variables {
        pairs.iter().map(|(name, path)| ((*name).into(), path.as_os_str().to_owned())).collect()
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_there_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let credentials = home.path().join(".claude/.credentials.json");
        fs::create_dir(home.path().join(".claude")).unwrap();
        fs::write(&credentials, "signed in").unwrap();
        let Confinable::Whole(state) = claude(&variables(&[("HOME", home.path())])) else {
            panic!("confined")
        };
        let paths = state.make().unwrap();
        assert_eq!(state.make().unwrap(), paths, "nothing is made twice");
        assert!(paths.iter().all(|path| path.exists()), "{paths:?}");
        assert_eq!(fs::read_to_string(credentials).unwrap(), "signed in");
        assert_eq!(fs::read_to_string(home.path().join(".claude.json")).unwrap(), "{}");
        assert!(!paths.contains(&home.path().join(".claude")), "its settings are none of it");
    }

    #[test]
    fn a_named_folder_of_settings_has_the_state_too() {
        let (home, named) = (Path::new("/home/a"), Path::new("/x/claude"));
        let environment = variables(&[("HOME", home), ("CLAUDE_CONFIG_DIR", named)]);
        let Confinable::Whole(state) = claude(&environment) else { panic!("confined") };
        assert!(state.files.iter().all(|(file, _)| file.starts_with(named)), "{:?}", state.files);
    }

    #[test]
    fn programs_that_speak_acp_have_folders_of_their_name() {
        let environment = variables(&[("HOME", Path::new("/h")), ("XDG_DATA_HOME", Path::new("/d"))]);
        let Confinable::Whole(state) = acp("/opt/bin/opencode", &environment) else { panic!("confined") };
        assert_eq!(state.folders, [Path::new("/d/opencode"), Path::new("/h/.local/state/opencode")]);
        assert_eq!(acp("codex-acp", &environment), Confinable::Own);
        assert_eq!(acp("", &environment), Confinable::Whole(ProgramState::default()));
    }
}
