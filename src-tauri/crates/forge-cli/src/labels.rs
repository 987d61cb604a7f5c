//! Labels of machines, as commands take them.

use forge_model::machine::LOCAL;

use crate::error::CliError;

/// The labels that were named; none when nothing was. `local` alone is the empty list, which is this computer.
pub(crate) fn required(named: Vec<String>) -> Result<Option<Vec<String>>, CliError> {
    match named.as_slice() {
        [] => Ok(None),
        [only] if only == LOCAL => Ok(Some(Vec::new())),
        all if all.iter().any(|label| label == LOCAL) => Err(CliError::Usage {
            message: "`local` is this computer, which has no labels".to_owned(),
            hint: "Pass --machine local alone, or only labels.",
        }),
        _ => Ok(Some(named)),
    }
}

/// Labels as people read them.
pub(crate) fn shown(labels: &[String]) -> String {
    if labels.is_empty() { LOCAL.to_owned() } else { labels.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(all: &[&str]) -> Vec<String> {
        all.iter().map(|label| (*label).to_owned()).collect()
    }

    #[test]
    fn local_is_the_empty_list_and_stands_alone() {
        assert_eq!(required(named(&[])).unwrap(), None);
        assert_eq!(required(named(&["local"])).unwrap(), Some(Vec::new()));
        assert_eq!(required(named(&["gpu", "big"])).unwrap(), Some(named(&["gpu", "big"])));
        assert!(required(named(&["gpu", "local"])).is_err());
        assert_eq!(shown(&[]), "local");
        assert_eq!(shown(&named(&["gpu", "big"])), "gpu, big");
    }
}
