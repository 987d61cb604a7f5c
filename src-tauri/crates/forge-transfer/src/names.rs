//! Which files of a git directory travel.

/// Files of an unfinished operation, right in the git directory or in its folder `info`.
pub const STATE_FILES: [&str; 25] = [
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_FIRST_PARENT",
    "BISECT_HEAD",
    "BISECT_RUN",
    "NOTES_MERGE_REF",
    "NOTES_MERGE_PARTIAL",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "info/sparse-checkout",
];

/// Folders right in the git directory whose files are all of an unfinished operation.
pub const STATE_FOLDERS: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];

/// Further files that travel beside the state, the refs and the index.
pub(crate) const OTHER_FILES: [&str; 6] =
    ["HEAD", "shallow", "info/exclude", "info/attributes", "logs/HEAD", "logs/refs/stash"];

/// Files that a program that was killed leaves, and that keep others from working.
pub(crate) const LOCKS: [&str; 7] = [
    "index.lock",
    "HEAD.lock",
    "ORIG_HEAD.lock",
    "packed-refs.lock",
    "packed-refs.new",
    "shallow.lock",
    "config.lock",
];

/// Whether a file in one of [`STATE_FOLDERS`] has a name as git gives it.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    name.len() <= 128
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

/// Whether a word is the full name of an object.
#[must_use]
pub fn is_oid(word: &str) -> bool {
    matches!(word.len(), 40 | 64)
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|byte| byte != b'0')
}

/// Whether a file below `refs` can be a ref. Names are bytes.
pub(crate) fn is_ref(name: &[u8]) -> bool {
    name.starts_with(b"refs/")
        && name.len() <= 1024
        && name.split(|byte| *byte == b'/').all(|part| {
            !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock") && !part.contains(&0)
        })
}

/// Whether a name is that of the index that a split index adds to.
pub(crate) fn is_shared_index(name: &str) -> bool {
    name.strip_prefix("sharedindex.").is_some_and(is_oid)
}

/// Whether a file with this path in a git directory travels among the small ones.
pub(crate) fn is_known(path: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(path) else { return is_ref(path) };
    if STATE_FILES.contains(&text) || OTHER_FILES.contains(&text) || is_ref(path) {
        return true;
    }
    let folder = text.split_once('/').filter(|(folder, _)| STATE_FOLDERS.contains(folder));
    folder.is_some_and(|(_, file)| is_plain(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_those_of_refs_state_and_logs_only() {
        for known in
            ["HEAD", "refs/heads/a", "refs/bisect/bad", "rebase-merge/done", "logs/HEAD", "MERGE_HEAD"]
        {
            assert!(is_known(known.as_bytes()), "{known}");
        }
        let unknown = [
            "config",
            "hooks/pre-commit",
            "objects/info/alternates",
            "refs/../config",
            "refs/heads/.git",
            "refs/heads/a.lock",
            "refs//a",
            "rebase-merge/../config",
            "rebase-merge/a/b",
            "index",
            "commondir",
            "../HEAD",
            "/HEAD",
        ];
        for unknown in unknown {
            assert!(!is_known(unknown.as_bytes()), "{unknown}");
        }
        assert!(is_known(b"refs/heads/\xff"));
    }
}
