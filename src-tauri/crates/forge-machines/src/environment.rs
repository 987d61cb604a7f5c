//! The environment of the user's login on a machine, which programs there start from.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt as _,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use forge_exec::{MARKER_VARIABLE, Variables};

use crate::{Fault, Machine, Way};

/// Stands around the answer: profiles print greetings.
const FENCE: &str = "__forge_login_environment__";

/// How long a profile may take.
const TELLS_WITHIN: Duration = Duration::from_secs(60);

/// What a shell or the session sets for itself.
const OF_THE_SESSION: &[&str] = &[
    "_",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "SSH_AUTH_SOCK",
    MARKER_VARIABLE,
];

/// Why the environment is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The machine cannot be used.
    #[error(transparent)]
    Machine(#[from] Fault),
    /// The profile there ended the shell.
    #[error("Could not read the login environment on {host}: the profile there ended the shell.")]
    NoAnswer {
        /// The machine.
        host: String,
    },
}

impl<W: Way> Machine<W> {
    /// The environment that a login there sets up.
    ///
    /// # Errors
    /// When the machine cannot be used, or the profile ends the shell.
    pub async fn login_environment(&self) -> Result<Arc<Variables>, EnvironmentError> {
        let said = self.ask(&self.config().environment(FENCE), TELLS_WITHIN).await?;
        let variables = read(&said)
            .ok_or_else(|| EnvironmentError::NoAnswer { host: self.config().name().to_owned() })?;
        Ok(Arc::new(variables))
    }
}

/// The variables of all sections. Later ones win, but for the search path: folders that a later one leaves out come
/// behind its own. The profile of a container often sets a path without the folders that its image was made for.
fn read(said: &[u8]) -> Option<Variables> {
    let mut all: Option<Variables> = None;
    let mut rest = said;
    while let Some((section, behind)) = section(rest) {
        let earlier = all.get_or_insert_default();
        for (name, value) in section {
            let value = match earlier.get(&name) {
                Some(before) if name == "PATH" => joined(&value, before),
                _ => value,
            };
            earlier.insert(name, value);
        }
        rest = behind;
    }
    all
}

/// The folders of a search path, and behind them those of another one that it does not have.
fn joined(path: &OsStr, other: &OsStr) -> OsString {
    let own: Vec<PathBuf> = std::env::split_paths(path).collect();
    let more = std::env::split_paths(other).filter(|folder| !own.contains(folder));
    std::env::join_paths(own.iter().cloned().chain(more)).unwrap_or_else(|_| path.to_owned())
}

type Section = Vec<(OsString, OsString)>;

/// The variables between the next two fences, and what is behind them.
fn section(said: &[u8]) -> Option<(Section, &[u8])> {
    let find = |bytes: &[u8]| bytes.windows(FENCE.len()).position(|window| window == FENCE.as_bytes());
    let said = said.get(find(said)? + FENCE.len()..)?;
    let end = find(said)?;
    let (section, behind) = (said.get(..end)?, said.get(end + FENCE.len()..)?);
    let variables = section.split(|byte| *byte == 0).filter_map(|variable| {
        let at = variable.iter().position(|byte| *byte == b'=')?;
        let (name, value) = variable.split_at_checked(at)?;
        let name = OsString::from_vec(name.to_vec());
        let is_own = OF_THE_SESSION.iter().any(|own| name == *own);
        (!is_own && !name.is_empty()).then(|| (name, OsString::from_vec(value[1..].to_vec())))
    });
    Some((variables.collect(), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_read_between_what_a_profile_prints() {
        let said = format!("Welcome\n{FENCE}A=1\0B=x=y\nz\0SHLVL=2\0SSH_CLIENT=c\0{FENCE}bye");
        let variables = read(said.as_bytes()).unwrap();
        let all: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        assert_eq!(all, [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "x=y\nz".to_owned())]);
        assert_eq!(read(b"nothing"), None);
        assert_eq!(read(FENCE.as_bytes()), None);
    }

    #[test]
    fn login_shell_wins_over_the_image_and_loses_no_folder_of_its_search_path() {
        let said =
            format!("{FENCE}A=1\0PATH=/go/bin:/usr/bin\0{FENCE}\nhi{FENCE}A=2\0PATH=/usr/bin:/bin\0{FENCE}");
        let variables = read(said.as_bytes()).unwrap();
        assert_eq!(variables.get(OsStr::new("A")).unwrap(), "2");
        assert_eq!(variables.get(OsStr::new("PATH")).unwrap(), "/usr/bin:/bin:/go/bin");
    }
}
