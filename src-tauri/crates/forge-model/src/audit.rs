//! What an auditor decided about a piece of work. How it is read from what the auditor said is in `forge-reading`.

use crate::{contract, names};

/// The highest score.
pub const MAX_SCORE: u8 = 100;

names! {
    /// A reviewer's decision.
    pub enum AuditVerdict {
        /// The work is good.
        Pass = "pass",
        /// It needs changes.
        Fail = "fail",
    }
}

names! {
    /// Severity of a finding.
    pub enum Severity {
        /// The work must be changed.
        Error = "error",
        /// The work should be improved.
        Warning = "warning",
        /// For information.
        Info = "info",
    }
}

contract! {
    /// A reviewer's finding at a place in the diff.
    pub struct AuditFinding {
        /// The file, from the root of the repository.
        pub file: String,
        /// The line in the new version, from 1; null for the whole file.
        pub line: Option<u32>,
        /// Its severity.
        pub severity: Severity,
        /// What.
        pub text: String,
    }

    /// Content of a reviewer's text.
    #[derive(Default)]
    pub struct Audit {
        /// Its decision; null if it gave none.
        pub verdict: Option<AuditVerdict>,
        /// Why, in its words.
        pub reason: Option<String>,
        /// 0 to 100.
        pub score: Option<u8>,
        /// Its result.
        pub findings: Vec<AuditFinding>,
    }
}
