//! Opening places outside the window: browser, file manager, terminal, editor.
//!
//! Invariants: a link is http or https and nothing else; a path is absolute and there; no shell reads any of
//! it. Agents never run through here.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct as _};
use tauri::{AppHandle, Runtime, Url};
use tauri_plugin_shell::{
    ShellExt as _,
    process::{Command, CommandEvent},
};

/// Names the editor that the person wants, before those that are looked for.
const EDITOR_VARIABLE: &str = "FORGE_EDITOR";
/// The same for the terminal.
const TERMINAL_VARIABLE: &str = "FORGE_TERMINAL";

const EDITORS: &[&str] = &[
    "code",
    "cursor",
    "codium",
    "zed",
    "zeditor",
    "subl",
    "idea",
    "gnome-text-editor",
    "kate",
    "gedit",
    "mousepad",
];
/// Editors that open a folder on another machine by `--remote ssh-remote+DESTINATION PATH`.
const REMOTE_EDITORS: &[&str] =
    &["code", "code-insiders", "cursor", "codium", "vscodium", "windsurf", "positron"];
/// Editors that go to a line by the path alone: `PATH:LINE`.
const SUFFIX_EDITORS: &[&str] = &["zed", "zeditor", "subl"];
/// Editors that go to a line by `--line LINE PATH`.
const OPTION_EDITORS: &[&str] = &[
    "idea",
    "pycharm",
    "webstorm",
    "rustrover",
    "goland",
    "clion",
    "phpstorm",
    "rubymine",
    "kate",
    "kwrite",
    "mousepad",
];
/// Editors that go to a line by `+LINE PATH`.
const PLUS_EDITORS: &[&str] = &["gedit", "gvim", "nvim-qt", "emacs", "emacsclient"];
const TERMINALS: &[&str] = &[
    "x-terminal-emulator",
    "gnome-terminal",
    "konsole",
    "ghostty",
    "kitty",
    "alacritty",
    "wezterm",
    "foot",
    "xfce4-terminal",
    "xterm",
];
const OPENER: &str = "xdg-open";

/// A program that cannot open something says so quickly; one that still runs by then has opened it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a place is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenKind {
    /// A file or folder, by what the desktop has for it.
    Path,
    /// A link, in the browser.
    External,
    /// A folder, in a terminal.
    Terminal,
    /// A file or folder, in the person's editor.
    Editor,
}

/// Why a place is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// Not a link to the web.
    #[error("Could not open the link: only http and https links are allowed")]
    Link,
    /// Not a full path.
    #[error("Could not open {}: it is not a full path", .0.display())]
    Relative(PathBuf),
    /// Nothing is there.
    #[error("Could not open {}: no such file or folder", .0.display())]
    Missing(PathBuf),
    /// Only editors open what is on another machine.
    #[error("Could not open {path} on {destination}: only editors open folders of other machines")]
    NoEditor {
        /// What was to be opened.
        path: String,
        /// Where.
        destination: String,
    },
    /// The person's editor opens nothing that is on another machine.
    #[error("Could not open {path} on {destination}: {program} opens no folders of other machines")]
    LocalEditor {
        /// What was to be opened.
        path: String,
        /// Where.
        destination: String,
        /// The editor.
        program: String,
    },
    /// Not a destination of ssh.
    #[error("Could not open the folder: `{0}` is no destination of ssh")]
    Destination(String),
    /// No program for it.
    #[error("Could not find {what}")]
    NoProgram {
        /// What was looked for.
        what: &'static str,
        /// The variable that names one.
        variable: &'static str,
    },
    /// The program did not start.
    #[error("Could not start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: tauri_plugin_shell::Error,
    },
    /// The text could not be kept.
    #[error("Could not save {}: {source}", path.display())]
    Save {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The program gave up.
    #[error("Could not open it: {program} exited with {code}: {output}")]
    Ended {
        /// The program.
        program: String,
        /// Its exit code.
        code: i32,
        /// What it said last.
        output: String,
    },
}

