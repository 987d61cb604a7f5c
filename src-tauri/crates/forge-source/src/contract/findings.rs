//! What was found out about two files.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What was found out about two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All that the importer takes is there.
    Pass,
    /// An imported name is not exported.
    Fail,
    /// It cannot be known from the texts.
    Unknown,
}

/// The names on both sides, and what they say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// The verdict.
    pub result: Outcome,
    /// What the exporter offers, as far as it is known; sorted.
    pub exported: Vec<String>,
    /// What the importer takes from it; sorted.
    pub imported: Vec<String>,
    /// What of it is not there; sorted.
    pub missing: Vec<String>,
    /// Why the verdict is not a pass.
    pub reason: Option<String>,
}

impl Contract {
    pub(super) fn unknown(reason: String) -> Self {
        Findings::default().nothing(reason)
    }
}

/// What a language's reader collects.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) exported: BTreeSet<String>,
    pub(super) imported: BTreeSet<String>,
    /// With what is wrong, which completes the name: "is not exported".
    pub(super) missing: BTreeMap<String, String>,
    /// Why something cannot be known.
    pub(super) doubts: Vec<String>,
}

impl Findings {
    /// There is nothing to judge.
    pub(super) fn nothing(self, reason: String) -> Contract {
        self.contract(Outcome::Unknown, Some(reason))
    }

    pub(super) fn verdict(self, importer: &str, exporter: &str) -> Contract {
        if !self.missing.is_empty() {
            let what: Vec<String> =
                self.missing.iter().map(|(name, wrong)| format!("{name} {wrong}")).collect();
            let reason =
                format!("{importer} imports names that {exporter} does not provide: {}", what.join(", "));
            return self.contract(Outcome::Fail, Some(reason));
        }
        match self.doubts.first().cloned() {
            Some(doubt) => self.contract(Outcome::Unknown, Some(doubt)),
            None => self.contract(Outcome::Pass, None),
        }
    }

    pub(super) fn contract(self, result: Outcome, reason: Option<String>) -> Contract {
        Contract {
            result,
            exported: self.exported.into_iter().collect(),
            imported: self.imported.into_iter().collect(),
            missing: self.missing.into_keys().collect(),
            reason,
        }
    }
}
