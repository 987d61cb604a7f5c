//! The fake host as the real clients see it, in every dialect.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

use std::{sync::Arc, time::Duration};

use forge_hosts::{Etags, Fetched, Host, HostError, NewPullRequest, Token, connect};
use forge_model::{
    pull_request::{HostCheckStatus, HostKind, HostVerdict, Mergeable, PullRequest, PullRequestState},
    time::Timestamp,
};
use forge_testkit::{
    Repository,
    hosts::{FakeHost, HostFault, TOKEN},
};

const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// A clone with a pushed branch, and the host that it was pushed to.
struct World {
    host: FakeHost,
    client: Arc<dyn Host>,
    clone: Repository,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new(kind: HostKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = FakeHost::start(kind, &folder.path().join("host.git")).await.unwrap();
        let clone = Repository::create(&folder.path().join("clone"), &[("a.txt", "one\n")]).unwrap();
        clone.git(&["remote", "add", "origin", host.repository().to_str().unwrap()]).unwrap();
        clone.git(&["push", "--quiet", "origin", "main"]).unwrap();
        let client = connect_with(&host, TOKEN);
        let world = Self { host, client, clone, _folder: folder };
        world.push("forge/1", "b.txt", "two\n");
        world
    }

    /// A commit on a branch, made and pushed.
    fn push(&self, branch: &str, file: &str, content: &str) -> String {
        if self.clone.git(&["switch", "--quiet", branch]).is_err() {
            self.clone.git(&["switch", "--quiet", "--create", branch, "main"]).unwrap();
        }
        self.clone.write(file, content).unwrap();
        let commit = self.clone.commit("work").unwrap();
        self.clone.git(&["push", "--quiet", "origin", branch]).unwrap();
        self.clone.git(&["switch", "--quiet", "main"]).unwrap();
        commit
    }

    async fn create(&self, draft: bool) -> Result<u32, HostError> {
        let new = NewPullRequest {
            title: "Add two".to_owned(),
            body: "It counts.".to_owned(),
            head: "forge/1".to_owned(),
            base: "main".to_owned(),
            draft,
        };
        self.client.create(&new).await.map(|link| link.number)
    }

    /// The pull request that is found for the branch.
    async fn found(&self) -> Option<(u32, PullRequestState)> {
        let found = self.client.find("forge/1", "main").await.unwrap();
        found.map(|link| (link.number, link.state))
    }

    async fn look(&self, number: u32) -> PullRequest {
        changed(self.client.state(number, &mut Etags::default()).await.unwrap())
    }
}

fn changed(fetched: Fetched) -> PullRequest {
    match fetched {
        Fetched::Changed(seen) => *seen,
        Fetched::NotModified => panic!("nothing changed"),
    }
}

fn connect_with(host: &FakeHost, token: &str) -> Arc<dyn Host> {
    let token = Token::new(token).unwrap();
    connect(&host.config("origin"), token, Arc::new(|| NOW), Duration::from_secs(60)).unwrap()
}

#[tokio::test]
async fn a_branch_is_pushed_asked_for_and_merged() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        assert_eq!(world.found().await, None, "{kind}");
        let number = world.create(false).await.unwrap();
        assert_eq!(world.found().await, Some((number, PullRequestState::Open)), "{kind}");

        let mut etags = Etags::default();
        let open = changed(world.client.state(number, &mut etags).await.unwrap());
        assert_eq!((&*open.title, &*open.head, &*open.base), ("Add two", "forge/1", "main"), "{kind}");
        assert_eq!((open.state, open.mergeable), (PullRequestState::Open, Mergeable::Yes), "{kind}");
        assert_eq!(open.head_commit, world.clone.git(&["rev-parse", "forge/1"]).unwrap());
        assert_eq!(open.merge_commit, None, "{kind}");
        assert_eq!(world.client.state(number, &mut etags).await.unwrap(), Fetched::NotModified, "{kind}");

        let commit = world.host.merge(number).unwrap();
        let merged = changed(world.client.state(number, &mut etags).await.unwrap());
        assert_eq!((merged.state, merged.merge_commit.as_ref()), (PullRequestState::Merged, Some(&commit)));
        world.clone.git(&["fetch", "--quiet", "origin"]).unwrap();
        assert_eq!(world.clone.git(&["rev-parse", "origin/main"]).unwrap(), commit);
        assert_eq!(world.clone.show("origin/main", "b.txt").as_deref(), Some("two"));
        assert!(world.host.merge(number).is_err(), "only once");
    }
}

#[tokio::test]
async fn a_squash_leaves_the_branch_out() {
    let world = World::new(HostKind::Gitlab).await;
    let number = world.create(false).await.unwrap();
    let commit = world.host.squash(number).unwrap();
    assert_eq!(world.look(number).await.merge_commit, Some(commit));
    world.clone.git(&["fetch", "--quiet", "origin"]).unwrap();
    assert_eq!(world.clone.show("origin/main", "b.txt").as_deref(), Some("two"));
    assert!(world.clone.git(&["merge-base", "--is-ancestor", "forge/1", "origin/main"]).is_err());
}

