//! Which repository at which host a git remote names.
//!
//! Addresses come as git uses them: `url.<base>.insteadOf` was applied by git. Names and passwords in them
//! are dropped here and appear nowhere.

use forge_model::pull_request::{HostConfig, HostKind};

/// A repository at a code host, as its remote names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The host's name in lower case.
    pub host: String,
    /// The web server's port, known only when the remote is fetched by HTTP.
    pub web_port: Option<u16>,
    /// Whether the host is reached by HTTP without encryption.
    pub plain_http: bool,
    /// The account or group; sub-groups are separated by `/`.
    pub owner: String,
    /// The repository, without `.git`.
    pub repo: String,
}

/// Why a remote names no repository at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// It is a folder.
    #[error("could not find a code host: the remote is a folder on this machine")]
    Local,
    /// It speaks no protocol that a code host speaks.
    #[error("could not find a code host: the remote's protocol must be https, http, ssh or git")]
    Protocol,
    /// Its path is not `owner/repository`.
    #[error("could not find a code host: the remote's path must be `owner/repository`")]
    Path,
    /// It names no host.
    #[error("could not find a code host: the remote has no host")]
    Host,
    /// Only GitLab has groups within groups.
    #[error("could not find the repository: this host does not support subgroups")]
    Groups,
}

impl Remote {
    /// Reads an address as `git remote get-url` prints it.
    ///
    /// # Errors
    /// See [`RemoteError`].
    pub fn parse(address: &str) -> Result<Self, RemoteError> {
        let address = address.trim();
        let (scheme, authority, path) = match address.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_once('/').ok_or(RemoteError::Path)?;
                (scheme.to_ascii_lowercase(), authority, path)
            }
            None => {
                let (authority, path) = scp_like(address).ok_or(RemoteError::Local)?;
                ("ssh".to_owned(), authority, path)
            }
        };
        let by_http = match scheme.as_str() {
            "https" | "http" => true,
            "ssh" | "git+ssh" | "ssh+git" | "git" => false,
            "file" => return Err(RemoteError::Local),
            _ => return Err(RemoteError::Protocol),
        };
        // A name or password may itself hold an `@`.
        let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        let (name, port) = host_and_port(place)?;
        let default_port = if scheme == "http" { 80 } else { 443 };
        let (owner, repo) = owner_and_repo(path)?;
        Ok(Self {
            host: known_by(&name),
            web_port: port.filter(|port| by_http && *port != default_port),
            plain_http: scheme == "http",
            owner,
            repo,
        })
    }

    /// The software of a host whose name is well known; others are configured.
    #[must_use]
    pub fn kind(&self) -> Option<HostKind> {
        match self.host.as_str() {
            "github.com" => Some(HostKind::Github),
            "gitlab.com" => Some(HostKind::Gitlab),
            "codeberg.org" | "gitea.com" => Some(HostKind::Gitea),
            host if host.ends_with(".ghe.com") => Some(HostKind::Github),
            _ => None,
        }
    }

    /// The address that a browser opens. A host that is reached by SSH is taken to serve HTTPS on its usual port.
    #[must_use]
    pub fn web_address(&self) -> String {
        let scheme = if self.plain_http { "http" } else { "https" };
        let port = self.web_port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}", self.host)
    }

    /// The settings for a repository there, when the host runs `kind`. `remote` is the git remote's name.
    ///
    /// # Errors
    /// [`RemoteError::Groups`] when the path is deeper than the host has levels.
    pub fn config(&self, kind: HostKind, remote: &str) -> Result<HostConfig, RemoteError> {
        if kind != HostKind::Gitlab && self.owner.contains('/') {
            return Err(RemoteError::Groups);
        }
        let default = matches!(
            (kind, self.host.as_str()),
            (HostKind::Github, "github.com")
                | (HostKind::Gitlab, "gitlab.com")
                | (HostKind::Gitea, "codeberg.org")
        );
        let base_url = (!default || self.web_port.is_some() || self.plain_http).then(|| self.web_address());
        Ok(HostConfig {
            kind,
            base_url,
            owner: self.owner.clone(),
            repo: self.repo.clone(),
            remote: remote.to_owned(),
        })
    }
}

/// `[user@]host:path`, where git takes the text before the colon for a host: it holds no slash.
fn scp_like(address: &str) -> Option<(&str, &str)> {
    let end_of_host = match address.find('[') {
        // `git@[::1]:path`
        Some(open) if address[..open].find(['/', ':']).is_none() => address.find("]:")? + 1,
        _ => address.find(':')?,
    };
    let (authority, path) = (&address[..end_of_host], &address[end_of_host + 1..]);
    // `C:\repo` is a folder.
    let is_drive = authority.len() == 1 && authority.starts_with(|c: char| c.is_ascii_alphabetic());
    (!authority.contains('/') && !is_drive).then_some((authority, path))
}

fn host_and_port(place: &str) -> Result<(String, Option<u16>), RemoteError> {
    let (name, port) = match place.rfind(']') {
        Some(end) => (&place[..=end], place[end + 1..].strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(name, port)| (name, Some(port))),
    };
    let port = match port {
        None | Some("") => None,
        Some(port) => Some(port.parse().map_err(|_| RemoteError::Host)?),
    };
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if name.is_empty() || !name.chars().all(fine) {
        return Err(RemoteError::Host);
    }
    Ok((name.to_ascii_lowercase(), port))
}

/// Hosts that also listen for SSH on the port of HTTPS do so under another name.
fn known_by(name: &str) -> String {
    match name {
        "ssh.github.com" | "www.github.com" => "github.com",
        "altssh.gitlab.com" | "www.gitlab.com" => "gitlab.com",
        name => name,
    }
    .to_owned()
}

