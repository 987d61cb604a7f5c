//! Who may speak to the engine.
//!
//! A page in a browser can send requests to any address. It cannot choose `Host` and `Origin`, so requests
//! that name another host (a domain that was pointed at 127.0.0.1) or come from another page are refused
//! before anything else is looked at; the token keeps other users and programs out.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use subtle::ConstantTimeEq as _;

use crate::answer::Refusal;

/// The only path that is answered without a token.
pub(crate) const HEALTH: &str = "/healthz";

/// What a request is measured by.
#[derive(Clone)]
pub(crate) struct Gate {
    inner: Arc<Inner>,
}

struct Inner {
    hosts: [String; 3],
    token: Option<String>,
}

impl Gate {
    /// For a server at `port`; without a token, none is asked for.
    pub(crate) fn new(port: u16, token: Option<String>) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        Self { inner: Arc::new(Inner { hosts, token }) }
    }

    fn check(&self, headers: &HeaderMap, path: &str) -> Result<(), Refusal> {
        let ours = |text: &str| self.inner.hosts.iter().any(|host| host.eq_ignore_ascii_case(text));
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if !host.is_some_and(ours) || hosts.next().is_some() {
            let message = "the Host header does not name this server";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden_host", message)
                .hint("Address it as 127.0.0.1 or localhost, with its port."));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let same =
                origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")).is_some_and(ours);
            if !same {
                let message = "requests from pages of another origin are refused";
                return Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden_origin", message));
            }
        }
        match &self.inner.token {
            Some(token) if path != HEALTH && !carries(headers, token) => {
                let message = "the request does not carry this engine's token";
                Err(Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
                    .hint("Send `Authorization: Bearer <token>`; the token is in the file `token` of the data folder."))
            }
            _ => Ok(()),
        }
    }
}

fn carries(headers: &HeaderMap, token: &str) -> bool {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return false };
    let Some((scheme, given)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
        return false;
    };
    scheme.eq_ignore_ascii_case("bearer") && bool::from(given.trim().as_bytes().ct_eq(token.as_bytes()))
}

/// The layer that asks.
pub(crate) async fn ask(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match gate.check(request.headers(), request.uri().path()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            let unauthorized = refusal.0.status == StatusCode::UNAUTHORIZED.as_u16();
            let mut response = refusal.into_response();
            if unauthorized {
                let scheme = HeaderValue::from_static("Bearer realm=\"forge\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            }
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn check(headers: &[(&str, &str)], path: &str) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        Gate::new(4780, Some("secret".to_owned())).check(&map, path).err().map(|refusal| refusal.0.code)
    }

    #[test]
    fn only_who_names_this_server() {
        let token = ("authorization", "Bearer secret");
        for host in ["127.0.0.1:4780", "localhost:4780", "LOCALHOST:4780", "[::1]:4780"] {
            assert_eq!(check(&[("host", host), token], "/api/v1/meta"), None, "{host}");
        }
        for host in ["evil.test:4780", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4780.evil.test", ""] {
            assert_eq!(check(&[("host", host), token], "/").as_deref(), Some("forbidden_host"), "{host}");
        }
        assert_eq!(check(&[token], HEALTH).as_deref(), Some("forbidden_host"));
        let two = [("host", "127.0.0.1:4780"), ("host", "evil.test"), token];
        assert_eq!(check(&two, "/").as_deref(), Some("forbidden_host"));
    }

    #[test]
    fn no_page_of_another_origin() {
        let from = |origin| {
            check(&[("host", "localhost:4780"), ("origin", origin), ("authorization", "Bearer secret")], "/")
        };
        assert_eq!(from("http://localhost:4780"), None);
        for origin in ["http://evil.test", "null", "https://localhost:4780", "http://localhost:80", ""] {
            assert_eq!(from(origin).as_deref(), Some("forbidden_origin"), "{origin}");
        }
    }

    #[test]
    fn only_with_the_token() {
        let with = |value| check(&[("host", "localhost:4780"), ("authorization", value)], "/x");
        assert_eq!(with("Bearer secret"), None);
        assert_eq!(with("bearer secret"), None);
        for value in ["Bearer secre", "Bearer secrets", "Basic secret", "secret", "Bearer", ""] {
            assert_eq!(with(value).as_deref(), Some("unauthorized"), "{value}");
        }
        assert_eq!(check(&[("host", "localhost:4780")], "/x").as_deref(), Some("unauthorized"));
        assert_eq!(check(&[("host", "localhost:4780")], HEALTH), None);
    }
}