#[tokio::test]
async fn closing_and_opening_again_is_seen() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        world.host.close(number).unwrap();
        assert_eq!(world.look(number).await.state, PullRequestState::Closed, "{kind}");
        assert_eq!(world.found().await, Some((number, PullRequestState::Closed)), "{kind}");

        let second = world.create(false).await.unwrap();
        assert_eq!(world.found().await, Some((second, PullRequestState::Open)), "{kind}");
        world.host.close(second).unwrap();
        world.host.reopen(number).unwrap();
        assert_eq!(world.found().await, Some((number, PullRequestState::Open)), "{kind}");
    }
}

#[tokio::test]
async fn what_people_say_arrives() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        world.host.comment(number, "ada", "Why?").unwrap();
        world.host.comment_on_line(number, "bob", "b.txt", 1, "Spell it out").unwrap();
        world.host.review(number, "cleo", HostVerdict::ChangesRequested, "Not yet").unwrap();
        world.client.comment(number, "Because.").await.unwrap();
        let comments = world.look(number).await.comments.into_iter();
        let said: Vec<_> =
            comments.map(|it| (it.author, it.body, it.path.zip(it.line), it.verdict)).collect();
        let text = |author: &str, body: &str| (author.to_owned(), body.to_owned(), None, None);
        let verdict = (*kind != HostKind::Gitlab).then_some(HostVerdict::ChangesRequested);
        let expected = [
            text("ada", "Why?"),
            ("bob".to_owned(), "Spell it out".to_owned(), Some(("b.txt".to_owned(), 1)), None),
            ("cleo".to_owned(), "Not yet".to_owned(), None, verdict),
            text("forge", "Because."),
        ];
        assert_eq!(said, expected, "{kind}");
    }
}

#[tokio::test]
async fn checks_belong_to_a_commit() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        let mut etags = Etags::default();
        for (status, summary) in [
            (HostCheckStatus::Pending, "runs"),
            (HostCheckStatus::Failed, "two tests failed"),
            (HostCheckStatus::Passed, "all good"),
            (HostCheckStatus::Skipped, "nothing to do"),
        ] {
            world.host.set_check(number, "ci/test", status, summary).unwrap();
            world.client.state(number, &mut etags).await.unwrap();
            let seen = etags.last().unwrap().checks.clone();
            let check = seen.iter().find(|check| check.name == "ci/test").unwrap();
            assert_eq!((check.status, check.summary.as_deref()), (status, Some(summary)), "{kind}");
        }
        let commit = world.push("forge/1", "c.txt", "three\n");
        let pushed = world.look(number).await;
        assert_eq!((pushed.head_commit, pushed.checks), (commit, vec![]), "{kind}");
    }
}

#[tokio::test]
async fn drafts_stay_drafts_when_their_text_changes() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(true).await.unwrap();
        world.client.update(number, "Add two and three", "It counts on.").await.unwrap();
        let seen = world.look(number).await;
        assert_eq!((&*seen.title, seen.draft), ("Add two and three", true), "{kind}");
        let pull = &world.host.pull_requests()[0];
        assert_eq!((&*pull.title, &*pull.body), ("Add two and three", "It counts on."), "{kind}");
    }
}

#[tokio::test]
async fn conflicts_are_seen_and_not_merged() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        world.push("main", "b.txt", "another two\n");
        assert_eq!(world.look(number).await.mergeable, Mergeable::No, "{kind}");
        assert!(world.host.merge(number).is_err(), "{kind}");
    }
}

#[tokio::test]
async fn a_second_one_between_the_same_branches_is_refused() {
    for (kind, expected) in HostKind::ALL.iter().zip([422, 409, 409]) {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        let error = world.create(false).await.unwrap_err();
        let HostError::Refused { status, .. } = error else { panic!("{kind}: {error:?}") };
        assert_eq!(status, expected, "{kind}");
        assert_eq!(world.found().await, Some((number, PullRequestState::Open)), "{kind}");
    }
}

#[tokio::test]
async fn long_talks_come_in_pages() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        for count in 0..205 {
            world.host.comment(number, "ada", &count.to_string()).unwrap();
        }
        let said: Vec<String> = world.look(number).await.comments.into_iter().map(|it| it.body).collect();
        let expected: Vec<String> = (0..205).map(|count: u32| count.to_string()).collect();
        assert_eq!(said, expected, "{kind}");
    }
}

#[tokio::test]
async fn a_host_can_be_in_trouble() {
    for kind in HostKind::ALL {
        let world = World::new(*kind).await;
        let number = world.create(false).await.unwrap();
        let error = connect_with(&world.host, "another").find("forge/1", "main").await.unwrap_err();
        assert!(matches!(error, HostError::NotSignedIn { .. }), "{kind}: {error:?}");

        for (fault, expected) in [
            (HostFault::Busy(5), HostError::RateLimited { until: NOW.plus_ms(5000) }),
            (HostFault::Forbidden, HostError::Forbidden { missing: "The token may not do this".to_owned() }),
            (HostFault::Broken, HostError::Refused { status: 500, message: "Server Error".to_owned() }),
        ] {
            world.host.set_fault(Some(fault));
            assert_eq!(world.client.comment(number, "Hello").await, Err(expected), "{kind}");
        }
        world.host.set_fault(None);

        world.host.go_offline().await;
        let error = world.client.comment(number, "Hello").await.unwrap_err();
        assert!(matches!(error, HostError::Offline { .. }), "{kind}: {error:?}");
        world.host.come_back().await.unwrap();
        world.client.comment(number, "Hello").await.unwrap();
        assert_eq!(world.host.pull_requests()[0].comments.len(), 1, "{kind}");
    }
}
