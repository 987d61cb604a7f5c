//! The patch of one file, read from an agent's answer.
//!
//! [`read_patch`] takes nothing but changes of lines in one file that exists; what stands in a stored patch is written
//! anew from what was understood.

use std::fmt::Write as _;

use crate::fence::fence_mark;

/// The largest answer that is looked through, in bytes.
pub const MAX_ANSWER_BYTES: usize = 512 * 1024;

/// A patch as it was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The file.
    pub path: String,
    /// How many lines it adds.
    pub added: u32,
    /// How many lines it removes.
    pub removed: u32,
    /// The patch, for git.
    pub text: String,
}

/// Why an answer is no patch that may be proposed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchRefusal {
    /// There is no diff in it.
    #[error("the answer contains no unified diff")]
    NoPatch,
    /// It is not clear which one is meant.
    #[error("the answer contains more than one patch")]
    SeveralPatches,
    /// It changes more than one file.
    #[error("the patch changes more than one file")]
    SeveralFiles,
    /// It is more than a change of lines.
    #[error("the patch does more than change lines: {0}")]
    MoreThanLines(String),
    /// It leads elsewhere.
    #[error("the patch changes `{0}`, which is not a file in the worktree")]
    Outside(String),
    /// It changes another file than the failing one.
    #[error("the patch changes {path}, not {wanted}")]
    OtherFile {
        /// What it changes.
        path: String,
        /// What it was to change.
        wanted: String,
    },
    /// It is too large.
    #[error("the patch changes {changed} lines; at most {allowed} are allowed")]
    TooLarge {
        /// How many lines it changes.
        changed: u32,
        /// How many it may.
        allowed: u32,
    },
    /// It changes no line.
    #[error("the patch changes nothing")]
    ChangesNothing,
    /// It is not well-formed.
    #[error("line {line} of the patch is not part of a unified diff")]
    Malformed {
        /// Which, from 1.
        line: usize,
    },
}

/// Reads the patch of an agent's answer, fenced or bare. It must change `wanted` and no more than `max_lines` lines.
///
/// # Errors
/// Why it is none that may be proposed.
pub fn read_patch(answer: &str, wanted: &str, max_lines: u32) -> Result<Patch, PatchRefusal> {
    let patch = parse(&diff_in(answer)?)?;
    let changed = patch.added + patch.removed;
    if patch.path != wanted {
        return Err(PatchRefusal::OtherFile { path: patch.path, wanted: wanted.to_owned() });
    }
    if changed > max_lines {
        return Err(PatchRefusal::TooLarge { changed, allowed: max_lines });
    }
    Ok(patch)
}

/// The lines of the one diff in an answer.
fn diff_in(answer: &str) -> Result<Vec<&str>, PatchRefusal> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut open: Option<(char, usize, Vec<&str>)> = None;
    let mut bare: Vec<&str> = Vec::new();
    for line in answer.split('\n') {
        // A diff's own lines begin with a sign, so no fence is among them.
        let mark = fence_mark(line).filter(|_| !line.starts_with(' '));
        open = match (open, mark) {
            (None, Some((c, length, _))) => Some((c, length, Vec::new())),
            (Some((c, length, block)), Some((d, long, true))) if c == d && long >= length => {
                blocks.push(block);
                None
            }
            (Some((c, length, mut block)), _) => {
                block.push(line);
                Some((c, length, block))
            }
            (None, None) => {
                bare.push(line);
                None
            }
        };
    }
    // An answer that was cut short still says what it says.
    blocks.extend(open.map(|(.., block)| block));
    let mut patches = blocks.into_iter().filter(|block| header_at(block).is_some());
    let found = match (patches.next(), patches.next()) {
        (Some(only), None) => only,
        (Some(_), Some(_)) => return Err(PatchRefusal::SeveralPatches),
        (None, _) => bare,
    };
    let start = header_at(&found).ok_or(PatchRefusal::NoPatch)?;
    let end = found.iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0) + 1;
    Ok(found.get(start..end).unwrap_or_default().to_vec())
}

/// Where the first file's header begins.
fn header_at(lines: &[&str]) -> Option<usize> {
    let names = |at: usize| is_header(lines, at);
    (0..lines.len()).find(|at| lines[*at].starts_with("diff --git ") || names(*at))
}

/// Whether the two lines that name a file stand here.
fn is_header(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ "))
}

#[derive(Default)]
struct Hunk<'t> {
    start: u32,
    /// Each line with its sign; none for an empty one whose sign was lost.
    lines: Vec<(Option<char>, &'t str)>,
}

impl Hunk<'_> {
    fn count(&self, signs: [char; 2]) -> usize {
        self.lines.iter().filter(|(sign, _)| signs.contains(&sign.unwrap_or(' '))).count()
    }
}

