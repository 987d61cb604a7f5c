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
            .at(self.root(), Kind::User)
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
            .at(self.root(), Kind::User)
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
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    struct Given {
        sandbox: Sandbox,
        repo: Repo,
    }

    impl Given {
        async fn new() -> Self {
            let sandbox = Sandbox::new().await;
            let repo = sandbox.repo().await;
            let bare = sandbox.dir().join("bare.git");
            sandbox.git_at(sandbox.dir(), &["init", "-q", "--bare", bare.to_str().unwrap()]);
            sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
            Self { sandbox, repo }
        }

        async fn push(&self, commit: &str, left_at: &[&str]) -> Result<(), PushError> {
            let left_at: Vec<String> = left_at.iter().map(|&it| it.to_owned()).collect();
            let push = Push { remote: "origin", branch: "forge/one", commit, left_at: &left_at };
            self.repo.push(&push).await
        }

        fn there(&self) -> String {
            let said = self.sandbox.git_out(&["ls-remote", "origin", "refs/heads/forge/one"]);
            said.split_whitespace().next().unwrap_or_default().to_owned()
        }
    }

    #[tokio::test]
    async fn a_branch_at_a_remote_has_work_by_the_commit_that_brought_it_or_by_where_it_is() {
        let given = Given::new().await;
        let (sandbox, repo) = (&given.sandbox, &given.repo);
        let base = sandbox.head();
        let source = sandbox.commit("work", &[("work", "one\n")]);
        // Somebody squashes it there, and goes on.
        let theirs = sandbox.dir().join("theirs");
        let bare = sandbox.dir().join("bare.git");
        sandbox.git(&["push", "-q", "origin", &format!("{base}:refs/heads/main")]);
        sandbox.git_at(sandbox.dir(), &["clone", "-q", "-b", "main", bare.to_str().unwrap(), "theirs"]);
        let make = |name: &str| {
            std::fs::write(theirs.join(name), "one\n").unwrap();
            sandbox.git_at(&theirs, &["add", "-A"]);
            sandbox.git_at(&theirs, &["commit", "-q", "-m", name]);
            sandbox.git_at(&theirs, &["push", "-q", "origin", "main"]);
            sandbox.git_at(&theirs, &["rev-parse", "HEAD"])
        };
        let work = RemoteWork { remote: "origin", branch: "main", merged: None, head: None };
        let holds = async |merged: Option<&str>| {
            repo.is_contained_at(&RemoteWork { merged, ..work }, &source).await.unwrap()
        };
        let other = make("other");
        assert!(!holds(None).await && !holds(Some(&other)).await);
        let squashed = make("work");
        make("later");
        let refs = sandbox.git_out(&["for-each-ref"]);
        let unknown = "1".repeat(40);
        for merged in [Some(squashed.as_str()), None, Some(&unknown)] {
            assert!(holds(merged).await, "{merged:?}");
        }
        assert!(!holds(Some(&other)).await, "that commit did not bring it");
        assert_eq!(sandbox.git_out(&["for-each-ref"]), refs);
        assert!(!repo.is_contained_at(&RemoteWork { branch: "gone", ..work }, &source).await.unwrap());
        std::fs::remove_dir_all(&bare).unwrap();
        let gone = repo.is_contained_at(&work, &source).await;
        assert!(matches!(gone, Err(PushError::Refused { .. })), "{gone:?}");
    }

    #[tokio::test]
    async fn work_merged_into_another_branch_is_not_in_this_one_and_work_built_on_is() {
        let given = Given::new().await;
        let (sandbox, repo) = (&given.sandbox, &given.repo);
        let base = sandbox.head();
        let source = sandbox.commit("work", &[("work", "one\n")]);
        sandbox.git(&["push", "-q", "origin", &format!("{base}:refs/heads/main")]);
        sandbox.git(&["push", "-q", "origin", "HEAD:refs/heads/release"]);
        let work = RemoteWork { remote: "origin", branch: "main", merged: Some(&source), head: None };
        assert!(!repo.is_contained_at(&work, &source).await.unwrap(), "it is in `release` alone");
        // Somebody edits the same line, then it is squashed.
        let head = sandbox.commit("theirs", &[("work", "two\n")]);
        sandbox.git(&["push", "-q", "origin", "HEAD:refs/heads/forge/one"]);
        let tree = sandbox.git_out(&["rev-parse", "HEAD^{tree}"]);
        let squashed = sandbox.git_out(&["commit-tree", "-p", &base, "-m", "squashed", &tree]);
        sandbox.git(&["push", "-q", "origin", &format!("{squashed}:refs/heads/main")]);
        let work = RemoteWork { merged: Some(&squashed), ..work };
        assert!(!repo.is_contained_at(&work, &source).await.unwrap(), "the line is another one");
        let work = RemoteWork { head: Some(&head), ..work };
        assert!(repo.is_contained_at(&work, &source).await.unwrap(), "all that it became is there");
        let replaced = RemoteWork { head: Some(&base), ..work };
        assert!(!repo.is_contained_at(&replaced, &source).await.unwrap(), "that head is not built on it");
    }

    #[tokio::test]
    async fn a_branch_goes_where_it_was_left_and_nowhere_else() {
        let given = Given::new().await;
        let first = given.sandbox.head();
        given.push(&first, &[]).await.unwrap();
        given.push(&first, &[]).await.unwrap();
        assert_eq!(given.there(), first);
        // Rewritten work replaces what we pushed, also when only the intent was recorded.
        given.sandbox.git(&["commit", "-q", "--amend", "-m", "other"]);
        let second = given.sandbox.head();
        given.push(&second, &[&first]).await.unwrap();
        given.sandbox.git(&["commit", "-q", "--amend", "-m", "another"]);
        let third = given.sandbox.head();
        given.push(&third, &[&second, &first]).await.unwrap();
        assert_eq!(given.there(), third);
    }

    #[tokio::test]
    async fn what_others_pushed_is_kept() {
        let given = Given::new().await;
        let first = given.sandbox.head();
        given.push(&first, &[]).await.unwrap();
        let theirs = given.sandbox.commit("theirs", &[("b", "b")]);
        given.sandbox.git(&["push", "-q", "origin", "HEAD:refs/heads/forge/one"]);
        given.sandbox.git(&["reset", "-q", "--hard", &first]);
        let ours = given.sandbox.commit("ours", &[("c", "c")]);
        let refused = given.push(&ours, &[&first]).await;
        assert!(matches!(refused, Err(PushError::Moved { found: Some(f), .. }) if f == theirs));
        assert_eq!(given.there(), theirs);
        // Once ours holds theirs, nothing is lost.
        given.sandbox.git(&["merge", "-q", "--no-edit", &theirs]);
        let both = given.sandbox.head();
        given.push(&both, &[&first]).await.unwrap();
        assert_eq!(given.there(), both);
    }

    #[tokio::test]
    async fn refusals_are_told_apart() {
        let given = Given::new().await;
        let head = given.sandbox.head();
        let hook = given.sandbox.dir().join("bare.git/hooks/pre-receive");
        std::fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let refused = given.push(&head, &[]).await;
        assert!(
            matches!(&refused, Err(PushError::Refused { why, .. }) if why.contains("not today")),
            "{refused:?}"
        );
        given.sandbox.git(&["remote", "set-url", "origin", "http://127.0.0.1:1/a/b.git"]);
        let away = given.push(&head, &[]).await;
        assert!(matches!(&away, Err(PushError::Network { .. })), "{away:?}");
        given.sandbox.git(&["remote", "set-url", "origin", "/nowhere"]);
        assert!(matches!(given.push(&head, &[]).await, Err(PushError::Refused { .. })));
        given.sandbox.git(&["remote", "remove", "origin"]);
        assert!(matches!(given.push(&head, &[]).await, Err(PushError::NoRemote { .. })));
    }

    #[tokio::test]
    async fn a_branch_that_was_deleted_is_made_anew_and_nothing_else_goes_along() {
        let given = Given::new().await;
        let first = given.sandbox.head();
        given.push(&first, &[]).await.unwrap();
        given.sandbox.git(&["push", "-q", "origin", ":refs/heads/forge/one"]);
        given.sandbox.git(&["config", "push.followTags", "true"]);
        let second = given.sandbox.commit("more", &[("b", "b")]);
        given.sandbox.git(&["tag", "-a", "-m", "mine", "mine"]);
        given.push(&second, &[&first]).await.unwrap();
        assert_eq!(given.there(), second);
        assert_eq!(given.sandbox.git_out(&["ls-remote", "--tags", "origin"]), "", "tags are the user's");
    }

    #[tokio::test]
    async fn nobody_is_asked_for_a_password() {
        let given = Given::new().await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
                let answer = "HTTP/1.1 401 x\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                              Content-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
            }
        });
        let (asked, ask) = (given.sandbox.dir().join("asked"), given.sandbox.dir().join("ask"));
        std::fs::write(&ask, format!("#!/bin/sh\ntouch '{}'\necho x\n", asked.display())).unwrap();
        std::fs::set_permissions(&ask, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        given.sandbox.git(&["config", "core.askPass", ask.to_str().unwrap()]);
        given.sandbox.git(&["remote", "set-url", "origin", &format!("http://{address}/a/b.git")]);
        let refused = given.push(&given.sandbox.head(), &[]).await;
        assert!(matches!(&refused, Err(PushError::Auth { .. })), "{refused:?}");
        assert!(!asked.exists(), "a window would have been opened");
    }

    #[test]
    fn passwords_are_not_repeated() {
        let said = "fatal: unable to access 'https://me:s@cret@x.org/a@b/': and http://y/z";
        assert_eq!(without_credentials(said), "fatal: unable to access 'https://x.org/a@b/': and http://y/z");
    }

    #[test]
    fn words_of_git_are_known() {
        let name = |words| match silence(words) {
            Silence::Auth => "auth",
            Silence::Network => "network",
            Silence::Other => "other",
        };
        for (words, expected) in [
            ("fatal: Authentication failed for 'https://x/'", "auth"),
            ("fatal: could not read Username for 'https://x': terminal prompts disabled", "auth"),
            ("git@x: Permission denied (publickey).", "auth"),
            ("fatal: unable to access 'https://x/': Could not resolve host: x", "network"),
            ("ssh: connect to host x port 22: Connection refused", "network"),
            ("The requested URL returned error: 502", "network"),
            ("fatal: '/x' does not appear to be a git repository", "other"),
        ] {
            assert_eq!(name(words), expected, "{words}");
        }
    }
}
