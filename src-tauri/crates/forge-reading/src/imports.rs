//! What other tools' files say about a new worktree, in Forge's own settings.
//!
//! Five files are read: which untracked files a worktree gets, and which commands make it ready. What has
//! no equal in Forge becomes a note; nothing is dropped in silence. The text comes in as an argument; who
//! reads the file, shows the result and stores it is not here.
//!
//! Sources: Claude Code's and Conductor's documentation of `.worktreeinclude`; Cursor's documentation of
//! worktrees; Conductor's reference of `conductor.json` and of its variables; Superset's page on set-up,
//! teardown and run scripts; the configuration schema in Emdash's public source.

use forge_model::{
    path::within,
    settings::{CopyFile, CopyMode},
    workflow::{Finding, key_path, parse_json},
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// The files that can be imported, as paths from the repository's root.
pub const FILES: &[&str] = &[
    ".worktreeinclude",
    ".cursor/worktrees.json",
    "conductor.json",
    ".superset/config.json",
    ".emdash.json",
];

/// What a file of another tool says, in Forge's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The file, as its path from the repository's root.
    pub source: String,
    /// Files that a new worktree gets.
    pub copy_files: Vec<CopyFile>,
    /// Commands that make it ready.
    pub setup: Vec<String>,
    /// Commands that run the project, such as a development server.
    pub runs: Vec<String>,
    /// What was changed or left out, for people.
    pub notes: Vec<String>,
}

impl Imported {
    /// Nothing yet of a file.
    fn of(file: &str) -> Self {
        let (copy_files, setup, runs, notes) = <_>::default();
        Self { source: file.to_owned(), copy_files, setup, runs, notes }
    }
}

/// A file that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Forge does not know the file.
    #[error("import {file}: only {} can be imported", FILES.join(", "))]
    UnknownFile {
        /// The file.
        file: String,
    },
    /// The file is no JSON.
    #[error("import {file}: line {line}, column {column} is not JSON")]
    Syntax {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The file is not of the tool's format.
    #[error("import {file}: {}", said(.findings))]
    Format {
        /// The file.
        file: String,
        /// Every wrong field.
        findings: Vec<Finding>,
    },
}

fn said(findings: &[Finding]) -> String {
    let one = |finding: &Finding| match finding.path.as_str() {
        "" => finding.message.clone(),
        path => format!("{path}: {}", finding.message),
    };
    findings.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Reads a file of another tool; `file` is one of [`FILES`].
///
/// # Errors
/// See [`ImportError`].
pub fn import(file: &str, text: &str) -> Result<Imported, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tool = match file {
        ".worktreeinclude" => return Ok(worktreeinclude(file, text)),
        ".cursor/worktrees.json" => &CURSOR,
        "conductor.json" => &CONDUCTOR,
        ".superset/config.json" => &SUPERSET,
        ".emdash.json" => &EMDASH,
        _ => return Err(ImportError::UnknownFile { file: file.to_owned() }),
    };
    serde_json::from_str::<IgnoredAny>(text).map_err(|source| ImportError::Syntax {
        file: file.to_owned(),
        line: source.line(),
        column: source.column(),
        source,
    })?;
    let wrong = |findings| ImportError::Format { file: file.to_owned(), findings };
    let value = parse_json(text).map_err(wrong)?;
    let Value::Object(map) = &value else {
        return Err(wrong(vec![Finding::new("", "must be an object")]));
    };
    let mut reader = Reader::new(file, tool);
    reader.read(map);
    if reader.wrong.is_empty() { Ok(reader.out) } else { Err(wrong(reader.wrong)) }
}

fn worktreeinclude(file: &str, text: &str) -> Imported {
    let mut out = Imported::of(file);
    for (index, line) in text.lines().enumerate() {
        let pattern = trim_pattern(line);
        if pattern.is_empty() || pattern.starts_with('#') {
            continue;
        }
        add_pattern(&mut out, pattern, &format!("line {}", index + 1));
    }
    out
}

