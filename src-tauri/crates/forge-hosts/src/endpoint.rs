//! The address of a repository in a code host's API.

use forge_model::pull_request::{HostConfig, HostKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;

use crate::error::HostError;

/// Everything but what a path segment may hold as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A repository at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub kind: HostKind,
    /// The host's name, with its port when it has one: what tokens are kept under.
    pub host: String,
    /// Address of the programming interface, without a slash at its end.
    pub api: String,
    pub owner: String,
    pub repo: String,
}

impl Endpoint {
    pub(crate) fn of(config: &HostConfig) -> Result<Self, HostError> {
        let web = web_address(config);
        let bad = |why: &str| HostError::Protocol {
            what: format!("`{web}` is not the address of a code host: {why}"),
        };
        let url = Url::parse(&web).map_err(|error| bad(&error.to_string()))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(bad("it must start with https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HostError::Protocol {
                what: "the address contains a name or password; store tokens in the keychain".to_owned(),
            });
        }
        let name = url.host_str().ok_or_else(|| bad("it has no host"))?;
        let host = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        Ok(Self {
            kind: config.kind,
            api: api_address(config.kind, &url, &host),
            host,
            owner: config.owner.clone(),
            repo: config.repo.clone(),
        })
    }
}

/// The name that a host's token is kept under: `git.example.org:3000`.
///
/// # Errors
/// [`HostError::Protocol`] when the configured address is none.
pub fn host_name(config: &HostConfig) -> Result<String, HostError> {
    Ok(Endpoint::of(config)?.host)
}

/// The configured address, or that of the best known host of the kind.
pub(crate) fn web_address(config: &HostConfig) -> String {
    let default = match config.kind {
        HostKind::Github => "https://github.com",
        HostKind::Gitea => "https://codeberg.org",
        HostKind::Gitlab => "https://gitlab.com",
    };
    config.base_url.as_deref().unwrap_or(default).trim_end_matches('/').to_owned()
}

fn api_address(kind: HostKind, url: &Url, host: &str) -> String {
    let (scheme, path) = (url.scheme(), url.path().trim_end_matches('/'));
    let suffix = match kind {
        HostKind::Github if host == "github.com" || host == "api.github.com" => {
            return "https://api.github.com".to_owned();
        }
        // GitHub Enterprise Cloud with data residency.
        HostKind::Github if host.ends_with(".ghe.com") => {
            let bare = host.strip_prefix("api.").unwrap_or(host);
            return format!("https://api.{bare}");
        }
        HostKind::Github => "/api/v3",
        HostKind::Gitea => "/api/v1",
        HostKind::Gitlab => "/api/v4",
    };
    let path = path.strip_suffix(suffix).unwrap_or(path);
    format!("{scheme}://{host}{path}{suffix}")
}

/// A value as one segment of a path, or as a value in a query.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(kind: HostKind, base_url: Option<&str>) -> Result<String, String> {
        let config = HostConfig {
            kind,
            base_url: base_url.map(str::to_owned),
            owner: "o".to_owned(),
            repo: "r".to_owned(),
            remote: "origin".to_owned(),
        };
        Endpoint::of(&config).map(|endpoint| endpoint.api).map_err(|error| error.to_string())
    }

    #[test]
    fn the_interface_is_found_from_the_address() {
        use HostKind::{Gitea, Github, Gitlab};
        for (kind, base, expected) in [
            (Github, None, "https://api.github.com"),
            (Github, Some("https://github.com/"), "https://api.github.com"),
            (Github, Some("https://api.github.com"), "https://api.github.com"),
            (Github, Some("https://octo.ghe.com"), "https://api.octo.ghe.com"),
            (Github, Some("https://api.octo.ghe.com"), "https://api.octo.ghe.com"),
            (Github, Some("https://git.example.org"), "https://git.example.org/api/v3"),
            (Github, Some("https://git.example.org/api/v3/"), "https://git.example.org/api/v3"),
            (Gitea, None, "https://codeberg.org/api/v1"),
            (Gitea, Some("http://127.0.0.1:3000"), "http://127.0.0.1:3000/api/v1"),
            (Gitea, Some("https://example.org/gitea"), "https://example.org/gitea/api/v1"),
            (Gitlab, None, "https://gitlab.com/api/v4"),
            (Gitlab, Some("https://example.org:8443/git/api/v4"), "https://example.org:8443/git/api/v4"),
        ] {
            assert_eq!(api(kind, base).as_deref(), Ok(expected), "{base:?}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_password_is_repeated() {
        for base in ["git.example.org", "ftp://example.org", "https://"] {
            assert!(api(HostKind::Gitea, Some(base)).is_err(), "{base}");
        }
        let refusal = api(HostKind::Gitea, Some("https://me:s3cret@example.org")).unwrap_err();
        assert!(!refusal.contains("s3cret"), "{refusal}");
    }

    #[test]
    fn a_segment_holds_no_slash() {
        assert_eq!(segment("group/sub app"), "group%2Fsub%20app");
        assert_eq!(segment("a-b_c.d~e"), "a-b_c.d~e");
    }
}
