//! One request to a host and what its answer means.
//!
//! The authorization goes to the configured origin alone, by https unless that is this machine: redirects are followed
//! only within it.

use std::{
    error::Error as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use forge_model::pull_request::HostKind;
use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LINK, USER_AGENT},
    redirect::{Attempt, Policy},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    clock::Clock,
    endpoint::Endpoint,
    error::HostError,
    find_token::how_to_sign_in,
    limits::{Quota, asked_to_wait},
    text::shortened,
    token::Token,
};

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;
/// No page of a host's answers is near this.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// Hosts are quoted up to here.
const LONGEST_MESSAGE: usize = 600;

/// A way to one host.
pub(crate) struct Http {
    client: Client,
    endpoint: Endpoint,
    token: Token,
    clock: Clock,
    patience: Duration,
    quota: Mutex<Option<Quota>>,
}

/// What came back.
pub(crate) struct Answer {
    /// Whether what the caller knows still holds; the body is empty then.
    pub unchanged: bool,
    /// By what to ask for changes the next time.
    pub etag: Option<String>,
    /// Whether the host names a next page.
    pub more: bool,
    /// How many there are on all pages, when the host says it.
    pub total: Option<usize>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as what the documentation promises.
    pub(crate) fn read<T: DeserializeOwned>(&self, what: &str) -> Result<T, HostError> {
        parse(&self.body, what)
    }
}

pub(crate) fn parse<T: DeserializeOwned>(body: &[u8], what: &str) -> Result<T, HostError> {
    serde_json::from_slice(body).map_err(|error| HostError::Protocol {
        what: format!("the answer about {what} differs from the documentation: {error}"),
    })
}

impl Http {
    pub(crate) fn new(
        endpoint: &Endpoint,
        token: Token,
        clock: Clock,
        patience: Duration,
    ) -> Result<Self, HostError> {
        let unusable = |what: &str| HostError::Protocol { what: what.to_owned() };
        let prefix = match endpoint.kind {
            HostKind::Github | HostKind::Gitlab => "Bearer",
            HostKind::Gitea => "token",
        };
        if !is_confidential(&endpoint.api) {
            return Err(HostError::Protocol {
                what: format!(
                    "{} would receive the token unencrypted; use an https:// address",
                    endpoint.host
                ),
            });
        }
        let mut authorization = HeaderValue::from_str(&format!("{prefix} {}", token.expose()))
            .map_err(|_| unusable("the token contains invalid characters"))?;
        authorization.set_sensitive(true);
        let accept = match endpoint.kind {
            HostKind::Github => "application/vnd.github+json",
            HostKind::Gitea | HostKind::Gitlab => "application/json",
        };
        let mut headers = HeaderMap::from_iter([
            (AUTHORIZATION, authorization),
            (ACCEPT, HeaderValue::from_static(accept)),
            (USER_AGENT, HeaderValue::from_static(concat!("forge/", env!("CARGO_PKG_VERSION")))),
        ]);
        if endpoint.kind == HostKind::Github {
            headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        }
        let mut builder = Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_PATIENCE.min(patience))
            .timeout(patience)
            .redirect(Policy::custom(within_origin));
        if is_loopback(&endpoint.api) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| unusable(&chain(&error)))?;
        Ok(Self { client, endpoint: endpoint.clone(), token, clock, patience, quota: Mutex::new(None) })
    }

    /// Asks for `path`; `etag` asks for changes alone. `what` names the thing in errors.
    pub(crate) async fn get(&self, path: &str, etag: Option<&str>, what: &str) -> Result<Answer, HostError> {
        let mut request = self.client.get(format!("{}{path}", self.endpoint.api));
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        self.send(request, what).await
    }

    /// Sends `body`.
    pub(crate) async fn write(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        what: &str,
    ) -> Result<Answer, HostError> {
        self.send(self.client.request(method, format!("{}{path}", self.endpoint.api)).json(body), what).await
    }

    /// Has something deleted.
    pub(crate) async fn delete(&self, path: &str, what: &str) -> Result<Answer, HostError> {
        self.send(self.client.delete(format!("{}{path}", self.endpoint.api)), what).await
    }

    /// How many requests the host granted the last time it said so.
    pub(crate) fn quota(&self) -> Option<Quota> {
        *self.quota.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, request: reqwest::RequestBuilder, what: &str) -> Result<Answer, HostError> {
        let response = request.send().await.map_err(|error| self.unreached(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let now = (self.clock)();
        if let Some(quota) = Quota::of(&headers, now) {
            *self.quota.lock().unwrap_or_else(PoisonError::into_inner) = Some(quota);
        }
        if let Some(until) = asked_to_wait(status.as_u16(), &headers, now) {
            return Err(HostError::RateLimited { until });
        }
        let body = self.body(response).await?;
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(Answer {
                unchanged: status == StatusCode::NOT_MODIFIED,
                etag: text(&headers, ETAG.as_str()).map(str::to_owned),
                more: has_next(&headers),
                total: text(&headers, "x-total-count").and_then(|total| total.parse().ok()),
                body,
            });
        }
        Err(self.refusal(status, &headers, &body, what))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, HostError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreached(&error))? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(HostError::Protocol {
                    what: format!("an answer is longer than {} MiB", LONGEST_ANSWER >> 20),
                });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap, body: &[u8], what: &str) -> HostError {
        let message = self.without_token(&message_of(status, headers, body));
        match status.as_u16() {
            401 => HostError::NotSignedIn {
                host: self.endpoint.host.clone(),
                hint: format!(
                    "the host rejected the token ({message}); {}",
                    how_to_sign_in(self.endpoint.kind, &self.endpoint.host)
                ),
            },
            403 => HostError::Forbidden {
                missing: self.without_token(&missing_of(headers, body).unwrap_or(message)),
            },
            404 => HostError::NotFound { what: what.to_owned() },
            status => HostError::Refused { status, message },
        }
    }

    fn unreached(&self, error: &reqwest::Error) -> HostError {
        let host = &self.endpoint.host;
        if error.is_builder() || error.is_redirect() {
            return HostError::Protocol { what: chain(error) };
        }
        let why = if error.is_timeout() {
            format!("{host} did not answer in full within {} ms", self.patience.as_millis())
        } else if error.is_connect() {
            format!("no connection to {host}: {}", chain(error))
        } else {
            format!("the connection to {host} was lost: {}", chain(error))
        };
        HostError::Offline { why: self.without_token(&why) }
    }

    /// A host that repeats what it was sent must not bring the token into a message.
    fn without_token(&self, message: &str) -> String {
        message.replace(self.token.expose(), "(token)")
    }
}

