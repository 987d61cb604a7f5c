//! Which untracked files the rules want.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::rule::{CopyMode, CopyRule, Wanted};
use crate::bytes;
use crate::error::GitError;

#[derive(Debug)]
struct Rule {
    mode: CopyMode,
    /// What it matches is not wanted.
    negated: bool,
    /// It matches folders only.
    folders: bool,
    whole: GlobMatcher,
    /// Its parts, when it starts at the top; of one that may match at any depth, none.
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// `**`.
    Any,
    One(GlobMatcher),
}

/// The rules, in order.
#[derive(Debug)]
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    pub(super) fn new(rules: &[CopyRule]) -> Result<Rules, GitError> {
        rules.iter().map(Rule::new).collect::<Result<_, _>>().map(Rules)
    }

    /// What is wanted of git's untracked paths; a trailing `/` marks a folder that git did not go into.
    pub(super) fn wanted<'a>(
        &self,
        root: &Path,
        candidates: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Vec<Wanted>, GitError> {
        let mut wanted = Vec::new();
        for candidate in candidates {
            let (path, is_folder) = match candidate.strip_suffix(b"/") {
                Some(folder) => (folder, true),
                None => (candidate, false),
            };
            self.consider(root, bytes::path(path), is_folder, &mut wanted)?;
        }
        wanted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        wanted.dedup();
        Ok(wanted)
    }

    fn consider(
        &self,
        root: &Path,
        path: &Path,
        is_folder: bool,
        wanted: &mut Vec<Wanted>,
    ) -> Result<(), GitError> {
        if path.file_name() == Some(OsStr::new(".git")) {
            return Ok(());
        }
        if let Some(rule) = self.deciding(path, is_folder) {
            if !rule.negated {
                wanted.push(Wanted { path: path.to_owned(), mode: rule.mode });
            }
            return Ok(());
        }
        if !is_folder || !self.0.iter().any(|rule| rule.may_match_below(path)) {
            return Ok(());
        }
        let folder = root.join(path);
        let entries = fs::read_dir(&folder).map_err(GitError::io("list", &folder))?;
        for entry in entries {
            let entry = entry.map_err(GitError::io("list", &folder))?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            self.consider(root, &path.join(entry.file_name()), is_folder, wanted)?;
        }
        Ok(())
    }

    /// The last rule that matches the path, or a folder above it.
    fn deciding(&self, path: &Path, is_folder: bool) -> Option<&Rule> {
        let matches = |rule: &&Rule| {
            rule.matches(path, is_folder)
                || path.ancestors().skip(1).any(|above| above != Path::new("") && rule.matches(above, true))
        };
        self.0.iter().rev().find(matches)
    }
}

impl Rule {
    fn new(rule: &CopyRule) -> Result<Rule, GitError> {
        let bad = |source| GitError::BadPattern { pattern: rule.pattern.clone(), source };
        let (negated, rest) = match rule.pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, rule.pattern.as_str()),
        };
        let folders = rest.ends_with('/');
        let body = rest.trim_end_matches('/');
        let from_top = body.strip_prefix('/').unwrap_or(body);
        let anchored = body.contains('/') && !from_top.starts_with("**/");
        let whole = if body.contains('/') { from_top.to_owned() } else { format!("**/{body}") };
        let mut parts = Vec::new();
        if anchored && !negated {
            for part in from_top.split('/') {
                parts.push(if part == "**" { Part::Any } else { Part::One(glob(part).map_err(bad)?) });
            }
        }
        Ok(Rule { mode: rule.mode, negated, folders, whole: glob(&whole).map_err(bad)?, parts })
    }

    fn matches(&self, path: &Path, is_folder: bool) -> bool {
        (is_folder || !self.folders) && self.whole.is_match(path)
    }

    /// Whether it could match something inside of a folder whose name does not match itself.
    fn may_match_below(&self, folder: &Path) -> bool {
        let mut parts = self.parts.iter();
        for name in folder {
            match parts.next() {
                Some(Part::Any) => return true,
                Some(Part::One(part)) if part.is_match(name) => {}
                _ => return false,
            }
        }
        parts.next().is_some()
    }
}

fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()?;
    Ok(glob.compile_matcher())
}

/// The line of an ignore list that matches exactly this path.
pub(super) fn literal(path: &[u8]) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in path {
        if matches!(byte, b'\\' | b'*' | b'?' | b'[' | b' ') {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(patterns: &[&str]) -> Rules {
        let rule = |pattern: &&str| CopyRule { pattern: (*pattern).to_owned(), mode: CopyMode::Copy };
        Rules::new(&patterns.iter().map(rule).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn patterns_are_read_as_in_an_ignore_list() {
        let cases: [(&[&str], &str, bool); 16] = [
            (&[".env"], ".env", true),
            (&[".env"], "sub/.env", true),
            (&["/.env"], "sub/.env", false),
            (&[".env*"], ".env.local", true),
            (&["config/*.local"], "config/a.local", true),
            (&["config/*.local"], "config/deep/a.local", false),
            (&["config/**/*.local"], "config/deep/a.local", true),
            (&["*.local"], "config/deep/a.local", true),
            (&["node_modules/"], "node_modules/", true),
            (&["node_modules/"], "node_modules", false),
            (&["node_modules/"], "packages/a/node_modules/", true),
            (&["config/"], "config/deep/a", true),
            (&[".env*", "!.env.test"], ".env.test", false),
            (&["!.env.test", ".env*"], ".env.test", true),
            (&["**/deep/a"], "config/deep/a", true),
            (&["\\!x"], "!x", true),
        ];
        for (patterns, path, expected) in cases {
            let (name, is_folder) = path.strip_suffix('/').map_or((path, false), |name| (name, true));
            let decided =
                rules(patterns).deciding(Path::new(name), is_folder).is_some_and(|rule| !rule.negated);
            assert_eq!(decided, expected, "{patterns:?} on {path}");
        }
        assert!(matches!(
            Rules::new(&[CopyRule { pattern: "a[".to_owned(), mode: CopyMode::Copy }]),
            Err(GitError::BadPattern { .. })
        ));
    }

    #[test]
    fn folders_are_entered_only_for_rules_that_name_them() {
        let cases = [
            ("node_modules/.cache/x", "node_modules", true),
            ("node_modules/.cache/x", "node_modules/.cache", true),
            ("node_modules/.cache/x", "node_modules/react", false),
            ("node_modules/.cache/x", "target", false),
            ("packages/*/dist", "packages", true),
            ("target/**/x", "target/debug", true),
            (".env", "target", false),
            ("**/.env", "target", false),
            ("**/a/b", "target", false),
        ];
        for (pattern, folder, expected) in cases {
            let may = rules(&[pattern]).0[0].may_match_below(Path::new(folder));
            assert_eq!(may, expected, "{pattern} in {folder}");
        }
    }
}
