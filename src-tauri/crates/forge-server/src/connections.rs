//! Connections: how many there are, and how long a request may take to arrive.
//!
//! A client that sends half a request, or opens connections and forgets them, keeps nobody else out: the head of a
//! request has a time limit, its body another ([`crate::body`]), and connections beyond a number are told so.
//! What is answered has no time limit: streams of events last as long as their readers.

use std::{io, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderValue, StatusCode, header},
    middleware,
    response::Response,
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    SocketListener,
    answer::{self, Refusal},
};

/// How long a connection beyond the limit may take to send its request before it is closed.
const TOLD_WITHIN: Duration = Duration::from_secs(2);
/// How long nothing is accepted after the system refused a connection.
const REST: Duration = Duration::from_millis(500);

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long the head of a request may take. A connection without a request is closed after that time, too.
    pub head: Duration,
    /// How long the body of a request may take.
    pub body: Duration,
    /// How many connections there are at once.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head: Duration::from_secs(30), body: Duration::from_secs(60), connections: 256 }
    }
}

/// The connections that there may still be, by whatever way.
#[derive(Clone)]
pub(crate) struct Places(Arc<Semaphore>);

impl Places {
    pub(crate) fn new(limits: Limits) -> Self {
        Self(Arc::new(Semaphore::new(limits.connections)))
    }
}

/// What is listened at.
pub(crate) trait Listener: Send {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.accept().await?;
        // Without this, small answers on a kept connection wait for the other side's acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "failed to send small answers at once");
        }
        Ok(stream)
    }
}

impl Listener for SocketListener {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

/// Serves until it is to stop; then each connection ends with the answer that is under way.
pub(crate) async fn serve(
    listener: impl Listener,
    router: Router,
    limits: Limits,
    places: Places,
    stopping: CancellationToken,
) {
    let full = when_full(limits.connections);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.next() => accepted,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                rest_after(&error).await;
                continue;
            }
        };
        let (place, router, head) = match Arc::clone(&places.0).try_acquire_owned() {
            Ok(place) => (Some(place), &router, limits.head),
            // However many there are, each is told, and soon gone.
            Err(_) => (None, &full, limits.head.min(TOLD_WITHIN)),
        };
        connections.spawn(connection(stream, router.clone(), head, stopping.clone(), place));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// One connection, to its end.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    head: Duration,
    stopping: CancellationToken,
    _place: Option<OwnedSemaphorePermit>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head);
    let mut served = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stopping.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// What is served to a connection beyond the limit.
fn when_full(limit: usize) -> Router {
    let refuse = async move || {
        let message = format!("Could not accept the request: {limit} connections are open.");
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_connections", message)
            .hint("Close some. A program needs one connection, and one more for the event stream.")
    };
    Router::new()
        .fallback(refuse)
        .layer(middleware::map_response(close))
        .layer(middleware::from_fn(answer::finish))
}

