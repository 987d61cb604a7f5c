//! A startup file: a file that runs code as soon as a program starts in its folder.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// A startup file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupFile {
    /// From the repository's root.
    pub path: String,
    /// The hash of its content, in hex.
    pub sha256: String,
    /// Its content; for a link, its target's name and what it leads to.
    pub content: Vec<u8>,
}

impl StartupFile {
    pub(crate) fn new(path: String, content: Vec<u8>) -> Self {
        let sha256 = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { path, sha256, content }
    }

    /// Whether it is the other with lines that end as on another system: what a checkout makes of them.
    #[must_use]
    pub fn is_same_text(&self, other: &Self) -> bool {
        let plain = |content: &[u8]| -> Vec<u8> {
            let lines = content.split_inclusive(|byte| *byte == b'\n');
            let ended = lines.map(|line| match line.strip_suffix(b"\r\n") {
                Some(text) => [text, b"\n"].concat(),
                None => line.to_owned(),
            });
            ended.flatten().collect()
        };
        self.path == other.path && plain(&self.content) == plain(&other.content)
    }
}

/// The startup files of commits: a commit does not change.
pub(crate) type StartupMemory = HashMap<String, Arc<Vec<StartupFile>>>;
