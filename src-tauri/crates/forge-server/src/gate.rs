//! Who may speak to the engine.
//!
//! A page in a browser can send requests to any address. It cannot choose `Host` and `Origin`, so requests
//! that name another host (a domain that was pointed at 127.0.0.1) or come from another page are refused
//! before anything else is looked at; the token keeps other users and programs out. At a socket no page can ask: there
//! the port that `Host` names is nobody's, and an `Origin` is refused.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use forge_api::{Api, ApiError, MCP_PATH};
use forge_mcp::Caller;
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
    way: Way,
    api: Api,
}

impl Gate {
    /// Creates the gate of a server at `port`; `api` knows the token.
    pub(crate) fn of_port(port: u16, api: Api) -> Self {
        Self { inner: Arc::new(Inner { way: Way::Port(hosts(port)), api }) }
    }

    /// Creates the gate of a server at a socket.
    pub(crate) fn of_socket(api: Api) -> Self {
        Self { inner: Arc::new(Inner { way: Way::Socket, api }) }
    }

    /// Who asks, if they may.
    async fn caller(&self, headers: &HeaderMap, path: &str) -> Result<Caller, Refusal> {
        check_address(&self.inner.way, headers)?;
        let access = self.inner.api.access();
        let Some(token) = access.token() else { return Ok(Caller::Person) };
        let given = bearer(headers);
        if path == HEALTH || given.is_some_and(|given| bool::from(given.as_bytes().ct_eq(token.as_bytes()))) {
            return Ok(Caller::Person);
        }
        let scope = match given {
            Some(given) => self.inner.api.engine().scope_of_token(given).await.map_err(ApiError::from)?,
            None => None,
        };
        match scope {
            Some(scope) if path == MCP_PATH => Ok(Caller::Run(scope)),
            Some(_) => {
                let message = "the token of a run is valid for MCP only";
                Err(Refusal::new(StatusCode::FORBIDDEN, "out_of_scope", message))
            }
            None => {
                let message = "the request does not carry this engine's token";
                Err(Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
                    .hint("Send `Authorization: Bearer <token>`; the token is in the file `token` of the data folder."))
            }
        }
    }
}

/// The names of this computer.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// By which way requests come.
enum Way {
    /// A port of loopback, under these names.
    Port([String; 3]),
    /// A socket of the user.
    Socket,
}

impl Way {
    /// Whether a request by this way names this server.
    fn is_named(&self, text: &str) -> bool {
        match self {
            Self::Port(hosts) => hosts.iter().any(|host| host.eq_ignore_ascii_case(text)),
            Self::Socket => LOOPBACK.iter().any(|name| {
                let rest = text.get(..name.len()).filter(|given| given.eq_ignore_ascii_case(name));
                rest.is_some_and(|_| is_port(&text[name.len()..]))
            }),
        }
    }
}

/// Whether this is nothing, or a colon and a port.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

fn hosts(port: u16) -> [String; 3] {
    LOOPBACK.map(|name| format!("{name}:{port}"))
}

/// Whether a request names this server, and comes from none of another origin.
fn check_address(way: &Way, headers: &HeaderMap) -> Result<(), Refusal> {
    let ours = |text: &str| way.is_named(text);
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok());
    if !host.is_some_and(ours) || named.next().is_some() {
        let message = "the Host header does not match this server";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden_host", message)
            .hint("Use 127.0.0.1 or localhost, with the port."));
    }
    for origin in headers.get_all(header::ORIGIN) {
        let same = !matches!(way, Way::Socket)
            && origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")).is_some_and(ours);
        if !same {
            let message = "requests from another origin are refused";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden_origin", message));
        }
    }
    Ok(())
}

/// The one token that a request carries.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let (scheme, given) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| given.trim())
}

/// The layer that asks.
pub(crate) async fn ask(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    match gate.caller(request.headers(), request.uri().path()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
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

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        map
    }

    fn check(headers: &[(&str, &str)]) -> Option<String> {
        check_at(&Way::Port(hosts(4780)), headers)
    }

    fn check_at(way: &Way, headers: &[(&str, &str)]) -> Option<String> {
        check_address(way, &map(headers)).err().map(|refusal| refusal.0.code)
    }

    #[test]
    fn at_a_socket_any_port_of_this_computer_is_named_and_no_page_asks() {
        let check = |headers: &[(&str, &str)]| check_at(&Way::Socket, headers);
        for host in ["localhost", "127.0.0.1:4780", "LocalHost:1", "[::1]:80"] {
            assert_eq!(check(&[("host", host)]), None, "{host}");
        }
        for host in ["evil.test", "localhost.evil.test", "localhost:x", "127.0.0.1:", "127.0.0.10", ""] {
            assert_eq!(check(&[("host", host)]).as_deref(), Some("forbidden_host"), "{host}");
        }
        let page = [("host", "localhost:4780"), ("origin", "http://localhost:4780")];
        assert_eq!(check(&page).as_deref(), Some("forbidden_origin"));
    }

    #[test]
    fn only_who_names_this_server() {
        for host in ["127.0.0.1:4780", "localhost:4780", "LOCALHOST:4780", "[::1]:4780"] {
            assert_eq!(check(&[("host", host)]), None, "{host}");
        }
        for host in ["evil.test:4780", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4780.evil.test", ""] {
            assert_eq!(check(&[("host", host)]).as_deref(), Some("forbidden_host"), "{host}");
        }
        assert_eq!(check(&[]).as_deref(), Some("forbidden_host"));
        let two = [("host", "127.0.0.1:4780"), ("host", "evil.test")];
        assert_eq!(check(&two).as_deref(), Some("forbidden_host"));
    }

    #[test]
    fn no_page_of_another_origin() {
        let from = |origin| check(&[("host", "localhost:4780"), ("origin", origin)]);
        assert_eq!(from("http://localhost:4780"), None);
        for origin in ["http://evil.test", "null", "https://localhost:4780", "http://localhost:80", ""] {
            assert_eq!(from(origin).as_deref(), Some("forbidden_origin"), "{origin}");
        }
    }

    #[test]
    fn one_token_by_its_own_scheme() {
        let of = |value: &str| bearer(&map(&[("authorization", value)])).map(str::to_owned);
        assert_eq!(of("Bearer secret").as_deref(), Some("secret"));
        assert_eq!(of("bearer secret").as_deref(), Some("secret"));
        for value in ["Basic secret", "secret", "Bearer", ""] {
            assert_eq!(of(value), None, "{value}");
        }
        assert_eq!(bearer(&map(&[("authorization", "Bearer a"), ("authorization", "Bearer b")])), None);
    }
}
