//! The person's editor.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use forge_exec::{find_program, in_foreground};
use tempfile::TempDir;

use crate::{answer::say, error::CliError};

/// What somebody wrote, in a file that goes unless it is kept.
pub(crate) struct Edited {
    pub(crate) text: String,
    folder: TempDir,
    name: &'static str,
}

impl Edited {
    /// Keeps the file.
    pub(crate) fn keep(self) -> Result<PathBuf, CliError> {
        Ok(self.folder.keep().join(self.name))
    }
}

/// Opens a text in the editor, and reads what became of it.
pub(crate) async fn edit(text: &str, name: &'static str) -> Result<Edited, CliError> {
    let folder = tempfile::tempdir().map_err(CliError::io("create a folder for the text"))?;
    let file = folder.path().join(name);
    fs::write(&file, text).map_err(CliError::io(format!("write {}", file.display())))?;
    if let Err(error) = open(&file).await {
        // The editor may have saved something before it failed.
        if fs::read_to_string(&file).is_ok_and(|written| written != text) {
            let kept = folder.keep().join(name);
            say(&format!("Your text is kept in {}.", kept.display()));
        }
        return Err(error);
    }
    let text = fs::read_to_string(&file).map_err(CliError::io(format!("read {}", file.display())))?;
    Ok(Edited { text, folder, name })
}

/// Opens a file or folder in the editor, and waits for its end.
pub(crate) async fn open(path: &Path) -> Result<(), CliError> {
    let line = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|line| !line.trim().is_empty()));
    let line = line.ok_or_else(|| CliError::Usage {
        message: "no editor is set".to_owned(),
        hint: "Set VISUAL or EDITOR, such as `EDITOR=nano`.",
    })?;
    // As others do: a program with arguments, without quotes.
    let mut words = line.split_whitespace().map(OsString::from);
    let named = words.next().unwrap_or_default();
    let program =
        find_program(&named, env::var_os("PATH").unwrap_or_default()).ok_or_else(|| CliError::NotFound {
            message: format!("no program `{}`", named.display()),
            hint: "Correct VISUAL or EDITOR.",
        })?;
    let arguments: Vec<OsString> = words.chain([path.as_os_str().to_owned()]).collect();
    let done = in_foreground(&program, &arguments).await;
    match done.map_err(CliError::io(format!("start {}", program.display())))? {
        true => Ok(()),
        false => Err(CliError::Tool {
            message: format!("{} ended with an error", program.display()),
            hint: "Check VISUAL and EDITOR.",
        }),
    }
}