/// Has a connection end with an answer.
pub(crate) async fn close(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Waits until the system may take connections again.
async fn rest_after(error: &io::Error) {
    let of_client = [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset];
    if of_client.contains(&error.kind()) {
        return;
    }
    if forge_engine::is_out_of_files(error) {
        tracing::error!(
            "Could not accept a connection: too many files are open. Raise the limit (`ulimit -n`)."
        );
    } else {
        tracing::error!(%error, "Could not accept a connection");
    }
    tokio::time::sleep(REST).await;
}

#[cfg(test)]
mod tests {
    use forge_api::Api;
    use forge_engine::{Engine, EngineConfig, Work};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::{Running, ServeOptions};

    /// How long something may take that is bound to happen.
    const PATIENCE: Duration = Duration::from_secs(20);
    const LIMITS: Limits =
        Limits { head: Duration::from_millis(300), body: Duration::from_millis(300), connections: 4 };

    struct Served {
        running: Running,
        engine: Engine,
        address: String,
        _folder: tempfile::TempDir,
    }

    async fn served() -> Served {
        let folder = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(folder.path().to_owned(), std::env::vars_os());
        config.work = Work::Nothing;
        let engine = Engine::start(config).await.unwrap();
        let api = Api::new(engine.clone(), std::env::current_exe().unwrap());
        let options = ServeOptions { auth: false, limits: LIMITS, ..ServeOptions::default() };
        let running = crate::serve(api, options).await.unwrap();
        let address = running.url.trim_start_matches("http://").to_owned();
        Served { running, engine, address, _folder: folder }
    }

    impl Served {
        /// A connection on which this is sent.
        async fn send(&self, text: &str) -> TcpStream {
            let mut stream = TcpStream::connect(&self.address).await.unwrap();
            stream.write_all(text.replace('\n', "\r\n").as_bytes()).await.unwrap();
            stream
        }

        /// As many connections as there may be, each of which listens.
        async fn full(&self) -> Vec<TcpStream> {
            let mut open = Vec::new();
            for _ in 0..LIMITS.connections {
                let mut stream = self.send(&self.get("/events")).await;
                read_until(&mut stream, "text/event-stream").await;
                open.push(stream);
            }
            open
        }

        async fn stop(self) {
            self.running.stop().await;
            self.engine.stop().await;
        }

        fn post(&self, body: &str) -> String {
            let head = format!("POST /api/v1/projects HTTP/1.1\nHost: {}\n", self.address);
            format!("{head}Content-Type: application/json\nContent-Length: 100\n\n{body}")
        }

        fn get(&self, path: &str) -> String {
            format!("GET /api/v1{path} HTTP/1.1\nHost: {}\n\n", self.address)
        }
    }

    /// What comes until the server closes the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut text));
        read.await.expect("the connection was not closed").unwrap();
        text
    }

    /// What comes until this was read.
    async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains(wanted) {
            let mut bytes = [0; 1024];
            let read = tokio::time::timeout(PATIENCE, stream.read(&mut bytes)).await.expect(wanted).unwrap();
            assert!(read > 0, "closed before {wanted}: {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&bytes[..read]);
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn half_sent_head_is_cut_off() {
        let served = served().await;
        let stream = served.send("GET /api/v1/projects HTTP/1.1\nHost: ").await;
        assert!(!rest(stream).await.contains("200"));
        served.stop().await;
    }

    #[tokio::test]
    async fn half_sent_body_is_refused_and_cut_off() {
        let served = served().await;
        let answer = rest(served.send(&served.post("{\"name\":")).await).await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"request_timeout\""), "{answer}");
        assert!(answer.contains("\"request_id\"") && answer.contains("connection: close"), "{answer}");
        served.stop().await;
    }

    #[tokio::test]
    async fn connection_beyond_the_limit_is_told_and_the_next_one_served_once_another_ends() {
        let served = served().await;
        let mut open = served.full().await;
        let answer = rest(served.send(&served.get("/projects")).await).await;
        assert!(
            answer.starts_with("HTTP/1.1 429 ") && answer.contains("\"too_many_connections\""),
            "{answer}"
        );
        assert!(answer.contains("\"hints\"") && answer.contains("x-request-id"), "{answer}");
        drop(open.pop());
        let again = async {
            loop {
                let mut stream = served.send(&served.get("/projects")).await;
                if read_until(&mut stream, "\r\n").await.starts_with("HTTP/1.1 200 ") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, again).await.expect("its place was not given free");
        served.stop().await;
    }

    #[tokio::test]
    async fn each_connection_beyond_the_limit_is_told_while_others_beyond_it_say_nothing() {
        let served = served().await;
        let open = served.full().await;
        // Connections that send no request, more than 64 of them.
        let mut idle = Vec::new();
        for _ in 0..100 {
            idle.push(served.send("").await);
        }
        for _ in 0..100 {
            let answer = rest(served.send(&served.get("/projects")).await).await;
            assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        }
        for stream in idle {
            rest(stream).await;
        }
        drop(open);
        served.stop().await;
    }

    #[tokio::test]
    async fn stream_of_events_outlives_both_time_limits() {
        let served = served().await;
        let mut stream = served.send(&served.get("/events")).await;
        read_until(&mut stream, "text/event-stream").await;
        tokio::time::sleep(3 * LIMITS.head).await;
        let body = r#"{"name": "scripted", "adapter": "shell", "config": {"command": "true"}}"#;
        let head = format!(
            "POST /api/v1/agents HTTP/1.1\nHost: {}\nContent-Type: application/json\n",
            served.address
        );
        let made =
            served.send(&format!("{head}Connection: close\nContent-Length: {}\n\n{body}", body.len())).await;
        assert!(rest(made).await.starts_with("HTTP/1.1 201 "));
        read_until(&mut stream, "agent.").await;
        served.stop().await;
    }
}
