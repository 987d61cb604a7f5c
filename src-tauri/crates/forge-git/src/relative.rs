//! Settings that name a program by a relative path.
//!
//! git runs filters, merge drivers and the like in the worktree at hand, so `./tools/clean.sh` would be the file that
//! whoever works there wrote. Each command is given such settings with the path of the user's own checkout, as it is
//! given the folder of hooks. Where a command line has the shell compute a path, nothing can be said about it.

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use crate::error::GitError;
use crate::settings::Settings;

/// How git reads a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A line for the shell.
    Line,
    /// A program's path and nothing else.
    Program,
    /// A line for the shell behind an exclamation mark, else a helper's name. All values of the name count.
    Helper,
}

/// Characters that end a word of a shell's line without being part of it.
const BREAKS: [char; 7] = [';', '|', '&', '(', ')', '<', '>'];

/// Programs that run the file that is named behind them.
const INTERPRETERS: [&str; 10] =
    ["bash", "dash", "ksh", "node", "perl", "python", "python3", "ruby", "sh", "zsh"];

/// `-c` options for a command in a worktree: the settings that name a program by a relative path, with the path below
/// the top of the user's own checkout, `root`.
pub(crate) fn options(settings: &Settings, root: &Path, worktree: &Path) -> Result<Vec<OsString>, GitError> {
    let mut options = Vec::new();
    let mut helpers = false;
    for (name, value) in settings.values() {
        let Some(form) = form_of(name) else { continue };
        let Some(absolute) = absolute(form, value, root, worktree) else { continue };
        if form == Form::Helper {
            helpers = true;
            continue;
        }
        // A later value of the same name that is not relative counts.
        if settings.get(name) == Some(value) {
            options.push(option(name, &absolute)?);
        }
    }
    if helpers {
        // Values of these names add up: all are said again, behind an empty one that ends what was said before.
        options.push(option("credential.helper", "")?);
        for (name, value) in settings.values() {
            if form_of(name) == Some(Form::Helper) {
                let absolute = absolute(Form::Helper, value, root, worktree);
                options.push(option(name, absolute.as_deref().unwrap_or(value))?);
            }
        }
    }
    Ok(options)
}

fn option(name: &str, value: &str) -> Result<OsString, GitError> {
    if name.contains('=') {
        let what = format!(
            "the setting `{name}` contains `=` in its name and points to a program by a relative path"
        );
        return Err(GitError::Unexpected { args: "config --list".to_owned(), what });
    }
    Ok(format!("{name}={value}").into())
}

/// How git reads a setting when it is one that names a program.
fn form_of(name: &str) -> Option<Form> {
    let (section, rest) = name.split_once('.')?;
    let last = rest.rsplit('.').next()?;
    Some(match (section, last) {
        ("filter", "clean" | "smudge" | "process")
        | ("merge", "driver")
        | ("diff", "command" | "textconv" | "external")
        | ("core", "sshcommand" | "gitproxy" | "alternaterefscommand")
        | ("remote", "uploadpack" | "receivepack")
        | ("uploadpack", "packobjectshook")
        | ("hook", "command")
        | ("gpg", "defaultkeycommand") => Form::Line,
        ("gpg", "program") => Form::Program,
        ("credential", "helper") => Form::Helper,
        _ => return None,
    })
}

/// The value with the path below `root` in the place of each relative one; `None` when it has none.
fn absolute(form: Form, value: &str, root: &Path, worktree: &Path) -> Option<String> {
    let text = root.to_str()?;
    match form {
        Form::Program => (value.contains('/') && !value.starts_with(['/', '~', '%']))
            .then(|| format!("{text}/{}", plain(value))),
        Form::Helper => {
            let line = value.strip_prefix('!')?;
            Some(format!("!{}", absolute_line(line, text, root, worktree)?))
        }
        Form::Line => absolute_line(value, text, root, worktree),
    }
}

fn absolute_line(line: &str, text: &str, root: &Path, worktree: &Path) -> Option<String> {
    let mut made = String::new();
    let (mut end, mut runs_file) = (0, false);
    for word in words(line) {
        let path = plain(&word.text);
        if !word.is_program && path.contains(char::is_whitespace) {
            // A line of its own, as behind `sh -c`.
            if let Some(inner) = absolute_line(&word.text, text, root, worktree) {
                made.push_str(&line[end..word.range.start]);
                made.push_str(&quoted(&inner));
                end = word.range.end;
            }
            continue;
        }
        // `clean` in `git-lfs clean` is no file, although there may be one of that name.
        let may_be_file = path.contains(['/', '.']) || runs_file;
        let name = path.rsplit('/').next().unwrap_or_default();
        runs_file = word.is_program && INTERPRETERS.contains(&name) || runs_file && path.starts_with('-');
        let is_path = !path.is_empty() && !path.starts_with(['/', '-', '~']) && !path.contains(['%', ':']);
        let is_file = || may_be_file && [root, worktree].iter().any(|top| top.join(path).is_file());
        let leads = if word.is_program { path.contains('/') } else { is_file() };
        if is_path && (leads || word.text.starts_with("./") || word.text.starts_with("../")) {
            made.push_str(&line[end..word.range.start]);
            made.push_str(&quoted(&format!("{text}/{path}")));
            end = word.range.end;
        }
    }
    made.push_str(&line[end..]);
    (end > 0).then_some(made)
}

/// A word of a shell's line.
struct Word {
    range: Range<usize>,
    /// Without quotes.
    text: String,
    /// Whether it is in the place of a program's name.
    is_program: bool,
}

/// The words of a line of which the shell computes nothing.
fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut chars, mut is_program) = (line.char_indices().peekable(), true);
    while let Some(&(start, c)) = chars.peek() {
        if c.is_whitespace() || BREAKS.contains(&c) {
            is_program |= !c.is_whitespace() && !matches!(c, '<' | '>') || c == '\n';
            chars.next();
            continue;
        }
        let (mut text, mut quote, mut computed, mut end) = (String::new(), None, false, start);
        while let Some(&(at, c)) = chars.peek() {
            if quote.is_none() && (c.is_whitespace() || BREAKS.contains(&c)) {
                break;
            }
            chars.next();
            end = at + c.len_utf8();
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('\\', None | Some('"')) => {
                    if let Some((at, c)) = chars.next() {
                        text.push(c);
                        end = at + c.len_utf8();
                    }
                }
                (c, quote) => {
                    computed |= matches!(c, '$' | '`') && quote != Some('\'');
                    text.push(c);
                }
            }
        }
        let assigns = is_program && text.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
        if !computed {
            words.push(Word { range: start..end, text, is_program: is_program && !assigns });
        }
        is_program &= assigns;
    }
    words
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// A path as the shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+'));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
