//! The change log, and what makes a release of its newest part.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    program::{output, program, run},
    ui,
    workspace::Workspace,
};

/// Where it is. Its newest part stands first; `## Unreleased` holds what no release has yet.
const FILE: &str = "src-tauri/docs/CHANGELOG.md";

/// The heading of what no release has yet.
const UNRELEASED: &str = "## Unreleased";

/// The files that say the version, beside those of npm. Cargo and the window's bundle must agree.
const VERSIONED: [(&str, &str); 2] =
    [("Cargo.toml", "version = \"{}\""), ("tauri.conf.json", "\"version\": \"{}\"")];

/// One release, as its heading says: `## 1.2.3 - 2026-01-31`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Three numbers.
    pub version: String,
    /// Year, month and day.
    pub date: String,
}

/// The releases, newest first.
pub fn read(workspace: &Workspace) -> Result<Vec<Release>> {
    let text =
        fs::read_to_string(workspace.root.join(FILE)).with_context(|| format!("failed to read {FILE}"))?;
    releases(&text)
}

/// Makes a release: names the version in every file that says it, dates the newest part of the change log, commits and
/// tags. Nothing is sent anywhere.
pub fn release(workspace: &Workspace, version: &str) -> Result<()> {
    let root = &workspace.root;
    ensure!(numbers(version).is_some(), "`{version}` is no version: give three numbers, as in 1.2.3");
    let changed = output(&mut program("git", ["status", "--porcelain"], root))?;
    ensure!(changed.is_empty(), "there are changes that are not committed:\n{changed}");
    let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("failed to read {FILE}"))?;
    let today = output(&mut program("date", ["--utc", "+%Y-%m-%d"], root))?;
    let old = workspace.version()?;
    let next = released(&text, &Release { version: version.to_owned(), date: today.trim().to_owned() })?;
    for (file, line) in VERSIONED {
        let path = root.join(file);
        let text = fs::read_to_string(&path)?;
        let (is, becomes) = (line.replace("{}", old), line.replace("{}", version));
        ensure!(text.matches(&is).count() == 1, "{file} does not say `{is}` once");
        fs::write(&path, text.replace(&is, &becomes))?;
    }
    fs::write(root.join(FILE), next)?;
    ui::npm(&workspace.ui(), ["version", version, "--no-git-tag-version"])?;
    // Names the new version of our own packages in the lock files.
    for manifest in ["Cargo.toml", "src-tauri/fuzz/Cargo.toml"] {
        run(&mut program("cargo", ["update", "--workspace", "--manifest-path", manifest], root))?;
    }
    run(&mut program("git", ["commit", "--all", "--message", &format!("Forge {version}")], root))?;
    let tag = format!("v{version}");
    run(&mut program("git", ["tag", "--annotate", "--message", &format!("Forge {version}"), &tag], root))?;
    eprintln!(
        "Tagged {tag}. `cargo xtask package` builds its packages; push the commit and the tag when they are good."
    );
    Ok(())
}

/// The change log with its unreleased part as a release.
fn released(text: &str, release: &Release) -> Result<String> {
    let (before, rest) = text
        .split_once(&format!("{UNRELEASED}\n"))
        .with_context(|| format!("{FILE} has no `{UNRELEASED}`"))?;
    let own = rest.split("\n## ").next().unwrap_or_default();
    ensure!(!own.trim().is_empty(), "{FILE} says nothing under `{UNRELEASED}`: write what changed for users");
    let newest = releases(text)?.into_iter().next();
    if let Some(newest) = newest
        && numbers(&newest.version) >= numbers(&release.version)
    {
        bail!("{} is not newer than the last release, {}", release.version, newest.version);
    }
    Ok(format!("{before}{UNRELEASED}\n\n## {} - {}\n{rest}", release.version, release.date))
}

/// The releases of a change log, newest first.
fn releases(text: &str) -> Result<Vec<Release>> {
    let headings = text.lines().filter(|line| line.starts_with("## ") && *line != UNRELEASED);
    let read = headings.map(|line| {
        let parts = line.trim_start_matches("## ").split_once(" - ");
        let (version, date) =
            parts.with_context(|| format!("{FILE}: `{line}` is not `## VERSION - DATE`"))?;
        let is_date = date.len() == 10 && date.split('-').map(str::len).eq([4, 2, 2]);
        ensure!(numbers(version).is_some() && is_date, "{FILE}: `{line}` is not `## 1.2.3 - 2026-01-31`");
        Ok(Release { version: version.to_owned(), date: date.to_owned() })
    });
    read.collect()
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let parts: Option<Vec<u32>> = version.split('.').map(|part| part.parse().ok()).collect();
    parts?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# Changes\n\n## Unreleased\n\n- Terminals.\n\n## 0.1.0 - 2026-11-20\n\n- All of it.\n";

    #[test]
    fn unreleased_part_becomes_the_newest_release() {
        let next = Release { version: "0.2.0".to_owned(), date: "2026-12-01".to_owned() };
        let text = released(LOG, &next).unwrap();
        assert!(
            text.contains("## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- Terminals.\n\n## 0.1.0"),
            "{text}"
        );
        assert_eq!(releases(&text).unwrap()[0], next);
    }

    #[test]
    fn release_must_say_something_and_be_newer() {
        let of = |version: &str| Release { version: version.to_owned(), date: "2026-12-01".to_owned() };
        assert!(released(LOG, &of("0.1.0")).unwrap_err().to_string().contains("not newer"));
        let empty = LOG.replace("- Terminals.\n\n", "");
        assert!(released(&empty, &of("0.2.0")).unwrap_err().to_string().contains("says nothing"));
        assert!(releases("## 0.1 - yesterday\n").is_err());
    }
}
