//! Files that lie on every machine that builds Forge, and programs that judge them.
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use forge_source::{Files, Folder};
use serde_json::Value;

/// A folder in which one file reads otherwise.
pub struct Overlay {
    pub folder: Folder,
    pub path: String,
    pub text: String,
}

impl Files for Overlay {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path == self.path { Ok(self.text.clone().into_bytes()) } else { self.folder.read(path) }
    }

    fn is_file(&self, path: &str) -> bool {
        self.folder.is_file(path)
    }
}

/// The page's packages; `None` where they are not installed, which the build of CI does first.
pub fn node_modules() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../ui/node_modules");
    match fs::canonicalize(path) {
        Ok(path) => Some(path),
        Err(_) if std::env::var_os("CI").is_none() => {
            eprintln!("not compared: run `npm ci` in ui first");
            None
        }
        Err(error) => panic!("ui/node_modules: {error}"),
    }
}

/// Files below a folder that end in one of these, as paths from it, in a steady order.
pub fn walk(root: &Path, endings: &[&str]) -> Vec<String> {
    let (mut open, mut found) = (vec![PathBuf::new()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && endings.iter().any(|ending| path.to_string_lossy().ends_with(ending))
            {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// At most `count` of them, spread evenly.
pub fn spread<T>(mut all: Vec<T>, count: usize) -> Vec<T> {
    let step = all.len().div_ceil(count).max(1);
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        (at - 1) % step == 0
    });
    all
}

/// Asks a judge all questions at once.
pub fn judge(program: &str, arguments: &[&str], questions: &[Value]) -> Vec<Value> {
    let mut command = Command::new(program);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/judges");
    let home = tempfile::tempdir().unwrap();
    command.args(arguments).current_dir(&script).env("HOME", home.path()).env("NODE_NO_WARNINGS", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = serde_json::to_vec(questions).unwrap();
    let writer = std::thread::spawn(move || input.write_all(&text).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{program} gave no answers: {error}: {}", String::from_utf8_lossy(&output.stdout))
    });
    assert_eq!(answers.len(), questions.len());
    answers
}

pub fn node(questions: &[Value]) -> Vec<Value> {
    judge(
        "node",
        &["--experimental-vm-modules", "--experimental-import-meta-resolve", "scripts.mjs"],
        questions,
    )
}

/// Texts that are one slip away: a character of the text's structure is gone.
pub fn torn(text: &str, seed: usize) -> Option<String> {
    let places: Vec<usize> = text
        .char_indices()
        .filter(|(_, c)| {
            matches!(c, '(' | ')' | '{' | '}' | '[' | ']' | ';' | ',' | ':' | '=' | '.' | '"' | '\'')
        })
        .map(|(at, _)| at)
        .collect();
    let at = *places.get((seed * 7919) % places.len().max(1))?;
    Some(format!("{}{}", &text[..at], &text[at + 1..]))
}

/// The newest source of a crate that Forge is built from.
pub fn registry(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))).unwrap();
    let places = fs::read_dir(home.join("registry/src")).ok()?.flatten();
    let crates = places.flat_map(|place| fs::read_dir(place.path()).into_iter().flatten().flatten());
    let versions = crates.filter(|entry| {
        let full = entry.file_name().to_string_lossy().into_owned();
        full.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    versions.map(|entry| entry.path()).max()
}
