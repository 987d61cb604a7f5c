//! What goes wrong, and what is said about it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forge_hosts::{Etags, HostError, NewPullRequest};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    dialect::{ALL, GITEA, GITHUB, GITLAB, NOW, NUMBER, TOKEN, first_look},
    server::{Manner, Reply, Server},
};

fn new_pull_request() -> NewPullRequest {
    NewPullRequest {
        title: "A".to_owned(),
        body: String::new(),
        head: "topic".to_owned(),
        base: "main".to_owned(),
        draft: false,
    }
}

/// What every dialect says when its host answers like this, whatever was asked.
async fn answered(reply: Reply) -> Vec<HostError> {
    let mut errors = Vec::new();
    for dialect in ALL {
        let reply = reply.clone();
        let server = Server::start(move |_| reply.clone()).await;
        let host = dialect.connect(&server.address);
        let looked = first_look(host.as_ref()).await.unwrap_err();
        let created = host.create(&new_pull_request()).await.unwrap_err();
        let same = match (&looked, &created) {
            // Another thing is missing.
            (HostError::NotFound { .. }, HostError::NotFound { .. }) => true,
            // What was read is named.
            (HostError::Protocol { .. }, HostError::Protocol { .. }) => true,
            // The port of the server is in it.
            (HostError::NotSignedIn { .. }, HostError::NotSignedIn { .. }) => true,
            (looked, created) => looked == created,
        };
        assert!(same, "{}: {looked:?} {created:?}", dialect.kind);
        errors.push(looked);
    }
    errors
}

#[tokio::test]
async fn a_token_that_is_refused_is_said() {
    for (error, kind) in
        answered(Reply::json(401, &json!({ "message": "Bad credentials" }))).await.iter().zip(ALL)
    {
        let HostError::NotSignedIn { host, hint } = error else { panic!("{error:?}") };
        assert!(host.starts_with("127.0.0.1:"), "{host}");
        assert!(hint.contains("Bad credentials") && hint.contains("FORGE_"), "{}: {hint}", kind.kind);
        assert!(!error.is_passing());
    }
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let refused = json!({ "message": "Resource not accessible by personal access token" });
    for (reply, expected) in [
        (Reply::json(403, &refused), "Resource not accessible by personal access token"),
        (
            Reply::json(403, &refused).with("x-accepted-github-permissions", "pull_requests=write"),
            "the token needs the permission pull_requests=write",
        ),
        (
            Reply::json(403, &refused).with("x-accepted-oauth-scopes", "repo").with("x-oauth-scopes", "gist"),
            "the token needs one of the scopes repo; it has gist",
        ),
        (
            Reply::json(
                403,
                &json!({"error": "insufficient_scope", "error_description": "The request requires higher privileges.", "scope": "api read_api"}),
            ),
            "the token needs one of the scopes api read_api",
        ),
        (
            Reply::json(
                403,
                &json!({ "message": "token does not have at least one of required scope(s): [write:repository]" }),
            ),
            "token does not have at least one of required scope(s): [write:repository]",
        ),
    ] {
        for error in answered(reply).await {
            assert_eq!(error, HostError::Forbidden { missing: expected.to_owned() });
            assert!(!error.is_passing());
        }
    }
}

#[tokio::test]
async fn a_host_that_asks_to_wait_says_until_when() {
    for (reply, seconds) in [
        (Reply::json(429, &json!({})).with("retry-after", "7"), 7),
        (
            Reply::new(429, "Retry later\n")
                .with("ratelimit-remaining", "0")
                .with("ratelimit-reset", "1700000030"),
            30,
        ),
        (
            Reply::json(403, &json!({ "message": "API rate limit exceeded" }))
                .with("x-ratelimit-remaining", "0")
                .with("x-ratelimit-reset", "1700000090"),
            90,
        ),
        (Reply::json(403, &json!({ "message": "secondary" })).with("retry-after", "60"), 60),
    ] {
        for error in answered(reply).await {
            assert_eq!(error, HostError::RateLimited { until: NOW.plus_ms(seconds * 1000) });
            assert!(error.is_passing());
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let errors = answered(Reply::json(404, &json!({ "message": "Not Found" }))).await;
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "the host has no pull request 1347, or the token has no access to it",
            "the host has no pull request 1347, or the token has no access to it",
            "the host has no merge request 1347, or the token has no access to it",
        ]
    );
}