fn within_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same = attempt.previous().last().is_some_and(|previous| origin(previous) == origin(attempt.url()));
    if same && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

fn origin(url: &Url) -> (&str, Option<&str>, Option<u16>) {
    (url.scheme(), url.host_str(), url.port_or_known_default())
}

/// Whether nobody between here and the host reads along.
fn is_confidential(api: &str) -> bool {
    Url::parse(api).is_ok_and(|url| url.scheme() == "https") || is_loopback(api)
}

fn is_loopback(api: &str) -> bool {
    let name = Url::parse(api).ok().and_then(|url| url.host_str().map(str::to_owned));
    name.is_some_and(|name| {
        name == "localhost"
            || name.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    })
}

/// The innermost reason says most; the outer ones repeat the address.
fn chain(error: &reqwest::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    if error.source().is_none() { "the request failed".to_owned() } else { reason.to_string() }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|value| !value.is_empty())
}

/// Whether `Link` names a next page (RFC 8288), or GitLab's `X-Next-Page` does.
fn has_next(headers: &HeaderMap) -> bool {
    let linked = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()).any(|links| {
        links.split(',').flat_map(|link| link.split(';').skip(1)).any(|parameter| {
            parameter.trim().strip_prefix("rel=").is_some_and(|rel| rel.trim_matches('"') == "next")
        })
    });
    linked || text(headers, "x-next-page").is_some()
}

