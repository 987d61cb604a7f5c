//! The operating system's keychain, where tokens are kept by host.
//!
//! A machine without one (no secret service on the bus) is a keychain that holds nothing: reading finds no
//! token there, only writing fails.

use std::{collections::BTreeMap, fmt};

use forge_model::pull_request::HostKind;

use crate::token::Token;

/// Under which name the keychain lists Forge's tokens.
const SERVICE: &str = "dev.forge.desktop";

/// Where tokens are kept.
#[derive(Clone)]
pub enum Keychain {
    /// The operating system's.
    System,
    /// These tokens by host (`git.example.org:3000`) and no others; for tests, and for machines whose keychain
    /// must not be touched.
    Fixed(BTreeMap<String, Token>),
}

impl fmt::Debug for Keychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::Fixed(tokens) => f.debug_tuple("Fixed").field(&tokens.keys()).finish(),
        }
    }
}

/// Why the keychain did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum KeychainError {
    /// There is none, it is locked, or it refuses.
    #[error("could not use the keychain for {host}")]
    System {
        /// The host whose token was meant.
        host: String,
        /// What the system says.
        #[source]
        source: keyring::Error,
    },
    /// The tokens are fixed.
    #[error("could not store a token for {host}: the tokens are fixed")]
    Fixed {
        /// The host whose token was meant.
        host: String,
    },
    /// The thread that asked the system ended early.
    #[error("could not wait for the keychain")]
    Lost(#[from] tokio::task::JoinError),
}

impl Keychain {
    /// The token kept for a host.
    ///
    /// # Errors
    /// When the keychain is there, holds one and does not give it.
    pub async fn read(&self, kind: HostKind, host: &str) -> Result<Option<Token>, KeychainError> {
        match self {
            Self::Fixed(tokens) => Ok(tokens.get(host).cloned()),
            Self::System => {
                let found = system(kind, host, |entry| match entry.get_password() {
                    Ok(text) => Ok(Some(text)),
                    Err(
                        keyring::Error::NoEntry
                        | keyring::Error::NoDefaultStore
                        | keyring::Error::PlatformFailure(_),
                    ) => Ok(None),
                    Err(error) => Err(error),
                })
                .await;
                match found {
                    Ok(text) => Ok(text.and_then(|text| Token::new(&text))),
                    // No entry can be made because there is no keychain.
                    Err(KeychainError::System { source: keyring::Error::NoDefaultStore, .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Keeps a token for a host; an earlier one is replaced.
    ///
    /// # Errors
    /// When there is no keychain, or it refuses.
    pub async fn write(&self, kind: HostKind, host: &str, token: &Token) -> Result<(), KeychainError> {
        match self {
            Self::Fixed(_) => Err(KeychainError::Fixed { host: host.to_owned() }),
            Self::System => {
                let token = token.clone();
                system(kind, host, move |entry| entry.set_password(token.expose())).await
            }
        }
    }

    /// Forgets the token of a host, if there is one.
    ///
    /// # Errors
    /// When there is no keychain, or it refuses.
    pub async fn forget(&self, kind: HostKind, host: &str) -> Result<(), KeychainError> {
        match self {
            Self::Fixed(_) => Err(KeychainError::Fixed { host: host.to_owned() }),
            Self::System => {
                system(kind, host, |entry| match entry.delete_credential() {
                    Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
                    Err(error) => Err(error),
                })
                .await
            }
        }
    }
}

/// The system is asked on a thread of its own: it may show the person a prompt.
async fn system<T: Send + 'static>(
    kind: HostKind,
    host: &str,
    act: impl FnOnce(&keyring::Entry) -> keyring::Result<T> + Send + 'static,
) -> Result<T, KeychainError> {
    let account = format!("{kind}:{host}");
    let host = host.to_owned();
    tokio::task::spawn_blocking(move || keyring::Entry::new(SERVICE, &account).and_then(|entry| act(&entry)))
        .await?
        .map_err(|source| KeychainError::System { host, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_keychain_holds_nothing() {
        // Machines that test have no secret service, and where there is one it knows no such host.
        let found = Keychain::System.read(HostKind::Gitea, "no-such-host.invalid").await.unwrap();
        assert!(found.is_none());
    }

    #[tokio::test]
    async fn fixed_tokens_stay_and_are_not_printed() {
        let token = Token::new("s3cret").unwrap();
        let keychain = Keychain::Fixed(BTreeMap::from([("a.example".to_owned(), token.clone())]));
        assert_eq!(keychain.read(HostKind::Gitea, "a.example").await.unwrap(), Some(token.clone()));
        assert_eq!(keychain.read(HostKind::Gitea, "b.example").await.unwrap(), None);
        assert!(keychain.write(HostKind::Gitea, "b.example", &token).await.is_err());
        assert!(!format!("{keychain:?}").contains("s3cret"));
    }
}
