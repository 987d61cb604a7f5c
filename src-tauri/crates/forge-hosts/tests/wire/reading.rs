//! Looking at a pull request: what is seen, and what is not asked for again.

use forge_hosts::{Etags, Fetched, Quota};
use forge_model::{
    pull_request::{HostCheckStatus, HostKind, Mergeable, PullRequest, PullRequestState},
    time::Timestamp,
};
use serde_json::{Value, json};

use crate::{
    dialect::{ALL, Dialect, GITEA, GITHUB, GITLAB, NUMBER, Site, first_look},
    server::{Reply, Server},
};

async fn seen(dialect: &Dialect, site: &Site) -> PullRequest {
    let server = site.serve(dialect).await;
    first_look(dialect.connect(&server.address).as_ref()).await.unwrap()
}

#[tokio::test]
async fn a_pull_request_is_read_at_github() {
    insta::assert_json_snapshot!("github", seen(&GITHUB, &Site::of(&GITHUB, true)).await);
}

#[tokio::test]
async fn a_pull_request_is_read_at_gitea() {
    insta::assert_json_snapshot!("gitea", seen(&GITEA, &Site::of(&GITEA, false)).await);
}

#[tokio::test]
async fn a_merge_request_is_read_at_gitlab() {
    insta::assert_json_snapshot!("gitlab", seen(&GITLAB, &Site::of(&GITLAB, true)).await);
}

#[tokio::test]
async fn merged_and_closed_are_told_apart() {
    let merged = [
        json!({ "state": "closed", "merged": true, "merged_at": "2024-03-01T10:00:00Z", "merge_commit_sha": "abc" }),
        json!({ "state": "closed", "merged": true, "merge_commit_sha": "abc" }),
        json!({ "state": "merged", "merge_commit_sha": "abc" }),
    ];
    for (dialect, merged) in ALL.into_iter().zip(merged) {
        let site = Site::of(dialect, true);
        site.edit(dialect.pull, |pull| pull["state"] = json!("closed"));
        let closed = seen(dialect, &site).await;
        assert_eq!((closed.state, closed.merge_commit), (PullRequestState::Closed, None), "{}", dialect.kind);
        site.edit(dialect.pull, |pull| overlay(pull, &merged));
        let merged = seen(dialect, &site).await;
        let found = (merged.state, merged.merge_commit.as_deref());
        assert_eq!(found, (PullRequestState::Merged, Some("abc")), "{}", dialect.kind);
    }
}

#[tokio::test]
async fn a_fast_forward_is_the_branchs_own_commit() {
    let site = Site::of(&GITLAB, true);
    site.edit(GITLAB.pull, |request| request["state"] = json!("merged"));
    let forwarded = seen(&GITLAB, &site).await;
    assert_eq!(forwarded.merge_commit.as_ref(), Some(&forwarded.head_commit));
    site.edit(GITLAB.pull, |request| request["squash_commit_sha"] = json!("squashed"));
    assert_eq!(seen(&GITLAB, &site).await.merge_commit.as_deref(), Some("squashed"));
}

#[tokio::test]
async fn drafts_and_conflicts_are_seen() {
    use Mergeable::{No, Unknown, Yes};
    for (dialect, change, draft, mergeable) in [
        (&GITHUB, json!({ "draft": true, "mergeable": null }), true, Unknown),
        (&GITHUB, json!({ "mergeable": false }), false, No),
        (
            &GITEA,
            json!({ "draft": true, "title": "WIP: Amazing new feature", "mergeable": false }),
            true,
            Unknown,
        ),
        // Older versions do not say whether it is a draft.
        (
            &GITEA,
            json!({ "draft": null, "title": "[wip] Amazing new feature", "mergeable": false }),
            true,
            Unknown,
        ),
        (&GITEA, json!({ "mergeable": false }), false, No),
        (&GITLAB, json!({ "draft": true, "title": "Draft: Amazing new feature" }), true, Yes),
        (&GITLAB, json!({ "has_conflicts": true }), false, No),
        (&GITLAB, json!({ "detailed_merge_status": "need_rebase" }), false, No),
        (&GITLAB, json!({ "detailed_merge_status": "checking" }), false, Unknown),
        (&GITLAB, json!({ "detailed_merge_status": null, "merge_status": "cannot_be_merged" }), false, No),
    ] {
        let site = Site::of(dialect, true);
        site.edit(dialect.pull, |pull| overlay(pull, &change));
        let found = seen(dialect, &site).await;
        let found = (found.title.as_str(), found.draft, found.mergeable);
        assert_eq!(found, ("Amazing new feature", draft, mergeable), "{} {change}", dialect.kind);
    }
}

