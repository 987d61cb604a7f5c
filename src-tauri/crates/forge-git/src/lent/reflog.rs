//! The log of `HEAD` that programs left: it alone leads to commits that were amended or reset away.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

use super::files;
use crate::bytes;
use crate::error::GitError;

const CAP: u64 = 16 << 20;
const HEAD_LOG: &str = "logs/HEAD";

/// The well-formed lines of a log below the folder `logs` of a git directory.
pub(super) fn read(git_dir: &Path, name: &str) -> Result<Vec<u8>, GitError> {
    let Some(top) = files::top(git_dir)? else { return Ok(Vec::new()) };
    let mut folder = files::folder(&top, "logs");
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        let Some(dir) = folder else { break };
        if parts.peek().is_some() {
            folder = files::folder(&dir, part);
            continue;
        }
        let log = files::read(&dir, part, CAP).map_err(GitError::io("read the log of", git_dir))?;
        let log = log.unwrap_or_default();
        let lines = log.split_inclusive(|byte| *byte == b'\n').filter(|line| is_whole(line));
        return Ok(lines.collect::<Vec<_>>().concat());
    }
    Ok(Vec::new())
}

/// `<before> <after> <who> <<address>> <seconds> <zone>\t<why>`.
fn is_whole(line: &[u8]) -> bool {
    let Some(line) = line.strip_suffix(b"\n") else { return false };
    let text = String::from_utf8_lossy(line);
    let name = |word: Option<&str>| {
        word.is_some_and(|word| {
            matches!(word.len(), 40 | 64) && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
    };
    let mut words = text.splitn(3, ' ');
    let (before, after) = (words.next(), words.next());
    let rest = words.next().unwrap_or_default();
    let who = rest.split('\t').next().unwrap_or_default();
    let mut when = who.rsplitn(3, ' ');
    let (zone, seconds) = (when.next().unwrap_or_default(), when.next().unwrap_or_default());
    name(before)
        && name(after)
        && when.next().is_some_and(|who| who.ends_with('>') && who.contains('<'))
        && seconds.parse::<u64>().is_ok()
        && matches!(zone.as_bytes(), [b'+' | b'-', digits @ ..] if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit))
        && !line.iter().any(|byte| matches!(byte, 0 | b'\r'))
}

/// The objects that a log names, the last first, each once.
pub(super) fn oids(log: &[u8]) -> Vec<String> {
    let mut oids: Vec<String> = Vec::new();
    for line in log.split(|byte| *byte == b'\n').rev() {
        let text = bytes::text(line);
        for word in text.split(' ').take(2).filter(|word| files::is_oid(word)) {
            if !oids.iter().any(|known| known == word) {
                oids.push(word.to_owned());
            }
        }
    }
    oids
}

/// What a log says its ref was set to, the oldest first.
pub(super) fn oids_after(log: &[u8]) -> Vec<String> {
    let lines = log.split(|byte| *byte == b'\n').map(bytes::text);
    lines
        .filter_map(|line| line.split(' ').nth(1).filter(|word| files::is_oid(word)).map(str::to_owned))
        .collect()
}

/// The lines of a log whose objects are all among these, or are none.
pub(super) fn of_known(log: &[u8], known: &HashSet<String>) -> Vec<u8> {
    let is_known = |word: &str| known.contains(word) || word.bytes().all(|byte| byte == b'0');
    let lines = log
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| bytes::text(line).split(' ').take(2).all(is_known));
    lines.collect::<Vec<_>>().concat()
}

/// Appends the lines of a log to that of a worktree that it lacks.
pub(super) fn append(git_dir: &Path, log: &[u8]) -> Result<(), GitError> {
    let path = git_dir.join(HEAD_LOG);
    let known = std::fs::read(&path).unwrap_or_default();
    let known: HashSet<&[u8]> = known.split_inclusive(|byte| *byte == b'\n').collect();
    let lines = log.split_inclusive(|byte| *byte == b'\n').filter(|line| !known.contains(line));
    let new = lines.collect::<Vec<_>>().concat();
    if new.is_empty() {
        return Ok(());
    }
    let folder = git_dir.join("logs");
    std::fs::create_dir_all(&folder).map_err(GitError::io("create", folder))?;
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(&new))
        .map_err(GitError::io("write", path))
}
