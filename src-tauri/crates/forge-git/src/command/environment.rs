//! Variables and options that every git command gets.

/// Variables that would lead git to another repository, index or object store, or change what paths mean.
/// They are set when Forge is started from a hook or an alias. The user's own configuration by environment
/// (`GIT_CONFIG_COUNT`, `GIT_CONFIG_GLOBAL`, identities, SSH) stays.
///
/// Whoever starts a program that may call git in a worktree keeps them from it, too.
pub const REPOSITORY_VARIABLES: [&str; 21] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_ATTR_SOURCE",
];

/// The program that is asked for passwords and passphrases: it answers nothing and fails.
const REFUSING_HELPER: &str = "false";

/// Keeps git and whatever it starts from asking anybody: nobody sits at a terminal, and a question would hang
/// until the time limit. And has it say what libgit2 says.
pub(super) const SILENCE: [(&str, &str); 10] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    // Empty, so that `core.askPass` is not used either.
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", REFUSING_HELPER),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_PAGER", "cat"),
    // Whoever can write refs could have other objects shown than those that are merged; libgit2 knows no replacements.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// Variables that name a terminal or a display on which a passphrase could be asked for.
pub(super) const SCREENS: [&str; 3] = ["GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY"];

/// Options every command gets.
pub(super) const COMMON_OPTIONS: [&str; 7] = [
    // The file system monitor would start a daemon per worktree that outlives the command.
    "core.fsmonitor=false",
    // Background maintenance would hold locks and files in worktrees that are about to be removed.
    "gc.auto=0",
    "maintenance.auto=false",
    // Commands in a submodule would run the filters and hooks that its own configuration names.
    "submodule.recurse=false",
    // "always" would put colour codes into output that is read by a program.
    "color.ui=false",
    // Another git of the user may hold a ref for a moment; the default of 100 ms gives up too early.
    "core.filesRefLockTimeout=3000",
    "core.packedRefsTimeout=5000",
];