/// Blanks at the end count only behind a backslash, as in `.gitignore`.
fn trim_pattern(line: &str) -> &str {
    let trimmed = line.trim_end();
    if trimmed.len() < line.len() && trimmed.ends_with('\\') {
        line.get(..=trimmed.len()).unwrap_or(trimmed)
    } else {
        trimmed
    }
}

fn add_pattern(out: &mut Imported, pattern: &str, place: &str) {
    if let Some(exception) = pattern.strip_prefix('!') {
        let message = format!(
            "{place}: skipped the exception `!{exception}`; the list of files to copy has no exceptions. Make \
             the other patterns narrower"
        );
        out.notes.push(message);
        return;
    }
    let file = CopyFile { pattern: pattern.to_owned(), mode: CopyMode::Copy };
    if let Some(fault) = file.fault() {
        out.notes.push(format!("{place}: skipped `{}`; it {fault}", pattern.replace('\0', "\\0")));
    } else if !out.copy_files.contains(&file) {
        out.copy_files.push(file);
    }
}

/// What a key of a tool's file means to Forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Commands that make a worktree ready.
    Setup,
    /// The same, or the path of a script that stands beside the file.
    SetupOrScript,
    /// The same again, when no other key said it.
    SetupElse,
    /// Files a worktree gets.
    Copy,
    /// Keys of its own.
    Group(&'static [(&'static str, Meaning)]),
    /// Commands that run the project.
    Run,
    /// Nothing; the text says why.
    Nothing(&'static str),
}

/// A tool's file: its keys, and the variables its commands are given.
struct Tool {
    name: &'static str,
    keys: &'static [(&'static str, Meaning)],
    variables: &'static [(&'static str, &'static str)],
    /// What the names of its variables begin with.
    prefix: &'static str,
    /// What is worth knowing once there are commands.
    remark: Option<&'static str>,
}

/// How a note ends about a variable that is not there.
const NOT_SET: &str = ", which Forge does not set";
const TEARDOWN: Meaning = Meaning::Nothing(
    "Forge runs nothing when it removes a worktree; use lifecycle hooks on on_task_done and on_task_cancel",
);

static CURSOR: Tool = Tool {
    name: "Cursor",
    keys: &[
        ("setup-worktree-unix", Meaning::SetupOrScript),
        ("setup-worktree", Meaning::SetupElse),
        ("setup-worktree-windows", Meaning::Nothing("it is for Windows only")),
    ],
    variables: &[("ROOT_WORKTREE_PATH", "FORGE_REPO_PATH")],
    prefix: "ROOT_WORKTREE_",
    remark: None,
};

static CONDUCTOR: Tool = Tool {
    name: "Conductor",
    keys: &[
        (
            "scripts",
            Meaning::Group(&[("setup", Meaning::Setup), ("run", Meaning::Run), ("archive", TEARDOWN)]),
        ),
        ("runScriptMode", Meaning::Nothing("services of different tasks run side by side")),
        ("enterpriseDataPrivacy", Meaning::Nothing("Forge has no services to send data to")),
    ],
    variables: &[
        ("CONDUCTOR_ROOT_PATH", "FORGE_REPO_PATH"),
        ("CONDUCTOR_WORKSPACE_PATH", "FORGE_WORKTREE_PATH"),
        ("CONDUCTOR_WORKSPACE_NAME", "FORGE_TASK_ID"),
        ("CONDUCTOR_PORT", "FORGE_PORT_BASE"),
    ],
    prefix: "CONDUCTOR_",
    remark: Some("Conductor runs scripts with zsh, Forge with the project's shell"),
};

static SUPERSET: Tool = Tool {
    name: "Superset",
    keys: &[("setup", Meaning::Setup), ("teardown", TEARDOWN), ("run", Meaning::Run)],
    variables: &[
        ("SUPERSET_ROOT_PATH", "FORGE_REPO_PATH"),
        ("SUPERSET_WORKSPACE_PATH", "FORGE_WORKTREE_PATH"),
        ("SUPERSET_WORKSPACE_NAME", "FORGE_TASK_ID"),
    ],
    prefix: "SUPERSET_",
    remark: None,
};

