//! A secret by its name and value.

/// A secret's value and the name that stands in its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret {
    /// The name of the variable or of the token.
    pub name: String,
    /// What must not be shown.
    pub value: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}
