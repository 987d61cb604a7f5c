//! Issues: lists in pages, single ones, their last comments, and who can see the repository.

use forge_hosts::{HostError, IssueEtags};
use forge_model::{
    issue::{IssueFilter, IssueQuery, IssueState, LabelChange},
    pull_request::HostKind,
};
use serde_json::{Value, json};

use crate::{
    dialect::{ALL, Dialect, GITEA, GITHUB, GITLAB},
    server::{Reply, Server},
};

/// The repository's path in the interface.
fn repo(dialect: &Dialect) -> &'static str {
    match dialect.kind {
        HostKind::Github => "/api/v3/repos/octocat/Hello-World",
        HostKind::Gitea => "/api/v1/repos/octocat/Hello-World",
        HostKind::Gitlab => "/api/v4/projects/octocat%2Fhello%2Fworld",
    }
}

/// An issue in the shape that the host documents.
fn issue(dialect: &Dialect, number: u32) -> Value {
    match dialect.kind {
        HostKind::Github => json!({
            "number": number, "html_url": format!("https://host/octocat/Hello-World/issues/{number}"),
            "title": "Found a bug", "body": "I'm having a problem with this.", "state": "open",
            "labels": [{ "id": 208_045_946, "name": "bug", "color": "f29513" }, "plain"],
            "user": { "login": "octocat", "id": 1 }, "comments": 2, "locked": false,
            "created_at": "2024-03-01T10:00:00Z", "updated_at": "2024-03-02T10:00:00Z",
        }),
        HostKind::Gitea => json!({
            "number": number, "html_url": format!("https://host/octocat/Hello-World/issues/{number}"),
            "title": "Found a bug", "body": "I'm having a problem with this.", "state": "open",
            "labels": [{ "id": 1, "name": "bug" }, { "id": 2, "name": "plain" }],
            "user": { "login": "octocat" }, "comments": 2, "pull_request": null,
            "created_at": "2024-03-01T10:00:00Z", "updated_at": "2024-03-02T10:00:00Z",
        }),
        HostKind::Gitlab => json!({
            "iid": number, "id": 76, "web_url": format!("https://host/octocat/Hello-World/issues/{number}"),
            "title": "Found a bug", "description": "I'm having a problem with this.", "state": "opened",
            "labels": ["bug", "plain"], "author": { "username": "octocat" }, "user_notes_count": 2,
            "created_at": "2024-03-01T10:00:00Z", "updated_at": "2024-03-02T10:00:00Z",
        }),
    }
}

fn query(text: Option<&str>, labels: &[&str], state: IssueFilter) -> IssueQuery {
    IssueQuery {
        text: text.map(str::to_owned),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        state,
    }
}

#[tokio::test]
async fn issue_is_read_alike_at_every_host() {
    for dialect in ALL {
        let server = Server::start(move |_| Reply::json(200, &issue(dialect, 7))).await;
        let found = dialect.connect(&server.address).issue(7).await.unwrap();
        assert_eq!(server.requests()[0].target, format!("{}/issues/7", repo(dialect)));
        assert_eq!((found.reference.as_str(), found.title.as_str()), ("7", "Found a bug"));
        assert_eq!(found.url.as_deref(), Some("https://host/octocat/Hello-World/issues/7"));
        assert_eq!((found.body.as_str(), found.state), ("I'm having a problem with this.", IssueState::Open));
        assert_eq!(found.labels, ["bug", "plain"], "{}", dialect.kind);
        assert_eq!((found.author.as_deref(), found.comment_count), (Some("octocat"), 2));
    }
}

#[tokio::test]
async fn list_asks_for_labels_state_and_words() {
    for (dialect, query, expected) in [
        (
            &GITHUB,
            query(None, &["good first issue", "a"], IssueFilter::All),
            "/api/v3/repos/octocat/Hello-World/issues?state=all&labels=good%20first%20issue,a&sort=created&direction=desc&per_page=100&page=2",
        ),
        (
            &GITHUB,
            query(Some("dates"), &["a b"], IssueFilter::Open),
            "/api/v3/search/issues?q=repo%3Aoctocat%2FHello-World%20is%3Aissue%20dates%20state%3Aopen%20label%3A%22a%20b%22&sort=created&order=desc&per_page=100&page=2",
        ),
        (
            &GITEA,
            query(Some("a&b"), &["x"], IssueFilter::Closed),
            "/api/v1/repos/octocat/Hello-World/issues?type=issues&state=closed&q=a%26b&labels=x&limit=50&page=2",
        ),
        (
            &GITLAB,
            query(Some("dates"), &["x", "y"], IssueFilter::Open),
            "/api/v4/projects/octocat%2Fhello%2Fworld/issues?state=opened&search=dates&labels=x,y&order_by=created_at&sort=desc&per_page=100&page=2",
        ),
    ] {
        let server = Server::start(|request| {
            let items = json!([]);
            let is_search = request.target.contains("/search/");
            Reply::json(200, &if is_search { json!({ "total_count": 0, "items": items }) } else { items })
        })
        .await;
        let host = dialect.connect(&server.address);
        host.issues(&query, 2, &mut IssueEtags::default()).await.unwrap();
        assert_eq!(server.requests()[0].target, expected);
    }
}