static EMDASH: Tool = Tool {
    name: "Emdash",
    keys: &[
        ("preservePatterns", Meaning::Copy),
        (
            "scripts",
            Meaning::Group(&[
                ("prepare", Meaning::Nothing("it prepares the repository, which is up to you")),
                ("setup", Meaning::Setup),
                ("run", Meaning::Run),
                ("teardown", TEARDOWN),
            ]),
        ),
        ("shellSetup", Meaning::Nothing("it applies to every shell; set the project's shell instead")),
    ],
    variables: &[
        ("EMDASH_ROOT_PATH", "FORGE_REPO_PATH"),
        ("EMDASH_TASK_PATH", "FORGE_WORKTREE_PATH"),
        ("EMDASH_TASK_ID", "FORGE_TASK_ID"),
        ("EMDASH_TASK_NAME", "FORGE_TASK_ID"),
        ("EMDASH_PORT", "FORGE_PORT_BASE"),
    ],
    prefix: "EMDASH_",
    remark: None,
};

struct Reader {
    tool: &'static Tool,
    out: Imported,
    wrong: Vec<Finding>,
    /// The key that said what to set up, when one of several may.
    said_by: Option<String>,
}

impl Reader {
    fn new(file: &str, tool: &'static Tool) -> Self {
        let out = Imported::of(file);
        Self { tool, out, wrong: Vec::new(), said_by: None }
    }

    fn read(&mut self, map: &Map<String, Value>) {
        self.read_keys(self.tool.keys, map, "");
        if let Some(remark) = self.tool.remark.filter(|_| !self.out.setup.is_empty()) {
            self.out.notes.push(remark.to_owned());
        }
    }

