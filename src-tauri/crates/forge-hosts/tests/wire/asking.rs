//! What is sent to the hosts: finding, opening, changing, commenting.

use forge_hosts::NewPullRequest;
use forge_model::pull_request::{PullRequestLink, PullRequestState};
use serde_json::{Value, json};

use crate::{
    dialect::{Dialect, GITEA, GITHUB, GITLAB, NUMBER, Site, TOKEN},
    server::Request,
};

fn new_pull_request(draft: bool) -> NewPullRequest {
    NewPullRequest {
        title: "Amazing new feature".to_owned(),
        body: "Please.".to_owned(),
        head: "forge/1".to_owned(),
        base: "main".to_owned(),
        draft,
    }
}

/// What was sent, but for what every request carries.
fn sent(request: &Request) -> (&str, &str, &Value) {
    (&request.method, &request.target, &request.body)
}

#[tokio::test]
async fn a_pull_request_is_opened() {
    for (dialect, draft, expected) in [
        (
            &GITHUB,
            false,
            json!({"title": "Amazing new feature", "body": "Please.", "head": "forge/1", "base": "main", "draft": false}),
        ),
        (
            &GITHUB,
            true,
            json!({"title": "Amazing new feature", "body": "Please.", "head": "forge/1", "base": "main", "draft": true}),
        ),
        (
            &GITEA,
            false,
            json!({"title": "Amazing new feature", "body": "Please.", "head": "forge/1", "base": "main"}),
        ),
        (
            &GITEA,
            true,
            json!({"title": "WIP: Amazing new feature", "body": "Please.", "head": "forge/1", "base": "main"}),
        ),
        (
            &GITLAB,
            false,
            json!({"title": "Amazing new feature", "description": "Please.", "source_branch": "forge/1", "target_branch": "main"}),
        ),
        (
            &GITLAB,
            true,
            json!({"title": "Draft: Amazing new feature", "description": "Please.", "source_branch": "forge/1", "target_branch": "main"}),
        ),
    ] {
        let server = Site::of(dialect, true).serve(dialect).await;
        let link = dialect.connect(&server.address).create(&new_pull_request(draft)).await.unwrap();
        assert_eq!((link.number, link.state), (NUMBER, PullRequestState::Open), "{}", dialect.kind);
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(sent(&requests[0]), ("POST", dialect.pulls, &expected), "{}", dialect.kind);
    }
}

#[tokio::test]
async fn every_request_says_who_asks_and_in_which_dialect() {
    for (dialect, authorization, accept) in [
        (&GITHUB, "Bearer", "application/vnd.github+json"),
        (&GITEA, "token", "application/json"),
        (&GITLAB, "Bearer", "application/json"),
    ] {
        let server = Site::of(dialect, true).serve(dialect).await;
        dialect.connect(&server.address).create(&new_pull_request(false)).await.unwrap();
        let request = &server.requests()[0];
        assert_eq!(request.header("authorization"), Some(format!("{authorization} {TOKEN}").as_str()));
        assert_eq!(request.header("accept"), Some(accept));
        assert!(request.header("user-agent").unwrap().starts_with("forge/"));
        let version = (dialect.kind == GITHUB.kind).then_some("2022-11-28");
        assert_eq!(request.header("x-github-api-version"), version);
    }
}

#[tokio::test]
async fn title_and_body_are_replaced_and_a_draft_stays_one() {
    for (dialect, method, draft, expected) in [
        (&GITHUB, "PATCH", None, json!({"title": "New", "body": "B"})),
        (&GITEA, "PATCH", Some(json!(false)), json!({"title": "New", "body": "B"})),
        (&GITEA, "PATCH", Some(json!(true)), json!({"title": "WIP: New", "body": "B"})),
        (&GITLAB, "PUT", Some(json!(false)), json!({"title": "New", "description": "B"})),
        (&GITLAB, "PUT", Some(json!(true)), json!({"title": "Draft: New", "description": "B"})),
    ] {
        let site = Site::of(dialect, true);
        if let Some(draft) = draft {
            site.edit(dialect.pull, |pull| pull["draft"] = draft);
        }
        let server = site.serve(dialect).await;
        dialect.connect(&server.address).update(NUMBER, "New", "B").await.unwrap();
        let requests = server.requests();
        assert_eq!(sent(requests.last().unwrap()), (method, dialect.pull, &expected), "{}", dialect.kind);
    }
}

#[tokio::test]
async fn a_comment_is_written() {
    for (dialect, path) in [
        (&GITHUB, "/api/v3/repos/octocat/Hello-World/issues/1347/comments"),
        (&GITEA, "/api/v1/repos/octocat/Hello-World/issues/1347/comments"),
        (&GITLAB, "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests/1347/notes"),
    ] {
        let server = Site::of(dialect, true).serve(dialect).await;
        dialect.connect(&server.address).comment(NUMBER, "Hello").await.unwrap();
        let body = json!({ "body": "Hello" });
        assert_eq!(sent(&server.requests()[0]), ("POST", path, &body));
    }
}

