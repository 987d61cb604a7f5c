//! A failing test, as a runner reports it.

/// How many lines of one failure are looked at.
pub(super) const MESSAGE_LINES: usize = 8;

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Failure {
    /// Its name, with its file where runners say it.
    pub(super) what: String,
    /// What it says; may be empty.
    pub(super) why: String,
}

impl Failure {
    pub(super) fn new<'l>(what: &str, why: impl IntoIterator<Item = &'l str>) -> Self {
        let lines = why.into_iter().map(str::trim).filter(|line| !line.is_empty());
        let why: Vec<&str> = lines.take(MESSAGE_LINES).collect();
        Self { what: what.trim().to_owned(), why: why.join(" ") }
    }

    pub(super) fn into_diagnosis(self) -> String {
        if self.why.is_empty() { self.what } else { format!("{}: {}", self.what, self.why) }
    }
}
