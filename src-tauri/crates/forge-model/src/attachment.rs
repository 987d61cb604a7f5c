//! Files that a person gives an agent along with a message.
//!
//! A file is kept by Forge beside the task, never in the worktree: what is given is no change of the work. The agent is
//! told where it lies. Until its message is said it is a draft that outlives the window.

use crate::{
    contract,
    ids::{AttachmentId, TaskId},
    time::Timestamp,
};

/// The largest file, in bytes.
pub const MAX_ATTACHMENT_BYTES: u32 = 10 * 1024 * 1024;

/// How many files wait with a task for their message, at most.
pub const MAX_WAITING_ATTACHMENTS: usize = 10;

/// The longest name, in bytes.
const MAX_NAME: usize = 200;

contract! {
    /// A file for an agent.
    #[derive(Eq)]
    pub struct Attachment {
        /// Identity.
        pub id: AttachmentId,
        /// The task.
        pub task_id: TaskId,
        /// The file's name.
        pub name: String,
        /// Its size.
        pub bytes: u32,
        /// When it was added.
        pub added_at: Timestamp,
        /// When it was sent with a message; null until then.
        pub sent_at: Option<Timestamp>,
    }

    /// A file as an agent is told it.
    #[derive(Eq)]
    pub struct AttachedFile {
        /// Its name.
        pub name: String,
        /// Where it lies.
        pub path: String,
        /// Its size.
        pub bytes: u32,
    }
}

/// The name of a file as it is kept: the last part of what was given.
///
/// # Errors
/// In words, when nothing of it can be a file's name.
pub fn attachment_name(given: &str) -> Result<String, &'static str> {
    let name = given.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if name.is_empty() || name == "." || name == ".." {
        return Err("must be a file name");
    }
    if name.chars().any(char::is_control) {
        return Err("must have no control characters");
    }
    if name.len() > MAX_NAME {
        return Err("must be at most 200 bytes long");
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_file_in_one_folder() {
        for (given, kept) in [
            ("log.txt", Some("log.txt")),
            (" screen shot.png ", Some("screen shot.png")),
            ("/etc/passwd", Some("passwd")),
            ("..\\..\\boot.ini", Some("boot.ini")),
            ("../..", None),
            ("a/", None),
            ("", None),
            ("two\nlines", None),
        ] {
            assert_eq!(attachment_name(given).ok().as_deref(), kept, "{given:?}");
        }
        assert!(attachment_name(&"x".repeat(201)).is_err());
    }
}
