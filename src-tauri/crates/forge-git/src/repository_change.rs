//! How the files that say which programs git runs differ from what was accepted.

/// How the files differ from what was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryChange {
    /// Names the state that is shown: accepting it accepts nothing else.
    pub digest: String,
    /// The differences, by path.
    pub files: Vec<ChangedFile>,
}

impl std::fmt::Display for RepositoryChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        f.write_str(&paths.join(", "))
    }
}

/// One file that is not as accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// As in [`crate::FingerprintFile`].
    pub path: String,
    /// Lines that went and came, as in a patch without its head.
    pub diff: String,
}