impl OutsideError {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::NoProgram { what, variable } => {
                vec![format!("install {what}, or set the environment variable {variable} to a program")]
            }
            Self::Start { program, .. } if program == OPENER => {
                vec!["install the package xdg-utils".to_owned()]
            }
            Self::LocalEditor { .. } => {
                vec![format!(
                    "set the environment variable {EDITOR_VARIABLE} to an editor of the VS Code kind, such as code or cursor"
                )]
            }
            Self::NoEditor { destination, .. } => {
                vec![format!("sign in with `ssh {destination}`, or open the editor instead")]
            }
            Self::Link
            | Self::Destination(_)
            | Self::Relative(_)
            | Self::Missing(_)
            | Self::Start { .. }
            | Self::Save { .. }
            | Self::Ended { .. } => Vec::new(),
        }
    }
}

/// The page sees the same shape as from any operation.
impl Serialize for OutsideError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_struct("OutsideError", 4)?;
        error.serialize_field("code", "open_failed")?;
        error.serialize_field("message", &self.to_string())?;
        error.serialize_field("hints", &self.hints())?;
        error.serialize_field("details", &())?;
        error.end()
    }
}

/// Opens a place, and waits a moment for the program's refusal. An editor goes to the line of a file, from 1, where it is
/// known how it is told.
///
/// # Errors
/// When the target is not allowed or not there, no program is found, or the program refuses.
pub async fn open<R: Runtime>(
    app: &AppHandle<R>,
    target: &str,
    kind: OpenKind,
    line: Option<u32>,
) -> Result<(), OutsideError> {
    let start = |program: &OsStr| app.shell().command(program);
    match kind {
        OpenKind::External => {
            let url = web_link(target)?;
            run(OPENER, start(OPENER.as_ref()).arg(url.as_str())).await
        }
        OpenKind::Path => {
            let path = existing(target)?;
            run(OPENER, start(OPENER.as_ref()).arg(path)).await
        }
        OpenKind::Terminal => {
            let folder = folder_of(existing(target)?);
            let program = choose("a terminal", TERMINAL_VARIABLE, TERMINALS)?;
            run(&program.display().to_string(), start(program.as_os_str()).current_dir(folder)).await
        }
        OpenKind::Editor => {
            let path = existing(target)?;
            let program = choose("an editor", EDITOR_VARIABLE, EDITORS)?;
            let arguments = editor_arguments(&program, &path, line);
            run(&program.display().to_string(), start(program.as_os_str()).args(arguments)).await
        }
    }
}

/// What an editor is given to open a path, at a line where it is one of those whose way to tell it is known.
fn editor_arguments(program: &Path, path: &Path, line: Option<u32>) -> Vec<OsString> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let is_one_of = |known: &[&str]| known.contains(&name.as_ref());
    let plain = || vec![path.as_os_str().to_owned()];
    let Some(line) = line.filter(|_| !path.is_dir()) else { return plain() };
    let at_line = || {
        let mut path = path.as_os_str().to_owned();
        path.push(format!(":{line}"));
        path
    };
    if is_one_of(REMOTE_EDITORS) {
        vec!["--goto".into(), at_line()]
    } else if is_one_of(SUFFIX_EDITORS) {
        vec![at_line()]
    } else if is_one_of(OPTION_EDITORS) {
        vec!["--line".into(), line.to_string().into(), path.into()]
    } else if is_one_of(PLUS_EDITORS) {
        vec![format!("+{line}").into(), path.into()]
    } else {
        plain()
    }
}