fn parse(lines: &[&str]) -> Result<Patch, PatchRefusal> {
    let mut path: Option<String> = None;
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with("diff --git ") || is_header(lines, at) {
            if path.is_some() {
                return Err(PatchRefusal::SeveralFiles);
            }
            at = header(lines, at)?;
            path = Some(named(lines[at - 2], lines[at - 1])?);
        } else if let Some(head) = hunk_head(line) {
            let (hunk, after) = hunk(lines, at + 1, head)?;
            hunks.push(hunk);
            at = after;
        } else if line.trim().is_empty() {
            at += 1;
        } else if hunks.is_empty() {
            return Err(PatchRefusal::Malformed { line: at + 1 });
        } else {
            // Words after a bare patch.
            break;
        }
    }
    let path = path.ok_or(PatchRefusal::NoPatch)?;
    let count = |sign| hunks.iter().map(|hunk| hunk.count([sign, sign])).sum::<usize>();
    let [added, removed] = ['+', '-'].map(|sign| u32::try_from(count(sign)).unwrap_or(u32::MAX));
    if added == 0 && removed == 0 {
        return Err(PatchRefusal::ChangesNothing);
    }
    Ok(Patch { text: written(&path, &hunks), path, added, removed })
}

/// Goes over a file's header; the place after the lines that name it.
fn header(lines: &[&str], mut at: usize) -> Result<usize, PatchRefusal> {
    while !is_header(lines, at) {
        let line = lines[at].trim_end();
        let is_plain = line.starts_with("diff --git ") || line.starts_with("index ");
        if !is_plain {
            return Err(PatchRefusal::MoreThanLines(line.chars().take(80).collect()));
        }
        at += 1;
        if at >= lines.len() {
            return Err(PatchRefusal::NoPatch);
        }
    }
    Ok(at + 2)
}

