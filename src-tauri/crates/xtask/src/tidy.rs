//! `cargo xtask tidy`: rules about the whole repository that no compiler knows.
//!
//! Each check is a function from what it looks at to findings, so that its tests read as data; only this
//! file reads the disk. Looked at is what git tracks or would track, as it is in the work tree.

mod face;
pub mod modules;
mod packages;
mod starts;
mod surroundings;
mod text;
mod tree;
mod ui_imports;
mod worktrees;

use std::{fmt, fs, io};

use anyhow::{Context as _, Result, bail};

use crate::{
    program::{output, program},
    workspace::Workspace,
};

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the root.
    path: String,
    /// From 1; 0 speaks of the file as a whole.
    line: usize,
    /// What is wrong and what is right.
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

impl Finding {
    fn of_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: 0, message: message.into() }
    }

    fn of_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// A file that is text.
struct Source {
    path: String,
    text: String,
}

/// Runs every check and fails with all findings.
pub fn run(workspace: &Workspace) -> Result<()> {
    let paths = listed(workspace)?;
    let sources = read(workspace, &paths)?;
    let mut findings = packages::check(&workspace.root, &workspace.packages);
    findings.extend(tree::check(&paths));
    let texts = || sources.iter().map(|source| (source.path.as_str(), source.text.as_str()));
    findings.extend(modules::check(texts()));
    findings.extend(face::check(&texts()));
    findings.extend(
        sources
            .iter()
            .find(|source| source.path == modules::DOCUMENT)
            .and_then(|source| modules::check_document(&source.text)),
    );
    for source in &sources {
        findings.extend(text::check(&source.path, &source.text));
        findings.extend(starts::check(&source.path, &source.text));
        findings.extend(surroundings::check(&source.path, &source.text));
        findings.extend(worktrees::check(&source.path, &source.text));
        findings.extend(ui_imports::check(&source.path, &source.text));
    }
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy has 1 finding"),
        count => bail!("tidy has {count} findings"),
    }
}

/// What git tracks, or would if it were added: a file must be clean before its first commit.
fn listed(workspace: &Workspace) -> Result<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    let list = output(&mut program("git", arguments, &workspace.root))?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}

fn read(workspace: &Workspace, paths: &[String]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        match fs::read_to_string(workspace.root.join(path)) {
            Ok(text) => sources.push(Source { path: path.clone(), text }),
            // Pictures and the like; a file that is deleted but not yet so in the index; a link to a folder.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::NotFound | io::ErrorKind::IsADirectory
                ) => {}
            Err(error) => return Err(error).with_context(|| format!("failed to read {path}")),
        }
    }
    Ok(sources)
}

/// Whether an item is compiled for tests alone.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}