/// Opens a folder, or a file at a line, on the machine that ssh reaches by `destination`, where the person's editor can do
/// that.
///
/// # Errors
/// When the target or the destination is none, when nothing opens it, or the program refuses.
pub async fn open_there<R: Runtime>(
    app: &AppHandle<R>,
    target: &str,
    kind: OpenKind,
    (destination, line): (&str, Option<u32>),
) -> Result<(), OutsideError> {
    let arguments = remote_arguments(target, destination, line)?;
    let (path, destination) = (target.to_owned(), destination.to_owned());
    if kind != OpenKind::Editor {
        return Err(OutsideError::NoEditor { path, destination });
    }
    let program = choose("an editor that opens folders of other machines", EDITOR_VARIABLE, REMOTE_EDITORS)?;
    if !is_remote_editor(&program) {
        let program = program.display().to_string();
        return Err(OutsideError::LocalEditor { path, destination, program });
    }
    run(&program.display().to_string(), app.shell().command(program.as_os_str()).args(arguments)).await
}

/// What an editor of the VS Code kind is given.
fn remote_arguments(target: &str, destination: &str, line: Option<u32>) -> Result<Vec<String>, OutsideError> {
    if !target.starts_with('/') {
        return Err(OutsideError::Relative(PathBuf::from(target)));
    }
    let is_one_word =
        !destination.is_empty() && !destination.contains(|c: char| c.is_whitespace() || c.is_control());
    if !is_one_word || destination.starts_with('-') {
        return Err(OutsideError::Destination(destination.to_owned()));
    }
    let mut arguments = vec!["--remote".to_owned(), format!("ssh-remote+{destination}")];
    match line {
        Some(line) => arguments.extend(["--goto".to_owned(), format!("{target}:{line}")]),
        None => arguments.push(target.to_owned()),
    }
    Ok(arguments)
}

fn is_remote_editor(program: &Path) -> bool {
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| REMOTE_EDITORS.contains(&name.as_str()))
}

async fn run(program: &str, command: Command) -> Result<(), OutsideError> {
    // A group of its own: what was opened outlives Forge, and an interrupt in Forge's terminal.
    let (mut events, _child) = command
        .set_process_group(true)
        .spawn()
        .map_err(|source| OutsideError::Start { program: program.to_owned(), source })?;
    let refusal = async {
        let mut output = String::new();
        while let Some(event) = events.recv().await {
            match event {
                CommandEvent::Stderr(line) => output = String::from_utf8_lossy(&line).trim().to_owned(),
                CommandEvent::Terminated(ended) => {
                    return ended.code.filter(|code| *code != 0).map(|code| (code, output));
                }
                _ => {}
            }
        }
        None
    };
    match tokio::time::timeout(PATIENCE, refusal).await {
        Ok(Some((code, output))) => Err(OutsideError::Ended { program: program.to_owned(), code, output }),
        Ok(None) | Err(_) => Ok(()),
    }
}

fn web_link(target: &str) -> Result<Url, OutsideError> {
    let url: Url = target.parse().map_err(|_| OutsideError::Link)?;
    if matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err(OutsideError::Link) }
}

fn existing(target: &str) -> Result<PathBuf, OutsideError> {
    let path = PathBuf::from(target);
    if !path.is_absolute() {
        return Err(OutsideError::Relative(path));
    }
    if !path.exists() {
        return Err(OutsideError::Missing(path));
    }
    Ok(path)
}

fn folder_of(path: PathBuf) -> PathBuf {
    if path.is_dir() { path } else { path.parent().map(Path::to_owned).unwrap_or(path) }
}

/// The program that the variable names, else the first of the known ones on the path.
fn choose(what: &'static str, variable: &'static str, known: &[&str]) -> Result<PathBuf, OutsideError> {
    let named = env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folders: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    named.or_else(|| first_in(&folders, known)).ok_or(OutsideError::NoProgram { what, variable })
}

