//! git: worktrees, merges, diffs and guards, by the git program and libgit2.