fn owner_and_repo(path: &str) -> Result<(String, String), RemoteError> {
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, repo) = path.rsplit_once('/').ok_or(RemoteError::Path)?;
    let fine = |part: &str| {
        !part.is_empty()
            && !matches!(part, "." | "..")
            && !part.contains(|c: char| c.is_control() || c == '\\')
    };
    if !path.split('/').all(fine) {
        return Err(RemoteError::Path);
    }
    Ok((owner.to_owned(), repo.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address, host, owner, repository, web address.
    type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

    #[test]
    fn addresses_are_read_as_git_reads_them() {
        let cases: &[Case] = &[
            ("https://github.com/octo/app.git", "github.com", "octo", "app", "https://github.com"),
            ("https://github.com/octo/app", "github.com", "octo", "app", "https://github.com"),
            ("https://GitHub.com/Octo/App/", "github.com", "Octo", "App", "https://github.com"),
            ("https://me:pa@ss@github.com:443/octo/app", "github.com", "octo", "app", "https://github.com"),
            ("http://127.0.0.1:3000/o/r.git", "127.0.0.1", "o", "r", "http://127.0.0.1:3000"),
            ("git@github.com:octo/app.git", "github.com", "octo", "app", "https://github.com"),
            ("github.com:octo/app", "github.com", "octo", "app", "https://github.com"),
            ("git@github.com:/octo/app.git", "github.com", "octo", "app", "https://github.com"),
            ("org-1234@github.com:octo/my.app.git", "github.com", "octo", "my.app", "https://github.com"),
            ("ssh://git@ssh.github.com:443/octo/app.git", "github.com", "octo", "app", "https://github.com"),
            ("ssh://git@git.example.org:2222/o/r", "git.example.org", "o", "r", "https://git.example.org"),
            ("git+ssh://git.example.org/o/r", "git.example.org", "o", "r", "https://git.example.org"),
            ("git://git.example.org/o/r.git", "git.example.org", "o", "r", "https://git.example.org"),
            ("git@gitlab.com:a/b/c/app.git", "gitlab.com", "a/b/c", "app", "https://gitlab.com"),
            ("git@[::1]:o/r.git", "[::1]", "o", "r", "https://[::1]"),
            ("ssh://git@[::1]:22/o/r.git", "[::1]", "o", "r", "https://[::1]"),
            ("http://[::1]:3000/o/r.git", "[::1]", "o", "r", "http://[::1]:3000"),
        ];
        for (address, host, owner, repo, web) in cases {
            let remote = Remote::parse(address).unwrap();
            let seen = (remote.host.as_str(), remote.owner.as_str(), remote.repo.as_str());
            assert_eq!(seen, (*host, *owner, *repo), "{address}");
            assert_eq!(remote.web_address(), *web, "{address}");
        }
    }

    #[test]
    fn what_is_no_host_is_said() {
        for (address, expected) in [
            ("/srv/git/app.git", RemoteError::Local),
            ("../app", RemoteError::Local),
            ("./a:b/c", RemoteError::Local),
            ("file:///srv/git/app.git", RemoteError::Local),
            (r"C:\work\app", RemoteError::Local),
            ("C:/git/app", RemoteError::Local),
            ("", RemoteError::Local),
            ("s3://bucket/o/r", RemoteError::Protocol),
            ("https://github.com", RemoteError::Path),
            ("https://github.com/app", RemoteError::Path),
            ("https://github.com/o//r", RemoteError::Path),
            ("git@github.com:o/../r", RemoteError::Path),
            ("https:///o/r", RemoteError::Host),
            ("https://host:port/o/r", RemoteError::Host),
            ("ssh://git@-o Proxy/o/r", RemoteError::Host),
        ] {
            assert_eq!(Remote::parse(address), Err(expected), "{address}");
        }
    }

    #[test]
    fn the_kind_is_known_of_well_known_hosts_only() {
        for (host, expected) in [
            ("github.com", Some(HostKind::Github)),
            ("octo.ghe.com", Some(HostKind::Github)),
            ("gitlab.com", Some(HostKind::Gitlab)),
            ("codeberg.org", Some(HostKind::Gitea)),
            ("gitlab.example.org", None),
            ("github.com.example.org", None),
        ] {
            assert_eq!(Remote::parse(&format!("git@{host}:o/r")).unwrap().kind(), expected, "{host}");
        }
    }

    #[test]
    fn settings_name_an_address_only_when_it_is_not_the_usual_one() {
        let config = |address: &str, kind| Remote::parse(address).unwrap().config(kind, "up");
        let usual = config("git@github.com:o/r.git", HostKind::Github).unwrap();
        assert_eq!((usual.base_url, usual.remote.as_str()), (None, "up"));
        for (address, kind, expected) in [
            ("https://octo.ghe.com/o/r", HostKind::Github, "https://octo.ghe.com"),
            ("https://gitea.com/o/r", HostKind::Gitea, "https://gitea.com"),
            ("http://gitlab.com/o/r", HostKind::Gitlab, "http://gitlab.com"),
            ("ssh://git@git.example.org:2222/o/r", HostKind::Gitea, "https://git.example.org"),
        ] {
            assert_eq!(config(address, kind).unwrap().base_url.as_deref(), Some(expected), "{address}");
        }
        assert_eq!(config("git@github.com:a/b/c", HostKind::Github), Err(RemoteError::Groups));
        assert_eq!(config("git@gitlab.com:a/b/c", HostKind::Gitlab).unwrap().owner, "a/b");
    }
}
