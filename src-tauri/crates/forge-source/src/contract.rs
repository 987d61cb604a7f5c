//! Whether one file exports the names that another takes from it.
//!
//! Both files are parsed, and what stands between them is followed through other files of the folder. A verdict
//! of `pass` means that every name was found; what cannot be known from the texts is `unknown` with its reason.

mod findings;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "rust")]
mod rust;
#[cfg(feature = "script")]
mod script;

use findings::Findings;
pub use findings::{Contract, Outcome};

use crate::{
    Files, Language,
    bounds::{MAX_BYTES, on_large_stack},
    files,
};

/// Judges whether `exporter` has what `importer` takes from it; both are paths below the root of `files`.
///
/// A file that is not there fails. Blocks for as long as reading and parsing take;
/// [`within`](crate::within) runs it beside an async runtime and gives up on it.
#[must_use]
pub fn contract(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let mut paths = [exporter, importer].into_iter().map(|path| {
        let normal = files::normal(path).filter(|path| files.is_file(path));
        normal.ok_or_else(|| format!("{path} does not exist"))
    });
    let (exporter, importer) = match (paths.next(), paths.next()) {
        (Some(Ok(exporter)), Some(Ok(importer))) => (exporter, importer),
        (Some(Err(reason)), _) | (_, Some(Err(reason))) => {
            return Findings::default().contract(Outcome::Fail, Some(reason));
        }
        _ => return Contract::unknown("no files are given".to_owned()),
    };
    if exporter == importer {
        return Contract::unknown("importer and exporter are the same file".to_owned());
    }
    let bounded = Bounded(files);
    let judged = on_large_stack(|| match (Language::of(&exporter), Language::of(&importer)) {
        #[cfg(feature = "script")]
        (Some(Language::Script), Some(Language::Script)) => script::judge(&bounded, &exporter, &importer),
        #[cfg(feature = "python")]
        (Some(Language::Python), Some(Language::Python)) => python::judge(&bounded, &exporter, &importer),
        #[cfg(feature = "rust")]
        (Some(Language::Rust), Some(Language::Rust)) => rust::judge(&bounded, &exporter, &importer),
        _ => Contract::unknown(format!(
            "contracts between {importer} and {exporter} are not checked: unsupported file type"
        )),
    });
    judged.unwrap_or_else(|error| Contract::unknown(format!("the check failed: {error}")))
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