#[tokio::test]
async fn what_did_not_change_is_not_sent_again() {
    for dialect in ALL {
        let site = Site::of(dialect, true);
        let server = site.serve(dialect).await;
        let host = dialect.connect(&server.address);
        let mut etags = Etags::default();
        host.state(NUMBER, &mut etags).await.unwrap();
        let first = server.requests();
        assert!(first.iter().all(|request| request.header("if-none-match").is_none()));

        assert_eq!(host.state(NUMBER, &mut etags).await.unwrap(), Fetched::NotModified);
        let second = server.requests();
        assert_eq!(second.len(), first.len(), "{}", dialect.kind);
        assert!(second.iter().all(|request| request.header("if-none-match").is_some()), "{}", dialect.kind);

        let before = etags.last().unwrap().clone();
        site.edit(dialect.comments, |comments| {
            let mut comment = comments[0].clone();
            overlay(&mut comment, &json!({ "id": 9000, "body": "one more thing" }));
            comments.as_array_mut().unwrap().push(comment);
        });
        let Fetched::Changed(after) = host.state(NUMBER, &mut etags).await.unwrap() else {
            panic!("a comment came at {}", dialect.kind)
        };
        assert_eq!(after.comments.len(), before.comments.len() + 1, "{}", dialect.kind);
        assert!(after.comments.iter().any(|comment| comment.body == "one more thing"));
        assert_eq!(after.checks, before.checks, "kept from the last time at {}", dialect.kind);
    }
}

#[tokio::test]
async fn a_host_without_tags_is_compared() {
    for dialect in ALL {
        let site = Site::of(dialect, false);
        let server = site.serve(dialect).await;
        let host = dialect.connect(&server.address);
        let mut etags = Etags::default();
        host.state(NUMBER, &mut etags).await.unwrap();
        assert_eq!(host.state(NUMBER, &mut etags).await.unwrap(), Fetched::NotModified, "{}", dialect.kind);
        site.edit(dialect.pull, |pull| pull["title"] = json!("Another title"));
        let again = host.state(NUMBER, &mut etags).await.unwrap();
        assert!(matches!(again, Fetched::Changed(_)), "{}", dialect.kind);
    }
}

#[tokio::test]
async fn checks_are_followed() {
    for (dialect, list, change) in [
        (&GITHUB, "check_runs", json!({ "status": "completed", "conclusion": "failure" })),
        (&GITEA, "statuses", json!({ "status": "failure" })),
        (&GITLAB, "", json!({ "status": "failed", "allow_failure": false })),
    ] {
        let site = Site::of(dialect, true);
        let server = site.serve(dialect).await;
        let host = dialect.connect(&server.address);
        let mut etags = Etags::default();
        host.state(NUMBER, &mut etags).await.unwrap();
        let failed = |etags: &Etags| {
            let checks = &etags.last().unwrap().checks;
            checks.iter().filter(|check| check.status == HostCheckStatus::Failed).count()
        };
        let before = failed(&etags);
        site.edit(dialect.checks, |checks| {
            let checks = if list.is_empty() { checks } else { &mut checks[list] };
            overlay(&mut checks[0], &change);
        });
        host.state(NUMBER, &mut etags).await.unwrap();
        assert_eq!(failed(&etags), before + 1, "{}", dialect.kind);
    }
}

#[tokio::test]
async fn a_word_that_nobody_knows_is_shown() {
    let site = Site::of(&GITLAB, true);
    site.edit(GITLAB.checks, |checks| checks[1]["status"] = json!("levitating"));
    let found = seen(&GITLAB, &site).await;
    let check = found.checks.iter().find(|check| check.name == "flay").unwrap();
    assert_eq!(check.status, HostCheckStatus::Pending);
    assert_eq!(check.summary.as_deref(), Some("the host calls it `levitating`"));
}

