//! The person's token: where it may come from, in which order, and how it stays unseen.
//!
//! A token that other programs use too (`GITHUB_TOKEN`) is meant for the well-known host of its kind. It goes
//! to another host only when a person configured that host's address; a host that was merely guessed from a
//! remote never gets it. `FORGE_*` variables are meant for whatever Forge talks to.

use std::{collections::BTreeMap, fmt, future::Future};

use forge_model::pull_request::{HostConfig, HostKind};

use crate::token::Token;
use crate::{endpoint::Endpoint, error::HostError, keychain::Keychain};

/// Every variable that a token may be in.
pub const TOKEN_VARIABLES: [&str; 7] = [
    "FORGE_GITHUB_TOKEN",
    "FORGE_GITEA_TOKEN",
    "FORGE_GITLAB_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITEA_TOKEN",
    "GITLAB_TOKEN",
];

/// Who named a host: what decides whether a token that other programs use may go to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedBy {
    /// A person, in the project's settings.
    Person,
    /// The repository's git remote, which whoever made the repository may have written.
    Remote,
}

/// A place where a token may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// The operating system's keychain.
    Keychain,
    /// A variable of the environment.
    Variable(&'static str),
    /// What a program prints: GitHub's own command line.
    Command(Vec<String>),
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keychain => f.write_str("the keychain"),
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Command(words) => write!(f, "`{}`", words.join(" ")),
        }
    }
}

/// A token and where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundToken {
    /// The token.
    pub token: Token,
    /// Where it was.
    pub source: TokenSource,
}

/// Where a token for the host is looked for, in this order.
///
/// # Errors
/// [`HostError::Protocol`] when the configured address is none.
pub fn token_sources(config: &HostConfig, named_by: NamedBy) -> Result<Vec<TokenSource>, HostError> {
    let endpoint = Endpoint::of(config)?;
    let own: &[&'static str] = match endpoint.kind {
        HostKind::Github => &["FORGE_GITHUB_TOKEN"],
        HostKind::Gitea => &["FORGE_GITEA_TOKEN"],
        HostKind::Gitlab => &["FORGE_GITLAB_TOKEN"],
    };
    let shared: &[&'static str] = match endpoint.kind {
        HostKind::Github => &["GITHUB_TOKEN", "GH_TOKEN"],
        HostKind::Gitea => &["GITEA_TOKEN"],
        HostKind::Gitlab => &["GITLAB_TOKEN"],
    };
    let trusted = named_by == NamedBy::Person || is_well_known(endpoint.kind, &endpoint.host);
    let variables = own.iter().chain(shared.iter().filter(|_| trusted));
    let mut sources = vec![TokenSource::Keychain];
    sources.extend(variables.map(|name| TokenSource::Variable(name)));
    if endpoint.kind == HostKind::Github {
        // It keeps a token for each host it was signed in to, so it decides itself.
        let words = ["gh", "auth", "token", "--hostname", endpoint.host.as_str()];
        sources.push(TokenSource::Command(words.map(str::to_owned).to_vec()));
    }
    Ok(sources)
}

/// Looks for a token. `environment` is the process's; `run` starts a program and gives what it printed, or
/// nothing when it is missing or failed.
///
/// # Errors
/// [`HostError::NotSignedIn`] when there is none anywhere, [`HostError::Protocol`] when the configured address
/// is none.
pub async fn find_token<R, F>(
    config: &HostConfig,
    named_by: NamedBy,
    keychain: &Keychain,
    environment: &BTreeMap<String, String>,
    run: R,
) -> Result<FoundToken, HostError>
where
    R: Fn(Vec<String>) -> F + Send + Sync,
    F: Future<Output = Option<String>> + Send,
{
    let endpoint = Endpoint::of(config)?;
    let sources = token_sources(config, named_by)?;
    for source in &sources {
        let token = match source {
            TokenSource::Keychain => match keychain.read(endpoint.kind, &endpoint.host).await {
                Ok(token) => token,
                Err(error) => {
                    // A locked keychain does not make the other places worthless.
                    tracing::warn!(host = endpoint.host, ?error, "the keychain gives no token");
                    None
                }
            },
            TokenSource::Variable(name) => environment.get(*name).and_then(|text| Token::new(text)),
            TokenSource::Command(words) => run(words.clone()).await.and_then(|text| Token::new(&text)),
        };
        if let Some(token) = token {
            return Ok(FoundToken { token, source: source.clone() });
        }
    }
    let places: Vec<String> = sources.iter().map(ToString::to_string).collect();
    let hint =
        format!("no token found in {}; {}", places.join(", "), how_to_sign_in(endpoint.kind, &endpoint.host));
    Err(HostError::NotSignedIn { host: endpoint.host, hint })
}

/// What a person does to sign in.
pub(crate) fn how_to_sign_in(kind: HostKind, host: &str) -> String {
    match kind {
        HostKind::Github => format!(
            "run `gh auth login --hostname {host}`, or set FORGE_GITHUB_TOKEN to a token that may read and write \
             pull requests and read checks"
        ),
        HostKind::Gitea => "set FORGE_GITEA_TOKEN to an access token with the scopes write:repository and \
                            write:issue"
            .to_owned(),
        HostKind::Gitlab => "set FORGE_GITLAB_TOKEN to an access token with the scope api".to_owned(),
    }
}