#[tokio::test]
async fn a_refusal_is_quoted() {
    for (reply, status, message, passing) in [
        (
            Reply::json(
                422,
                &json!({"message": "Validation Failed", "errors": [{"message": "A pull request already exists for octocat:topic."}]}),
            ),
            422,
            "Validation Failed; A pull request already exists for octocat:topic.",
            false,
        ),
        (
            Reply::json(
                409,
                &json!({ "message": ["Another open merge request already exists for this source branch: !5"] }),
            ),
            409,
            "Another open merge request already exists for this source branch: !5",
            false,
        ),
        (Reply::json(500, &json!({ "message": "Server Error" })), 500, "Server Error", true),
        (Reply::new(502, "<html>nginx</html>"), 502, "Bad Gateway", true),
        (
            Reply::json(400, &json!({ "message": format!("bad token {TOKEN}") })),
            400,
            "bad token (token)",
            false,
        ),
    ] {
        for error in answered(reply).await {
            assert_eq!(error, HostError::Refused { status, message: message.to_owned() });
            assert_eq!(error.is_passing(), passing, "{status}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_as_documented_is_said() {
    for reply in [
        Reply::new(200, "<html>Sign in</html>"),
        Reply::json(200, &json!({ "number": "seven" })),
        Reply::new(200, ""),
        Reply::new(304, ""),
    ] {
        for error in answered(reply).await {
            assert!(matches!(error, HostError::Protocol { .. }), "{error:?}");
            assert!(!error.is_passing());
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let mut reply = Reply::json(200, &GITHUB.pull_fixture());
    reply.manner = Manner::Cut;
    for error in answered(reply).await {
        let HostError::Offline { why } = &error else { panic!("{error:?}") };
        assert!(why.contains("was lost"), "{why}");
        assert!(error.is_passing());
    }
}

#[tokio::test]
async fn a_host_that_goes_silent_is_not_waited_for() {
    for dialect in ALL {
        let mut reply = Reply::json(200, &dialect.pull_fixture());
        reply.manner = Manner::Stuck;
        let server = Server::start(move |_| reply.clone()).await;
        let host = dialect.connect_within(&server.address, Duration::from_millis(300));
        let error = first_look(host.as_ref()).await.unwrap_err();
        let HostError::Offline { why } = &error else { panic!("{error:?}") };
        assert!(why.contains("did not answer in full within 300 ms"), "{why}");
    }
}

#[tokio::test]
async fn nobody_listening_is_offline() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for dialect in ALL {
        let error = dialect.connect(&address).find("topic", "main").await.unwrap_err();
        let HostError::Offline { why } = &error else { panic!("{error:?}") };
        assert!(why.contains("no connection to 127.0.0.1:"), "{why}");
        assert!(!format!("{error:?}").contains(TOKEN));
    }
}

#[tokio::test]
async fn a_redirect_is_followed_within_the_host_only() {
    for dialect in ALL {
        let elsewhere = Server::start(|_| Reply::json(200, &json!({}))).await;
        let target = format!("{}/stolen", elsewhere.address);
        let server = Server::start(move |_| Reply::new(301, "").with("location", &*target)).await;
        let error = first_look(dialect.connect(&server.address).as_ref()).await.unwrap_err();
        let HostError::Refused { status: 301, message } = &error else { panic!("{error:?}") };
        assert!(message.contains("it moved to http://127.0.0.1:"), "{message}");
        assert!(elsewhere.requests().is_empty(), "nobody else is asked");
    }
    // A renamed repository.
    let pull = GITHUB.pull_fixture();
    let server = Server::start(move |request| match request.target.as_str() {
        "/api/v3/repositories/1/pulls/1347" => Reply::json(200, &pull),
        target if target == GITHUB.pull => {
            Reply::new(301, "").with("location", "/api/v3/repositories/1/pulls/1347")
        }
        target if target.contains("/status?") => Reply::json(200, &json!({ "statuses": [] })),
        target if target.contains("/check-runs?") => Reply::json(200, &json!({ "check_runs": [] })),
        _ => Reply::json(200, &json!([])),
    })
    .await;
    assert_eq!(first_look(GITHUB.connect(&server.address).as_ref()).await.unwrap().number, NUMBER);
}

#[tokio::test]
async fn a_failed_look_keeps_what_was_known() {
    for dialect in [&GITHUB, &GITEA, &GITLAB] {
        let looks = Arc::new(AtomicUsize::new(0));
        let (pull, seen) = (dialect.pull_fixture(), looks.clone());
        let server = Server::start(move |request| {
            if request.target == dialect.pull {
                seen.fetch_add(1, Ordering::SeqCst);
                return Reply::json(200, &pull).with("etag", "\"1\"");
            }
            if seen.load(Ordering::SeqCst) == 2 {
                return Reply::new(503, "");
            }
            let empty = if request.target.contains("/status?") {
                json!({ "statuses": [] })
            } else if request.target.contains("/check-runs?") {
                json!({ "check_runs": [] })
            } else {
                json!([])
            };
            Reply::json(200, &empty)
        })
        .await;
        let host = dialect.connect(&server.address);
        let mut etags = Etags::default();
        host.state(NUMBER, &mut etags).await.unwrap();
        let known = etags.last().cloned();
        assert!(known.is_some());
        host.state(NUMBER, &mut etags).await.unwrap_err();
        assert_eq!(etags.last().cloned(), known, "{}", dialect.kind);
    }
}