#[tokio::test]
async fn page_that_did_not_change_is_not_sent_again() {
    for dialect in ALL {
        let server = Server::start(move |request| match request.header("if-none-match") {
            Some("\"1\"") => Reply::new(304, ""),
            _ => Reply::json(200, &json!([issue(dialect, 1)]))
                .with("etag", "\"1\"")
                .with("link", "<https://host/x?page=2>; rel=\"next\""),
        })
        .await;
        let host = dialect.connect(&server.address);
        let (query, mut known) = (query(None, &[], IssueFilter::Open), IssueEtags::default());
        let first = host.issues(&query, 1, &mut known).await.unwrap();
        assert!(first.more && first.issues.len() == 1, "{}", dialect.kind);
        let again = host.issues(&query, 1, &mut known).await.unwrap();
        assert_eq!(again, first, "{}", dialect.kind);
        let asked: Vec<bool> =
            server.requests().iter().map(|request| request.header("if-none-match").is_some()).collect();
        assert_eq!(asked, [false, true]);
    }
}

#[tokio::test]
async fn pages_that_gitea_does_not_name_are_counted() {
    let server =
        Server::start(|_| Reply::json(200, &json!([issue(&GITEA, 1)])).with("x-total-count", "2")).await;
    let (host, query) = (GITEA.connect(&server.address), query(None, &[], IssueFilter::Open));
    assert!(host.issues(&query, 1, &mut IssueEtags::default()).await.unwrap().more);
    assert!(!host.issues(&query, 2, &mut IssueEtags::default()).await.unwrap().more);
}

#[tokio::test]
async fn pull_requests_and_other_repositories_are_no_issues_of_github() {
    let server = Server::start(|request| {
        let mut pull = issue(&GITHUB, 2);
        pull["pull_request"] = json!({ "url": "https://host/pulls/2" });
        let mut other = issue(&GITHUB, 3);
        other["repository_url"] = json!("https://host/api/v3/repos/octocat/other");
        let mut ours = issue(&GITHUB, 1);
        ours["repository_url"] = json!("https://host/api/v3/repos/Octocat/hello-world");
        if request.target.ends_with("/issues/2") {
            return Reply::json(200, &pull);
        }
        Reply::json(200, &json!({ "total_count": 3, "items": [ours, pull, other] }))
    })
    .await;
    let host = GITHUB.connect(&server.address);
    let query = query(Some("bug"), &[], IssueFilter::Open);
    let page = host.issues(&query, 1, &mut IssueEtags::default()).await.unwrap();
    let found: Vec<&str> = page.issues.iter().map(|issue| issue.reference.as_str()).collect();
    assert_eq!(found, ["1"]);
    assert!(matches!(host.issue(2).await, Err(HostError::NotFound { .. })));
}

#[tokio::test]
async fn last_comments_are_read_oldest_first() {
    for dialect in ALL {
        let server = Server::start(move |request| {
            let page: u32 = request.target.rsplit_once("page=").map_or(1, |(_, page)| page.parse().unwrap());
            let first = (page - 1) * 100 + 1;
            let count = if dialect.kind == HostKind::Github && page == 2 { 5 } else { 100 };
            let mut all: Vec<Value> = (first..first + count)
                .map(|number| {
                    json!({
                        "id": number, "body": format!("comment {number}"), "system": number % 2 == 0,
                        "user": { "login": "mona" }, "author": { "username": "mona" },
                        "created_at": format!("2024-03-01T{:02}:{:02}:00Z", number / 60, number % 60),
                    })
                })
                .collect();
            if dialect.kind == HostKind::Gitlab {
                all.reverse();
            }
            Reply::json(200, &Value::Array(all))
        })
        .await;
        let host = dialect.connect(&server.address);
        let count = if dialect.kind == HostKind::Github { 105 } else { 100 };
        let found = host.issue_comments(7, count).await.unwrap();
        let last = if dialect.kind == HostKind::Gitlab { 99 } else { count };
        assert_eq!(found.len(), 20, "{}", dialect.kind);
        assert_eq!(found[19].body, format!("comment {last}"), "{}", dialect.kind);
        assert!(found[0].at < found[19].at && found[0].author == "mona");
    }
}