    /// Keys are read in the tool's order, not in the file's: what comes first wins.
    fn read_keys(&mut self, keys: &'static [(&'static str, Meaning)], map: &Map<String, Value>, path: &str) {
        for (key, meaning) in keys {
            if let Some(value) = map.get(*key).filter(|value| !value.is_null()) {
                self.read_key(*meaning, value, &key_path(path, key));
            }
        }
        for key in map.keys().filter(|key| keys.iter().all(|(known, _)| known != key)) {
            if *key != "$schema" {
                let message =
                    format!("skipped `{}`: {} has no such key", key_path(path, key), self.tool.name);
                self.out.notes.push(message);
            }
        }
    }

    fn read_key(&mut self, meaning: Meaning, value: &Value, path: &str) {
        match meaning {
            Meaning::Setup => self.set_up(value, path),
            Meaning::Run => {
                let notes = self.out.notes.len();
                for command in self.texts(value, path) {
                    let command = self.in_our_words(command.trim());
                    self.out.runs.extend(command.map(|it| rename_word(&it, "FORGE_PORT_BASE", "PORT")));
                }
                // What is changed in them is seen where they are suggested.
                let said = self.out.notes.split_off(notes);
                self.out.notes.extend(said.into_iter().filter(|note| note.ends_with(NOT_SET)));
                if !is_empty(value) {
                    self.note_once(format!("`{path}` ({}) is suggested as a service", shown(value)));
                }
            }
            Meaning::SetupOrScript => self.set_up_or_script(value, path),
            Meaning::SetupElse => match self.said_by.clone() {
                Some(first) => {
                    self.out.notes.push(format!("skipped `{path}`: `{first}` takes precedence"));
                }
                None => self.set_up_or_script(value, path),
            },
            Meaning::Copy => {
                for (index, pattern) in self.texts(value, path).into_iter().enumerate() {
                    // The tool leaves its own file out as well: it is in the repository already.
                    if pattern != self.out.source {
                        add_pattern(&mut self.out, &pattern, &format!("{path}[{index}]"));
                    }
                }
            }
            Meaning::Group(keys) => match value {
                Value::Object(map) => self.read_keys(keys, map, path),
                _ => self.wrong.push(Finding::new(path, "must be an object")),
            },
            Meaning::Nothing(why) => {
                if !is_empty(value) {
                    self.out.notes.push(format!("skipped `{path}` ({}): {why}", shown(value)));
                }
            }
        }
    }

    fn texts(&mut self, value: &Value, path: &str) -> Vec<String> {
        let list = match value {
            Value::String(_) => std::slice::from_ref(value),
            Value::Array(list) => list.as_slice(),
            _ => {
                self.wrong.push(Finding::new(path, "must be text or a list of texts"));
                return Vec::new();
            }
        };
        let mut texts = Vec::new();
        for (index, item) in list.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                _ => self.wrong.push(Finding::new(format!("{path}[{index}]"), "must be text")),
            }
        }
        texts
    }

    fn set_up(&mut self, value: &Value, path: &str) {
        for command in self.texts(value, path) {
            self.add_command(&command);
        }
    }

    /// A text is the path of a script beside the file; a list has commands.
    fn set_up_or_script(&mut self, value: &Value, path: &str) {
        self.said_by = Some(path.to_owned());
        let Value::String(script) = value else { return self.set_up(value, path) };
        let folder = self.out.source.rsplit_once('/').map_or("", |(folder, _)| folder);
        match beside(folder, script) {
            Some(script) => {
                let command = format!("bash {}", quoted(&script));
                self.out.notes.push(format!("`{path}` is a script and runs as `{command}`"));
                self.add_command(&command);
            }
            None => {
                let message = format!("`{script}` must be the path of a file in the repository");
                self.wrong.push(Finding::new(path, message));
            }
        }
    }

    fn add_command(&mut self, command: &str) {
        let command = self.in_our_words(command.trim());
        self.out.setup.extend(command);
    }

    /// A command with the variables that it finds here; none when there is no command.
    fn in_our_words(&mut self, command: &str) -> Option<String> {
        if command.is_empty() {
            return None;
        }
        let mut text = command.to_owned();
        for (theirs, ours) in self.tool.variables {
            let renamed = rename_word(&text, theirs, ours);
            if renamed != text {
                self.note_once(format!("replaced `{theirs}` with `{ours}`"));
                text = renamed;
            }
        }
        for word in words(&text).filter(|word| word.starts_with(self.tool.prefix)) {
            self.note_once(format!("`{command}` reads `{word}`{NOT_SET}"));
        }
        if runs_a_file(command) {
            // The script itself is not rewritten, so it finds the names that it knows.
            let set: Vec<String> =
                self.tool.variables.iter().map(|(theirs, ours)| format!("{theirs}=\"${ours}\"")).collect();
            self.note_once(format!("variables of {} are set for its scripts", self.tool.name));
            text = format!("export {}; {text}", set.join(" "));
        }
        Some(text)
    }

    fn note_once(&mut self, note: String) {
        if !self.out.notes.contains(&note) {
            self.out.notes.push(note);
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.iter().all(is_empty),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value in a note: one line, not endless.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or(&line)),
        None => line,
    }
}

/// The path of `script`, given from `folder`, from the repository's root; nothing when it leads out of it.
fn beside(folder: &str, script: &str) -> Option<String> {
    if script.trim().is_empty() || script.starts_with(['/', '~', '\\']) || script.contains(['\0', '\n']) {
        return None;
    }
    within(folder.split('/').chain(script.split('/')))
}

/// A word of a shell line that means itself.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The identifiers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

/// `text` with every whole word `from` replaced.
fn rename_word(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (&rest[..at], &rest[at + from.len()..]);
        let begins = !before.ends_with(is_word) && (!before.is_empty() || !out.ends_with(is_word));
        out.push_str(before);
        out.push_str(if begins && !behind.starts_with(is_word) { to } else { from });
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Whether a command runs a file of the repository, whose text is not ours to rewrite.
fn runs_a_file(command: &str) -> bool {
    const SCRIPTS: &[&str] = &[".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".py", ".rb"];
    command
        .split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c))
        .filter(|word| !word.contains(['$', '=', ':']) && !word.starts_with(['-', '/', '~']))
        .enumerate()
        .any(|(index, word)| {
            word.starts_with("./")
                || SCRIPTS.iter().any(|end| word.len() > end.len() && word.ends_with(end))
                || (index == 0 && word.contains('/'))
        })
}

#[cfg(test)]
mod tests;