fn first_in(folders: &[PathBuf], known: &[&str]) -> Option<PathBuf> {
    known.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_web_links_are_opened() {
        for (target, allowed) in [
            ("https://example.com/a?b#c", true),
            ("http://127.0.0.1:4780/", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("/etc/passwd", false),
            ("--help", false),
        ] {
            assert_eq!(web_link(target).is_ok(), allowed, "{target}");
        }
    }

    #[test]
    fn only_full_paths_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        fs::write(&file, "").unwrap();
        assert_eq!(folder_of(existing(file.to_str().unwrap()).unwrap()), folder.path());
        assert!(matches!(existing("-rf"), Err(OutsideError::Relative(_))));
        assert!(matches!(existing("../etc"), Err(OutsideError::Relative(_))));
        assert!(matches!(
            existing(folder.path().join("no").to_str().unwrap()),
            Err(OutsideError::Missing(_))
        ));
    }

    #[test]
    fn the_first_known_program_wins_over_the_first_folder() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(one.path().join("xterm"), "").unwrap();
        fs::write(two.path().join("kitty"), "").unwrap();
        let folders = [one.path().to_owned(), two.path().to_owned()];
        assert_eq!(first_in(&folders, &["kitty", "xterm"]), Some(two.path().join("kitty")));
        assert_eq!(first_in(&folders, &["konsole"]), None);
    }

    #[test]
    fn editor_goes_to_a_line_in_its_own_way_and_one_that_is_not_known_opens_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b.rs");
        fs::write(&file, "").unwrap();
        let given = |program: &str, path: &Path, line: Option<u32>| {
            let arguments = editor_arguments(Path::new(program), path, line);
            let text = |it: OsString| it.into_string().unwrap().replace(&path.display().to_string(), "FILE");
            arguments.into_iter().map(text).collect::<Vec<_>>().join(" ")
        };
        for (program, arguments) in [
            ("/usr/bin/code", "--goto FILE:7"),
            ("codium", "--goto FILE:7"),
            ("zed", "FILE:7"),
            ("rustrover", "--line 7 FILE"),
            ("kate", "--line 7 FILE"),
            ("gvim", "+7 FILE"),
            ("gnome-text-editor", "FILE"),
            ("/opt/own-editor", "FILE"),
        ] {
            assert_eq!(given(program, &file, Some(7)), arguments, "{program}");
            assert_eq!(given(program, &file, None), "FILE", "{program}");
            assert_eq!(given(program, folder.path(), Some(7)), "FILE", "{program} opens a folder");
        }
    }

    #[test]
    fn editor_opens_a_folder_of_another_machine_by_its_destination() {
        let arguments = remote_arguments("/home/me/.forge/tree", "me@box:2222", None).unwrap();
        assert_eq!(arguments, ["--remote", "ssh-remote+me@box:2222", "/home/me/.forge/tree"]);
        let at_line = remote_arguments("/tree/a.rs", "box", Some(7)).unwrap();
        assert_eq!(at_line, ["--remote", "ssh-remote+box", "--goto", "/tree/a.rs:7"]);
        assert!(matches!(remote_arguments("tree", "box", None), Err(OutsideError::Relative(_))));
        for destination in ["", "-oProxyCommand=x", "box x", "box\n"] {
            let refused = remote_arguments("/tree", destination, None);
            assert!(matches!(refused, Err(OutsideError::Destination(_))), "{destination:?}");
        }
        assert!(is_remote_editor(Path::new("/usr/bin/code")) && is_remote_editor(Path::new("cursor")));
        assert!(!is_remote_editor(Path::new("/usr/bin/gedit")));
    }

    #[test]
    fn a_refusal_has_the_contracts_shape() {
        let error = OutsideError::NoProgram { what: "an editor", variable: EDITOR_VARIABLE };
        assert_eq!(
            serde_json::to_value(&error).unwrap(),
            serde_json::json!({
                "code": "open_failed",
                "message": "Could not find an editor",
                "hints": ["install an editor, or set the environment variable FORGE_EDITOR to a program"],
                "details": null,
            })
        );
    }
}