/// The file that both lines of a header name.
fn named(old: &str, new: &str) -> Result<String, PatchRefusal> {
    let name = |line: &str, side: &str| {
        let name = line.get(4..).unwrap_or_default();
        let name = name.split('\t').next().unwrap_or_default().trim_end();
        (name.to_owned(), name.strip_prefix(side).unwrap_or(name).to_owned())
    };
    let ((raw_old, old), (raw_new, new)) = (name(old, "a/"), name(new, "b/"));
    if raw_old == "/dev/null" || raw_new == "/dev/null" {
        return Err(PatchRefusal::MoreThanLines("it creates or deletes a file".to_owned()));
    }
    if old != new {
        return Err(PatchRefusal::MoreThanLines(format!("{old} becomes {new}")));
    }
    let odd = new.contains(['"', '\\', '\0']) || new.starts_with('/') || new.is_empty();
    let leads_out =
        new.split('/').any(|part| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git"));
    if odd || leads_out {
        return Err(PatchRefusal::Outside(new));
    }
    Ok(new)
}

/// The first old line of a hunk and how many there are, from its head.
fn hunk_head(line: &str) -> Option<(u32, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(' ')?;
    (rest.starts_with('+') && rest.contains(" @@")).then_some(())?;
    let (start, count) = old.split_once(',').unwrap_or((old, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// The lines of a hunk and the place after it. What its head says of its length is counted again: that is what models
/// get wrong.
fn hunk<'t>(
    lines: &[&'t str],
    mut at: usize,
    (start, said): (u32, usize),
) -> Result<(Hunk<'t>, usize), PatchRefusal> {
    let mut hunk = Hunk { start, lines: Vec::new() };
    while let Some(line) = lines.get(at) {
        let next_file = is_header(lines, at) && lines.get(at + 2).is_some_and(|it| it.starts_with("@@ -"));
        if line.starts_with("diff --git ") || hunk_head(line).is_some() || next_file {
            break;
        }
        match line.chars().next() {
            Some(sign @ (' ' | '+' | '-' | '\\')) => hunk.lines.push((Some(sign), &line[1..])),
            None | Some('\r') => hunk.lines.push((None, line)),
            // Words after a bare patch.
            Some(_) if hunk.lines.last().is_some_and(|(sign, _)| sign.is_none()) => break,
            Some(_) => return Err(PatchRefusal::Malformed { line: at + 1 }),
        }
        at += 1;
    }
    // Empty lines may be the answer's own.
    while hunk.lines.last().is_some_and(|(sign, _)| sign.is_none()) && hunk.count([' ', '-']) > said {
        hunk.lines.pop();
    }
    Ok((hunk, at))
}

fn written(path: &str, hunks: &[Hunk<'_>]) -> String {
    // A name with a blank ends with a tab, so that it is not cut there.
    let end = if path.contains(' ') { "\t" } else { "" };
    let mut text = format!("diff --git a/{path} b/{path}\n--- a/{path}{end}\n+++ b/{path}{end}\n");
    let mut shift: i64 = 0;
    for hunk in hunks {
        let (old, new) = (hunk.count([' ', '-']), hunk.count([' ', '+']));
        let new_start = i64::from(hunk.start).saturating_add(shift).max(0);
        let _ = writeln!(text, "@@ -{},{old} +{new_start},{new} @@", hunk.start);
        for (sign, line) in &hunk.lines {
            let _ = writeln!(text, "{}{line}", sign.unwrap_or(' '));
        }
        shift += i64::try_from(new).unwrap_or(0) - i64::try_from(old).unwrap_or(0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

    fn patch(answer: &str) -> Result<Patch, PatchRefusal> {
        read_patch(answer, "src/a.rs", 10)
    }

    #[test]
    fn the_same_patch_however_it_is_said() {
        let expected = format!("diff --git a/src/a.rs b/src/a.rs\n{PLAIN}");
        let ways = [
            PLAIN.to_owned(),
            format!("Here it is:\n\n```diff\n{PLAIN}```\nThat should do."),
            format!("~~~~\n{PLAIN}~~~~"),
            format!("diff --git a/src/a.rs b/src/a.rs\nindex 123..456 100644\n{PLAIN}"),
            PLAIN
                .replace("a/", "")
                .replace("b/", "")
                .replace("--- src", "--- a/src")
                .replace("+++ src", "+++ b/src"),
            PLAIN.replace("-1,3 +1,3", "-1,9 +1,1"),
            PLAIN.replace("-1,3 +1,3 @@", "-1 +1 @@ fn main"),
            format!("```\nlet x = 1;\n```\n```diff\n{PLAIN}\n\n```"),
            format!("{PLAIN}\nThat is all."),
            format!("```diff\n{PLAIN}"),
        ];
        for answer in ways {
            let found = patch(&answer).unwrap_or_else(|e| panic!("{e}: {answer}"));
            assert_eq!((found.text.as_str(), found.added, found.removed), (&*expected, 1, 1), "{answer}");
        }
    }

    #[test]
    fn several_places_and_lost_blanks() {
        let answer = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,3 @@\n a\n+b\n\n@@ -10,2 +11,1 @@\n x\n--- y\n\\ No newline at end of file\n";
        let found = patch(answer).unwrap();
        assert_eq!((found.added, found.removed), (1, 1));
        assert!(
            found.text.ends_with(
                "@@ -1,2 +1,3 @@\n a\n+b\n \n@@ -10,2 +11,1 @@\n x\n--- y\n\\ No newline at end of file\n"
            ),
            "{}",
            found.text
        );
    }

    #[test]
    fn what_is_no_small_patch_of_the_file_is_refused() {
        use PatchRefusal as R;
        let other = |old: &str, new: &str| PLAIN.replace("a/src/a.rs", old).replace("b/src/a.rs", new);
        let cases = [
            ("I cannot do this.".to_owned(), R::NoPatch),
            (format!("```diff\n{PLAIN}```\n```diff\n{PLAIN}```"), R::SeveralPatches),
            (format!("{PLAIN}{}", other("a/b", "b/b")), R::SeveralFiles),
            (other("a/../x", "b/../x"), R::Outside("../x".to_owned())),
            (other("/etc/passwd", "/etc/passwd"), R::Outside("/etc/passwd".to_owned())),
            (other("a/.git/config", "b/.git/config"), R::Outside(".git/config".to_owned())),
            (other("a/x", "b/x"), R::OtherFile { path: "x".to_owned(), wanted: "src/a.rs".to_owned() }),
            (other("/dev/null", "b/src/a.rs"), R::MoreThanLines("it creates or deletes a file".to_owned())),
            (other("a/x", "b/src/a.rs"), R::MoreThanLines("x becomes src/a.rs".to_owned())),
            (
                format!("diff --git a/src/a.rs b/src/a.rs\nold mode 100644\nnew mode 100755\n{PLAIN}"),
                R::MoreThanLines("old mode 100644".to_owned()),
            ),
            (
                "diff --git a/x b/src/a.rs\nsimilarity index 100%\nrename from x\nrename to src/a.rs\n"
                    .to_owned(),
                R::MoreThanLines("similarity index 100%".to_owned()),
            ),
            (
                "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\n".to_owned(),
                R::MoreThanLines("GIT binary patch".to_owned()),
            ),
            (PLAIN.replace("-two\n+2\n", " two\n"), R::ChangesNothing),
            (PLAIN.replace("+2\n", &"+2\n".repeat(10)), R::TooLarge { changed: 11, allowed: 10 }),
            (PLAIN.replace("-two", "two"), R::Malformed { line: 5 }),
        ];
        for (answer, why) in cases {
            assert_eq!(patch(&answer), Err(why), "{answer}");
        }
    }
}
