//! Whether one file exports the names that another takes from it.
//!
//! Both files are parsed, and what stands between them is followed through other files of the folder. A verdict
//! of `pass` means that every name was found; what cannot be known from the texts is `unknown` with its reason.

mod bindings;
mod commonjs;
mod es;
mod exports;
mod module;
mod natures;
mod python;
mod python_builtins;
mod python_module;
mod python_reader;
mod python_tree;
mod python_uses;
mod resolve;
mod runs;
mod rust;
mod rust_attributes;
mod rust_crate;
mod rust_items;
mod scripts;
mod tsconfig;
mod uses;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    Files, Language,
    bounds::{MAX_BYTES, on_large_stack},
    files,
};

/// What was found out about two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All that the importer takes is there.
    Pass,
    /// Something is not.
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
    fn unknown(reason: String) -> Self {
        Findings::default().nothing(reason)
    }
}

/// What a language's reader collects.
#[derive(Debug, Default)]
struct Findings {
    exported: BTreeSet<String>,
    imported: BTreeSet<String>,
    /// With what is wrong, which completes the name: "is not exported".
    missing: BTreeMap<String, String>,
    /// Why something cannot be known.
    doubts: Vec<String>,
}

impl Findings {
    /// There is nothing to judge.
    fn nothing(self, reason: String) -> Contract {
        self.contract(Outcome::Unknown, Some(reason))
    }

    fn verdict(self, importer: &str, exporter: &str) -> Contract {
        if !self.missing.is_empty() {
            let what: Vec<String> =
                self.missing.iter().map(|(name, wrong)| format!("{name} {wrong}")).collect();
            let reason = format!("{importer} takes what {exporter} does not have: {}", what.join(", "));
            return self.contract(Outcome::Fail, Some(reason));
        }
        match self.doubts.first().cloned() {
            Some(doubt) => self.contract(Outcome::Unknown, Some(doubt)),
            None => self.contract(Outcome::Pass, None),
        }
    }

    fn contract(self, result: Outcome, reason: Option<String>) -> Contract {
        Contract {
            result,
            exported: self.exported.into_iter().collect(),
            imported: self.imported.into_iter().collect(),
            missing: self.missing.into_keys().collect(),
            reason,
        }
    }
}

/// Judges whether `exporter` has what `importer` takes from it; both are paths below the root of `files`.
///
/// A file that is not there fails. Blocks for as long as reading and parsing take;
/// [`within`](crate::within) runs it beside an async runtime and gives up on it.
#[must_use]
pub fn contract(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let mut paths = [exporter, importer].into_iter().map(|path| {
        let normal = files::normal(path).filter(|path| files.is_file(path));
        normal.ok_or_else(|| format!("{path} is not there"))
    });
    let (exporter, importer) = match (paths.next(), paths.next()) {
        (Some(Ok(exporter)), Some(Ok(importer))) => (exporter, importer),
        (Some(Err(reason)), _) | (_, Some(Err(reason))) => {
            return Findings::default().contract(Outcome::Fail, Some(reason));
        }
        _ => return Contract::unknown("no files are named".to_owned()),
    };
    if exporter == importer {
        return Contract::unknown("both are the same file".to_owned());
    }
    let bounded = Bounded(files);
    let judged = on_large_stack(|| match (Language::of(&exporter), Language::of(&importer)) {
        (Some(Language::Script), Some(Language::Script)) => scripts::judge(&bounded, &exporter, &importer),
        (Some(Language::Python), Some(Language::Python)) => python::judge(&bounded, &exporter, &importer),
        (Some(Language::Rust), Some(Language::Rust)) => rust::judge(&bounded, &exporter, &importer),
        _ => Contract::unknown(format!(
            "what {importer} takes from {exporter} is not known for files of their kind"
        )),
    });
    judged.unwrap_or_else(|error| Contract::unknown(format!("it was not judged: {error}")))
}

/// Refuses what is too large to be parsed, whoever gives it.
struct Bounded<'f>(&'f dyn Files);

impl Files for Bounded<'_> {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let bytes = self.0.read(path)?;
        if bytes.len() > MAX_BYTES { Err(std::io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.is_file(path)
    }
}