#[tokio::test]
async fn lists_are_read_to_their_end() {
    for dialect in ALL {
        let site = Site::of(dialect, true);
        let server = site.serve(dialect).await;
        let host = dialect.connect(&server.address);
        let page_size: u64 = if dialect.kind == HostKind::Gitea { 50 } else { 100 };
        let template = comment_template(dialect);
        let page = |from: u64, count: u64| -> Value {
            (from..from + count)
                .map(|id| {
                    let mut comment = template.clone();
                    comment["id"] = json!(id);
                    comment
                })
                .collect()
        };
        let numbered = |etags: &Etags| {
            let comments = &etags.last().unwrap().comments;
            comments.iter().filter(|comment| comment.body == "counted").count() as u64
        };
        let mut etags = Etags::default();
        site.set(dialect.comments, vec![page(1000, page_size), page(2000, page_size)]);
        host.state(NUMBER, &mut etags).await.unwrap();
        assert_eq!(numbered(&etags), 2 * page_size, "{}", dialect.kind);

        // A third page begins while the others stay as they were.
        site.set(dialect.comments, vec![page(1000, page_size), page(2000, page_size), page(3000, 1)]);
        host.state(NUMBER, &mut etags).await.unwrap();
        assert_eq!(numbered(&etags), 2 * page_size + 1, "{}", dialect.kind);
    }
}

#[tokio::test]
async fn pages_that_nobody_names_are_counted() {
    let pull = GITEA.pull_fixture();
    let server = Server::start(move |request| {
        if request.target == GITEA.pull {
            return Reply::json(200, &pull);
        }
        let number = request.target.rsplit_once("page=").unwrap().1;
        let statuses = json!([{ "context": format!("ci/{number}"), "status": "success" }]);
        if request.target.contains("/status?") {
            return Reply::json(200, &json!({ "statuses": statuses })).with("x-total-count", "3");
        }
        Reply::json(200, &json!([])).with("x-total-count", "0")
    })
    .await;
    let found = first_look(GITEA.connect(&server.address).as_ref()).await.unwrap();
    let names: Vec<&str> = found.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["ci/1", "ci/2", "ci/3"]);
}

#[tokio::test]
async fn what_the_token_may_not_see_does_not_hide_the_rest() {
    let pull = GITHUB.pull_fixture();
    let server = Server::start(move |request| match request.target.as_str() {
        target if target == GITHUB.pull => Reply::json(200, &pull),
        target if target.contains("/check-runs") => {
            Reply::json(403, &json!({ "message": "Resource not accessible by personal access token" }))
                .with("x-accepted-github-permissions", "checks=read")
        }
        target if target.contains("/status") => Reply::json(200, &json!({ "statuses": [] })),
        _ => Reply::json(200, &json!([])),
    })
    .await;
    let found = first_look(GITHUB.connect(&server.address).as_ref()).await.unwrap();
    let [unread] = found.unread.as_slice() else { panic!("{:?}", found.unread) };
    assert_eq!(unread.what, "check runs");
    assert_eq!(unread.why, "the host denied access: the token needs the permission checks=read");
}

#[tokio::test]
async fn what_the_host_grants_is_remembered() {
    for (dialect, prefix) in [(&GITHUB, "x-ratelimit"), (&GITLAB, "ratelimit")] {
        let pull = dialect.pull_fixture();
        let server = Server::start(move |_| {
            Reply::json(200, &json!([pull.clone()]))
                .with(&format!("{prefix}-remaining"), "42")
                .with(&format!("{prefix}-reset"), "1700000600")
        })
        .await;
        let host = dialect.connect(&server.address);
        assert_eq!(host.quota(), None);
        host.find("new-topic", "master").await.unwrap();
        let expected = Quota { remaining: 42, reset_at: Timestamp(1_700_000_600_000) };
        assert_eq!(host.quota(), Some(expected), "{}", dialect.kind);
    }
}

fn comment_template(dialect: &Dialect) -> Value {
    let mut comment = json!({
        "body": "counted", "created_at": "2024-03-01T10:00:00Z",
        "user": { "login": "octocat" }, "author": { "username": "octocat" },
    });
    if dialect.kind == HostKind::Gitlab {
        comment["system"] = json!(false);
    }
    comment
}

fn overlay(value: &mut Value, change: &Value) {
    for (key, new) in change.as_object().unwrap() {
        value[key] = new.clone();
    }
}