#[tokio::test]
async fn repository_beyond_its_members_is_public() {
    for (dialect, body, expected) in [
        (&GITHUB, json!({ "private": false }), true),
        (&GITHUB, json!({ "private": true, "visibility": "internal" }), false),
        (&GITEA, json!({ "private": false, "internal": false }), true),
        (&GITEA, json!({ "private": true, "internal": true }), true),
        (&GITEA, json!({ "private": true, "internal": false }), false),
        (&GITLAB, json!({ "visibility": "public" }), true),
        (&GITLAB, json!({ "visibility": "internal" }), true),
        (&GITLAB, json!({ "visibility": "private" }), false),
    ] {
        let shown = body.to_string();
        let server = Server::start(move |_| Reply::json(200, &body)).await;
        let host = dialect.connect(&server.address);
        assert_eq!(host.is_public().await.unwrap(), expected, "{} {shown}", dialect.kind);
        assert_eq!(server.requests()[0].target, repo(dialect));
    }
}

#[tokio::test]
async fn refusal_of_a_list_says_what_to_do() {
    for dialect in ALL {
        for (status, expected) in
            [(401, "NotSignedIn"), (403, "Forbidden"), (404, "NotFound"), (429, "RateLimited")]
        {
            let server = Server::start(move |_| Reply::json(status, &json!({ "message": "no" }))).await;
            let host = dialect.connect(&server.address);
            let query = query(None, &[], IssueFilter::Open);
            let refused = host.issues(&query, 1, &mut IssueEtags::default()).await.unwrap_err();
            assert!(format!("{refused:?}").starts_with(expected), "{} {refused:?}", dialect.kind);
        }
    }
}

#[tokio::test]
async fn issue_is_commented_on_and_closed() {
    for (dialect, comments, method, closes) in [
        (&GITHUB, "comments", "PATCH", json!({ "state": "closed" })),
        (&GITEA, "comments", "PATCH", json!({ "state": "closed" })),
        (&GITLAB, "notes", "PUT", json!({ "state_event": "close" })),
    ] {
        let server = Server::start(|_| Reply::json(200, &json!({}))).await;
        let host = dialect.connect(&server.address);
        host.comment_issue(7, "Done.").await.unwrap();
        host.close_issue(7).await.unwrap();
        let requests = server.requests();
        let asked: Vec<_> =
            requests.iter().map(|it| (it.method.as_str(), it.target.clone(), &it.body)).collect();
        let issue = format!("{}/issues/7", repo(dialect));
        let body = json!({ "body": "Done." });
        assert_eq!(asked, [("POST", format!("{issue}/{comments}"), &body), (method, issue.clone(), &closes)]);
    }
}

#[tokio::test]
async fn labels_that_an_issue_has_or_lacks_already_are_left_alone() {
    let change = |add: Option<&str>, remove: &[&str]| LabelChange {
        add: add.map(str::to_owned),
        remove: remove.iter().map(|label| (*label).to_owned()).collect(),
    };
    for dialect in ALL {
        let server = Server::start(move |request| match request.target.rsplit_once("/labels") {
            Some((of, _)) if !of.contains("/issues/") && request.method == "GET" => {
                Reply::json(200, &json!([{ "id": 5, "name": "bug" }]))
            }
            Some(_) if request.method == "POST" => Reply::json(201, &json!({ "id": 6, "name": "new one" })),
            _ => Reply::json(200, &issue(dialect, 7)),
        })
        .await;
        let host = dialect.connect(&server.address);
        host.label_issue(7, &change(Some("bug"), &["absent"])).await.unwrap();
        assert!(server.requests().iter().all(|it| it.method == "GET"), "{}", dialect.kind);
        let before = server.requests().len();
        host.label_issue(7, &change(Some("new one"), &["bug", "absent"])).await.unwrap();
        let written: Vec<_> = server.requests()[before..]
            .iter()
            .filter(|it| it.method != "GET")
            .map(|it| (it.method.clone(), it.target.replace(repo(dialect), ""), it.body.clone()))
            .collect();
        let write = |method: &str, target: &str, body: Value| (method.to_owned(), target.to_owned(), body);
        let expected = match dialect.kind {
            HostKind::Github => vec![
                write("POST", "/issues/7/labels", json!({ "labels": ["new one"] })),
                write("DELETE", "/issues/7/labels/bug", Value::Null),
            ],
            HostKind::Gitea => vec![
                write("POST", "/labels", json!({ "name": "new one", "color": "#ededed" })),
                write("POST", "/issues/7/labels", json!({ "labels": [6] })),
                write("DELETE", "/issues/7/labels/5", Value::Null),
            ],
            HostKind::Gitlab => {
                vec![write("PUT", "/issues/7", json!({ "add_labels": "new one", "remove_labels": "bug" }))]
            }
        };
        assert_eq!(written, expected, "{}", dialect.kind);
    }
}