/// What the host says in its refusal: `message`, `errors` and `error_description` of the three dialects.
fn message_of(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> String {
    let mut parts = Vec::new();
    if let Ok(Value::Object(object)) = serde_json::from_slice(body) {
        for key in ["message", "error", "error_description", "errors"] {
            collect(object.get(key).unwrap_or(&Value::Null), &mut parts);
        }
    }
    let moved = status.is_redirection().then(|| text(headers, "location")).flatten();
    if let Some(to) = moved {
        parts.push(format!("it moved to {to}"));
    }
    parts.dedup();
    if parts.is_empty() {
        parts.push(status.canonical_reason().unwrap_or("it gives no reason").to_owned());
    }
    shortened(&parts.join("; "), LONGEST_MESSAGE)
}

fn collect(value: &Value, parts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => parts.push(text.trim().to_owned()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, parts)),
        Value::Object(object) => {
            if let Some(message) = object.get("message").filter(|message| message.is_string()) {
                return collect(message, parts);
            }
            // GitHub's `{resource, field, code}` and GitLab's `{field: [reasons]}`.
            for (key, value) in object.iter().filter(|(key, _)| *key != "documentation_url") {
                let mut inner = Vec::new();
                collect(value, &mut inner);
                parts.extend(inner.iter().map(|text| format!("{key}: {text}")));
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What the token lacks, when the host says it in a form of its own.
fn missing_of(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    if let Some(permissions) = text(headers, "x-accepted-github-permissions") {
        return Some(format!("the token needs the permission {permissions}"));
    }
    if let Some(wanted) = text(headers, "x-accepted-oauth-scopes") {
        let has = text(headers, "x-oauth-scopes").unwrap_or("none");
        return Some(format!("the token needs one of the scopes {wanted}; it has {has}"));
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let scope = body.get("scope")?.as_str()?;
    Some(format!("the token needs one of the scopes {scope}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_goes_by_https_or_to_this_machine_alone() {
        for (api, expected) in [
            ("https://git.example.org/api/v1", true),
            ("http://git.example.org/api/v1", false),
            ("http://127.0.0.1:3000/api/v1", true),
            ("http://localhost:3000/api/v1", true),
            ("http://[::1]:3000/api/v1", true),
            ("http://127.0.0.1.example.org/api/v1", false),
            ("http://localhost.example.org/api/v1", false),
        ] {
            assert_eq!(is_confidential(api), expected, "{api}");
        }
        let config = forge_model::pull_request::HostConfig {
            kind: HostKind::Gitea,
            base_url: Some("http://git.example.org".to_owned()),
            owner: "o".to_owned(),
            repo: "r".to_owned(),
            remote: "origin".to_owned(),
        };
        let endpoint = Endpoint::of(&config).expect("an endpoint");
        let token = Token::new("secret").expect("a token");
        let clock: Clock = std::sync::Arc::new(|| forge_model::time::Timestamp(0));
        let refused = Http::new(&endpoint, token, clock, Duration::from_secs(1)).err().expect("refused");
        assert!(refused.to_string().contains("https://"), "{refused}");
    }

    #[test]
    fn the_next_page_is_seen() {
        for (link, expected) in [
            (r#"<https://a/x?page=2>; rel="next", <https://a/x?page=9>; rel="last""#, true),
            (r#"<https://a/x?page=1>; rel="prev", <https://a/x?page=1>; rel="first""#, false),
            ("<https://a/x?page=2>; rel=next", true),
            (r#"<https://a/next>; title="next""#, false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(LINK, HeaderValue::from_static(link))]);
            assert_eq!(has_next(&headers), expected, "{link}");
        }
        for (next, expected) in [("2", true), ("", false)] {
            let mut headers = HeaderMap::new();
            headers.insert("x-next-page", HeaderValue::from_static(next));
            assert_eq!(has_next(&headers), expected, "GitLab names it alone when a list is long: {next}");
        }
    }

    #[test]
    fn refusals_of_the_three_dialects_are_quoted() {
        for (body, expected) in [
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for octocat:topic."}],"documentation_url":"https://docs.github.com/rest"}"#,
                "Validation Failed; A pull request already exists for octocat:topic.",
            ),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"base","code":"invalid"}]}"#,
                "Validation Failed; resource: PullRequest; field: base; code: invalid",
            ),
            (
                r#"{"message":["Another open merge request already exists for this source branch: !5"]}"#,
                "Another open merge request already exists for this source branch: !5",
            ),
            (r#"{"message":{"base":["is gone"]}}"#, "base: is gone"),
            (
                r#"{"error":"invalid_token","error_description":"Token was revoked."}"#,
                "invalid_token; Token was revoked.",
            ),
            ("<html>Oops</html>", "Unprocessable Entity"),
            ("", "Unprocessable Entity"),
        ] {
            assert_eq!(
                message_of(StatusCode::UNPROCESSABLE_ENTITY, &HeaderMap::new(), body.as_bytes()),
                expected
            );
        }
    }
}
