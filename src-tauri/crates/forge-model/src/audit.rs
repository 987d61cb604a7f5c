//! What an auditor decided about a piece of work. How it is read from what the auditor said is in `forge-reading`.

use crate::{contract, names};

/// The highest score.
pub const MAX_SCORE: u8 = 100;

names! {
    /// What an auditor decided.
    pub enum AuditVerdict {
        /// The work is good.
        Pass = "pass",
        /// It needs changes.
        Fail = "fail",
    }
}

names! {
    /// How much a finding matters.
    pub enum Severity {
        /// The work cannot stay like this.
        Error = "error",
        /// It should be better.
        Warning = "warning",
        /// Something to know.
        Info = "info",
    }
}

contract! {
    /// Something an auditor found at a place of the diff.
    pub struct AuditFinding {
        /// The file, from the root of the repository.
        pub file: String,
        /// The line in the new version, from 1; null for the file as a whole.
        pub line: Option<u32>,
        /// How much it matters.
        pub severity: Severity,
        /// What.
        pub text: String,
    }

    /// What an auditor's text says.
    #[derive(Default)]
    pub struct Audit {
        /// Its decision; null when it gave none.
        pub verdict: Option<AuditVerdict>,
        /// Why, in its words.
        pub reason: Option<String>,
        /// 0 to 100.
        pub score: Option<u8>,
        /// What it found.
        pub findings: Vec<AuditFinding>,
    }
}