/// The documented pull request with another number, state and time.
fn variant(dialect: &Dialect, number: u32, state: &str, updated: &str) -> Value {
    let mut pull = dialect.pull_fixture();
    let (key, open) = if dialect.kind == GITLAB.kind { ("iid", "opened") } else { ("number", "open") };
    pull[key] = json!(number);
    pull["state"] = json!(if state == "open" { open } else { state });
    pull["updated_at"] = json!(updated);
    pull
}

async fn found(dialect: &Dialect, site: &Site, base: &str) -> Option<PullRequestLink> {
    let server = site.serve(dialect).await;
    dialect.connect(&server.address).find("new-topic", base).await.unwrap()
}

#[tokio::test]
async fn of_several_the_open_one_is_found() {
    const GITHUB_LIST: &str = "/api/v3/repos/octocat/Hello-World/pulls?state=all&head=octocat%3Anew-topic&base=master&sort=updated&direction=desc&per_page=100";
    const GITLAB_LIST: &str = "/api/v4/projects/octocat%2Fhello%2Fworld/merge_requests?state=all&source_branch=new-topic&target_branch=master&order_by=updated_at&sort=desc&per_page=100";
    for (dialect, list) in [(&GITHUB, GITHUB_LIST), (&GITLAB, GITLAB_LIST)] {
        let site = Site::empty();
        let closed = variant(dialect, 9, "closed", "2024-05-01T00:00:00Z");
        let older = variant(dialect, 8, "closed", "2024-04-01T00:00:00Z");
        let open = variant(dialect, 7, "open", "2024-03-01T00:00:00Z");
        let mut forked = variant(dialect, 6, "open", "2024-06-01T00:00:00Z");
        forked["source_project_id"] = json!(1);
        forked["head"]["ref"] = json!("of-a-fork");
        site.set(list, vec![json!([closed, older, open, forked])]);
        assert_eq!(
            found(dialect, &site, "master").await.map(|link| link.number),
            Some(7),
            "{}",
            dialect.kind
        );
        site.set(list, vec![json!([older, closed])]);
        let link = found(dialect, &site, "master").await.unwrap();
        assert_eq!((link.number, link.state), (9, PullRequestState::Closed), "{}", dialect.kind);
        site.set(list, vec![json!([])]);
        assert_eq!(found(dialect, &site, "master").await, None, "{}", dialect.kind);
    }
}

#[tokio::test]
async fn gitea_is_asked_by_branches_and_then_for_a_newer_one() {
    const BETWEEN: &str = "/api/v1/repos/octocat/Hello-World/pulls/master/new-topic";
    const OPEN: &str = "/api/v1/repos/octocat/Hello-World/pulls?state=open&sort=recentupdate&limit=50";
    const EVERY: &str = "/api/v1/repos/octocat/Hello-World/pulls?state=all&sort=recentupdate&limit=50";
    let site = Site::empty();
    assert_eq!(found(&GITEA, &site, "master").await, None);

    let closed = variant(&GITEA, 8, "closed", "2024-05-01T00:00:00Z");
    let open = variant(&GITEA, 9, "open", "2024-03-01T00:00:00Z");
    site.set(BETWEEN, vec![closed.clone()]);
    site.set(OPEN, vec![json!([]), json!([])]);
    assert_eq!(found(&GITEA, &site, "master").await.map(|link| link.number), Some(8));
    let mut other = variant(&GITEA, 3, "open", "2024-06-01T00:00:00Z");
    other["head"]["repo_id"] = json!(99);
    site.set(OPEN, vec![json!([other]), json!([open])]);
    assert_eq!(found(&GITEA, &site, "master").await.map(|link| link.number), Some(9));

    // A base with a slash cannot be in the path.
    let mut released = variant(&GITEA, 5, "open", "2024-05-01T00:00:00Z");
    released["base"]["label"] = json!("release/1");
    site.set(EVERY, vec![json!([closed, released])]);
    assert_eq!(found(&GITEA, &site, "release/1").await.map(|link| link.number), Some(5));
}

#[tokio::test]
async fn branches_keep_their_slashes() {
    for (dialect, target) in [
        (&GITHUB, "head=octocat%3Aforge%2F1&base=main"),
        (&GITEA, "/pulls/main/forge/1"),
        (&GITLAB, "source_branch=forge%2F1&target_branch=main"),
    ] {
        let server = Site::empty().serve(dialect).await;
        // What is found does not matter here.
        let _ = dialect.connect(&server.address).find("forge/1", "main").await;
        assert!(server.requests()[0].target.contains(target), "{}", dialect.kind);
    }
}
