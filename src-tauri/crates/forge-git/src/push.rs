//! Sending a branch of ours to a remote, and whether its work is in a branch there.
//!
//! Only the named branch moves there, and only from where it was left by an earlier push of ours or when
//! nothing is lost by it: what somebody else pushed to it meanwhile is never overwritten. The user's own
//! credentials and hooks apply; nobody is asked for a password, neither at a terminal nor by a window.

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;

/// A branch to be pushed.
#[derive(Debug, Clone)]
pub struct Push<'a> {
    /// The remote's name.
    pub remote: &'a str,
    /// The branch there, without `refs/heads/`.
    pub branch: &'a str,
    /// What it is to hold (hex).
    pub commit: &'a str,
    /// Where earlier pushes of ours may have left it; none when it was never pushed.
    pub left_at: &'a [String],
}

/// Where work of ours may have been merged at a remote.
#[derive(Debug, Clone, Copy)]
pub struct RemoteWork<'a> {
    /// The remote's name.
    pub remote: &'a str,
    /// The branch there, without `refs/heads/`.
    pub branch: &'a str,
    /// The commit that brought it to the branch, where that is known (hex).
    pub merged: Option<&'a str>,
    /// The last commit of what was merged, where others may have added to it (hex).
    pub head: Option<&'a str>,
}

/// Why a branch was not pushed. Messages complete the phrase "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The repository has no such remote.
    #[error("push: the repository has no remote `{remote}`")]
    NoRemote {
        /// Its name.
        remote: String,
    },
    /// Somebody else moved the branch there.
    #[error("push {branch}: it was moved on the remote, to {}", .found.as_deref().unwrap_or("nothing"))]
    Moved {
        /// The branch.
        branch: String,
        /// Where it is.
        found: Option<String>,
    },
    /// The remote, or a hook of the user's, refused.
    #[error("push {branch}: the remote refused it: {why}")]
    Refused {
        /// The branch.
        branch: String,
        /// What git says.
        why: String,
    },
    /// The remote does not accept who we are.
    #[error("sign in to the remote `{remote}`: {why}")]
    Auth {
        /// The remote.
        remote: String,
        /// What git says.
        why: String,
    },
    /// The remote could not be reached.
    #[error("reach the remote `{remote}`: {why}")]
    Network {
        /// The remote.
        remote: String,
        /// What git says.
        why: String,
    },
    /// Something else.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What one push came to.
enum Pushed {
    Done,
    /// What git said.
    Refused(String),
}

/// Why a remote did not answer, as git's own words in its own language say it.
enum Silence {
    Auth,
    Network,
    Other,
}

impl Repo {
    /// The address of a remote as git uses it; none when there is no such remote.
    pub async fn remote_address(&self, remote: &str) -> Result<Option<String>, GitError> {
        let command = self.read().args(["remote", "get-url", "--push", "--", remote]);
        let args = command.shown();
        let output = command.run().await?;
        match output.exit {
            Some(0) => Ok(Some(bytes::line(&output.stdout))),
            Some(2) => Ok(None),
            _ => Err(output.failed(args)),
        }
    }

    /// The names of the remotes.
    pub async fn remotes(&self) -> Result<Vec<String>, GitError> {
        let listed = self.read().arg("remote").ok().await?;
        Ok(bytes::text(&listed).lines().map(str::to_owned).collect())
    }

    /// Pushes a commit to a branch of ours. Doing it again changes nothing.
    pub async fn push(&self, push: &Push<'_>) -> Result<(), PushError> {
        if self.remote_address(push.remote).await?.is_none() {
            return Err(PushError::NoRemote { remote: push.remote.to_owned() });
        }
        let expected = push.left_at.last().map(String::as_str);
        let Pushed::Refused(refusal) = self.push_from(push, expected).await? else { return Ok(()) };
        // Where it is there tells a branch that was moved from one that must not be moved.
        let found = self.branch_at(push.remote, push.branch).await?;
        if found.as_deref() == expected || found.as_deref() == Some(push.commit) {
            return Err(PushError::Refused { branch: push.branch.to_owned(), why: refusal });
        }
        let ours = match &found {
            Some(found) => push.left_at.contains(found) || self.holds(found, push.commit).await?,
            // Somebody deleted the branch: it is made anew.
            None => true,
        };
        if !ours {
            return Err(PushError::Moved { branch: push.branch.to_owned(), found });
        }
        match self.push_from(push, found.as_deref()).await? {
            Pushed::Done => Ok(()),
            Pushed::Refused(why) => Err(PushError::Refused { branch: push.branch.to_owned(), why }),
        }
    }

    /// Whether `commit` contains `other`, which may not even be known here.
    async fn holds(&self, other: &str, commit: &str) -> Result<bool, GitError> {
        Ok(self.resolve(other).await?.is_some() && self.is_ancestor(other, commit).await?)
    }

