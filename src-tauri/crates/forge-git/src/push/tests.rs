//! Pushes, and what a remote holds.

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
