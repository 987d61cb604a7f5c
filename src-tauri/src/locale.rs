//! A language for the page before GTK starts.
//!
//! Under `LANG=C` WebKitGTK reports `navigator.language` as `C`, at which `Intl` throws. The environment of
//! a running program cannot be changed safely, so the program starts itself again with `LANGUAGE` set.

use std::{env, io, os::unix::process::CommandExt as _, process::Command};

const LANGUAGE: &str = "LANGUAGE";
const DEFAULT: &str = "en_US";

/// Sees to it that a language is set. When none is, this replaces the process and does not return.
///
/// # Errors
/// When the program cannot be started again.
pub fn ensure() -> io::Result<()> {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    if names_a_language(&variable(LANGUAGE), &["LC_ALL", "LC_MESSAGES", "LANG"].map(variable)) {
        return Ok(());
    }
    let program = env::current_exe()?;
    Err(Command::new(program).args(env::args_os().skip(1)).env(LANGUAGE, DEFAULT).exec())
}

/// Whether `LANGUAGE`, or else the first of the locale variables that is set, names a language.
fn names_a_language(language: &str, locales: &[String]) -> bool {
    if !language.is_empty() {
        return true;
    }
    let effective = locales.iter().find(|locale| !locale.is_empty());
    effective.is_some_and(|locale| {
        let name = locale.split(['.', '@']).next().unwrap_or_default();
        !matches!(name, "" | "C" | "POSIX")
    })
}

#[cfg(test)]
mod tests {
    use super::names_a_language;

    #[test]
    fn c_and_posix_name_no_language() {
        for (language, locales, expected) in [
            ("", ["", "", ""], false),
            ("", ["", "", "C"], false),
            ("", ["", "", "C.UTF-8"], false),
            ("", ["", "", "POSIX"], false),
            ("", ["", "", "de_DE.UTF-8"], true),
            ("", ["C", "", "de_DE.UTF-8"], false),
            ("", ["", "fr_FR@euro", "C"], true),
            ("de", ["C", "C", "C"], true),
        ] {
            assert_eq!(
                names_a_language(language, &locales.map(str::to_owned)),
                expected,
                "{language:?} {locales:?}"
            );
        }
    }
}