    /// Whether a branch at a remote has the work of `source`, as [`Repo::is_contained`] says it of a branch here: by the
    /// commit that brought it there, as far as the branch has that commit, else by where the branch is now. Work that
    /// others built on is there when all that it became is. What that needs is fetched, and no ref names it.
    pub async fn is_contained_at(&self, at: &RemoteWork<'_>, source: &str) -> Result<bool, PushError> {
        let Some(tip) = self.branch_at(at.remote, at.branch).await? else { return Ok(false) };
        if !self.fetch(at.remote, &tip).await? {
            return Ok(false);
        }
        let landed = match at.merged {
            Some(merged) if self.holds(merged, &tip).await? => merged,
            Some(_) | None => &tip,
        };
        if self.is_contained(source, landed).await? {
            return Ok(true);
        }
        match at.head {
            Some(head) if head != source && self.fetch(at.remote, head).await? => {
                Ok(self.is_ancestor(source, head).await? && self.is_contained(head, landed).await?)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Brings a commit here; whether the remote gives it.
    async fn fetch(&self, remote: &str, commit: &str) -> Result<bool, PushError> {
        if self.resolve(commit).await?.is_some() {
            return Ok(true);
        }
        let command = self
            .main_worktree()
            .command(Kind::User)
            .with_credentials()
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
            .args(["--no-recurse-submodules", "--refmap=", "--", remote, commit]);
        let output = command.run().await?;
        if output.exit == Some(0) {
            return Ok(true);
        }
        let why = said(&output.stderr);
        if let Some(error) = unreached(remote, &why) {
            return Err(error);
        }
        tracing::warn!(remote, commit, why, "a remote does not give a commit");
        Ok(false)
    }

    async fn push_from(&self, push: &Push<'_>, expected: Option<&str>) -> Result<Pushed, GitError> {
        let name = format!("refs/heads/{}", push.branch);
        let command = self
            .main_worktree()
            .command(Kind::User)
            .with_credentials()
            .args(["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no"])
            .arg(format!("--force-with-lease={name}:{}", expected.unwrap_or_default()))
            .args(["--", push.remote, &format!("{}:{name}", push.commit)]);
        let output = command.run().await?;
        if output.exit == Some(0) {
            return Ok(Pushed::Done);
        }
        let listed = bytes::text(&output.stdout);
        let refused: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("!\t")).collect();
        let said = bytes::text(&output.stderr);
        Ok(Pushed::Refused(without_credentials(format!("{}\n{}", refused.join("; "), said.trim()).trim())))
    }

    /// Where the branch is at the remote; nothing when it is not there.
    async fn branch_at(&self, remote: &str, branch: &str) -> Result<Option<String>, PushError> {
        let name = format!("refs/heads/{branch}");
        let command = self.read().with_credentials().args(["ls-remote", "--", remote, &name]);
        let output = command.run().await?;
        if output.exit == Some(0) {
            let listed = bytes::text(&output.stdout);
            let line = listed.lines().find(|line| line.ends_with(&name));
            return Ok(line.and_then(|line| line.split_whitespace().next()).map(str::to_owned));
        }
        let why = said(&output.stderr);
        Err(unreached(remote, &why)
            .unwrap_or_else(|| PushError::Refused { branch: branch.to_owned(), why: why.clone() }))
    }
}

/// What kept git from a remote, when its words tell.
fn unreached(remote: &str, why: &str) -> Option<PushError> {
    let (remote, why) = (remote.to_owned(), why.to_owned());
    match silence(&why) {
        Silence::Auth => Some(PushError::Auth { remote, why }),
        Silence::Network => Some(PushError::Network { remote, why }),
        Silence::Other => None,
    }
}

/// What git says, without passwords.
fn said(stderr: &[u8]) -> String {
    without_credentials(bytes::text(stderr).trim())
}

/// Addresses in git's words may hold a name and a password.
fn without_credentials(words: &str) -> String {
    let mut parts = words.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let authority = part.split(['/', '\'', ' ', '\n']).next().unwrap_or_default();
        let secret = authority.rfind('@').map_or(0, |at| at + 1);
        shown.push_str("://");
        shown.push_str(&part[secret..]);
    }
    shown
}

/// git tells a remote that is out of reach and one that knows us not by words alone. They are read in the C
/// locale, and what is not known counts as neither.
fn silence(words: &str) -> Silence {
    const AUTH: [&str; 8] = [
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "Permission denied",
        "Host key verification failed",
        "Too many authentication failures",
        "returned error: 401",
        "returned error: 403",
    ];
    const NETWORK: [&str; 12] = [
        "Could not resolve host",
        "Name or service not known",
        "Temporary failure in name resolution",
        "Couldn't connect to server",
        "Failed to connect",
        "Connection refused",
        "Connection timed out",
        "Operation timed out",
        "Network is unreachable",
        "No route to host",
        "Connection reset",
        "returned error: 50",
    ];
    if AUTH.iter().any(|known| words.contains(known)) {
        Silence::Auth
    } else if NETWORK.iter().any(|known| words.contains(known)) {
        Silence::Network
    } else {
        Silence::Other
    }
}

#[cfg(test)]
mod tests;