fn is_well_known(kind: HostKind, host: &str) -> bool {
    match kind {
        HostKind::Github => matches!(host, "github.com" | "api.github.com"),
        HostKind::Gitea => matches!(host, "codeberg.org" | "gitea.com"),
        HostKind::Gitlab => host == "gitlab.com",
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    fn config(kind: HostKind, base_url: Option<&str>) -> HostConfig {
        HostConfig {
            kind,
            base_url: base_url.map(str::to_owned),
            owner: "o".to_owned(),
            repo: "r".to_owned(),
            remote: "origin".to_owned(),
        }
    }

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    async fn found(
        config: &HostConfig,
        named_by: NamedBy,
        kept: &[(&str, &str)],
        set: &[(&str, &str)],
        gh: Option<&str>,
    ) -> String {
        let kept = kept.iter().map(|(host, text)| ((*host).to_owned(), Token::new(text).unwrap()));
        let keychain = Keychain::Fixed(kept.collect());
        let gh = gh.map(str::to_owned);
        match find_token(config, named_by, &keychain, &environment(set), |_| ready(gh.clone())).await {
            Ok(found) => format!("{} from {}", found.token.expose(), found.source),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::new(" s3cret\n").unwrap();
        assert_eq!(token.expose(), "s3cret");
        let found = FoundToken { token, source: TokenSource::Keychain };
        assert_eq!(format!("{found:?}"), "FoundToken { token: Token(…), source: Keychain }");
        assert_eq!(Token::new(" \n"), None);
    }

    #[tokio::test]
    async fn the_order_is_keychain_environment_program() {
        let github = config(HostKind::Github, None);
        let kept = [("github.com", "k")];
        let set = [("FORGE_GITHUB_TOKEN", "f"), ("GITHUB_TOKEN", "g"), ("GH_TOKEN", "h")];
        let gh = "`gh auth token --hostname github.com`";
        for (kept, set, printed, expected) in [
            (&kept[..], &set[..], Some("p"), "k from the keychain".to_owned()),
            (&[], &set, Some("p"), "f from the variable FORGE_GITHUB_TOKEN".to_owned()),
            (&[], &set[1..], Some("p"), "g from the variable GITHUB_TOKEN".to_owned()),
            (&[], &set[2..], Some("p"), "h from the variable GH_TOKEN".to_owned()),
            (&[], &[("GH_TOKEN", " ")], Some("p\n"), format!("p from {gh}")),
            (&[("other.example", "k")], &[], Some("p"), format!("p from {gh}")),
        ] {
            assert_eq!(found(&github, NamedBy::Remote, kept, set, printed).await, expected);
        }
    }

    #[tokio::test]
    async fn nobody_else_gets_the_well_known_hosts_token() {
        let set = [("GITLAB_TOKEN", "g"), ("GITEA_TOKEN", "t"), ("GITHUB_TOKEN", "h")];
        let elsewhere = Some("https://git.example.org");
        for (kind, base_url, named_by, expected) in [
            (HostKind::Gitlab, None, NamedBy::Remote, "g from the variable GITLAB_TOKEN"),
            (HostKind::Gitea, None, NamedBy::Remote, "t from the variable GITEA_TOKEN"),
            (
                HostKind::Gitlab,
                Some("https://gitlab.com"),
                NamedBy::Remote,
                "g from the variable GITLAB_TOKEN",
            ),
            (HostKind::Gitlab, elsewhere, NamedBy::Person, "g from the variable GITLAB_TOKEN"),
            (HostKind::Gitlab, elsewhere, NamedBy::Remote, "not signed in to git.example.org"),
            (HostKind::Gitea, elsewhere, NamedBy::Remote, "not signed in to git.example.org"),
            (HostKind::Github, elsewhere, NamedBy::Remote, "not signed in to git.example.org"),
        ] {
            let said = found(&config(kind, base_url), named_by, &[], &set, None).await;
            assert!(said.starts_with(expected), "{base_url:?} by {named_by:?}: {said}");
        }
    }

    #[tokio::test]
    async fn a_token_for_forge_goes_to_a_host_that_a_remote_names() {
        let config = config(HostKind::Gitea, Some("https://git.example.org"));
        let said = found(&config, NamedBy::Remote, &[], &[("FORGE_GITEA_TOKEN", "f")], None).await;
        assert_eq!(said, "f from the variable FORGE_GITEA_TOKEN");
    }

    #[tokio::test]
    async fn without_a_token_the_person_is_told_what_to_do() {
        insta::assert_snapshot!(
            found(&config(HostKind::Gitlab, None), NamedBy::Remote, &[], &[("GITHUB_TOKEN", "h")], Some("x")).await,
            @"not signed in to gitlab.com: no token found in the keychain, the variable FORGE_GITLAB_TOKEN, the variable GITLAB_TOKEN; set FORGE_GITLAB_TOKEN to an access token with the scope api"
        );
        insta::assert_snapshot!(
            found(&config(HostKind::Github, Some("https://git.example.org")), NamedBy::Person, &[], &[], None).await,
            @"not signed in to git.example.org: no token found in the keychain, the variable FORGE_GITHUB_TOKEN, the variable GITHUB_TOKEN, the variable GH_TOKEN, `gh auth token --hostname git.example.org`; run `gh auth login --hostname git.example.org`, or set FORGE_GITHUB_TOKEN to a token that may read and write pull requests and read checks"
        );
    }
}
