//! The state of a unfinished rebase, cherry-pick, revert or `am`: whether continuing it would run programs.
//!
//! git keeps that state in files of the worktree's git directory, which whoever works in the worktree can write. A
//! to-do list may hold `exec` lines, a merge strategy names a program, and options are handed on to other commands. So
//! an operation is continued only when its state holds nothing but what git does by itself.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::bytes;
use crate::error::GitError;

/// Lines of a to-do list that run no program, with their short forms.
const COMMANDS: [&str; 21] = [
    "pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "noop", "label", "l",
    "reset", "t", "merge", "m", "break", "b",
];
/// Strategies that git brings along; of any other it runs the program `git-merge-<name>`.
const STRATEGIES: [&str; 7] = ["", "ort", "recursive", "resolve", "octopus", "ours", "subtree"];
/// Options of `git apply` that an `am` may have been started with. Its file has each in quotes.
const APPLY_OPTIONS: [&str; 8] = [
    "--whitespace=",
    "--directory=",
    "--exclude=",
    "--include=",
    "--ignore-whitespace",
    "--ignore-space-change",
    "-C",
    "-p",
];
/// A larger file is not one of git's.
const FILE_CAP: u64 = 16 << 20;

/// What continuing the operation in this git directory would run or hand on, in words; `None` when it is nothing but
/// git's own work. `signing_key` is the key that the user's settings name.
pub(crate) fn foreign_in(git_dir: &Path, signing_key: &str) -> Result<Option<String>, GitError> {
    for list in ["rebase-merge/git-rebase-todo", "sequencer/todo"] {
        let foreign = read(&git_dir.join(list))?.and_then(|list| foreign_line(&list));
        if let Some(line) = foreign {
            return Ok(Some(format!("its to-do list contains `{line}`")));
        }
    }
    for folder in ["rebase-merge", "rebase-apply"] {
        let said = |name: &str| read(&git_dir.join(folder).join(name));
        for name in ["strategy", "gpg_sign_opt", "apply-opt"] {
            let Some(said) = said(name)? else { continue };
            let value = said.trim();
            let is_own = match name {
                "strategy" => STRATEGIES.contains(&value),
                "gpg_sign_opt" => is_signing(value, signing_key),
                _ => are_apply_options(value),
            };
            if !is_own {
                return Ok(Some(refusal(name, value)));
            }
        }
    }
    foreign_option(&git_dir.join("sequencer/opts"), signing_key)
}

fn refusal(name: &str, value: &str) -> String {
    format!("its option `{name}` is `{value}`")
}

/// The first line that is not git's own work.
fn foreign_line(list: &str) -> Option<String> {
    // git ends lines at line feeds and at zero bytes.
    list.split(['\n', '\0'])
        .map(str::trim)
        .find(|line| {
            let command = line.split([' ', '\t', '\r']).next().unwrap_or_default();
            !command.is_empty() && !command.starts_with('#') && !COMMANDS.contains(&command)
        })
        .map(str::to_owned)
}

/// A cherry-pick's or revert's options are a file of settings.
fn foreign_option(path: &Path, signing_key: &str) -> Result<Option<String>, GitError> {
    let Some(content) = read(path)? else { return Ok(None) };
    let Some(options) = crate::config_file::parse(content.as_bytes()) else {
        return Ok(Some("its options are not readable".to_owned()));
    };
    let foreign = options.into_iter().find(|(name, value)| match name.as_str() {
        "options.strategy" => !STRATEGIES.contains(&value.as_str()),
        "options.gpg-sign" => !is_signing(&format!("-S{value}"), signing_key),
        name => !name.starts_with("options."),
    });
    Ok(foreign.map(|(name, value)| refusal(&name, &value)))
}

/// Whether an option asks for a signature with the user's own key.
fn is_signing(option: &str, signing_key: &str) -> bool {
    let key = option.strip_prefix("-S");
    option.is_empty() || key.is_some_and(|key| key.is_empty() || key == signing_key)
}

fn are_apply_options(options: &str) -> bool {
    options
        .split(' ')
        .map(|option| option.trim_matches('\''))
        .all(|option| option.is_empty() || APPLY_OPTIONS.iter().any(|known| option.starts_with(known)))
}

/// What a file of the state says; one that is no plain file, or too large for one of git's, is refused.
fn read(path: &Path) -> Result<Option<String>, GitError> {
    let found = match fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        other => other.map_err(GitError::io("look at", path))?,
    };
    if !found.is_file() || found.len() > FILE_CAP {
        let what = "git does not write such a file".to_owned();
        return Err(GitError::Unexpected { args: path.display().to_string(), what });
    }
    let content = fs::read(path).map_err(GitError::io("read", path))?;
    Ok(Some(bytes::text(&content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_do_lists_with_anything_but_gits_own_work_are_told() {
        for own in [
            "",
            "pick 0123 x\n# exec no\n\n  s 45 y\n",
            "label onto\nreset onto\nmerge -C 01 side # m\r\nnoop\n",
            "fixup -C 01 x\nbreak\nd 02\n",
        ] {
            assert_eq!(foreign_line(own), None, "{own:?}");
        }
        for (list, line) in [
            ("pick 01 x\nexec evil\n", "exec evil"),
            ("\t x evil", "x evil"),
            ("update-ref refs/heads/main\n", "update-ref refs/heads/main"),
            ("pick 01\0exec evil", "exec evil"),
            ("pickx 01", "pickx 01"),
        ] {
            assert_eq!(foreign_line(list).as_deref(), Some(line), "{list:?}");
        }
    }

    #[test]
    fn options_that_name_programs_or_are_handed_on_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let told = |path: &str, content: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            let told = foreign_in(folder.path(), "key").unwrap();
            fs::remove_file(path).unwrap();
            told
        };
        for (path, own, foreign) in [
            ("rebase-merge/strategy", "ort\n", "evil\n"),
            ("rebase-merge/gpg_sign_opt", "-Skey\n", "--exec=evil"),
            ("rebase-apply/gpg_sign_opt", "-S", "-Sother"),
            ("rebase-apply/strategy", "subtree", "../evil"),
            ("rebase-apply/apply-opt", " '--whitespace=fix' '-p1'\n", " '--unsafe-paths'"),
            (
                "sequencer/opts",
                "[options]\n\tedit = false\n\tstrategy = ort\n",
                "[options]\nstrategy = evil\n",
            ),
            ("sequencer/todo", "pick 01\n", "exec evil\n"),
            ("sequencer/opts", "[options]\n\tgpg-sign = key\n", "[core]\n\teditor = evil\n"),
        ] {
            assert_eq!(told(path, own), None, "{path}");
            assert!(told(path, foreign).is_some(), "{path}");
        }
    }
}
